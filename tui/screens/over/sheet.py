"""A full screen of text that is only read: raw records, how a figure was counted, problems."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen

from agentmem import safe

from ...context import View
from ...widgets.line import Line, Span, fit
from ...widgets.panes.columns import wrap_words
from ...widgets.prompt.layout import Layout
from ...widgets.rows import Band, Rows

LONGEST = 2_000_000
"""Characters of one text that are shown; the rest is said to be cut."""
PROVENANCE = {
    "exact": "Every request of this run was captured: what is shown is what the model saw.",
    "reconstructed": "Rebuilt from the file; the system prompt and tools are not in it.",
    "partial": "What the model saw is not in this file.",
}


DOUBT = (
    "The run recorded that it was about to make the call, and nothing of what came of it.\n"
    "Ask the other side, by the key. Then tell the run, before it goes on:\n"
    "run.guard.happened(KEY, result)\n"
    "run.guard.did_not_happen(KEY)"
)
"""What to do about a call in doubt."""


class TextRows(Rows):
    """Lines of one text, folded at the width; only those in view are made."""

    def __init__(self, text: str, words: bool = False) -> None:
        """`words`: sentences, which break between words."""
        super().__init__()
        self._words = words
        self._text = text[:LONGEST]
        if len(text) > LONGEST:
            self._text += f"\n… {len(text) - LONGEST:,} characters more"
        self._folded: Layout | None = None

    def _layout(self, width: int) -> Layout:
        room = max(10, width - 2)
        if self._folded is None or self._folded.width != room:
            shown = self._text
            if self._words:
                shown = "\n".join(part for line in shown.split("\n") for part in wrap_words(line, room))
            self._folded = Layout(shown, room)
        return self._folded

    def line_count(self, width: int) -> int:
        return self._layout(width).rows

    def line(self, index: int, width: int) -> Line:
        return Line((Span(" " + self._layout(width).row(index)),))

    def selectable(self, index: int, width: int) -> bool:
        return False


class Title(Band):
    fill = "panel"

    def __init__(self, left: str, right: str = "Esc back") -> None:
        super().__init__()
        self._left, self._right = left, right

    def say(self, left: str) -> None:
        """Another text at the left; safe."""
        self._left, self._made = left, None
        self.refresh()

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
    def __init__(self, title: str, text: str, words: bool = True) -> None:
        """`words`: sentences; else a record as it is, which breaks at the edge."""
        super().__init__()
        self.title_text, self._text, self._words = title, text, words

    def rows(self) -> Rows:
        return TextRows(self._text, self._words)
