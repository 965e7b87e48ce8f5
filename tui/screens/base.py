"""What the parts of the run screen share: the reader, the panes, and how to redraw and to speak."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.screen import Screen

from ..context import Context, Texts, View
from ..safe import text
from ..widgets.rows import Pane
from .reader import Reader

if TYPE_CHECKING:
    from agentmem.model import Lifeline, RunInfo

    from ..app import Inspector


class RunBase(Screen[None]):
    """State of the run screen; its commands are in `moving` and `looking`, its layout in `run`."""

    def __init__(self) -> None:
        super().__init__()
        self.reader = Reader()
        self.panes: dict[str, Pane] = {}
        self.active = "steps"
        """Pane that has the keys."""
        self.drawer = "lost"
        """Pane that is open in the drawer."""
        self.alone = False
        self.zoomed = False
        self.changes = False
        self.pins: tuple[str, ...] = ()
        self.lifelines: dict[tuple[str, str], Lifeline] = {}
        """By (lane, text)."""
        self.texts = Texts()
        self.runs: tuple[RunInfo, ...] = ()
        self.ring: tuple[str, ...] = ()
        """Names of the runs in the order in which they became known: where the keys for the other run go round."""
        self.trouble = ""
        self.progress: tuple[int, int] | None = None
        self._said = False
        """A toast may still be there."""

    @property
    def inspector(self) -> Inspector:
        return cast("Inspector", self.app)

    @property
    def single(self) -> bool:
        """Whether one pane is shown at a time."""
        raise NotImplementedError

    @property
    def pane(self) -> Pane:
        return self.panes[self.active]

    def redraw(self) -> None:
        raise NotImplementedError

    def activate(self, ident: str) -> None:
        raise NotImplementedError

    def say(self, sentence: str, severe: bool = False) -> None:
        """A toast; plain text."""
        if sentence:
            self.app.clear_notifications()
            self._said = True
            self.app.notify(text(sentence), severity="warning" if severe else "information", markup=False, timeout=6)

    def hush(self) -> None:
        """Take a toast away as soon as the reader does anything else: it spoke of what was done before."""
        if self._said:
            self._said = False
            self.app.clear_notifications()

    def context(self) -> Context:
        """The panes' value beside run and cursor, as things stand."""
        assert self.reader.index is not None
        lines = {name: line for (lane, name), line in self.lifelines.items() if lane == self.reader.lane}
        return Context(
            self.reader.index, self.app.size.width, self.app.size.height, self.changes, self.reader.base, self.pins,
            lines, self.texts, self.reader.lane, self.runs, self.inspector.clock(),
            self.reader.opened,
        )  # fmt: skip

    def view(self, context: Context) -> View:
        reader = self.reader
        assert reader.run is not None and reader.index is not None
        return View(reader.run, reader.index, reader.cursor, context, reader.following, reader.behind, self.trouble,
                    self.progress, self.zoomed)  # fmt: skip
