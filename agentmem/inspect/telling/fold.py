"""Losses of one kind that recur step after step, as one: a window that slides is one row, not hundreds. Pure.

What alarms and what a call missed is never folded: it is named where it stands.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from agentmem.inspect.telling.left import NAMES, counted
from agentmem.inspect.telling.marks import cut
from agentmem.pattern import pattern

if TYPE_CHECKING:
    from agentmem.model import Drop, Step

TOGETHER = 4
"""So many losses of one kind and cause are one row."""
APART = 4
"""Steps of one row lie at most so far from one another."""
TAKEN = frozenset({"compacted", "summarised", "trimmed", "rewritten", "silent", "removed"})
"""Causes of segment drops that a boundary stands for when they happen at its step."""
_DIGITS = pattern(r"\d+")

Sort = tuple[str, str, bool, str]
"""What, cause, recorded, and the record without its numbers."""
_count, _n, _tokens = attrgetter("count"), attrgetter("n"), attrgetter("tokens")


class Fold(msgspec.Struct, frozen=True, eq=False):
    """Drops of one sort in steps that follow one another, oldest first."""

    sort: Sort
    drops: tuple[Drop, ...]

    @property
    def ident(self) -> tuple[object, ...]:
        """The same as long as the fold only grows."""
        return self.drops[0].lane, self.drops[0].n, *self.sort

    @property
    def first(self) -> Drop:
        return self.drops[0]

    @property
    def last(self) -> Drop:
        return self.drops[-1]

    @property
    def steps(self) -> tuple[int, ...]:
        """n of its steps, in order, each once."""
        return tuple(dict.fromkeys(map(_n, self.drops)))

    @property
    def count(self) -> int:
        return sum(map(_count, self.drops))

    @property
    def tokens(self) -> int | None:
        known = [tokens for tokens in map(_tokens, self.drops) if tokens is not None]
        return sum(known) if known else None

    @property
    def returned(self) -> int:
        """How many came back."""
        return sum(drop.count for drop in self.drops if drop.returned_at is not None)

    def covers(self, n: int) -> bool:
        place = bisect_left(self.drops, n, key=lambda drop: drop.n)
        return place < len(self.drops) and self.drops[place].n == n

    @property
    def where(self) -> str:
        """`step 10`, `steps 12-240`."""
        first, last = self.first.step, self.last.step
        return f"step {first}" if first == last else f"steps {first}-{last}"

    @property
    def what(self) -> str:
        """`458 pieces, 2 a step`, or how many of each kind where that says more."""
        said = counted(self.count, *NAMES[self.sort[0]])
        steps = len(self.steps)
        if steps == 1:
            kinds = Counter(drop.kind for drop in self.drops)
            if self.sort[0] == "segment" and all(drop.count == 1 for drop in self.drops):
                return f"{said}: " + ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
            return said
        whole = steps == self.last.n - self.first.n + 1
        each = self._each()
        if whole and len(each) == 1:
            return f"{said}, {each.pop()} a step"
        return said if whole else f"{said} in {steps:,} of them"

    def _each(self) -> set[int]:
        """How many left at a step, each number once."""
        if len(self.steps) == len(self.drops):
            return set(map(_count, self.drops))
        sums: Counter[int] = Counter()
        for drop in self.drops:
            sums[drop.n] += drop.count
        return set(sums.values())


Streams = dict[Sort, list[Fold]]
"""Everything that may be folded, by sort: runs of steps that follow one another, the short ones too."""


def parted(step: Step) -> tuple[list[Drop], list[Drop]]:
    """(what the boundary of this step took, the other drops: fields, what alarms, what a call missed)."""
    if not cut(step):
        return [], list(step.drops)
    taken: list[Drop] = []
    rest: list[Drop] = []
    for drop in step.drops:
        folds = drop.what == "segment" and drop.cause in TAKEN and not drop.alarming and not drop.missed_by
        (taken if folds else rest).append(drop)
    return taken, rest


def what_left(drops: Sequence[Drop]) -> str:
    """Pieces that left together: `52 pieces: 26 call, 26 result`, which a drop that stands for many has as its name."""
    number = sum(map(_count, drops))
    said = counted(number, *NAMES["segment"])
    if len(drops) == 1 and number > 1:
        return drops[0].name if drops[0].name.startswith(str(number)) else f"{said}: {drops[0].name}"
    if len(drops) < number:
        return said
    return f"{said}: " + ", ".join(f"{times} {kind}" for kind, times in Counter(d.kind for d in drops).most_common())


def streams(steps: Iterable[Step], before: Mapping[Sort, Sequence[Fold]] | None = None, same: int = 0) -> Streams:
    """The runs of one lane. `before`: those of the lane as it was, of which the first `same` steps still stand; then
    `steps` are the ones behind them, and the cost is that of those."""
    found: Streams = {}
    for sort, runs in (before or {}).items():
        kept = list(runs)
        while kept and kept[-1].first.n > same:
            kept.pop()
        if kept and kept[-1].last.n > same:
            drops = kept.pop().drops
            kept.append(Fold(sort, drops[: bisect_right(drops, same, key=_n)]))
        if kept:
            found[sort] = kept
    fresh: dict[Sort, list[Drop]] = {}
    for step in steps:
        if step.drops:
            for drop in parted(step)[1]:
                if foldable(drop):
                    fresh.setdefault(_sort(drop), []).append(drop)
    for sort, added in fresh.items():
        runs = found.setdefault(sort, [])
        run = list(runs.pop().drops) if runs else []
        for drop in added:
            if run and drop.n - run[-1].n > APART:
                runs.append(Fold(sort, tuple(run)))
                run = []
            run.append(drop)
        runs.append(Fold(sort, tuple(run)))
    return found


def foldable(drop: Drop) -> bool:
    return not drop.alarming and not drop.missed_by


def folds(found: Mapping[Sort, Sequence[Fold]]) -> tuple[Fold, ...]:
    """The runs that are one row, by their first step."""
    long = [run for runs in found.values() for run in runs if len(run.drops) >= TOGETHER]
    return tuple(sorted(long, key=lambda fold: fold.first.n))


def loose(found: Mapping[Sort, Sequence[Fold]]) -> set[int]:
    """n of the steps of runs too short to be one row."""
    return {drop.n for runs in found.values() for run in runs if len(run.drops) < TOGETHER for drop in run.drops}


def together(drops: Iterable[Drop]) -> list[Fold]:
    """Drops of one step by sort, however few."""
    found: dict[Sort, list[Drop]] = {}
    for drop in drops:
        found.setdefault(_sort(drop), []).append(drop)
    return [Fold(sort, tuple(alike)) for sort, alike in found.items()]


def _sort(drop: Drop) -> Sort:
    record = _DIGITS.sub("#", drop.record) if drop.record else ""
    return drop.what, drop.cause, drop.recorded, record
