"""Turn items as events tell them: those of `codex exec --json`, and `event_msg` records of rollouts.

In a rollout they say again what the response items say; they are the prompt only where the items are missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from agentmem.formats.messages import Part, arguments_text, call_text, compact_json
from agentmem.pattern import pattern

Sort = Literal["user", "assistant", "tool", "plan", "todo", "nothing"]
_CAMEL = pattern(r"(?<=[a-z0-9])(?=[A-Z])")

UNDERSTOOD = frozenset({
    "user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content", "patch_apply_end", "token_count",
    "thread_goal_updated", "context_compacted", "entered_review_mode", "exited_review_mode", "mcp_tool_call_end",
    "thread_rolled_back", "turn_aborted", "task_started", "task_complete", "turn_started", "turn_complete",
    "web_search_end", "image_generation_end", "sub_agent_activity", "item_completed", "error", "exec_command_end",
    "exec_command_begin", "patch_apply_begin", "mcp_tool_call_begin", "plan_update", "thread_settings_applied",
    "thread_name_updated", "collab_agent_spawn_end", "collab_agent_spawn_begin", "collab_agent_interaction_end",
    "collab_waiting_end", "collab_close_end", "collab_resume_end", "guardian_assessment", "view_image_tool_call",
    "dynamic_tool_call_request", "dynamic_tool_call_response", "undo_completed", "warning", "stream_error",
    "thread_goal_cleared", "session_configured", "shutdown_complete", "model_reroute",
})  # fmt: skip
"""Types of events; what tells nothing of the prompt is taken in and passed over."""

ITEMS: dict[str, Sort] = {
    "user_message": "user", "agent_message": "assistant", "reasoning": "assistant", "command_execution": "tool",
    "mcp_tool_call": "tool", "dynamic_tool_call": "tool", "file_change": "tool", "web_search": "tool",
    "extension": "tool", "image_view": "tool", "image_generation": "tool", "collab_tool_call": "tool",
    "collab_agent_tool_call": "tool", "plan": "plan", "todo_list": "todo", "error": "nothing", "sleep": "nothing",
    "hook_prompt": "nothing", "context_compaction": "nothing", "entered_review_mode": "nothing",
    "exited_review_mode": "nothing", "sub_agent_activity": "nothing",
}  # fmt: skip


class Content(msgspec.Struct):
    """What one event says: of a tool, its call and then its result if there is one."""

    sort: Sort
    parts: list[Part] = msgspec.field(default_factory=list)
    ident: str | None = None


def item_type(item: Mapping[str, Any]) -> str:
    """`CommandExecution` and `command_execution` alike."""
    return _CAMEL.sub("_", str(item.get("type", item.get("item_type", "?")))).lower()


def item_content(item: Mapping[str, Any]) -> Content | None:
    """What a turn item says; None if its type is unknown."""
    name = item_type(item)
    sort = ITEMS.get(name)
    if sort is None:
        return None
    ident = item.get("id")
    content = Content(sort, ident=ident if isinstance(ident, str) else None)
    if name == "reasoning":
        text = item.get("text") or _joined(item.get("summary_text")) or _joined(item.get("raw_content"))
        content.parts = [Part("thinking", text if isinstance(text, str) and text else None)]
    elif sort in ("user", "assistant", "plan"):
        text = item.get("text") if isinstance(item.get("text"), str) else _joined(item.get("content"))
        content.parts = [Part("user" if sort == "user" else "assistant", text)] if text is not None else []
    elif sort == "tool":
        content.parts = _tool(item, name, content.ident)
    return content


def event_content(payload: Mapping[str, Any], sub: str | None) -> Content | None:
    """What an `event_msg` says of the prompt; None if it says nothing of it."""
    if sub == "item_completed":
        item = payload.get("item")
        return item_content(item) if isinstance(item, Mapping) else None
    call_id = payload.get("call_id")
    base = {**payload, "id": call_id}
    if sub == "user_message":
        return item_content({"type": "user_message", "text": payload.get("message")})
    if sub == "agent_message":
        return item_content({"type": "agent_message", "text": payload.get("message")})
    if sub in ("agent_reasoning", "agent_reasoning_raw_content"):
        return item_content({"type": "reasoning", "text": payload.get("text")})
    if sub == "exec_command_end":
        return item_content({**base, "type": "command_execution"})
    if sub == "patch_apply_end":
        return item_content({**base, "type": "file_change"})
    if sub == "mcp_tool_call_end":
        call = payload.get("invocation")
        call = call if isinstance(call, Mapping) else {}
        given = payload.get("result")
        outcome: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        return item_content({
            "type": "mcp_tool_call", "id": call_id, "server": call.get("server"), "tool": call.get("tool"),
            "arguments": call.get("arguments"), "result": outcome.get("Ok"), "error": outcome.get("Err"),
        })  # fmt: skip
    return None


def _joined(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return None
    texts = []
    for block in value:
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, Mapping) and isinstance(block.get("text"), str):
            texts.append(block["text"])
    return "\n".join(texts) if texts else None


def _tool(item: Mapping[str, Any], name: str, ident: str | None) -> list[Part]:
    tool, given = name, item.get("arguments")
    if name == "command_execution":
        tool, given = "shell", {"command": item.get("command")}
    elif name == "file_change":
        tool, given = "apply_patch", {"changes": item.get("changes")}
    elif name in ("mcp_tool_call", "dynamic_tool_call"):
        server, inner = item.get("server"), item.get("tool")
        tool = f"{server}.{inner}" if server else str(inner or name)
    elif name in ("web_search", "extension"):
        tool, given = "web_search", {"query": item.get("query")}
    elif given is None:
        given = {key: item[key] for key in ("tool", "prompt", "path") if item.get(key) is not None}
    arguments = arguments_text(given)
    parts = [Part("call", call_text(tool, arguments), ident, tool, arguments)]
    if item.get("status") == "in_progress" or "result" not in item and item.get("status") == "inProgress":
        return parts
    text = _result_text(item)
    failed = None
    code, status = item.get("exit_code"), item.get("status")
    if isinstance(code, int) and not isinstance(code, bool):
        failed = code != 0
    elif status in ("failed", "declined") or item.get("success") is False:
        failed = True
    elif status == "completed" or item.get("success") is True:
        failed = False
    if text is None and item.get("error") is not None:
        error = item["error"]
        message = error.get("message") if isinstance(error, Mapping) else error
        text, failed = message if isinstance(message, str) else compact_json(error), True
    parts.append(Part("result", text if text is not None else "", ident, tool, failed=failed))
    return parts


def _result_text(item: Mapping[str, Any]) -> str | None:
    for key in ("aggregated_output", "formatted_output", "output", "stdout"):
        if isinstance(item.get(key), str):
            tail = item.get("stderr")
            return str(item[key]) + (tail if key == "stdout" and isinstance(tail, str) else "")
    result = item.get("result", item.get("results"))
    if isinstance(result, Mapping):
        return _joined(result.get("content")) or compact_json(result)
    if isinstance(result, list):
        return compact_json(result)
    return result if isinstance(result, str) else None


def error_words(payload: Mapping[str, Any]) -> str:
    """What an error event says, shortened."""
    error = payload.get("message", payload.get("error"))
    text = error.get("message") if isinstance(error, Mapping) else error
    return text[:300] if isinstance(text, str) else "without words"
