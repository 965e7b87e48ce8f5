"""Drops watched after they were made: what comes back, and the later failures that needed what was lost.

A failure needs a drop only if (a) the tool earlier had that argument, by name or value, now lacks it (absent, null or
empty) and errs, or (b) the error names the field or its value as a whole word. Of a note or a summary the fields are
what it says as `name = value` or `name: value`. A loss that was spared becomes a drop by such a failure, under the
stricter rule of `spared.lacks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec.structs import replace

from agentmem.formats.draft import Call
from agentmem.inspect.compare.row import Row
from agentmem.inspect.compare.spared import lacks, place_of
from agentmem.inspect.compare.words import (
    folded,
    is_item,
    leaf,
    marks_of,
    names_field,
    pairs_of,
    said_in,
    says_value,
    spelled,
    stands,
)
from agentmem.model import Field, Miss, Still
from agentmem.tape import Tape

_SHORTEST = 4
_LONGEST = 400
_LONGEST_ARGUMENTS = 200_000
_MOST_WATCHED = 500
_MOST_NEEDS = 200
"""So many failures that needed one drop are kept."""
_EMPTY = frozenset({"", "null", "none", "undefined"})
"""Texts that a model writes where it has no value."""
NOTED = frozenset({"note", "summary"})
"""Kinds of texts that name fields of their own."""


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
        if item is None or item == [] or item == {} or (isinstance(item, str) and item.strip().lower() in _EMPTY):
            continue
        out[str(name)] = item if isinstance(item, str) else msgspec.json.encode(item).decode()
    return out


class Watch:
    """The drops of one lane that have not come back. Events are kept in order, so that `rewind` can undo the last."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._by_key: dict[int, list[Row]] = {}
        self._fields: list[Row] = []
        """Fields that are gone or held outside the prompt, and have not come back."""
        self._carried: list[Row] = []
        """Pieces that carried a field which no state lists."""
        self._declared: dict[str, list[Row]] = {}
        """Text -> the pieces whose drop was declared with it."""
        self._spared: list[Row] = []
        """What is no drop unless a call fails for it, and has not come back."""
        self._restarts: list[int] = []
        """Indices of the steps at which a new run began in the same file: it needs nothing of the one before."""
        self._fields_now: Sequence[Field] = ()
        self._tape: Tape | None = None
        self._returns: list[tuple[int, Row, int | None]] = []
        self._misses: list[tuple[int, Row]] = []
        self._had: dict[tuple[str, tuple[str, ...]], int] = {}
        """(tool, words of the argument's name) -> index of the step that first gave it."""
        self._gave: dict[tuple[str, str], tuple[int, str]] = {}
        """(tool, value) -> (index, argument) that first carried it."""
        self._given: list[tuple[int, tuple[str, str | tuple[str, ...]]]] = []

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
                    (self._fields if row.still is None else self._spared).append(row)
            if key is not None:
                row.keys.add(key)
                self._by_key.setdefault(key, []).append(row)
        while self.rows and self.rows[-1].index >= index:
            row = self.rows.pop()
            if self._declared and row.text in self._declared:
                self._declared[row.text] = [other for other in self._declared[row.text] if other is not row]
            for key in row.keys:
                kept = [other for other in self._by_key.get(key, ()) if other is not row]
                if kept:
                    self._by_key[key] = kept
                else:
                    self._by_key.pop(key, None)
        self._fields = [row for row in self._fields if row.index < index]
        self._carried = [row for row in self._carried if row.index < index]
        self._spared = [row for row in self._spared if row.index < index]
        while self._restarts and self._restarts[-1] >= index:
            self._restarts.pop()
        while self._given and self._given[-1][0] >= index:
            _, (tool, place) = self._given.pop()
            if isinstance(place, str):
                del self._gave[(tool, place)]
            else:
                del self._had[(tool, place)]
        return {at for at in dirty if at < index}

    def add(self, rows: Iterable[Row], text: Callable[[int], str | None]) -> None:
        """Watch the drops of a step; call after `came` of that step. `text`: whole text of a piece of the lane."""
        for row in rows:
            self.rows.append(row)
            if row.kind in NOTED:
                note = row.text if row.text is not None else None if row.segment is None else text(row.segment)
                row.pairs = pairs_of(note) if note else ()
                if row.pairs and row.stub is not None:
                    now = text(row.stub) or ""
                    row.pairs = tuple(p for p in row.pairs if not (stands(leaf(p[0]), now) and stands(p[1], now)))
                row.marks = marks_of(row.pairs)
            if row.what != "segment" and row.text is not None:
                self._fields.append(row)
                continue
            if row.what == "segment" and row.text is not None and row.recorded:
                self._declared.setdefault(row.text, []).append(row)
            if row.what != "segment" or row.pairs:
                self._carried.append(row)
            for key in row.keys:
                self._by_key.setdefault(key, []).append(row)
        for watched in (self._fields, self._carried):
            if len(watched) > _MOST_WATCHED:
                del watched[: len(watched) - _MOST_WATCHED]

    def spare(self, rows: Iterable[Row]) -> None:
        """Watch what left at a step and is no drop, unless a call fails for the lack of it."""
        self._spared.extend(rows)
        if len(self._spared) > _MOST_WATCHED:
            del self._spared[: len(self._spared) - _MOST_WATCHED]

    def restart(self, index: int) -> None:
        """A new run begins in the same file at that step."""
        self._restarts.append(index)

    def absent(self, name: str, text: str | None) -> bool:
        """Whether a field of that name and text, or a piece of that text, is gone and has not come back."""
        if text is not None and any(row.returned is None for row in self._declared.get(text, ())):
            return True
        return any(row.name == name and row.text == text for row in self._fields)

    def came(self, index: int, tape: Tape, came: Iterable[int], fields: Sequence[Field], changed: bool) -> set[int]:
        """Mark what came back at that step. Returns the indices of the steps whose rows changed."""
        dirty: set[int] = set()
        self._fields_now, self._tape = fields, tape
        if self._by_key:
            for ident in came:
                key = tape.keys[ident]
                for row in self._by_key.pop(key, ()):
                    row.keys.discard(key)
                    self._returns.append((index, row, key))
                    if not row.keys:
                        row.returned = index
                        dirty.add(row.index)
        if changed and (self._fields or self._spared):
            now = {field.name: field for field in fields}
            values = {field.value for field in fields if is_item(field.name)}
            self._fields = self._gone_still(self._fields, index, now, values, dirty)
            self._spared = self._gone_still(self._spared, index, now, values, dirty)
        return dirty

    def _gone_still(
        self, rows: list[Row], index: int, now: dict[str, Field], values: set[str], dirty: set[int]
    ) -> list[Row]:
        """The rows of these that have not come back; those that have are marked."""
        gone = []
        for row in rows:
            if self._back(row, now, values):
                row.returned = index
                if row.still is None or row.misses:
                    dirty.add(row.index)
                self._returns.append((index, row, None))
            else:
                gone.append(row)
        return gone

    @staticmethod
    def _back(row: Row, now: dict[str, Field], values: set[str]) -> bool:
        if row.still is not None and row.still.part_of is not None:
            held = now.get(row.still.part_of)
            return held is not None and stands(leaf(row.name), held.value)
        if is_item(row.name):
            return row.text in values
        field = now.get(row.name)
        if field is None or field.value in ("null", ""):
            return False
        return field.segment is not None if row.held else True

    def failed(
        self, index: int, lane: str, number: int, calls: Sequence[Call], text: Callable[[int], str | None]
    ) -> set[int]:
        """Tie the failures of a step to what was lost before. Returns the indices of the steps whose rows changed.
        `text`: whole text of a piece of the lane."""
        dirty: set[int] = set()
        since = self._restarts[-1] if self._restarts else 0
        given = [named_arguments(call.arguments) for call in calls]
        for call, arguments in zip(calls, given, strict=True):
            if call.outcome != "error":
                continue
            for row in (*self._fields, *self._carried):
                if row.returned is not None or row.index < since or len(row.misses) >= _MOST_NEEDS:
                    continue
                if row.misses and row.misses[-1].n == index + 1:
                    continue
                if self._lacks(row, call, arguments) or _names(row, call.error):
                    self._tie(row, index, Miss(lane, index + 1, number, call.tool, call.error or ""), dirty)
            for row in self._lacking(call, arguments, index, since):
                if not row.misses:
                    row.still = self._still(row, index, text)
                if len(row.misses) < _MOST_NEEDS and not (row.misses and row.misses[-1].n == index + 1):
                    self._tie(row, index, Miss(lane, index + 1, number, call.tool, call.error or ""), dirty)
        for call, arguments in zip(calls, given, strict=True):
            for name, value in arguments.items():
                given_as = (call.tool, spelled(name))
                if given_as not in self._had:
                    self._had[given_as] = index
                    self._given.append((index, given_as))
                if _SHORTEST <= len(value) <= _LONGEST and (call.tool, value) not in self._gave:
                    self._gave[(call.tool, value)] = (index, name)
                    self._given.append((index, (call.tool, value)))
        return dirty

    def _tie(self, row: Row, index: int, miss: Miss, dirty: set[int]) -> None:
        row.misses.append(miss)
        self._misses.append((index, row))
        dirty.add(row.index)

    def _lacking(self, call: Call, arguments: dict[str, str], index: int, since: int) -> list[Row]:
        """The spared losses that a failed call lacked: of one name the last, and none that a drop tells already."""
        if not self._spared:
            return []
        told = {leaf(row.name) for row in (*self._fields, *self._carried) if row.what != "segment"}
        told.update(leaf(key) for row in (*self._fields, *self._carried) for key, _ in row.pairs)
        found = []
        for row in reversed(self._spared):
            name = leaf(row.name)
            if row.index < since or name in told:
                continue
            if lacks(row, call, arguments, self._lacks(row, call, arguments)) and not self._stands_again(row, index):
                told.add(name)
                found.append(row)
        return found

    def _stands_again(self, row: Row, index: int) -> bool:
        """Whether a step holds that field again, in another place than the one that it was lost from."""
        if row.still is not None and row.still.part_of is not None:
            name = leaf(row.name)
            return any(leaf(field.name) == name and field.value not in ("null", "") for field in self._fields_now)
        tape = self._tape
        # A span that was carved out of its message when the state held the field keeps the name: only newer ones count.
        return tape is not None and any(
            tape.born[ident] > row.index + 1 and tape.field_of(ident) == row.name for ident in tape.ids(index + 1)
        )

    def _still(self, row: Row, index: int, text: Callable[[int], str | None]) -> Still | None:
        """Where the value of a spared loss stands at a step."""
        if row.still is None or self._tape is None:
            return row.still
        ids = self._tape.ids(index + 1)
        place = place_of(row.text or "", self._fields_now, self._tape, ids, text)
        where, segment = place if place is not None else (None, None)
        return replace(row.still, where=where, segment=segment)

    def _lacks(self, row: Row, call: Call, arguments: dict[str, str]) -> bool:
        if row.what == "segment":
            return False
        name = spelled(leaf(row.name))
        if (call.tool, name) in self._had and name not in map(spelled, arguments) and not is_item(row.name):
            return True
        gave = self._gave.get((call.tool, row.text)) if row.text is not None else None
        return gave is not None and gave[1] not in arguments


def _names(row: Row, error: str | None) -> bool:
    """Whether the error names the field or its value as a whole word."""
    if not error:
        return False
    # A long run has ten thousands of pairs, and next to none of them stands in an error.
    if any(map(folded(error).__contains__, row.marks)) and any(said_in(pair, error) for pair in row.pairs):
        return True
    if row.what == "segment":
        return False
    name = leaf(row.name)
    if not is_item(row.name) and names_field(name, error):
        return True
    return row.text is not None and says_value(row.text, error)
