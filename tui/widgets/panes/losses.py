"""What the lost pane lists, in its order: unrecorded losses first, then the others, newest first. Pure.

Built once a run from the steps that lost something; nothing here knows a width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agentmem.model import Boundary, Drop, Run, Step, Survival

from ...index import LaneIndex
from .columns import count

FOLDING = frozenset({"compacted", "summarised", "trimmed", "rewritten", "silent", "removed"})
"""Causes of segment drops that a boundary row stands for when they happen at its step."""


@dataclass(frozen=True, slots=True, eq=False)
class Loss:
    """One row of the pane, with what stands under it."""

    sort: Literal["drop", "boundary", "gap"]
    lane: str
    n: int
    step: int
    drop: Drop | None = None
    boundary: Boundary | None = None
    survival: Survival | None = None
    pieces: tuple[Drop, ...] = ()
    """For a boundary: what it took, in order."""
    words: str = ""

    @property
    def alarming(self) -> bool:
        return self.drop is not None and self.drop.alarming

    @property
    def unrecorded(self) -> bool:
        return self.drop is not None and not self.drop.recorded


Made = dict[int, tuple[Step, Survival | None, Sequence[Loss]]]
"""Rows by step, kept while a run grows."""


def losses(run: Run, index: LaneIndex, made: Made | None = None) -> tuple[Loss, ...]:
    """All rows of one lane. Silent losses that have not come back are first of all. `made`: rows of before, by step."""
    made = {} if made is None else made
    lane = index.lane
    survivals = {survival.n: survival for survival in run.survivals if survival.lane == lane.id}
    places = sorted({*index.jumps.get("drop", ()), *index.jumps.get("boundary", ()), *survivals}, reverse=True)
    alarms: list[Loss] = []
    unrecorded: list[Loss] = []
    rest: list[Loss] = []
    for n in places:
        if not 1 <= n <= len(lane.steps):
            continue
        step = lane.steps[n - 1]
        survival = survivals.get(n)
        kept = made.get(n)
        if kept is None or kept[0] is not step or kept[1] is not survival:
            kept = made[n] = (step, survival, _of_step(step, survival))
        for loss in kept[2]:
            (alarms if loss.alarming else unrecorded if loss.unrecorded else rest).append(loss)
    alarms.sort(key=lambda loss: loss.drop is not None and loss.drop.returned_at is not None)
    gaps = [
        Loss("gap", lane.id, 0, gap.after, words=f"{count(gap.missing, 'step')} not seen between {gap.after} and "
             f"{gap.before}: what was lost in them is unknown")
        for gap in run.gaps if gap.lane == lane.id
    ]  # fmt: skip
    return (*alarms, *unrecorded, *rest, *reversed(gaps))


def _of_step(step: Step, survival: Survival | None) -> Sequence[Loss]:
    found = step.boundary if step.boundary is not None and step.boundary.kind not in ("resume", "fork") else None
    boundary = found or (survival.boundary if survival is not None else None)
    taken: list[Drop] = []
    single: list[Drop] = []
    for drop in step.drops:
        folds = boundary is not None and drop.what == "segment" and not drop.alarming and drop.cause in FOLDING
        (taken if folds else single).append(drop)
    rows = [Loss("drop", step.lane, step.n, step.number, drop) for drop in single]
    if boundary is not None:
        rows.append(Loss("boundary", step.lane, step.n, step.number, boundary=boundary, survival=survival,
                         pieces=tuple(taken)))  # fmt: skip
    return rows


def boundary_word(boundary: Boundary) -> str:
    words = {"compaction": "compacted", "condensation": "condensed", "trim": "trimmed", "prune": "pruned",
             "rewind": "rewound", "rewrite": "rewritten"}  # fmt: skip
    return words.get(boundary.kind, boundary.kind)


def nothing_lost(run: Run, index: LaneIndex) -> str:
    """What an empty pane says: never "no drops" where the file cannot tell."""
    steps = sum(not step.open for step in index.steps[-1:]) + max(0, len(index.steps) - 1)
    if run.provenance == "partial":
        if not index.steps:
            return "Unknown: this format keeps no prompt."
        if any(len(step.prompt) for step in index.steps[-1:]):
            return "Unknown: what the model saw is not in this file. The prompts shown are only what the file suggests."
        return f"Unknown: this format keeps no prompt for steps {index.steps[0].number} to {index.steps[-1].number}."
    if not steps:
        return "No step has finished yet: nothing can have been lost."
    sentence = f"No drops in {count(steps, 'step')}."
    if run.provenance == "reconstructed":
        sentence += " What was left out before the file was written cannot be told from it."
    return sentence
