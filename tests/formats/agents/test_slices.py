"""A long file is read in parts, a few records a look: in the end it is what one look at the whole gives."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agentmem.formats import NotYet
from agentmem.formats.reader import Reader
from agentmem.formats.source import slice_of
from tests.conftest import ROOT
from tests.formats.agents.following import picture, read, reader_of
from tests.formats.agents.test_every_reader import SAMPLES

LINES = [*(one for one in SAMPLES if one.endswith((".jsonl", ".md"))), "codex/exec-stream.jsonl"]
LOOKS = 3000


def in_parts(path: Path, run_id: str | None = None) -> tuple[Reader, int]:
    """The reader after as many looks as it takes, each of which is stopped at once; and how many those are."""
    reader = reader_of(path, run_id)
    for looks in range(1, LOOKS):
        with slice_of(0.0) as given:
            try:
                reader.refresh()
            except NotYet:
                continue
        if not given.behind:
            return reader, looks
    raise AssertionError(f"{path.name} is never read to its end: {given.behind}")


@pytest.mark.parametrize("sample", LINES)
def test_a_file_that_is_read_in_parts_is_what_one_look_reads(sample: str) -> None:
    path = ROOT / "sample_runs" / sample
    reader, looks = in_parts(path)
    assert looks > 3
    assert picture(reader.draft) == picture(read(path).draft)


def test_a_session_that_was_rewound_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    lines, last = [], None
    for turn in range(60):
        asks, says = f"q{turn}", f"a{turn}"
        parent = f"a{turn - 5}" if turn in (20, 40) else last
        message = {"id": f"m{turn}", "role": "assistant", "model": "m", "content": [{"type": "text", "text": says}]}
        lines += [
            {"type": "user", "uuid": asks, "parentUuid": parent, "sessionId": "s", "message": {"content": asks}},
            {"type": "assistant", "uuid": says, "parentUuid": asks, "sessionId": "s", "message": message},
        ]
        last = says
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    reader, looks = in_parts(path)
    assert looks < len(lines) + 10
    assert {ident: len(lane.steps) for ident, lane in reader.draft.lanes.items()} == {
        "main": 52, "branch-1": 4, "branch-2": 4,
    }  # fmt: skip
    assert picture(reader.draft) == picture(read(path).draft)


def test_a_line_that_waits_for_the_one_that_it_hangs_on_waits_from_one_part_to_the_next(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    asked = {"type": "user", "uuid": "q", "parentUuid": None, "sessionId": "s", "message": {"content": "go"}}
    lines = [asked, {**asked, "uuid": "c", "parentUuid": "b"}, {**asked, "uuid": "b", "parentUuid": "q"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    reader = reader_of(path)
    for _ in lines:
        with slice_of(0.0):
            reader.refresh()
        assert not reader.draft.problems
    assert picture(reader.draft) == picture(read(path).draft)


def test_the_run_of_a_late_line_of_an_evaluation_is_found(tmp_path: Path) -> None:
    events = [
        {"id": 0, "timestamp": "2026-01-01T00:00:00", "source": "user", "action": "message", "args": {"content": "go"}},
        {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}},
    ]
    path = tmp_path / "output.jsonl"
    path.write_text("".join(json.dumps({"instance_id": f"i{n}", "history": events}) + "\n" for n in range(9)))
    reader, looks = in_parts(path, "i8")
    assert looks == 1 and len(reader.draft.main.steps) == 1


def test_a_compressed_rollout_is_read_whole_at_one_look(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    plain = ROOT / "sample_runs" / next(one for one, name in SAMPLES.items() if name == "codex")
    path = tmp_path / f"{plain.name}.zst"
    path.write_bytes(zstandard.compress(plain.read_bytes()))
    reader, looks = in_parts(path)
    assert looks == 1
    assert picture(reader.draft)["lanes"]["main"] == picture(read(path).draft)["lanes"]["main"]
    assert len(reader.draft.main.steps) == len(read(plain).draft.main.steps)


def test_what_events_tell_is_not_taken_for_the_prompt_in_the_middle_of_a_file(tmp_path: Path) -> None:
    def said(kind: str, **payload: object) -> dict[str, object]:
        return {"timestamp": "2026-03-02T09:00:00Z", "type": kind, "payload": payload}

    words = [{"type": "output_text", "text": "yes"}]
    lines = [
        said("session_meta", id="t", cwd="/x"), said("event_msg", type="user_message", message="go"),
        said("event_msg", type="agent_message", message="yes"),
        said("response_item", type="message", role="user", content=[{"type": "input_text", "text": "go"}]),
        said("response_item", type="message", role="assistant", content=words),
    ]  # fmt: skip
    path = tmp_path / "rollout-t.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(path, (1.7e9, 1.7e9))
    reader = reader_of(path)
    for count in range(3):
        with slice_of(0.0):
            reader.refresh()
        assert not reader.draft.main.steps, count
    assert picture(in_parts(path)[0].draft) == picture(read(path).draft)
