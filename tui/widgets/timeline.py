"""The timeline: the whole lane scaled to the width, its marks under it. A click jumps."""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len

from ..context import View
from ..index import GLYPHS, LaneIndex, glyphs, worst
from ..messages import ToStep
from ..safe import text
from .bars import Axis, axis_for, column, merged
from .line import Line, Span, fit, thousands
from .rows import Band

NARROW = 16
"""Cells of the gutter below 100 columns, as in `axis_for`; the label leaves one free."""
HOT = 0.8
"""Share of the window from which a bar is hot."""


def timeline_lines(view: View, width: int, rows: int) -> tuple[Line, ...]:
    """`rows` of bars (1 or 2) and one of marks."""
    lane = view.index[view.cursor[0]]
    axis = view_axis(view, width)
    sizes, masks = reduced(lane, axis)
    at = axis.bucket_of(view.cursor[1])
    return (*_bars(view, lane, axis, sizes, at, rows), _marks(axis, masks, at, _base(view, axis.gutter)))


@lru_cache(maxsize=8)
def reduced(lane: LaneIndex, axis: Axis) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(largest size, worst marks) of each bucket. Kept, because the cursor moves more often than the axis."""
    buckets = axis.buckets()
    sizes = tuple(max(lane.sizes[low - 1 : high]) for low, high in buckets)
    return sizes, tuple(max(lane.marks[low - 1 : high]) for low, high in buckets)


def view_axis(view: View, width: int) -> Axis:
    lane, n = view.cursor
    return axis_for(width, len(view.index[lane].steps), n if view.zoomed else None)


def _bars(
    view: View, lane: LaneIndex, axis: Axis, sizes: tuple[int, ...], at: int | None, rows: int
) -> tuple[Line, ...]:  # fmt: skip
    most, largest_n = lane.largest
    window = view.run.window or 0
    wide = max(1, axis.cells)
    full = max(1, wide - 1) if wide > 1 else 1
    columns = [column(size, most, rows) for size in sizes]
    lines = []
    for row in range(rows):
        spans = [Span(fit(_label(view, lane, most, largest_n, row, rows), axis.gutter), "label")]
        for index, shape in enumerate(columns):
            role = "primary" if index == at else "heat" if window and sizes[index] >= HOT * window else "trace"
            ground = "cursor" if index == at else None
            unknown = sizes[index] < 0 and row == rows - 1
            text = "?" if unknown else shape[row] * full
            spans.append(Span(text, "label" if unknown else role, fill=ground))
            if wide > len(text):
                spans.append(Span(" " * (wide - len(text)), fill=ground))
        lines.append(Line(merged(spans)))
    return tuple(lines)


def _label(view: View, lane: LaneIndex, most: int, largest_n: int, row: int, rows: int) -> str:
    if not most:
        return " prompt unknown" if row == 0 else ""
    step = lane.steps[largest_n - 1]
    figure = f"{lane.sign(step.n, view.run.counter)}{thousands(most)}"
    if rows == 1 and axis_is_narrow(view):
        whole = f" max {figure} @{step.number}"
        return whole if len(whole) < NARROW else f" max {figure}"
    if rows == 1:
        return f" max {figure} at {step.number}"
    return " prompt size" if row == 0 else f" max {figure} at {step.number}"


def axis_is_narrow(view: View) -> bool:
    return view.context.width < 100


def _base(view: View, gutter: int) -> str:
    """The step that changes are against, if the reader set one: it stands here at every size."""
    base = view.context.base
    lane = None if base is None else view.index.lanes.get(base[0])
    if base is None or lane is None or not 1 <= base[1] <= len(lane.steps):
        return ""
    said = f"base {lane.steps[base[1] - 1].number}"
    if base[0] != view.cursor[0]:
        said += f" of {text(lane.lane.name or lane.lane.id)}"
    return said if cell_len(said) < gutter else fit(said, gutter - 1)


def _marks(axis: Axis, masks: tuple[int, ...], at: int | None, base: str) -> Line:
    wide = max(1, axis.cells)
    spans = [Span(fit(" marks", axis.gutter), "label")]
    if base:
        label = " marks " if cell_len(base) + 8 < axis.gutter else " "
        spans = [Span(label, "label"), Span(fit(base, axis.gutter - len(label)), "text-primary", True)]
    for index, mask in enumerate(masks):
        ground = "cursor" if index == at else None
        shown = glyphs(mask)[:2] if wide >= 3 else ((GLYPHS[worst(mask)],) if mask else ())
        for glyph, role in shown:
            spans.append(Span(glyph, role, fill=ground))
        spans.append(Span(" " * (wide - len(shown)), fill=ground))
    return Line(merged(spans))


class Timeline(Band):
    rows = 1

    def lines(self, view: View, width: int) -> tuple[Line, ...]:
        return timeline_lines(view, width, self.rows)

    def pressed(self, x: int, y: int) -> object:
        return step_under(self.view, self.size.width, x)


def step_under(view: View | None, width: int, x: int) -> ToStep | None:
    """What a click on column x of the axis means."""
    if view is None:
        return None
    n = view_axis(view, width).step_at(x)
    return None if n is None else ToStep(view.cursor[0], n)
