"""Whether a version begins a new run in the same file: the agent was started again, or the file was made anew.

What goes back within one run (a rewind, a list that was compacted) is none. A wrong yes hides what was lost, a wrong no
invents losses, so each yes has a reason: the count begins again, or nothing that was answered before stands any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from agentmem.formats.plain.envelope import integer
from agentmem.formats.versions import Item, decode_message

_SOON = 3
"""A count that is seen at this number has just begun, if the one before went on for several times as long."""
_TIMES = 4


class Before(msgspec.Struct, frozen=True):
    """What is known of the versions before."""

    number: int | None
    """The step that the last one gave."""
    counts: bool
    """Whether its steps count model calls."""
    known: frozenset[int] | set[int]
    """Hashes of all messages seen."""
    answered: bool
    """Whether the last list held an answer."""
    run_id: object
    gone: bool = False
    """The file was away since then."""
    unseen: bool = False
    """What happened since then was not watched: the version was kept by an inspector that ended."""

    def back(self, rest: Mapping[str, Any]) -> bool:
        """Whether the step of a version is lower."""
        number = integer(rest.get("step"))
        return number is not None and self.number is not None and number < self.number

    def renamed(self, rest: Mapping[str, Any]) -> bool:
        """Whether a version gives the run another id."""
        return self.run_id is not None and isinstance(rest.get("run_id"), str) and rest["run_id"] != self.run_id

    def may_end(self, rest: Mapping[str, Any]) -> bool:
        """Whether anything beside the messages lets a version be one of a new run. Cheap."""
        return self.back(rest) or self.renamed(rest) or (self.gone and integer(rest.get("step")) is None)


def begins_anew(before: Before, rest: Mapping[str, Any], items: Sequence[Item], stands: bool, other_goal: bool) -> bool:
    """Whether the version `rest` with the messages `items` begins a new run. `stands`: the whole list before stands at
    its beginning, and `items` follow; `other_goal`: it declares another goal than the run before."""
    number, last = integer(rest.get("step")), before.number
    back, renamed = before.back(rest), before.renamed(rest)
    if back and other_goal and number is not None and number <= 1:
        return True
    if stands and before.answered:
        return False
    if not before.may_end(rest):
        return False
    said, calls = _answers(items)
    again = any(key in before.known for key in said)
    if renamed and said and not again:
        return True
    if number is None or last is None or not back:
        return before.gone and number is None and bool(items) and not again
    if calls > number + 1:
        return False  # it counts something else: more was answered than it says
    if number <= 1:
        return before.counts or not again
    if not before.counts:
        return False
    if before.gone or before.unseen or (said and not again):
        return True
    return number <= _SOON and last >= _TIMES * number


def _answers(items: Sequence[Item]) -> tuple[list[int], int]:
    """(hashes of what the model said, how many calls said it)."""
    said, calls, inside = [], 0, False
    for item in items:
        answer = decode_message(item.data).role == "assistant"
        if answer:
            said.append(item.key)
            calls += not inside
        inside = answer
    return said, calls
