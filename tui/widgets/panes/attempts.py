"""All attempts of a lane in order, with how often each call was made before and what its result did. Pure.

Kept while a run grows: what was counted stays, only the newest steps are looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentmem.model import Attempt, Lane, Step

OPEN_END = 2
"""Newest steps whose attempts may still change (a result that comes late)."""


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """An attempt with its place among equal calls."""

    attempt: Attempt
    times: int
    """1 for the first call with this signature."""
    before: Attempt | None
    """The newest earlier one with the same signature."""


class AttemptTable:
    """Attempts of one lane, by place from the oldest."""

    def __init__(self) -> None:
        self._steps: tuple[Step, ...] = ()
        self._settled: list[Counted] = []
        self._fresh: list[Counted] = []
        self._counts: dict[str, tuple[int, Attempt]] = {}

    def take(self, lane: Lane) -> None:
        """Bring the table to the lane as it stands now."""
        settled = max(0, len(self._steps) - OPEN_END)
        if settled > len(lane.steps) or self._steps[:settled] != lane.steps[:settled]:
            self._settled, self._counts, settled = [], {}, 0
        end = max(settled, len(lane.steps) - OPEN_END)
        for step in lane.steps[settled:end]:
            for attempt in step.attempts:
                self._settled.append(_counted(attempt, self._counts))
        counts: dict[str, tuple[int, Attempt]] = {}
        self._fresh = []
        for step in lane.steps[end:]:
            for attempt in step.attempts:
                if attempt.signature not in counts and attempt.signature in self._counts:
                    counts[attempt.signature] = self._counts[attempt.signature]
                self._fresh.append(_counted(attempt, counts))
        self._steps = lane.steps if end == len(lane.steps) - OPEN_END else lane.steps[: end + OPEN_END]

    def __len__(self) -> int:
        return len(self._settled) + len(self._fresh)

    def __getitem__(self, place: int) -> Counted:
        if place < len(self._settled):
            return self._settled[place]
        return self._fresh[place - len(self._settled)]

    def place_of(self, n: int) -> int | None:
        """Place of the last attempt at or before step n."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self[middle].attempt.n <= n:
                low = middle + 1
            else:
                high = middle
        return low - 1 if low else None


def _counted(attempt: Attempt, counts: dict[str, tuple[int, Attempt]]) -> Counted:
    times, before = counts.get(attempt.signature, (0, None))
    counts[attempt.signature] = (times + 1, attempt)
    return Counted(attempt, times + 1, before)
