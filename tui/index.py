"""What the screens of one run share, computed once a run in the worker: sizes, marks and places to jump to, by lane.

Nothing here is drawn; nothing on the UI thread needs to loop over all steps because of it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from agentmem.inspect.telling.circles import together
from agentmem.inspect.telling.fold import Fold, Streams, foldable, folds, loose, streams
from agentmem.inspect.telling.marks import (
    BOUNDARY,
    CHANGED,
    CYCLE,
    DROPPED,
    ERROR,
    LEFT,
    SILENT,
    WAITING,
    Numbers,
    cut,
    goal_left,
    mark_of,
    overlay,
)
from agentmem.inspect.telling.marks import GLYPHS as SIGNS

if TYPE_CHECKING:
    from agentmem.inspect.telling.verdict import Verdict
    from agentmem.model import Cycle, Drop, GoalStatus, Lane, Lifeline, Run, Step, Tokens

GLYPHS: Mapping[int, tuple[str, str]] = {
    bit: (SIGNS[bit], role) for bit, role in (
        (SILENT, "text-error"), (BOUNDARY, "text-primary"), (CYCLE, "text-warning"), (ERROR, "text-error"),
        (CHANGED, "text-warning"), (DROPPED, "text-warning"), (LEFT, "label"), (WAITING, "label"),
    )
}  # fmt: skip
"""bit -> (glyph, role), worst first."""
UNKNOWN = -1
SHOWN_LIFELINES = 3
FILLED_BELOW = 2_000
"""Steps up to which a calm run's fields get lifelines too: all fields of a lane are walked through for it."""


def worst(mask: int) -> int:
    """The worst single bit of a mask; 0 if it has none."""
    return 1 << (mask.bit_length() - 1) if mask else 0


def glyphs(mask: int) -> tuple[tuple[str, str], ...]:
    """(glyph, role) of all marks, worst first."""
    return tuple(shown for bit, shown in GLYPHS.items() if mask & bit)


class LaneIndex(msgspec.Struct, frozen=True, eq=False):
    """Of one lane; position n - 1 everywhere."""

    lane: Lane
    sizes: array[int]
    """Prompt tokens a step, reported if the provider said so, else estimated or counted; -1: unknown."""
    base: bytearray
    """Marks that come from the step alone."""
    marks: bytearray
    """All marks, cycles and waiting included."""
    letters: Mapping[int, str]
    """n -> letter of the member of the cycle it belongs to."""
    largest: tuple[int, int]
    """(tokens, n) of the largest prompt; (0, 0) if no size is known."""
    largest_trace: int
    """Tokens of the largest trace on the scale of `sizes`, as far as the file tells its parts; likewise the state."""
    largest_state: int
    largest_closed: tuple[int, int]
    """(trace, state) likewise of the closed steps: those of the open one may be smaller once it is called."""
    scaled: bool
    """Whether the parts of every prompt can be brought to the scale of `sizes`; else they are as counted."""
    jumps: Mapping[str, tuple[int, ...]]
    """`error drop boundary cycle` -> n in order; of `drop` also apart `named` (what may not be folded, or a boundary's)
    and without a silent loss `recorded` and `unrecorded`."""
    streams: Streams
    folds: tuple[Fold, ...]
    """Losses that recur step after step, by their first step."""
    single: tuple[int, ...]
    """n of the steps that lost something which is in no fold, in order."""
    losing: tuple[int, int]
    """How many steps without a silent loss that lost something on record, and those where nobody recorded any of it."""
    alarms: tuple[Drop, ...]
    """Silent drops in order."""
    goals: tuple[tuple[int, GoalStatus], ...]
    """(n, status) wherever the goal's status becomes another."""
    pending: int
    """Steps that are not closed: 1 if the last is the open one."""

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.lane.steps

    def size(self, n: int) -> int | None:
        value = self.sizes[n - 1]
        return None if value == UNKNOWN else value

    def sign(self, n: int, counter: str) -> str:
        """`≈` before `size` where it is only an estimate."""
        from agentmem.inspect.measure import is_rough, reported

        step, size = self.steps[n - 1], self.size(n)
        source = "reported" if reported(step) else "counted" if size == step.tokens.prompt else "estimated"
        return "≈" if size is not None and is_rough(step, source, counter) else ""

    def parts(self, n: int) -> Tokens:
        """State, trace and fixed tokens on the scale of `size`; as counted where parts of the prompt are not in the
        file."""
        # The values are there by now; the first paint, which imports this module, does without them.
        from agentmem.inspect.measure import scaled_to

        tokens = self.steps[n - 1].tokens
        return scaled_to(tokens, self.size(n)) or tokens

    def mask(self, n: int) -> int:
        return self.marks[n - 1]

    def n_of(self, number: int) -> int | None:
        """n of the step that the screen calls `number`; None if there is none."""
        place = bisect_left(self.lane.steps, number, key=lambda step: step.number)
        if place < len(self.lane.steps) and self.lane.steps[place].number == number:
            return place + 1
        return None

    def nearest(self, number: int) -> int:
        """n of the step nearest to `number` from below, at least 1."""
        return max(1, bisect_right(self.lane.steps, number, key=lambda step: step.number))

    def goal_since(self, n: int) -> int:
        """n since which the goal has the status that it has at step n."""
        place = bisect_right(self.goals, n, key=lambda entry: entry[0])
        if not place:
            return n
        first, status = self.goals[place - 1]
        return goal_left(self.steps, first) if status == "missing" else first

    def fold_at(self, n: int, opened: Container[object] = ()) -> Fold | None:
        """The closed fold that begins at n, if all that step n lost is in folds."""
        if n in self.single:
            return None
        return next((fold for fold in self.folds if fold.first.n == n and fold.ident not in opened), None)

    def places(self, kind: str, opened: Container[object] = ()) -> Sequence[int]:
        """Where a jump of that kind leads, in order. A fold is one place, its first step, unless its ident is in
        `opened`."""
        if kind != "drop" or not self.folds:
            return self.jumps.get(kind, ())
        found = set(self.single)
        for fold in self.folds:
            found.update(fold.steps if fold.ident in opened else (fold.first.n,))
        return sorted(found)

    def jump(self, kind: str, n: int, newer: bool, here: bool, opened: Container[object] = ()) -> int | None:
        """The newest place of that kind before n (at n too if `here`), or the oldest after it."""
        places = self.places(kind, opened)
        if newer:
            after = bisect_right(places, n)
            return places[after] if after < len(places) else None
        before = (bisect_right if here else bisect_left)(places, n)
        return places[before - 1] if before else None


class Index(msgspec.Struct, frozen=True, eq=False):
    run: Run
    lanes: Mapping[str, LaneIndex]
    verdict: Verdict
    lifelines: Mapping[str, tuple[Lifeline, ...]]
    """By lane, what the strip shows: the goal first, then the lost fields, the worst first."""

    def __getitem__(self, lane: str) -> LaneIndex:
        return self.lanes[lane]

    @property
    def alarms(self) -> tuple[Drop, ...]:
        """Silent drops of the whole run, by lane and step."""
        return tuple(drop for lane in self.lanes.values() for drop in lane.alarms)

    @property
    def unresolved(self) -> tuple[Drop, ...]:
        """Silent drops that have not come back."""
        return tuple(drop for drop in self.alarms if drop.returned_at is None)

    @property
    def circles(self) -> int:
        """How many things were gone round: a circle and its return count once."""
        return len(together(self.run.cycles))

    @property
    def turning(self) -> tuple[Cycle, ...]:
        return tuple(cycle for cycle in self.run.cycles if cycle.ended_at is None)


def build(run: Run, previous: Index | None = None) -> Index:
    """The index of a run; what has not changed since `previous` is taken over (steps are compared by identity)."""
    from agentmem.inspect.telling.verdict import verdict

    old = previous.lanes if previous is not None and previous.run.id == run.id else {}
    lanes = {lane.id: _lane(run, lane, old.get(lane.id)) for lane in run.lanes}
    return Index(run, lanes, verdict(run), {lane.id: _lifelines(run, lane, lanes[lane.id]) for lane in run.lanes})


def _lifelines(run: Run, lane: Lane, index: LaneIndex) -> tuple[Lifeline, ...]:
    """The goal and the worst lost fields: silent and missed first, then silent, then the newest; after them fields
    that were lost on record or still stand, so that no row stays empty where there is a state."""
    from agentmem.inspect.lifelines import field_lifelines, goal_lifeline

    shown = [goal_lifeline(run, lane.id)]
    lost = sorted(index.alarms, key=lambda drop: (bool(drop.missed_by), drop.returned_at is None, drop.n))
    held = lane.steps[-1].fields if lane.steps else ()
    if not lost and (not held or len(lane.steps) > FILLED_BELOW):
        return tuple(shown)
    every = field_lifelines(run, lane.id)
    by_name = {line.name: line for line in every}
    others = [line for line in every if line.name.startswith("facts.")]
    for found in (*(by_name.get(drop.name) for drop in reversed(lost)), *others):
        if found is not None and found not in shown:
            shown.append(found)
        if len(shown) == SHOWN_LIFELINES:
            break
    return tuple(shown)


def _lane(run: Run, lane: Lane, old: LaneIndex | None) -> LaneIndex:
    # Not needed for the first paint, which would pay for the values.
    from agentmem.inspect.measure import Scale, scaled_to

    same = 0 if old is None else _common(old.lane.steps, lane.steps)
    sizes: array[int] = array("q")
    base = bytearray()
    kinds: dict[str, list[int]] = {
        "error": [], "drop": [], "boundary": [], "named": [], "recorded": [], "unrecorded": [],
    }  # fmt: skip
    alarms: list[Drop] = []
    goals: list[tuple[int, GoalStatus]] = []
    trace = state = 0
    whole = True
    if old is not None and same:
        sizes, base = old.sizes[:same], old.base[:same]
        for kind, places in kinds.items():
            before = old.jumps[kind]
            places.extend(before[: bisect_right(before, same)])
        alarms.extend(drop for drop in old.alarms if drop.n <= same)
        goals.extend(entry for entry in old.goals if entry[0] <= same)
        (trace, state), whole = old.largest_closed, old.scaled
        if same < len(old.steps) - old.pending:
            held = [old.parts(n) for n in range(1, same + 1)]
            trace, state = max(part.trace or 0 for part in held), max(part.state or 0 for part in held)
    closed = trace, state
    scale = Scale(lane.steps, same)
    for n, step in enumerate(lane.steps[same:], same + 1):
        # What was not reported is estimated from what was, or it would look like a loss beside it.
        size, counted = scale.size(step)[0], step.tokens.prompt
        scale.add(step)
        sizes.append(UNKNOWN if size is None else size)
        parts = step.tokens
        if size != counted:
            scaled = scaled_to(parts, size)
            whole = whole and (scaled is not None or not counted)
            parts = scaled or parts
        if parts.trace is not None and parts.trace > trace:
            trace = parts.trace
        if parts.state is not None and parts.state > state:
            state = parts.state
        if not step.open:
            closed = trace, state
        mask = mark_of(step)
        base.append(mask)
        if not goals or goals[-1][1] != step.goal:
            goals.append((n, step.goal))
        if mask & ERROR:
            kinds["error"].append(n)
        if step.drops:
            kinds["drop"].append(n)
            loud = [drop for drop in step.drops if drop.alarming]
            alarms.extend(loud)
            if cut(step) or not all(map(foldable, step.drops)):
                kinds["named"].append(n)
            if not loud:
                kinds["recorded" if any(drop.recorded for drop in step.drops) else "unrecorded"].append(n)
        if mask & BOUNDARY:
            kinds["boundary"].append(n)
    marks = bytearray(base)
    numbers = Numbers(lane.steps)
    letters = overlay(run, lane.id, marks, numbers)
    named = [numbers.n_of(cycle.warned_at) or 1 for cycle in run.cycles if cycle.lane == lane.id]
    jumps = {kind: tuple(places) for kind, places in kinds.items()}
    jumps["cycle"] = tuple(sorted(set(named)))
    most = max(sizes, default=0)
    largest = (most, sizes.index(most) + 1) if most > 0 else (0, 0)
    found = streams(lane.steps[same:], None if old is None else old.streams, same)
    folded = folds(found)
    single = tuple(sorted({*kinds["named"], *loose(found)}))
    losing = len(kinds["recorded"]), len(kinds["unrecorded"])
    waits = int(bool(lane.steps) and lane.steps[-1].open)
    return LaneIndex(
        lane, sizes, base, marks, letters, largest, trace, state, closed, whole, jumps, found, folded, single,
        losing, tuple(alarms), tuple(goals), waits,
    )  # fmt: skip


def _common(old: tuple[Step, ...], new: tuple[Step, ...]) -> int:
    """How many steps at the start are the very same values."""
    low, high = 0, min(len(old), len(new))
    if old[:high] == new[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
