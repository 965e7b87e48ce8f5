"""Small runs as real files, and what the inspector says of them: opened as a command opens them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentmem.inspect.open import Opened, open_run
from agentmem.model import Drop, Run, Segment, Step
from tests.formats.helpers import call, result, said, user

Message = dict[str, Any]

__all__ = [
    "Message", "call", "drops", "each", "list_of", "log", "open_file", "piece", "request", "result", "said", "save",
    "system", "told", "turn", "user", "versions",
]  # fmt: skip


def system(text: str) -> Message:
    return {"role": "system", "content": text}


def turn(number: int, tool: str, answer: str, **arguments: Any) -> list[Message]:
    """One call with its result."""
    return [call(f"c{number}", tool, **arguments), result(f"c{number}", answer)]


def save(path: Path, value: object) -> Path:
    """Written as a stranger's loop writes: whole, with plain `open("w")`."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def open_file(path: Path, value: object | None = None) -> Opened:
    if value is not None:
        save(path, value)
    return open_run(str(path))


def list_of(path: Path, messages: Sequence[Message]) -> Run:
    """The run of a plain message list."""
    return open_file(path, list(messages)).run


def versions(path: Path, *bodies: object) -> Opened:
    """A file that was overwritten with each body in turn, looked at after each."""
    source = open_file(path, bodies[0])
    for body in bodies[1:]:
        save(path, body)
        assert source.refresh()
    return source


def request(messages: Sequence[Message], answer: Message, usage: Message | None = None, **more: Any) -> Message:
    """A line of a request log: what was sent and what came back."""
    response: Message = {"choices": [{"message": answer}]}
    if usage is not None:
        response["usage"] = usage
    return {"request": {"model": "m", "messages": list(messages), **more}, "response": response}


def log(path: Path, lines: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def drops(run: Run) -> list[Drop]:
    return [drop for lane in run.lanes for step in lane.steps for drop in step.drops]


def each(run: Run) -> tuple[Step, ...]:
    """The closed steps of the main lane."""
    return tuple(step for step in run.main.steps if not step.open)


def told(source: Opened, step: Step) -> list[tuple[str, str | None]]:
    """(kind, whole text) of what the model saw."""
    return [(segment.kind, source.text(segment)) for segment in step.prompt]


def piece(step: Step, kind: str) -> Segment:
    """The only piece of that kind in a prompt."""
    (found,) = [segment for segment in step.prompt if segment.kind == kind]
    return found
