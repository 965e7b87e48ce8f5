"""Sessions as files: the real ones and the samples, read while they are written, shrinking, damaged, found."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from agentmem.formats import HEAD_BYTES
from agentmem.formats.agents.claude_code import FORMAT
from agentmem.formats.agents.claude_code.files import folder_name
from agentmem.formats.reader import Options
from agentmem.inspect.open import Opened
from agentmem.inspect.texts import Texts
from sample_runs import make_claude_code as maker
from tests.formats.agents.claude import GOAL, IDENT, draft_of, picture, read, run_of, save, session

FERRY = "5b1c7f0e-2d64-4a39-8c11-90de3a7f4c02"
HARBOUR = "c92e04d7-7713-4f5e-9b60-1f8a55d2be31"


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    maker.make(folder)
    return folder / "claude-code"


def opened(path: Path) -> Opened:
    return Opened(path, FORMAT, Options())


# -- real files -------------------------------------------------------------------------------------------------------

REAL = [
    # file, steps of the main lane, lanes, steps of all lanes, goal
    ("5c0375b4-sidechain.jsonl", 10, 3, 20, "@CLAUDE.md を最新の状態にアップデートしてください"),
    ("fe5e1c67-big-sidechain.jsonl", 9, 6, 170, "create TODO app by Next.js"),
    ("polylogue-claude-normalization-main.jsonl", 2, 3, 4, "Review the parser."),
    ("schema_drift.jsonl", 1, 1, 1, "Open README"),
    ("subagent-layout/0a1b2c3d.jsonl", 1, 2, 2, "Delegate a repo search to a subagent"),
]


@pytest.mark.parametrize(("name", "steps", "lanes", "all_steps", "goal"), REAL, ids=[row[0] for row in REAL])
def test_real_sessions_give_their_figures(
    real: Path, name: str, steps: int, lanes: int, all_steps: int, goal: str
) -> None:
    path = real / "claude-code" / name
    assert FORMAT.recognise(path, path.read_bytes()[:HEAD_BYTES])
    run = opened(path).run
    closed = [sum(not step.open for step in lane.steps) for lane in run.lanes]
    assert (closed[0], len(run.lanes), sum(closed), run.goal) == (steps, lanes, all_steps, goal)


@pytest.mark.parametrize("name", ["5c0375b4-sidechain.jsonl", "fe5e1c67-big-sidechain.jsonl"])
def test_real_sessions_lose_nothing_silently_and_usage_is_the_sum_of_its_parts(real: Path, name: str) -> None:
    run = opened(real / "claude-code" / name).run
    assert not [drop for lane in run.lanes for step in lane.steps for drop in step.drops if not drop.recorded]
    assert not run.problems
    assert all(lane.spawned_by is not None and lane.spawned_by[0] == "main" for lane in run.lanes[1:])
    first = run.main.steps[0].usage
    lines = [json.loads(line) for line in (real / "claude-code" / name).read_bytes().split(b"\n") if line]
    said = next(line["message"]["usage"] for line in lines if line["type"] == "assistant")
    assert first is not None and first.prompt == (
        said["input_tokens"] + said["cache_read_input_tokens"] + said["cache_creation_input_tokens"]
    )


def test_unknown_records_are_counted_by_name(real: Path) -> None:
    draft = read(real / "claude-code" / "schema_drift.jsonl").draft
    assert [problem.what for problem in draft.problems] == [
        "10 records, 8 understood, 2 unknown: tool_use x1, tool_result x1"
    ]


# -- samples ----------------------------------------------------------------------------------------------------------


def test_the_samples_are_the_same_to_the_byte_when_made_again(samples: Path, root: Path) -> None:
    made = {path.relative_to(samples): path.read_bytes() for path in samples.rglob("*") if path.is_file()}
    kept = root / "sample_runs" / "claude-code"
    assert made == {path.relative_to(kept): path.read_bytes() for path in kept.rglob("*") if path.is_file()}


def test_the_first_sample_loses_its_goal_at_a_resume_that_nobody_recorded(samples: Path) -> None:
    run = opened(samples / f"{FERRY}.jsonl").run
    lost = run.main.steps[13]
    assert lost.boundary is not None and (lost.boundary.kind, lost.boundary.recorded) == ("resume", False)
    assert {drop.name for drop in lost.drops if drop.alarming} == {"goal", "plan[0]", "plan[1]", "plan[2]", "plan[3]"}
    assert {step.goal for step in run.main.steps[13:]} == {"missing"}
    compaction = run.main.steps[18]
    assert compaction.boundary is not None and compaction.boundary.recorded
    assert {drop.name for drop in compaction.drops if drop.what == "plan"} == {"plan[0]", "plan[1]"}
    survival = next(one for one in run.survivals if one.step == 19)
    assert any("storvik-0107.csv" in lost.text for lost in survival.lost)
    assert [(cycle.kind, cycle.steps) for cycle in run.cycles] == [("repeat", (6, 7, 8, 9))]
    assert [(lane.name, lane.spawned_by, len(lane.steps)) for lane in run.lanes[1:]] == [
        ("Explore: Find callers", ("main", 3), 3)
    ]
    assert run.notice is not None and run.notice.startswith("being written")


def test_the_second_sample_records_all_that_left(samples: Path) -> None:
    run = opened(samples / f"{HARBOUR}.jsonl").run
    assert not [drop for lane in run.lanes for step in lane.steps for drop in step.drops if not drop.recorded]
    assert [(lane.id, lane.kind) for lane in run.lanes] == [("main", "main"), ("branch-1", "branch")]
    assert [step.boundary.kind for step in run.main.steps if step.boundary] == ["prune", "compaction"]


@pytest.mark.parametrize("ident", [FERRY, HARBOUR])
def test_every_text_is_found_again_in_the_file(samples: Path, ident: str) -> None:
    reader = read(samples / f"{ident}.jsonl")
    texts = Texts(reader)
    for lane in reader.draft.lanes.values():
        for piece in range(len(lane.tape)):
            segment = lane.tape.segment(piece)
            text = texts.text(lane, piece)
            assert text is not None and len(text) == segment.characters


# -- reading while it is written --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ident", [FERRY, HARBOUR])
@pytest.mark.parametrize("seed", range(3))
def test_a_session_followed_in_pieces_is_the_same_as_one_read_whole(
    samples: Path, tmp_path: Path, ident: str, seed: int
) -> None:
    data = (samples / f"{ident}.jsonl").read_bytes()
    path = tmp_path / f"{ident}.jsonl"
    path.write_bytes(data[:2000])
    reader = read(path)
    chance = random.Random(seed)
    place, aside = 2000, samples / ident
    while place < len(data):
        step = chance.choice([1, 40, 900, 7000])
        with path.open("ab") as file:
            file.write(data[place : place + step])
        place += step
        if aside.is_dir() and place > len(data) // 2 and not (tmp_path / ident).exists():
            for file_ in aside.rglob("*"):
                if file_.is_file():
                    target = tmp_path / ident / file_.relative_to(aside)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(file_.read_bytes())
        reader.refresh()
        if step == 900:
            run_of(reader)
    assert picture(reader.draft) == picture(read(path).draft)


def test_an_appended_line_is_all_that_is_read(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    path = save(work, tmp_path)
    reader = read(path)
    draft = reader.draft
    work.lines.clear()
    work.answer("Yes.")
    with path.open("ab") as file:
        file.write(work.text().encode())
    assert reader.refresh() and reader.draft is draft and len(draft.main.steps) == 1
    assert not reader.refresh()


def test_lines_that_are_taken_back_are_gone_and_it_is_said(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.answer("A failed start", work.call("Read", file_path="a"))
    path = save(work, tmp_path)
    reader = read(path)
    assert reader.draft.main.steps
    work.lines, work.head = work.lines[:1], work.lines[0]["uuid"]
    path.write_bytes(work.text().encode())
    assert reader.refresh() and not reader.draft.main.steps
    assert reader.draft.notice == "lines were taken back, read again"
    work.answer("Another start")
    path.write_bytes(work.text().encode())
    reader.refresh()
    assert [reader.draft.main.tape.segment(i).head for i in reader.draft.main.steps[0].replies] == ["Another start"]


def test_a_session_taken_back_and_grown_beyond_its_size_is_read_anew(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.answer("A failed start")
    path = save(work, tmp_path)
    reader = read(path)
    work.lines, work.head = work.lines[:1], work.lines[0]["uuid"]
    work.answer("A much longer other start " * 40)
    path.write_bytes(work.text().encode())
    assert reader.refresh()
    assert picture(reader.draft)["main"] == picture(read(path).draft)["main"]


def test_a_session_that_is_gone_keeps_what_was_seen_and_goes_on_when_it_is_back(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.answer("Yes.")
    path = save(work, tmp_path)
    reader = read(path)
    path.unlink()
    assert reader.refresh() and reader.draft.notice == "file gone" and len(reader.draft.main.steps) == 1
    assert not reader.refresh()
    work.answer("More.")
    save(work, tmp_path)
    assert reader.refresh() and reader.draft.notice != "file gone" and len(reader.draft.main.steps) == 2


def test_a_subagents_file_that_appears_later_is_followed_too(samples: Path, tmp_path: Path) -> None:
    path = tmp_path / f"{FERRY}.jsonl"
    path.write_bytes((samples / f"{FERRY}.jsonl").read_bytes())
    reader = read(path)
    assert list(reader.draft.lanes) == ["main"]
    inside = tmp_path / FERRY / "subagents"
    inside.mkdir(parents=True)
    lines = (samples / FERRY / "subagents" / "agent-a41c90.jsonl").read_bytes().splitlines(keepends=True)
    target = inside / "agent-a41c90.jsonl"
    target.write_bytes(b"".join(lines[:2]))
    assert reader.refresh()
    assert inside in set(reader.watched())
    with target.open("ab") as file:
        file.write(b"".join(lines[2:]))
    assert reader.refresh() and len(reader.draft.lanes["a41c90"].steps) == 3
    assert reader.draft.lanes["a41c90"].spawned_by == ("main", 3)


def test_a_subagents_file_alone_is_a_run_of_its_own(samples: Path) -> None:
    draft = read(samples / FERRY / "subagents" / "agent-a41c90.jsonl").draft
    assert list(draft.lanes) == ["main"] and len(draft.main.steps) == 3 and draft.id == "agent-a41c90"
    assert draft.goal is not None and draft.goal.startswith("Find every caller")


def test_half_a_line_is_being_written_until_the_file_is_quiet(samples: Path, tmp_path: Path) -> None:
    path = tmp_path / f"{FERRY}.jsonl"
    path.write_bytes((samples / f"{FERRY}.jsonl").read_bytes())
    reader = read(path)
    assert reader.draft.notice is not None and reader.draft.notice.startswith("being written: ")
    os.utime(path, (maker.MORNING, maker.MORNING))
    assert reader.refresh() and reader.draft.notice.startswith("the last line is torn: ")


def test_a_subagents_file_beside_the_session_is_found_by_its_result(samples: Path, tmp_path: Path) -> None:
    path = tmp_path / f"{FERRY}.jsonl"
    path.write_bytes((samples / f"{FERRY}.jsonl").read_bytes())
    (tmp_path / "agent-a41c90.jsonl").write_bytes((samples / FERRY / "subagents" / "agent-a41c90.jsonl").read_bytes())
    (tmp_path / "agent-other.jsonl").write_text("{}\n")
    lanes = read(path).draft.lanes
    assert list(lanes) == ["main", "a41c90"] and lanes["a41c90"].spawned_by == ("main", 3)


@pytest.mark.parametrize("ident", [FERRY, HARBOUR])
def test_a_session_cut_anywhere_opens_with_its_whole_records(samples: Path, tmp_path: Path, ident: str) -> None:
    data = (samples / f"{ident}.jsonl").read_bytes()
    chance = random.Random(7)
    path = tmp_path / f"{ident}.jsonl"
    for _ in range(200):
        cut = chance.randrange(1, len(data))
        path.write_bytes(data[:cut])
        whole = data[:cut].count(b"\n")
        reader = FORMAT.open(path, Options())
        reader.refresh()
        assert whole <= sum(reader.draft.counts.values()) <= whole + 1


def test_a_real_session_cut_anywhere_opens_with_its_whole_records(real: Path, tmp_path: Path) -> None:
    data = (real / "claude-code" / "5c0375b4-sidechain.jsonl").read_bytes()
    chance = random.Random(8)
    path = tmp_path / f"{IDENT}.jsonl"
    for _ in range(200):
        cut = chance.randrange(1, len(data))
        path.write_bytes(data[:cut])
        reader = FORMAT.open(path, Options())
        reader.refresh()
        assert sum(reader.draft.counts.values()) in (data[:cut].count(b"\n"), data[:cut].count(b"\n") + 1)
        assert run_of(reader).format == "claude-code"  # type: ignore[arg-type]  # a reader of this format


# -- places -----------------------------------------------------------------------------------------------------------


def test_sessions_of_a_folder_are_found_newest_first(home: Path, tmp_path: Path) -> None:
    kept = home / ".claude" / "projects" / folder_name(str(tmp_path))
    kept.mkdir(parents=True)
    work = session()
    work.user(GOAL)
    work.answer("Yes.")
    for number, name in enumerate(("old", "new")):
        path = kept / f"{name}.jsonl"
        path.write_text(work.text())
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    (kept / "agent-x.jsonl").write_text(work.text())
    assert FORMAT.places is not None
    assert [path.name for path in FORMAT.places(tmp_path)] == ["new.jsonl", "old.jsonl"]


def test_another_place_for_the_sessions_is_heeded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "cfg"))
    kept = tmp_path / "cfg" / "projects" / "-srv-a-b-c"
    kept.mkdir(parents=True)
    (kept / "s.jsonl").write_text("{}")
    assert FORMAT.places is not None
    assert [path.name for path in FORMAT.places(Path("/srv/a_b.c"))] == ["s.jsonl"]


def test_the_row_of_a_session_is_told_from_its_head_and_tail(samples: Path, tmp_path: Path) -> None:
    assert FORMAT.peek is not None
    row = FORMAT.peek(samples / f"{FERRY}.jsonl")
    assert (row.id, row.goal, row.model, row.agent) == (FERRY, maker.GOAL, maker.MODEL, "claude-code")
    work = session()
    work.user(GOAL)
    for number in range(60):
        work.does("", "Bash", "x " * 2000, command=f"cat {number}")
    row = FORMAT.peek(save(work, tmp_path))
    assert (row.id, row.goal, row.model) == (IDENT, GOAL, maker.MODEL)
    assert row.at is not None and row.at > maker.MORNING


def test_a_session_whose_first_line_is_longer_than_the_head_is_known(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL + "x" * 200_000)
    path = save(work, tmp_path)
    assert FORMAT.recognise(path, path.read_bytes()[:HEAD_BYTES])
    assert draft_of(work, tmp_path).goal is not None
