"""JSON files that an agent writes whole, again and again, not always atomically: their records with their places.

A half-written file gives its whole records where nothing better was seen before. Texts are never kept: a record is
found again by its bytes' place in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from agentmem.formats.loose import decode
from agentmem.formats.source import Change, NotYet, SnapshotFile, Unreadable
from agentmem.formats.versions import Item

_SPACE = b" \t\r\n"
_BETWEEN = b" \t\r\n,:"
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^\s"{}\[\],:]++|"', re.DOTALL)
BARE = ""
"""Name of the list of a file that is nothing but a list."""


@dataclass(slots=True)
class Reading:
    """One look at such a file."""

    rest: dict[str, Any] = field(default_factory=dict)
    """The members that are no record lists, decoded."""
    lists: dict[str, list[Item]] = field(default_factory=dict)
    """The record lists; `BARE` where the file is a list."""
    cut: bool = False
    """It ends before its end: what is here are the whole records."""
    junk: int | None = None
    """Place of bytes behind the end."""
    size: int = 0
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
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
    for name, (raw, offset) in zip(body, _located(body.values(), text, base, 1), strict=True):
        if name in wanted and raw[:1] == b"[":
            reading.lists[name] = list(items_of(raw, offset, path))
        else:
            reading.rest[name] = _value(raw)
            reading.places[name] = offset, len(raw)
    return reading


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
        found, place = next(_located((value,), raw, 0, at))
        at = place + len(found)
        if key == name:
            return found, offset + place
    return None


def _items(found: Iterable[tuple[bytes, int]], path: str) -> list[Item]:
    return [Item(raw, path, offset, len(raw)) for raw, offset in found]


def _located(raws: Iterable[msgspec.Raw], text: bytes, base: int, at: int) -> Iterator[tuple[bytes, int]]:
    """Bytes and place of values that stand one after the other in `text`."""
    for raw in raws:
        data = bytes(raw)
        while text[at] in _BETWEEN:
            at += 1
        place = at if text.startswith(data, at) else text.find(data, at)
        if place < 0:  # A key that is given twice: its last value came first.
            place = max(0, text.find(data))
        yield data, base + place
        at = max(at, place + len(data))


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
