"""Under the timeline, on its axis: two or three lifelines, and on tall screens the ruler with the step numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..context import Context, View
from ..safe import text
from .bars import Axis, lifeline_spans, merged
from .line import Line, Span, called, fit
from .rows import Band
from .timeline import step_under, view_axis

if TYPE_CHECKING:
    from agentmem.model import Lifeline

    from ..index import Index


def available(view_lane: str, index: Index, context: Context) -> list[Lifeline]:
    """In the order in which they get a row: the goal, the worst lost field, the last pin, what else there is."""
    found = list(index.lifelines.get(view_lane, ()))
    pins = [context.lifelines[pin] for pin in reversed(context.pins) if pin in context.lifelines]
    pins = [pin for pin in pins if pin.lane == view_lane]
    first = 2 if len(found) > 1 and found[1].alarms else 1
    return found[:first] + pins[:1] + found[first:]


def shown_lifelines(view: View, rows: int) -> list[Lifeline]:
    """As many of them as there are rows."""
    return available(view.cursor[0], view.index, view.context)[:rows]


def lifeline_line(name: str, lifeline: Lifeline, axis: Axis, cursor: int | None) -> Line:
    return Line((Span(fit(f" {text(name)}", axis.gutter - 1), "label"), Span(" "),
                 *lifeline_spans(lifeline, axis, cursor)))  # fmt: skip


def ruler_line(view: View, axis: Axis) -> Line:
    """Numbers under their steps, about every fifth, and the cursor's in colour; one that would touch another is left
    out."""
    lane = view.index[view.cursor[0]]
    wide = max(1, axis.cells)
    at = axis.bucket_of(view.cursor[1])
    label = "" if at is None else str(view.step.number)
    row = [" "] * axis.room
    buckets = axis.buckets()
    every = 5 if axis.cells else max(1, len(buckets) // 12)
    start = 0 if at is None else min(at * wide, max(0, len(row) - len(label)))
    row[start : start + len(label)] = label
    for index, (low, _) in enumerate(buckets):
        n = low if axis.cells else index + 1
        if n == axis.first or n % every == 0:
            word = str(lane.steps[low - 1].number)
            left, right = index * wide, index * wide + len(word)
            if right <= len(row) and all(c == " " for c in row[max(0, left - 1) : right + 1]):
                row[left:right] = word
    spans = [Span(fit(" step", axis.gutter), "label")]
    if at is None:
        return Line((*spans, Span("".join(row), "label")))
    before, after = "".join(row[:start]), "".join(row[start + len(label) :])
    band = max(0, wide - len(label))
    spans += [Span(before, "label"), Span(label, "text-primary", True, fill="cursor"),
              Span(after[:band], "label", fill="cursor"), Span(after[band:], "label")]  # fmt: skip
    return Line(merged(spans))


class LifelineStrip(Band):
    rows = 2
    """Lifelines; the ruler, if shown, comes after them."""
    ruler = False

    def lines(self, view: View, width: int) -> tuple[Line, ...]:
        axis = view_axis(view, width)
        n = view.cursor[1]
        lines = [lifeline_line(_name(line), line, axis, n) for line in shown_lifelines(view, self.rows)]
        lines += [Line(())] * (self.rows - len(lines))
        if self.ruler:
            lines.append(self._progress(view) or ruler_line(view, axis))
        elif view.progress is not None:
            lines[-1] = self._progress(view) or lines[-1]
        return tuple(lines)

    def _progress(self, view: View) -> Line | None:
        if view.progress is None:
            return None
        done, total = view.progress
        words = f" {done / 1e6:,.1f} of {total / 1e6:,.1f} MB read; later steps come as they are read"
        return Line((Span(words, "label"),))

    def pressed(self, x: int, y: int) -> object:
        return step_under(self.view, self.size.width, x)


def _name(lifeline: Lifeline) -> str:
    return called(lifeline.name)
