"""A row at the foot of the screen where the reader types one thing."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static


class Ask(ModalScreen[str | None]):
    """Dismissed with what was typed, or None by Esc."""

    BINDINGS = [Binding("escape", "leave", "back", show=False)]  # noqa: RUF012  # the toolkit's own way to declare them
    DEFAULT_CSS = """
    Ask { align: left bottom; background: transparent; }
    Ask Vertical { height: auto; background: $panel; }
    Ask Input { border: none; height: 1; padding: 0 1; background: $panel; }
    Ask Input:focus { border: none; }
    Ask Static { height: auto; padding: 0 1; color: $label; }
    """

    def __init__(self, title: str, hint: str = "", value: str = "") -> None:
        super().__init__()
        self._title, self._hint, self._value = title, hint, value

    def compose(self) -> ComposeResult:
        with Vertical():
            yield from self.above()
            yield Static(Content(f"{self._title}: {self._hint}"))
            yield self.typed()

    def typed(self) -> Input:
        """Where it is typed."""
        return Input(value=self._value, id="typed", select_on_focus=False)

    def above(self) -> ComposeResult:
        """Rows over the question."""
        return iter(())

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value)

    def action_leave(self) -> None:
        self.dismiss(None)
