"""Bars, the axis of the timeline, and lifelines drawn on it. Pure: numbers in, spans out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from .line import Span

if TYPE_CHECKING:
    from agentmem.model import Lifeline

EIGHTHS = " ▏▎▍▌▋▊▉█"
RISING = " ▁▂▃▄▅▆▇█"
LEVELS = " ━◆─╌·✗▲"
"""Levels of a lifeline, the later the worse: a cell that stands for many steps shows the worst."""
_WORST = LEVELS[::-1]
_ROLE = {"━": "state", "◆": "state", "─": "label", "╌": "text-warning", "·": "label", "✗": "text-error",
         "▲": "text-error", "▼": "text-primary", "−": "text-warning"}  # fmt: skip
_AFTER = {"◆": "━", "▲": "·", "✗": "·", "▼": "·", "−": "·"}


def bar(value: float, cells: int, scale: float) -> str:
    """A horizontal bar of exactly `cells` cells; `scale` is the value of one cell. Above 0 shows at least ▏."""
    if value <= 0 or scale <= 0 or cells <= 0:
        return " " * max(0, cells)
    eighths = min(cells * 8, max(1, round(value / scale * 8)))
    whole, part = divmod(eighths, 8)
    return ("█" * whole + (EIGHTHS[part] if part else "")).ljust(cells)


def column(value: int, most: int, rows: int) -> str:
    """A vertical bar as `rows` characters from the top; above 0 shows at least ▁."""
    if value <= 0 or most <= 0:
        return " " * rows
    eighths = min(rows * 8, max(1, round(value / most * rows * 8)))
    return "".join(RISING[min(8, max(0, eighths - 8 * row))] for row in range(rows - 1, -1, -1))


class Axis(msgspec.Struct, frozen=True):
    """Steps on columns: the whole lane, or a part of it when zoomed. One axis serves timeline, lifelines and ruler."""

    width: int
    gutter: int
    first: int
    """n of the first step on it."""
    count: int
    """How many steps are on it."""

    @property
    def room(self) -> int:
        return max(1, self.width - self.gutter - 1)

    @property
    def cells(self) -> int:
        """Cells a step, its gap included; 0: steps share cells."""
        return self.room // self.count if self.count else 0

    def buckets(self) -> list[tuple[int, int]]:
        """(first n, last n) of each bucket, left to right; each is `max(1, cells)` cells wide."""
        if self.cells:
            return [(n, n) for n in range(self.first, self.first + self.count)]
        room, count, first = self.room, self.count, self.first
        return [(first + i * count // room, first + (i + 1) * count // room - 1) for i in range(room)]

    def bucket_of(self, n: int) -> int | None:
        """Index of the bucket that holds step n; None if it is not on the axis."""
        place = n - self.first
        if not 0 <= place < self.count:
            return None
        if self.cells:
            return place
        return ((place + 1) * self.room - 1) // self.count

    def step_at(self, x: int) -> int | None:
        """n of the step under column x of the terminal (the last of a bucket)."""
        place = x - self.gutter
        if place < 0 or not self.count:
            return None
        wide = max(1, self.cells)
        buckets = min(self.count, self.room) if not self.cells else self.count
        index = place // wide
        if index >= buckets:
            return None
        if self.cells:
            return self.first + index
        return self.first + (index + 1) * self.count // self.room - 1


def axis_for(width: int, steps: int, zoomed_on: int | None = None) -> Axis:
    """The axis of a lane at a terminal width; `zoomed_on` shows some steps around that n, four cells each."""
    gutter = 22 if width >= 100 else 16
    if zoomed_on is None:
        return Axis(width, gutter, 1, steps)
    shown = min(steps, max(1, (width - gutter - 1) // 4))
    first = min(max(1, zoomed_on - shown // 2), steps - shown + 1)
    return Axis(width, gutter, first, shown)


def lifeline_spans(lifeline: Lifeline, axis: Axis, cursor: int | None = None) -> tuple[Span, ...]:
    """The levels of a lifeline along the axis, without its name; the cursor's column on the `cursor` ground."""
    wide = max(1, axis.cells)
    at = axis.bucket_of(cursor) if cursor is not None else None
    levels = worst_levels(lifeline, axis)
    spans: list[Span] = []
    start = 0
    for glyph, same in groupby(levels):
        count = len(list(same))
        parts = (count,) if at is None or not start <= at < start + count else (at - start, 1, start + count - at - 1)
        after = _AFTER.get(glyph, glyph)
        for place, size in enumerate(parts):
            fill = "cursor" if len(parts) == 3 and place == 1 else None
            if after == glyph:
                spans.append(Span(glyph * wide * size, _ROLE.get(glyph, "label"), fill=fill))
                continue
            for _ in range(size):
                spans.append(Span(glyph, _ROLE.get(glyph, "label"), fill=fill))
                spans.append(Span(after * (wide - 1), _ROLE.get(after, "label"), fill=fill))
        start += count
    return merged(spans)


@lru_cache(maxsize=64)
def worst_levels(lifeline: Lifeline, axis: Axis) -> tuple[str, ...]:
    """The worst level of each bucket. Kept, because the cursor moves more often than the axis."""
    levels, first = lifeline.levels, lifeline.first
    parts = (levels[max(0, low - first) : max(0, high - first + 1)] for low, high in axis.buckets())
    return tuple(next((glyph for glyph in _WORST if glyph in part), "·" if part else " ") for part in parts)


def merged(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Neighbours that look alike joined: fewer cells to draw."""
    out: list[Span] = []
    for look, alike in groupby((span for span in spans if span.text), key=_look):
        out.append(Span("".join([span.text for span in alike]), *look))
    return tuple(out)


_look = attrgetter("role", "bold", "strike", "fill")
