"""All attempts of a lane in order, with how often each call was made before and what its result did. Pure.

Kept while a run grows: what was counted stays, only the newest steps are looked at again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

import msgspec

from agentmem.model import Attempt, Lane, Step

OPEN_END = 2
"""Newest steps whose attempts may still change (a result that comes late)."""


class Counted(msgspec.Struct, frozen=True, eq=False):
    """An attempt with its place among equal calls."""

    attempt: Attempt
    times: int
    """1 for the first call with this signature."""
    before: Attempt | None
    """The newest earlier one with the same signature."""


class AttemptTable:
    """Attempts of one lane, by place from the oldest. Which came before which is told when a row is looked at."""

    def __init__(self) -> None:
        self._steps: tuple[Step, ...] = ()
        self._settled = 0
        """Steps whose attempts no longer change."""
        self._attempts: list[Attempt] = []
        self._fixed = 0
        """Attempts of settled steps."""
        self._places: dict[str, list[int]] = {}
        """By signature, in order."""

    def take(self, lane: Lane) -> None:
        """Bring the table to the lane as it stands now."""
        settled = self._settled
        if settled > len(lane.steps) or self._steps[:settled] != lane.steps[:settled]:
            self._attempts, self._places, self._fixed, settled = [], {}, 0, 0
        for attempt in self._attempts[self._fixed :]:
            self._places[attempt.signature].pop()
        del self._attempts[self._fixed :]
        end = max(settled, len(lane.steps) - OPEN_END)
        self._add(lane.steps[settled:end])
        self._fixed = len(self._attempts)
        self._add(lane.steps[end:])
        self._steps, self._settled = lane.steps, end

    def _add(self, steps: Iterable[Step]) -> None:
        fresh = [attempt for step in steps for attempt in step.attempts]
        for place, attempt in enumerate(fresh, len(self._attempts)):
            self._places.setdefault(attempt.signature, []).append(place)
        self._attempts += fresh

    def __len__(self) -> int:
        return len(self._attempts)

    def __getitem__(self, place: int) -> Counted:
        attempt = self._attempts[place]
        alike = self._places[attempt.signature]
        order = bisect_left(alike, place)
        return Counted(attempt, order + 1, self._attempts[alike[order - 1]] if order else None)

    def place_of(self, n: int) -> int | None:
        """Place of the last attempt at or before step n."""
        place = bisect_right(self._attempts, n, key=lambda attempt: attempt.n)
        return place - 1 if place else None
