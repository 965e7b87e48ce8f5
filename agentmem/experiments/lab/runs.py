"""Both runs of the lab as recorded runs, so that they can be opened side by side in the inspector."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from agentmem.experiments.keep import Save, write
from agentmem.experiments.lab.turns import ITERATIONS, Turn, goal, state_run, string_run
from agentmem.tokens import chars4

STRING_RUN, STATE_RUN = "lab-string", "lab-state"


def write_runs(
    folder: str | os.PathLike[str], iterations: int = ITERATIONS, *, clock: Callable[[], float] = time.time
) -> list[Path]:
    """Writes `lab-string` and `lab-state` and returns their checkpoints, in that order.

    Raises ValueError for too few or too many iterations before anything is written, ConflictError if other runs of
    these ids stand in the folder, SaveError if a run could not be written.
    """
    runs = {STRING_RUN: string_run(iterations), STATE_RUN: state_run(iterations)}
    wanted = goal(iterations)
    return [write(folder, name, wanted, _saves(turns), _end(turns), clock=clock) for name, turns in runs.items()]


def _saves(turns: Sequence[Turn]) -> Iterator[Save]:
    before: Turn | None = None
    for turn in turns:
        yield Save(
            prompt=list(turn.prompt),
            said=list(turn.reply),
            state=turn.state,
            drops=[*_replaced(before, turn), *turn.drops] or None,
            heard=list(turn.new),
        )
        before = turn


def _replaced(before: Turn | None, turn: Turn) -> list[dict[str, object]]:
    """The report that the bounded run takes out of its prompt for the next one: its own doing, so it is recorded."""
    if before is None or turn.state is None:
        return []
    text = before.prompt[0]["content"]
    record = "the run's own rule: one report at a time"
    return [{"what": "segment", "name": f"report of {before.action.meter}", "text": text, "tokens": chars4(text),
             "cause": "replaced", "record": record}]  # fmt: skip


def _end(turns: Sequence[Turn]) -> str:
    at = next((turn.n for turn in turns if not turn.on_goal), None)
    return "done, on goal" if at is None else f"done, off goal from {at}"
