"""Bytes of a file that holds one message list -> its messages and the rest, for a file that is written again and again.

Where a version only adds messages to the one before, the bytes of those are compared and not parsed again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import xxhash

from agentmem.formats.loose import DEEP, decode, encode, is_closed, sort_of
from agentmem.formats.shared import whole
from agentmem.formats.source import NotYet, Unreadable
from agentmem.formats.versions import Item
from agentmem.pattern import pattern

LIST_KEYS = ("messages", "history", "conversation", "input", "items")
SPACE = b" \t\r\n"
_LAST_KEPT = 64 * 1024 * 1024
"""Bytes of a message list that are held to be compared with the next version."""
_PLAIN = pattern(r"[A-Za-z0-9_ .;-]+")
"""What stands in JSON as it is, whoever writes it."""
_PIECES = 3
_BEGUN = frozenset(word[:size] for word in ("true", "false", "null", "-1") for size in range(1, len(word)))
"""What a value may end in where it was cut."""


class Parsed(msgspec.Struct):
    """One version of the file."""

    rest: dict[str, Any]
    """The object without its messages."""
    stands: int
    """So many messages of the version before stand at the beginning."""
    fresh: list[Item]
    """The messages behind them."""
    instead: str | None = None
    """What stands in the place of the list, in words: `messages is a text`."""
    listed: bool = True
    """False: no member of the object is a list of messages, or could become one."""
    not_json: tuple[str, ...] = ()
    """`NaN`, `Infinity` and `-Infinity`, where they stand for values: they are read as null."""


class Parser:
    """Parses the versions of one file, in order. `problem` is told of what is odd: (where, what)."""

    def __init__(self, path: str, problem: Callable[[str, str], None]) -> None:
        self._path = path
        self._problem = problem
        self._list = b""
        """Bytes of the messages of the last version, without the brackets."""
        self._count = 0

    def parse(self, data: bytes, *, all_of_it: bool = False) -> Parsed:
        """Raises NotYet for half a file, Unreadable for what is no object and no list. `all_of_it`: all messages are
        wanted, whatever stood before."""
        text = data.removeprefix(b"\xef\xbb\xbf").strip(b"\0" + SPACE)
        found = None if all_of_it else self._appended(text)
        return self._parse(text) if found is None else found

    def may_hold(self, value: str) -> bool:
        """False: that text stands in no message of the last version."""
        pieces = sorted((piece.strip() for piece in _PLAIN.findall(value)), key=len, reverse=True)[:_PIECES]
        return not self._list or all(piece.encode() in self._list for piece in pieces)

    def forget(self) -> None:
        """What follows stands on no version before."""
        self._list, self._count = b"", 0

    # -- the whole ------------------------------------------------------------------------------------------------

    def _parse(self, text: bytes) -> Parsed:
        try:
            if text.startswith(b"["):
                return self._taken({}, text)
            body = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        except msgspec.ValidationError:
            raise Unreadable(f"{self._path}: JSON, but no object and no list") from None
        except RecursionError:
            return self._deep(text)
        except msgspec.DecodeError as error:
            return self._odd(text, str(error))
        for key in LIST_KEYS:
            raw = body.pop(key, None)
            if raw is None:
                continue
            rest = {name: _value(value) for name, value in body.items()}
            try:
                return self._taken(rest, bytes(raw))
            except msgspec.ValidationError:
                value = _value(raw)
                if value is not None:
                    self._problem(key, f"{key} is {sort_of(value)}, no list of messages")
                return self._loose(rest, [], None if value is None else f"{key} is {sort_of(value)}")
        return self._loose({name: _value(value) for name, value in body.items()}, [], listed=False)

    def _taken(self, rest: dict[str, Any], raw: bytes) -> Parsed:
        items = self.items(msgspec.json.decode(raw, type=list[msgspec.Raw]))
        self._count = len(items)
        self._list = raw[1:-1].strip(SPACE) if len(raw) <= _LAST_KEPT else b""
        return Parsed(rest, 0, items)

    def _loose(
        self, rest: dict[str, Any], items: list[Item], instead: str | None = None, *, listed: bool = True,
        not_json: Iterable[str] = (),
    ) -> Parsed:  # fmt: skip
        self.forget()
        return Parsed(rest, 0, items, instead, listed, tuple(not_json))

    def _odd(self, text: bytes, why: str) -> Parsed:
        """What the strict parser refuses: NaN, lone surrogates, a second value behind the first, half a file."""
        loose = text.decode("utf-8", "replace")
        odd: dict[str, float] = {}
        try:
            decoder = json.JSONDecoder(parse_constant=lambda name: odd.setdefault(name, float(name)))
            value, end = decoder.raw_decode(loose)
        except RecursionError:
            return self._deep(text)
        except ValueError as error:
            if isinstance(error, json.JSONDecodeError) and not _is_cut(loose, error):
                raise NotYet(f"{self._path}: not JSON at character {error.pos}: {error.msg}") from None
            raise NotYet(f"{self._path}: half written or cut: {why}") from None
        if loose[end:].strip():
            self._problem(f"byte {len(loose[:end].encode())}", "trailing junk; the first object was used")
        if odd:
            self._problem("file", f"{' and '.join(odd)}: no JSON, read as null")
        if isinstance(value, list):
            return self._loose({}, self.items([encode(item) for item in value]), not_json=odd)
        if not isinstance(value, dict):
            raise Unreadable(f"{self._path}: JSON, but no object and no list")
        found = next((key for key in LIST_KEYS if isinstance(value.get(key), list)), None)
        other = next((key for key in LIST_KEYS if value.get(key) is not None), None)
        if found is None and other is not None:
            sort = sort_of(value.pop(other))
            self._problem(other, f"{other} is {sort}, no list of messages")
            return self._loose(value, [], f"{other} is {sort}", not_json=odd)
        listed = found is not None or any(key in value for key in LIST_KEYS)
        items = value.pop(found) if found is not None else []
        return self._loose(value, self.items([encode(item) for item in items]), listed=listed, not_json=odd)

    def _deep(self, text: bytes) -> Parsed:
        """What is nested deeper than any parser goes: its parts that are not are read."""
        if not is_closed(text):
            raise NotYet(f"{self._path}: half written or cut, and {DEEP}")
        reading = whole.parse(text, self._path, LIST_KEYS)
        self._problem("file", f"{DEEP}: the parts that are not were read")
        return self._loose(reading.rest, self.items([item.data for item in reading.records(whole.BARE, *LIST_KEYS)]))

    def items(self, raws: Iterable[Any]) -> list[Item]:
        """Messages of these bytes, by their hash."""
        source = f"history:{self._path}"
        out = []
        for raw in raws:
            data = bytes(raw)
            key = xxhash.xxh3_64_intdigest(data)
            out.append(Item(data, source, key, len(data), key=key))
        return out

    # -- only more ------------------------------------------------------------------------------------------------

    def _appended(self, text: bytes) -> Parsed | None:
        """The version, if its list begins with the whole list before; None if that cannot be told."""
        held = self._list
        if not held:
            return None
        start = text.find(held[:256])
        end = start + len(held)
        if start < 0 or not text.startswith(held, start):
            return None
        behind = text[end:].lstrip(SPACE)
        before = text[:start].rstrip(SPACE)
        if not before.endswith(b"[") or behind[:1] not in (b",", b"]"):
            return None
        closing = b"" if before == b"[" else b"}"
        try:
            # The bracket opens the list itself, and not one inside another member.
            opened = msgspec.json.decode(before + b"]" + closing)
            if closing and (not isinstance(opened, dict) or not _is_list(opened)):
                return None
            small = before + (behind[1:] if behind[:1] == b"," else behind)
            if not closing:
                rest, raw = {}, small
            else:
                body = msgspec.json.decode(small, type=dict[str, msgspec.Raw])
                raw = bytes(body.pop(next(key for key in LIST_KEYS if key in body)))
                if not small.startswith(raw, len(before) - 1):
                    return None
                rest = {name: _value(value) for name, value in body.items()}
            fresh = self.items(msgspec.json.decode(raw, type=list[msgspec.Raw]))
        except (msgspec.DecodeError, RecursionError):
            return None
        if behind[:1] == b"," and not fresh:
            return None
        stands = self._count
        self._count += len(fresh)
        if fresh:
            stop = end + len(text[end:]) - len(behind) + 1 + len(raw) - 2
            self._list = text[start:stop].rstrip(SPACE)
            if len(self._list) > _LAST_KEPT:
                self.forget()
        return Parsed(rest, stands, fresh)


def _is_cut(text: str, error: json.JSONDecodeError) -> bool:
    """Whether all that is wrong is that the text ends too early."""
    rest = text[error.pos :]
    return not rest or "Unterminated" in error.msg or error.pos > 0 and rest in _BEGUN


def _is_list(opened: dict[str, Any]) -> bool:
    """Whether the last member of an object is the one that its messages are taken from."""
    return next((key for key in LIST_KEYS if key in opened), None) == list(opened)[-1]


def _value(raw: Any) -> Any:
    try:
        return decode(bytes(raw))
    except ValueError:
        return None
