"""All keys, from `tui.keys`, and what the marks mean."""

from __future__ import annotations

from agentmem.inspect.telling.marks import WORDS

from ...index import GLYPHS
from ...keys import COMMANDS, GROUPS
from ...widgets.line import Line, Span, fit
from ...widgets.rows import Rows
from .sheet import Sheet

LEVELS = {
    "━": "in the prompt", "◆": "changed", "╌": "shortened", "─": "held in the state but not in the prompt", "·": "gone",
    "▲": "gone, nobody recorded it", "✗": "needed while not in the prompt",
}  # fmt: skip


def help_lines() -> list[Line]:
    """Groups of keys, then the marks, then the levels of a lifeline."""
    lines: list[Line] = []
    for group, title in GROUPS.items():
        lines += [Line(()), Line((Span(f" {title}", bold=True),))]
        lines += [Line((Span(f"  {fit(c.shown, 11)}", "text-primary", True), Span(c.tooltip, "label")))
                  for c in COMMANDS if c.group == group]  # fmt: skip
    lines += [Line(()), Line((Span(" Marks", bold=True),))]
    lines += [Line((Span(f"  {fit(glyph, 11)}", role, True), Span(WORDS[bit], "label")))
              for bit, (glyph, role) in GLYPHS.items()]  # fmt: skip
    lines += [Line(()), Line((Span(" Lifelines", bold=True),))]
    lines += [Line((Span(f"  {fit(glyph, 11)}", "text-state"), Span(words, "label")))
              for glyph, words in LEVELS.items()]  # fmt: skip
    words = "The palette (ctrl+p) has every command. agentmem show, drops, diff and others print the same as text."
    return [*lines[1:], Line(()), Line((Span(f" {words}", "label"),))]


class HelpRows(Rows):
    def __init__(self) -> None:
        super().__init__()
        self._lines = help_lines()

    def line_count(self, width: int) -> int:
        return len(self._lines)

    def line(self, index: int, width: int) -> Line:
        return self._lines[index]

    def selectable(self, index: int, width: int) -> bool:
        return False


class Help(Sheet):
    title_text = "agentmem: keys and marks"

    def rows(self) -> Rows:
        return HelpRows()
