"""The calls of a run as a file: a line when one is about to be made, a line when something came of it.

A half line at the end was never acknowledged, so nothing was done that it speaks of: it is cut off before the next one
is written. Damage anywhere else is an error: what a call came to is never guessed.
"""

from __future__ import annotations

import os

from agentmem.checkpoint import durable, ledger_line
from agentmem.checkpoint.files.paths import Paths, read
from agentmem.checkpoint.ledger_line import Call, DamagedLine, NewerLine
from agentmem.checkpoint.store import ConflictError, DamagedError, NewerSchemaError, SaveError

Held = dict[tuple[str, int], Call]


def held(paths: Paths) -> tuple[Held, int]:
    """Every attempt by key and number, in the order of their beginning, and the size of the good part of the file.

    Raises DamagedError, NewerSchemaError.
    """
    data = read(paths.calls)[0] or b""
    good = data.rfind(b"\n") + 1
    found: Held = {}
    for number, raw in enumerate(data[:good].split(b"\n")[:-1], 1):
        try:
            call = ledger_line.decode_call(raw)
        except NewerLine as error:
            raise NewerSchemaError(f"{paths.calls}: line {number}: {error}") from None
        except DamagedLine as error:
            raise DamagedError(f"{paths.calls}: line {number}: damaged: {error}") from None
        found[call.key, call.attempt] = call
    return found, good


def begin(paths: Paths, call: Call) -> None:
    """Raises ConflictError, SaveError."""
    _append(paths, call, f"the call of {call.tool} was not recorded", ending=False)


def end(paths: Paths, call: Call) -> None:
    """Raises ConflictError, SaveError."""
    _append(paths, call, f"what came of {call.tool} was not recorded", ending=True)


def _append(paths: Paths, call: Call, what: str, *, ending: bool) -> None:
    try:
        durable.make_folder(paths.calls.parent)
        with durable.locked(paths.lock, str(paths.calls)):
            there, good = held(paths)
            before = there.get((call.key, call.attempt))
            if ending and (before is None or before.outcome != "started"):
                raise ConflictError(
                    f"{paths.calls}: attempt {call.attempt} of call {call.key} was not begun, or ended before"
                )
            if not ending and before is not None:
                raise ConflictError(f"{paths.calls}: attempt {call.attempt} of call {call.key} was begun before")
            standing = durable.identity(paths.calls)
            if standing is not None and standing[2] > good:
                os.truncate(paths.calls, good)  # else the half line and this one would be one that cannot be read
            durable.append(paths.calls, ledger_line.encode_call(call) + b"\n")
            if standing is None:
                durable.sync_folder(paths.calls.parent)
    except OSError as error:
        raise SaveError(f"{error.filename or paths.calls}: {what}: {error.strerror or error}", error.errno) from error
