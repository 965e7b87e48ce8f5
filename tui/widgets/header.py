"""The first row: where the reader is, what is wrong, how the agent is. What does not fit goes by rank, last first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.cells import cell_len

from ..context import View
from ..messages import Do, ToStep
from ..safe import text
from .bars import bar
from .line import Line, Span, fit, thousands
from .rows import Band

if TYPE_CHECKING:
    from agentmem.model import Run

ESTIMATES = ("words", "pieces5", "chars4")
"""Counters that only estimate: their figures are shown with `≈`."""
_PROVENANCE = {"exact": ("EXACT", "EXACT"), "reconstructed": ("RECONSTRUCTED", "RECON"), "partial": ("PARTIAL", "PART")}
_GAUGE = 12
NAME, SHORTEST_NAME = 8, 6
"""Rank of the run's name, and the cells below which it goes instead of being cut."""
NEVER = 3
"""Ranks up to this one never go; the run's name is cut instead."""


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


def duration(seconds: float) -> str:
    """`14s`, `2m`, `3h`, `4d`."""
    whole = max(0, int(seconds))
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if whole >= size:
            return f"{whole // size}{unit}"
    return f"{whole}s"


def approx(view_run: Run, reported: bool) -> str:
    """`≈` before a figure that is only estimated."""
    return "" if reported or view_run.counter not in ESTIMATES else "≈"


def chip(view: View) -> Span:
    run = view.run
    if view.following:
        if view.progress is not None:
            done, total = view.progress
            return Span(f" READING {100 * done // max(1, total)}% ", "ink-faint", True, fill="faint")
        if run.status == "ended":
            return Span(" ■ ENDED ", "ink-faint", True, fill="faint")
        if run.status == "stale":
            return Span(" ! STALE ", "ink-warning", True, fill="warning", target=Do("follow"))
        return Span(" ● LIVE ", "ink-primary", True, fill="primary", target=Do("follow"))
    more = f" +{view.behind}" if view.behind else ""
    return Span(f" ○ PAUSED{more} ", "ink-warning", True, fill="warning", target=Do("follow"))


def goal(view: View, short: bool) -> tuple[Span, ...]:
    step, lane = view.step, view.index[view.cursor[0]]
    after = thousands(step.tokens_after_goal)
    since = lane.steps[lane.goal_since(step.n) - 1].number
    shown = {
        "last": ("✓ last", "text-state"),
        "present": ("✓ present" if short else f"✓ present, {after} after it", "text-state"),
        "buried": (f"! buried {after}" if short else f"! buried, {after} after it", "text-warning"),
        "missing": (f"✗ missing since {since}", "text-error"),
        "changed": (f"~ changed at {since}", "text-warning"),
        "unknown": ("? unknown", "label"),
    }
    word, role = shown[step.goal]
    return Span("goal ", "label"), Span(word, role, True)


def agent(view: View) -> str:
    """The agent's state, apart from the reader's place: `model 14s`, `pytest 2m`, `your turn`, `ended`, `stale 3m`."""
    run, now = view.run, view.context.now

    def ago(since: float | None) -> str:
        return "" if since is None or now is None else f" {duration(now - since)}"

    if run.status == "ended":
        return "" if view.following else "ended"
    if run.pending is not None:
        what, since = run.pending
        return fit_name(what, 14) + ago(since)
    if run.status == "stale":
        return "stale" + ago(run.changed_at)
    steps = run.main.steps
    return "your turn" if run.status == "live" and steps and not steps[-1].open else ""


def fit_name(outside: str, limit: int) -> str:
    """Outside text as one short word or name."""
    shown = text(outside)
    return shown if cell_len(shown) <= limit else fit(shown, limit).rstrip()


def items(view: View, short: bool, terse: bool) -> list[Item]:
    """Everything that could stand there, in the order in which it is shown. `short`: numbers and chips as below 100
    columns; `terse`: words as below 120."""
    run, index, step = view.run, view.index, view.step
    lane = index[view.cursor[0]]
    size = lane.size(step.n)
    reported = step.usage is not None and step.usage.prompt is not None
    figure = approx(run, reported) + thousands(size) if size is not None else "?"
    last = lane.steps[-1].number
    found = [Item(1, (chip(view),), gap=0)]
    trouble = view.trouble or run.notice
    if trouble:
        said = fit_name(f"! {trouble}", 24 if short else 60)
        found.append(Item(4, (Span(said, "text-warning", True, target=Do("problems")),), gap=1 if short else 2))
    else:
        found.append(Item(8, (Span(fit_name(run.id, 14 if short else 24), bold=True, target=Do("runs")),),
                          gap=1 if short else 2))  # fmt: skip
    if run.problems:
        count = len(run.problems)
        said = f"!{count}" if short else f"! {count} problem{'s' if count > 1 else ''}"
        found.append(Item(6, (Span(said, "text-warning", target=Do("problems")),), gap=1 if short else 2))
    where = (Span(f"{step.number}/{last}"),) if short else (
        Span("step ", "label"), Span(f"{step.number}", bold=True), Span(f" of {last}", "label"))  # fmt: skip
    found.append(Item(2, where, gap=1 if short else 2))
    if len(index.lanes) > 1:
        name = lane.lane.name or lane.lane.id
        found.append(Item(5, (Span("lane ", "label"), Span(fit_name(name, 12), target=Do("lane")))))
    found.append(Item(4, goal(view, terse)))
    found.append(Item(7, (Span(figure, bold=True),)))
    if run.window:
        if not short:
            found.append(Item(10, (Span(f"of {thousands_short(run.window)}", "label"),), gap=1))
        if size is not None:
            if not short:
                filled = bar(size, _GAUGE, run.window / _GAUGE)
                found.append(Item(12, (Span(filled, "primary", fill="faint"),), gap=1))
            found.append(Item(9, (Span(f"{round(100 * size / run.window)}%"),), gap=1))
    state = agent(view)
    if state:
        found.append(Item(6, (Span(state, "text-primary" if run.pending else "label"),)))
    live = sum(info.status == "live" for info in view.context.runs)
    if len(view.context.runs) > 1:
        found.append(Item(10, (Span(f"{live} of {len(view.context.runs)} live", "label", target=Do("runs")),)))
    silent = index.alarms
    if silent:
        solid = bool(index.unresolved)
        words = f" ▲{len(silent)} " if short else f" ▲ {len(silent)} silent "
        place = ToStep(silent[-1].lane, silent[-1].n, "lost")
        found.append(Item(2, (Span(words, "ink-error" if solid else "text-error", True,
                                   fill="error" if solid else "error-muted", target=place),), True, 1))  # fmt: skip
    if run.cycles:
        turning = bool(index.turning)
        count = len(run.cycles)
        words = f" ↻{count} " if short else f" ↻ {count} cycle{'s' if count > 1 else ''} "
        found.append(Item(2, (Span(words, "ink-warning" if turning else "text-warning", True,
                                   fill="warning" if turning else "warning-muted",
                                   target=Do("pane_loops")),), True, 1))  # fmt: skip
    found.append(Item(5, (Span(_PROVENANCE[run.provenance][terse], target=Do("provenance")),), True, 1 if short else 2))
    if not short:
        found.append(Item(13, (Span(fit_name(run.format, 20), "label"),), True, 1))
    return found


def thousands_short(tokens: int) -> str:
    """A window: `32k`, `200k`, `1M` where that is exact enough."""
    shown = thousands(tokens)
    return shown.replace(".0k", "k").replace(".0M", "M")


def header_line(view: View, width: int) -> Line:
    """The row at a width: by rank, the first ones first; the run's name is cut before it goes."""
    highest = 99 if width >= 140 else 10 if width >= 120 else 9
    every = [item for item in items(view, width < 100, width < 120) if item.rank <= highest]
    room = width - 1
    kept: dict[int, Item] = {}
    for order, item in sorted(enumerate(every), key=lambda pair: pair[1].rank):
        if item.width > room and item.rank == NAME and room - item.gap >= SHORTEST_NAME:
            name = item.spans[0]
            item = replace(item, spans=(replace(name, text=fit(name.text, room - item.gap)),))
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
