"""One task of the water-meter experiment, step by step: the scripted agent, its state and the window over both.

State and trace share the window; only state can be dropped, oldest field first, and nothing says so but the
error of the tool that needs the field later. No model is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentmem.experiments.experiment import tools, world
from agentmem.experiments.experiment.tools import Answer, Arguments, Value
from agentmem.tokens import pieces5

MAX_STEPS = 8
TRACE_FIRST, TRACE_PER_CALL = 60, 22
"""Trace load of the first call, and what every further call adds, in pieces."""
_FINISH, _RIGHT_FIRST, _RIGHT_LESS, _RIGHT_LEAST = 0.88, 0.80, 0.09, 0.34
"""Chance to end a finished task; chance to choose the right tool first, less a step done, and at least."""
_RESULT_OF = {"tuketim": "m3", "tarife": "tutar", "belge_ara": "kod"}
"""The field of a tool's answer that becomes `sonuc`."""


@dataclass(frozen=True, slots=True)
class Call:
    """A step that called a tool."""

    n: int
    """From 1 in the task."""
    tool: str
    held: Mapping[str, Value]
    """The state that the call carried, in the order in which the fields entered, after dropping."""
    state: int
    """Pieces of that state; likewise trace, of the work so far."""
    trace: int
    dropped: tuple[tuple[str, Value], ...]
    """Fields dropped before this call to fit the window, in the order in which they left."""
    arguments: Arguments
    result: Answer
    right: bool
    """The tool was the next one of the task's sequence, and answered."""
    after: Mapping[str, Value]
    """The state after the answer."""

    @property
    def total(self) -> int:
        return self.state + self.trace

    @property
    def error(self) -> str | None:
        return str(self.result["hata"]) if "hata" in self.result else None


@dataclass(frozen=True, slots=True)
class Trace:
    """A task from beginning to end."""

    task: world.Task
    window: int | None
    seed_offset: int
    start: Mapping[str, Value]
    """The state before the first call."""
    calls: tuple[Call, ...]
    ended: bool
    """The agent ended the task itself, with one more step that calls nothing; else it ran out of steps."""

    @property
    def steps(self) -> int:
        return len(self.calls) + self.ended

    @property
    def answer(self) -> Value:
        return (self.calls[-1].after if self.calls else self.start).get("sonuc")

    @property
    def correct(self) -> bool:
        return self.answer == self.task.answer

    @property
    def fits(self) -> int:
        """Calls before the first drop; all calls if nothing was dropped."""
        return next((i for i, call in enumerate(self.calls) if call.dropped), len(self.calls))


def simulate(task: str, window: int | None = None, seed_offset: int = 0) -> Trace:
    """Plays one task (`G01` .. `G24`) under a window in pieces, None for an unlimited one.

    Raises ValueError for an unknown task or a negative window.
    """
    check_window(window)
    job, names = world.task(task), tuple(world.data().tools)
    draw = world.rng((world.data().seed + seed_offset) ^ world.fnv1a(job.name))
    start: dict[str, Value] = {"abone": job.subscriber, "anahtar": job.request, "sutun": "bedel"}
    state, calls, done, ended = dict(start), list[Call](), 0, False
    for n in range(1, MAX_STEPS + 1):
        expected = job.sequence[done] if done < len(job.sequence) else None
        chance = draw()
        if expected is None:
            if chance < _FINISH:
                ended = True
                break
            tool = names[int(draw() * len(names))]
        elif chance < max(_RIGHT_LEAST, _RIGHT_FIRST - _RIGHT_LESS * done):
            tool = expected
        else:
            tool = names[int(draw() * len(names))]
        if tool == "kayit_yaz":
            state["deger"] = state.get("sonuc")
        trace = TRACE_FIRST + TRACE_PER_CALL * len(calls)
        dropped = _fit(state, trace, window)
        held, given = dict(state), tools.arguments(tool, state)
        result = tools.call(tool, given)
        right = "hata" not in result and tool == expected
        if "hata" not in result:
            state.update(result)
            if tool in _RESULT_OF:
                state["sonuc"] = result[_RESULT_OF[tool]]
        done += right
        calls.append(Call(n, tool, held, load(held), trace, dropped, given, result, right, dict(state)))
    return Trace(job, window, seed_offset, start, tuple(calls), ended)


def load(state: Mapping[str, Value]) -> int:
    """Pieces of a state: each field counts as `name : value`."""
    return sum(pieces5(f"{name} : {value}") for name, value in state.items())


def check_window(window: int | None) -> None:
    """Raises ValueError for a window that is negative."""
    if window is not None and window < 0:
        raise ValueError(f"window {window}: a window is a number of tokens, 0 or more, or unlimited")


def _fit(state: dict[str, Value], trace: int, window: int | None) -> tuple[tuple[str, Value], ...]:
    """Drops the fields that entered first until state and trace fit, or one field is left; returns what it dropped."""
    dropped = list[tuple[str, Value]]()
    while window is not None and len(state) > 1 and load(state) + trace > window:
        oldest = next(iter(state))
        dropped.append((oldest, state.pop(oldest)))
    return tuple(dropped)
