"""One record of a Gemini chat -> its pieces: what was said, the calls, and their results, which stand in one record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from agentmem.formats.messages import Part, arguments_text, call_text, compact_json, image, is_summary
from agentmem.formats.shared.sections import split_summary
from agentmem.formats.usage import amount
from agentmem.model import Kind, Outcome, Usage
from agentmem.tape import content_key

TYPES = frozenset({"user", "gemini", "info", "warning", "error"})
"""Of the records that are messages."""
_RULE = "input, cached included"
_OUTCOMES: dict[str, Outcome] = {"success": "ok", "error": "error", "cancelled": "denied"}
_PLANS = frozenset({"write_todos", "write_todos_list", "todo_write"})


class Bit(msgspec.Struct, eq=False):
    """A piece of a record, and whether it stays in the prompt."""

    part: Part
    stays: bool = True
    outcome: Outcome | None = None
    """For a result: what the record itself says, None where it says nothing."""
    key: int = 0

    def __post_init__(self) -> None:
        self.key = content_key(f"{self.part.kind} {self.part.call_id}", self.part.text or "")


def content(value: object, kind: Kind) -> list[Part]:
    """Pieces of a part list: a text, a part, or a list of them."""
    if isinstance(value, str):
        if kind == "user" and is_summary(value):
            return split_summary(value)
        return [Part(kind, value)] if value else []
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list):
        return []
    out: list[Part] = []
    for item in value:
        if isinstance(item, str):
            out.extend(content(item, kind))
        elif not isinstance(item, Mapping):
            out.append(Part("other", compact_json(item)))
        elif isinstance(item.get("text"), str):
            if item["text"] and not item.get("thought"):
                out.extend(content(item["text"], kind))
        elif isinstance(item.get("inlineData"), Mapping):
            mime = str(item["inlineData"].get("mimeType") or "")
            sort = "image" if mime.startswith("image") else "document"
            out.append(image({"type": sort, "data": item["inlineData"].get("data")}))
        elif isinstance(item.get("functionResponse"), Mapping):
            out.append(Part("result", response_text(item), _text(item["functionResponse"].get("id"))))
        else:
            out.append(Part("other", compact_json(item)))
    return out


def response_text(value: object) -> str | None:
    """Text of a tool's result: of a function response its output or error, else its parts; None if there is none."""
    if value is None:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        texts = [text for item in value if (text := response_text(item)) is not None]
        return "\n".join(texts)
    if not isinstance(value, Mapping):
        return compact_json(value)
    answer = value.get("functionResponse")
    if isinstance(answer, Mapping):
        body = answer.get("response")
        if isinstance(body, Mapping) and len(body) == 1:
            only = next(iter(body.values()))
            return only if isinstance(only, str) else compact_json(body)
        return body if isinstance(body, str) else compact_json(body)
    if isinstance(value.get("text"), str):
        return str(value["text"])
    if isinstance(value.get("inlineData"), Mapping):
        return "[image]"
    return compact_json(value)


def bits_of(record: Mapping[str, Any]) -> list[Bit]:
    """The pieces of a record, in order."""
    sort = record.get("type")
    if sort == "user":
        return [Bit(part) for part in content(record.get("content"), "user")]
    if sort != "gemini":
        text = record.get("content")
        return [Bit(Part("error", text), False)] if sort == "error" and isinstance(text, str) and text else []
    bits: list[Bit] = []
    thoughts = record.get("thoughts")
    for thought in thoughts if isinstance(thoughts, list) else ():
        if isinstance(thought, Mapping):
            told = [str(thought[name]) for name in ("subject", "description") if thought.get(name)]
            bits.append(Bit(Part("thinking", "\n".join(told)), False))
    bits.extend(Bit(part) for part in content(record.get("content"), "assistant"))
    calls = record.get("toolCalls")
    made = [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    for index, call in enumerate(made):
        tool = str(call.get("name") or "?")
        arguments = arguments_text(call.get("args"))
        bits.append(Bit(Part("call", call_text(tool, arguments), call_id(record, call, index), tool, arguments)))
    for index, call in enumerate(made):
        text = response_text(call.get("result"))
        status = call.get("status")
        outcome = _OUTCOMES.get(status) if isinstance(status, str) else None
        if text is None and outcome is None:
            continue
        tool = str(call.get("name") or "?")
        known = "" if text is None else text
        if text is None and call.get("result") is None:
            shown = call.get("resultDisplay")
            known = shown if isinstance(shown, str) else ""
        bits.append(Bit(Part("result", known, call_id(record, call, index), tool), True, outcome))
    return bits


def call_id(record: Mapping[str, Any], call: Mapping[str, Any], index: int) -> str:
    """Id of a call; without one its place in its record."""
    return _text(call.get("id")) or f"{record.get('id')}/{index}"


def usage_of(record: Mapping[str, Any], source: str) -> Usage | None:
    """Usage of the call that a record is; `input` counts cached tokens too."""
    tokens = record.get("tokens")
    if not isinstance(tokens, Mapping):
        return None

    given, cached, output, thoughts = (amount(tokens.get(name)) for name in ("input", "cached", "output", "thoughts"))
    return Usage(given, cached, None, output, thoughts, None, _RULE, source)


def plan_of(record: Mapping[str, Any]) -> tuple[list[tuple[str, bool]], str] | None:
    """((title, done) an item, id of the call that wrote them), if the record writes the todo list."""
    calls = record.get("toolCalls")
    for index, call in enumerate(calls if isinstance(calls, list) else ()):
        if not isinstance(call, Mapping) or str(call.get("name")) not in _PLANS:
            continue
        args = call.get("args")
        items = args.get("todos") if isinstance(args, Mapping) else None
        if isinstance(items, list):
            found = []
            for item in items:
                if not isinstance(item, Mapping):
                    continue
                title = next((item[n] for n in ("description", "content", "title") if isinstance(item.get(n), str)), "")
                if title:
                    found.append((title, item.get("status") in ("completed", "done", "cancelled")))
            return found, call_id(record, call, index)
    return None


def display(record: Mapping[str, Any]) -> str | None:
    """What the person typed, without what the tool put in its place (files named by @)."""
    for name in ("displayContent", "content"):
        texts = [part.text for part in content(record.get(name), "user") if part.kind == "user" and part.text]
        if texts:
            return texts[0]
    return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
