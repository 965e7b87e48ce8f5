"""Where the reader stands: lane, step, following, the last jump. Plain and without a screen.

New steps never move a reader who has moved back; a reader who stands on the newest step goes with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentmem.inspect.telling.why import Because
    from agentmem.model import Cursor, Lifeline, Run, Step

    from ..index import Index, LaneIndex

JUMPS = {"error": "failed call", "drop": "step that lost something", "boundary": "boundary", "cycle": "cycle"}


class Reader:
    def __init__(self) -> None:
        self.run: Run | None = None
        self.index: Index | None = None
        self.lane = ""
        self.n = 1
        self.following = True
        self.base: Cursor | None = None
        self.opened: set[tuple[object, ...]] = set()
        """Folds of the lost pane that are open: a jump goes through the steps of those."""
        self._last: tuple[str, Cursor] | None = None
        """The last jump and where it led: the same key there again means the one before."""
        self._repeat: str | None = None
        self._found: tuple[int, ...] = ()
        self._chain: tuple[Because, ...] = ()
        self._link = 0
        self._came: tuple[Cursor, bool] | None = None
        """Where the reader was, and whether following, before a jump led to another lane."""

    @property
    def ready(self) -> bool:
        return self.index is not None and self.lane in self.index.lanes and bool(self.here.steps)

    @property
    def cursor(self) -> Cursor:
        return self.lane, self.n

    @property
    def here(self) -> LaneIndex:
        assert self.index is not None
        return self.index[self.lane]

    @property
    def step(self) -> Step:
        return self.here.steps[self.n - 1]

    @property
    def last(self) -> int:
        return len(self.here.steps)

    @property
    def behind(self) -> int:
        return self.last - self.n

    def take(self, run: Run, index: Index) -> None:
        """A new value of the run, or another run: then at its newest step, following."""
        other = self.run is None or self.run.id != run.id or self.run.path != run.path
        self.run, self.index = run, index
        if other or self.lane not in index.lanes:
            self.lane, self.following, self.base = run.main.id if run.lanes else "", True, None
            self._last, self._repeat, self._found, self._came = None, None, (), None
            self.opened.clear()
        if not run.lanes:
            return
        self.n = self.last if self.following else min(max(1, self.n), max(1, self.last))
        if self.base is not None and (self.base[0] not in index.lanes or self.base[1] > len(index[self.base[0]].steps)):
            self.base = None

    def go(self, cursor: Cursor) -> None:
        """To that step, or the nearest there is; on the newest step the reader follows again."""
        lane, n = cursor
        if self.index is None or lane not in self.index.lanes or not self.index[lane].steps:
            return
        if lane != self.lane:
            self._came = None
        self.lane = lane
        self.n = min(max(1, n), max(1, self.last))
        self.following = self.n == self.last

    def visit(self, cursor: Cursor) -> str:
        """Likewise; out of another lane the reader can come `back`. Returns what to say of that."""
        before, following = self.cursor, self.following
        self.go(cursor)
        if self.lane == before[0]:
            return ""
        self._came = before, following
        return f"Lane {self._lane_name(self.lane)} now; Esc leads back to {self._lane_name(before[0])}."

    def back(self) -> bool:
        """Out of the lane that a jump led to, to where the reader was before it. False: no jump led here."""
        if self._came is None or self.index is None:
            return False
        (lane, n), following = self._came
        self._came = None
        self.go((lane, len(self.index[lane].steps) if following and lane in self.index.lanes else n))
        return True

    def _lane_name(self, lane: str) -> str:
        from agentmem.safe import name

        assert self.index is not None
        return name(self.index[lane].lane.name or lane, 30)

    def by(self, steps: int) -> None:
        self.go((self.lane, self.n + steps))

    def toggle_follow(self) -> None:
        if self.following:
            self.following = False
        else:
            self.go((self.lane, self.last))

    def jump(self, kind: str, newer: bool = False) -> str:
        """Go to the newest place of that kind at or before the cursor; again: the one before. Where this lane has none
        at all, to one of another lane. Returns what to say."""
        again = self._last == (kind, self.cursor)
        here = not again
        n = self._find(newer, here) if kind == "find" else self.here.jump(kind, self.n, newer, here, self.opened)
        self._repeat = kind
        if n is None:
            which = "place where it stood" if kind == "find" else JUMPS[kind]
            other = self._elsewhere(kind, newer)
            if other is None:
                return f"No {which} {'after' if newer else 'before'} step {self.step.number}."
            told = f"No {which} in lane {self._lane_name(self.lane)}. {self.visit(other)}"
            self._last = (kind, self.cursor)
            return told
        self.go((self.lane, n))
        self._last = (kind, self.cursor)
        fold = self.here.fold_at(n, self.opened) if kind == "drop" else None
        return "" if fold is None else f"The first of {fold.where}, which lost alike: {fold.what}. D goes past them."

    def _elsewhere(self, kind: str, newer: bool) -> Cursor | None:
        """Where a jump leads for which this lane has no place: the lane that the verdict tells of first."""
        assert self.index is not None
        if kind == "find" or self.here.places(kind, self.opened):
            return None
        of = self.index.verdict.lane
        for lane in sorted(self.index.lanes, key=lambda one: one != of):
            places = self.index[lane].places(kind, self.opened)
            if places:
                return lane, places[0 if newer else -1]
        return None

    def repeat(self, newer: bool) -> str:
        if self._repeat is None:
            return "Nothing to repeat yet: x, d, b, c and / come first."
        return self.jump(self._repeat, newer)

    def found(self, lifeline: Lifeline) -> None:
        """A text was found: `n` and `N` now go through the steps where it changed, and to the last where it stood."""
        places = {n for part in lifeline.present for number in part if (n := self.here.n_of(number)) is not None}
        places |= {n for number, _ in lifeline.changed if (n := self.here.n_of(number)) is not None}
        places |= {n for number in (*lifeline.needed, *lifeline.said) if (n := self.here.n_of(number)) is not None}
        self._found, self._repeat = tuple(sorted(places)), "find"
        if lifeline.present:
            n = self.here.n_of(lifeline.present[-1][1])
            if n is not None:
                self.go((self.lane, n))
                self._last = ("find", self.cursor)

    def _find(self, newer: bool, here: bool) -> int | None:
        if newer:
            return next((n for n in self._found if n > self.n), None)
        return next((n for n in reversed(self._found) if n < self.n or (here and n == self.n)), None)

    def next_lane(self) -> str:
        """The next lane, at its newest step. Returns what to say."""
        assert self.index is not None
        ids = list(self.index.lanes)
        if len(ids) < 2:
            return "This run has one lane."
        lane = ids[(ids.index(self.lane) + 1) % len(ids)]
        self.go((lane, len(self.index[lane].steps)))
        return ""

    def mark_base(self) -> str:
        """The base of the comparison: this step; on the base itself: the parent again."""
        if self.base == self.cursor:
            self.base = None
            return "Changes are against the parent step again."
        self.base = self.cursor
        return f"Changes are against step {self.step.number} now."

    def because(self) -> tuple[Because, str]:
        """The next link from trouble to its cause, after the last one it begins again; and what to say of its lane."""
        from agentmem.inspect.telling.why import why

        assert self.run is not None and self.index is not None
        at = self._chain[self._link] if self._chain else None
        if at is not None and at.cursor == self.cursor and self._link + 1 < len(self._chain):
            self._link += 1
        else:
            self._chain, self._link = why(self.run, self.cursor, self.index.verdict), 0
        link = self._chain[self._link]
        return link, self.visit(link.cursor)

    def because_place(self) -> str:
        """`1 of 3`, for the reader to know whether to press again."""
        return f"{self._link + 1} of {len(self._chain)}"

    def forget_chain(self) -> None:
        self._chain, self._link = (), 0
