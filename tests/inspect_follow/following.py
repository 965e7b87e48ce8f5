"""A `Watch` at work in a thread, and what it told so far; what a run says, to compare two of them; writers' files."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from agentmem.inspect.watch import Event, LifelineReady, RawReady, RunChanged, RunsChanged, TextReady, Trouble, Watch
from agentmem.inspect.watch.follow import Watcher
from agentmem.model import Run, RunInfo

PATIENCE = 20.0
"""Seconds after which something that does not come has failed. Nothing here is timed."""


class Following:
    """Follows targets while the block lasts. `until` waits for something to be true of what was told."""

    def __init__(self, *targets: Path | str, history: bool = False, watcher: Watcher | None = None) -> None:
        self.watch = Watch([str(target) for target in targets], history=history, watcher=watcher)
        self.events: list[Event] = []
        self._told = threading.Condition()
        self._stop = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            self.watch.run(self._emit, self._stop)
        except Exception as error:  # noqa: BLE001 - it is raised again where the test waits
            self._error = error

    def _emit(self, event: Event) -> None:
        with self._told:
            self.events.append(event)
            self._told.notify_all()

    def __enter__(self) -> Following:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "following does not stop"
        if error is None and self._error is not None:
            raise self._error

    # -- what was told --------------------------------------------------------------------------------------------

    @property
    def runs_told(self) -> list[Run]:
        return [event.run for event in list(self.events) if isinstance(event, RunChanged)]

    @property
    def run(self) -> Run | None:
        told = self.runs_told
        return told[-1] if told else None

    @property
    def infos(self) -> tuple[RunInfo, ...]:
        told = [event.infos for event in list(self.events) if isinstance(event, RunsChanged)]
        return told[-1] if told else ()

    @property
    def trouble(self) -> str:
        told = [event.text for event in list(self.events) if isinstance(event, Trouble)]
        return told[-1] if told else ""

    @property
    def steps(self) -> int:
        return closed(self.run) if self.run is not None else 0

    def answers(self, kind: type[TextReady] | type[RawReady] | type[LifelineReady]) -> list[Any]:
        return [event for event in list(self.events) if isinstance(event, kind)]

    def until(self, what: Callable[[Following], object]) -> None:
        """Wait until it is true of what was told; fail with what was told last."""
        deadline = time.monotonic() + PATIENCE
        with self._told:
            while not what(self):
                if self._error is not None:
                    raise self._error
                left = deadline - time.monotonic()
                if left <= 0:
                    last = [str(event)[:300] for event in self.events[-5:]]
                    raise AssertionError(f"it did not come; trouble {self.trouble!r}; told last: {last}")
                self._told.wait(min(left, 0.2))


def closed(run: Run) -> int:
    """How many steps of the main lane are closed."""
    return sum(not step.open for step in run.main.steps)


def content(run: Run) -> list[object]:
    """What a run says, without times, places and ids that depend on when it was read."""
    out: list[object] = [run.format, run.goal, run.goal_declared, run.provenance, run.model]
    for lane in run.lanes:
        out.append((lane.id, lane.kind))
        for step in lane.steps:
            prompt = [(seg.kind, seg.head, seg.tokens, seg.characters, seg.call_id, seg.field) for seg in step.prompt]
            fields = [(field.name, field.value, field.segment is not None) for field in step.fields]
            attempts = [(a.tool, a.arguments, a.outcome, a.result_head, a.error, a.effect) for a in step.attempts]
            drops = [(d.what, d.name, d.cause, d.recorded, d.returned_at, len(d.missed_by)) for d in step.drops]
            replies = [(seg.kind, seg.head) for seg in step.replies]
            out.append((step.n, step.own, step.open, step.goal, step.notes, prompt, fields, attempts, drops, replies))
    cycles = [(one.kind, one.period, one.steps, one.ended_at) for one in run.cycles]
    return [*out, cycles, [one.steps for one in run.waiting]]


# -- what writers write -----------------------------------------------------------------------------------------------


def messages(steps: int, goal: str = "Count the shelves.") -> list[dict[str, Any]]:
    """A list of so many calls with their results."""
    held: list[dict[str, Any]] = [{"role": "user", "content": goal}]
    for number in range(1, steps + 1):
        call = {"id": f"c{number}", "type": "function",
                "function": {"name": "count", "arguments": json.dumps({"shelf": number})}}  # fmt: skip
        held.append({"role": "assistant", "content": None, "tool_calls": [call]})
        held.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"{number * 7} pieces on {number}"})
    return held


def checkpoint(steps: int, **more: object) -> dict[str, Any]:
    return {"step": steps, "messages": messages(steps), "notes": f"{steps} shelves", **more}


def dump(path: Path, value: object) -> None:
    """As a stranger writes it: the file is empty, then half written, then whole."""
    with path.open("w") as out:
        json.dump(value, out)


def put(path: Path, value: object) -> None:
    """At once: a file beside it takes its place."""
    half = path.with_name(f".{path.name}.tmp")
    half.write_text(json.dumps(value))
    os.replace(half, path)


def request(number: int) -> bytes:
    """A line of a request log: call `number`, with everything before it."""
    said = messages(number)[-2]
    sent = {"model": "gpt-4o-mini", "messages": messages(number - 1)}
    line = {"ts": 1_767_603_600 + number, "request": sent, "response": {"choices": [{"message": said}]}}
    return json.dumps(line).encode() + b"\n"
