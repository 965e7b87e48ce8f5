"""What the lost pane lists, in its order: unrecorded losses first, then the others, newest first. Pure.

Built once a run from the steps that lost something; nothing here knows a width.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Literal

import msgspec

from agentmem.inspect.telling.fold import Fold, parted
from agentmem.inspect.telling.left import cannot_tell, nothing_lost, still_held
from agentmem.inspect.telling.marks import cut
from agentmem.model import KINDS, Boundary, Drop, Run, Step, Survival
from agentmem.tape import PromptView

from ...index import LaneIndex
from .columns import count


class Loss(msgspec.Struct, frozen=True, eq=False):
    """One row of the pane, with what stands under it."""

    sort: Literal["drop", "boundary", "fold", "gap"]
    lane: str
    n: int
    """Of a fold: its first step."""
    step: int
    drop: Drop | None = None
    boundary: Boundary | None = None
    survival: Survival | None = None
    pieces: tuple[Drop, ...] = ()
    """For a boundary: what it took, in order."""
    words: str = ""
    fold: Fold | None = None
    """A fold, or the open one that this drop stands in."""
    held: bool = False
    """Of a drop: the state of that step holds it, the prompt does not."""

    @property
    def alarming(self) -> bool:
        return self.drop is not None and self.drop.alarming

    @property
    def unrecorded(self) -> bool:
        first = self.drop if self.fold is None else self.fold.first
        return first is not None and not first.recorded

    @property
    def inside(self) -> bool:
        """Whether it is one row of an open fold."""
        return self.sort == "drop" and self.fold is not None

    @property
    def newest(self) -> int:
        """n that gives its place in the list."""
        return self.n if self.fold is None else self.fold.last.n


Made = dict[int, tuple[Step, Survival | None, Sequence[Loss]]]
"""Rows by step, kept while a run grows."""


def losses(run: Run, index: LaneIndex, made: Made | None = None) -> tuple[Loss, ...]:
    """All rows of one lane, folds closed. Silent losses that have not come back are first of all. `made`: rows of
    before, by step."""
    made = {} if made is None else made
    lane = index.lane
    survivals = {survival.n: survival for survival in run.survivals if survival.lane == lane.id}
    places = sorted({*index.single, *index.jumps.get("boundary", ()), *survivals}, reverse=True)
    inside = {id(drop) for fold in index.folds for drop in fold.drops}
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
            if loss.drop is None or id(loss.drop) not in inside:
                (alarms if loss.alarming else unrecorded if loss.unrecorded else rest).append(loss)
    alarms.sort(key=lambda loss: loss.drop is not None and loss.drop.returned_at is not None)
    for fold in index.folds:
        row = Loss("fold", lane.id, fold.first.n, fold.first.step, fold=fold)
        (unrecorded if row.unrecorded else rest).append(row)
    if index.folds:
        unrecorded.sort(key=lambda loss: -loss.newest)
        rest.sort(key=lambda loss: -loss.newest)
    gaps = [
        Loss("gap", lane.id, 0, gap.after, words=f"{count(gap.missing, 'step')} not seen between {gap.after} and "
             f"{gap.before}: what was lost in them is unknown")
        for gap in run.gaps if gap.lane == lane.id
    ]  # fmt: skip
    return (*alarms, *unrecorded, *rest, *reversed(gaps))


def _of_step(step: Step, survival: Survival | None) -> Sequence[Loss]:
    boundary = step.boundary if cut(step) else survival.boundary if survival is not None else None
    taken, single = parted(step)
    rows = [Loss("drop", step.lane, step.n, step.number, drop, held=still_held(drop, step)) for drop in single]
    if boundary is not None:
        rows.append(Loss("boundary", step.lane, step.n, step.number, boundary=boundary, survival=survival,
                         pieces=tuple(taken)))  # fmt: skip
    return rows


def unfolded(rows: Sequence[Loss], opened: Container[object]) -> tuple[Loss, ...]:
    """The rows with what open folds hold behind each of them, newest first."""
    shown: list[Loss] = []
    for row in rows:
        shown.append(row)
        if row.fold is not None and row.fold.ident in opened:
            shown += [Loss("drop", row.lane, drop.n, drop.step, drop, fold=row.fold)
                      for drop in reversed(row.fold.drops)]  # fmt: skip
    return tuple(shown)


def nothing_known(run: Run, index: LaneIndex) -> str:
    """What an empty pane says, as `agentmem drops` does."""
    said = nothing_lost(run, (index.lane,))
    more = [why for why in cannot_tell(run) if said.startswith("No drops")]
    return " ".join([said, *(f"{why[0].upper()}{why[1:]}." for why in more)])

def same(one: Loss, other: Loss) -> bool:
    """Whether both rows are of the same loss, before and after the run grew."""
    if one is other:
        return True
    if (one.sort, one.lane, one.n, one.step) != (other.sort, other.lane, other.n, other.step):
        return one.fold is not None and other.fold is not None and one.fold.ident == other.fold.ident
    if one.drop is None or other.drop is None:
        return True
    return (one.drop.name, one.drop.segment) == (other.drop.name, other.drop.segment)


def made_by(run: Run, loss: Loss) -> tuple[str, int] | None:
    """(lane, piece) of what a boundary put in the place of what it took: its record is that of the boundary. Where it
    put nothing there, of the newest piece that came with it; None: nothing came."""
    steps = run.lane(loss.lane).steps
    prompt = steps[loss.n - 1].prompt if 1 <= loss.n <= len(steps) else None
    stub = next((drop.stub for drop in loss.pieces if drop.stub is not None), None)
    if stub is None and isinstance(prompt, PromptView):
        came = [ident for ident in prompt.tape.came(loss.n) if prompt.tape.segment(ident).where is not None]
        summaries = [ident for ident in came if KINDS[prompt.tape.kinds[ident]] == "summary"]
        stub = next(iter(summaries), came[-1] if came else None)
    return None if stub is None else (loss.lane, stub)

