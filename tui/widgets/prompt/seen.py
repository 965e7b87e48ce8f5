"""One prompt as the pane reads it, and where in it the pieces stood that are gone. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentmem.model import FRAME, KINDS, Drop, Kind, Lane, Prompt, Segment, Step
from agentmem.tape import PromptView

from ...index import LaneIndex

GHOSTS = 40
"""At most so many rows for what is gone; the lost pane has them all."""
STATE_AT_END = 200
"""Pieces at the end of a prompt among which a rendered state is looked for."""
NEAR = 8
"""Pieces around a field among which other facts of its own state are looked for: a message may hold one too."""
_KINDS_UNKNOWN = {"system": "system", "tool": "tools", "tools": "tools"}


class Seen:
    """A prompt with its ids taken once; kind and birth of a piece without making its segment."""

    def __init__(self, prompt: Prompt) -> None:
        self.prompt = prompt
        self._tape = prompt.tape if isinstance(prompt, PromptView) else None
        self._made = {} if self._tape is not None else {segment.id: segment for segment in prompt}
        if self._tape is None:
            self.ids: list[int] = [segment.id for segment in self._made.values() if segment.field != FRAME]
        else:
            frames = self._tape.frames
            self.ids = [ident for ident in prompt.ids if ident not in frames] if frames else list(prompt.ids)
        """Without the words between the fields of a rendered state."""

    def segment(self, ident: int) -> Segment:
        return self._made[ident] if self._tape is None else self._tape.segment(ident)

    def holds(self, kind: Kind) -> bool:
        """Whether a piece of that kind stands in the prompt."""
        if self._tape is None:
            return any(segment.kind == kind for segment in self._made.values())
        return KINDS.index(kind) in bytes(map(self._tape.kinds.__getitem__, self.ids))

    def kind(self, ident: int) -> Kind:
        return self._made[ident].kind if self._tape is None else KINDS[self._tape.kinds[ident]]

    def field(self, ident: int) -> str | None:
        """Name of the field of the state that the piece carries."""
        return self._made[ident].field if self._tape is None else self._tape.field_of(ident)

    def key(self, ident: int) -> int:
        return self._made[ident].key if self._tape is None else self._tape.keys[ident]

    def sum(self, idents: Sequence[int]) -> int | None:
        """Tokens of the pieces that are known; None if none is."""
        if self._tape is None:
            known = [tokens for ident in idents if (tokens := self._made[ident].tokens) is not None]
        else:
            column = self._tape.tokens
            known = [tokens for ident in idents if (tokens := column[ident]) >= 0]
        return sum(known) if known else None

    def errors(self, idents: Sequence[int]) -> list[bool]:
        """For each piece whether it is a failed result, without making its segment."""
        if self._tape is None:
            return [self._made[ident].kind == "error" for ident in idents]
        column, code = self._tape.kinds, KINDS.index("error")
        return [column[ident] == code for ident in idents]

    def born(self, ident: int) -> int | None:
        """First step n whose prompt holds the piece; None if that is not known."""
        return None if self._tape is None else self._tape.born[ident] or None


@dataclass(frozen=True, slots=True, eq=False)
class Ghost:
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
    places = {ident: place for place, ident in enumerate(seen.ids)}
    found = [Ghost(drop, _place(index.lane, index, drop, seen, places)) for drop in standing[-GHOSTS:]]
    return sorted(found, key=lambda ghost: ghost.place)


def _place(lane: Lane, index: LaneIndex, drop: Drop, seen: Seen, places: dict[int, int]) -> int:
    # A state that is rendered anew at each step has new pieces: then only the other facts tell where the field stood.
    among = drop.what == "field" and any(seen.kind(ident) == "fact" for ident in seen.ids[-STATE_AT_END:])
    n = index.n_of(drop.last_step) or drop.n - 1
    if drop.segment is not None and 1 <= n <= len(lane.steps):
        ids = list(lane.steps[n - 1].prompt.ids)
        if drop.segment in ids:
            at = ids.index(drop.segment)
            near = NEAR if among else len(ids)
            for neighbour in reversed(ids[max(0, at - near) : at]):
                if neighbour in places and not (among and seen.kind(neighbour) != "fact"):
                    return places[neighbour] + 1
            for neighbour in ids[at + 1 : at + 1 + near]:
                if neighbour in places and not (among and seen.kind(neighbour) != "fact"):
                    return places[neighbour]
    return _state_place(seen)


def _state_place(seen: Seen) -> int:
    """Where a field would stand: behind the last fact, else before the goal at the end, else at the end."""
    facts = [place for place, ident in enumerate(seen.ids) if seen.kind(ident) == "fact"]
    if facts:
        return facts[-1] + 1
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
