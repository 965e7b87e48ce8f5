"""A file that gives way to one that is empty, or of which nothing is understood: it is said at every look, not once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agentmem.formats import NotYet, Unreadable
from tests.conftest import ROOT
from tests.formats.agents.following import picture, read

UNKNOWN = b'{"timestamp":"2026-03-02T10:00:00Z","type":"flux","payload":{}}\n' * 2
FILES = {
    "codex/rollout-2026-03-02T09-00-00-019cadc6-9a80-7269-8ef2-a74de452e6b4.jsonl": (b"", UNKNOWN, b"no JSON\n"),
    "codex/exec-stream.jsonl": (b"", UNKNOWN),
    "claude-code/c92e04d7-7713-4f5e-9b60-1f8a55d2be31.jsonl": (UNKNOWN,),
    "gemini/session-2026-04-13T17-06-7c1f0a52.jsonl": (UNKNOWN,),
    "pi/2026-03-20T09-46-40-000Z_tides.jsonl": (UNKNOWN,),
    "qwen/chats/3c0d5a1e-88b4-4f0e-9a55-1b7e60c2d94f.jsonl": (UNKNOWN,),
}


def placed(tmp_path: Path, sample: str) -> Path:
    """The sample in a folder of its own, with what stands beside it."""
    top = Path(sample).parts[0]
    shutil.copytree(ROOT / "sample_runs" / top, tmp_path / top)
    return tmp_path / sample


@pytest.mark.parametrize(("sample", "data"), [(sample, data) for sample, all_ in FILES.items() for data in all_])
def test_what_can_no_longer_be_read_is_said_at_every_look(tmp_path: Path, sample: str, data: bytes) -> None:
    path = placed(tmp_path, sample)
    whole = path.read_bytes()
    reader = read(path)
    before = picture(reader.draft)
    path.write_bytes(data)
    for _ in range(3):
        with pytest.raises((NotYet, Unreadable)):
            reader.refresh()
    path.write_bytes(whole)
    reader.refresh()
    assert picture(reader.draft) == before


@pytest.mark.parametrize("sample", [
    "cline-session/1775100000000_k3vwq/1775100000000_k3vwq.messages.json",
    "harbor-job/berths__a1/agent/trajectory.json", "mini-swe-agent/tides.traj.json", "swe-agent/depth.traj",
])  # fmt: skip
def test_what_stands_before_the_records_may_come_with_the_first_of_them(tmp_path: Path, sample: str) -> None:
    path = placed(tmp_path, sample)
    whole = path.read_bytes()
    reader = read(path)
    before = picture(reader.draft)
    path.write_bytes(b'{"messages": [], "steps": [], "trajectory": []}')
    assert reader.refresh() and not reader.draft.main.steps
    path.write_bytes(whole)
    assert reader.refresh() and picture(reader.draft) == before
