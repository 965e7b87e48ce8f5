"""In place of the panes: nothing found, still loading, or a terminal that is too small."""

from __future__ import annotations

from collections.abc import Sequence

from ..safe import text
from ..widgets.line import Line, Span, fit
from ..widgets.rows import Rows


def empty_lines(looked: Sequence[tuple[str, str]], width: int) -> list[Line]:
    """`looked`: (place, what was found there)."""
    left = min(52, max(30, width - 40))
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


class Notice(Rows):
    """A sentence, or all that `empty_lines` says."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.looked: tuple[tuple[str, str], ...] = ()
        self._sentence = ""
        self._empty = False

    def say(self, sentence: str) -> None:
        self._sentence, self._empty = sentence, False
        self.changed()

    def nothing(self, looked: Sequence[tuple[str, str]], searched: bool, trouble: str) -> None:
        """`searched`: the worker has looked everywhere once; before that it is only reading."""
        self._sentence = trouble if searched else trouble or "reading"
        self._empty, self.looked = searched, tuple(looked)
        self.changed()

    def line_count(self, width: int) -> int:
        return len(self._lines(width)) if self._empty else 2

    def _lines(self, width: int) -> list[Line]:
        lines = empty_lines(self.looked, width)
        if self._sentence:
            lines.insert(2, Line((Span(f"  ! {text(self._sentence)}", "text-warning"),)))
        return lines

    def line(self, index: int, width: int) -> Line:
        if self._empty:
            return self._lines(width)[index]
        return Line((Span(f"  {text(self._sentence)}" if index == 1 else "", "label"),))
