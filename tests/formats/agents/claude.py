"""Sessions written for a test, and a picture of what a reader made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentmem.formats.agents.claude_code.reader import ClaudeCodeReader
from agentmem.formats.draft import LaneDraft, RunDraft
from agentmem.formats.reader import Options
from agentmem.inspect.assemble import Assembler
from agentmem.inspect.texts import Texts
from agentmem.model import Run
from sample_runs.make_claude_code import Session

IDENT = "0f3a9c11-58d2-4e0b-9a77-3d1c0b6e4f25"
GOAL = "Translate the tide tables of all six ports, and keep the heights in metres."


def session(seed: int = 1) -> Session:
    return Session(IDENT, seed)


def save(work: Session, folder: Path) -> Path:
    path = folder / f"{IDENT}.jsonl"
    path.write_bytes(work.text().encode())
    return path


def read(path: Path) -> ClaudeCodeReader:
    reader = ClaudeCodeReader(path, Options())
    reader.refresh()
    return reader


def draft_of(work: Session, folder: Path) -> RunDraft:
    return read(save(work, folder)).draft


def run_of(reader: ClaudeCodeReader) -> Run:
    """The run that the inspector makes of it."""
    return Assembler(reader.draft, Texts(reader)).run()


def run_from(work: Session, folder: Path) -> Run:
    return run_of(read(save(work, folder)))


def heads(lane: LaneDraft, n: int) -> list[str | None]:
    """Heads of the prompt of step n (steps + 1: as it stands), in order."""
    return [head and head[:40] for head in (lane.tape.segment(ident).head for ident in lane.tape.ids(n))]


def picture(draft: RunDraft) -> dict[str, Any]:
    """All that a reader tells, by lane, without the ids."""
    out: dict[str, Any] = {"goal": draft.goal, "model": draft.model, "id": draft.id, "counts": dict(draft.counts)}
    out["problems"] = sorted((problem.where, problem.what) for problem in draft.problems)
    for lane in draft.lanes.values():
        segment = lane.tape.segment
        out[lane.id] = (lane.kind, lane.name, lane.spawned_by, heads(lane, len(lane.steps) + 1), [
            (
                heads(lane, step.n), [segment(ident).head for ident in step.replies],
                [segment(ident).head for ident in step.results], step.usage and (step.usage.prompt, step.usage.output),
                step.boundary and (step.boundary.kind, step.boundary.recorded, step.boundary.why),
                [(field.name, field.value, field.done) for field in step.fields],
                [(call.tool, call.arguments, call.outcome, call.error) for call in step.calls], step.parent,
            )
            for step in lane.steps
        ])  # fmt: skip
    return out
