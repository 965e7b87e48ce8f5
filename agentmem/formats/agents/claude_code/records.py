"""Lines of a session file -> records. Only what the reader needs is decoded; the big copies of results are skipped.

A damaged line costs no more than itself: NUL bytes and a byte order mark are taken off, records glued together on one
line are told apart, and a whole record behind half of another is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from agentmem.formats import loose
from agentmem.formats.messages import Part
from agentmem.formats.source import Record
from agentmem.pattern import pattern

MESSAGES = frozenset({"user", "assistant"})
CHAINED = frozenset({"user", "assistant", "system", "attachment", "progress"})
"""Types whose lines hang on one another by `parentUuid`."""
BESIDE = frozenset({
    "file-history-snapshot", "file-history-delta", "queue-operation", "last-prompt", "permission-mode", "mode",
    "summary", "custom-title", "ai-title", "agent-name", "agent-color", "agent-setting", "content-replacement",
    "worktree-state",
    "pr-link", "tag", "relocated", "history-suppression", "marble-origami-commit", "marble-origami-snapshot",
    "marble-origami-reset", "speculation-accept", "attribution-snapshot", "task-summary", "started", "result",
})  # fmt: skip
"""Types of lines that stand beside the chain."""
SUBTYPES = frozenset({
    "turn_duration", "api_error", "local_command", "away_summary", "stop_hook_summary", "compact_boundary",
    "microcompact_boundary", "informational", "session_start", "init", "bridge_status", "scheduled_task_fire",
    "memory_saved", "agents_killed", "permission_retry", "api_metrics", "thinking",
})  # fmt: skip
_STARTS = (b'{"parentUuid"', b'{"type"', b'{"uuid"', b'{"isSidechain"', b'{"sessionId"', b'{"logicalParentUuid"')
_MOST_GLUED = 64
_SESSION = pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
UNSET = msgspec.UNSET


class Line(msgspec.Struct, rename={"kind": "type"}):
    """One record. Fields by their names in the file, of any type: what is not of the expected one counts as absent."""

    kind: Any = None
    subtype: Any = None
    uuid: Any = None
    parentUuid: Any = UNSET
    logicalParentUuid: Any = None
    isSidechain: Any = None
    isMeta: Any = None
    isCompactSummary: Any = None
    isVisibleInTranscriptOnly: Any = None
    isApiErrorMessage: Any = None
    sessionId: Any = None
    agentId: Any = None
    requestId: Any = None
    timestamp: Any = None
    message: msgspec.Raw = msgspec.Raw(b"null")
    toolUseResult: msgspec.Raw = msgspec.Raw(b"null")
    attachment: msgspec.Raw = msgspec.Raw(b"null")
    content: Any = None
    error: Any = None
    retryAttempt: Any = None
    maxRetries: Any = None
    compactMetadata: Any = None
    microcompactMetadata: Any = None
    replacements: Any = None
    leafUuid: Any = None


class Entry(msgspec.Struct, eq=False):
    """A record with its place: bytes `offset .. offset+len(data)` of `source`."""

    line: Line
    data: bytes
    source: str
    offset: int
    number: int
    """Line of the file, from 1."""
    ident: str
    """Its uuid; `line N` for a record of the chain that has none."""
    parent: str | None
    """The uuid that it hangs on; None at the head of a chain."""
    loose: bool = False
    """It does not say what it hangs on: it follows the one before."""
    placed: bool = False
    parts: list[Part] | None = None
    """Its pieces, once they were made (`parts.pieces_of`)."""
    _body: Any = UNSET

    @property
    def body(self) -> Mapping[str, Any]:
        """Its message as an object; empty if it has none, `content` alone where it is a text."""
        if self._body is UNSET:
            value = content_of(self.line.message)
            self._body = {"content": value} if isinstance(value, str) else mapping(value)
        found: Mapping[str, Any] = self._body
        return found


_DECODER = msgspec.json.Decoder(Line)


def string(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def is_session(name: str) -> bool:
    """Whether a file's name is the id of a session, which wins over what its lines say (a fork copies older lines)."""
    return _SESSION.fullmatch(name) is not None


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def content_of(raw: msgspec.Raw) -> Any:
    """The value of a field that was kept as bytes; None where it cannot be decoded."""
    try:
        return loose.decode(bytes(raw))
    except ValueError:
        return None


def decode(data: bytes) -> Line:
    """One record. Raises ValueError with the reason."""
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        if "trailing characters" in reason:
            raise ValueError(reason) from None
    value = loose.decode(data)
    if not isinstance(value, dict):
        raise ValueError(f"a {type(value).__name__}, not an object")
    line = Line(kind=value.get("type"))
    for name in Line.__struct_fields__:
        if name != "kind" and name in value:
            raw = name in ("message", "toolUseResult", "attachment")
            setattr(line, name, msgspec.Raw(loose.encode(value[name])) if raw else value[name])
    return line


def read(record: Record, source: str) -> Iterator[Entry | str]:
    """The records of a line, and in words what was wrong with it."""
    data, start = record.data, 0
    body = data.strip(b"\0 \t\r").removeprefix(b"\xef\xbb\xbf").strip(b"\0 \t\r")
    nuls = data.count(b"\0") if b"\0" in data else 0
    if nuls:
        yield f"{nuls:,} NUL bytes" + (" before or after a record" if body else "")
    if not body:
        return
    start = data.find(body)
    glued = 0
    while body:
        try:
            line = decode(body)
            taken, rest = len(body), b""
        except ValueError as error:
            cut = _whole(body)
            if cut is None:
                later = _later(body)
                if later is None:
                    yield f"not a record: {error}"
                    return
                yield f"{later:,} bytes of a broken record before a whole one"
                body, start = body[later:], start + later
                continue
            try:
                line = decode(body[:cut])
            except ValueError as inner:
                yield f"not a record: {inner}"
                return
            taken, rest = cut, body[cut:]
        yield _entry(line, body[:taken], source, record.offset + start, record.line)
        left = rest.lstrip(b"\0 \t\r,")
        start += taken + len(rest) - len(left)
        body = left
        if body:
            glued += 1
            if glued == 1:
                yield "more than one record on the line"
            if glued > _MOST_GLUED:
                yield f"{len(body):,} bytes more on the line, left out"
                return


def _entry(line: Line, data: bytes, source: str, offset: int, number_: int) -> Entry:
    line.kind, line.subtype = string(line.kind), string(line.subtype)
    parent = line.parentUuid
    ident = string(line.uuid) or f"line {number_}"
    return Entry(
        line, data, source, offset, number_, ident, string(parent), parent is UNSET and not line.logicalParentUuid
    )


def _whole(body: bytes) -> int | None:
    """Where the first whole value of the bytes ends, if something follows it."""
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except msgspec.DecodeError as error:
        text = str(error)
        if "trailing characters" in text:
            digits = text.rpartition("byte ")[2].rstrip(")")
            end = int(digits) if digits.isdigit() else 0
            # The byte named is the one behind the first that is too much, in the releases seen so far.
            for cut in (end - 1, end):
                if 0 < cut < len(body) and _is_value(body[:cut]):
                    return cut
    except RecursionError:
        return None
    return None


def _is_value(body: bytes) -> bool:
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _later(body: bytes) -> int | None:
    """Where a whole record begins behind a broken one."""
    spots = sorted({spot for mark in _STARTS if (spot := body.find(mark, 1)) > 0})
    for spot in spots[:8]:
        try:
            decode(body[spot:])
        except ValueError:
            if _whole(body[spot:]) is None:
                continue
        return spot
    return None
