"""One entry of a pi session -> the pieces that it brings into the prompt, and what it reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentmem.formats.messages import Message, Part, split
from agentmem.formats.shared.sections import split_summary
from agentmem.formats.usage import amount, money_of
from agentmem.model import Usage

_RULE = "input + cache read + cache write"
OTHER = frozenset({"custom", "hookMessage", "hook"})
"""Roles of messages that extensions bring in."""


def parts_of(entry: Mapping[str, Any]) -> list[Part]:
    """The pieces that an entry brings into the prompt, in order; of a compaction its summary, the goal cut out."""
    sort = entry.get("type")
    if sort in ("compaction", "branch_summary"):
        return split_summary(entry.get("summary"))
    if sort == "custom_message":
        return [Part("other", part.text, tokens=part.tokens) for part in split({"role": "user", **entry}).parts]
    message = entry.get("message")
    if not isinstance(message, Mapping):
        return []
    role = message.get("role")
    if role == "toolResult":
        shaped = {
            "role": "tool", "content": message.get("content"), "tool_call_id": message.get("toolCallId"),
            "name": message.get("toolName"), "is_error": message.get("isError"),
        }  # fmt: skip
        return split(shaped).parts
    if role == "bashExecution":
        if message.get("excludeFromContext"):
            return []
        given = (message.get(name) for name in ("command", "output"))
        command, output = (text if isinstance(text, str) else "" for text in given)
        return [Part("result", f"$ {command}\n{output}", tool="bash")]
    if role in ("branchSummary", "compactionSummary"):
        return split_summary(message.get("summary"))
    if role in OTHER:
        return [Part("other", part.text, tokens=part.tokens) for part in split({**message, "role": "user"}).parts]
    found: Message = split(message)
    if role == "assistant" and isinstance(message.get("errorMessage"), str) and message["errorMessage"]:
        found.parts.append(Part("error", message["errorMessage"]))
    return found.parts


def usage_of(message: Mapping[str, Any], source: str) -> Usage | None:
    """pi's own shape: cached parts come beside `input`. None where nothing was counted (an aborted call)."""
    usage = message.get("usage")
    if not isinstance(usage, Mapping):
        return None

    fresh, read, written, output = (
        amount(usage.get(name)) for name in ("input", "cacheRead", "cacheWrite", "output")
    )
    prompt = None if fresh is None else fresh + (read or 0) + (written or 0)
    if not prompt and not output:
        return None
    cost = usage.get("cost")
    money = money_of(cost.get("total")) if isinstance(cost, Mapping) else None
    return Usage(prompt, read, written, output, None, money, _RULE, source)
