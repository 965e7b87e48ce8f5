"""Runs as files in one folder: what stands there is never changed by who only reads."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from agentmem.checkpoint import durable
from agentmem.checkpoint.delta.forget import first_kept, rewritten
from agentmem.checkpoint.files import calls, reading
from agentmem.checkpoint.files.paths import CHECKPOINT, DEFAULT_FOLDER, Paths, read
from agentmem.checkpoint.files.write import Write
from agentmem.checkpoint.ledger_line import Call, DamagedLine, decode
from agentmem.checkpoint.names import file_name, run_id
from agentmem.checkpoint.replay import continuous, read_checkpoint, read_ledger
from agentmem.checkpoint.store import (
    Change,
    Checkpoint,
    CheckpointError,
    ConflictError,
    DamagedError,
    MissingError,
    Resumed,
    RunRow,
    SaveError,
)


class _Seen(msgspec.Struct):
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
        self._calls: dict[str, calls.Held] = {}
        """What is known of the calls of a run, so that each call reads what is new."""

    def paths(self, run: str) -> Paths:
        return Paths.of(self.folder / (file_name(run) + CHECKPOINT))

    # -- reading --------------------------------------------------------------------------------------------------

    def load(
        self, run: str, generation: int = 0, rebuild: bool = False, *, step: int | None = None, at: float | None = None
    ) -> Checkpoint:
        """See `Store`."""
        return reading.load_path(self.paths(run).checkpoint, generation, rebuild, step=step, at=at)

    def history(
        self, run: str, rebuild: bool = False, *, since: float | None = None, until: float | None = None
    ) -> Iterator[Checkpoint]:
        """See `Store`."""
        return reading.history_path(self.paths(run).checkpoint, rebuild, since=since, until=until)

    def runs(self) -> list[str]:
        """See `Store`. A long id, that the name of the file cannot tell, is read from the file."""
        return sorted(self._files())

    def _files(self) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for path in self._checkpoints():
            name = path.name.removesuffix(CHECKPOINT)
            told = run_id(name)
            if told is None:
                with suppress(CheckpointError, FileNotFoundError):
                    told = read_checkpoint(durable.read(path)[0], str(path)).run
            found[told or name] = path
        return found

    def _checkpoints(self) -> list[Path]:
        """Sorted; none where there is no folder yet. Raises CheckpointError for what is no folder or cannot be read."""
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise CheckpointError(f"{self.folder}: cannot be read: {error.strerror}") from None
        return [self.folder / name for name in sorted(names) if name.endswith(CHECKPOINT) and name[0] != "."]

    def listing(self, *, status: str | None = None, since: float | None = None) -> list[RunRow]:
        """See `Store`. A file that cannot be read is left out: `load` says what is wrong with it."""
        rows = []
        for run, path in self._files().items():
            with suppress(CheckpointError, FileNotFoundError):  # gone since it was listed
                row = reading.row(run, path)
                if (status is None or row.status == status) and (since is None or row.at >= since):
                    rows.append(row)
        return sorted(rows, key=lambda row: (-row.at, row.run))

    # -- saving ---------------------------------------------------------------------------------------------------

    def resume(self, run: str, rebuild: bool = False) -> Resumed:
        """Reads what is there and sweeps the temporary files of a crash. Writes nothing else."""
        paths = self.paths(run)
        self._sweep(paths)
        data, checkpoint_id = read(paths.checkpoint)
        ledger_data, ledger_id = read(paths.ledger)
        ledger = read_ledger(ledger_data or b"", str(paths.ledger))
        newest = reading.newest(paths, data, ledger, rebuild)
        if newest is None and rebuild:
            newest = reading.newest(paths, data, ledger, False)  # raises where there is something that cannot be had
        if newest and newest.run and newest.run != run and newest.run.casefold() == run.casefold():
            raise ConflictError(f"{paths.checkpoint}: is of run {newest.run!r}: this disk does not tell case apart")
        last = max((line.seq for line in ledger.lines), default=0)
        seq = max(last, (newest.seq or 0) if newest else 0)
        if newest is None and ledger.holes:
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
        if change.seq != seen.seq + 1:
            raise self._conflict(paths, seen)
        write = Write(paths, change)
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
        if checkpoint is not None and checkpoint != seen.checkpoint:
            raise self._conflict(paths, seen)
        if ledger is not None and _moved(ledger, seen.ledger) and not self._pruned(paths, seen, checkpoint):
            raise self._conflict(paths, seen)
        return None if ledger is None else ledger[2]

    def _pruned(self, paths: Paths, seen: _Seen, checkpoint: durable.Identity | None) -> bool:
        """Whether the ledger is another file only because another forgot old saves: it still ends as seen here."""
        if checkpoint is None or seen.ledger is None:
            return False
        lines = read_ledger(read(paths.ledger)[0] or b"", str(paths.ledger)).lines
        return bool(lines) and lines[-1].seq == seen.seq

    def _conflict(self, paths: Paths, seen: _Seen) -> ConflictError:
        return ConflictError(
            f"{paths.checkpoint}: was saved by another since step {seen.step} (save {seen.seq}) was seen here; "
            "nothing was written. Record the run again to go on from what stands there"
        )

    # -- forgetting -----------------------------------------------------------------------------------------------

    def prune(self, run: str, *, keep: int | None = None, before: float | None = None) -> int:
        """See `Store`. The ledger is written anew and replaced at once."""
        paths = self.paths(run)
        self._there(paths)
        try:
            with durable.locked(paths.lock, str(paths.checkpoint)):
                data, standing = read(paths.ledger)
                ledger = read_ledger(data or b"", str(paths.ledger))
                if ledger.holes:
                    problem = ledger.problems[0]
                    raise DamagedError(f"{problem.where}: {problem.what}; nothing was pruned")
                cut = first_kept(ledger.lines, keep, before)
                if data is None or not cut:
                    return 0
                new = rewritten(ledger.lines, cut, str(paths.ledger))
                raws = {line.seq: raw for line, raw in zip(ledger.lines, _whole_lines(data), strict=True)}
                kept = [new.get(line.seq, raws[line.seq]) for line in ledger.lines[cut:]]
                # Named as those of the checkpoint are, so that what a crash leaves is swept with them.
                ledger_id = durable.put(paths.ledger, [b"\n".join(kept) + b"\n"], paths.checkpoint)
                durable.sync_folder(self.folder)
                seen = self._seen.get(run)
                if seen is not None and seen.ledger == standing:
                    self._seen[run] = _Seen(seen.checkpoint, ledger_id, seen.seq, seen.step, False)
                return cut
        except OSError as error:
            raise SaveError(
                f"{error.filename or paths.ledger}: run {run!r} was not pruned: {error.strerror or error}", error.errno
            ) from error

    def remove(self, run: str) -> None:
        """See `Store`. The lock file stays: another process may be waiting for it."""
        paths = self.paths(run)
        self._there(paths)
        try:
            with durable.locked(paths.lock, str(paths.checkpoint)):
                for path in (paths.checkpoint, paths.ledger, paths.calls):
                    with suppress(FileNotFoundError):
                        os.unlink(path)
                durable.sync_folder(self.folder)
        except OSError as error:
            raise SaveError(f"{error.filename}: run {run!r} was not removed: {error.strerror}", error.errno) from error
        self._seen.pop(run, None)
        self._calls.pop(run, None)

    def _there(self, paths: Paths) -> None:
        try:
            found = any(durable.identity(path) for path in (paths.checkpoint, paths.ledger, paths.calls))
        except OSError as error:
            raise CheckpointError(f"{paths.checkpoint}: cannot be read: {error.strerror}") from None
        if not found:
            raise MissingError(f"{paths.checkpoint}: there is no such checkpoint")

    # -- calls ----------------------------------------------------------------------------------------------------

    def begin(self, run: str, call: Call) -> None:
        """See `Store`."""
        self._calls[run] = calls.begin(self.paths(run), call, self._calls.get(run))

    def end(self, run: str, call: Call) -> None:
        """See `Store`."""
        self._calls[run] = calls.end(self.paths(run), call, self._calls.get(run))

    def calls(self, run: str) -> list[Call]:
        """See `Store`."""
        self._calls[run] = found = calls.held(self.paths(run), self._calls.get(run))
        return list(found.calls.values())


def _moved(now: durable.Identity, seen: durable.Identity | None) -> bool:
    return seen is None or now[:3] != seen[:3]


def _is_temporary(name: str, stem: str) -> bool:
    middle = name[len(stem) : -len(".tmp")]
    return name.startswith(stem) and name.endswith(".tmp") and middle.count(".") == 1 and middle.split(".")[0].isdigit()


def _whole_lines(data: bytes) -> Iterator[bytes]:
    """The lines that `read_ledger` could read, as they stand."""
    for raw in data.split(b"\n"):
        if raw.strip():
            with suppress(DamagedLine):
                decode(raw)
                yield raw
