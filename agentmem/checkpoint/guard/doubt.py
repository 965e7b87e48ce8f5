"""A call in doubt, the question that it asks, and what a guard raises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from agentmem import safe
from agentmem.checkpoint.ledger_line import Call
from agentmem.checkpoint.store import CheckpointError, SaveError
from agentmem.checkpoint.values import encoded

_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Doubt:
    """A call that was started and of which nothing more is known."""

    tool: str
    arguments: Any
    key: str
    """The idempotency key that it was made with: the other side can be asked about it."""
    attempt: int
    started: float
    """Seconds since the epoch."""
    call_id: str | None = None

    @property
    def question(self) -> str:
        """What has to be answered, in one line."""
        at = datetime.fromtimestamp(self.started, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        shown = safe.json_text(encoded(self.arguments).decode())
        shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."
        return (f"{safe.line(self.tool)} {shown} was started at {at} (attempt {self.attempt}, key {self.key}) and no "
                "result was recorded: did it happen?")  # fmt: skip


class InDoubt(CheckpointError):
    """Nobody knows whether the call happened, so it was not made again."""

    def __init__(self, doubt: Doubt) -> None:
        super().__init__(f"{doubt.question} Answer with happened(key, result) or did_not_happen(key)")
        self.doubt = doubt


class ResultNotKept(CheckpointError):
    """The call happened before, but what it gave was no JSON value and could not be kept."""

    def __init__(self, call: Call) -> None:
        super().__init__(f"{call.tool} (key {call.key}) was done, but its result could not be kept: {call.error}")
        self.call = call


class ResultNotRecorded(SaveError):
    """The call was made, but its result could not be recorded. It will be, as soon as the store takes it."""

    def __init__(self, error: CheckpointError, call: Call, result: Any) -> None:
        number = error.errno if isinstance(error, SaveError) else None
        super().__init__(f"{call.tool} was done, but this could not be recorded: {error}", number)
        self.call = call
        self.result = result
        """What the call gave."""


class _NotDone:
    """The answer of a `check` that the call did not happen."""


NOT_DONE = _NotDone()
Look = Callable[[Doubt], Any]
"""Asks the other side about a call in doubt: its result, or `NOT_DONE`. What it raises is raised."""


def doubt_of(call: Call) -> Doubt:
    return Doubt(call.tool, call.arguments, call.key, call.attempt, call.started, call.call_id)
