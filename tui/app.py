"""The app: theme, screens, the one follow worker, messages handed on. Draws nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from textual.app import App, SystemCommand
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from . import theme
from .follow import Follower, Source
from .keys import COMMANDS, PALETTE_ONLY
from .messages import LifelineReady, Progress, RawReady, RunChanged, RunsChanged, TextReady, Trouble
from .screens.run import RunScreen
from .terminal import set_title, status_line

RETRY_SECONDS = 5.0
TICK_SECONDS = 1.0


class Inspector(App[None]):
    """`make` gives a new source to follow; it is called again after the worker has failed."""

    TITLE = "agentmem"
    ENABLE_COMMAND_PALETTE = True
    CSS = "Screen { background: $background; color: $foreground; }"

    def __init__(
        self, make: Callable[[], Source], *, bell: bool = False, light: bool = False, clock: bool = True,
        demo: Callable[[], Callable[[], Source]] | None = None, looked: tuple[tuple[str, str], ...] = (),
    ) -> None:  # fmt: skip
        super().__init__()
        for own in theme.THEMES:
            self.register_theme(own)
        self.theme = theme.LIGHT if light else theme.DARK
        self.looked = looked
        self.searched = False
        self.last_find = ""
        self._make, self._demo = make, demo
        self._bell, self._clock = bell, clock
        self._follower: Follower | None = None
        self._alarms: tuple[str, int] | None = None
        self._titled = ""
        self.run_screen = RunScreen()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theme.derived(self.current_theme)

    def get_default_screen(self) -> Screen[None]:
        return self.run_screen

    def clock(self) -> float | None:
        """Seconds since the epoch; None where no clock is to be shown."""
        return time.time() if self._clock else None

    def on_mount(self) -> None:
        self.run_screen.texts = self._texts()
        self.call_after_refresh(self._start)
        if self._clock:
            self.set_interval(TICK_SECONDS, self._tick)

    def _texts(self) -> object:
        raise NotImplementedError

    def _tick(self) -> None:
        if self.screen is self.run_screen:
            self.run_screen.tick()
