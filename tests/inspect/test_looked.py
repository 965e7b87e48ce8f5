"""What is said of the places where nothing was found."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentmem.formats import formats
from agentmem.inspect.watch.looked import BESIDE, HERE, HOMES, looked


def test_every_agent_whose_runs_are_looked_for_is_named() -> None:
    named = {name for name, *_ in (*HOMES, *HERE)}
    assert set(BESIDE.values()) <= named
    assert named | set(BESIDE) == {known.name for known in formats() if known.places is not None}


def test_places_that_exist_are_named_and_the_others_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for _, variable, *_ in HOMES:
        if variable is not None:
            monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "other"))
    (tmp_path / "other" / "sessions").mkdir(parents=True)
    rows = dict(looked(tmp_path / "work"))
    assert rows["runs/*.json"] == "no such folder"
    assert rows["~/.claude/projects"] == rows["~/other/sessions"] == "none for this folder"
    assert rows[f"{len(HOMES) - 2} other places where agents keep runs"] == "not on this machine"
