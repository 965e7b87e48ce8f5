"""What goes in circles, ready to be told: its members by letter, and findings about the same calls together. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:  # the app's first paint needs the marks, not yet the values
    from agentmem.model import Attempt, Cycle, Run, Step

IN_TURN = ("repeat", "cycle", "relapse")
"""Kinds with an entry of `signatures` for each member."""
SHOWN = 3
"""Findings about the same calls that are told one by one; of more, the first and the last."""


class Turn(msgspec.Struct, frozen=True):
    """One attempt of a member."""

    place: int
    """Which member, from 0."""
    number: int
    """Of the step."""
    attempt: Attempt | None
    """None where the step is not in the lane."""


def letter(place: int) -> str:
    """A to Z, then AA, AB and so on."""
    first, second = divmod(place, 26)
    return (chr(64 + first) if first else "") + chr(65 + second)


def turns(cycle: Cycle, steps: Sequence[Step], n_of: Callable[[int], int | None]) -> Iterator[Turn]:
    """Each attempt of a cycle in order. `steps`: of its lane; `n_of`: a step's number -> n.

    An attempt is the next member with its signature; a step without one is taken for the member whose turn it is.
    """
    period = max(1, cycle.period)
    signatures = cycle.signatures if cycle.kind in IN_TURN and len(cycle.signatures) == period else ()
    due = 0
    for number in cycle.steps:
        n = n_of(number)
        attempts = steps[n - 1].attempts if n is not None else ()
        taken: set[str] = set()
        for attempt in attempts:
            if attempt.signature in signatures and attempt.signature not in taken:
                taken.add(attempt.signature)
                while signatures[due] != attempt.signature:
                    due = (due + 1) % period
                yield Turn(due, number, attempt)
                due = (due + 1) % period
        if not taken:
            tool = cycle.tools[due % len(cycle.tools)] if cycle.tools else None
            alike = (attempt for attempt in attempts if attempt.tool == tool)
            yield Turn(due, number, next(alike, attempts[0] if attempts else None))
            due = (due + 1) % period


def turning(run: Run, cycle: Cycle) -> bool:
    """Whether it may go on: nothing broke it, the run is live, and so is its lane (a subagent's, as long as the call
    that made it waits for its result)."""
    if cycle.ended_at is not None or run.status != "live":
        return False
    lane = run.lane(cycle.lane)
    if lane.kind != "subagent" or lane.spawned_by is None:
        return True
    of, n = lane.spawned_by
    steps = next((one.steps for one in run.lanes if one.id == of), ())
    return not 0 < n <= len(steps) or steps[n - 1].pending > 0


def ending(run: Run, cycle: Cycle) -> str:
    """`over at 47`, `still turning`; of what nothing broke before its run ended `until the end`, before it fell silent
    `until the last step`."""
    if cycle.ended_at is not None:
        return f"over at {cycle.ended_at}"
    if turning(run, cycle):
        return "still turning"
    return "until the end" if run.status == "ended" else "until the last step"


def together(cycles: Sequence[Cycle]) -> list[list[Cycle]]:
    """Findings about the same calls of a lane (for an error or an undo: about the same thing) in one list each, in the
    order of the newest of each."""
    found: dict[object, list[Cycle]] = {}
    for cycle in cycles:
        same = frozenset(cycle.signatures) if cycle.kind in IN_TURN else (cycle.kind, cycle.detail)
        key = (cycle.lane, same)
        found[key] = [*found.pop(key, ()), cycle]
    return list(found.values())


def told(alike: Sequence[Cycle]) -> tuple[Sequence[Cycle], Sequence[Cycle]]:
    """(findings to tell one by one, those between them that a number is enough for) of one list of `together`."""
    if len(alike) <= SHOWN:
        return alike, ()
    return (alike[0], alike[-1]), alike[1:-1]
