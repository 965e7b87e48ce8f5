"""Guarded calls that were begun and have no outcome on record, wherever a store of ours keeps them."""

from __future__ import annotations

from collections.abc import Iterable

from agentmem.checkpoint.database.reading import calls_of
from agentmem.checkpoint.ledger_line import Call
from agentmem.checkpoint.store import CheckpointError
from agentmem.formats.messages import arguments_text
from agentmem.formats.source import Unreadable
from agentmem.model import Begun


def begun(calls: Iterable[Call], seq: int) -> tuple[Begun, ...]:
    """Of each call the newest attempt, if it was only begun. `seq`: number of the newest save; a call that began before
    it is in doubt, since the run went on without its outcome."""
    newest: dict[str, Call] = {}
    for call in calls:
        before = newest.get(call.key)
        if before is None or call.attempt >= before.attempt:
            newest[call.key] = call
    found = sorted((call for call in newest.values() if call.outcome == "started"), key=lambda call: call.started)
    return tuple(
        Begun(
            call.lane, call.step, call.tool, arguments_text(call.arguments), call.key, call.attempt, call.started,
            call.seq < seq,
        )
        for call in found
    )  # fmt: skip


def last_at(calls: Iterable[Call], changed_at: float | None) -> float | None:
    """When the run was written last, its calls included (seconds since the epoch)."""
    times = [call.ended or call.started for call in calls]
    return max(times if changed_at is None else [*times, changed_at], default=None)


def same(one: Iterable[Begun], other: Iterable[Begun]) -> bool:
    """Whether both say the same of the same attempts."""
    return [(b.key, b.attempt, b.in_doubt) for b in one] == [(b.key, b.attempt, b.in_doubt) for b in other]


def decoded(rows: Iterable[bytes], shown: str) -> list[Call]:
    """The calls of the records of a database. Raises Unreadable."""
    try:
        return calls_of(rows, shown)
    except CheckpointError as error:
        raise Unreadable(str(error)) from None
