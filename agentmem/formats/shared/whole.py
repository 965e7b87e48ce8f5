"""JSON files that an agent writes whole, again and again, not always atomically: their records with their places.

A half-written file gives its whole records where nothing better was seen before. Texts are never kept: a record is
found again by its bytes' place in the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentmem.formats.loose import decode
from agentmem.formats.source import Change, NotYet, SnapshotFile, Unreadable, open_plain
from agentmem.formats.versions import Item
from agentmem.pattern import pattern

_SPACE = b" \t\r\n"
_BETWEEN = b" \t\r\n,:"
_LIST = ord("[")
_CHUNK = 1 << 20
"""Bytes of a value that are copied at once to find its place."""
_TOKEN = pattern(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^\s"{}\[\],:]++|"', re.DOTALL)
BARE = ""
"""Name of the list of a file that is nothing but a list."""


class Reading(msgspec.Struct):
    """One look at such a file."""

    rest: dict[str, Any] = msgspec.field(default_factory=dict)
    """The members that are no record lists, decoded."""
    lists: dict[str, list[Item]] = msgspec.field(default_factory=dict)
    """The record lists; `BARE` where the file is a list."""
    cut: bool = False
    """It ends before its end: what is here are the whole records."""
    junk: int | None = None
    """Place of bytes behind the end."""
    size: int = 0
    places: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)
    """(place, length) of the members in `rest`."""

    nuls: tuple[int, int] | None = None
    """(place of the first, how many) NUL bytes that stand inside."""

    def odd(self) -> Iterator[tuple[str, str]]:
        """(where, what) of all that is wrong with the bytes, for the problems of a run."""
        if self.cut:
            whole = max((len(items) for items in self.lists.values()), default=0)
            yield f"byte {self.size}", f"half written or cut; {whole} whole records read"
        if self.junk is not None:
            yield f"byte {self.junk}", "trailing junk; the first value was used"
        if self.nuls is not None:
            yield f"byte {self.nuls[0]}", f"{self.nuls[1]:,} NUL bytes inside"

    def records(self, *names: str) -> list[Item]:
        """The first of these lists that is there."""
        return next((self.lists[name] for name in names if name in self.lists), [])


class WholeFile:
    """Such a file. `read` raises Unreadable, and NotYet while it is half written."""

    def __init__(self, path: str, lists: Sequence[str]) -> None:
        self.path = path
        self._lists = frozenset(lists)
        self._file = SnapshotFile(path)

    @property
    def changed_at(self) -> float | None:
        return self._file.changed_at

    def change(self) -> Change:
        return self._file.change()

    def forget(self) -> None:
        """Read again at the next look."""
        self._file.forget()

    def read(self, *, salvage: bool) -> Reading:
        """What stands there. `salvage`: of a half-written file its whole records, instead of NotYet."""
        reading = parse(self._file.read(), self.path, self._lists)
        if reading.cut and not salvage:
            raise NotYet(f"{self.path}: being written")
        return reading


def read_small(path: str | Path, most: int) -> bytes:
    """A file that is small by its nature, whole. Raises Unreadable, also for more than `most` bytes."""
    descriptor = open_plain(path)
    try:
        size = os.fstat(descriptor).st_size
        if size > most:
            raise Unreadable(f"{path}: {size:,} bytes, more than such a file may have")
        return os.pread(descriptor, size, 0)
    finally:
        os.close(descriptor)


def parse(data: bytes, path: str, lists: Iterable[str]) -> Reading:
    """The records of these bytes. Raises Unreadable for what is no JSON object or list, NotYet for nothing whole."""
    wanted = frozenset(lists)
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0" + _SPACE)
    base = len(data) - len(text)
    text = text.rstrip(b"\0" + _SPACE)
    if text[:1] not in (b"{", b"["):
        raise Unreadable(f"{path}: no JSON object and no list")
    reading = Reading(size=len(data))
    try:
        if text.startswith(b"["):
            raws = msgspec.json.decode(text, type=list[msgspec.Raw])
            reading.lists[BARE] = _items(_located(raws, text, base, 1), path)
            return reading
        body = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _odd(text, base, path, wanted, reading)
    for (name, raw), at in zip(body.items(), _places(body.values(), text, 1), strict=True):
        if name in wanted and text[at] == _LIST:
            reading.lists[name] = _elements(raw, text, at, base, path)
        else:
            data = bytes(raw)
            reading.rest[name] = _value(data)
            reading.places[name] = base + at, len(data)
    return reading


def _elements(raw: msgspec.Raw, text: bytes, at: int, base: int, path: str) -> list[Item]:
    """The elements of a list that stands at `at` of `text`: most of a big file, so it is not copied on the way."""
    try:
        raws = msgspec.json.decode(raw, type=list[msgspec.Raw])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return list(items_of(bytes(raw), base + at, path))
    return _items(_located(raws, text, base, at + 1), path)


def items_of(raw: bytes, offset: int, path: str) -> Iterator[Item]:
    """Elements of a JSON list that stands at `offset`; none if it is no list."""
    try:
        raws = msgspec.json.decode(raw, type=list[msgspec.Raw])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        _, elements, _, _ = _scan(raw, frozenset())
        yield from _items(((raw[a:b], offset + a) for a, b in elements.get(BARE, ())), path)
        return
    yield from _items(_located(raws, raw, offset, 1), path)


def member(raw: bytes, offset: int, name: str) -> tuple[bytes, int] | None:
    """(bytes, place) of one member of a JSON object that stands at `offset`."""
    try:
        body = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        members, _, _, _ = _scan(raw, frozenset())
        span = members.get(name)
        return None if span is None else (raw[span[0] : span[1]], offset + span[0])
    if name not in body:
        return None
    at = 1
    for key, value in body.items():
        place = next(_places((value,), raw, at))
        at = place + _length(value)
        if key == name:
            return bytes(value), offset + place
    return None


def _items(found: Iterable[tuple[bytes, int]], path: str) -> list[Item]:
    return [Item(raw, path, offset, len(raw)) for raw, offset in found]


def _located(raws: Iterable[msgspec.Raw], text: bytes, base: int, at: int) -> Iterator[tuple[bytes, int]]:
    """Bytes and place of values that stand one after the other in `text`."""
    kept = raws if isinstance(raws, list) else list(raws)
    for raw, place in zip(kept, _places(kept, text, at), strict=True):
        yield bytes(raw), base + place


def _places(raws: Iterable[msgspec.Raw], text: bytes, at: int) -> Iterator[int]:
    """Where values begin that stand one after the other in `text`."""
    for raw in raws:
        view = memoryview(raw)
        while text[at] in _BETWEEN:
            at += 1
        place = at if _is_at(view, text, at) else _find(view, text, at)
        if place < 0:  # A key that is given twice: its last value came first.
            place = max(0, _find(view, text, 0))
        yield place
        at = max(at, place + len(view))


def _length(raw: msgspec.Raw) -> int:
    return len(memoryview(raw))


def _is_at(view: memoryview, text: bytes, at: int) -> bool:
    return all(
        text.startswith(bytes(view[first : first + _CHUNK]), at + first) for first in range(0, len(view), _CHUNK)
    )


def _find(view: memoryview, text: bytes, at: int) -> int:
    start = bytes(view[:_CHUNK])
    place = text.find(start, at)
    while place >= 0 and not _is_at(view, text, place):
        place = text.find(start, place + 1)
    return place


def _value(raw: bytes) -> Any:
    try:
        return decode(raw)
    except ValueError:
        return None


def _odd(text: bytes, base: int, path: str, wanted: frozenset[str], reading: Reading) -> Reading:
    """What the strict parser refuses: NaN, lone surrogates, a second value behind the first, half a file."""
    if b"\0" in text:
        reading.nuls = base + text.index(b"\0"), text.count(b"\0")
    members, elements, end, junk = _scan(text, wanted)
    reading.cut, reading.junk = end is None, None if junk is None else base + junk
    for name, spans in elements.items():
        reading.lists[name] = _items(((text[a:b], base + a) for a, b in spans), path)
    for name, (a, b) in members.items():
        if name not in reading.lists:
            reading.rest[name] = _value(text[a:b])
            reading.places[name] = base + a, b - a
    if reading.cut and not reading.rest and not any(reading.lists.values()):
        raise NotYet(f"{path}: half written or cut")
    return reading


def _scan(
    text: bytes, wanted: frozenset[str]
) -> tuple[dict[str, tuple[int, int]], dict[str, list[tuple[int, int]]], int | None, int | None]:
    """Spans of whole members of an object and of whole elements of a list or of its wanted members; where the value
    ends (None: it does not), where junk begins behind it. Only brackets and strings are looked at."""
    members: dict[str, tuple[int, int]] = {}
    elements: dict[str, list[tuple[int, int]]] = {}
    bare = text[:1] == b"["
    depth, key, begun, element, keyed = 0, BARE, 0, 0, False
    inside: list[tuple[int, int]] | None = None
    if bare:
        inside = elements[BARE] = []
    for match in _TOKEN.finditer(text):
        start, token = match.start(), match.group()
        mark = token[:1]
        if token == b'"':
            return members, elements, None, None
        if mark in b",:":
            if depth == 1 and not bare:
                keyed = mark == b":"
            continue
        if mark in b"}]":
            depth -= 1
            if depth == 0:
                rest = text[match.end() :].strip(b"\0" + _SPACE)
                return members, elements, match.end(), match.end() if rest else None
        elif depth == 1 and not bare and not keyed:
            key = str(_value(token))
            continue
        else:
            if depth == 1:
                begun = element = start
                if not bare:
                    inside = elements.setdefault(key, []) if mark == b"[" and key in wanted else None
            elif depth == 2 and not bare:
                element = start
            if mark in b"{[":
                depth += 1
                continue
        # A value has ended at `match.end()`.
        if inside is not None and depth == (1 if bare else 2):
            inside.append((element, match.end()))
        if depth == 1 and not bare:
            members[key] = (begun, match.end())
            inside = None
    return members, elements, None, None
