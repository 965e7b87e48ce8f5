"""Records and parts of types that nobody knows, in files that are written whole: counted, said, and nothing else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.formats.agents.following import read

FLUX = {"id": "z", "type": "flux", "role": "flux", "source": "user", "action": "flux"}
Into = Callable[[Any], list[Any]]
FILES: dict[str, tuple[Into, str]] = {
    "opencode/export.json": (lambda value: value["messages"][1]["parts"], "1 of unknown types: flux x1"),
    "gemini/session-2025-08-01T09-00-1d7e.json": (lambda value: value["messages"], "of an unknown type, flux"),
    "gemini-saved/checkpoint-ducks.json": (lambda value: value["history"], "1 unknown: flux x1"),
    "swe-agent/depth.traj": (lambda value: value["trajectory"], "1 unknown: step that says nothing x1"),
    "mini-swe-agent/tides.traj.json": (lambda value: value["messages"], "1 unknown: flux x1"),
    "openhands/v0.json": (lambda value: value, "1 unknown: flux x1"),
    "cline-session/1775100000000_k3vwq/1775100000000_k3vwq.messages.json":
        (lambda value: value["messages"], "1 unknown: flux x1"),
    "roo-task/0195f3a0-6c1d-7e44-9b11-2f64f7a1c0de/api_conversation_history.json":
        (lambda value: value, "1 unknown: flux x1"),
}  # fmt: skip


@pytest.mark.parametrize("sample", FILES)
def test_what_nobody_knows_is_counted_and_said_and_makes_no_step(tmp_path: Path, sample: str) -> None:
    into, words = FILES[sample]
    top = Path(sample).parts[0]
    shutil.copytree(ROOT / "sample_runs" / top, tmp_path / top)
    path = tmp_path / sample
    before = len(read(path).draft.main.steps)
    value = json.loads(path.read_text())
    into(value).append({"flux": 1} if top == "swe-agent" else FLUX)
    path.write_text(json.dumps(value))
    draft = read(path).draft
    assert any(problem.what.endswith(words) for problem in draft.problems), [one.what for one in draft.problems]
    assert len(draft.main.steps) == before


def test_a_message_of_an_unknown_type_in_a_checkpoint_is_counted(tmp_path: Path) -> None:
    head = {"sessionId": "s", "projectHash": "ab", "startTime": "2026-04-01T08:00:00Z"}
    asked = {"id": "u", "type": "user", "content": "go"}
    lines = [head, asked, {"$set": {"messages": [asked, {"id": "z", "type": "flux"}, 7]}}]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read(path).draft.problems[-1].what.endswith("2 unknown: no object x1, flux x1")
