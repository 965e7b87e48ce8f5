"""One part of an opencode message -> its pieces, as the model sees them.

Of a tool part: the call, its result, and the stub that stands for the result once it was pruned. The database keeps the
whole result even then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from agentmem.formats.loose import decode
from agentmem.formats.messages import Part, arguments_text, call_text, image
from agentmem.formats.shared.sections import split_summary
from agentmem.formats.shared.times import seconds
from agentmem.formats.usage import money_of
from agentmem.model import Outcome, Usage

CLEARED = "[Old tool result content cleared]"
CALL, RESULT, STUB = 0, 1, 2
"""Ordinals of the pieces of a tool part; other parts have one piece, 0, the text of a summary up to three."""
_RULE = "input + cache read + cache write"
_COMPACTION = "What did we do so far?"
ROLE_BASE = {"user": 0, "assistant": 16, "summary": 32}
"""Added to the ordinals of a part's pieces where a part is stored apart from its message: whose part it is."""
QUIET = frozenset({"step-start", "step-finish", "patch", "snapshot", "agent", "retry"})
_PLANS = frozenset({"todowrite", "todo_write"})


class Tool(msgspec.Struct, eq=False):
    """What a tool part says of its call."""

    name: str
    call_id: str
    arguments: str
    status: str
    result: str | None
    outcome: Outcome | None
    """None: to be judged by the text."""
    error: str | None
    cleared: float | None
    """When its result was cleared, seconds since the epoch."""
    started: float | None
    ended: float | None


def text_of(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def tool(part: Mapping[str, Any]) -> Tool:
    """A tool part, read."""
    state = part.get("state")
    body: Mapping[str, Any] = state if isinstance(state, Mapping) else {}
    name = text_of(part.get("tool")) or "?"
    status = str(body.get("status") or "pending")
    times = body.get("time")
    clock: Mapping[str, Any] = times if isinstance(times, Mapping) else {}
    result: str | None = None
    outcome: Outcome | None = None
    error = None
    if status == "completed":
        output = body.get("output")
        result = output if isinstance(output, str) else ""
        metadata = body.get("metadata")
        code = metadata.get("exit") if isinstance(metadata, Mapping) else None
        if isinstance(code, int) and not isinstance(code, bool):
            outcome = "ok" if code == 0 else "error"
        elif name == "invalid":
            outcome = "error"
    elif status == "error":
        result = str(body.get("error") or "")
        outcome, error = "error", result
        if "rejected permission" in result or "user rejected" in result.lower():
            outcome = "denied"
    call_id = text_of(part.get("callID")) or text_of(part.get("id")) or "?"
    return Tool(
        name, call_id, arguments_text(body.get("input")), status, result, outcome, error,
        _milliseconds(clock.get("compacted")), _milliseconds(clock.get("start")), _milliseconds(clock.get("end")),
    )  # fmt: skip


def piece(part: Mapping[str, Any], number: int, role: str) -> Part | None:
    """Piece `number` of a part; None if it has no such piece."""
    sort = part.get("type")
    if sort == "tool":
        found = tool(part)
        if number == CALL:
            text = call_text(found.name, found.arguments)
            return Part("call", text, found.call_id, found.name, found.arguments)
        text = CLEARED if number == STUB else found.result or ""
        return Part("result", text, found.call_id, found.name)
    if part.get("ignored"):
        return None
    if sort == "text" and role == "summary":
        cut = split_summary(part["text"]) if text_of(part.get("text")) else []
        return cut[number] if number < len(cut) else None
    if number != 0:
        return None
    if sort == "text":
        said = text_of(part.get("text"))
        return None if said is None else Part("user" if role == "user" else "assistant", said)
    if sort == "reasoning":
        thought = text_of(part.get("text"))
        return Part("thinking", thought) if thought is not None and thought.strip() else None
    if sort == "file":
        mime = str(part.get("mime") or "")
        return image({"type": "image" if mime.startswith("image") else "document", "url": part.get("url")})
    if sort == "compaction":
        return Part("other", _COMPACTION)
    if sort == "subtask":
        return Part("other", str(part.get("prompt") or part.get("description") or "subtask"))
    return None


def role_of(info: Mapping[str, Any]) -> str:
    """Whose part it is, as in `ROLE_BASE`, by its message."""
    return "user" if info.get("role") == "user" else "summary" if info.get("summary") is True else "assistant"


def extract_apart(raw: bytes, part: int) -> str | None:
    """Whole text of a piece of a part that is stored apart from its message; `part` counts from its role's base."""
    base = part - part % 16
    role = next((name for name, number in ROLE_BASE.items() if number == base), "assistant")
    try:
        return extract(decode(raw), part % 16, role)
    except ValueError:
        return None


def extract(part: object, number: int, role: str) -> str | None:
    """Whole text of a piece."""
    found = piece(part, number, role) if isinstance(part, Mapping) else None
    return found.text if found is not None else None


def usage_of(tokens: object, cost: object, source: str) -> Usage | None:
    """opencode's own shape: cached parts come beside `input`. None where nothing was counted yet."""
    if not isinstance(tokens, Mapping):
        return None
    cache = tokens.get("cache")
    held: Mapping[str, Any] = cache if isinstance(cache, Mapping) else {}

    def number(place: Mapping[str, Any], name: str) -> int | None:
        value = place.get(name)
        whole = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
        return int(value) if whole else None  # type: ignore[arg-type]  # a number by the line above

    fresh, read, written = number(tokens, "input"), number(held, "read"), number(held, "write")
    output = number(tokens, "output")
    prompt = None if fresh is None else fresh + (read or 0) + (written or 0)
    if not prompt and not output:
        return None
    return Usage(prompt, read, written, output, number(tokens, "reasoning"), money_of(cost), _RULE, source)


def plan_of(part: Mapping[str, Any]) -> list[tuple[str, bool]] | None:
    """(content, done) an item, if the part writes the todo list."""
    if part.get("type") != "tool" or str(part.get("tool")) not in _PLANS:
        return None
    state = part.get("state")
    given = state.get("input") if isinstance(state, Mapping) else None
    items = given.get("todos") if isinstance(given, Mapping) else None
    return todos(items) if isinstance(items, list) else None


def todos(items: object) -> list[tuple[str, bool]]:
    """(content, done) of each item of a todo list."""
    out = []
    for item in items if isinstance(items, list) else ():
        if isinstance(item, Mapping) and isinstance(item.get("content"), str) and item["content"]:
            out.append((item["content"], item.get("status") in ("completed", "cancelled")))
    return out


def _milliseconds(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e15:
        return value / 1000
    return None


def completed(info: Mapping[str, Any]) -> bool:
    """Whether a message says when it was ended."""
    times = info.get("time")
    return isinstance(times, Mapping) and times.get("completed") is not None


def created(info: Mapping[str, Any]) -> float | None:
    """When a message was begun, seconds since the epoch."""
    times = info.get("time")
    return seconds(times.get("created")) if isinstance(times, Mapping) else None
