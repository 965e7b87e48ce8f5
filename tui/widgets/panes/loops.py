"""The loops pane: cycles with their members and cost, waiting told apart, all attempts newest first.

Columns: glyph 3, kind 10, steps 11, tool and arguments, outcome, × 4, tokens 9, gap 3, why (from 100 columns).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from agentmem.inspect.telling.circles import IN_TURN, ending, letter, together, told, turns
from agentmem.inspect.telling.explain import explain_attempt, explain_cycle, explain_waiting
from agentmem.inspect.telling.marks import FAILED
from agentmem.model import Attempt, Cursor, Cycle, Run, Waiting

from ...context import Context
from ...index import LaneIndex
from ...messages import ToStep
from ..line import Line, Span, fit, thousands
from ..rows import Pane
from .attempts import AttemptTable, Counted
from .calls import call_text
from .columns import blank, clean, count, row, said, spans_of_steps, squeezed

GLYPH, STEPS, TIMES = 3, 11, 4


class Columns(msgspec.Struct, frozen=True):
    kind: int
    call: int
    outcome: int
    tokens: int
    why: int


class Marked(msgspec.Struct, frozen=True):
    """Steps of a lane that the column `why` speaks of."""

    missed: frozenset[int] = frozenset()
    """n of failures that lacked something silently lost."""
    named: frozenset[int] = frozenset()
    """Numbers of steps at which a cycle was named."""


def columns(width: int) -> Columns:
    """Cells of the columns that depend on the width."""
    if width >= 140:
        return Columns(10, 40, 36, 9, width - GLYPH - 10 - STEPS - 40 - 36 - TIMES - 9 - 3)
    if width >= 100:
        why = 26 if width >= 116 else 13
        room = width - GLYPH - 10 - STEPS - TIMES - 9 - 3 - why
        return Columns(10, room * 5 // 9, room - room * 5 // 9, 9, why)
    room = max(12, width - GLYPH - 9 - STEPS - TIMES - 8 - 1)
    return Columns(9, room * 3 // 5, room - room * 3 // 5, 8, 0)


def table_line(
    width: int, glyph: tuple[str, str], kind: Span, steps: Span, call: Span, outcome: Span, times: str, tokens: str,
    why: Span, *, fill: str | None = None, target: object = None, bold: bool = False,
) -> Line:  # fmt: skip
    shape = columns(width)
    spans = [
        Span(fit(f" {glyph[0]}", GLYPH), glyph[1], bold), _fitted(kind, shape.kind), _fitted(steps, STEPS),
        _fitted(call, shape.call), _fitted(outcome, shape.outcome), Span(fit(times, TIMES, right=True)),
        Span(fit(tokens, shape.tokens, right=True)),
    ]  # fmt: skip
    if shape.why:
        spans += [Span("   "), _fitted(why, shape.why)]
    return row(spans, width, fill=fill, target=target)


def _fitted(span: Span, cells: int) -> Span:
    return Span(fit(fit(span.text, cells - 1), cells), span.role, span.bold)


def head_line(width: int) -> Line:
    label = "label"
    return table_line(width, ("", label), Span("kind", label), Span("steps", label), Span("tool and arguments", label),
                      Span("outcome", label), "×", "tokens", Span("why", label))  # fmt: skip


def cycle_lines(alike: Sequence[Cycle], index: LaneIndex, width: int, run: Run) -> list[tuple[Line, Cycle]]:
    """Findings about the same calls, newest first, then their members by letter; with each line what it tells of."""
    newest = alike[-1]
    ended = ending(run, newest)
    single, between = told(alike)
    lines = [(_cycle_line(cycle, index, width, ending(run, cycle)), cycle) for cycle in reversed(single)]
    if between:
        steps = tuple(step for cycle in between for step in cycle.steps)
        shown = f"and {len(between)} more between them about the same"
        more = table_line(
            width, ("↻", "text-warning"), Span(""), Span(spans_of_steps(steps)), Span(shown, "label"), Span(""),
            str(sum(cycle.count for cycle in between)), "", Span(""), fill="warning-muted",
            target=_step_target(newest.lane, between[-1].steps[0], index),
        )  # fmt: skip
        lines.insert(1, (more, between[-1]))
    members: dict[int, dict[int, Attempt | None]] = {}
    for cycle in alike:
        for turn in turns(cycle, index.lane.steps, index.n_of):
            members.setdefault(turn.place, {})[turn.number] = turn.attempt
    for place, made in sorted(members.items()):
        last = ended if place == max(members) else ""
        lines.append((_member_line(newest, place, made, last, index, width), newest))
    return lines


def _cycle_line(cycle: Cycle, index: LaneIndex, width: int, ended: str) -> Line:
    period = max(1, cycle.period)
    letters = " ".join(letter(place % period) for place in range(min(len(cycle.steps), 12)))
    if len(cycle.steps) > 12:
        letters += " …"
    shown = f"period {cycle.period}   {letters}" if cycle.kind in IN_TURN else clean(
        cycle.detail or ", ".join(cycle.tools), 60
    )  # fmt: skip
    detail = clean(cycle.detail, 60) or ("the same results each time" if cycle.kind in ("cycle", "repeat") else "")
    if not columns(width).why:
        detail = f"named at {cycle.warned_at}, {ended}"
    return table_line(
        width, ("↻", "text-warning"), Span(cycle.kind, "text-warning", True),
        Span(spans_of_steps(cycle.steps), bold=True), Span(shown, bold=True), Span(detail, "text-warning"),
        str(cycle.count), thousands(cycle.tokens), Span(f"named at {cycle.warned_at}", "text-warning"),
        fill="warning-muted", target=_step_target(cycle.lane, cycle.steps[0] if cycle.steps else 0, index), bold=True,
    )  # fmt: skip


def _member_line(
    cycle: Cycle, place: int, made: Mapping[int, Attempt | None], ended: str, index: LaneIndex, width: int
) -> Line:
    """`made`: number of the step -> its attempt."""
    numbers = tuple(sorted(made))
    attempts = [made[number] for number in numbers]
    newest = attempts[-1]
    tool = cycle.tools[place % len(cycle.tools)] if cycle.tools else ""
    shape = columns(width)
    call = call_text(newest.tool, newest.arguments, shape.call - 1) if newest is not None else clean(tool, shape.call)
    tokens = [one.tokens for one in attempts if one is not None and one.tokens is not None]
    return table_line(
        width, ("", "label"), Span(f"{letter(place):>{shape.kind - 2}}", "text-warning", True),
        Span(spans_of_steps(numbers)), Span(call), _outcome(newest, shape.outcome), str(len(numbers)),
        thousands(sum(tokens)) if tokens else "", Span(ended, "label"), fill="warning-muted",
        target=_step_target(cycle.lane, numbers[-1], index),
    )  # fmt: skip


def _step_target(lane: str, number: int, index: LaneIndex) -> object:
    n = index.n_of(number)
    return None if n is None else ToStep(lane, n)


def _outcome(attempt: Attempt | None, cells: int) -> Span:
    if attempt is None:
        return Span("")
    if attempt.outcome in FAILED:
        return Span("✗ " + squeezed(attempt.error or attempt.result_head or attempt.outcome, cells), "text-error")
    if attempt.outcome == "unknown":
        return Span("? no result", "label")
    head = squeezed(attempt.result_head, cells)
    return Span(f"ok, {head}" if head else "ok", "label")


def waiting_line(waiting: Waiting, index: LaneIndex, width: int) -> Line:
    number = waiting.steps[-1] if waiting.steps else 0
    n = index.n_of(number)
    attempt = index.steps[n - 1].attempts[0] if n is not None and index.steps[n - 1].attempts else None
    shape = columns(width)
    call = call_text(attempt.tool, attempt.arguments, shape.call - 1) if attempt else clean(waiting.tool, shape.call)
    time = "" if waiting.seconds is None else f", {waiting.seconds:.0f} s"
    return table_line(
        width, ("z", "label"), Span("waiting", "label"), Span(spans_of_steps(waiting.steps)), Span(call),
        _outcome(attempt, shape.outcome), str(waiting.count), thousands(waiting.tokens),
        Span(f"not a loop{time}", "label"), target=_step_target(waiting.lane, number, index),
    )  # fmt: skip


def attempt_line(counted: Counted, index: LaneIndex, width: int, *, current: bool, marked: Marked) -> Line:
    attempt = counted.attempt
    shape = columns(width)
    return table_line(
        width, ("", "label"), Span("", "label"), Span(str(attempt.step), bold=current),
        Span(call_text(attempt.tool, attempt.arguments, shape.call - 1)), _outcome(attempt, shape.outcome),
        str(counted.times), thousands(attempt.tokens) if attempt.index == 1 else "",
        _why(counted, index, marked, shape.why >= 26), target=ToStep(attempt.lane, attempt.n),
        fill="cursor" if current else None,
    )  # fmt: skip


def _why(counted: Counted, index: LaneIndex, marked: Marked, wide: bool) -> Span:
    attempt, before = counted.attempt, counted.before
    letter = index.letters.get(attempt.n)
    if letter is not None:
        return Span(f"↻ {letter}" + (", named" if attempt.step in marked.named else ""), "text-warning")
    if attempt.n in marked.missed:
        return Span("after a silent drop" if wide else "silent drop", "text-error")
    if attempt.effect == "changes" and before is None and attempt.outcome == "ok":
        return Span("a change not seen before" if wide else "new change", "label")
    if before is not None and attempt.result_key is not None and before.result_key is not None:
        if attempt.result_key != before.result_key:
            return Span("result changed: progress" if wide else "progress", "label")
        return Span("the same result" if wide else "same result", "label")
    return Span("", "label")


def _lanes_of(run: Run) -> str:
    """The lane where something goes in circles, or how many there are."""
    ids = list(dict.fromkeys(cycle.lane for cycle in run.cycles))
    lane = run.lane(ids[0])
    return f"lane {clean(lane.name or lane.id, 24)}" if len(ids) == 1 else f"{len(ids)} other lanes"


class LoopsPane(Pane):
    ident: ClassVar[str] = "loops"
    title: ClassVar[str] = "loops"

    def __init__(self) -> None:
        super().__init__()
        self._bound: tuple[Run, Cursor, Context] | None = None
        self._table = AttemptTable()
        self._of: tuple[Run, str, int] | None = None
        self._top: list[tuple[Line, object]] = []
        self._marked = Marked()

    def show(self, run: Run, cursor: Cursor, context: Context) -> None:
        other = self._bound is None or self._bound[0].id != run.id or self._bound[1][0] != cursor[0]
        self._bound = (run, cursor, context)
        self.changed("start" if other else "keep")

    def _make(self, width: int) -> LaneIndex | None:
        if self._bound is None:
            return None
        run, cursor, context = self._bound
        index = context.index.lanes.get(cursor[0])
        if index is None or self._of == (run, cursor[0], width):
            return index
        self._of = (run, cursor[0], width)
        self._table.take(index.lane)
        cycles = [cycle for cycle in run.cycles if cycle.lane == cursor[0]]
        self._marked = Marked(
            frozenset(miss.n for drop in index.alarms for miss in drop.missed_by),
            frozenset(cycle.warned_at for cycle in cycles),
        )
        top: list[tuple[Line, object]] = []
        if not run.results_known:
            top += [(line, None) for line in said("Cannot tell loops: this file keeps no results of calls.", width)]
        for alike in reversed(together(cycles)):
            top += cycle_lines(alike, index, width, run)
        for waiting in reversed([one for one in run.waiting if one.lane == cursor[0]]):
            top.append((waiting_line(waiting, index, width), waiting))
        if run.results_known and not cycles:
            words = f"No repeats in {count(len(self._table), 'attempt')}."
            if run.cycles:
                others = count(len(together(run.cycles)), "cycle")
                words = f"{words[:-1]} of this lane; {others} in {_lanes_of(run)}: c leads there."
            top = [(line, None) for line in said(words, width)] + top
        if len(self._table):
            top += [(blank(width), None), (row((Span(" attempts, newest first", "label"),), width), None)]
        self._top = top
        return index

    def line_count(self, width: int) -> int:
        return 0 if self._make(width) is None else len(self._top) + len(self._table)

    def line(self, index: int, width: int) -> Line:
        lane = self._make(width)
        if index < len(self._top):
            return self._top[index][0]
        place = len(self._table) - 1 - (index - len(self._top))
        if lane is None or self._bound is None or place < 0:
            return blank(width)
        counted = self._table[place]
        return attempt_line(counted, lane, width, current=counted.attempt.n == self._bound[1][1], marked=self._marked)

    def selectable(self, index: int, width: int) -> bool:
        return index >= len(self._top) or self._top[index][0].target is not None

    def head(self, width: int) -> tuple[Line, ...]:
        return (head_line(width),) if self._bound is not None else ()

    def badge(self) -> tuple[Span, ...]:
        if self._bound is None:
            return ()
        cycles = together([cycle for cycle in self._bound[0].cycles if cycle.lane == self._bound[1][0]])
        return (Span(f" ↻{len(cycles)}", "text-warning"),) if cycles else ()

    def explain(self) -> tuple[str, ...]:
        if self._bound is None or self.selected is None or self._make(self.size.width) is None:
            return ()
        run = self._bound[0]
        if self.selected < len(self._top):
            found = self._top[self.selected][1]
            if isinstance(found, Cycle):
                return explain_cycle(run, found)
            return explain_waiting(run, found) if isinstance(found, Waiting) else ()
        place = len(self._table) - 1 - (self.selected - len(self._top))
        return explain_attempt(run, self._table[place].attempt) if place >= 0 else ()
