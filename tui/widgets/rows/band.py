"""A few rows that are drawn from a view: header, verdict, timeline, tabs, footer."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.strip import Strip

from ...context import View
from ...messages import Opened
from ..line import Line
from .painting import Painting


class Band(Painting):
    """A few rows that are drawn from a view and react to clicks: header, verdict, timeline, tabs, footer."""

    DEFAULT_CSS = "Band { height: 1; width: 1fr; }"
    fill: ClassVar[str] = "background"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view: View | None = None
        self._made: tuple[int, tuple[Line, ...]] | None = None

    def lines(self, view: View, width: int) -> tuple[Line, ...]:
        raise NotImplementedError

    def blank(self, width: int) -> tuple[Line, ...]:
        """What stands there before there is a run."""
        return ()

    def show(self, view: View | None) -> None:
        self.view, self._made = view, None
        self.repaint()

    def made(self) -> tuple[Line, ...]:
        width = self.size.width
        if self._made is None or self._made[0] != width:
            self._made = (width, self.blank(width) if self.view is None else self.lines(self.view, width))
        return self._made[1]

    def strip(self, y: int) -> Strip:
        lines = self.made()
        return self.drawn(y, lines[y] if y < len(lines) else Line(()), fill=self.fill)

    def pressed(self, x: int, y: int) -> object:
        """What a click there means; None: nothing."""
        lines = self.made()
        if y >= len(lines):
            return None
        left = 0
        for span in lines[y].spans:
            left += cell_len(span.text)
            if x < left:
                return span.target if span.target is not None else lines[y].target
        return lines[y].target

    def on_click(self, event: events.Click) -> None:
        target = self.pressed(event.x, event.y)
        if target is not None:
            self.post_message(Opened(target, self.id or ""))

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.refresh()
