"""Drops watched after they were made: what comes back, and the later failures that needed what was lost.

A failure needs a drop only if (a) the tool earlier had that argument, by name or value, now lacks it (absent, null or
empty) and errs, or (b) the error names the field or its value as a whole word. Of a note or a summary the fields are
what it says as `name = value` or `name: value`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, zip_longest

import msgspec

from agentmem.formats.draft import Call
from agentmem.inspect.compare.row import Row
from agentmem.inspect.compare.words import NOT_NAMES, is_item, leaf, stands
from agentmem.model import Field, Miss
from agentmem.tape import Tape

_SHORTEST = 4
_LONGEST = 400
_LONGEST_ARGUMENTS = 200_000
_MOST_WATCHED = 500
_MOST_NEEDS = 200
"""So many failures that needed one drop are kept."""
NOTED = frozenset({"note", "summary"})
"""Kinds of texts that name fields of their own."""
_KEY = re.compile(r"(?<![\w.-])([^\W\d][\w.-]{0,59})[\"'`*]{0,2}[ \t]{0,3}[:=]")
_END = re.compile(r"[;,\n]|\.(?=\s)|\Z")
_LONGEST_VALUE = 200
_TOLD = frozenset({
    "error", "errors", "warning", "result", "results", "status", "state", "note", "notes", "todo", "done", "next",
    "message", "output", "reason", "exit", "code", "line", "lines", "time", "date", "failed", "failure", "passed",
    "task", "goal", "field", "plan", "summary", "update", "http", "https", "request", "response", "action", "tool",
    "call", "input", "value",
})  # fmt: skip
"""Words before a colon that stand in many errors for other reasons."""
_LONGEST_NOTE = 20_000
_MOST_PAIRS = 100


def named_arguments(arguments: str) -> dict[str, str]:
    """Arguments by name as texts; null and empty ones are left out. {} where they are no object."""
    if len(arguments) > _LONGEST_ARGUMENTS:
        return {}
    try:
        value = msgspec.json.decode(arguments.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return {}
    if not isinstance(value, dict):
        return {}
    out = {}
    for name, item in value.items():
        if item is None or item == "" or item == [] or item == {}:
            continue
        out[str(name)] = item if isinstance(item, str) else msgspec.json.encode(item).decode()
    return out


def pairs_of(note: str) -> tuple[tuple[str, str], ...]:
    """(name, value) of what a note says as `name = value` or `name: value`, from its first 20,000 characters; a pair
    ends at a line's end, a comma, a semicolon, the end of a sentence or the next pair."""
    text = note[:_LONGEST_NOTE]
    keys = list(islice(_KEY.finditer(text), _MOST_PAIRS))
    found: dict[tuple[str, str], None] = {}
    for key, later in zip_longest(keys, keys[1:]):
        rest = text[key.end() : min(later.start() if later is not None else len(text), key.end() + _LONGEST_VALUE)]
        end = _END.search(rest)
        value = (rest[: end.start()] if end is not None else rest).strip(" \t\"'`*.]})")
        if value and _is_field(key.group(1), value):
            found[(key.group(1), value)] = None
    return tuple(found)


def _is_field(key: str, value: str) -> bool:
    """Whether a pair tells a fact. `Result: ...`, an address and a word before a sentence do not."""
    if key.lower() in _TOLD or value.startswith("//"):
        return False
    return any(c in "_.-" or c.isdigit() for c in key) or not any(map(str.isspace, value))


class Watch:
    """The drops of one lane that have not come back. Events are kept in order, so that `rewind` can undo the last."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._by_key: dict[int, list[Row]] = {}
        self._fields: list[Row] = []
        """Fields that are gone or held outside the prompt, and have not come back."""
        self._carried: list[Row] = []
        """Pieces that carried a field which no state lists."""
        self._returns: list[tuple[int, Row, int | None]] = []
        self._misses: list[tuple[int, Row]] = []
        self._had: dict[tuple[str, str], int] = {}
        """(tool, argument) -> index of the step that first gave it."""
        self._gave: dict[tuple[str, str], tuple[int, str]] = {}
        """(tool, value) -> (index, argument) that first carried it."""
        self._given: list[tuple[int, bool, tuple[str, str]]] = []

    def rewind(self, index: int) -> set[int]:
        """Forget steps from `index` on. Returns the indices of earlier steps whose rows changed by it."""
        dirty: set[int] = set()
        while self._misses and self._misses[-1][0] >= index:
            _, row = self._misses.pop()
            row.misses.pop()
            dirty.add(row.index)
        while self._returns and self._returns[-1][0] >= index:
            _, row, key = self._returns.pop()
            if row.returned is not None:
                row.returned = None
                dirty.add(row.index)
                if key is None:
                    self._fields.append(row)
            if key is not None:
                row.keys.add(key)
                self._by_key.setdefault(key, []).append(row)
        while self.rows and self.rows[-1].index >= index:
            row = self.rows.pop()
            for key in row.keys:
                kept = [other for other in self._by_key.get(key, ()) if other is not row]
                if kept:
                    self._by_key[key] = kept
                else:
                    self._by_key.pop(key, None)
        self._fields = [row for row in self._fields if row.index < index]
        self._carried = [row for row in self._carried if row.index < index]
        while self._given and self._given[-1][0] >= index:
            _, by_name, place = self._given.pop()
            if by_name:
                del self._had[place]
            else:
                del self._gave[place]
        return {at for at in dirty if at < index}

    def add(self, rows: Iterable[Row], text: Callable[[int], str | None]) -> None:
        """Watch the drops of a step; call after `came` of that step. `text`: whole text of a piece of the lane."""
        for row in rows:
            self.rows.append(row)
            if row.kind in NOTED:
                note = row.text if row.text is not None else None if row.segment is None else text(row.segment)
                row.pairs = pairs_of(note) if note else ()
            if row.what != "segment" and row.text is not None:
                self._fields.append(row)
                continue
            if row.what != "segment" or row.pairs:
                self._carried.append(row)
            for key in row.keys:
                self._by_key.setdefault(key, []).append(row)
        for watched in (self._fields, self._carried):
            if len(watched) > _MOST_WATCHED:
                del watched[: len(watched) - _MOST_WATCHED]

    def absent(self) -> frozenset[tuple[str, str | None]]:
        """(name, text) of the fields that are gone and have not come back."""
        return frozenset((row.name, row.text) for row in self._fields)

    def came(self, index: int, tape: Tape, came: Iterable[int], fields: Sequence[Field], changed: bool) -> set[int]:
        """Mark what came back at that step. Returns the indices of the steps whose rows changed."""
        dirty: set[int] = set()
        if self._by_key:
            for ident in came:
                key = tape.keys[ident]
                for row in self._by_key.pop(key, ()):
                    row.keys.discard(key)
                    self._returns.append((index, row, key))
                    if not row.keys:
                        row.returned = index
                        dirty.add(row.index)
        if self._fields and changed:
            now = {field.name: field for field in fields}
            values = {field.value for field in fields if is_item(field.name)}
            still = []
            for row in self._fields:
                if self._back(row, now, values):
                    row.returned = index
                    dirty.add(row.index)
                    self._returns.append((index, row, None))
                else:
                    still.append(row)
            self._fields = still
        return dirty

    @staticmethod
    def _back(row: Row, now: dict[str, Field], values: set[str]) -> bool:
        if is_item(row.name):
            return row.text in values
        field = now.get(row.name)
        if field is None or field.value in ("null", ""):
            return False
        return field.segment is not None if row.held else True

    def failed(self, index: int, lane: str, number: int, calls: Sequence[Call]) -> set[int]:
        """Tie the failures of a step to what was lost before. Returns the indices of the steps whose rows changed."""
        dirty: set[int] = set()
        given = [named_arguments(call.arguments) for call in calls]
        for call, arguments in zip(calls, given, strict=True):
            if call.outcome != "error":
                continue
            for row in (*self._fields, *self._carried):
                if row.returned is not None or len(row.misses) >= _MOST_NEEDS:
                    continue
                if row.misses and row.misses[-1].n == index + 1:
                    continue
                if self._lacks(row, call, arguments) or _names(row, call.error):
                    row.misses.append(Miss(lane, index + 1, number, call.tool, call.error or ""))
                    self._misses.append((index, row))
                    dirty.add(row.index)
        for call, arguments in zip(calls, given, strict=True):
            for name, value in arguments.items():
                if (call.tool, name) not in self._had:
                    self._had[(call.tool, name)] = index
                    self._given.append((index, True, (call.tool, name)))
                if _SHORTEST <= len(value) <= _LONGEST and (call.tool, value) not in self._gave:
                    self._gave[(call.tool, value)] = (index, name)
                    self._given.append((index, False, (call.tool, value)))
        return dirty

    def _lacks(self, row: Row, call: Call, arguments: dict[str, str]) -> bool:
        if row.what == "segment":
            return False
        name = leaf(row.name)
        if (call.tool, name) in self._had and name not in arguments and not is_item(row.name):
            return True
        gave = self._gave.get((call.tool, row.text)) if row.text is not None else None
        return gave is not None and gave[1] not in arguments


def _names(row: Row, error: str | None) -> bool:
    """Whether the error names the field or its value as a whole word."""
    if not error:
        return False
    if row.pairs and any(said_in(pair, error) for pair in row.pairs):
        return True
    if row.what == "segment":
        return False
    name = leaf(row.name)
    if not is_item(row.name) and _named(name, error):
        return True
    return row.text is not None and _named(row.text, error)


def said_in(pair: tuple[str, str], error: str) -> bool:
    """Whether an error names the field or the value of a pair in a note as a whole word."""
    return _named(leaf(pair[0]), error) or _named(pair[1], error)


def _named(word: str, error: str) -> bool:
    return len(word) <= _LONGEST and word.lower() not in NOT_NAMES and stands(word, error)
