"""One content of the Gemini API, a role with its parts, as it is sent: what Qwen Code records, and saved chats hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentmem.formats.agents.gemini.parts import content, response_text
from agentmem.formats.messages import Part, arguments_text, call_text, is_summary
from agentmem.formats.shared.sections import split_summary
from agentmem.model import Kind
from agentmem.pattern import pattern

_SET_UP = pattern(r"\s*(?:<session_context>|This is (?:the )?(?:Gemini CLI|Qwen Code)\b)")
"""How the first content begins that the agent sends by itself, before anything is asked."""
_COMMAND = pattern(r"\s*/[a-z][\w:-]*(?:\s|\Z)")
_PLANS = frozenset({"todo_write", "write_todos"})


def parts_of(value: object, *, summary: bool = False) -> list[Part]:
    """The pieces of a content, in order. `summary`: its text sums up what stood before."""
    if not isinstance(value, Mapping):
        return []
    kind: Kind = "assistant" if value.get("role") == "model" else "user"
    given = value.get("parts")
    out: list[Part] = []
    for item in given if isinstance(given, list) else [given] if isinstance(given, Mapping | str) else []:
        out.extend(_part(item, kind, summary))
    return out


def _part(item: object, kind: Kind, summary: bool) -> list[Part]:
    if isinstance(item, Mapping) and isinstance(item.get("functionCall"), Mapping):
        call = item["functionCall"]
        tool, arguments = _text(call.get("name")) or "?", arguments_text(call.get("args"))
        return [Part("call", call_text(tool, arguments), _text(call.get("id")), tool, arguments)]
    if isinstance(item, Mapping) and isinstance(item.get("functionResponse"), Mapping):
        answer = item["functionResponse"]
        return [
            Part("result", response_text(item), _text(answer.get("id")), _text(answer.get("name")), None, _bad(answer))
        ]
    text = item.get("text") if isinstance(item, Mapping) else item
    if isinstance(text, str):
        if isinstance(item, Mapping) and item.get("thought"):
            return [Part("thinking", text)] if text else []
        if kind == "user" and text and (summary or is_summary(text)):
            return split_summary(text)
        return [Part("other" if kind == "user" and _SET_UP.match(text) else kind, text)] if text else []
    return content(item, kind)


def _bad(answer: Mapping[str, Any]) -> bool | None:
    """Whether a response says that the call failed; None where it says nothing."""
    body = answer.get("response")
    return True if isinstance(body, Mapping) and set(body) == {"error"} else None


def is_command(text: str) -> bool:
    """Whether a text is a command to the agent itself."""
    return _COMMAND.match(text) is not None


def asked(parts: list[Part]) -> int | None:
    """Which of the pieces is what a person asks for; None if it is only a command or nothing."""
    for number, part in enumerate(parts):
        if part.kind == "user" and part.text and not is_command(part.text):
            return number
    return None


def plan_of(part: object) -> list[tuple[str, bool]] | None:
    """(title, done) an item, if this part of a content writes the todo list."""
    call = part.get("functionCall") if isinstance(part, Mapping) else None
    if not isinstance(call, Mapping) or str(call.get("name")) not in _PLANS:
        return None
    args = call.get("args")
    items = args.get("todos") if isinstance(args, Mapping) else None
    found = []
    for item in items if isinstance(items, list) else ():
        if isinstance(item, Mapping):
            title = _text(item.get("content")) or _text(item.get("description"))
            if title is not None:
                found.append((title, item.get("status") in ("completed", "cancelled")))
    return found if isinstance(items, list) else None


def plan_in(value: object) -> list[tuple[str, bool]] | None:
    """The last todo list that a content writes."""
    given = value.get("parts") if isinstance(value, Mapping) else None
    found = [plan for part in (given if isinstance(given, list) else ()) if (plan := plan_of(part)) is not None]
    return found[-1] if found else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
