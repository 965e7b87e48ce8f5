"""What the run screen takes from the worker: runs, texts, lifelines, progress, trouble."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..context import Texts
from ..follow import run_name
from ..messages import LifelineReady, TextReady
from .base import RunBase

if TYPE_CHECKING:
    from textual.timer import Timer

    from agentmem.model import Run, RunInfo
    from agentmem.tape import Tape

    from ..index import Index


DRAWN_SECONDS = 0.1
"""What the worker tells is drawn at most this often: an agent that writes 20 times a second need not cost a core."""


class Taking(RunBase):
    _due = 0.0
    """From when on what the worker tells is drawn at once."""
    _drawing: Timer | None = None
    """It was told too early and is drawn when this is over."""
    _tape: Tape | None = None
    """Tape of the main lane: another one means other ids, so that texts kept by id are void."""
    _steps = 0
    _early: tuple[int, int] | None = None
    """Progress told since the last value of a run: of another run's first value it comes before it."""

    def take(self, run: Run, index: Index) -> None:
        """A new value of the run, or another run."""
        before = self.reader.run
        began = before is not None and run.path == before.path and run.earlier > before.earlier
        other = before is None or before.id != run.id or before.path != run.path
        tape = _tape(run)
        if other or tape is not self._tape:
            self.texts = Texts(self.inspector.ask_text)
            self._tape = tape
        if other:
            self.lifelines.clear()
            self.progress, self.trouble = self._early, ""
        self._early = None
        self.reader.take(run, index)
        steps = sum(len(lane.steps) for lane in run.lanes)
        if steps != self._steps or other:
            self._steps = steps
            for pin in self.pins:
                self.inspector.ask_lifeline(self.reader.lane, pin)
        self._draw_soon(at_once=other)
        if began:
            self._say_began(run)

    def _say_began(self, run: Run) -> None:
        from agentmem.inspect.telling.pulse import earlier_said

        self.say(f"A new run began in this file. {earlier_said(run)}", True)

    def _draw_soon(self, at_once: bool = False) -> None:
        """What was told is on its way to the screen: at once after a pause, else together with what comes soon."""
        if at_once:
            self._due = 0.0
            if self._drawing is not None:
                self._drawing.stop()
                self._drawing = None
        if self._drawing is not None:
            return
        left = self._due - time.monotonic()
        if left <= 0:
            self._draw()
        else:
            self._drawing = self.set_timer(left, self._draw)

    def _draw(self) -> None:
        self._drawing = None
        self._due = time.monotonic() + DRAWN_SECONDS
        self.redraw()

    def take_runs(self, infos: tuple[RunInfo, ...]) -> None:
        before = _shown(self.runs), self.ring
        self.runs = infos
        names = {run_name(info): None for info in infos if info.problem is None or len(infos) == 1}
        kept = [name for name in self.ring if name in names]
        self.ring = (*kept, *(name for name in names if name not in set(kept)))
        if self.app.screen is not self:
            from .over.picker import RunPicker

            if isinstance(self.app.screen, RunPicker):
                self.app.screen.take(infos)
        if not self.reader.ready or (_shown(infos), self.ring) != before:
            self._draw_soon()

    def take_progress(self, done: int, total: int) -> None:
        self.progress = self._early = (done, total) if done < total else None
        self._draw_soon()

    def set_trouble(self, text: str) -> None:
        """What the worker has to say; the header of a narrow terminal has no room for it beside the figures."""
        self.hush()
        self.trouble = text
        self._draw_soon()
        if text and self.reader.ready and self.single:
            self.say(f"! {text}", True)

    def take_text(self, message: TextReady) -> None:
        run = self.reader.run
        if run is None or run.id != message.run_id:
            return
        self.texts.put(message.lane, message.segment_id, message.text, message.note)
        for pane in self.panes.values():
            if pane.display:
                pane.texts_changed()

    def take_lifeline(self, message: LifelineReady) -> None:
        run = self.reader.run
        if run is None or run.id != message.run_id:
            return
        self.lifelines[message.lane, message.text] = message.lifeline
        from .over.find import Find

        if isinstance(self.app.screen, Find):
            self.app.screen.arrived()
        elif message.text in self.pins:
            self.redraw()


def _shown(infos: tuple[RunInfo, ...]) -> list[tuple[bool, str]]:
    """What the run screen itself shows of the other runs: how many can be read and are live."""
    return [(info.problem is None, info.status) for info in infos]


def _tape(run: Run) -> Tape | None:
    if not run.lanes or not run.main.steps:
        return None
    from agentmem.tape import PromptView

    prompt = run.main.steps[0].prompt
    return prompt.tape if isinstance(prompt, PromptView) else None
