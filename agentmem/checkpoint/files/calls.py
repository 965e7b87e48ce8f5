"""The calls of a run as a file: a line when one is about to be made, a line when something came of it.

A half line at the end was never acknowledged, so nothing was done that it speaks of: it is cut off before the next one
is written. Damage anywhere else is an error: what a call came to is never guessed.
"""

from __future__ import annotations

import os

import msgspec

from agentmem.checkpoint import durable, ledger_line
from agentmem.checkpoint.files.paths import Paths, read
from agentmem.checkpoint.ledger_line import Call, DamagedLine, NewerLine
from agentmem.checkpoint.store import ConflictError, DamagedError, NewerSchemaError, SaveError


class Held(msgspec.Struct, frozen=True):
    """What a file of calls holds, as far as it was read: lines are only ever added, so the next time begins there."""

    calls: dict[tuple[str, int], Call] = {}
    """Every attempt by key and number, in the order of their beginning."""
    good: int = 0
    """Bytes up to the end of the last whole line."""
    lines: int = 0
    last: bytes = b""
    """The last whole line: where another stands in its place, it is another file."""


def held(paths: Paths, before: Held | None = None) -> Held:
    """What the file holds now, `before` being what it held when it was read last; only what came since is read.

    Raises DamagedError, NewerSchemaError.
    """
    before = before or Held()
    data = read(paths.calls, before.good - len(before.last))[0]
    if data is None:
        return Held()
    if not data.startswith(before.last):
        return held(paths)
    whole = data[len(before.last) : data.rfind(b"\n") + 1]
    new = [line + b"\n" for line in whole.split(b"\n")[:-1]]
    found = dict(before.calls)
    for number, raw in enumerate(new, before.lines + 1):
        try:
            call = ledger_line.decode_call(raw)
        except NewerLine as error:
            raise NewerSchemaError(f"{paths.calls}: line {number}: {error}") from None
        except DamagedLine as error:
            raise DamagedError(f"{paths.calls}: line {number}: damaged: {error}") from None
        found[call.key, call.attempt] = call
    size = before.good + sum(map(len, new))
    return Held(found, size, before.lines + len(new), new[-1] if new else before.last)


def begin(paths: Paths, call: Call, before: Held | None) -> Held:
    """What the file held before. Raises ConflictError, SaveError."""
    return _append(paths, call, before, f"the call of {call.tool} was not recorded", ending=False)


def end(paths: Paths, call: Call, before: Held | None) -> Held:
    """What the file held before. Raises ConflictError, SaveError."""
    return _append(paths, call, before, f"what came of {call.tool} was not recorded", ending=True)


def _append(paths: Paths, call: Call, before: Held | None, what: str, *, ending: bool) -> Held:
    try:
        durable.make_folder(paths.calls.parent)
        with durable.locked(paths.lock, str(paths.calls)):
            there = held(paths, before)
            earlier = there.calls.get((call.key, call.attempt))
            if ending and (earlier is None or earlier.outcome != "started"):
                raise ConflictError(
                    f"{paths.calls}: attempt {call.attempt} of call {call.key} was not begun, or ended before"
                )
            if not ending and earlier is not None:
                raise ConflictError(f"{paths.calls}: attempt {call.attempt} of call {call.key} was begun before")
            standing = durable.identity(paths.calls)
            if standing is not None and standing[2] > there.good:
                os.truncate(paths.calls, there.good)  # else the half line and this one would be one that cannot be read
            durable.append(paths.calls, ledger_line.encode_call(call) + b"\n")
            if standing is None:
                durable.sync_folder(paths.calls.parent)
            return there
    except OSError as error:
        raise SaveError(f"{error.filename or paths.calls}: {what}: {error.strerror or error}", error.errno) from error
