"""Threads of Codex that go on in further files: all their calls are one run, whichever file is opened, and one row."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agentmem.formats import Options
from agentmem.formats.agents.codex.places import FORMAT
from agentmem.inspect import open as opening
from agentmem.inspect.discover import EVERYWHERE, find
from agentmem.inspect.open import Opened, open_run
from tests.formats.agents.codex import (
    IDENT,
    Record,
    call,
    count,
    event,
    lines,
    meta,
    plan,
    prompt,
    reader,
    result,
    said,
    shape,
    user,
)

SECOND = "019d0a42-2400-7000-8000-00000000000a"
THIRD = "019e4466-1000-7000-8000-00000000000b"
"""Ids carry the time when they were given: the days of their files."""
FIRST_TURN = (user("Grind the corn."), call("a", cmd="ls"), count(100, 100), result("a", "mill.py"), said("Ground."),
              count(150, 250))  # fmt: skip
SECOND_TURN = (user("Sift it."), said("Sifted."), count(190, 440))


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    return tmp_path / ".codex" / "sessions"


def put(sessions: Path, day: str, data: bytes, rollout: str | None = None, thread: str = IDENT) -> Path:
    folder = sessions / day.replace("-", "/")
    folder.mkdir(parents=True, exist_ok=True)
    name = thread if rollout is None else f"{thread}_{rollout}"
    path = folder / f"rollout-{day}T08-00-00-{name}.jsonl"
    path.write_bytes(data)
    return path


def going_on(base: str, end: int, *records: Record, **more: Any) -> bytes:
    return lines(meta(history_mode="paginated", history_base={
        "thread_id": base, "end_ordinal_exclusive": 7, "end_byte_offset": end}, **more), *records)  # fmt: skip


@pytest.fixture
def three(sessions: Path) -> list[Path]:
    """One thread in three files, on three days."""
    first = put(sessions, "2026-03-19", lines(meta(), *FIRST_TURN))
    second = put(sessions, "2026-03-20", going_on(IDENT, first.stat().st_size, *SECOND_TURN), SECOND)
    last = (user("Bake."), said("Baked."), count(230, 670))
    third = put(sessions, "2026-05-20", going_on(SECOND, second.stat().st_size, *last), THIRD)
    return [first, second, third]


def test_the_calls_of_earlier_files_are_calls_of_the_thread(three: list[Path], tmp_path: Path) -> None:
    whole = put(tmp_path / "alone", "2026-03-19", lines(
        meta(), *FIRST_TURN, *SECOND_TURN, user("Bake."), said("Baked."), count(230, 670)))  # fmt: skip
    expected = reader(whole).draft
    for path in three:  # whichever is opened
        draft = reader(path).draft
        ours, theirs = shape(draft), shape(expected)
        assert ours[:-1] == theirs[:-1]  # type: ignore[index]  # two tuples; the last member counts records, heads too
        assert draft.path == str(three[-1])
    assert [step.usage and step.usage.prompt for step in draft.main.steps] == [100, 150, 190, 230]
    assert not draft.problems and draft.provenance == "reconstructed" and draft.goal == "Grind the corn."


def test_every_text_is_fetched_from_the_file_in_which_it_stands(three: list[Path]) -> None:
    long = "corn " * 60
    three[0].write_bytes(lines(meta(), user(long), said("Ground.")))
    three[1].write_bytes(going_on(IDENT, three[0].stat().st_size, user(long + "2"), said("Sifted.")))
    three[2].write_bytes(going_on(SECOND, three[1].stat().st_size, user(long + "3"), said("Baked.")))
    opened = open_run(str(three[2]))
    texts = [opened.text(segment) for segment in opened.run.main.steps[-1].prompt if segment.kind in ("user", "goal")]
    assert texts == [long, long + "2", long + "3"]


def test_a_file_in_which_the_thread_goes_on_is_followed_when_it_comes(sessions: Path) -> None:
    first = put(sessions, "2026-03-19", lines(meta(), *FIRST_TURN))
    followed = reader(first)
    assert len(followed.draft.main.steps) == 2 and not followed.refresh()
    other = put(sessions, "2026-03-20", lines(meta(THIRD), user("Another thread.")), thread=THIRD)
    assert not followed.refresh() and other.exists()
    second = put(sessions, "2026-03-20", going_on(IDENT, first.stat().st_size), SECOND)
    assert followed.refresh() and followed.draft.path == str(second)
    assert followed.draft.notice == "the thread goes on in another file, read on there"
    assert len(followed.draft.main.steps) == 2
    with second.open("ab") as file:
        file.write(lines(*SECOND_TURN))
    assert followed.refresh() and len(followed.draft.main.steps) == 3
    assert shape(followed.draft) == shape(reader(second).draft)


def test_what_was_reverted_is_shown_and_leaves_the_prompt(sessions: Path) -> None:
    kept = lines(meta(), plan("p", "grind", "sift"), result("p", "ok"), *FIRST_TURN)
    gone = (user("Burn it."), plan("q", "burn"), result("q", "ok"), said("Burnt."), count(400, 650))
    put(sessions, "2026-03-19", kept + lines(*gone))
    second = put(sessions, "2026-03-19", going_on(IDENT, len(kept), *SECOND_TURN), SECOND)
    second = second.rename(second.with_name(second.name.replace("T08", "T09")))
    lane = reader(second).draft.main
    texts = [[head for kind, head in prompt(lane, step.n) if kind in ("user", "goal")] for step in lane.steps]
    assert ["Grind the corn.", "Burn it."] in texts  # its calls are still there
    assert texts[-1] == ["Grind the corn.", "Sift it."]
    boundary = lane.steps[-1].boundary
    assert boundary is not None and boundary.kind == "rewind" and "5 records" in boundary.why
    assert [field.value for field in lane.steps[-1].fields] == ["grind", "sift"]


def test_a_fork_that_was_resumed_has_its_parents_history_and_its_own_calls(sessions: Path) -> None:
    parent = put(sessions, "2026-03-19", lines(meta(), *FIRST_TURN))
    fork = put(sessions, "2026-05-20", going_on(
        IDENT, parent.stat().st_size, user("Sift."), said("Sifted."), count(200, 200), id=THIRD, forked_from_id=IDENT,
    ), thread=THIRD)  # fmt: skip
    resumed = put(sessions, "2026-05-21", going_on(
        THIRD, fork.stat().st_size, user("Bake."), said("Baked."), count(240, 440), id=THIRD,
    ), SECOND, THIRD)  # fmt: skip
    lane = reader(resumed).draft.main
    assert [step.usage and step.usage.prompt for step in lane.steps] == [200, 240]
    assert lane.steps[0].boundary is not None and IDENT in lane.steps[0].boundary.why
    assert [head for kind, head in prompt(lane, 2) if kind in ("user", "goal")] == [
        "Grind the corn.", "Sift.", "Bake.",
    ]  # fmt: skip


def test_an_earlier_file_that_is_not_here_is_said(three: list[Path]) -> None:
    three[1].unlink()
    draft = reader(three[2]).draft
    assert draft.provenance == "partial" and len(draft.main.steps) == 1
    assert [problem.what for problem in draft.problems] == [
        f"its history stands in the rollout of {SECOND}, which is not here",
    ]  # fmt: skip


def test_damage_in_an_earlier_file_is_told_with_its_name(three: list[Path]) -> None:
    with three[0].open("ab") as file:
        file.write(b'{"type": half\n')
    three[1].write_bytes(going_on(IDENT, three[0].stat().st_size, *SECOND_TURN))
    three[2].write_bytes(going_on(SECOND, three[1].stat().st_size, user("Bake."), said("Baked.")))
    draft = reader(three[2]).draft
    assert [problem.where for problem in draft.problems] == [f"{three[0].name}, line 8"]
    assert len(draft.main.steps) == 4


def test_files_that_name_each_other_as_history_end(sessions: Path) -> None:
    put(sessions, "2026-03-19", going_on(SECOND, 400, *FIRST_TURN))
    second = put(sessions, "2026-03-20", going_on(IDENT, 10_000, *SECOND_TURN), SECOND)
    draft = reader(second).draft
    assert len(draft.main.steps) == 3 and draft.provenance == "partial"


def test_a_compressed_earlier_file_is_read(three: list[Path]) -> None:
    zstandard = pytest.importorskip("zstandard")
    long = "corn " * 60
    three[0].write_bytes(lines(meta(), user(long), said("Ground.")))
    three[1].write_bytes(going_on(IDENT, three[0].stat().st_size, *SECOND_TURN))
    three[2].write_bytes(going_on(SECOND, three[1].stat().st_size, user("Bake."), said("Baked.")))
    expected = shape(reader(three[2]).draft)
    packed = three[0].with_name(three[0].name + ".zst")
    packed.write_bytes(zstandard.ZstdCompressor().compress(three[0].read_bytes()))
    three[0].unlink()
    assert shape(reader(three[2]).draft) == expected
    opened = open_run(str(three[2]))
    assert opened.text(next(one for one in opened.run.main.steps[-1].prompt if one.kind == "goal")) == long


def test_events_that_stand_for_items_are_taken_in_every_file(sessions: Path) -> None:
    def turn(asked: str, answer: str) -> tuple[Record, ...]:
        done = [event("item_completed", item={"type": sort, "content": [{"type": "text", "text": text}]})
                for sort, text in (("UserMessage", asked), ("AgentMessage", answer))]  # fmt: skip
        return (event("task_started"), *done, event("task_complete"))

    # The first file ends before its turn does.
    first = put(sessions, "2026-03-19", lines(meta(), *turn("Grind.", "Ground.")[:-1]))
    second = put(sessions, "2026-03-20", going_on(IDENT, first.stat().st_size, *SECOND_TURN), SECOND)
    lane = reader(second).draft.main
    assert len(lane.steps) == 2
    assert [head for kind, head in prompt(lane, 2) if kind in ("user", "goal")] == ["Grind.", "Sift it."]


def test_a_look_that_is_cut_short_still_has_all_that_stands_before_the_file(
    three: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "NEARLY_SECONDS", 0.0)
    for each, base in ((three[0], None), (three[1], IDENT), (three[2], SECOND)):
        more = [one for n in range(300) for one in (user(f"{each.name} {n}"), said("done"))]
        before = three[three.index(each) - 1].stat().st_size if base else 0
        each.write_bytes(going_on(base, before, *more) if base else lines(meta(), *more))
    opened = Opened(three[2], FORMAT, Options(), seconds=0.0)
    looks = 1
    while opened.behind is not None:
        opened.refresh(0.0)
        looks += 1
    assert looks > 1 and sum(not step.open for step in opened.run.main.steps) == 900


def test_a_thread_is_one_row_whatever_number_of_files_it_has(
    three: list[Path], sessions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(sessions.parent))
    other = put(sessions, "2026-03-20", lines(meta(THIRD), user("Another.")), thread=THIRD)
    folder = tmp_path / "work"
    folder.mkdir()
    for path in (*three, other):
        path.write_bytes(path.read_bytes().replace(b'"/srv/mill"', f'"{folder}"'.encode()))
    monkeypatch.chdir(folder)
    for targets in ([], [EVERYWHERE], [str(sessions)]):
        rows = find(targets)
        assert {(row.path, row.id, row.problem) for row in rows} == {
            (str(three[2]), IDENT, None), (str(other), THIRD, None),
        }  # fmt: skip


def test_names_that_are_no_segments_stay_apart(sessions: Path) -> None:
    first = put(sessions, "2026-03-19", lines(meta(), *FIRST_TURN))
    for name in (f"rollout-2026-03-20T08-00-00-{IDENT}_copy.jsonl", f"x-{IDENT}_{SECOND}.jsonl"):
        (first.parent / name).write_bytes(lines(meta(), *SECOND_TURN))
    os.symlink(first, first.parent / f"rollout-2026-03-21T08-00-00-{IDENT}_{SECOND}.jsonl")
    draft = reader(first).draft
    assert draft.path == str(first) and len(draft.main.steps) == 2
