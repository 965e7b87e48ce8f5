"""The app's one worker: `agentmem.inspect.watch` in a thread, its events turned into messages.

Everything that loops over steps or reads a file happens here, so that the screen never waits.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import replace
from textual.message import Message

from .messages import LifelineReady, Progress, RawReady, RunChanged, RunsChanged, TextReady, Trouble

if TYPE_CHECKING:
    from agentmem.model import Lifeline, Run, RunInfo

    from .index import Index


def run_name(run: Run | RunInfo) -> str:
    """The name by which the worker tells runs of the same id in several files apart."""
    return f"{os.path.abspath(run.path)}#{run.id}"


def _figures(run: Run, index: Index) -> dict[str, Any]:
    """Fields of `RunInfo` that only an open run can tell."""
    steps = run.main.steps if run.lanes else ()
    tokens = index[run.main.id].size(len(steps)) if steps else None
    return {"tokens": tokens, "window": run.window, "silent": len(index.alarms), "cycles": index.circles,
            "pending": run.pending is not None}  # fmt: skip


MANY = 2_000
"""Steps from which a run is so many objects that a search for garbage among them stops the screen: 0.5 s for 19,000."""


def _settle(run: Run) -> None:
    """What a long run is made of stays as it is until another is opened: take it out of the collector's sight."""
    if sum(len(lane.steps) for lane in run.lanes) >= MANY:
        gc.freeze()


class Source(Protocol):
    """What the worker follows: `agentmem.inspect.watch.Watch`, or in tests runs made by hand."""

    def run(self, emit: Callable[[Any], None], stop: threading.Event) -> None:
        """Blocks; every event goes through `emit`."""

    def choose(self, run_id: str) -> None: ...

    def ask_text(self, lane: str, segment_ids: Sequence[int]) -> None: ...

    def ask_raw(self, lane: str, segment_id: int) -> None: ...

    def ask_lifeline(self, lane: str, text: str) -> None: ...


class Follower:
    """Makes a source in its own thread, runs it and posts what comes of it. `post` must be safe from there."""

    def __init__(self, make: Callable[[], Source], post: Callable[[Message], object]) -> None:
        self.stop = threading.Event()
        self._make, self._post = make, post
        self._source: Source | None = None
        self._waiting: list[Callable[[Source], None]] = []
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._known: dict[str, dict[str, Any]] = {}
        """What the list of runs does not tell of those that were open, by name."""
        self._infos: tuple[RunInfo, ...] = ()
        self._reading = False

    def run(self) -> None:
        """Until `stop` is set. Errors of the source come out as they are: the app says them and starts again."""
        # Making it imports the readers, 75 ms of them: not on the screen's thread.
        source = self._make()
        with self._lock:
            self._source, waiting = source, self._waiting
            self._waiting = []
        for question in waiting:
            question(source)
        source.run(self.emit, self.stop)

    def ask(self, question: Callable[[Source], None]) -> None:
        """Put a question to the source, from any thread; as soon as there is one. Its answer is a message."""
        with self._lock:
            if self._source is None:
                self._waiting.append(question)
                return
        question(self._source)

    def emit(self, event: object) -> None:
        before = dict(self._known)
        message = self._message(event)
        if message is None or self.stop.is_set():
            return
        self._post(message)
        if before != self._known and self._infos:
            # The list tells of a run that was opened what only opening it could tell.
            self._post(RunsChanged(self._enriched()))

    def _message(self, event: Any) -> Message | None:
        match type(event).__name__:
            case "RunChanged":
                from agentmem.inspect.telling.status_line import status_line

                from .index import build

                run: Run = event.run
                other = self._index is None or run_name(self._index.run) != run_name(run)
                index = self._index = build(run, self._index)
                if other or self._reading:
                    _settle(run)
                self._known[run_name(run)] = _figures(run, index)
                return RunChanged(run, index, status_line(run))
            case "RunsChanged":
                self._infos = event.infos
                return RunsChanged(self._enriched())
            case "Progress":
                self._reading = event.done < event.total
                return Progress(event.done, event.total)
            case "TextReady":
                return TextReady(event.run_id, event.lane, event.segment_id, event.text, event.note)
            case "RawReady":
                return RawReady(event.run_id, event.lane, event.segment_id, event.raw, event.path, event.line)
            case "LifelineReady":
                lifeline: Lifeline = self._of_field(event.lane, event.text) or event.lifeline
                return LifelineReady(event.run_id, event.lane, event.text, lifeline)
            case "Trouble":
                return Trouble(event.text)
        return None

    def _enriched(self) -> tuple[RunInfo, ...]:
        return tuple(replace(info, **self._known.get(run_name(info), {})) for info in self._infos)

    def _of_field(self, lane: str, text: str) -> Lifeline | None:
        """Who types the name of a field of the state asks for the field, wherever else the name may stand."""
        if self._index is None or lane not in self._index.lanes:
            return None
        from agentmem.inspect.lifelines import named_lifeline

        return named_lifeline(self._index.run, lane, text)
