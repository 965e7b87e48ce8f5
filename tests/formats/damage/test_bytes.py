"""Bytes that are no UTF-8 are shown as U+FFFD, and said: they may make equal results differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.formats.agents.following import read

SAMPLES = ROOT / "sample_runs"
FILES = {
    "claude-code": "claude-code/5b1c7f0e-2d64-4a39-8c11-90de3a7f4c02.jsonl",
    "codex": "codex/rollout-2026-03-02T09-00-00-019cadc6-9a80-7269-8ef2-a74de452e6b4.jsonl",
    "pi": "pi/2026-03-20T09-46-40-000Z_tides.jsonl",
    "gemini-cli": "gemini/session-2026-04-13T17-06-7c1f0a52.jsonl",
    "gemini-cli, one object": "gemini/session-2025-08-01T09-00-1d7e.json",
    "gemini-checkpoint": "gemini-saved/checkpoint-ducks.json",
    "qwen-code": "qwen/chats/3c0d5a1e-88b4-4f0e-9a55-1b7e60c2d94f.jsonl",
}


def _broken(sample: str, folder: Path, most: int) -> tuple[Path, int]:
    """The sample with a word of at most so many lines broken; and of how many."""
    lines = (SAMPLES / sample).read_bytes().split(b"\n")
    done = 0
    for number, line in enumerate(lines):
        if b"the " in line and done < most:
            lines[number] = line.replace(b"the ", b"t\xff\xfe ", 1)
            done += 1
    path = folder / Path(sample).name
    path.write_bytes(b"\n".join(lines))
    return path, done


@pytest.mark.parametrize("name", FILES)
def test_records_with_bytes_that_are_no_utf8_are_counted_in_one_problem(name: str, tmp_path: Path) -> None:
    assert not [one for one in read(SAMPLES / FILES[name]).draft.problems if "UTF-8" in one.what]
    for most in (1, 2):
        path, done = _broken(FILES[name], tmp_path, most)
        (told,) = [one.what for one in read(path).draft.problems if "UTF-8" in one.what]
        assert told.startswith(f"{done} ") and told.endswith("with bytes that are no UTF-8, each shown as U+FFFD")
