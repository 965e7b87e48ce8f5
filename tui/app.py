"""The app: theme, screens, the one follow worker, messages handed on. Draws nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, SystemCommand
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from agentmem import safe

from . import theme
from .follow import Follower, Source
from .keys import COMMANDS, PALETTE_ONLY
from .messages import LifelineReady, Progress, RawReady, RunChanged, RunsChanged, TextReady, Trouble
from .screens.run import RunScreen

if TYPE_CHECKING:
    from textual.command import Provider

    from agentmem.model import Run

    from .index import Index


def _palette() -> type[Provider]:
    from .screens.over.palette import PaletteCommands  # only who opens the palette needs it

    return PaletteCommands


RETRY_SECONDS = 5.0
TICK_SECONDS = 1.0


class Inspector(App[None]):
    """`make` gives a new source to follow; it is called again after the worker has failed. `demo` starts the demo and
    gives the source that follows it."""

    TITLE = "agentmem"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_palette}
    CSS = """
    Screen { background: $background; color: $foreground; }
    ModalScreen { background: transparent; }
    ToastRack { margin: 0 0 1 0; padding: 0; overflow-y: hidden; }
    ToastHolder { width: 100%; }
    Toast { width: 100%; max-width: 100%; margin: 0; padding: 0 1; background: $primary-muted; color: $foreground;
            border-left: none; }
    """

    def __init__(
        self, make: Callable[[], Source], *, bell: bool = False, light: bool = False, clock: bool = True,
        demo: Callable[[], Source] | None = None, looked: Callable[[], Sequence[tuple[str, str]]] = tuple,
    ) -> None:  # fmt: skip
        super().__init__()
        for own in theme.THEMES:
            self.register_theme(own)
        self.theme = theme.LIGHT if light else theme.DARK
        self.find_looked = looked
        self.looked: Sequence[tuple[str, str]] = ()
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

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        from .screens.over.palette import KEPT

        if screen is self.run_screen:
            for command in (*COMMANDS, *PALETTE_ONLY):
                if command.id not in ("quit", "open", "up", "down"):
                    told = f"{command.shown}: {command.tooltip}" if command.shown else command.tooltip
                    yield SystemCommand(command.palette, told, partial(screen.run_action, command.id))
        theirs = {command.title: command for command in super().get_system_commands(screen)}
        yield from (theirs[title] for title in KEPT if title in theirs)

    async def run_action(self, action: Any, *where: Any, **named: Any) -> bool:
        # Whatever the reader does by a key or the palette: what was said before is over.
        self.run_screen.hush()
        return await super().run_action(action, *where, **named)

    def clock(self) -> float | None:
        """Seconds since the epoch; None where no clock is to be shown."""
        return time.time() if self._clock else None

    def on_mount(self) -> None:
        # The shell has written over what was painted.
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))
        self.call_after_refresh(self._start)
        if self._clock:
            self.set_interval(TICK_SECONDS, self.run_screen.tick)

    def on_unmount(self) -> None:
        if self._follower is not None:
            self._follower.stop.set()
        if self._titled:
            self._write("\x1b[23;2t")

    # -- the worker -------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._follower is not None:
            self._follower.stop.set()
        follower = self._follower = Follower(self._make, self.post_message)
        self.run_worker(follower.run, thread=True, exclusive=True, group="follow", exit_on_error=False)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        if event.worker.group == "follow" and event.state is WorkerState.ERROR:
            reason = f"{type(event.worker.error).__name__}: {event.worker.error}"
            self.run_screen.set_trouble(f"follower stopped: {reason}; next try in {RETRY_SECONDS:.0f} s")
            self.set_timer(RETRY_SECONDS, self._start)

    def start_demo(self) -> None:
        if self._demo is not None:
            self._make = self._demo
            self._start()

    def choose(self, run_id: str) -> None:
        if self._follower is not None:
            self._follower.ask(lambda source: source.choose(run_id))

    def ask_text(self, lane: str, segment_ids: Sequence[int]) -> None:
        if self._follower is not None:
            self._follower.ask(lambda source: source.ask_text(lane, segment_ids))

    def ask_raw(self, lane: str, segment_id: int) -> None:
        if self._follower is not None:
            self._follower.ask(lambda source: source.ask_raw(lane, segment_id))

    def ask_lifeline(self, lane: str, text: str) -> None:
        if self._follower is not None:
            self._follower.ask(lambda source: source.ask_lifeline(lane, text))

    # -- what it says -----------------------------------------------------------------------------------------------

    def on_run_changed(self, message: RunChanged) -> None:
        self.run_screen.take(message.run, message.index)
        self._set_title(message.run, message.line)
        self._ring(message.run, message.index)

    def on_runs_changed(self, message: RunsChanged) -> None:
        if not message.infos and not self.searched:
            self.looked = self.find_looked()
        self.searched = True
        self.run_screen.take_runs(message.infos)

    def on_progress(self, message: Progress) -> None:
        self.run_screen.take_progress(message.done, message.total)

    def on_text_ready(self, message: TextReady) -> None:
        self.run_screen.take_text(message)

    def on_raw_ready(self, message: RawReady) -> None:
        self.run_screen.show_raw(message)

    def on_lifeline_ready(self, message: LifelineReady) -> None:
        self.run_screen.take_lifeline(message)

    def on_trouble(self, message: Trouble) -> None:
        self.run_screen.set_trouble(message.text)

    def _ring(self, run: Run, index: Index) -> None:
        """`--bell`: once for each new silent drop or cycle of the run that is open."""
        count = len(index.alarms) + len(run.cycles)
        if self._bell and self._alarms is not None and self._alarms[0] == run.id and count > self._alarms[1]:
            self.bell()
        self._alarms = (run.id, count)

    def _set_title(self, run: Run, line: str) -> None:
        """The terminal's title says what `agentmem line` says."""
        title = safe.line(f"{safe.name(run.id, 20)} {line}")
        if title != self._titled:
            self._write(("" if self._titled else "\x1b[22;2t") + f"\x1b]2;{title}\x07")
            self._titled = title

    def _write(self, sequence: str) -> None:
        driver = self._driver
        if driver is not None and not driver.is_headless and not driver.is_web:
            driver.write(sequence)
