"""Versions of a run from its two files."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path

import msgspec

from agentmem.checkpoint.files.paths import Paths, read
from agentmem.checkpoint.given import asked, goal_of, span
from agentmem.checkpoint.lost import Saves
from agentmem.checkpoint.replay import Ledger, noted, read_checkpoint, read_ledger, rolled, versions
from agentmem.checkpoint.store import LIVE, Checkpoint, DamagedError, MissingError, RunRow

_HEAD = 65536


def newest(paths: Paths, data: bytes | None, ledger: Ledger, rebuild: bool) -> Checkpoint | None:
    """The checkpoint, rolled forward by the ledger. Raises DamagedError with what can be had instead."""
    where = str(paths.checkpoint)
    if rebuild:
        return _rebuilt(_now(paths.checkpoint, data), ledger, where)
    if data is None:
        return rolled(None, ledger, where)
    try:
        checkpoint = read_checkpoint(data, where)
    except DamagedError as error:
        raise DamagedError(f"{error}. {_offer(ledger, where)}") from None
    try:
        return rolled(checkpoint, ledger, where)
    except DamagedError as error:
        raise DamagedError(f"{error}. {Saves(ledger, checkpoint, where).offer()}") from None


def _rebuilt(now: Checkpoint | None, ledger: Ledger, where: str) -> Checkpoint | None:
    """The newest version that the ledger leads to; the checkpoint where that is whole and newer, or none of ours."""
    found = deque(versions(ledger, where, list(ledger.problems)), maxlen=1)
    last = found[0] if found else None
    if now is not None and _beyond(now, last):
        return noted(now, "checkpoint", ledger.problems, ledger)
    return last


def _beyond(now: Checkpoint, last: Checkpoint | None) -> bool:
    """Whether the checkpoint is newer than what the ledger leads to; a file that is not ours has no number."""
    return last is None or now.seq is None or now.seq > (last.seq or 0)


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
    asked(generation, step, at)
    paths = Paths.of(path)
    data, ledger = _both(paths)
    if not generation and step is None and at is None:
        found = newest(paths, data, ledger, rebuild)
        if found is None:
            why = f": {ledger.problems[0].what}" if ledger.problems else ""
            raise DamagedError(f"{paths.ledger}: damaged: no version can be rebuilt from it{why}")
        return found
    now = _now(path, data)
    saves = Saves(ledger, now, str(path))
    try:
        seq = saves.find(generation, step, at)
    except DamagedError:
        if not rebuild:
            raise
        seq = saves.last_good(generation, step, at)
    found = next((one for one in versions(ledger, str(path), list(ledger.problems), seq) if one.seq == seq), None)
    if found is not None:
        return found
    assert now is not None
    return noted(now, "checkpoint", ledger.problems, ledger)


def _now(path: Path, data: bytes | None) -> Checkpoint | None:
    """The checkpoint; None if there is none, or one that is damaged: the ledger tells of every save without it."""
    try:
        return None if data is None else read_checkpoint(data, str(path))
    except DamagedError:
        return None


def _both(paths: Paths) -> tuple[bytes | None, Ledger]:
    data, _ = read(paths.checkpoint)
    ledger_data, _ = read(paths.ledger)
    if data is None and ledger_data is None:
        raise MissingError(f"{paths.checkpoint}: there is no such checkpoint")
    return data, read_ledger(ledger_data or b"", str(paths.ledger))


def history_path(
    path: Path, rebuild: bool = False, *, since: float | None = None, until: float | None = None
) -> Iterator[Checkpoint]:
    """See `agentmem.checkpoint.history`."""
    span(since, until)
    for version in _every(path, rebuild):
        at = version.at or 0.0
        if (since is None or at >= since) and (until is None or at <= until):
            yield version


def _every(path: Path, rebuild: bool) -> Iterator[Checkpoint]:
    data, ledger = _both(Paths.of(path))
    now = _now(path, data)
    if not rebuild:
        newest(Paths.of(path), data, ledger, False)  # it says where the checkpoint is damaged
        Saves(ledger, now, str(path)).must_be_whole()
    problems = list(ledger.problems)
    last: Checkpoint | None = None
    for last in versions(ledger, str(path), problems):
        yield last
    if now is not None and _beyond(now, last):
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
            goal = goal_of(head.goal, msgspec.json.decode(head.state) if head.goal is None else None)
            return RunRow(run=run, step=head.step, seq=head.seq, at=head.at, status=head.status, goal=goal)
        except msgspec.DecodeError:
            pass  # read whole, which says what is wrong
    whole = read_checkpoint(found, str(path))
    return RunRow(
        run=run, step=whole.step, seq=whole.seq or 0, at=whole.at or path.stat().st_mtime,
        status=whole.status or LIVE, goal=goal_of(whole.goal, whole.state),
    )  # fmt: skip


class _Head(msgspec.Struct):
    """What the list needs of a checkpoint."""

    step: int
    seq: int
    at: float
    status: str = LIVE
    goal: str | None = None
    state: msgspec.Raw = msgspec.Raw(b"null")
