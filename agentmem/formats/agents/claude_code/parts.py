"""One record -> its pieces. Pure and deterministic, so that a whole text is found again by its record and ordinal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentmem.formats.agents.claude_code.records import Entry, Line, content_of, listed, mapping, string
from agentmem.formats.messages import Part, compact_json, split
from agentmem.pattern import pattern

CLEARED = "[Old tool result content cleared]"
SYNTHETIC = "<synthetic>"
_NOT_ASKED = (
    "<command-", "<local-command", "<ide_", "<system-reminder", "<bash-", "<task-notification", "<user-memory-input",
    "[Request interrupted", "Caveat: The messages below", "<environment_context", "<teammate-message",
)  # fmt: skip
_ARGUMENTS = pattern(r"<command-args>([^<]{1,20000})</command-args>")
_REQUEST = pattern(
    r"^\s*1\.\s+Primary Request and Intent:?\s*\n?(.{1,4000}?)(?=^\s*2\.\s|\Z)", re.DOTALL | re.MULTILINE
)
_TODO_ATTACHMENTS = frozenset({"todo_reminder", "task_reminder", "todo"})
_SAID_KEYS = ("content", "prompt", "snippet", "planContent", "text", "message", "output")


def pieces_of(entry: Entry) -> list[Part]:
    """The pieces of a record on its way into a lane; made once."""
    if entry.parts is None:
        entry.parts = parts_of(entry.line, entry.body if entry.line.kind in ("user", "assistant") else None)
    return entry.parts


def parts_of(line: Line, body: Mapping[str, Any] | None = None) -> list[Part]:
    """The pieces of a record, in order; what of them stands in the prompt is for the lane to say. `body`: its message,
    where that is decoded already."""
    kind = line.kind
    if kind in ("user", "assistant"):
        if body is None:
            value = content_of(line.message)
            body = {"content": value} if isinstance(value, str) else mapping(value)
        return _message(line, body)
    if kind == "attachment":
        part = _attachment(mapping(content_of(line.attachment)))
        return [] if part is None else [part]
    if kind == "system":
        return _system(line)
    if kind == "content-replacement":
        return [
            Part("result", item["replacement"], string(item.get("toolUseId")))
            for item in listed(line.replacements)
            if isinstance(item, Mapping) and isinstance(item.get("replacement"), str)
        ]
    return []


def _message(line: Line, body: Mapping[str, Any]) -> list[Part]:
    if not body or (line.isVisibleInTranscriptOnly is True and line.isCompactSummary is not True):
        return []
    role = str(line.kind)
    parts = split({"role": role, "content": body.get("content")}).parts
    if role == "user":
        for part in parts:
            if part.kind in ("user", "summary") and line.isCompactSummary is True:
                part.kind = "summary"
            elif part.kind == "user" and line.isMeta is True:
                part.kind = "other"
    return [part for part in parts if part.text != "" or part.kind in ("result", "summary")]


def _attachment(body: Mapping[str, Any]) -> Part | None:
    """The reminder that an attachment becomes, as far as it is known: its text, or its content as JSON."""
    sort = string(body.get("type"))
    if sort is not None and sort.startswith("hook_"):
        if not (body.get("content") or body.get("additionalContext")):
            return None
    if sort == "queued_command":
        asked = body.get("prompt")
        parts = split({"role": "user", "content": asked if isinstance(asked, str | list) else None}).parts
        return parts[0] if parts else None
    if sort in _TODO_ATTACHMENTS:
        items = [item for item in listed(body.get("content")) if isinstance(item, Mapping)]
        lines = [
            f"[{item.get('status') or '?'}] {string(item.get('content')) or string(item.get('subject')) or '?'}"
            for item in items
        ]
        return Part("plan", "\n".join(lines)) if lines else None
    for key in _SAID_KEYS:
        if isinstance(body.get(key), str) and body[key]:
            return Part("plan" if key == "planContent" else "other", body[key])
    rest = {key: value for key, value in body.items() if value not in (None, "", [], {})}
    return Part("other", compact_json(rest)) if len(rest) > 1 else None


def _system(line: Line) -> list[Part]:
    if line.subtype == "local_command" and isinstance(line.content, str) and line.content:
        return [Part("other", line.content)]
    if line.subtype == "api_error":
        return [Part("error", api_error(line))]
    if line.subtype == "microcompact_boundary":
        meta = mapping(line.microcompactMetadata)
        return [Part("result", CLEARED, ident) for ident in listed(meta.get("compactedToolIds")) if string(ident)]
    return []


def is_clear(entry: Entry) -> bool:
    """Whether it is the command that empties the conversation."""
    return any("<command-name>/clear<" in (part.text or "") for part in pieces_of(entry))


def api_error(line: Line) -> str:
    """What a failed try of a model call says, with its count."""
    error = line.error
    inner = mapping(error)
    for _ in range(2):
        inner = mapping(inner.get("error")) or inner
    text = error if isinstance(error, str) else string(inner.get("message"))
    status = mapping(error).get("status")
    if text is None:
        text = compact_json(error) if error else "no reason given"
    tries = f", try {line.retryAttempt} of {line.maxRetries}" if isinstance(line.retryAttempt, int) else ""
    return f"api error{tries}: {f'{status} ' if isinstance(status, int) else ''}{text}"


def asked(text: str) -> bool:
    """Whether a user text is a request of the person, and not what the program put there."""
    return bool(text.strip()) and not text.lstrip().startswith(_NOT_ASKED)


def command_arguments(text: str) -> str | None:
    """What the person wrote behind a slash command."""
    found = _ARGUMENTS.search(text)
    return found.group(1).strip() or None if found else None


def requested(summary: str) -> str | None:
    """The request as the first section of a compaction summary tells it."""
    found = _REQUEST.search(summary)
    return found.group(1).strip() or None if found else None


def recalled(away: str) -> str | None:
    """The goal as a summary for somebody who was away tells it: `Goal: ... Next action: ...`."""
    found = re.search(r"Goal:\s*(.{1,2000}?)\s*(?:Next action:|\n\n|\Z)", away, re.DOTALL)
    return found.group(1).strip() or None if found else None
