"""Ids that are given twice, or that name themselves or each other: no walk along them goes round and round."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.formats.agents import test_openhands as openhands
from tests.formats.agents import test_pi as pi
from tests.formats.agents.following import read
from tests.formats.damage.alarm import within

PI = {
    "names itself": [
        pi.user("a", None, "go"), pi.said("b", "b", "so"), pi.user("c", "b", "on"), pi.user("d", "b", "or"),
        pi.said("e", "d", "well"),
    ],
    "name each other": [
        pi.user("a", "b", "go"), pi.said("b", "a", "so"), pi.user("c", "a", "or"), pi.said("d", "c", "well"),
        pi.entry("k", "d", "compaction", summary="s", firstKeptEntryId="gone"), pi.said("e", "k", "more"),
    ],
    "is given again": [
        pi.user("a", None, "go"), pi.said("b", "a", "so"), pi.user("a", "b", "again"), pi.said("c", "a", "well"),
        pi.entry("k", "c", "compaction", summary="s", firstKeptEntryId="gone"), pi.said("e", "k", "more"),
    ],
}  # fmt: skip
OPENHANDS = {
    "names itself": [
        openhands.user("a", "go"), openhands.act("b", "r1", parent_id="b"), openhands.user("c", "on", parent_id="b"),
        openhands.user("e", "or", parent_id="b"), openhands.act("f", "r2", parent_id="e"),
    ],
    "name each other": [
        openhands.user("a", "go", parent_id="b"), openhands.user("b", "on", parent_id="a"),
        openhands.act("c", "r1", parent_id="b"), openhands.user("d", "or", parent_id="a"),
        openhands.act("e", "r2", parent_id="d"),
    ],
    "is given again": [
        openhands.user("a", "go"), openhands.act("b", "r1", parent_id="a"), openhands.user("b", "on", parent_id="b"),
        openhands.act("c", "r2", parent_id="b"), openhands.user("d", "or", parent_id="b"),
        openhands.act("e", "r3", parent_id="d"),
    ],
}  # fmt: skip


def looked_at(path: Path, records: list[dict[str, Any]]) -> tuple[int, list[str]]:
    """(steps, what the problems say) of a file of these lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    with within(20):
        draft = read(path).draft
    return sum(len(lane.steps) for lane in draft.lanes.values()), [problem.what for problem in draft.problems]


@pytest.mark.parametrize("case", PI)
def test_entries_of_pi(tmp_path: Path, case: str) -> None:
    steps, told = looked_at(tmp_path / "s.jsonl", [pi.HEAD, *PI[case]])
    assert steps == sum(entry.get("message", {}).get("role") == "assistant" for entry in PI[case])
    assert len(told) == 1


@pytest.mark.parametrize("case", OPENHANDS)
def test_events_of_openhands(tmp_path: Path, case: str) -> None:
    steps, told = looked_at(tmp_path / "s.jsonl", OPENHANDS[case])
    assert steps == sum(event["kind"] == "ActionEvent" for event in OPENHANDS[case])
    assert ("is given again" in case) == any("is given again" in what for what in told)
