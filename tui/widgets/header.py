"""The first row: where the reader is, what is wrong, how the agent is. What does not fit goes by rank, last first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.cells import cell_len

from agentmem.inspect.telling.marks import GOALS
from agentmem.inspect.telling.pulse import GONE

from ..context import View
from ..messages import Do, ToStep
from .bars import bar
from .line import Line, Span, fit, thousands
from .place import agent, chip, fit_name
from .rows import Band

if TYPE_CHECKING:
    from agentmem.model import Run

ESTIMATES = ("quick", "words", "pieces5", "chars4")
"""Counters that only estimate: their figures are shown with `≈`."""
_PROVENANCE = {"exact": ("EXACT", "EXACT"), "reconstructed": ("RECONSTRUCTED", "RECON"), "partial": ("PARTIAL", "PART")}
_GAUGE = 12
NEVER = 3
"""Ranks up to this one never go: chip, alarms, step, and last the run's name, which is cut instead."""
CHIP, ALARM, STEP, NAME, GOAL, TROUBLE, PROVENANCE, LANE = 1, 2, 2, 3, 4, 5, 6, 6
AGENT, PROBLEMS, TOKENS, PERCENT, WINDOW, OTHERS, GAUGE, FORMAT = 7, 7, 8, 9, 10, 10, 12, 13
"""In which order things survive as the row narrows; a cell is given to the lower rank first."""
SHORTEST = {NAME: 6, TROUBLE: 9}
"""What is cut where it does not fit, and the cells below which it goes."""


@dataclass(frozen=True, slots=True)
class Item:
    rank: int
    spans: tuple[Span, ...]
    right: bool = False
    gap: int = 2
    """Cells before it."""

    @property
    def width(self) -> int:
        return sum(cell_len(span.text) for span in self.spans) + self.gap


def approx(run: Run) -> str:
    """`≈` before what was counted, where the counter only estimates."""
    return "" if run.counter not in ESTIMATES else "≈"


def goal(view: View, short: bool) -> tuple[Span, ...]:
    step, lane = view.step, view.index[view.cursor[0]]
    after = thousands(step.tokens_after_goal)
    since = lane.steps[lane.goal_since(step.n) - 1].number
    more, role = {
        "last": ("", "text-state"),
        "present": ("" if short else f", {after} after it", "text-state"),
        "buried": (f" {after}" if short else f", {after} after it", "text-warning"),
        "missing": (f" since {since}", "text-error"),
        "changed": (f" at {since}", "text-warning"),
        "unknown": ("", "label"),
    }[step.goal]
    return Span("goal ", "label"), Span(" ".join(GOALS[step.goal]) + more, role, True)


def items(view: View, short: bool, terse: bool) -> list[Item]:
    """Everything that could stand there, in the order in which it is shown. `short`: numbers and chips as below 100
    columns; `terse`: words as below 120."""
    run, index, step = view.run, view.index, view.step
    lane = index[view.cursor[0]]
    size = lane.size(step.n)
    figure = lane.sign(step.n, run.counter) + thousands(size) if size is not None else "?"
    last = lane.steps[-1].number
    gap = 1 if short else 2
    name = fit_name(run.id, 14 if short else 24 if view.context.width < 140 else 30)
    called = Span(name, bold=True, target=Do("runs"))
    found = [Item(CHIP, (chip(view),), gap=0), Item(NAME, (called,), gap=gap)]
    trouble = view.trouble or (run.notice or "").removeprefix("not readable: ")
    if trouble and trouble not in GONE:
        said = fit_name(f"! {trouble}", 24 if short else 40 if view.context.width < 140 else 60)
        found.append(Item(TROUBLE, (Span(said, "text-warning", True, target=Do("problems")),), gap=gap))
    if run.problems:
        count = len(run.problems)
        said = f"!{count}" if short else f"! {count} problem{'s' if count > 1 else ''}"
        found.append(Item(PROBLEMS, (Span(said, "text-warning", target=Do("problems")),), gap=gap))
    where = (Span(f"{step.number}/{last}"),) if short else (
        Span("step ", "label"), Span(f"{step.number}", bold=True), Span(f" of {last}", "label"))  # fmt: skip
    found.append(Item(STEP, where, gap=gap))
    if len(index.lanes) > 1:
        called = Span(fit_name(lane.lane.name or lane.lane.id, 12), target=Do("lane"))
        found.append(Item(LANE, (Span("lane ", "label"), called)))
    found.append(Item(GOAL, goal(view, terse)))
    found.append(Item(TOKENS, (Span(figure, bold=True),)))
    if run.window:
        if not short:
            found.append(Item(WINDOW, (Span(f"of {thousands_short(run.window)}", "label"),), gap=1))
        if size is not None:
            if not short:
                filled = bar(size, _GAUGE, run.window / _GAUGE)
                found.append(Item(GAUGE, (Span(filled, "primary", fill="faint"),), gap=1))
            found.append(Item(PERCENT, (Span(f"{round(100 * size / run.window)}%"),), gap=1))
    state = agent(view)
    if state:
        found.append(Item(AGENT, (Span(state, "text-primary" if run.pending else "label"),)))
    others = [info for info in view.context.runs if info.problem is None]
    if len(others) > 1:
        live = sum(info.status == "live" for info in others)
        found.append(Item(OTHERS, (Span(f"{live} of {len(others)} live", "label", target=Do("runs")),)))
    if run.doubts:
        words = f" ?{len(run.doubts)} " if short else f" ? {len(run.doubts)} in doubt "
        found.append(Item(ALARM, (Span(words, "ink-error", True, fill="error", target=Do("doubts")),), True, 1))
    silent = index.alarms
    if silent:
        solid = bool(index.unresolved)
        words = f" ▲{len(silent)} " if short else f" ▲ {len(silent)} silent "
        place = ToStep(silent[-1].lane, silent[-1].n, "lost")
        found.append(Item(ALARM, (Span(words, "ink-error" if solid else "text-error", True,
                                   fill="error" if solid else "error-muted", target=place),), True, 1))  # fmt: skip
    if run.cycles:
        turning = bool(index.turning)
        count = index.circles
        words = f" ↻{count} " if short else f" ↻ {count} cycle{'s' if count > 1 else ''} "
        found.append(Item(ALARM, (Span(words, "ink-warning" if turning else "text-warning", True,
                                   fill="warning" if turning else "warning-muted",
                                   target=Do("pane_loops")),), True, 1))  # fmt: skip
    found.append(Item(PROVENANCE, (Span(_PROVENANCE[run.provenance][terse], target=Do("provenance")),), True, gap))
    if not short:
        found.append(Item(FORMAT, (Span(fit_name(run.format, 20), "label"),), True, 1))
    return found


def thousands_short(tokens: int) -> str:
    """A window: `32k`, `200k`, `1M` where that is exact enough."""
    shown = thousands(tokens)
    return shown.replace(".0k", "k").replace(".0M", "M")


def header_line(view: View, width: int) -> Line:
    """The row at a width: by rank, the first ones first; some are cut before they go."""
    highest = 99 if width >= 140 else 10 if width >= 120 else 9
    every = [item for item in items(view, width < 100, width < 120) if item.rank <= highest]
    room = width - 1
    kept: dict[int, Item] = {}
    for order, item in sorted(enumerate(every), key=lambda pair: pair[1].rank):
        least = SHORTEST.get(item.rank)
        if item.width > room and least is not None and (room - item.gap >= least or item.rank <= NEVER):
            first = item.spans[0]
            item = replace(item, spans=(replace(first, text=fit(first.text, max(least, room - item.gap))),))
        if item.width <= room or item.rank <= NEVER:
            kept[order] = item
            room -= item.width
    shown = [kept[order] for order in sorted(kept)]
    left = _joined([item for item in shown if not item.right])
    right = _joined([item for item in shown if item.right])
    blank = width - 1 - sum(cell_len(span.text) for span in (*left, *right))
    return Line((*left, Span(" " * max(0, blank)), *right, Span(" ")), fill="panel")


def _joined(shown: Sequence[Item]) -> list[Span]:
    spans: list[Span] = []
    for item in shown:
        spans.append(Span(" " * item.gap))
        spans.extend(item.spans)
    return spans


class Header(Band):
    fill = "panel"

    def lines(self, view: View, width: int) -> tuple[Line, ...]:
        return (header_line(view, width),)

    def blank(self, width: int) -> tuple[Line, ...]:
        return (Line((Span(" agentmem", bold=True),), fill="panel"),)
