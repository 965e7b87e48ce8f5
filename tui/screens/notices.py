"""In place of the panes: nothing found, still loading, or a terminal that is too small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentmem.inspect.telling.pulse import UNREADABLE

from ..safe import text
from ..widgets.line import Line, Span, fit
from ..widgets.rows import Rows

if TYPE_CHECKING:
    from agentmem.model import Run


def empty_lines(looked: Sequence[tuple[str, str]], width: int) -> list[Line]:
    """`looked`: (place, what was found there)."""
    left = min(66, max(30, width - 28))
    lines = [Line(()), Line((Span("  No runs found here.", bold=True),)), Line(())]
    for order, (place, found) in enumerate(looked):
        word = "looked in" if order == 0 else ""
        lines.append(Line((Span(f"  {fit(word, 12)}", "label"), Span(fit(text(place), left - 14)), Span("  "),
                           Span(text(found), "label"))))  # fmt: skip
    tries = (("agentmem demo", "a live run, no key needed"), ("agentmem watch PATH", "file, folder, glob, SQLite"),
             ("agentmem watch postgresql://…", "a database"))  # fmt: skip
    lines.append(Line(()))
    for order, (command, about) in enumerate(tries):
        spans = (Span(f"  {fit('try' if order == 0 else '', 12)}", "label"),
                 Span(fit(command, left - 14), "text-primary" if order == 0 else "foreground", order == 0), Span("  "),
                 Span(about, "label"))  # fmt: skip
        lines.append(Line(spans, target="demo" if order == 0 else None))
    return [*lines, Line(()), Line((Span("  Still looking: a run that appears here opens by itself.", "label"),))]


def bare_lines(run: Run, trouble: str, others: int) -> list[Line]:
    """A run of which there is nothing to show yet: what is wrong with its file."""
    said = [trouble, run.notice or "", *(f"{problem.where}: {problem.what}" for problem in run.problems)]
    unread = (run.notice or "").startswith(UNREADABLE)
    words = f"  {text(run.id)}: {'it cannot be read' if unread else 'cannot tell, no step is in this file yet'}."
    lines = [Line(()), Line((Span(words, bold=True),)), Line(())]
    lines.append(Line((Span(f"  {fit('file', 12)}", "label"), Span(text(run.path)))))
    lines.append(Line((Span(f"  {fit('format', 12)}", "label"), Span(text(run.format)))))
    for row in dict.fromkeys(row for row in said if row):
        lines.append(Line((Span(f"  {fit('!', 12)}", "text-warning"), Span(text(row), "text-warning"))))
    words = f"Still looking: it opens when {'it can be read' if unread else 'its first step is there'}."
    if others:
        words += f" R lists {others} other run{'s' if others > 1 else ''}."
    return [*lines, Line(()), Line((Span(f"  {words}", "label"),))]


class Notice(Rows):
    """A sentence, or all that `empty_lines` says."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.looked: tuple[tuple[str, str], ...] = ()
        self._sentence = ""
        self._empty = False
        self._bare: list[Line] = []

    def bare(self, run: Run, trouble: str, others: int) -> None:
        """A run without a step; `others`: how many runs there are beside it."""
        self._bare, self._empty = bare_lines(run, trouble, others), False
        self.changed()

    def say(self, sentence: str) -> None:
        self._sentence, self._empty, self._bare = sentence, False, []
        self.changed()

    def nothing(self, looked: Sequence[tuple[str, str]], searched: bool, trouble: str) -> None:
        """`searched`: the worker has looked everywhere once; before that it is only reading."""
        # Where it was looked stands there row by row; the worker's sentence about it says it only once more.
        said = "" if looked and trouble.startswith("no runs in ") else trouble
        self._sentence = said if searched else trouble or "reading"
        self._empty, self.looked, self._bare = searched, tuple(looked), []
        self.changed()

    def line_count(self, width: int) -> int:
        return len(self._bare) or (len(self._lines(width)) if self._empty else 2)

    def _lines(self, width: int) -> list[Line]:
        lines = empty_lines(self.looked, width)
        if self._sentence:
            lines[1] = Line((Span("  No run can be shown.", bold=True),))
            lines[2:2] = [Line(()), Line((Span(f"  ! {text(self._sentence)}", "text-warning"),))]
        return lines

    def line(self, index: int, width: int) -> Line:
        if self._bare:
            return self._bare[index]
        if self._empty:
            return self._lines(width)[index]
        return Line((Span(f"  {text(self._sentence)}" if index == 1 else "", "label"),))
