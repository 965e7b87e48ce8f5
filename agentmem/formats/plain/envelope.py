"""What stands beside the messages in a request or a checkpoint: system, tools, goal, state, step, status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentmem.formats.draft import RunDraft
from agentmem.formats.fields import flatten
from agentmem.formats.messages import compact_json, split
from agentmem.model import Field, TokenCounter, Where
from agentmem.tape import Piece

NEW_RUN = "a new run in the same file"
STATE_KEYS = ("state", "memory", "agent_state")
GOAL_KEYS = ("goal", "task", "objective")
ENDED = frozenset({
    "done", "ended", "finished", "complete", "completed", "success", "succeeded", "failed", "error", "cancelled",
    "canceled", "stopped", "aborted", "exhausted", "handed over", "not converging", "escalated",
})  # fmt: skip


def prefix_pieces(body: Mapping[str, Any], where: Where | None) -> list[Piece]:
    """System prompt and tool schemas that are given beside the messages."""
    pieces: list[Piece] = []
    if not body:
        return pieces
    for name in ("system", "instructions"):
        value = body.get(name)
        if isinstance(value, str) and value:
            pieces.append(Piece("system", value, where))
        elif isinstance(value, list) and value:
            pieces.extend(
                Piece("system", part.text, where) for part in split({"role": "system", "content": value}).parts
            )
    tools = body.get("tools")
    if isinstance(tools, list) and tools:
        pieces.append(Piece("tools", compact_json(tools), where))
    return pieces


def state_fields(body: Mapping[str, Any], count: TokenCounter) -> tuple[Field, ...]:
    """Fields of the state that a checkpoint holds; its goal and notes too, if they stand beside the state."""
    if not body:
        return ()
    state: dict[str, Any] = {}
    for key in GOAL_KEYS:
        if isinstance(body.get(key), str) and body[key]:
            state[key] = body[key]
            break
    for key in STATE_KEYS:
        held = body.get(key)
        if isinstance(held, Mapping):
            state.update({str(name): value for name, value in held.items()})
    for key in ("facts", "plan", "last_error"):
        if key in body and key not in state:
            state[key] = body[key]
    notes = body.get("notes")
    if notes and "notes" not in state:
        state["notes"] = notes
    return flatten(state, count)


def apply_goal(draft: RunDraft, fields: tuple[Field, ...], guessed: str | None, orphaned: bool) -> None:
    """A declared goal wins; else the first user text; unknown where the list was cut before it."""
    for field in fields:
        if field.name in GOAL_KEYS and field.value and field.value != "null":
            draft.set_goal(field.value, declared=True)
            return
    if orphaned and draft.goal is None:
        draft.goal_unknown = True
        return
    draft.set_goal(guessed, declared=False)


def integer(value: object) -> int | None:
    """A step number: an integer, or a text that is one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.strip().lstrip("-").isdigit() and len(value) < 19:
        return int(value)
    return None


def unknown_parts(system: bool, tools: bool) -> tuple[str, ...]:
    """What the file does not hold, in words."""
    return tuple(name for name, known in (("system prompt", system), ("tool schemas", tools)) if not known)
