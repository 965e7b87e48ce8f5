"""Threads of several files: subagents, forks that copy their parent's records, forks that name where they stand."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from agentmem.inspect.open import open_run
from tests.formats.agents.codex import (
    CHILD,
    IDENT,
    TURN,
    call,
    count,
    event,
    lines,
    meta,
    prompt,
    reader,
    record,
    result,
    said,
    user,
    write,
)


def test_a_subagent_is_a_lane_of_its_parent_when_its_file_appears(tmp_path: Path) -> None:
    spawn = [call("s", "spawn_agent", message="Count the sacks."), result("s", f'{{"agent_id":"{CHILD}"}}'),
             event("collab_agent_spawn_end", call_id="s", new_thread_id=CHILD, new_agent_nickname="Hero")]  # fmt: skip
    path = write(tmp_path, meta(), user("Grind."), *spawn)
    made = reader(path)
    assert list(made.draft.lanes) == ["main"]
    name = f"rollout-2026-04-01T08-01-00-{CHILD}.jsonl"
    head = meta(CHILD, source={"subagent": {"thread_spawn": {"parent_thread_id": IDENT, "depth": 1}}})
    child = write(tmp_path, head, user("Count the sacks."), said("Nine."), name=name)
    assert made.refresh()
    lane = made.draft.lanes[CHILD]
    assert (lane.kind, lane.spawned_by, lane.name) == ("subagent", ("main", 1), "Hero")
    assert len(lane.steps) == 1 and made.draft.goal == "Grind." and made.draft.id == IDENT
    with child.open("ab") as file:
        file.write(lines(user("And the empty ones?"), said("Two.")))
    assert made.refresh() and len(lane.steps) == 2
    opened = open_run(str(path))
    assert [step.goal for step in opened.run.lane(CHILD).steps] == ["last", "present"]


def test_a_fork_begins_with_its_parents_history_and_counts_only_its_own_calls(root: Path) -> None:
    folder = root / "sample_runs" / "codex"
    draft = reader(next(folder.glob("rollout-2026-03-02T09-14-25-*.jsonl"))).draft
    steps = draft.main.steps
    assert [step.calls[0].arguments if step.calls else None for step in steps] == ['{"cmd":"cat > README.md"}', None]
    boundary = steps[0].boundary
    assert boundary is not None and boundary.kind == "fork" and boundary.recorded
    heads = [head for _, head in prompt(draft.main, 1)]
    assert any(head and head.startswith("Another language model") for head in heads)
    assert heads[-1] == "Write the README instead."
    assert all(step.usage is not None for step in steps)


def test_a_fork_whose_turns_have_plain_names_ends_its_copy_by_the_clock(tmp_path: Path) -> None:
    parent, forked = "parent-thread", "forked-thread"
    copied = [record("session_meta", {"id": parent}, 60), *({**each, "timestamp": "2026-04-01T08:01:00.200Z"}
              for each in TURN)]  # fmt: skip
    own = [{**each, "timestamp": "2026-04-01T08:01:30.000Z"} for each in (user("Sift."), said("Sifted."))]
    head = record("session_meta", {"id": forked, "forked_from_id": parent, "cwd": "/srv/mill"}, 60)
    draft = reader(write(tmp_path, head, *copied, *own)).draft
    assert draft.id == forked and len(draft.main.steps) == 1
    assert len(prompt(draft.main, 1)) == 5, "reasoning of the copied turn is not sent again"


def test_a_subagent_that_begins_with_its_parents_turns_counts_only_its_own(tmp_path: Path) -> None:
    head = meta(CHILD, forked_from_id=IDENT, thread_source="subagent")
    own = "019d0000-0002-7000-8000-000000000009"
    draft = reader(write(
        tmp_path, head, event("task_started", turn_id=IDENT), *TURN, event("task_started", turn_id=own),
        user("Count the sacks."), said("Nine."), count(90, 340),
    )).draft  # fmt: skip
    assert [step.usage and step.usage.prompt for step in draft.main.steps] == [90]
    assert [head for _, head in prompt(draft.main, 1)][-1] == "Count the sacks."


def numbered(*records: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**each, "ordinal": n} for n, each in enumerate(records)]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("by", ["byte", "ordinal"])
def test_a_fork_whose_history_stands_in_its_parents_file_begins_with_it(tmp_path: Path, by: str, packed: bool) -> None:
    long = "corn " * 60
    root = tmp_path / ".codex" / "sessions"
    first, second = root / "2026" / "03" / "19", root / "2026" / "04" / "01"
    for folder in (first, second):
        folder.mkdir(parents=True)
    kept = lines(*numbered(meta(), user(long), *TURN[2:]))
    parent = first / f"rollout-2026-03-19T08-00-00-{IDENT}.jsonl"
    whole = kept + lines({**said("Later."), "ordinal": 99})
    if packed:
        zstandard = pytest.importorskip("zstandard")
        parent = parent.with_name(parent.name + ".zst")
        whole = zstandard.ZstdCompressor().compress(whole)
    parent.write_bytes(whole)
    base = {"thread_id": IDENT, "end_byte_offset": len(kept), "end_ordinal_exclusive": 8}
    more = {"history_base": base} if by == "byte" else {"forked_from_ordinal_exclusive": 8}
    head = meta(CHILD, forked_from_id=IDENT, **more)
    fork = write(second, head, user("Sift."), said("Sifted."), name=f"rollout-2026-04-01T08-00-00-{CHILD}.jsonl")
    opened = open_run(str(fork))
    step = opened.run.main.steps[0]
    assert [segment.kind for segment in step.prompt] == ["system", "goal", "call", "result", "assistant", "user"]
    assert opened.text(step.prompt[1]) == long and opened.run.goal == long
    assert step.boundary is not None and step.boundary.kind == "fork" and IDENT in step.boundary.why
    assert opened.run.provenance == "reconstructed"


def test_a_fork_whose_parent_is_not_here_is_partial_and_says_so(tmp_path: Path) -> None:
    head = meta(CHILD, forked_from_id=IDENT, history_base={"thread_id": IDENT, "end_byte_offset": 900})
    draft = reader(write(tmp_path, head, user("Sift."), said("Sifted."))).draft
    assert draft.provenance == "partial" and draft.goal_unknown
    assert draft.unknown[-1] == "the history it was forked with"
    said_ = f"its history stands in the rollout of {IDENT}, which is not here"
    assert [problem.what for problem in draft.problems] == [said_]


def test_another_head_in_the_middle_is_said(tmp_path: Path) -> None:
    draft = reader(write(tmp_path, meta(), *TURN, meta("someone-else"), meta())).draft
    assert [problem.what for problem in draft.problems] == ["the head of another thread, someone-else"]


def test_a_copy_beside_the_file_is_no_child(root: Path, tmp_path: Path) -> None:
    kiln = next((root / "sample_runs" / "codex").glob("rollout-2026-03-02T09-00-00-*.jsonl"))
    shutil.copy(kiln, tmp_path / kiln.name)
    draft = reader(tmp_path / kiln.name).draft
    assert list(draft.lanes) == ["main"], "its child's file is not there"
