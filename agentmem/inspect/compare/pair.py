"""Stubs, summaries and changed fields paired with the pieces whose place they take."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from agentmem.inspect.compare.row import Passage
from agentmem.model import KINDS, Segment
from agentmem.pattern import pattern

Sort = Literal["stub", "blank", "replaced", "changed", "summary"]
_SUMMARY = KINDS.index("summary")
_PREFIX = 40
_MARKER = pattern(
    r"\[?\b(?:trimmed|truncated|cleared|elided|omitted|removed|shortened|pruned|persisted-output|re-?run the tool"
    r"|content (?:cleared|removed|dropped)|old tool result|see (?:the )?file|saved to)\b",
    re.IGNORECASE,
)
_RESULTS = frozenset({"result", "error", "image"})


class Pair(msgspec.Struct, frozen=True, eq=False):
    """Piece `old` left and piece `new` stands in its place."""

    old: Segment
    new: Segment
    sort: Sort


def is_marker(text: str | None) -> bool:
    """Whether a text says that something longer stood in its place."""
    return text is not None and _MARKER.search(text[:400]) is not None


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
            pairs[old.id] = Pair(old, new, "stub" if new.stub_of == old.id else _sort(old, new))
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


def _sort(old: Segment, new: Segment) -> Sort:
    if new.head is None or new.characters is None or old.characters is None:
        return "replaced"
    if not new.head.strip():
        return "blank"
    if new.characters < old.characters and (new.characters * 2 <= old.characters or _stub_of(old, new)):
        return "stub"
    return "replaced"


def _stub_of(old: Segment, new: Segment) -> bool:
    """Whether the new piece, shorter, begins as the old one or says that something was cut."""
    if old.head is None or new.head is None or (new.characters or 0) >= (old.characters or 0):
        return False
    size = min(_PREFIX, len(new.head), len(old.head))
    return (size >= 8 and new.head[:size] == old.head[:size]) or is_marker(new.head)


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
                if _stub_of(old, fresh):
                    sort: Sort = "stub"
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
