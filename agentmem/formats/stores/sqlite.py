"""Our own store in an SQLite file, only ever read: see `agentmem.formats.shared.sqlite` for how."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from agentmem.checkpoint.database.base import VERSION
from agentmem.checkpoint.ledger_line import Call
from agentmem.checkpoint.sqlite import APPLICATION
from agentmem.formats.reader import Format, Options
from agentmem.formats.shared.sqlite import Database, is_database
from agentmem.formats.source import Unreadable, read_at
from agentmem.formats.stores.begun import decoded
from agentmem.formats.stores.reader import Saved, StoreReader, status_of
from agentmem.model import RunInfo

_HEADER = 100
_TICK_SECONDS = 0.1
"""A file that changed so lately may change again without a new time."""


class SqliteRuns:
    """The runs in one file."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path)
        self.shown = str(path)
        self.source = f"sqlite:{path}"
        self.folders: Sequence[Path] = (path.parent,)

    def mark(self) -> object:
        changed = self._database.changed_at()
        if changed is None or time.time() - changed < _TICK_SECONDS:
            return None
        return self._database.mark()

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        checked(Path(self.shown))
        return self._database.rows(statement, values)

    def after(self, run: str, seq: int, count: int) -> list[Saved]:
        rows = self._rows(
            "select seq, step, at, cast(line as blob) from steps where run_id = ? and seq > ? and "
            "typeof(seq) = 'integer' order by seq limit ?",
            (run, seq, count),
        )
        return [Saved(seq, (step, at), _seconds(at), bytes(line or b"")) for seq, step, at, line in rows]

    def newest(self, run: str) -> tuple[int, int] | None:
        ((seq, count),) = self._rows(
            "select max(seq), count(*) from steps where run_id = ? and typeof(seq) = 'integer'", (run,)
        )
        return None if seq is None else (seq, count)

    def head(self, run: str, seq: int) -> tuple[object, object] | None:
        rows = self._rows("select step, at from steps where run_id = ? and seq = ?", (run, seq))
        return (rows[0][0], rows[0][1]) if rows else None

    def line(self, run: str, seq: int) -> bytes | None:
        rows = self._rows("select cast(line as blob) from steps where run_id = ? and seq = ?", (run, seq))
        return bytes(rows[0][0] or b"") if rows else None

    def calls(self, run: str) -> list[Call]:
        rows = self._rows("select cast(record as blob) from calls where run_id = ? order by id", (run,))
        return decoded((bytes(row[0] or b"") for row in rows), self.shown)

    def first(self) -> str | None:
        rows = self._rows("select run_id from runs order by at desc limit 1")
        return str(rows[0][0]) if rows else None

    def runs(self) -> list[RunInfo]:
        """A row a run, the newest save first."""
        rows = self._rows("select run_id, step, at, status, goal from runs order by at desc, run_id")
        return [
            RunInfo(str(run), self.shown, "agentmem", at := _seconds(moment), status_of(str(status), at),
                    step if isinstance(step, int) else None, None if goal is None else str(goal))
            for run, step, moment, status, goal in rows
        ]  # fmt: skip


def _seconds(moment: object) -> float | None:
    """Seconds since the epoch; None for what is no time: the database checks no types."""
    try:
        return datetime.fromisoformat(str(moment)).timestamp()
    except (ValueError, OverflowError):
        return None


def checked(path: Path) -> None:
    """Raises Unreadable for a file that was cut short, or of a newer version."""
    head = read_at(path, 0, _HEADER)
    if len(head) < _HEADER:
        raise Unreadable(f"{path}: half a database, {len(head)} bytes")
    size = int.from_bytes(head[16:18], "big")
    wanted = (65536 if size == 1 else size) * int.from_bytes(head[28:32], "big")
    there = path.stat().st_size
    if there < wanted and head[24:28] == head[92:96] and not Path(f"{path}-wal").exists():
        raise Unreadable(f"{path}: half a database, {there:,} of {wanted:,} bytes")
    version = int.from_bytes(head[60:64], "big")
    if version > VERSION:
        raise Unreadable(f"{path}: version {version} is newer than this library reads ({VERSION})")


def recognise(path: Path, head: bytes) -> bool:
    """A database whose head says that it is of our own store."""
    return is_database(head) and int.from_bytes(head[68:72], "big") == APPLICATION


def runs(path: Path) -> Iterable[RunInfo]:
    """Raises Unreadable, NotYet."""
    found = SqliteRuns(path).runs()
    if not found:
        raise Unreadable(f"{path}: no runs in it")
    return found


def open_reader(path: Path, options: Options) -> StoreReader:
    return StoreReader(SqliteRuns(path), options)


FORMAT = Format("agentmem", "our own store in SQLite", recognise, open_reader, runs=runs)
