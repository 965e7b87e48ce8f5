"""In place of the panes: nothing found, still loading, or a terminal that is too small."""

from __future__ import annotations

from collections.abc import Sequence

from ..safe import text
from ..widgets.line import Line, Span
from .empty import EmptyRows, empty_lines


class Notice(EmptyRows):
    always_cursor = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
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
