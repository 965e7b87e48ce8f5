"""The change view (`=`): against the parent step or a base, what is new, what left, what became shorter. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from agentmem.inspect.difference import Change, Difference, difference
from agentmem.inspect.telling.marks import CHANGED, DROPPED, GLYPHS, SILENT
from agentmem.model import Drop, Prompt, Segment, Step

from ..line import Span, thousands
from ..panes.columns import count
from .plan import Entry, Row, ghost_entry
from .seen import Ghost, Seen

PREVIEW = 6
"""Rows of text that a new piece shows."""
TextOf = Callable[[int], str | None]


class View(msgspec.Struct, frozen=True, eq=False):
    """The change view of one step: its rows, and what its title says."""

    rows: list[Row]
    difference: Difference
    alarms: int

    def counts(self, delta: int | None) -> tuple[Span, ...]:
        """`▲1 +2 ~1 +1.7k tokens`; a zero is not drawn."""
        spans: list[Span] = []
        parts = (
            (GLYPHS[SILENT], self.alarms, "text-error"),
            ("+", len(self.difference.of("added")), "text-state"),
            (GLYPHS[DROPPED], len(self.difference.of("gone")), "text-warning"),
            (GLYPHS[CHANGED], len(self.difference.of("shortened", "changed")), "text-warning"),
        )
        for glyph, number, role in parts:
            if number:
                spans.append(Span(f"{glyph}{number}  ", role, True))
        if delta is not None:
            spans.append(Span(f"{'+' if delta > 0 else '−' if delta < 0 else ''}{thousands(abs(delta))} tokens"))
        return tuple(spans)


def view(step: Step, before: Prompt | None, silent: Sequence[Ghost], text_of: TextOf, seen: Seen) -> View:
    """`silent`: ghosts by their place in the prompt that `seen` reads."""
    found = difference(before, step.prompt)
    drops = {drop.segment: drop for drop in step.drops if drop.segment is not None}
    ghosted = {ghost.drop.segment for ghost in silent if ghost.drop.segment is not None}
    rows: list[Row] = []
    place = 0
    waiting = list(silent)

    def pass_ghosts() -> None:
        while waiting and waiting[0].place <= place:
            rows.extend(_ghost_rows(waiting.pop(0).drop, step))

    for change in found.changes:
        if change.sort == "same":
            place = _same_rows(change, place, waiting, rows, step, seen)
            continue
        pass_ghosts()
        if change.sort == "gone":
            assert change.was is not None
            if change.was.id not in ghosted:
                rows.extend(_gone_rows(change.was, drops.get(change.was.id)))
            continue
        assert change.now is not None
        place += 1
        rows.extend(_came_rows(change, text_of))
    place = len(seen.ids) + 1
    pass_ghosts()
    for drop in step.drops:
        if drop.segment is None and not drop.alarming:
            rows.append(_gone_entry(drop.name, drop.tokens, drop))
    return View(rows, found, len(silent))


def _same_rows(change: Change, place: int, waiting: list[Ghost], rows: list[Row], step: Step, seen: Seen) -> int:
    """Unchanged pieces as one row, parted where a ghost stands among them. Returns the place behind them."""
    end = place + change.count
    while place < end:
        while waiting and waiting[0].place <= place:
            rows.extend(_ghost_rows(waiting.pop(0).drop, step))
        stop = min(end, waiting[0].place) if waiting else end
        if end < len(seen.ids) or seen.kind(seen.ids[place]) != "goal":
            rows.append(_same_entry(range(place, stop), seen))
        place = stop
    return end


def _same_entry(places: range, seen: Seen) -> Entry:
    first, last = seen.kind(seen.ids[places[0]]), seen.kind(seen.ids[places[-1]])
    text = first if len(places) == 1 else f"{first} to {last}" if len(places) > 2 else f"{first}, {last}"
    tokens = seen.sum(places.start, places.stop)
    return Entry("same", word=f"{len(places)} same", tokens=tokens, text=text)


def _ghost_rows(drop: Drop, step: Step) -> list[Row]:
    words = f"last in {drop.last_step}, recorded by nobody"
    if drop.missed_by:
        words += f"; {drop.missed_by[0].tool} needs it"
    return [ghost_entry(drop, step), Entry("why", text=words)]


def _gone_rows(was: Segment, drop: Drop | None) -> list[Row]:
    return [_gone_entry(was.head or was.kind, was.tokens, drop, was)]


def _gone_entry(text: str, tokens: int | None, drop: Drop | None, was: Segment | None = None) -> Entry:
    note = drop.cause if drop is not None else ""
    kind = was.kind if was is not None else drop.kind if drop is not None else "other"
    return Entry("was", was, drop, glyph=GLYPHS[DROPPED], word=kind, text=text, tokens=tokens, note=note)


def _came_rows(change: Change, text_of: TextOf) -> list[Row]:
    now, was = change.now, change.was
    assert now is not None
    if was is None:
        return [Entry("piece", now, glyph="+", preview=True)]
    rows: list[Row] = [
        Entry("piece", now, glyph=GLYPHS[CHANGED]),
        Entry("was", was, text=was.head or "", tokens=was.tokens, note="before"),
    ]
    if change.sort == "shortened":
        rows.append(Entry("same", text=_went(now, was, text_of)))
    return rows


def _went(now: Segment, was: Segment, text_of: TextOf) -> str:
    """What a shortened piece lost, in words; its text where both are at hand."""
    short, long = text_of(now.id), text_of(was.id)
    lost = None if now.tokens is None or was.tokens is None else was.tokens - now.tokens
    said = "" if lost is None else f"{thousands(lost)} tokens went"
    if short is None or long is None:
        return said
    common = 0
    most = min(len(short), len(long))
    while common < most and short[common] == long[common]:
        common += 1
    rest = long[common : common + 400].strip()
    lines = long.count("\n", common) + 1
    return f"{said}, {count(lines, 'line')}: {rest}" if rest else said
