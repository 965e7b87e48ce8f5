"""The app's one worker: `agentmem.inspect.watch` in a thread, its events turned into messages.

Everything that loops over steps or reads a file happens here, so that the screen never waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from textual.message import Message

from agentmem.model import Lifeline, Run, RunInfo

from .index import Index, build
from .messages import LifelineReady, Progress, RawReady, RunChanged, RunsChanged, TextReady, Trouble


class Source(Protocol):
    """What the worker follows: `agentmem.inspect.watch.Watch`, or in tests runs made by hand."""

    def run(self, emit: Callable[[Any], None], stop: threading.Event) -> None:
        """Blocks; every event goes through `emit`."""

    def choose(self, run_id: str) -> None: ...

    def ask_text(self, lane: str, segment_ids: Sequence[int]) -> None: ...

    def ask_raw(self, lane: str, segment_id: int) -> None: ...

    def ask_lifeline(self, lane: str, text: str) -> None: ...


class Follower:
    """Runs a source and posts what comes of it. `post` must be safe from another thread."""

    def __init__(self, source: Source, post: Callable[[Message], object]) -> None:
        self.source = source
        self.stop = threading.Event()
        self._post = post
        self._index: Index | None = None

    def run(self) -> None:
        """Until `stop` is set. Errors of the source come out as they are: the app says them and starts again."""
        self.source.run(self.emit, self.stop)

    def emit(self, event: object) -> None:
        message = self._message(event)
        if message is not None and not self.stop.is_set():
            self._post(message)

    def _message(self, event: Any) -> Message | None:
        match type(event).__name__:
            case "RunChanged":
                run: Run = event.run
                self._index = build(run, self._index)
                return RunChanged(run, self._index)
            case "RunsChanged":
                infos: tuple[RunInfo, ...] = event.infos
                return RunsChanged(infos)
            case "Progress":
                return Progress(event.done, event.total)
            case "TextReady":
                return TextReady(event.run_id, event.lane, event.segment_id, event.text, event.note)
            case "RawReady":
                return RawReady(event.run_id, event.lane, event.segment_id, event.raw, event.path, event.line)
            case "LifelineReady":
                lifeline: Lifeline = event.lifeline
                return LifelineReady(event.run_id, event.lane, event.text, lifeline)
            case "Trouble":
                return Trouble(event.text)
        return None
