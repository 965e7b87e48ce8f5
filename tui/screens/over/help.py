"""All keys, from `tui.keys`, and what the marks mean."""

from __future__ import annotations

from agentmem.inspect.telling.marks import WORDS

from ...index import GLYPHS
from ...keys import COMMANDS, GROUPS
from ...widgets.line import Line, Span, fit
from ...widgets.panes.columns import said, wrap_words
from ...widgets.rows import Rows
from .picker import STATUS
from .sheet import Sheet

LEVELS = {
    "━": "in the prompt", "◆": "changed", "╌": "shortened", "─": "held in the state, not found in the prompt",
    "·": "gone", "▲": "gone, nobody recorded it", "✗": "needed while not in the prompt",
}  # fmt: skip

TABS = {
    "▲1 of 3": "at lost: silent losses of this lane, of those of all lanes",
    "−4 ·29": "at lost: other steps, not pieces, that lost something: on record, and what nobody recorded",
    "↻2": "at loops: cycles of this lane",
}  # fmt: skip
"""Counts at the tabs -> what they count."""
CUT_MARK = "…"

NAME = 13
"""Cells of a key or a mark, those before it too."""


def help_lines(width: int) -> list[Line]:
    """Groups of keys, then the marks, those of the list of runs, then the levels of a lifeline; wrapped."""
    lines: list[Line] = []
    for group, title in GROUPS.items():
        lines += _title(title)
        for one in COMMANDS:
            if one.group == group:
                lines += _told(Span(fit(f"  {one.shown}", NAME), "text-primary", True), one.tooltip, width)
    lines += _title("Marks")
    for bit, (glyph, role) in GLYPHS.items():
        lines += _told(Span(fit(f"  {glyph}", NAME), role, True), WORDS[bit], width)
    lines += _told(Span(fit(f"  {CUT_MARK}", NAME), "label", True), "the text goes on: it is cut here", width)
    lines += _title("Tabs")
    for shown, words in TABS.items():
        lines += _told(Span(fit(f"  {shown}", NAME), "label", True), words, width)
    lines += _title("Runs")
    for glyph, role, words in STATUS.values():
        lines += _told(Span(fit(f"  {glyph}", NAME), role), words, width)
    lines += _title("Lifelines")
    for glyph, words in LEVELS.items():
        lines += _told(Span(fit(f"  {glyph}", NAME), "text-state"), words, width)
    words = "The palette (ctrl+p) has every command. agentmem show, drops, diff and others print the same as text."
    return [*lines[1:], Line(()), *said(words, width)]


def _title(title: str) -> list[Line]:
    return [Line(()), Line((Span(f" {title}", bold=True),))]


def _told(name: Span, words: str, width: int) -> list[Line]:
    """A key or a mark, and beside it what it means."""
    return [Line((name if place == 0 else Span(" " * NAME), Span(part, "label")))
            for place, part in enumerate(wrap_words(words, max(8, width - NAME - 1)))]  # fmt: skip


class HelpRows(Rows):
    def __init__(self) -> None:
        super().__init__()
        self._made: tuple[int, list[Line]] | None = None

    def _lines(self, width: int) -> list[Line]:
        if self._made is None or self._made[0] != width:
            self._made = (width, help_lines(width))
        return self._made[1]

    def line_count(self, width: int) -> int:
        return len(self._lines(width))

    def line(self, index: int, width: int) -> Line:
        return self._lines(width)[index]

    def selectable(self, index: int, width: int) -> bool:
        return False


class Help(Sheet):
    title_text = "agentmem: keys and marks"

    def rows(self) -> Rows:
        return HelpRows()
