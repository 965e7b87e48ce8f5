"""Calls in the making -> attempts, and the detector that is fed with them as they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec import structs
from msgspec.structs import replace

from agentmem.formats.draft import Call, StepDraft
from agentmem.ledger import Detector, make_attempt
from agentmem.model import Attempt, Cycle, Waiting

_Value = TypeVar("_Value", Cycle, Waiting)
_KEPT = 256
_Fed = tuple[str, str, str | None, str | None]


class Attempts:
    """The attempts of one lane. Takes the text of each result into its key and head, and lets go of it."""

    def __init__(self, lane: str) -> None:
        self._lane = lane
        self._made: list[tuple[Attempt, ...]] = []
        self._calls: list[tuple[Call, ...]] = []
        """Of what they were made."""
        self._detector = Detector()
        self._fed: list[tuple[Attempt, ...]] = []
        self._costed: dict[int, tuple[Cycle | Waiting, Cycle | Waiting]] = {}

    def of(self, step: StepDraft, number: int, tokens: int | None) -> tuple[Attempt, ...]:
        """Attempts of a step; `tokens` are the prompt's."""
        index = step.n - 1
        while len(self._made) <= index:
            self._made.append(())
            self._calls.append(())
        known, calls = self._made[index], self._calls[index]
        made: list[Attempt] = []
        for place, call in enumerate(step.calls):
            cost = tokens if place == 0 else None
            before = known[place] if place < len(calls) and calls[place] is call else None
            made.append(self._one(call, before, step, number, place + 1, cost))
        self._made[index], self._calls[index] = tuple(made), tuple(step.calls)
        return self._made[index]

    def _one(
        self, call: Call, before: Attempt | None, step: StepDraft, number: int, index: int, tokens: int | None
    ) -> Attempt:
        if call.result is None and call.taken is None and before is not None and before.outcome == call.outcome:
            if before.tokens == tokens and before.ended == call.ended and before.error == call.error:
                return before
            return structs.replace(before, tokens=tokens, ended=call.ended, error=call.error)
        fresh = call.result is not None or call.taken is not None
        made = call.taken or make_attempt(
            call.tool, call.arguments, call.result, n=0, outcome=call.outcome, error=call.error
        )
        attempt = structs.replace(
            made, n=step.n, step=number, index=index, lane=self._lane, outcome=call.outcome, call_id=call.call_id,
            started=call.started, ended=call.ended, tokens=tokens,
        )  # fmt: skip
        if fresh:
            call.taken = None
            call.result_key, call.result_head, call.result = attempt.result_key, attempt.result_head, None
        elif call.result_key is not None:
            attempt = structs.replace(attempt, result_key=call.result_key, result_head=call.result_head)
        return attempt

    def truncate(self, steps: int) -> None:
        """Forget the attempts of steps after that many."""
        del self._made[steps:], self._calls[steps:]

    def feed(self, first: int) -> None:
        """Bring the detector up to date; steps from index `first` on may have changed."""
        start = min(first, len(self._fed))
        if not self._same_past(start):
            self._detector, self._fed, start = Detector(), [], 0
        for index in range(start, len(self._made)):
            was = self._fed[index] if index < len(self._fed) else ()
            for place, attempt in enumerate(self._made[index]):
                if place >= len(was) or _what(was[place]) != _what(attempt):
                    self._detector.feed(attempt)
            if index < len(self._fed):
                self._fed[index] = self._made[index]
            else:
                self._fed.append(self._made[index])

    def _same_past(self, start: int) -> bool:
        """Whether what was fed from `start` on still holds: only the last step fed may have results that it had not."""
        if len(self._fed) > len(self._made):
            return False
        for index in range(start, len(self._fed)):
            now, was = list(map(_what, self._made[index])), list(map(_what, self._fed[index]))
            if now == was:
                continue
            if index < len(self._fed) - 1 or len(now) < len(was):
                return False
            if any(old != new and _known(old) for old, new in zip(was, now, strict=False)):
                return False
        return True

    def cycles(self, tokens: Callable[[int], int | None], stale: bool) -> tuple[Cycle, ...]:
        """Cycles with what their steps cost. `tokens` gives a step's prompt tokens by its number; `stale`: those of
        steps counted before may have changed."""
        if stale:
            self._costed.clear()
        return tuple(self._cost(cycle, tokens) for cycle in self._detector.cycles)

    def waiting(self, tokens: Callable[[int], int | None]) -> tuple[Waiting, ...]:
        """Polls with what their steps cost; call after `cycles`."""
        return tuple(self._cost(polls, tokens) for polls in self._detector.waiting)

    def _cost(self, value: _Value, tokens: Callable[[int], int | None]) -> _Value:
        known = self._costed.get(id(value))
        if known is not None and known[0] is value:
            return known[1]  # type: ignore[return-value]  # of the type of its key
        costs = [tokens(step) for step in value.steps]
        total = None if None in costs else sum(cost for cost in costs if cost is not None)
        made = value if value.tokens == total else replace(value, tokens=total)
        if len(self._costed) > 4 * _KEPT:
            self._costed.clear()
        self._costed[id(value)] = (value, made)
        return made


def _what(attempt: Attempt) -> _Fed:
    return attempt.signature, attempt.outcome, attempt.result_key, attempt.error


def _known(fed: _Fed) -> bool:
    return fed[1] == "denied" or fed[2] is not None or (fed[1] == "error" and fed[3] is not None)
