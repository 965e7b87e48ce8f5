"""Stubs, summaries and changed fields paired with the pieces whose place they take."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import msgspec

from agentmem.inspect.compare.row import Passage
from agentmem.model import KINDS, Segment
from agentmem.pattern import pattern

Sort = Literal["stub", "shorter", "blank", "replaced", "changed", "summary"]
"""`stub`: it says itself, or the file does, that something was cut; `shorter`: a part of the old text, without a word.
"""
_SUMMARY = KINDS.index("summary")
_PREFIX = 40
_FEWEST = 8
"""Characters: fewer are the same by chance."""
_MARKER = pattern(
    r"\[?\b(?:trimmed|truncated|cleared|elided|omitted|removed|shortened|pruned|snipped|masked|persisted-output"
    r"|re-?run the tool|content (?:cleared|removed|dropped)|old tool result|see (?:the )?(?:file|artefact|artifact)"
    r"|(?:saved|stored|archived|moved) (?:to|in|as|at))\b"
    r"|(?:\u2026|\.\.\.)\]?\s*\Z",
    re.IGNORECASE,
)
_LOOKED_AT = 400
"""Characters at the start and at the end of what is new in a text in which it may say so."""
_MOSTLY = 0.8
"""A text of which so much stood in the old one is a part of it."""
_RESULTS = frozenset({"result", "error", "image"})


class Pair(msgspec.Struct, frozen=True, eq=False):
    """Piece `old` left and piece `new` stands in its place."""

    old: Segment
    new: Segment
    sort: Sort


def cut_out(was: str, now: str) -> tuple[str, str]:
    """(what of `was` does not stand in `now`, what of `now` did not stand in `was`): what lies between the beginning
    and the end that they share."""
    most = min(len(was), len(now))
    start = _same(most, lambda size: was[:size] == now[:size])
    end = _same(most - start, lambda size: was[len(was) - size :] == now[len(now) - size :])
    while 0 < start < len(now) and now[start - 1].isalnum() and now[start].isalnum():
        start -= 1  # no word is cut in two
    return was[start : len(was) - end], now[start : len(now) - end]


def _same(most: int, holds: Callable[[int], bool]) -> int:
    """The largest size up to `most` that holds; every smaller one does."""
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        low, most = (middle, most) if holds(middle) else (low, middle - 1)
    return low


def _says_cut(new: str) -> bool:
    """Whether what is new in a text says that something longer stood in its place."""
    return _MARKER.search(new[:_LOOKED_AT]) is not None or _MARKER.search(new[-_LOOKED_AT:]) is not None


def pair(passage: Passage) -> dict[int, Pair]:
    """Id of a piece that left -> what stands in its place now. A new piece pairs with one old, a summary with many."""
    if not passage.came or not passage.left or not _may_pair(passage):
        return {}
    tape = passage.tape
    left = {ident: tape.segment(ident) for ident in passage.left}
    came = [tape.segment(ident) for ident in passage.came]
    pairs: dict[int, Pair] = {}
    taken: set[int] = set()
    by_call = {(seg.call_id, seg.kind in _RESULTS): seg for seg in left.values() if seg.call_id is not None}
    by_field = {seg.field: seg for seg in left.values() if seg.field is not None}
    for new in came:
        old = left.get(new.stub_of) if new.stub_of is not None else None
        if old is None and new.call_id is not None:
            old = by_call.get((new.call_id, new.kind in _RESULTS))
            if old is not None and old.id not in pairs and _used_again(passage, new):
                old = None
        if old is not None and old.id not in pairs:
            pairs[old.id] = Pair(old, new, "stub" if new.stub_of == old.id else _sort(passage, old, new))
            taken.add(new.id)
            continue
        old = by_field.get(new.field) if new.field is not None else None
        if old is not None and old.id not in pairs:
            pairs[old.id] = Pair(old, new, "changed")
            taken.add(new.id)
    summaries = [seg for seg in came if seg.kind == "summary" and seg.id not in taken]
    _in_place(passage, left, pairs, taken)
    if summaries:
        _summarised(passage, left, summaries[-1], pairs)
    return pairs


def _used_again(passage: Passage, new: Segment) -> bool:
    """Whether the id of a call stands elsewhere in the prompt too, for a piece of that sort: ids that are used again
    tell nothing of what stands in whose place."""
    tape, results = passage.tape, new.kind in _RESULTS
    return any(
        ident != new.id and tape.marks(ident)[0] == new.call_id and (KINDS[tape.kinds[ident]] in _RESULTS) == results
        for ident in passage.live()
    )


def _may_pair(passage: Passage) -> bool:
    """Whether anything can pair: most steps only append at the end and cut at the start."""
    if any(edit.gone and edit.new for edit in passage.edits):
        return True
    tape, kinds = passage.tape, passage.tape.kinds
    calls: set[str] = set()
    for ident in passage.came:
        call_id, stub_of, field, _ = tape.marks(ident)
        if stub_of is not None or field is not None or kinds[ident] == _SUMMARY:
            return True
        if call_id is not None:
            calls.add(call_id)
    return bool(calls) and any(tape.marks(ident)[0] in calls for ident in passage.left)


def _sort(passage: Passage, old: Segment, new: Segment) -> Sort:
    if new.head is None or new.characters is None or old.characters is None:
        return "replaced"
    if not new.head.strip():
        return "blank"
    return _cut_of(passage, old, new) or "replaced"


def _cut_of(passage: Passage, old: Segment, new: Segment) -> Sort | None:
    """What the new piece is of the old one, if it is shorter and says that something was cut, or is a part of it."""
    if old.head is None or new.head is None or (new.characters or 0) >= (old.characters or 0):
        return None
    was, now = passage.text(old.id) or old.head, passage.text(new.id) or new.head
    _, fresh = cut_out(was, now)
    if _says_cut(fresh):
        return "stub"
    size = min(_PREFIX, len(new.head), len(old.head))
    begins = size >= _FEWEST and new.head[:size] == old.head[:size]
    return "shorter" if begins or (len(now) >= _FEWEST and len(fresh) <= (1 - _MOSTLY) * len(now)) else None


def _in_place(passage: Passage, left: dict[int, Segment], pairs: dict[int, Pair], taken: set[int]) -> None:
    """Within one edit, one for one and of one kind: a stub or another text at the same place."""
    tape = passage.tape
    for edit in passage.edits:
        new = [ident for ident in edit.new if ident not in taken]
        gone = [ident for ident in edit.gone if ident in left and ident not in pairs]
        if not gone or not new:
            continue
        even = len(edit.gone) == len(edit.new)
        spots = {ident: place for place, ident in enumerate(edit.gone)}
        for ident in gone:
            old = left[ident]
            options = [edit.new[spots[ident]]] if even else new
            for other in options:
                if other in taken:
                    continue
                fresh = tape.segment(other)
                if fresh.kind != old.kind or fresh.kind == "summary" or fresh.field or old.field:
                    continue
                cut = _cut_of(passage, old, fresh)
                if cut is not None:
                    sort: Sort = cut
                elif even and fresh.head is not None and not fresh.head.strip():
                    sort = "blank"
                elif old.kind in ("system", "tools", "recall") or (even and old.call_id is None and len(gone) == 1):
                    sort = "replaced"
                else:
                    continue
                pairs[ident] = Pair(old, fresh, sort)
                taken.add(other)
                break


def _summarised(passage: Passage, left: dict[int, Segment], summary: Segment, pairs: dict[int, Pair]) -> None:
    """What left in the edit that brought the summary (or anywhere, at a compaction that the file records)."""
    boundary = passage.boundary
    anywhere = passage.given and boundary is not None and boundary.kind in ("compaction", "condensation")
    place = next((edit.position for edit in passage.edits if summary.id in edit.new), None)
    for edit in passage.edits:
        if not edit.gone or not (anywhere or _beside(edit.position, place, len(edit.new))):
            continue
        for ident in edit.gone:
            if ident in left and ident not in pairs:
                pairs[ident] = Pair(left[ident], summary, "summary")


def _beside(position: int, place: int | None, size: int) -> bool:
    """Whether an edit lies where the summary was put, or next to it."""
    return place is not None and abs(position - place) <= size + 1
