"""The file's own step numbers: which step each belongs to, which are missing, and when they are not used."""

from __future__ import annotations

from collections.abc import Sequence

from agentmem.formats.draft import RunDraft, StepDraft
from agentmem.formats.plain.envelope import integer
from agentmem.model import Gap

MOST = 1_000_000_000
"""A number above it counts no steps: a time stamp, an id, a damaged figure."""


class Numbering:
    """Own numbers of one lane. A version's number belongs to its last step; earlier new steps count down from it.

    Where that does not fit (an author who counts something else) the run has no own numbers, and a problem says why.
    """

    def __init__(self, draft: RunDraft, lane: str = "main") -> None:
        self._draft = draft
        self._lane = lane
        self.last: int | None = None
        self.given: int | None = None
        """What the last version said, whether it is used or not."""
        self._off = False
        self._back = False
        """The count went back within the run: it numbers no steps, and still tells how many were missed."""
        self.ahead = False
        """It is saved before the call that it counts: a number alone does not tell that its call was answered."""
        self._head: StepDraft | None = None
        """The first step, if one alone seems to be missing before it."""

    @property
    def counts(self) -> bool:
        """Whether the numbers count model calls, as far as they were seen."""
        return self.last is not None and not self._off

    def calls(self, given: object) -> int:
        """How many model calls were made since the last version, by the file's own count; 0 where that is not known."""
        number = None if self._off or self.last is None else integer(given)
        return number - self.last if number is not None and self.last is not None and number <= MOST else 0

    def number(self, new: Sequence[StepDraft], given: object, *, stood: bool = False, asks: bool = False) -> None:
        """Give the new steps of a version their own numbers, `given` being what the version says; note gaps. `stood`:
        the list before it stands whole, so that a number that goes back counts no steps. `asks`: the list ends in what
        a call is still to answer, so that the number may be that call's."""
        number = integer(given)
        self.given = self.given if number is None else number
        if given is None or self._off:
            return
        if not new and number is not None and (number == self.last + 1 and stood if self.last else number == 1):
            self._is_ahead()
        if self._back:
            self._go_on(new, number)
        elif number is None:
            self._give_up(f"{given!r:.60} is no whole number")
        elif number < 0:
            self._give_up(f"{given!r:.60} is below zero")
        elif number > MOST:
            self._give_up(f"{given!r:.40} is too large for a count of steps")
        elif new and self.last is not None and number < self.last:
            self._give_up(f"the step goes backwards: {number} after {self.last}", back=not stood)
            self.last = number
        elif new:
            self._give(new, number, asks)

    def _go_on(self, new: Sequence[StepDraft], number: int | None) -> None:
        """Steps without numbers of their own, whose count tells what was missed."""
        if new and number is not None and 0 <= number <= MOST and self.last is not None:
            new[0].gap = max(0, number - self.last - len(new))
            self.last = number

    def _give(self, new: Sequence[StepDraft], number: int, asks: bool) -> None:
        count, last = len(new), self.last
        calls = f"{count} model call{'' if count == 1 else 's'}"
        if last is None:
            if number < count - 1:
                self._give_up(f"{number} with {calls} in the file")
                return
            if number > count + (self.ahead or asks or new[0].n > 1):
                self._gap(new[0], 0, number - count + 1)
                self._head = new[0] if number == count + 1 else None
        elif number == last:
            self._give_up(f"{number} came again with {calls} more")
            return
        elif number - last < count:
            self._give_up(f"{number} after {last} with {calls} more")
            return
        elif number - last > count:
            self._gap(new[0], last, number - count + 1)
        for offset, step in enumerate(reversed(new)):
            step.own = number - offset
        self.last = number

    def saved_before(self) -> None:
        """The last step, which a number alone told of, was not made yet."""
        self.last = None if self.last is None else self.last - 1
        self._is_ahead()

    def _is_ahead(self) -> None:
        self.ahead = True
        if self._head is not None and self._head.gap == 1:
            self._head.gap, self._head = 0, None
            self._draft.gaps[:] = [gap for gap in self._draft.gaps if gap.lane != self._lane or gap.after != 0]
            self._draft.lanes[self._lane].changed_from = 0

    def _gap(self, step: StepDraft, after: int, before: int) -> None:
        missing = before - after - 1
        if missing > 0:
            step.gap = missing
            self._draft.gaps.append(Gap(self._lane, after, before, missing, "versions that were not seen"))

    def _give_up(self, why: str, *, back: bool = False) -> None:
        """`back`: the numbers counted steps until now, and the gaps that they told stay gaps."""
        self._off, self._back = not back, back
        self._draft.problem("step", f"the file's own step numbers are not used: {why}")
        lane = self._draft.lanes[self._lane]
        for step in lane.steps:
            step.own, step.gap = None, step.gap if back else 0
        self._draft.gaps[:] = [gap for gap in self._draft.gaps if gap.lane != self._lane]
        lane.changed_from = 0
