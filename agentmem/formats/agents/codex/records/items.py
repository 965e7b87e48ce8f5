"""Response items of a rollout -> parts of the prompt. `split` of the shared shapes does most of it; what Codex alone
writes is brought into those shapes first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentmem.formats.messages import Part, arguments_text, compact_json, split
from agentmem.model import Outcome
from agentmem.pattern import pattern

PARTS = 4096
"""More parts than an item has: a part of a list of items is `index * PARTS + number`."""
SUMMARY = 1_000_000
"""Index of the message of a `compacted` record among its items."""

INPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output", "agent_message",
                    "mcp_tool_call_output", "local_shell_call_output"})  # fmt: skip
OUTPUTS = frozenset({"reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call",
                     "tool_search_call", "image_generation_call", "computer_call", "mcp_call"})  # fmt: skip
COMPACTIONS = frozenset({"compaction", "context_compaction", "compaction_summary"})
NOT_SENT = frozenset({"ghost_snapshot", "compaction_trigger", "trae_extra_info", "other"})
SERVED = frozenset({"web_search_call", "image_generation_call"})
"""Calls that the provider answers itself: no result of them is written."""

_FRAGMENT = pattern(
    r"\s*(?:#\s*AGENTS\.md instructions|<(?:environment_context|user_instructions|INSTRUCTIONS|skill|turn_aborted|"
    r"subagent_notification|user_shell_command|permissions instructions|collaboration_mode|model_switch|hook_prompt|"
    r"app-context|goal_context)\b)"
)
_WRAPPED = pattern(r"\s*<([a-z]+(?:[_ -][a-z]+)+)>")
_REQUEST = pattern(r"^#+ My request for Codex:\s*", re.MULTILINE)
_TOOL = pattern(r"\btools\.([A-Za-z_]\w*)\(")
_EXIT_CODE = pattern(r'"exit_code"\s*:\s*(-?\d{1,10})')
_EXITED = pattern(r"(?:^|\n)(?:Process exited with code|Exit code:)\s*(-?\d{1,10})")
_SCRIPT = pattern(r"\s*Script (?:completed|failed|error)")
_FAILED_INSIDE = pattern(r"^\{\"exit_code\":\s*(-?[1-9]\d{0,9})\b", re.MULTILINE)
"""Code mode gives a line of JSON for each command of the script."""
_REFUSED = pattern(
    r"(?:Script failed|Script error|exec_command failed for|apply_patch verification failed|"
    r"failed to parse function arguments)"
)
_ERROR_WORD = pattern(r"\b(?:error|failed|not found)\b", re.IGNORECASE)
_WINDOW = 4000


def is_fragment(text: str) -> bool:
    """Whether a user text was put there by the agent itself (environment, AGENTS.md, notices), not by a person."""
    if _FRAGMENT.match(text):
        return True
    wrapped = _WRAPPED.match(text)
    return wrapped is not None and text.rstrip().endswith(f"</{wrapped.group(1).split(' ')[0]}>")


def request_of(text: str) -> str:
    """The person's own words in a user text: an editor puts its context before them."""
    found = _REQUEST.search(text)
    own = text[found.end() :].strip() if found else ""
    return own or text


def sort_of(item: Mapping[str, Any]) -> str:
    """The type of an item; empty where it has none."""
    sort = item.get("type")
    return sort if isinstance(sort, str) else ""


def item_parts(item: Mapping[str, Any]) -> list[Part]:
    """Parts of one response item, in order; deterministic. Encrypted content is a part without text."""
    sort = sort_of(item)
    if sort in INPUTS and sort != "agent_message":
        return [_result(item, sort)]
    if sort == "agent_message":
        return _mail(item)
    if sort in NOT_SENT:
        return []
    if sort in COMPACTIONS:
        return _compaction(item)
    parts: list[Part] = []
    content = item.get("content")
    if isinstance(content, list) and any(_encrypted(block) for block in content):
        item = {**item, "content": [block for block in content if not _encrypted(block)]}
        parts = [Part("other", None)]
    parts = [*split(item).parts, *parts]
    for part in parts:
        if part.kind == "user" and part.text is not None and is_fragment(part.text):
            part.kind = "system"
    return parts


def _encrypted(block: object) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "encrypted_content"


def _mail(item: Mapping[str, Any]) -> list[Part]:
    """What one agent told another; it is no word of the person."""
    out = []
    content = item.get("content")
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            out.append(Part("other", block))
        elif isinstance(block, Mapping):
            out.append(Part("other", block["text"] if isinstance(block.get("text"), str) else None))
    return out


def _compaction(item: Mapping[str, Any]) -> list[Part]:
    given = item.get("content") or item.get("summary") or item.get("text")
    if isinstance(given, list):
        given = "\n".join(b["text"] for b in given if isinstance(b, Mapping) and isinstance(b.get("text"), str))
    return [Part("summary", given if isinstance(given, str) and given else None)]


def _result(item: Mapping[str, Any], sort: object) -> Part:
    output: Any = item.get("tools") if sort == "tool_search_output" else item.get("output")
    failed = None
    if isinstance(output, Mapping):
        if isinstance(output.get("success"), bool):
            failed = not output["success"]
        for key in ("text", "content", "output"):
            if isinstance(output.get(key), str | list):
                output = output[key]
                break
    if sort == "tool_search_output" and output is not None:
        output = compact_json(output)
    part = split({"type": "function_call_output", "call_id": item.get("call_id"), "output": output}).parts[0]
    part.failed = failed
    return part


def is_opaque(item: object) -> bool:
    """Whether an item of a replaced history hides what it keeps."""
    if not isinstance(item, Mapping):
        return False
    if sort_of(item) in COMPACTIONS:
        return all(part.text is None for part in _compaction(item))
    content = item.get("content")
    blocks = isinstance(content, list) and any(_encrypted(block) for block in content)
    return item.get("type") == "message" and (bool(item.get("encrypted_content")) or blocks)


def outcome_of(text: str | None, failed: bool | None) -> tuple[Outcome, str | None] | None:
    """(outcome, error line) as Codex words it in the text of a result; None: judge it as any other text."""
    if text is None or failed is not None:
        return None
    head = text[:_WINDOW]
    if _REFUSED.match(head.lstrip()):
        return "error", head.strip().split("\n", 1)[0][:400]
    # A search from every line's start is slow, and few texts have one of the words.
    exited = _EXITED.search(head) if "Exit code:" in head or "exited with code" in head else None
    found = exited or (_FAILED_INSIDE.search(text) if _SCRIPT.match(head) else None)
    if found is None and head.lstrip().startswith("{"):
        found = _EXIT_CODE.search(text[-_WINDOW:]) or _EXIT_CODE.search(head)
    if found is None:
        return None
    if int(found.group(1)) == 0:
        return "ok", None
    lines = [line.strip() for line in text[-_WINDOW:].split("\n") if line.strip()]
    named = next((line for line in reversed(lines) if _ERROR_WORD.search(line)), None)
    return "error", (named or (lines[-1] if lines else found.group().strip()))[:400]


def call_of(part: Part) -> tuple[str, str]:
    """(tool, arguments) of a call. In code mode the tool is what the script calls, if it calls one only."""
    tool, arguments = part.tool or "?", part.arguments or ""
    if tool.rpartition(".")[2] != "exec":
        return tool, arguments
    script = script_of(arguments)
    names = _TOOL.findall(script)
    if len(names) != 1:
        return tool, arguments
    inner = call_arguments(script, names[0])
    return names[0], arguments_text(inner) if inner is not None else arguments


def script_of(arguments: str) -> str:
    """The script of code mode: the text as it is, or under `source` or `input` of an object."""
    if arguments.startswith("{"):
        from agentmem.formats.loose import decode

        try:
            value = decode(arguments.encode("utf-8", "replace"))
        except ValueError:
            return arguments
        for key in ("source", "input", "code"):
            if isinstance(value, dict) and isinstance(value.get(key), str):
                return str(value[key])
    return arguments


def call_arguments(script: str, name: str) -> str | None:
    """The text between the brackets of the first `tools.NAME(...)`; None if they do not close."""
    start = script.find(f"tools.{name}(")
    if start < 0:
        return None
    start += len(f"tools.{name}(")
    depth, quote, at = 1, "", start
    while at < len(script):
        sign = script[at]
        if quote:
            if sign == "\\":
                at += 1
            elif sign == quote:
                quote = ""
        elif sign in "\"'`":
            quote = sign
        elif sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
            if depth == 0:
                return script[start:at].strip()
        at += 1
    return None


__all__ = [
    "COMPACTIONS", "INPUTS", "NOT_SENT", "OUTPUTS", "PARTS", "SERVED", "SUMMARY", "call_arguments", "call_of",
    "is_fragment", "is_opaque", "item_parts", "outcome_of", "request_of", "script_of", "sort_of",
]  # fmt: skip
