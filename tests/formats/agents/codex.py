"""Small makers of the records of a rollout, and a look into what the reader makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentmem.formats import Options, recognise
from agentmem.formats.draft import LaneDraft, RunDraft
from agentmem.formats.reader import Reader
from agentmem.inspect.open import Opened, open_run

NAME = "rollout-2026-04-01T08-00-00-019d0000-0000-7000-8000-000000000001.jsonl"
IDENT = "019d0000-0000-7000-8000-000000000001"
Record = dict[str, Any]


def record(kind: str, payload: Any, second: float = 0.0) -> Record:
    at = f"2026-04-01T08:{int(second) // 60:02}:{second % 60:06.3f}Z"
    return {"timestamp": at, "type": kind, "payload": payload}


def meta(ident: str = IDENT, **more: Any) -> Record:
    given = {"id": ident, "timestamp": "2026-04-01T08:00:00Z", "cwd": "/srv/mill", "originator": "some wrapper",
             "cli_version": "0.118.0", "source": "cli", "base_instructions": {"text": "Be exact."}}  # fmt: skip
    return record("session_meta", {**given, **more})


def item(sort: str, **more: Any) -> Record:
    return record("response_item", {"type": sort, **more})


def user(text: str) -> Record:
    return item("message", role="user", content=[{"type": "input_text", "text": text}])


def said(text: str) -> Record:
    return item("message", role="assistant", content=[{"type": "output_text", "text": text}])


def thought() -> Record:
    return item("reasoning", summary=[], content=None, encrypted_content="gAAAA")


def call(ident: str, tool: str = "exec_command", **arguments: Any) -> Record:
    return item("function_call", name=tool, arguments=json.dumps(arguments), call_id=ident)


def result(ident: str, output: Any) -> Record:
    return item("function_call_output", call_id=ident, output=output)


def plan(ident: str, *steps: str, done: int = 0) -> Record:
    given = [{"step": step, "status": "completed" if n < done else "pending"} for n, step in enumerate(steps)]
    return call(ident, "update_plan", plan=given)


def event(sort: str, **more: Any) -> Record:
    return record("event_msg", {"type": sort, **more})


def count(prompt: int, total: int, *, reasoning: int = 0, window: int = 258_400) -> Record:
    last = {"input_tokens": prompt, "cached_input_tokens": prompt // 2, "output_tokens": reasoning + 10,
            "reasoning_output_tokens": reasoning, "total_tokens": prompt + reasoning + 10}  # fmt: skip
    lifetime = {**last, "input_tokens": total, "total_tokens": total}
    return event("token_count", info={
        "total_token_usage": lifetime, "last_token_usage": last, "model_context_window": window})  # fmt: skip


def compacted(message: str, kept: list[Record] | None = None) -> Record:
    payload: Record = {"message": message}
    if kept is not None:
        payload["replacement_history"] = [each.get("payload", each) for each in kept]
    return record("compacted", payload)


def lines(*records: Record) -> bytes:
    return b"".join(json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in records)


def write(folder: Path, *records: Record, name: str = NAME) -> Path:
    path = folder / name
    path.write_bytes(lines(*records))
    return path


def reader(path: Path) -> Reader:
    known = recognise(path)
    assert known is not None and known.name == "codex", f"{path} is not recognised"
    made = known.open(path, Options())
    made.refresh()
    return made


def run_of(folder: Path, *records: Record, name: str = NAME) -> Opened:
    return open_run(str(write(folder, *records, name=name)))


def prompt(lane: LaneDraft, n: int) -> list[tuple[str, str | None]]:
    segments = [lane.tape.segment(ident) for ident in lane.tape.ids(n)]
    return [(segment.kind, segment.head) for segment in segments]


def shape(draft: RunDraft) -> object:
    """All that a draft tells, in values that can be compared."""
    lanes = []
    for lane in draft.lanes.values():
        steps = [
            (
                step.n, step.usage and (step.usage.prompt, step.usage.output), step.boundary and step.boundary.why,
                [(field.name, field.value, field.done) for field in step.fields], prompt(lane, step.n),
                [(each.tool, each.arguments, each.outcome, each.answered) for each in step.calls],
                [declared.name for declared in step.declared],
            )
            for step in lane.steps
        ]  # fmt: skip
        lanes.append((lane.id, lane.kind, lane.spawned_by, lane.name, steps, prompt(lane, len(lane.steps) + 1)))
    problems = sorted((problem.where, problem.what) for problem in draft.problems)
    return draft.id, draft.goal, draft.window, draft.model, draft.finished, lanes, problems, draft.counts


TURN = (user("Grind the corn."), event("user_message", message="Grind the corn."), thought(), call("a", cmd="ls"),
        count(100, 100), result("a", "mill.py"), said("Ground."), count(150, 250))  # fmt: skip
CHILD = "019d0000-0001-7000-8000-000000000002"
