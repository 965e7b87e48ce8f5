"""What every reader of an agent's files must do: open, follow, survive cuts and odd records, and never raise."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentmem.cli import main
from agentmem.formats import HEAD_BYTES, NotYet, Unreadable, formats, recognise
from agentmem.formats.reader import Format, Reader
from tests.conftest import ROOT
from tests.formats.agents.following import cuts, every_text_is_whole, opened, picture, read, reader_of

SAMPLES = {
    "aider/loom.chat.history.md": "aider",
    "claude-code/5b1c7f0e-2d64-4a39-8c11-90de3a7f4c02.jsonl": "claude-code",
    "claude-code/c92e04d7-7713-4f5e-9b60-1f8a55d2be31.jsonl": "claude-code",
    "cline-session/1775100000000_k3vwq/1775100000000_k3vwq.messages.json": "cline-sdk",
    "cline-task/1775200000000/api_conversation_history.json": "cline",
    "codex/rollout-2026-03-02T09-00-00-019cadc6-9a80-7269-8ef2-a74de452e6b4.jsonl": "codex",
    "gemini-saved/checkpoint-ducks.json": "gemini-checkpoint",
    "gemini/session-2025-08-01T09-00-1d7e.json": "gemini-cli",
    "gemini/session-2026-04-13T17-06-7c1f0a52.jsonl": "gemini-cli",
    "harbor-job/berths__a1/agent/trajectory.json": "atif",
    "mini-swe-agent/tides-v1.traj.json": "mini-swe-agent",
    "mini-swe-agent/tides.traj.json": "mini-swe-agent",
    "opencode-storage/session/4f1c9d20b7a8e3556c0d/ses_00000001seeds.json": "opencode-storage",
    "opencode/export.json": "opencode-export",
    "opencode/opencode.db": "opencode",
    "openhands/4f9a1d20c3b84e5f9a6b7c8d9e0f1a2b": "openhands",
    "openhands/v0.json": "openhands-v0",
    "pi/2026-03-20T09-46-40-000Z_tides.jsonl": "pi",
    "pi/2026-03-21T10-46-40-000Z_stations.jsonl": "pi",
    "qwen/chats/3c0d5a1e-88b4-4f0e-9a55-1b7e60c2d94f.jsonl": "qwen-code",
    "roo-task/0195f3a0-6c1d-7e44-9b11-2f64f7a1c0de/api_conversation_history.json": "roo",
    "swe-agent/depth-0.7.traj": "swe-agent",
    "swe-agent/depth-1.0.traj": "swe-agent",
    "swe-agent/depth.traj": "swe-agent",
}
WITHOUT = {"openhands-completions"}
"""Formats without a sample: their tests write their own files."""
UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b]")
TEXTS = re.compile(rb'"(?:text|content|message|output|command|title|thought)": ?"')
every = pytest.mark.parametrize("sample", SAMPLES)
one_file = pytest.mark.parametrize("sample", [one for one in SAMPLES if Path(one).suffix not in ("", ".db")])
IN_JSON = (".json", ".jsonl", ".traj")
APART = {"opencode-storage"}
"""Formats whose texts stand in other files than the one that is opened: their tests spoil those."""
in_json = pytest.mark.parametrize(
    "sample", [one for one, name in SAMPLES.items() if Path(one).suffix in IN_JSON and name not in APART]
)


@pytest.fixture
def placed(tmp_path: Path, sample: str) -> Path:
    """The sample with what stands beside it, in a folder of its own."""
    top = Path(sample).parts[0]
    shutil.copytree(ROOT / "sample_runs" / top, tmp_path / "own" / top)
    return tmp_path / "own" / sample


def known(name: str) -> Format:
    return next(one for one in formats() if one.name == name)


def test_every_format_of_an_agent_has_a_sample() -> None:
    agents = {one.name for one in formats() if ".agents." in one.recognise.__module__}
    assert agents - WITHOUT == set(SAMPLES.values())


@every
def test_a_sample_is_known_by_its_content_and_opens(placed: Path, sample: str) -> None:
    found = recognise(placed)
    assert found is not None and found.name == SAMPLES[sample]
    run = opened(placed).run
    assert run.main.steps and run.goal and run.format == found.name
    assert all("\n" not in problem.what for problem in run.problems)
    assert every_text_is_whole(placed) > 1


@every
def test_a_second_look_at_what_did_not_change_says_so(placed: Path) -> None:
    reader = read(placed)
    before = picture(reader.draft)
    assert not reader.refresh()
    assert picture(reader.draft) == before


def _arriving(source: Path, target: Path) -> Iterator[None]:
    """The files of a run come one after the other, each in pieces."""
    files = sorted(path for path in source.rglob("*") if path.is_file()) if source.is_dir() else [source]
    files.sort(key=lambda file: file.name == "TASKS.json")  # written when a call asks for it
    for file in files:
        place = target if file == source else target / file.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        data = file.read_bytes()
        size = max(1, len(data) // (3 if source.is_dir() else 25))
        for start in range(0, len(data), size):
            with place.open("ab") as out:
                out.write(data[start : start + size])
            yield


@pytest.mark.parametrize("sample", [*(one for one in SAMPLES if not one.endswith(".db")), "codex/exec-stream.jsonl"])
def test_what_is_followed_from_the_first_byte_is_what_is_read_at_once(placed: Path) -> None:
    source = placed.rename(placed.with_name("whole")) if placed.is_dir() else placed
    if source == placed:
        source = placed.with_name(f"whole-{placed.name}")
        placed.rename(source)
    reader: Reader | None = None
    for _ in _arriving(source, placed):
        if reader is None and placed.exists() and recognise(placed) is not None:
            reader = reader_of(placed)
        if reader is None:
            continue
        try:
            reader.refresh()
        except (NotYet, Unreadable):
            assert not reader.draft.main.steps, "what was shown stays"
    assert reader is not None
    assert picture(reader.draft) == picture(read(placed).draft)


@one_file
def test_a_file_cut_at_any_place_opens_or_says_why_not(placed: Path) -> None:
    data = placed.read_bytes()
    whole = sum(len(lane.steps) for lane in read(placed).draft.lanes.values())
    shown = 0
    for place, found in cuts(placed, data, 40):
        if isinstance(found, str):
            assert "\n" not in found, place
        else:
            shown += 1
            # Of a history of several chats the newest is read: an earlier one may be longer.
            assert sum(len(lane.steps) for lane in found.lanes.values()) <= whole or found.format == "aider", place
    assert shown > 20


@in_json
def test_hostile_text_reaches_no_terminal(placed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    escapes = rb"the \u001b]0;owned\u0007\u001b[2J\u202e\u2066\u200b\u0085 "
    data = placed.read_bytes()
    spoiled = TEXTS.sub(lambda match: match.group() + escapes, data.replace(b"the ", escapes))
    assert len(spoiled) > len(data) + 200
    placed.write_bytes(spoiled)
    for command in ("show", "drops"):
        assert main([command, str(placed)]) in (0, 1)
        said = capsys.readouterr()
        assert not UNSEEN.search(said.out + said.err), UNSEEN.search(said.out + said.err)


UNKNOWN = {
    "claude-code/c92e04d7-7713-4f5e-9b60-1f8a55d2be31.jsonl": b'{"type":"flux","uuid":"f","sessionId":"s"}\n',
    "codex/rollout-2026-03-02T09-00-00-019cadc6-9a80-7269-8ef2-a74de452e6b4.jsonl":
        b'{"timestamp":"2026-03-02T10:00:00Z","type":"flux","payload":{}}\n',
    "pi/2026-03-20T09-46-40-000Z_tides.jsonl": b'{"type":"flux","id":"f0f0f0f0","parentId":null}\n',
    "gemini/session-2026-04-13T17-06-7c1f0a52.jsonl": b'{"id":"f","type":"flux"}\n',
    "qwen/chats/3c0d5a1e-88b4-4f0e-9a55-1b7e60c2d94f.jsonl": b'{"uuid":"f","type":"flux","parentUuid":null}\n',
}  # fmt: skip


@pytest.mark.parametrize("sample", UNKNOWN)
def test_a_record_that_nobody_knows_is_counted_and_said_and_changes_nothing(placed: Path, sample: str) -> None:
    reader = read(placed)
    before = [step.n for step in reader.draft.main.steps]
    with placed.open("ab") as file:
        for n in range(3):  # told apart: the same line once more would be left out
            file.write(UNKNOWN[sample].replace(b"}\n", b',"n":%d}\n' % n))
    assert reader.refresh()
    assert any("flux x3" in problem.what for problem in reader.draft.problems)
    assert [step.n for step in reader.draft.main.steps] == before


@every
def test_a_row_of_the_list_tells_what_the_run_tells(placed: Path, sample: str) -> None:
    found = known(SAMPLES[sample])
    rows = list(found.runs(placed)) if found.runs is not None else [found.peek(placed)] if found.peek else []
    run = opened(placed).run
    assert all(row.format == found.name and row.problem is None for row in rows)
    if rows:
        row = next((row for row in rows if row.id == run.id), None)
        assert row is not None, [row.id for row in rows]
        assert row.at is not None
        assert row.goal is None or run.goal is None or run.goal.split()[:3] == row.goal.split()[:3]


@every
def test_a_look_at_half_a_file_or_at_none_does_not_raise(placed: Path, tmp_path: Path, sample: str) -> None:
    found = known(SAMPLES[sample])
    data = placed.read_bytes() if placed.is_file() else b'{"kind":"MessageEvent","source":"user"}'
    spoiled = tmp_path / f"spoiled{placed.suffix or '.jsonl'}"
    for part in (b"", b"\0" * 20, b"[", b"{}", b'"', data[: len(data) // 3], data[:-2], data[len(data) // 2 :]):
        spoiled.write_bytes(part)
        assert found.recognise(spoiled, part[:HEAD_BYTES]) in (True, False)
        try:
            rows = list(found.runs(spoiled)) if found.runs is not None else []
            rows += [found.peek(spoiled)] if found.peek is not None else []
        except Unreadable as error:
            assert "\n" not in str(error) and spoiled.name in str(error)
        else:
            assert all(row.format == found.name for row in rows)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert found.places is None or list(found.places(elsewhere)) == []
