"""The newest attempts of a lane, and the periods they repeat with."""

from __future__ import annotations

from collections import deque
from itertools import islice

from agentmem.ledger.group import LONGEST, Item, Key

WINDOW = 20
"""Attempts among which equal ones make a repeat."""
KEPT = 2 * LONGEST + 1
"""Attempts that name a cycle of the longest period."""


class History:
    """Takes judged attempts with ordinals that follow one another; bounded, and at most `LONGEST` look-ups each."""

    def __init__(self) -> None:
        self.items: deque[Item] = deque(maxlen=KEPT)
        self.runs: dict[int, int] = {}
        """Period -> how many attempts in a row, up to the newest, equal the one that many attempts before."""
        self._at: dict[Key, list[int]] = {}
        """Key -> ordinals of its attempts among the newest `LONGEST` and one."""

    def add(self, item: Item) -> None:
        now = item.ordinal
        if len(self.items) > LONGEST:
            left = self.items[-LONGEST - 1].key
            at = self._at[left]
            del at[0]
            if not at:
                del self._at[left]
        earlier = self._at.setdefault(item.key, [])
        before = self.runs
        self.runs = {now - ordinal: before.get(now - ordinal, 0) + 1 for ordinal in reversed(earlier)}
        earlier.append(now)
        self.items.append(item)

    def period(self) -> int:
        """The smallest period of 2 or more that the newest attempts have begun a third round of; 0 if none."""
        same = self.runs.get(1, 0)
        if same >= 2 * LONGEST:
            return 0
        for period, run in self.runs.items():
            if period > 1 and run > period and same < 2 * period:
                return period
        return 0

    def pattern(self, period: int) -> list[Item]:
        """The attempts that repeat with that period, as far back as they do and are kept."""
        return self.last(self.runs.get(period, 0) + period)

    def last(self, count: int) -> list[Item]:
        """At most that many, oldest first."""
        size = len(self.items)
        return list(islice(self.items, max(0, size - count), size))

    def equal(self, key: Key, floor: int) -> list[Item]:
        """The attempts of that key in the window, from the ordinal `floor` on."""
        if not self.items:
            return []
        newest = self.items[-1].ordinal
        floor = max(floor, newest - WINDOW + 1)
        shift = len(self.items) - 1 - newest
        return [self.items[ordinal + shift] for ordinal in self._at.get(key, ()) if ordinal >= floor]

    def window(self, floor: int) -> list[Item]:
        """The attempts in the window, from the ordinal `floor` on."""
        return [item for item in self.last(WINDOW) if item.ordinal >= floor]
