"""What a pane shows, as text: panes are asked for their lines without an app."""

from __future__ import annotations

from typing import Any

from agentmem.inspect.telling.verdict import verdict
from agentmem.model import Run
from tui.context import Context, Texts
from tui.index import Index, _lane
from tui.widgets.line import Line
from tui.widgets.prompt.draw import goal_lines, rule, then_line
from tui.widgets.prompt.sheet import Opening, Sheet
from tui.widgets.rows import Pane

from .builders import Teller


def index_of(run: Run) -> Index:
    """Without the strip's lifelines, which no pane here reads."""
    return Index(run, {lane.id: _lane(run, lane, None) for lane in run.lanes}, verdict(run), {})


def context_of(run: Run, width: int = 80, teller: Teller | None = None, **more: Any) -> Context:
    texts = Texts()
    if teller is not None:
        for ident, text in teller.texts.items():
            texts.put(run.main.id, ident, text)
    return Context(index_of(run), width=width, lane=run.main.id, texts=texts, **more)


def sheet_of(run: Run, n: int, context: Context, opening: Opening | None = None) -> Sheet:
    return Sheet(run, run.main.steps[n - 1], context, opening or Opening())


def sheet_lines(sheet: Sheet, width: int, room: int = 20) -> list[Line]:
    sheet.make(width, room)
    return [sheet.line(index, width) for index in range(sheet.count)]


def foot_lines(sheet: Sheet, width: int) -> list[Line]:
    goal, tokens = sheet.goal()
    shown = goal_lines(goal, sheet.step, tokens, width, sheet.missing_since())
    return [rule(width), *shown, then_line(sheet.step, width)]


def pane_lines(pane: Pane, width: int) -> list[Line]:
    return [*pane.head(width), *(pane.line(index, width) for index in range(pane.line_count(width)))]


def text(lines: list[Line]) -> str:
    return "\n".join(line.plain.rstrip() for line in lines)


def row_with(lines: list[Line], words: str) -> Line:
    """The first line that shows the words; fails with everything that is shown."""
    for line in lines:
        if words in line.plain:
            return line
    raise AssertionError(f"{words!r} is not in\n{text(lines)}")
