"""What the tests follow instead of files: runs made by hand, handed to the app as the worker would hand them."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentmem.model import Lifeline, Run, RunInfo


@dataclass(frozen=True)
class RunChanged:
    run: Run


@dataclass(frozen=True)
class RunsChanged:
    infos: tuple[RunInfo, ...]


@dataclass(frozen=True)
class TextReady:
    run_id: str
    lane: str
    segment_id: int
    text: str | None
    note: str = ""


@dataclass(frozen=True)
class RawReady:
    run_id: str
    lane: str
    segment_id: int
    raw: str
    path: str
    line: int | None


@dataclass(frozen=True)
class LifelineReady:
    run_id: str
    lane: str
    text: str
    lifeline: Lifeline


@dataclass(frozen=True)
class Trouble:
    text: str


@dataclass(frozen=True)
class Progress:
    done: int
    total: int


class Played:
    """Emits what it is given, then what is played, until it is stopped. Answers questions about the newest run."""

    def __init__(self, *runs: Run) -> None:
        self._events: queue.Queue[object] = queue.Queue()
        self._runs = {run.id: run for run in runs}
        self.chosen: list[str] = []
        self.asked: list[tuple[str, tuple[int, ...]]] = []
        self.failure: Exception | None = None
        if runs:
            self.play(RunChanged(runs[0]))
        self.play(RunsChanged(tuple(RunInfo(run.id, run.path, run.format, None, run.status) for run in runs)))

    def play(self, *events: object) -> None:
        for event in events:
            if isinstance(event, RunChanged):
                self._runs[event.run.id] = event.run
                self._open = event.run
            self._events.put(event)

    def run(self, emit: Callable[[object], None], stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                event = self._events.get(timeout=0.02)
            except queue.Empty:
                continue
            if isinstance(event, Exception):
                raise event
            emit(event)

    def choose(self, run_id: str) -> None:
        self.chosen.append(run_id)
        self.play(RunChanged(self._runs[run_id.rpartition("#")[2]]))

    def ask_text(self, lane: str, segment_ids: Sequence[int]) -> None:
        self.asked.append((lane, tuple(segment_ids)))

    def ask_raw(self, lane: str, segment_id: int) -> None:
        self.play(RawReady(self._open.id, lane, segment_id, '{"role": "assistant"}', "/tmp/run.jsonl", 12))

    def ask_lifeline(self, lane: str, text: str) -> None:
        steps = len(self._open.lane(lane).steps)
        if text == "A-1041" and steps == 31:
            line = Lifeline(text, lane, 1, "   " + "━" * 25 + "▲✗·", ((4, 28),), needed=(30,), alarms=(29,))
        elif text == "pytest":
            line = Lifeline(text, lane, 1, " " * 5 + "━" * (steps - 5), ((6, steps),))
        else:
            line = Lifeline(text, lane, 1, " " * steps)
        self.play(LifelineReady(self._open.id, lane, text, line))
