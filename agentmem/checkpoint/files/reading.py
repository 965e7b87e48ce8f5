"""Versions of a run from its two files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from agentmem.checkpoint.files.paths import Paths, read
from agentmem.checkpoint.replay import Ledger, noted, read_checkpoint, read_ledger, rolled, versions
from agentmem.checkpoint.store import LIVE, Checkpoint, DamagedError, MissingError, RunRow

_HEAD = 65536


def newest(paths: Paths, data: bytes | None, ledger: Ledger, rebuild: bool) -> Checkpoint | None:
    """The checkpoint, rolled forward by the ledger. Raises DamagedError with what can be had instead."""
    where = str(paths.checkpoint)
    if data is None or rebuild:
        return rolled(None, ledger, where)
    try:
        checkpoint = read_checkpoint(data, where)
    except DamagedError as error:
        raise DamagedError(f"{error}. {_offer(ledger, where)}") from None
    return rolled(checkpoint, ledger, where)


def _offer(ledger: Ledger, where: str) -> str:
    steps = [version.step for version in versions(ledger, where, [])]
    if not steps:
        return "No earlier version can be rebuilt"
    before = f", generation=-1 gives step {steps[-2]}" if len(steps) > 1 else ""
    return f"Its ledger is good to step {steps[-1]}: rebuild=True gives that{before}"


def load_path(
    path: Path, generation: int = 0, rebuild: bool = False, *, step: int | None = None, at: float | None = None
) -> Checkpoint:
    """See `agentmem.checkpoint.load`."""
    if generation > 0:
        raise ValueError(f"generation is 0 for the newest, -1 for the one before, ...; not {generation}")
    if step is not None or at is not None:
        return _asked(path, generation, step, at)
    paths = Paths.of(path)
    data, ledger = _both(paths)
    if not generation:
        found = newest(paths, data, ledger, rebuild)
        if found is None:
            why = f": {ledger.problems[0].what}" if ledger.problems else ""
            raise DamagedError(f"{paths.ledger}: damaged: no version can be rebuilt from it{why}")
        return found
    every = list(versions(ledger, str(path), []))
    if len(every) + generation < 1:
        raise MissingError(f"{path}: there is no generation {generation}; the ledger holds {len(every)} saves")
    return every[generation - 1]


def _asked(path: Path, generation: int, step: int | None, at: float | None) -> Checkpoint:
    """The version of that step, or that stood at that moment."""
    held: list[Checkpoint] = []
    steps: list[int] = []
    for version in history_path(path):
        steps.append(version.step)
        if (step is None or version.step == step) and (at is None or (version.at or 0.0) <= at):
            held.append(version)
    if len(held) + generation < 1:
        asked = f"step {step}" if step is not None else "save so early"
        raise MissingError(
            f"{path}: there is no {asked}; it holds {len(steps)} saves, steps {min(steps)} to {max(steps)}"
        )
    return held[generation - 1]


def _both(paths: Paths) -> tuple[bytes | None, Ledger]:
    data, _ = read(paths.checkpoint)
    ledger_data, _ = read(paths.ledger)
    if data is None and ledger_data is None:
        raise MissingError(f"{paths.checkpoint}: there is no such checkpoint")
    return data, read_ledger(ledger_data or b"", str(paths.ledger))


def history_path(path: Path, *, since: float | None = None, until: float | None = None) -> Iterator[Checkpoint]:
    """See `agentmem.checkpoint.history`."""
    for version in _every(path):
        at = version.at or 0.0
        if (since is None or at >= since) and (until is None or at <= until):
            yield version


def _every(path: Path) -> Iterator[Checkpoint]:
    data, ledger = _both(Paths.of(path))
    problems = list(ledger.problems)
    last: Checkpoint | None = None
    for last in versions(ledger, str(path), problems):
        yield last
    if data is None:
        return
    now = read_checkpoint(data, str(path))
    if last is None or (now.seq is None) or now.seq > (last.seq or 0):
        yield noted(now, "checkpoint", problems, ledger)


def row(run: str, path: Path) -> RunRow:
    """A row of the list, from the start of the checkpoint where it is ours: messages stand last in it.

    Raises MissingError, DamagedError.
    """
    found, _ = read(path)
    if found is None:
        raise MissingError(f"{path}: there is no such checkpoint")
    cut = found.find(b',"messages":[', 0, _HEAD)
    if found.startswith(b'{"schema":"agentmem.') and cut > 0:
        try:
            head = msgspec.json.decode(found[:cut] + b"}", type=_Head)
            return RunRow(
                run=run, step=head.step, seq=head.seq, at=head.at, status=head.status, goal=head.goal
            )
        except msgspec.DecodeError:
            pass  # read whole, which says what is wrong
    whole = read_checkpoint(found, str(path))
    return RunRow(
        run=run, step=whole.step, seq=whole.seq or 0, at=whole.at or path.stat().st_mtime,
        status=whole.status or LIVE, goal=whole.goal,
    )  # fmt: skip


class _Head(msgspec.Struct):
    """What the list needs of a checkpoint."""

    step: int
    seq: int
    at: float
    status: str = LIVE
    goal: str | None = None
