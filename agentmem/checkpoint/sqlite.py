"""Runs in one SQLite file: no extra install, and every step can be asked for with plain SQL.

    run = agentmem.record("parser", store=SqliteStore("runs.db"))

    select step, at, status, goal, state ->> 'order_id' from steps where run_id = 'parser' order by seq;

A save is one transaction with `synchronous = full`: when it returns it survives a crash and power loss. Write-ahead
logging lets the inspector look while the agent writes; it needs a disk of this machine, not one on the network.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from agentmem.checkpoint import durable
from agentmem.checkpoint.database.base import NEWEST, STEP, VERSION, Ask, DatabaseStore, Row
from agentmem.checkpoint.database.write_ahead import write_ahead
from agentmem.checkpoint.store import (
    Change,
    CheckpointError,
    DamagedError,
    NewerSchemaError,
    SaveError,
)

T = TypeVar("T")
APPLICATION = 0x61676D31
"""`application_id` of our files (bytes 68 to 71): `agm1`."""
BUSY_SECONDS = 10.0
"""How long a save waits for another process that writes."""
ENDINGS = (".db", ".sqlite", ".sqlite3")

_SCHEMA = (
    """create table runs(
    run_id text primary key, step integer not null, at text not null, status text not null, goal text, state text,
    seq integer not null
)""",
    """create table steps(
    run_id text not null, step integer not null, at text not null, status text not null, goal text, state text,
    lane text not null, seq integer not null, whole integer not null, line text not null, primary key(run_id, seq)
)""",
    "create index steps_by_step on steps(run_id, step)",
    "create index steps_by_time on steps(at)",
    """create table calls(
    id integer primary key autoincrement, run_id text not null, key text not null, attempt integer not null,
    tool text not null, outcome text not null, started text not null, ended text, record text not null,
    unique(run_id, key, attempt)
)""",
)
_ERRNO = {
    sqlite3.SQLITE_FULL: errno.ENOSPC, sqlite3.SQLITE_IOERR: errno.EIO, sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_BUSY: errno.EBUSY, sqlite3.SQLITE_LOCKED: errno.EBUSY, sqlite3.SQLITE_CANTOPEN: errno.ENOENT,
    sqlite3.SQLITE_PERM: errno.EACCES,
}  # fmt: skip
_INSERT = f"insert into steps({', '.join(STEP)}) values({', '.join('?' for _ in STEP)})"
_NEWEST = f"""insert into runs({', '.join(NEWEST)}) values({', '.join('?' for _ in NEWEST)})
on conflict(run_id) do update set step = excluded.step, at = excluded.at, status = excluded.status,
    goal = excluded.goal, state = excluded.state, seq = excluded.seq"""


class SqliteStore(DatabaseStore):
    """Runs in one SQLite file, which is made (private) at the first save. Safe to use from several threads."""

    line = "cast(line as blob)"
    record = "cast(record as blob)"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.abspath(path))
        self.address = str(self.path)
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        """(device, inode) of the file that it is connected to."""
        self._process = os.getpid()
        self._left: list[sqlite3.Connection] = []
        """Connections of the process that this one was forked from: never used here, and never closed."""

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    # -- the file -------------------------------------------------------------------------------------------------

    def _open(self, make: bool) -> sqlite3.Connection | None:
        """The connection; None if there is no file and none is to be made."""
        if self._process != os.getpid():
            self._left += [self._db] if self._db is not None else []
            self._db, self._process = None, os.getpid()
        found = durable.identity(self.path)
        if self._db is not None and (found is None or found[:2] != self._file):
            self.close()  # the file was deleted or replaced: what is written to it would be lost
        if self._db is None:
            if not self._there(make):
                return None
            db = sqlite3.connect(self.path, BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            try:
                self._prepare(db, make)
            except BaseException:
                db.close()
                raise
            there = durable.identity(self.path)
            self._db, self._file = db, None if there is None else there[:2]
        elif make and self._db.execute("pragma user_version").fetchone()[0] == 0:
            self._prepare(self._db, make)
        return self._db

    def _there(self, make: bool) -> bool:
        if durable.identity(self.path) is not None:
            return True
        if make:
            durable.make_folder(self.path.parent)
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, durable.FILE_MODE))
                durable.sync_folder(self.path.parent)
        return make

    def _prepare(self, db: sqlite3.Connection, make: bool) -> None:
        db.execute("pragma synchronous = full")
        db.execute("pragma trusted_schema = off")
        version = self._version(db)
        if version == 0 and make:
            # Before write-ahead logging, so that the head of the file says whose it is while all else is in the log.
            db.execute("begin immediate")
            try:
                if self._version(db) == 0:
                    for statement in _SCHEMA:
                        db.execute(statement)
                    db.execute(f"pragma application_id = {APPLICATION}")
                    db.execute(f"pragma user_version = {VERSION}")
                db.execute("commit")
            except BaseException:
                if db.in_transaction:
                    db.execute("rollback")
                raise
        if make or version:
            write_ahead(db, BUSY_SECONDS)

    def _version(self, db: sqlite3.Connection) -> int:
        """0 for an empty file. Raises NewerSchemaError, CheckpointError for a database that is none of ours."""
        # Asked in one transaction: another writer may make the tables between one question and the next.
        alone = not db.in_transaction
        if alone:
            db.execute("begin")
        try:
            version = int(db.execute("pragma user_version").fetchone()[0])
            ours = db.execute("pragma application_id").fetchone()[0] == APPLICATION
            tables = int(db.execute("select count(*) from sqlite_master").fetchone()[0])
        finally:
            if alone:
                db.execute("commit")
        if not ours and tables:
            raise CheckpointError(f"{self.path}: a database, but not one of runs; nothing was changed")
        if ours and version > VERSION:
            raise NewerSchemaError(f"{self.path}: version {version} is newer than this library reads ({VERSION})")
        return version if ours else 0

    # -- what a database store is made of ----------------------------------------------------------------------------

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._lock:
            try:
                db = self._open(make=False)
                if db is None or not self._version(db):
                    return []
                return db.execute(sql, values).fetchall()
            except sqlite3.Error as error:
                said = self._said(error, "it cannot be read")
                raise said if isinstance(said, DamagedError) else CheckpointError(str(said)) from None
            except OSError as error:
                raise CheckpointError(f"{self.path}: cannot be read: {error.strerror}") from None
            except OverflowError:
                raise CheckpointError(f"{self.path}: asked for a number of more than 64 bits") from None

    def _change(self, what: str, work: Callable[[Ask, bool], T]) -> T:
        with self._lock:
            try:
                db = self._open(make=True)
                assert db is not None

                def ask(sql: str, values: Sequence[Any] | dict[str, Any]) -> list[Row]:
                    done = db.execute(sql, values)
                    return done.fetchall() if done.description else [(done.rowcount,)]

                db.execute("begin immediate")
                try:
                    found = work(ask, False)
                    db.execute("commit")
                except BaseException:
                    if db.in_transaction:
                        db.execute("rollback")
                    raise
                return found
            except CheckpointError:
                raise
            except OverflowError as error:
                raise SaveError(
                    f"{self.path}: {what}: a number of more than 64 bits; what was saved before stands"
                ) from error
            except sqlite3.Error as error:
                raise self._said(error, f"{what}; what was saved before stands") from error
            except OSError as error:
                raise SaveError(
                    f"{error.filename or self.path}: {what}: {error.strerror}; what was saved before stands",
                    error.errno,
                ) from error

    def _said(self, error: sqlite3.Error, what: str) -> CheckpointError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return DamagedError(f"{self.path}: damaged: {error}; {what}")
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return SaveError(f"{self.path}: another process has been writing for {BUSY_SECONDS:.0f} s; {what}",
                             errno.EBUSY)  # fmt: skip
        return SaveError(f"{self.path}: {error}; {what}", _ERRNO.get(code))

    def _store(self, run: str, change: Change) -> None:
        def work(ask: Ask, again: bool) -> None:
            held = ask("select seq from runs where run_id = ?", [run])
            if held and held[0][0] != change.seq - 1:
                raise self._conflict(run, change)
            alone = not held and not change.whole
            line = change.whole_line() if alone else change.line
            values = self._step_values(run, change, line, alone or change.whole)
            ask(_INSERT, [values[name] for name in STEP])
            ask(_NEWEST, [values[name] for name in NEWEST])

        self._change(f"step {change.step} was not saved", work)

    def _moment(self, at: float) -> str:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")

    def _seconds(self, moment: Any) -> float:
        return datetime.fromisoformat(moment).timestamp()


__all__ = ["ENDINGS", "SqliteStore"]
