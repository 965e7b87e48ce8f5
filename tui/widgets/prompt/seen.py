"""One prompt as the pane reads it, and where in it the pieces stood that are gone. Pure."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate

import msgspec

from agentmem.model import FRAME, KINDS, Drop, Kind, Lane, Prompt, Segment, Step
from agentmem.tape import PromptView

from ...index import LaneIndex
from .stretches import Total, stretches, total

GHOSTS = 40
"""At most so many rows for what is gone; the lost pane has them all."""
STATE_AT_END = 200
"""Pieces at the end of a prompt among which a rendered state is looked for."""
NEAR = 8
"""Pieces around a field among which other facts of its own state are looked for: a message may hold one too."""
_KINDS_UNKNOWN = {"system": "system", "tool": "tools", "tools": "tools"}


class Seen:
    """A prompt with its ids taken once; what a piece is without making its segment. `ids` are without the words between
    the fields of a rendered state. Of a prompt on a tape nothing here looks at each piece."""

    def __init__(self, prompt: Prompt, frames: bool = False) -> None:
        """`frames`: take those words as pieces too."""
        self.prompt = prompt
        self._tape = prompt.tape if isinstance(prompt, PromptView) else None
        self._made: dict[int, Segment] = {}
        if isinstance(prompt, PromptView):
            self._parts = stretches(prompt.packed, len(prompt.tape))
            self.ids = prompt.packed
            if not frames and any(_framed(prompt.tape.frames, part) for part in self._parts):
                self.ids, self._parts = _bare(prompt.packed, self._parts, prompt.tape.frames)
            kinds = prompt.tape.kinds
            self.codes = b"".join(kinds[part.start : part.stop] for part in self._parts)
        else:
            self._made = {segment.id: segment for segment in prompt if frames or segment.field != FRAME}
            self.ids = array("L", self._made)
            self._parts = [range(ident, ident + 1) for ident in self._made]
            self.codes = bytes(KINDS.index(segment.kind) for segment in self._made.values())
        """Of each piece its place in `KINDS`."""
        self._starts = [0, *accumulate(map(len, self._parts))]
        self._sorted: list[tuple[int, int]] | None = None

    def segment(self, ident: int) -> Segment:
        return self._made[ident] if self._tape is None else self._tape.segment(ident)

    def places(self, kind: Kind, start: int = 0, end: int | None = None) -> Iterator[int]:
        """Places of the pieces of that kind, in order."""
        code = KINDS.index(kind)
        place = self.codes.find(code, start, end)
        while place >= 0:
            yield place
            place = self.codes.find(code, place + 1, end)

    def holds(self, kind: Kind) -> bool:
        """Whether a piece of that kind stands in the prompt."""
        return KINDS.index(kind) in self.codes

    def last_of(self, kind: Kind) -> int | None:
        """Place of the last piece of that kind; None if there is none."""
        place = self.codes.rfind(KINDS.index(kind))
        return None if place < 0 else place

    def place_of(self, ident: int) -> int | None:
        """Where in the prompt the piece stands; None: nowhere."""
        if self._sorted is None:
            self._sorted = sorted((part.start, number) for number, part in enumerate(self._parts))
        found = bisect_right(self._sorted, (ident, len(self._parts))) - 1
        if found < 0:
            return None
        number = self._sorted[found][1]
        part = self._parts[number]
        return self._starts[number] + ident - part.start if ident in part else None

    def keyed(self, keys: Collection[int]) -> list[int]:
        """Places of the pieces whose content has one of these keys, in order."""
        if self._tape is None:
            return [place for place, segment in enumerate(self._made.values()) if segment.key in keys]
        column = self._tape.keys
        found: list[int] = []
        for part, start in zip(self._parts, self._starts, strict=False):
            held = column[part.start : part.stop]
            found.extend(start + place for key in keys for place in _all(held, key))
        return sorted(found)

    def kind(self, ident: int) -> Kind:
        return self._made[ident].kind if self._tape is None else KINDS[self._tape.kinds[ident]]

    def field(self, ident: int) -> str | None:
        """Name of the field of the state that the piece carries."""
        return self._made[ident].field if self._tape is None else self._tape.field_of(ident)

    def total(self, start: int, end: int) -> Total:
        """Tokens and births of the pieces from place `start` to before `end`; no births where they are not known."""
        if self._tape is None:
            known = [tokens for ident in self.ids[start:end] if (tokens := self._made[ident].tokens) is not None]
            return Total(sum(known), len(known))
        return total(self._tape, self._within(start, end))

    def sum(self, start: int, end: int) -> int | None:
        """Tokens of these places that are known; None if none is."""
        found = self.total(start, end)
        return found.tokens if found.known else None

    def _within(self, start: int, end: int) -> Iterator[range]:
        """The ids of these places."""
        number = bisect_right(self._starts, start) - 1
        while number < len(self._parts) and self._starts[number] < end:
            part, at = self._parts[number], self._starts[number]
            yield part[max(0, start - at) : end - at]
            number += 1

    def born(self, ident: int) -> int | None:
        """First step n whose prompt holds the piece; None if that is not known."""
        return None if self._tape is None else self._tape.born[ident] or None


def _framed(frames: array[int], part: range) -> bool:
    """Whether a frame is among these ids."""
    return bisect_left(frames, part.start) < bisect_left(frames, part.stop)


def _bare(packed: array[int], parts: Sequence[range], frames: array[int]) -> tuple[array[int], list[range]]:
    """Ids and stretches without the frames."""
    ids, kept, at = array("L"), [], 0
    for part in parts:
        start = part.start
        for frame in (*frames[bisect_left(frames, start) : bisect_left(frames, part.stop)], part.stop):
            if frame > start:
                kept.append(range(start, frame))
                ids += packed[at + start - part.start : at + frame - part.start]
            start = frame + 1
        at += len(part)
    return ids, kept


def _all(column: array[int], key: int) -> Iterator[int]:
    """Places of a key, without looking at each in turn."""
    place = -1
    with suppress(ValueError):
        while True:
            place = column.index(key, place + 1)
            yield place


class Ghost(msgspec.Struct, frozen=True, eq=False):
    """Something that is gone and that nobody recorded, at the place where it stood."""

    drop: Drop
    place: int
    """Index in the prompt before which it is drawn."""


def ghosts(index: LaneIndex, step: Step, seen: Seen) -> list[Ghost]:
    """Silent drops up to this step that have not come back by then, each in its place."""
    standing = [
        drop for drop in index.alarms
        if drop.n <= step.n and (drop.returned_at is None or drop.returned_at > step.number)
    ]  # fmt: skip
    if not standing:
        return []
    before: dict[int, Seen] = {}
    """Prompts in which something that is gone stood last, by n: what goes together is looked for in one."""
    found = [Ghost(drop, _place(index.lane, index, drop, seen, before)) for drop in standing[-GHOSTS:]]
    return sorted(found, key=lambda ghost: ghost.place)


def _place(lane: Lane, index: LaneIndex, drop: Drop, seen: Seen, before: dict[int, Seen]) -> int:
    # A state that is rendered anew at each step has new pieces: then only the other facts tell where the field stood.
    among = drop.what == "field" and any(seen.kind(ident) == "fact" for ident in seen.ids[-STATE_AT_END:])
    n = index.n_of(drop.last_step) or drop.n - 1
    if drop.segment is not None and 1 <= n <= len(lane.steps):
        then = before.get(n)
        if then is None:
            then = before[n] = Seen(lane.steps[n - 1].prompt, frames=True)
        at = then.place_of(drop.segment)
        if at is not None:
            ids = then.ids
            near = NEAR if among else len(ids)
            for place in range(at - 1, max(0, at - near) - 1, -1):
                if (found := _stands(ids[place], seen, among)) is not None:
                    return found + 1
            for place in range(at + 1, min(len(ids), at + 1 + near)):
                if (found := _stands(ids[place], seen, among)) is not None:
                    return found
    return _state_place(seen)


def _stands(ident: int, seen: Seen, among: bool) -> int | None:
    """Where a neighbour of what is gone stands now; `among`: only a fact counts."""
    place = seen.place_of(ident)
    return None if place is None or (among and seen.kind(ident) != "fact") else place


def _state_place(seen: Seen) -> int:
    """Where a field would stand: behind the last fact, else before the goal at the end, else at the end."""
    last = seen.last_of("fact")
    if last is not None:
        return last + 1
    end = len(seen.ids)
    return end - 1 if end and seen.kind(seen.ids[-1]) == "goal" else end


def unknown_parts(words: Sequence[str], seen: Seen) -> tuple[tuple[str, str], ...]:
    """(kind, words) of the parts that the file does not have and for which no piece stands in the prompt."""
    have = {seen.kind(ident) for ident in seen.ids[:4]}
    parts = []
    for word in words:
        kind = _KINDS_UNKNOWN.get(word.split(" ")[0].lower(), "other")
        if kind == "other" or kind not in have:
            parts.append((kind, word))
    return tuple(parts)
