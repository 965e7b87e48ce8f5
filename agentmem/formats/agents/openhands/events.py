"""One event of the OpenHands SDK -> the pieces that it brings into the prompt, as its model sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentmem.formats.messages import Part, arguments_text, call_text, compact_json, split

QUIET = frozenset({
    "ConversationStateUpdateEvent", "PauseEvent", "CondensationRequest", "CondensationSummaryEvent", "TokenEvent",
    "HookExecutionEvent", "LLMCompletionLogEvent", "ConversationErrorEvent", "StreamingDeltaEvent", "WarningEvent",
    "ConversationIterationLimitEvent", "SecurityAnalyzerEvent", "ACPToolCallEvent", "InterruptEvent",
})  # fmt: skip
"""Kinds that are no part of the prompt."""
ERROR_HEADER = "[An error occurred during execution.]\n"


def text_of(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def texts(content: object) -> str:
    """A text, or blocks whose texts are joined; a picture in words."""
    if isinstance(content, str):
        return content
    parts = split({"role": "tool", "content": content}).parts if isinstance(content, list) else []
    return parts[0].text or "" if parts else ""


def exit_code(observation: Mapping[str, Any]) -> int | None:
    """The exit code of a command; None if it has none or has not ended."""
    metadata = observation.get("metadata")
    for place in (observation, metadata if isinstance(metadata, Mapping) else {}):
        code = place.get("exit_code")
        if isinstance(code, int) and not isinstance(code, bool) and code != -1:
            return code
    return None


def failed(event: Mapping[str, Any]) -> bool | None:
    """Whether a result is a failure: by its exit code, else by what the tool says."""
    if event.get("kind") == "AgentErrorEvent":
        return True
    observation = event.get("observation")
    if not isinstance(observation, Mapping):
        return None
    code = exit_code(observation)
    flag = observation.get("is_error")
    if flag is True:
        return True
    return code != 0 if code is not None else flag if isinstance(flag, bool) else None


def parts_of(event: Mapping[str, Any]) -> list[Part]:
    """The pieces of an event, in order. Never raises; kinds that bring none give an empty list."""
    kind = event.get("kind")
    if kind == "SystemPromptEvent":
        return _system(event)
    if kind == "MessageEvent":
        message = event.get("llm_message")
        found = split(message).parts if isinstance(message, Mapping) else []
        extended = event.get("extended_content")
        if isinstance(extended, list) and extended:
            found = [*found, *(Part("other", part.text) for part in split({"role": "user", "content": extended}).parts)]
        return found
    if kind == "ActionEvent":
        return _action(event)
    call_id = text_of(event.get("tool_call_id"))
    tool = text_of(event.get("tool_name"))
    if kind == "ObservationEvent":
        observation = event.get("observation")
        body = observation if isinstance(observation, Mapping) else {}
        return [Part("result", _observed(body), call_id, tool, failed=failed(event))]
    if kind == "AgentErrorEvent":
        return [Part("error", str(event.get("error") or ""), call_id, tool, failed=True)]
    if kind in ("UserRejectObservation", "RejectObservation"):
        reason = str(event.get("rejection_reason") or "")
        return [Part("result", f"Action rejected: {reason}", call_id, tool, failed=True)]
    if kind == "Condensation":
        summary = event.get("summary")
        return [Part("summary", summary)] if isinstance(summary, str) and summary else []
    return []


def _system(event: Mapping[str, Any]) -> list[Part]:
    parts = []
    for name in ("system_prompt", "dynamic_context"):
        block = event.get(name)
        text = block.get("text") if isinstance(block, Mapping) else block
        if isinstance(text, str) and text:
            parts.append(Part("system", text))
    tools = event.get("tools")
    if isinstance(tools, list) and tools:
        parts.append(Part("tools", compact_json(tools)))
    return parts


def _action(event: Mapping[str, Any]) -> list[Part]:
    parts = []
    reasoning = event.get("reasoning_content")
    if isinstance(reasoning, str) and reasoning:
        parts.append(Part("thinking", reasoning))
    thought = texts(event.get("thought"))
    if thought.strip():
        parts.append(Part("assistant", thought))
    call = event.get("tool_call")
    body: Mapping[str, Any] = call if isinstance(call, Mapping) else {}
    tool = text_of(event.get("tool_name")) or text_of(body.get("name")) or "?"
    arguments = arguments_text(body.get("arguments", event.get("action")))
    call_id = text_of(event.get("tool_call_id")) or text_of(body.get("id"))
    parts.append(Part("call", call_text(tool, arguments), call_id, tool, arguments))
    return parts


def _observed(observation: Mapping[str, Any]) -> str:
    text = texts(observation.get("content", observation.get("output")))
    text = framed(text, observation.get("metadata"))
    return ERROR_HEADER + text if observation.get("is_error") is True else text


def framed(text: str, metadata: object) -> str:
    """What a command wrote with what is told the model around it."""
    if not isinstance(metadata, Mapping):
        return text
    text = f"{metadata.get('prefix') or ''}{text}{metadata.get('suffix') or ''}"
    if metadata.get("working_dir"):
        text += f"\n[Current working directory: {metadata['working_dir']}]"
    if metadata.get("py_interpreter_path"):
        text += f"\n[Python interpreter: {metadata['py_interpreter_path']}]"
    code = metadata.get("exit_code")
    if isinstance(code, int) and code != -1:
        text += f"\n[Command finished with exit code {code}]"
    return text


def tasks(event: Mapping[str, Any]) -> list[tuple[str, bool]] | None:
    """The plan that a task tracker's call writes: (title, done) an item; None if it is no such call."""
    action = event.get("action")
    if not isinstance(action, Mapping) or not isinstance(action.get("task_list"), list):
        return None
    return tasks_of(action["task_list"]) if action.get("command", "plan") == "plan" else None


def tasks_of(items: object) -> list[tuple[str, bool]]:
    """(title, done) of each item of a task list."""
    out = []
    for item in items if isinstance(items, list) else ():
        if isinstance(item, Mapping) and isinstance(item.get("title"), str) and item["title"]:
            out.append((item["title"], item.get("status") == "done"))
    return out
