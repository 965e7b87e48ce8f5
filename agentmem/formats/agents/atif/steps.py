"""One step of an ATIF trajectory: who speaks, its pieces, its usage, the subagents that it names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentmem.formats.messages import Part, arguments_text, call_text, image, is_summary
from agentmem.formats.shared.rewriting import decoded, mapping
from agentmem.formats.usage import amount, money_of
from agentmem.formats.versions import Item
from agentmem.model import Kind, Usage
from agentmem.pattern import pattern

_TASK = pattern(r"Task Description:\s*\n(.+?)\n\s*\n?Current terminal state", re.DOTALL)
"""Where the task stands in the first request of Terminus."""
_RULE = "prompt tokens, cached included"
HANDOFF = "Here are the answers the other agent provided."
"""First words of what Terminus tells the next agent after a compaction; ASKED are those of the request before."""
ASKED = "You are picking up work from a previous AI agent on this task:"


def source_of(value: Mapping[str, Any]) -> str:
    """Who speaks; told from what a step holds where it does not say."""
    source = value.get("source", value.get("role"))
    if isinstance(source, str):
        return {"assistant": "agent", "developer": "system", "human": "user"}.get(source, source)
    return "agent" if value.get("tool_calls") or value.get("metrics") or value.get("model_name") else "user"


def parts_of(value: Mapping[str, Any]) -> list[Part]:
    """The pieces of one step: what was said and called, then what came back."""
    return said_of(value) + got_of(value)


def said_of(value: Mapping[str, Any]) -> list[Part]:
    """Thoughts, message and calls of one step."""
    source = source_of(value)
    kinds: dict[str, Kind] = {"agent": "assistant", "user": "user", "system": "system"}
    kind = kinds.get(source, "other")
    parts: list[Part] = []
    reasoning = value.get("reasoning_content")
    if isinstance(reasoning, str) and reasoning:
        parts.append(Part("thinking", reasoning))
    for part in _content(value.get("message"), kind):
        told = part.kind == "user" and part.text and (is_summary(part.text) or part.text.startswith((HANDOFF, ASKED)))
        parts.append(Part("summary", part.text) if told else part)
    calls = value.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping):
            tool = str(call.get("function_name") or call.get("name") or "?")
            arguments = arguments_text(call.get("arguments"))
            ident = call.get("tool_call_id")
            parts.append(
                Part("call", call_text(tool, arguments), ident if isinstance(ident, str) else None, tool, arguments)
            )
    return parts


def got_of(value: Mapping[str, Any]) -> list[Part]:
    """Results of one step."""
    parts: list[Part] = []
    results = mapping(value.get("observation")).get("results")
    for result in results if isinstance(results, list) else ():
        if isinstance(result, Mapping) and result.get("content") is not None:
            ident = result.get("source_call_id")
            for part in _content(result["content"], "result"):
                part.call_id = ident if isinstance(ident, str) else None
                parts.append(part)
    return parts


def _content(content: object, kind: Kind) -> list[Part]:
    if isinstance(content, str):
        return [Part(kind, content)] if content or kind == "result" else []
    out: list[Part] = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, str):
            out.append(Part(kind, block))
        elif isinstance(block, Mapping) and isinstance(block.get("text"), str):
            out.append(Part(kind, block["text"]))
        elif isinstance(block, Mapping):
            out.append(image(block))
    return out


def task_span(text: str) -> tuple[int, int]:
    """Where the task stands in a request; the whole text where it has no such place."""
    found = _TASK.search(text)
    return (0, len(text)) if found is None else found.span(1)


def references(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The subagents that a step names."""
    results = mapping(value.get("observation")).get("results")
    found: list[Mapping[str, Any]] = []
    for result in results if isinstance(results, list) else ():
        listed = result.get("subagent_trajectory_ref") if isinstance(result, Mapping) else None
        entries = listed if isinstance(listed, list) else [listed]
        found.extend(entry for entry in entries if isinstance(entry, Mapping))
    return found


def usage_of_step(value: Mapping[str, Any]) -> Usage | None:
    """What a step reports. Of several calls in one step the prompt is a sum, so that its size is unknown."""
    metrics = value.get("metrics")
    if not isinstance(metrics, Mapping):
        return None
    calls = value.get("llm_call_count")
    several = isinstance(calls, int) and calls > 1
    return Usage(
        None if several else amount(metrics.get("prompt_tokens")), amount(metrics.get("cached_tokens")), None,
        amount(metrics.get("completion_tokens")), None,
        money_of(metrics.get("cost_usd")), _RULE,
        f"step {value.get('step_id')}",
    )  # fmt: skip


def increasing(items: list[Item]) -> bool:
    """Whether the steps' own numbers are integers that grow."""
    last = -1
    for item in items:
        own = decoded(item).get("step_id")
        if not isinstance(own, int) or isinstance(own, bool) or own <= last:
            return False
        last = own
    return True
