"""What one prompt has that another has not: the change view and `agentmem diff`. Pure.

Pieces are matched by content: a piece whose content stands anywhere in the other prompt is kept. A stub pairs with what
it stands for, a field with its earlier value. The frame of a rendered state (words between its
fields) is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from agentmem.model import FRAME, Drop, Prompt, Segment, Step
from agentmem.tape import PromptView


class Change(msgspec.Struct, frozen=True, eq=False):
    """One row of a difference, in the order of the later prompt; what left stands where it stood."""

    sort: Literal["same", "added", "gone", "shortened", "changed"]
    now: Segment | None = None
    was: Segment | None = None
    count: int = 1
    """For `same`: how many pieces in a row are unchanged."""
    tokens: int | None = None
    """For `same`: their tokens, as far as known."""
    first: str = ""
    """For `same`: kinds of the first and the last piece."""
    last: str = ""


class Difference(msgspec.Struct, frozen=True, eq=False):
    changes: tuple[Change, ...]
    kept: int
    kept_tokens: int

    def of(self, *sorts: str) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.sort in sorts)


class _Side(msgspec.Struct, frozen=True, eq=False):
    keys: Sequence[int]
    tokens: Sequence[int | None]
    get: Callable[[int], Segment]
    """By place."""


def _side(prompt: Prompt) -> _Side:
    if isinstance(prompt, PromptView):
        tape = prompt.tape
        ids = [i for i in prompt.ids if tape.field_of(i) != FRAME]
        keys, tokens = tape.keys, tape.tokens
        counted = [None if tokens[i] < 0 else tokens[i] for i in ids]
        return _Side([keys[i] for i in ids], counted, lambda place: tape.segment(ids[place]))
    segments = tuple(segment for segment in prompt if segment.field != FRAME)
    return _Side([s.key for s in segments], [s.tokens for s in segments], lambda place: segments[place])


def difference(before: Prompt | None, after: Prompt) -> Difference:
    """From `before` (None: an empty prompt) to `after`. Segments are made only for what changed."""
    new = _side(after)
    old = _side(before) if before is not None else _Side((), (), lambda place: new.get(place))
    old_keys, new_keys = set(old.keys), set(new.keys)
    gone: dict[int | None, list[Segment]] = {}
    anchor: int | None = None
    for place, key in enumerate(old.keys):
        if key in new_keys:
            anchor = key
        else:
            gone.setdefault(anchor, []).append(old.get(place))
    left = [segment for run in gone.values() for segment in run]
    lost = {segment.id: segment for segment in left} if _same_tape(before, after) else {}
    by_field = {segment.field: segment for segment in left if segment.field is not None}
    changes: list[Change] = []
    paired: set[int] = set()
    fresh = [place for place, key in enumerate(new.keys) if key not in old_keys]
    came = {place: _came(new.get(place), lost, by_field, paired) for place in fresh}
    same: list[int] = []
    kept: list[int] = []

    def total(places: Sequence[int]) -> int | None:
        known = [tokens for place in places if (tokens := new.tokens[place]) is not None]
        return sum(known) if known else None

    def close() -> None:
        if same:
            first, last = new.get(same[0]).kind, new.get(same[-1]).kind
            changes.append(Change("same", count=len(same), tokens=total(same), first=first, last=last))
            kept.extend(same)
            same.clear()

    def leave(key: int | None) -> None:
        for segment in gone.pop(key, ()):
            if segment.id not in paired:
                close()
                changes.append(Change("gone", was=segment))

    leave(None)
    for place, key in enumerate(new.keys):
        found = came.get(place)
        if found is not None:
            close()
            changes.append(found)
            continue
        same.append(place)
        if key in gone:
            leave(key)
    close()
    return Difference(tuple(changes), len(kept), total(kept) or 0)


def taken_by(steps: Sequence[Step], gone: Sequence[Segment]) -> dict[int, tuple[Step, Drop]]:
    """Id of a piece that is gone -> the newest of these steps that lost it, with its drop. `steps`: those behind the
    earlier prompt up to the later one. A piece that is only put in other words is no drop and has none."""
    found: dict[int, tuple[Step, Drop]] = {}
    for step in steps:
        if not step.drops:
            continue
        prompt = step.prompt
        edits = prompt.tape.edits(step.n) if isinstance(prompt, PromptView) else None
        left = None if edits is None else {ident for edit in edits for ident in edit.gone}
        for segment in gone:
            drop = _drop_of(step, segment) if left is None or segment.id in left else None
            if drop is not None:
                found[segment.id] = step, drop
    return found


def _drop_of(step: Step, segment: Segment) -> Drop | None:
    """The drop of a piece: its own, that of the field it carries, or the row of many that names its kind."""
    many = None
    for drop in step.drops:
        if drop.segment == segment.id or (drop.what != "segment" and drop.name == segment.field):
            return drop
        if drop.what == "segment" and drop.count > 1 and segment.kind in drop.name:
            many = drop
    return many


def _same_tape(before: Prompt | None, after: Prompt) -> bool:
    """Whether the ids of both mean the same pieces."""
    one = before.tape if isinstance(before, PromptView) else None
    return one is (after.tape if isinstance(after, PromptView) else None)


def _came(segment: Segment, lost: dict[int, Segment], by_field: dict[str, Segment], paired: set[int]) -> Change:
    was = lost.get(segment.stub_of) if segment.stub_of is not None else None
    if was is not None and was.id not in paired and segment.kind != "summary":
        paired.add(was.id)
        return Change("shortened", segment, was)
    was = by_field.get(segment.field) if segment.field is not None else None
    if was is not None and was.id not in paired:
        paired.add(was.id)
        return Change("changed", segment, was)
    return Change("added", segment)
