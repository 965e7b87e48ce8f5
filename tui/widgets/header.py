"""The first row: where the reader is, what is wrong, how the agent is. What does not fit goes by rank, last first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.cells import cell_len

from agentmem.inspect.telling.marks import goal_said
from agentmem.inspect.telling.pulse import GONE, READ_ANEW

from ..context import View
from ..messages import Do, ToStep
from .bars import bar
from .line import Line, Span, fit, thousands
from .place import agent, chips, fit_name
from .room import Item, fitted
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
AGENT, TOKENS, PERCENT, WINDOW, OTHERS, GAUGE, FORMAT = 7, 8, 9, 10, 10, 12, 13
"""In which order things survive as the row narrows; a cell is given to the lower rank first."""
GIVING = (STEP, TROUBLE, LANE, NAME, GOAL, AGENT, CHIP)
"""What is said shorter before tokens and percent go, in this order."""
LEAST_NAME, LEAST_TROUBLE = 6, 9
"""Cells to which a name and a notice are cut; of a notice that has not so many only the `!` stands there."""
SHORT_NEWS = ("read again", "new run")
"""Words for `READ_ANEW` where the row is short."""


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
    return Span("goal ", "label"), Span(" ".join(goal_said(step)) + more, role, True)


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
    found = [_forms(CHIP, chips(view), 0), _forms(NAME, [_text(called, said) for said in _cuts(name, LEAST_NAME)], gap)]
    trouble = view.trouble or (run.notice or "").removeprefix("not readable: ")
    trouble = "" if trouble in GONE else trouble
    count = len(run.problems)
    if trouble or count:
        said = trouble or f"{count} problem{'s' if count > 1 else ''}"
        said = next((word for news, word in zip(READ_ANEW, SHORT_NEWS, strict=True) if terse and said.endswith(news)),
                    said)  # fmt: skip
        least = f"!{count}" if count else "!"
        said = fit_name(f"{least if trouble else '!'} {said}", 24 if short else 40 if view.context.width < 140 else 60)
        whole = Span(said, "text-warning", True, target=Do("problems"))
        found.append(_forms(TROUBLE, [_text(whole, less) for less in (*_cuts(said, LEAST_TROUBLE), least)], gap))
    where = (Span("step ", "label"), Span(f"{step.number}", bold=True), Span(f" of {last}", "label"))
    brief = (Span(f"{step.number}/{last}"),)
    found.append(Item(STEP, brief, gap=gap) if short else Item(STEP, where, gap=gap, shorter=(brief,)))
    if len(index.lanes) > 1:
        called = Span(fit_name(lane.lane.name or lane.lane.id, 12), target=Do("lane"))
        # Where there is no room for it, no lane means the main one.
        bare = ((called,), ()) if lane.lane is run.main else ((called,),)
        found.append(Item(LANE, (Span("lane ", "label"), called), shorter=bare))
    label, status = goal(view, terse)
    less = (" ".join(goal_said(step)), goal_said(step)[0])
    found.append(Item(GOAL, (label, status), shorter=tuple((label, _text(status, said)) for said in less)))
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
        role = "text-primary" if run.pending else "label"
        states = dict.fromkeys([state, *(agent(view, cells) for cells in (10, LEAST_NAME))])
        found.append(_forms(AGENT, [Span(said, role) for said in states], 2))
    others = [info for info in view.context.runs if info.problem is None]
    if len(others) > 1:
        live = sum(info.status == "live" for info in others)
        found.append(Item(OTHERS, (Span(f"{live} of {len(others)} live", "label", target=Do("runs")),)))
    if run.doubts:
        found.append(_alarm("?", len(run.doubts), "in doubt", short, "error", True, Do("doubts")))
    silent = index.alarms
    if silent:
        place = ToStep(silent[-1].lane, silent[-1].n, "lost")
        found.append(_alarm("▲", len(silent), "silent", short, "error", bool(index.unresolved), place))
    if run.cycles:
        count = index.circles
        words = "cycles" if count > 1 else "cycle"
        found.append(_alarm("↻", count, words, short, "warning", bool(index.turning), Do("pane_loops")))
    found.append(Item(PROVENANCE, (Span(_PROVENANCE[run.provenance][terse], target=Do("provenance")),), True, gap))
    if not short:
        found.append(Item(FORMAT, (Span(fit_name(run.format, 20), "label"),), True, 1))
    return found


def thousands_short(tokens: int) -> str:
    """A window: `32k`, `200k`, `1M` where that is exact enough."""
    shown = thousands(tokens)
    return shown.replace(".0k", "k").replace(".0M", "M")


def _alarm(glyph: str, count: int, words: str, short: bool, role: str, solid: bool, target: object) -> Item:
    """A chip at the right; `solid`: for now and unresolved, else for the past."""
    ink, fill = (f"ink-{role}", role) if solid else (f"text-{role}", f"{role}-muted")
    brief = Span(f" {glyph}{count} ", ink, True, fill=fill, target=target)
    whole = brief if short else _text(brief, f" {glyph} {count} {words} ")
    return Item(ALARM, (whole,), True, 1, () if short else ((brief,),))


def _text(span: Span, text: str) -> Span:
    return replace(span, text=text)


def _cuts(text: str, least: int) -> list[str]:
    """The text, and cut to ever fewer cells, down to `least`."""
    return [text, *(fit(text, cells).rstrip() for cells in range(cell_len(text) - 1, least - 1, -1))]


def _forms(rank: int, spans: Sequence[Span], gap: int) -> Item:
    return Item(rank, (spans[0],), gap=gap, shorter=tuple((span,) for span in spans[1:]))


def header_line(view: View, width: int) -> Line:
    """The row at a width: by rank, the first ones first; some are said shorter before any goes."""
    highest = 99 if width >= 140 else 10 if width >= 120 else 9
    every = [item for item in items(view, width < 100, width < 120) if item.rank <= highest]
    shown = fitted(every, width - 1, GIVING, PERCENT, NEVER)
    left = _joined([item for item in shown if not item.right])
    right = _joined([item for item in shown if item.right])
    blank = width - 1 - sum(cell_len(span.text) for span in (*left, *right))
    return Line((*left, Span(" " * max(0, blank)), *right, Span(" ")), fill="panel")


def _joined(shown: Sequence[Item]) -> list[Span]:
    spans: list[Span] = []
    for item in shown:
        if not item.spans:
            continue
        spans.append(Span(" " * item.gap))
        spans.extend(item.spans)
    return spans


class Header(Band):
    fill = "panel"

    def lines(self, view: View, width: int) -> tuple[Line, ...]:
        return (header_line(view, width),)

    def blank(self, width: int) -> tuple[Line, ...]:
        return (Line((Span(" agentmem", bold=True),), fill="panel"),)
