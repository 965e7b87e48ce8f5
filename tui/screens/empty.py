"""What stands there while there is no run: where it was looked for, and what to try."""

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


class EmptyRows(Rows):
    """Enter on the first thing to try starts the demo."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.looked: tuple[tuple[str, str], ...] = ()

    def line_count(self, width: int) -> int:
        return len(empty_lines(self.looked, width))

    def line(self, index: int, width: int) -> Line:
        return empty_lines(self.looked, width)[index]
