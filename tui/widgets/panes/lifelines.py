"""The lifelines pane: where each thing stood, step by step, on the timeline's own axis; pins last; details below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.message import Message

from agentmem.inspect.telling.left import cause_word
from agentmem.model import Cursor, Drop, Field, Lifeline, Run, Step

from ...context import Context
from ...index import LaneIndex
from ...messages import Grown, ToStep
from ..bars import Axis, axis_for, lifeline_spans
from ..line import Line, Span, called, fit, thousands
from ..rows import Pane
from .columns import blank, clean, column, row, said, step_at
from .held import COUNTERS, GOAL

LEGEND: tuple[tuple[str, str, str], ...] = (
    ("━", "in the prompt", "state"), ("◆", "changed", "state"), ("╌", "shortened", "text-warning"),
    ("─", "held, not found in the prompt", "label"), ("·", "gone", "label"),
    ("▲", "gone, nobody recorded it", "text-error"), ("✗", "needed while not in the prompt", "text-error"),
)  # fmt: skip
MANY = 2_000
"""Steps from which a walk through all of them would be felt at a key."""
VALUE, LEAST = 80, 8
"""Cells that a value takes in the details, with its `=`: at most; at least, else it is left out."""
FOOT_FROM = 7
"""Rows of the pane below which the legend is left out, and the details where the lines need the room."""
DETAILS = 2
"""Rows of the details, with the blank one above them."""


def lifelines_of(run: Run, lane_id: str) -> tuple[Lifeline, ...]:
    """The goal first, then every field of the state that ever stood, counters last."""
    from agentmem.inspect.lifelines import field_lifelines, goal_lifeline

    goal = goal_lifeline(run, lane_id)
    rest = [line for line in field_lifelines(run, lane_id) if line.name not in GOAL]
    rest.sort(key=lambda line: line.name in COUNTERS)
    return ((goal,) if goal is not None else ()) + tuple(rest)


def lifeline_row(lifeline: Lifeline, axis: Axis, width: int, cursor: int | None, target: object, pinned: bool) -> Line:
    name = called(lifeline.name)
    shown = f'pin "{name}"' if pinned else "GOAL" if name in ("goal", "task") else name
    label = column(shown, axis.gutter - 2) + " "
    role = "text-error" if lifeline.alarms else "text-primary" if pinned else "foreground"
    spans = lifeline_spans(lifeline, axis, cursor)
    return row((Span(" "), Span(label, role, bool(lifeline.alarms)), *spans), width, target=target)


def ranges(present: Sequence[tuple[int, int]], most: int = 3) -> str:
    """`3-27, 30`."""
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in present]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more


def numbers(steps: Sequence[int], most: int = 3) -> str:
    """`4, 7, 9 and 2 more`."""
    more = f" and {len(steps) - most} more" if len(steps) > most else ""
    return ", ".join(map(str, steps[:most])) + more


def details(
    lifeline: Lifeline, held: Field | None, drops: Sequence[Drop], width: int | None = None
) -> tuple[Span, ...]:  # fmt: skip
    """One line about a lifeline: value, tokens, verifier, where it stood, what happened. In `width` cells the value
    gives way first, then the tokens and the verifier: where it stood is what one looks for."""
    lost = next((drop for drop in reversed(drops) if drop.name == lifeline.name), None)
    value = held.value if held is not None else lost.text if lost is not None else None
    name = Span(clean(called(lifeline.name), 60), bold=True)
    about, stood = _about(held, lost), _stood(lifeline, lost)
    if width is None:
        return (name, *((Span(f" = {clean(value, VALUE)}"),) if value is not None else ()), *about, *stood)
    room = width - sum(cell_len(span.text) for span in (name, *about, *stood))
    while about and room < (0 if value is None else LEAST):
        room += cell_len(about.pop().text)
    if value is None or room < LEAST:
        return (name, *about, *stood)
    return (name, Span(fit(f" = {clean(value, room)}", min(room, VALUE)).rstrip()), *about, *stood)


def _about(held: Field | None, lost: Drop | None) -> list[Span]:
    spans: list[Span] = []
    tokens = held.tokens if held is not None else lost.tokens if lost is not None else None
    if tokens is not None:
        spans.append(Span(f"   {thousands(tokens)} tokens", "label"))
    if held is not None and held.verified_by is not None:
        at = "" if held.verified_at is None else f" @{held.verified_at}"
        spans.append(Span(f"   verified by {clean(held.verified_by, 30)}{at}", "label"))
    return spans


def _stood(lifeline: Lifeline, lost: Drop | None) -> list[Span]:
    spans: list[Span] = []
    if lifeline.present:
        spans.append(Span(f"   in the prompt {ranges(lifeline.present)}", "label"))
    else:
        spans.append(Span("   in no prompt", "label"))
    if lifeline.alarms:
        word = cause_word(lost) if lost is not None and lost.alarming else "silent"
        spans.append(Span(f"   ▲ {word} at {numbers(lifeline.alarms)}", "text-error", True))
    if lifeline.needed:
        tool = "" if lost is None or not lost.missed_by else f" by {clean(lost.missed_by[0].tool, 30)}"
        spans.append(Span(f"   ✗ needed at {numbers(lifeline.needed)}{tool}", "text-error"))
    if lifeline.said:
        at = numbers(lifeline.said)
        spans.append(Span(f"   said by the model at {at}, not in the prompt", "label"))
    return spans


def legend(width: int) -> list[Line]:
    """What the glyphs mean, in as many rows as they need."""
    lines: list[Line] = []
    spans: list[Span] = [Span(" ")]
    used = 1
    for glyph, word, role in LEGEND:
        cells = cell_len(glyph) + cell_len(word) + 4
        if used + cells > width and used > 1:
            lines.append(row(spans, width))
            spans, used = [Span(" ")], 1
        spans += [Span(glyph, role), Span(f" {word}   ", "label")]
        used += cells
    lines.append(row(spans, width))
    return lines


class Walked(Message):
    """The lifelines of a lane, made beside the screen."""

    def __init__(self, of: tuple[Run, str], lines: tuple[Lifeline, ...]) -> None:
        super().__init__()
        self.of, self.lines = of, lines


class LifelinesPane(Pane):
    ident: ClassVar[str] = "lifelines"
    title: ClassVar[str] = "lifelines"

    def __init__(self) -> None:
        super().__init__()
        self._bound: tuple[Run, Cursor, Context] | None = None
        self._of: tuple[Run, str] | None = None
        self._lines: tuple[Lifeline, ...] = ()
        self._walking = False

    def show(self, run: Run, cursor: Cursor, context: Context) -> None:
        other = self._bound is None or self._bound[0].id != run.id or self._bound[1][0] != cursor[0]
        self._bound = (run, cursor, context)
        self.changed("start" if other else "keep")

    def _all(self) -> list[tuple[Lifeline, bool]]:
        """(lifeline, pinned); computed once a run, when the pane is looked at: of a long run beside the screen."""
        if self._bound is None:
            return []
        run, cursor, context = self._bound
        if self._of != (run, cursor[0]):
            if self.is_attached and sum(len(lane.steps) for lane in run.lanes if lane.id == cursor[0]) >= MANY:
                self._begin(run, cursor[0])
            else:
                self._of = (run, cursor[0])
                self._lines = lifelines_of(run, cursor[0])
        pins = [context.lifelines[pin] for pin in context.pins if pin in context.lifelines]
        return [(line, False) for line in self._lines] + [(line, True) for line in pins if line.lane == cursor[0]]

    def _begin(self, run: Run, lane: str) -> None:
        """Walk through the steps in a thread; until it is done the lines of the value before stand, if of this lane."""
        if self._of is not None and (self._of[0].id, self._of[0].path, self._of[1]) != (run.id, run.path, lane):
            self._of, self._lines = None, ()
        if not self._walking:
            self._walking = True
            self.run_worker(lambda: self._walk(run, lane), thread=True, group="lifelines")

    def _walk(self, run: Run, lane: str) -> None:
        self.post_message(Walked((run, lane), lifelines_of(run, lane)))

    def on_walked(self, message: Walked) -> None:
        message.stop()
        self._walking = False
        self._of, self._lines = message.of, message.lines
        self.changed()
        self.post_message(Grown())

    def _index(self) -> LaneIndex | None:
        return None if self._bound is None else self._bound[2].index.lanes.get(self._bound[1][0])

    def line_count(self, width: int) -> int:
        return len(self._all()) or len(self._empty(width))

    def line(self, index: int, width: int) -> Line:
        lines = self._all()
        lane = self._index()
        if not lines:
            empty = self._empty(width)
            return empty[index] if index < len(empty) else blank(width)
        if lane is None or self._bound is None or index >= len(lines):
            return blank(width)
        lifeline, pinned = lines[index]
        last = lifeline.present[-1][1] if lifeline.present else None
        n = None if last is None else lane.n_of(last)
        target = ToStep(lifeline.lane, n if n is not None else lifeline.first)
        return lifeline_row(lifeline, axis_for(width, len(lane.steps)), width, self._bound[1][1], target, pinned)

    def _empty(self, width: int) -> list[Line]:
        if self._walking and self._of is None:
            return said("Looking through the steps …", width)
        return said("No state in this run. Press / and p to follow a text.", width)

    def wanted(self, width: int) -> int:
        """With details and legend, for which there may be no room as it stands."""
        count = self.line_count(width)
        return count + 2 + len(legend(width)) if self._all() else count

    def foot(self, width: int) -> tuple[Line, ...]:
        lines = self._all()
        height = self.size.height
        if not lines or self._bound is None or height < min(FOOT_FROM, len(lines) + DETAILS):
            return ()
        chosen = lines[self.selected][0] if self.selected is not None and self.selected < len(lines) else lines[0][0]
        index = self._index()
        about = blank(width), row((Span(" "), *self._details(chosen, index, width - 2)), width)
        return (*about, *legend(width)) if height >= min(FOOT_FROM, self.wanted(width)) else about

    def _details(self, lifeline: Lifeline, index: LaneIndex | None, width: int | None = None) -> tuple[Span, ...]:
        assert self._bound is not None
        step = self._last_with(lifeline, index)
        held = next((one for one in step.fields if one.name == lifeline.name), None) if step is not None else None
        return details(lifeline, held, index.alarms if index is not None else (), width)

    def _last_with(self, lifeline: Lifeline, index: LaneIndex | None) -> Step | None:
        if index is None or self._bound is None:
            return None
        n = index.n_of(lifeline.present[-1][1]) if lifeline.present else self._bound[1][1]
        return None if n is None else step_at(self._bound[0], lifeline.lane, n)

    def selection_moved(self, index: int) -> None:
        self.changed("keep")

    def explain(self) -> tuple[str, ...]:
        lines = self._all()
        if self.selected is None or self.selected >= len(lines):
            return ()
        lifeline = lines[self.selected][0]
        said_so = "".join(span.text for span in self._details(lifeline, self._index()))
        return (
            said_so,
            "one glyph a step; a cell that stands for many steps shows the worst of them",
            "in the prompt: its line, or its value of 4 characters or more as whole words, stands in a message",
            *(f"{glyph} {word}" for glyph, word, _ in LEGEND),
        )
