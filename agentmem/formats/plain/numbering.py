"""The file's own step numbers: which step each belongs to, which are missing, which go backwards."""

from __future__ import annotations

from collections.abc import Sequence

from agentmem.formats.draft import RunDraft, StepDraft
from agentmem.model import Gap


class Numbering:
    """Own numbers of one lane. A version's number belongs to its last step; earlier new steps count down from it.

    Where that does not fit (an author who counts something else) the run has no own numbers.
    """

    def __init__(self, draft: RunDraft, lane: str = "main") -> None:
        self._draft = draft
        self._lane = lane
        self.last: int | None = None
        self._off = False

    def restarts(self, number: int | None) -> bool:
        """Whether the count starts again."""
        return number is not None and self.last is not None and number < self.last and number <= 1

    def number(self, new: Sequence[StepDraft], number: int | None) -> None:
        """Give the new steps of a version their own numbers; note gaps and numbers that go backwards."""
        if number is None or self._off or not new:
            return
        count, last = len(new), self.last
        if last is None:
            if number < count - 1:
                self._give_up()
                return
            if number > count + 1 or (number > count and new[0].n == 1 and number - count > 1):
                self._gap(new[0], 0, number - count + 1)
        elif number <= last:
            self._draft.problem(f"step {number}", f"the step goes backwards: {number} after {last}")
            self._give_up()
            return
        elif number - last < count:
            self._give_up()
            return
        elif number - last > count:
            self._gap(new[0], last, number - count + 1)
        for offset, step in enumerate(reversed(new)):
            step.own = number - offset
        self.last = number

    def _gap(self, step: StepDraft, after: int, before: int) -> None:
        missing = before - after - 1
        if missing > 0:
            step.gap = missing
            self._draft.gaps.append(Gap(self._lane, after, before, missing, "versions that were not seen"))

    def _give_up(self) -> None:
        self._off = True
        lane = self._draft.lanes[self._lane]
        for step in lane.steps:
            if step.own is not None:
                step.own = None
        lane.changed_from = 0
