"""One line of a rollout or event stream: its type, its time, and its payload, decoded only when it is wanted.

A damaged line gives what can still be read of it: NUL bytes are taken off, glued records are told apart, and a whole
record behind a torn one is found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from agentmem.formats.loose import decode
from agentmem.formats.shared.times import seconds
from agentmem.model import Where

_STARTS = (b'{"timestamp"', b'{"type"')
_MOST_GLUED = 1000


class _Line(msgspec.Struct):
    type: Any = None
    timestamp: Any = None
    ordinal: Any = None
    payload: msgspec.Raw = msgspec.Raw(b"")


class _Head(msgspec.Struct):
    type: Any = None


_line = msgspec.json.Decoder(_Line)
_head = msgspec.json.Decoder(_Head)


class Place(msgspec.Struct, frozen=True):
    """Where a record stands: bytes `offset .. offset+length` of `source`."""

    source: str
    offset: int
    length: int
    line: int
    base: int = 0
    """Added to the ordinals of parts: the place of an item in a record of several."""

    def where(self, part: int = 0) -> Where:
        return Where(self.source, self.offset, self.length, self.base + part, None, self.line)

    def inside(self, base: int) -> Place:
        return Place(self.source, self.offset, self.length, self.line, base)


class Entry:
    """One record. `kind` is the type of the line; None where it has none."""

    __slots__ = ("_named", "_payload", "_raw", "kind", "ordinal", "stamp")

    def __init__(self, kind: object, stamp: object, raw: bytes | None, payload: Any, ordinal: object = None) -> None:
        self._raw, self._payload = raw, payload
        self.ordinal = ordinal if isinstance(ordinal, int) else None
        self._named: str | None = None
        self.kind = kind if isinstance(kind, str) else None
        self.stamp = stamp

    @property
    def sub(self) -> str | None:
        """The type that the payload names."""
        if self._named is None:
            found: object = None
            if self._raw is not None:
                try:
                    found = _head.decode(self._raw).type
                except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                    found = None
            elif isinstance(self._payload, Mapping):
                found = self._payload.get("type")
            self._named = found if isinstance(found, str) else ""
        return self._named or None

    @property
    def payload(self) -> Mapping[str, Any]:
        """The payload; an empty one where it is no object. Raises ValueError if it cannot be decoded."""
        if self._raw is not None:
            self._payload, self._raw = decode(self._raw), None
        return self._payload if isinstance(self._payload, Mapping) else {}

    @property
    def at(self) -> float | None:
        """Seconds since the epoch."""
        return seconds(self.stamp)


def entry_of(data: bytes) -> Entry:
    """The record of these bytes. A line without payload (the shape before September 2025, an event of a stream) is its
    own payload. Raises ValueError with the reason for what is no JSON object."""
    try:
        line = _line.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        value = decode(data)
        if not isinstance(value, dict):
            raise ValueError(f"not an object but {type(value).__name__}") from None
        if "payload" in value:
            return Entry(value.get("type"), value.get("timestamp"), None, value["payload"], value.get("ordinal"))
        return Entry(value.get("type"), value.get("timestamp"), None, value)
    raw = bytes(line.payload)
    return Entry(line.type, line.timestamp, raw or bytes(data), None, line.ordinal)


def records_in(data: bytes) -> tuple[list[tuple[int, bytes]], str | None]:
    """([(offset in the line, bytes of a record)], what was wrong with the line). Nothing wrong: one record or none."""
    if data.startswith(b"{") and data.endswith(b"}"):
        return [(0, data)], None
    body = data.strip(b"\0 \t\r")
    start = data.find(body) if body else 0
    trouble = None
    if body.startswith(b"\xef\xbb\xbf"):
        body, start = body[3:], start + 3
    nuls = data.count(b"\0", 0, start) + data.count(b"\0", start + len(body))
    if nuls:
        trouble = f"{nuls:,} NUL bytes"
    return ([(start, body)] if body else []), trouble


def rescued(data: bytes) -> list[tuple[int, bytes]]:
    """Whole records in a line that is not one: glued ones in order, else one that stands behind a torn one."""
    glued = list(_glued(data))
    if glued:
        return glued
    for mark in _STARTS:
        at = data.rfind(mark)
        if at > 0:
            try:
                entry_of(data[at:])
            except ValueError:
                continue  # no whole record there; the caller tells of the line
            return [(at, data[at:])]
    return []


def _glued(data: bytes) -> Iterator[tuple[int, bytes]]:
    text = data.decode("utf-8", "surrogateescape")
    decoder = json.JSONDecoder()
    at = byte = 0
    for _ in range(_MOST_GLUED):
        if at >= len(text):
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        size = len(text[at:end].encode("utf-8", "surrogateescape"))
        if isinstance(value, dict):
            yield byte, data[byte : byte + size]
        at, byte = end, byte + size
        while at < len(text) and text[at] in " \t\r\0":
            at, byte = at + 1, byte + 1
