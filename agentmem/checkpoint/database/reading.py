"""From rows of a database to versions of a run: which save is asked for, what it stands on, what is damaged."""

from __future__ import annotations

from collections.abc import Iterable

from agentmem.checkpoint import ledger_line
from agentmem.checkpoint.ledger_line import Call, DamagedLine, NewerLine
from agentmem.checkpoint.lost import Saves
from agentmem.checkpoint.replay import Ledger, Replay, noted, versions
from agentmem.checkpoint.store import Checkpoint, DamagedError, NewerSchemaError
from agentmem.model import Problem


def ledger_of(rows: Iterable[tuple[int, bytes]], path: str) -> Ledger:
    """The lines of these rows (number of the save, line), in order. Raises NewerSchemaError."""
    ledger = Ledger([], [], False)
    for seq, data in rows:
        try:
            line = ledger_line.decode(data)
            if line.seq != seq:
                raise DamagedLine(f"it is the line of save {line.seq}")
            ledger.lines.append(line)
        except NewerLine as error:
            raise NewerSchemaError(f"{path}: save {seq}: {error}") from None
        except DamagedLine as error:
            ledger.problems.append(Problem(f"{path}: save {seq}", f"damaged: {error}"))
            ledger.holes.append(len(ledger.lines))
    return ledger


def version_of(ledger: Ledger, seq: int, path: str) -> Checkpoint:
    """The version that save `seq` led to. Raises DamagedError saying where, why and what can be had."""
    replay = Replay(path)
    for line in ledger.lines:
        try:
            replay.apply(line)
        except ValueError as error:
            ledger.problems.append(Problem(f"{path}: save {line.seq}", f"damaged: {error}"))
    found = replay.version()
    if found is None or replay.seq != seq:
        what = ledger.problems[0] if ledger.problems else Problem(f"{path}: save {seq}", "damaged: it is not there")
        raise DamagedError(f"{what.where}: {what.what}. {Saves(ledger, None, path).offer()}")
    return noted(found, "ledger", ledger.problems, ledger)


def newest_of(ledger: Ledger, path: str) -> Checkpoint:
    """The newest version that can be rebuilt. Raises DamagedError if there is none."""
    found = list(versions(ledger, path, list(ledger.problems)))
    if not found:
        raise DamagedError(f"{path}: damaged: no version can be rebuilt")
    return found[-1]


def calls_of(rows: Iterable[bytes], path: str) -> list[Call]:
    """The calls of these records. Raises DamagedError: what a call came to is never guessed."""
    found = []
    for data in rows:
        try:
            found.append(ledger_line.decode_call(data))
        except NewerLine as error:
            raise NewerSchemaError(f"{path}: a call: {error}") from None
        except DamagedLine as error:
            raise DamagedError(f"{path}: a call is damaged: {error}") from None
    return found
