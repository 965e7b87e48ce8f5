"""A full screen of text that is only read: raw records, how a figure was counted, problems."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen

from agentmem import safe

from ...context import View
from ...widgets.line import Line, Span, fit
from ...widgets.rows import Band, Rows

LONGEST = 2_000_000
"""Characters of one text that are shown; the rest is said to be cut."""
PROVENANCE = {
    "exact": "Every request of this run was captured: what is shown is what the model saw.",
    "reconstructed": "Rebuilt from the file; the system prompt and tools are not in it.",
    "partial": "What the model saw is not in this file.",
}


class TextRows(Rows):
    """Lines of one text, folded by hand; only those in view are made."""

    def __init__(self, text: str) -> None:
        super().__init__()
        shown = safe.block(text[:LONGEST]).expandtabs(4)
        self._text = shown.split("\n")
        if len(text) > LONGEST:
            self._text.append(f"… {len(text) - LONGEST:,} characters more")
        self._folded: tuple[int, list[tuple[int, int]]] = (0, [])

    def _fold(self, width: int) -> list[tuple[int, int]]:
        if self._folded[0] != width:
            room = max(10, width - 2)
            places = []
            for number, row in enumerate(self._text):
                size = room if row.isascii() else room // 2
                places += [(number, start) for start in range(0, max(1, len(row)), size)]
            self._folded = (width, places)
        return self._folded[1]

    def line_count(self, width: int) -> int:
        return len(self._fold(width))

    def line(self, index: int, width: int) -> Line:
        number, start = self._fold(width)[index]
        row = self._text[number]
        room = max(10, width - 2)
        return Line((Span(" " + row[start : start + (room if row.isascii() else room // 2)]),))

    def selectable(self, index: int, width: int) -> bool:
        return False


class Title(Band):
    fill = "panel"

    def __init__(self, left: str, right: str = "Esc back") -> None:
        super().__init__()
        self._left, self._right = left, right

    def lines(self, view: View, width: int) -> tuple[Line, ...]:
        return self.blank(width)

    def blank(self, width: int) -> tuple[Line, ...]:
        room = max(0, width - len(self._right) - 3)
        return (Line((Span(" " + fit(self._left, room), bold=True), Span(f" {self._right} ", "label")), fill="panel"),)


class Sheet(Screen[str | None]):
    """A title and rows; Esc leaves, the arrows move, Enter opens."""

    BINDINGS = [  # noqa: RUF012  # the toolkit's own way to declare them
        Binding("escape,q", "leave", "back", show=False),
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown,space", "page(1)", "page down", show=False),
        Binding("home", "far(-1)", "top", show=False),
        Binding("end", "far(1)", "end", show=False),
        Binding("enter", "open", "open", show=False),
    ]
    title_text = ""

    def rows(self) -> Rows:
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        yield Title(safe.line(self.title_text))
        yield self.rows()

    def on_mount(self) -> None:
        for rows in self.query(Rows):
            rows.focus()

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_move(self, by: int) -> None:
        self.query_one(Rows).move(by)

    def action_page(self, by: int) -> None:
        self.query_one(Rows).page(by)

    def action_far(self, by: int) -> None:
        self.query_one(Rows).move(by * 100_000_000)

    def action_open(self) -> None:
        self.query_one(Rows).open_selected()


class TextSheet(Sheet):
    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self.title_text, self._text = title, text

    def rows(self) -> Rows:
        return TextRows(self._text)
