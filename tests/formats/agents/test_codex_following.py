"""How a rollout grows, moves and multiplies: batches, torn lines, replacement, compression, children, forks, events."""

from __future__ import annotations

import builtins
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from agentmem.formats import NotYet, Options, Unreadable, recognise
from agentmem.formats.agents.codex import FORMAT
from agentmem.formats.agents.codex.places import cwd_of
from agentmem.formats.agents.codex.rollout import RolloutReader
from agentmem.formats.reader import Reader
from agentmem.inspect.open import open_run
from tests.formats.agents.codex import (
    CHILD,
    IDENT,
    NAME,
    TURN,
    event,
    lines,
    meta,
    prompt,
    reader,
    record,
    said,
    shape,
    thought,
    user,
    write,
)


@pytest.fixture
def kiln(root: Path) -> Path:
    """The sample with everything in it."""
    return next((root / "sample_runs" / "codex").glob("rollout-2026-03-02T09-00-00-*.jsonl"))


def notice(made: Reader) -> str | None:
    return made.draft.notice


def old(path: Path) -> Path:
    """As if nothing was written for a minute."""
    past = time.time() - 60
    os.utime(path, (past, past))
    return path


@pytest.mark.parametrize("seed", range(4))
def test_read_in_batches_a_file_gives_what_it_gives_at_once(kiln: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    data = kiln.read_bytes()
    path = tmp_path / NAME
    cuts = sorted(chance.randrange(1, len(data)) for _ in range(40))
    following = None
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        with path.open("ab") as file:
            file.write(data[start:end])
        if following is None:
            following = RolloutReader(path, Options())
        try:
            following.refresh()
        except NotYet:
            continue
    assert following is not None
    assert shape(following.draft) == shape(reader(path).draft)


def test_a_line_counts_once_it_is_whole(tmp_path: Path) -> None:
    data = lines(meta(), *TURN, user("漢字"))
    path = tmp_path / NAME
    made = None
    cut = data.index("字".encode()) + 1
    path.write_bytes(data[:cut])
    made = reader(path)
    assert notice(made) == "being written"
    before = len(made.draft.main.tape)
    with path.open("ab") as file:
        file.write(data[cut:])
    assert made.refresh() and notice(made) is None
    assert len(made.draft.main.tape) == before + 1
    assert made.draft.main.tape.segment(before).head == "漢字"
    assert not made.refresh()


def test_half_a_line_that_does_not_grow_is_damage(tmp_path: Path) -> None:
    path = write(tmp_path, meta(), *TURN)
    path.write_bytes(path.read_bytes() + b'{"timestamp":"2026')
    made = reader(path)
    assert notice(made) == "being written" and not made.draft.problems
    old(path)
    made.refresh()
    assert [problem.where for problem in made.draft.problems] == ["last line"] and notice(made) is None


def test_a_file_that_comes_late_or_empty_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / NAME
    following = RolloutReader(path, Options())
    with pytest.raises(Unreadable, match="no such file"):
        following.refresh()
    path.touch()
    known = recognise(path)
    assert known is not None and known.name == "codex"
    with pytest.raises(NotYet, match="empty"):
        following.refresh()
    path.write_bytes(lines(meta(), *TURN))
    assert following.refresh() and len(following.draft.main.steps) == 2


def test_a_file_written_anew_is_read_anew_and_one_that_went_leaves_its_run_standing(tmp_path: Path) -> None:
    path = write(tmp_path, meta(), *TURN)
    made = reader(path)
    path.write_bytes(lines(meta(), user("Sift."), said("Sifted.")))
    assert made.refresh() and made.draft.goal == "Sift." and "replaced" in (made.draft.notice or "")
    path.unlink()
    assert made.refresh() and made.draft.notice == "file gone" and len(made.draft.main.steps) == 1
    path.write_bytes(lines(meta(), *TURN))
    assert made.refresh() and made.draft.goal == "Grind the corn."


def test_a_compressed_copy_takes_the_place_of_the_file_and_gives_it_back(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    long = "corn " * 100
    path = write(tmp_path, meta(), *TURN, user(long))
    whole = path.read_bytes()
    made = reader(path)
    plain = prompt(made.draft.main, 3)
    packed = path.with_name(path.name + ".zst")
    packed.write_bytes(zstandard.ZstdCompressor().compress(whole))
    path.unlink()
    assert made.refresh() and "compressed" in (made.draft.notice or "")
    assert prompt(made.draft.main, 3) == plain
    opened = open_run(str(packed))
    assert opened.text(opened.run.main.steps[-1].prompt[-1]) == long
    assert opened.run.id == IDENT
    path.write_bytes(whole + lines(said("Ground again.")))
    packed.unlink()
    assert made.refresh() and len(made.draft.main.steps) == 3


def test_a_compressed_file_that_is_cut_gives_what_it_holds_and_says_so(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    chance = random.Random(5)
    packed = tmp_path / (NAME + ".zst")
    sacks = [said(f"{chance.getrandbits(8_000):x}") for _ in range(400)]
    whole = zstandard.ZstdCompressor().compress(lines(meta(), *sacks))
    packed.write_bytes(whole[: len(whole) // 2])
    draft = reader(old(packed)).draft
    assert 10 < len(draft.main.tape) < 390
    assert draft.problems[0].what == "the compressed file ends in the middle"
    packed.write_bytes(whole[:6] + b"\xff" * 200)
    with pytest.raises(Unreadable, match="compressed data damaged"):
        reader(packed)


def test_without_the_extra_a_compressed_file_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / (NAME + ".zst")
    packed.write_bytes(b"\x28\xb5\x2f\xfd" + b"\0" * 20)
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "zstandard":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(Unreadable, match=r"install agentmem-inspector\[stores\]"):
        reader(packed)


def told(sort: str, **more: Any) -> dict[str, Any]:
    return event("item_completed", thread_id=IDENT, item={"type": sort, "id": "i", **more})


ITEMS = (told("UserMessage", content=[{"type": "text", "text": "Sift."}]),
         told("CommandExecution", command=["sieve"], aggregated_output="sieve: torn", exit_code=1, status="failed"),
         told("AgentMessage", content=[{"type": "Text", "text": "The sieve is torn."}]))  # fmt: skip


def test_items_told_by_events_alone_are_the_prompt(tmp_path: Path) -> None:
    draft = reader(write(tmp_path, meta(), *ITEMS)).draft
    assert [len(step.calls) for step in draft.main.steps] == [1, 0]
    assert draft.main.steps[0].calls[0].outcome == "error"
    assert draft.goal == "Sift."
    assert [kind for kind, _ in prompt(draft.main, 3)] == ["system", "goal", "call", "error", "assistant"]


def test_what_events_say_again_counts_once_in_whatever_order_it_comes(tmp_path: Path) -> None:
    agent = event("agent_message", message="Ground.")
    words = event("user_message", message="Grind the corn.")
    path = write(tmp_path, meta(), words)
    made = reader(path)
    assert [kind for kind, _ in prompt(made.draft.main, 1)] == ["system", "goal"]
    for batch in ((TURN[0],), (thought(), agent), (said("Ground."),), (event("task_complete"),)):
        with path.open("ab") as file:
            file.write(lines(*batch))
        made.refresh()
    assert [kind for kind, _ in prompt(made.draft.main, 2)] == ["system", "goal", "thinking", "assistant"]
    assert shape(made.draft) == shape(reader(path).draft)


def test_a_drifted_file_shows_what_is_understood_and_counts_the_rest(tmp_path: Path) -> None:
    strange = [record("sluice_state", {"open": True}), event("wheel_turned", times=3)]
    path = old(write(tmp_path, meta(), *TURN[:1], *TURN[3:4], *TURN[5:7], event("task_complete"), *ITEMS, *strange))
    draft = reader(path).draft
    assert [problem.what for problem in draft.problems] == [
        "11 records, 9 understood, 2 unknown: sluice_state x1, wheel_turned x1"
    ]
    assert [kind for kind, _ in prompt(draft.main, 5)][-4:] == ["user", "call", "error", "assistant"]


def test_items_of_unknown_type_are_counted_by_name(tmp_path: Path) -> None:
    draft = reader(write(tmp_path, meta(), *TURN, told("Windmill"), told("Windmill"))).draft
    assert draft.problems[0].what == "11 records, 9 understood, 2 unknown: item_completed x2"


def test_a_file_of_which_nothing_is_understood_says_so(tmp_path: Path) -> None:
    path = write(tmp_path, record("event_msg", {"type": "wheel_turned"}), record("event_msg", {"type": "gate_opened"}))
    with pytest.raises(Unreadable, match="format not recognised: 2 records, 0 understood, 2 unknown: wheel_turned x1"):
        reader(path)


def test_a_stream_of_events_is_partial_and_its_total_is_no_context(root: Path) -> None:
    draft = reader(root / "sample_runs" / "codex" / "exec-stream.jsonl").draft
    assert (draft.provenance, draft.finished, draft.goal_unknown) == ("partial", True, True)
    assert [[each.tool for each in step.calls] for step in draft.main.steps] == [["shell"], ["apply_patch"], []]
    assert all(step.usage is None for step in draft.main.steps)
    assert [(field.value[:4], field.done) for field in draft.main.fields] == [("Read", True), ("Inte", False)]
    assert draft.unknown == ("the request", "system prompt", "tool schemas")


def test_a_stream_of_events_read_in_batches_is_the_same(root: Path, tmp_path: Path) -> None:
    data = (root / "sample_runs" / "codex" / "exec-stream.jsonl").read_bytes()
    path = tmp_path / "out.jsonl"
    path.write_bytes(data[:150])
    made = reader(path)
    for start in range(150, len(data), 97):
        with path.open("ab") as file:
            file.write(data[start : start + 97])
        made.refresh()
    assert shape(made.draft) == shape(reader(path).draft)


def test_half_a_line_of_a_stream_that_nobody_writes_is_damage(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    data = (root / "sample_runs" / "codex" / "exec-stream.jsonl").read_bytes()
    path.write_bytes(data + b'{"type":"turn.sta')
    made = reader(path)
    assert (made.draft.notice, made.draft.problems) == ("being written", [])
    os.utime(path, (1.7e9, 1.7e9))
    assert made.refresh() and made.draft.notice is None and not made.refresh()
    assert [problem.what for problem in made.draft.problems] == ["half a record at the end, 17 bytes"]
    with path.open("ab") as file:
        file.write(b'rted"}\n')
    assert made.refresh() and not made.draft.problems and made.draft.notice is None


def day(home: Path, number: int) -> Path:
    folder = home / ".codex" / "sessions" / "2026" / "04" / f"{number:02}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_places_finds_the_rollouts_of_a_folder_newest_first(home: Path, tmp_path: Path) -> None:
    here = tmp_path / 'the "mill"'
    here.mkdir()
    assert FORMAT.places is not None
    assert list(FORMAT.places(here)) == []
    names = []
    for number in (1, 2, 12):
        name = f"rollout-2026-04-{number:02}T08-00-00-{CHILD}.jsonl"
        names.append(write(day(home, number), meta(cwd=str(here)), *TURN, name=name))
        write(day(home, number), meta(cwd="/elsewhere"), *TURN, name=name.replace("08-00", "09-00"))
    long = meta(cwd=str(here), base_instructions={"text": "Be exact. " * 4_000})
    long["payload"] = {"base_instructions": long["payload"]["base_instructions"], **long["payload"]}
    archive = home / ".codex" / "archived_sessions"
    archive.mkdir()
    names.append(write(archive, long, *TURN, name="rollout-2026-03-01T08-00-00-x.jsonl"))
    (day(home, 3) / "rollout-link.jsonl").symlink_to(names[0])
    assert list(FORMAT.places(here)) == [names[2], names[1], names[0], names[3]]


def test_places_follows_codex_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "elsewhere" / "sessions" / "2026" / "04" / "01"
    folder.mkdir(parents=True)
    path = write(folder, meta(cwd=str(tmp_path)), *TURN)
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "elsewhere"))
    assert FORMAT.places is not None and list(FORMAT.places(tmp_path)) == [path]


def test_the_working_folder_is_read_from_a_compressed_head(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    packed = tmp_path / (NAME + ".zst")
    packed.write_bytes(zstandard.ZstdCompressor().compress(lines(meta(), *TURN)))
    assert cwd_of(packed) == "/srv/mill"


def test_a_row_of_the_list_is_made_from_head_and_tail(tmp_path: Path) -> None:
    assert FORMAT.peek is not None
    context = record("turn_context", {"model": "gpt-5.3-codex"})
    filler = [said("x" * 1000)] * 200
    path = write(tmp_path, meta(source="exec"), context, *TURN, *filler, event("task_complete"))
    info = FORMAT.peek(path)
    assert (info.id, info.goal, info.model, info.status) == (IDENT, "Grind the corn.", "gpt-5.3-codex", "ended")
    assert FORMAT.peek(write(tmp_path, meta(), *TURN, event("task_complete"))).status == "unknown", "it may go on"


def test_the_sample_tells_its_story(kiln: Path) -> None:
    run = open_run(str(kiln)).run
    lost = [(step.n, drop.text) for step in run.main.steps for drop in step.drops if drop.alarming]
    assert lost == [(8, "Interpolate between set points"), (8, "Stop the relay above 1300 degrees")]
    found = [(step.n, step.boundary.kind, step.boundary.opaque) for step in run.main.steps if step.boundary]
    assert found == [(8, "compaction", False), (12, "prune", False), (20, "rewind", False), (21, "compaction", True)]
    assert [(one.kind, one.period, one.steps[0]) for one in run.cycles] == [("cycle", 2, 12)]
    assert [lane.name for lane in run.lanes] == [None, "Hypatia"]
    assert {drop.recorded for step in run.main.steps for drop in step.drops if drop.what == "segment"} == {True}
