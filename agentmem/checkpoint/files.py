"""The default store: a folder with two files a run.

`{id}.json` is the newest checkpoint, whole and replaced at once; `{id}.steps.jsonl` is the ledger, one line a save,
only ever appended to. Beside them stand `.{id}.lock`, held while a save is written, and for a moment `.{id}.*.tmp`.
The order of one save: temporary file written and on the disk, ledger line on the disk, replace, folder on the disk.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agentmem.checkpoint import durable
from agentmem.checkpoint.names import file_name, run_id
from agentmem.checkpoint.replay import Ledger, continuous, noted, read_checkpoint, read_ledger, rolled, versions
from agentmem.checkpoint.store import (
    Change,
    Checkpoint,
    CheckpointError,
    ConflictError,
    DamagedError,
    MissingError,
    Resumed,
    SaveError,
)

CHECKPOINT = ".json"
LEDGER = ".steps.jsonl"
DEFAULT_FOLDER = "runs"


@dataclass(frozen=True, slots=True)
class Paths:
    """The files of one run."""

    checkpoint: Path
    ledger: Path
    lock: Path

    @classmethod
    def of(cls, checkpoint: Path) -> Paths:
        name = checkpoint.name.removesuffix(CHECKPOINT)
        return cls(checkpoint, checkpoint.with_name(name + LEDGER), checkpoint.with_name(f".{name}.lock"))


@dataclass(slots=True)
class _Seen:
    """The files as this store last read or left them."""

    checkpoint: durable.Identity | None
    ledger: durable.Identity | None
    seq: int
    step: int
    torn: bool


class FileStore:
    """Runs as files in one folder, which is made (private) at the first save."""

    def __init__(self, folder: str | os.PathLike[str] = DEFAULT_FOLDER) -> None:
        self.folder = Path(os.path.abspath(folder))
        self._seen: dict[str, _Seen] = {}

    def paths(self, run: str) -> Paths:
        return Paths.of(self.folder / (file_name(run) + CHECKPOINT))

    # -- reading --------------------------------------------------------------------------------------------------

    def load(self, run: str, generation: int = 0, rebuild: bool = False) -> Checkpoint:
        return load_path(self.paths(run).checkpoint, generation, rebuild)

    def history(self, run: str) -> Iterator[Checkpoint]:
        return history_path(self.paths(run).checkpoint)

    def runs(self) -> list[str]:
        """Ids of the runs in the folder, by name; a long id that its name cannot tell is read from its file."""
        found = []
        for path in sorted(self.folder.glob("*" + CHECKPOINT)) if self.folder.is_dir() else ():
            if path.name.startswith("."):
                continue
            name = path.name.removesuffix(CHECKPOINT)
            told = run_id(name)
            if told is None:
                with suppress(CheckpointError, FileNotFoundError):
                    told = read_checkpoint(durable.read(path)[0], str(path)).run
            found.append(told or name)
        return found

    # -- saving ---------------------------------------------------------------------------------------------------

    def resume(self, run: str, rebuild: bool = False) -> Resumed:
        """Reads what is there and sweeps the temporary files of a crash. Writes nothing else."""
        paths = self.paths(run)
        self._sweep(paths)
        data, checkpoint_id = _read(paths.checkpoint)
        ledger_data, ledger_id = _read(paths.ledger)
        ledger = read_ledger(ledger_data or b"", str(paths.ledger))
        newest = _newest(paths, data, ledger, rebuild)
        if newest and newest.run and newest.run != run and newest.run.casefold() == run.casefold():
            raise ConflictError(f"{paths.checkpoint}: is of run {newest.run!r}: this disk does not tell case apart")
        last = max((line.seq for line in ledger.lines), default=0)
        seq = max(last, (newest.seq or 0) if newest else 0)
        if paths.ledger.exists() and not ledger.lines and newest is None and ledger_data:
            raise DamagedError(f"{paths.ledger}: damaged: {ledger.problems[0].what}; no checkpoint stands beside it")
        goes_on = newest is not None and continuous(ledger, newest.seq)
        self._seen[run] = _Seen(checkpoint_id, ledger_id, seq, newest.step if newest else 0, ledger.torn)
        return Resumed(checkpoint=newest, seq=seq, continuous=goes_on)

    def _sweep(self, paths: Paths) -> None:
        stem = f".{paths.checkpoint.stem}."
        try:
            left = [path for path in self.folder.iterdir() if _is_temporary(path.name, stem)]
            if left:
                with durable.locked(paths.lock, str(paths.checkpoint)):
                    for path in left:
                        durable.remove(path)
        except OSError:
            return  # a folder that cannot be written, or is not there yet: the first save says so

    def commit(self, run: str, change: Change) -> None:
        """Raises ConflictError, SaveError (`stored` tells whether the new checkpoint stands nevertheless)."""
        paths = self.paths(run)
        seen = self._seen.get(run) or _Seen(None, None, 0, 0, False)
        write = _Write(paths, change)
        try:
            durable.make_folder(self.folder)
            with durable.locked(paths.lock, str(paths.checkpoint)):
                size = self._check(paths, seen)
                line = change.whole_line() if size is None else change.line
                start = b"\n" if seen.torn and size is not None else b""
                try:
                    write.prepare(start + line + b"\n")
                    write.replace()
                except BaseException:
                    if not write.replaced():
                        write.take_back(size)
                        ledger = seen.ledger if write.ledger is None else durable.identity(paths.ledger)
                        self._seen[run] = _Seen(seen.checkpoint, ledger, seen.seq, seen.step, seen.torn)
                        raise
                    if not isinstance(sys.exc_info()[1], OSError):
                        raise
                self._seen[run] = _Seen(write.checkpoint, write.ledger, change.seq, change.step, False)
                durable.sync_folder(self.folder)
        except OSError as error:
            stored = write.replaced()
            reason = error.strerror or str(error)
            stands = "it stands, but may not survive a power loss" if stored else "what was saved before stands"
            raise SaveError(
                f"{error.filename or paths.checkpoint}: step {change.step} was not saved safely: {reason}; {stands}",
                error.errno,
                stored,
            ) from error

    def _check(self, paths: Paths, seen: _Seen) -> int | None:
        """Size of the ledger; None if there is none. Raises ConflictError if another saved since."""
        checkpoint, ledger = durable.identity(paths.checkpoint), durable.identity(paths.ledger)
        changed = (ledger is not None and _moved(ledger, seen.ledger)) or (
            checkpoint is not None and checkpoint != seen.checkpoint
        )
        if changed:
            raise ConflictError(
                f"{paths.checkpoint}: was saved by another since step {seen.step} (save {seen.seq}) was seen here; "
                "nothing was written. Record the run again to go on from what stands there"
            )
        return None if ledger is None else ledger[2]


class _Write:
    """One save on its way to the disk. Every stage can be taken back until the checkpoint is replaced."""

    def __init__(self, paths: Paths, change: Change) -> None:
        self._paths = paths
        self._change = change
        self._temporary: Path | None = None
        self.checkpoint: durable.Identity | None = None
        self.ledger: durable.Identity | None = None

    def prepare(self, line: bytes) -> None:
        """Temporary file and ledger line, both on the disk."""
        self._temporary, self.checkpoint = durable.write_temporary(self._paths.checkpoint, self._change.checkpoint)
        self.ledger = durable.append(self._paths.ledger, line)

    def replace(self) -> None:
        if self._temporary is not None:
            durable.replace(self._temporary, self._paths.checkpoint)

    def replaced(self) -> bool:
        """Whether the new checkpoint stands, whatever was raised."""
        with suppress(CheckpointError, OSError):
            return self.checkpoint is not None and durable.identity(self._paths.checkpoint) == self.checkpoint
        return False

    def take_back(self, size: int | None) -> None:
        """Leaves the files as they were: `size` is that of the ledger before, None for none."""
        if self._temporary is not None:
            durable.remove(self._temporary)
        if self.ledger is not None:
            durable.cut(self._paths.ledger, size or 0)


def _moved(now: durable.Identity, seen: durable.Identity | None) -> bool:
    return seen is None or now[:3] != seen[:3]


def _is_temporary(name: str, stem: str) -> bool:
    middle = name[len(stem) : -len(".tmp")]
    return name.startswith(stem) and name.endswith(".tmp") and middle.count(".") == 1 and middle.split(".")[0].isdigit()


def _read(path: Path) -> tuple[bytes | None, durable.Identity | None]:
    try:
        return durable.read(path)
    except FileNotFoundError:
        return None, None
    except NotADirectoryError:
        raise CheckpointError(f"{path.parent}: is not a folder") from None


def _newest(paths: Paths, data: bytes | None, ledger: Ledger, rebuild: bool) -> Checkpoint | None:
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


def load_path(path: Path, generation: int = 0, rebuild: bool = False) -> Checkpoint:
    """See `agentmem.checkpoint.load`."""
    if generation > 0:
        raise ValueError(f"generation is 0 for the newest, -1 for the one before, ...; not {generation}")
    paths = Paths.of(path)
    data, _ = _read(paths.checkpoint)
    ledger_data, _ = _read(paths.ledger)
    if data is None and ledger_data is None:
        raise MissingError(f"{path}: there is no such checkpoint")
    ledger = read_ledger(ledger_data or b"", str(paths.ledger))
    if not generation:
        newest = _newest(paths, data, ledger, rebuild)
        if newest is None:
            why = f": {ledger.problems[0].what}" if ledger.problems else ""
            raise DamagedError(f"{paths.ledger}: damaged: no version can be rebuilt from it{why}")
        return newest
    found = list(versions(ledger, str(path), []))
    if len(found) + generation < 1:
        raise MissingError(f"{path}: there is no generation {generation}; the ledger holds {len(found)} saves")
    return found[generation - 1]


def history_path(path: Path) -> Iterator[Checkpoint]:
    """See `agentmem.checkpoint.history`."""
    paths = Paths.of(path)
    data, _ = _read(paths.checkpoint)
    ledger_data, _ = _read(paths.ledger)
    if data is None and ledger_data is None:
        raise MissingError(f"{path}: there is no such checkpoint")
    ledger = read_ledger(ledger_data or b"", str(paths.ledger))
    problems = list(ledger.problems)
    last: Checkpoint | None = None
    for last in versions(ledger, str(path), problems):
        yield last
    if data is None:
        return
    newest = read_checkpoint(data, str(path))
    if last is None or (newest.seq is None) or newest.seq > (last.seq or 0):
        yield noted(newest, "checkpoint", problems, ledger)
