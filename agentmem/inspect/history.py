"""Versions seen of files that their writer overwrites: in memory, or in one SQLite store in the user's state directory.

Messages are content-addressed; a version is a cut of the one before and what was added. Nothing is written beside the
user's files. The app writes the store; commands only read it.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentmem.formats.reader import Keeper, Version

SIZE_LIMIT = 512 * 1024 * 1024
"""Bytes of the store; above it the generations seen longest ago leave."""
MEMORY_LIMIT = 256 * 1024 * 1024
_SCHEMA = """
CREATE TABLE IF NOT EXISTS generation (
  id INTEGER PRIMARY KEY, path TEXT NOT NULL, started REAL NOT NULL, seen REAL NOT NULL,
  bytes INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS generation_path ON generation(path);
CREATE TABLE IF NOT EXISTS version (
  generation INTEGER NOT NULL, number INTEGER NOT NULL, seen REAL NOT NULL, keep INTEGER NOT NULL, added BLOB NOT NULL,
  rest BLOB NOT NULL, PRIMARY KEY (generation, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS message (
  generation INTEGER NOT NULL, key INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (generation, key)
);
"""


def store_path() -> Path:
    """Where the store is: `$XDG_STATE_HOME/agentmem/history.db`, on macOS in Application Support."""
    base = os.environ.get("XDG_STATE_HOME")
    if base:
        return Path(base) / "agentmem" / "history.db"
    home = Path(os.path.expanduser("~"))
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "agentmem" / "history.db"
    return home / ".local" / "state" / "agentmem" / "history.db"


def _signed(key: int) -> int:
    return key - (1 << 64) if key >= 1 << 63 else key


class MemoryKeeper:
    """Versions of this process, in memory; the oldest messages leave above 256 MB."""

    def __init__(self, limit: int = MEMORY_LIMIT) -> None:
        self._limit = limit
        self._held = 0
        self._messages: OrderedDict[tuple[str, int], bytes] = OrderedDict()

    def past(self, path: str) -> Iterable[Version]:
        return ()

    def keep(self, path: str, version: Version, new: Mapping[int, bytes]) -> None:
        for key, data in new.items():
            if (path, key) not in self._messages:
                self._messages[path, key] = data
                self._held += len(data)
        while self._held > self._limit and len(self._messages) > 1:
            self._held -= len(self._messages.popitem(last=False)[1])

    def message(self, path: str, key: int) -> bytes | None:
        return self._messages.get((path, key))

    def close(self) -> None:
        """Nothing to close."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One row of `agentmem history`."""

    path: str
    versions: int
    bytes: int


class HistoryStore:
    """The store on disk. Every trouble with it is put into `notice`; following goes on from memory."""

    def __init__(self, path: Path, *, read_only: bool = False, limit: int = SIZE_LIMIT) -> None:
        self._path = path
        self._read_only = read_only
        self._limit = limit
        self._memory = MemoryKeeper()
        self._generation: dict[str, int] = {}
        self._last: dict[str, tuple[int, tuple[int, ...]]] = {}
        self.notice: str | None = None
        self._db: sqlite3.Connection | None = None
        try:
            self._db = self._connect()
        except (OSError, sqlite3.Error) as error:
            self.notice = f"history is not kept: {error}"

    def _connect(self) -> sqlite3.Connection | None:
        if self._read_only:
            if not self._path.exists():
                return None
            place = f"file:{quote(str(self._path))}?mode=ro"
            db = sqlite3.connect(place, uri=True, timeout=1, isolation_level=None, check_same_thread=False)
            db.execute("PRAGMA query_only=1")
            return db
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self._path.exists():
            os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600))
        try:
            return self._prepared()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            aside = self._path.with_name(f"history.damaged-{int(time.time())}.db")
            os.replace(self._path, aside)
            os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600))
            self.notice = f"history was damaged; it is kept as {aside}"
            return self._prepared()

    def _prepared(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=1, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=OFF")
        db.executescript(_SCHEMA)
        os.chmod(self._path, 0o600)
        return db

    # -- the keeper -----------------------------------------------------------------------------------------------

    def past(self, path: str) -> Iterator[Version]:
        """Versions of the newest generation of that file, oldest first."""
        real = os.path.realpath(path)
        generation = self._newest(real)
        if self._db is None or generation is None:
            return
        keys: list[int] = []
        rows = self._rows(
            "SELECT number, seen, keep, added, rest FROM version WHERE generation=? ORDER BY number", (generation,)
        )
        for _, seen, keep, added, rest in rows:
            fresh = array("Q")
            fresh.frombytes(added)
            keys[keep:] = fresh
            yield Version(seen, tuple(keys), rest)
        self._generation[real] = generation
        self._last[real] = (rows[-1][0] + 1 if rows else 0, tuple(keys))

    def _newest(self, real: str) -> int | None:
        rows = self._rows("SELECT id FROM generation WHERE path=? ORDER BY id DESC LIMIT 1", (real,))
        return int(rows[0][0]) if rows else None

    def _rows(self, sql: str, values: tuple[object, ...]) -> list[Any]:
        if self._db is None:
            return []
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            self.notice = f"history cannot be read: {error}"
            return []

    def keep(self, path: str, version: Version, new: Mapping[int, bytes]) -> None:
        if self._db is None or self._read_only:
            self._memory.keep(path, version, new)
            return
        real = os.path.realpath(path)
        try:
            self._write(real, version, new)
        except sqlite3.Error as error:
            self.notice = f"history is not kept: {error}"
            self._memory.keep(path, version, new)

    def _write(self, real: str, version: Version, new: Mapping[int, bytes]) -> None:
        assert self._db is not None
        number, before = self._last.get(real, (0, ()))
        same = 0
        while same < min(len(before), len(version.messages)) and before[same] == version.messages[same]:
            same += 1
        added = array("Q", version.messages[same:]).tobytes()
        size = sum(map(len, new.values())) + len(added) + len(version.rest)
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        try:
            generation = self._generation.get(real)
            if generation is None:
                cursor = db.execute(
                    "INSERT INTO generation(path, started, seen) VALUES (?, ?, ?)",
                    (real, version.seen_at, version.seen_at),
                )
                generation = self._generation[real] = int(cursor.lastrowid or 0)
            db.executemany(
                "INSERT OR IGNORE INTO message VALUES (?, ?, ?)",
                [(generation, _signed(key), data) for key, data in new.items()],
            )
            db.execute(
                "INSERT OR REPLACE INTO version VALUES (?, ?, ?, ?, ?, ?)",
                (generation, number, version.seen_at, same, added, version.rest),
            )
            db.execute("UPDATE generation SET seen=?, bytes=bytes+? WHERE id=?", (version.seen_at, size, generation))
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise
        self._last[real] = (number + 1, version.messages)
        if number % 64 == 0:
            self._evict(generation)

    def _evict(self, current: int) -> None:
        """Above the limit the generations seen longest ago leave, never the current one."""
        assert self._db is not None
        total = self._db.execute("SELECT coalesce(sum(bytes), 0) FROM generation").fetchone()[0]
        for ident, size in self._db.execute("SELECT id, bytes FROM generation ORDER BY seen").fetchall():
            if total <= self._limit:
                return
            if ident != current:
                for table in ("message", "version"):
                    self._db.execute(f"DELETE FROM {table} WHERE generation=?", (ident,))
                self._db.execute("DELETE FROM generation WHERE id=?", (ident,))
                total -= size

    def message(self, path: str, key: int) -> bytes | None:
        real = os.path.realpath(path)
        generation = self._generation.get(real) or self._newest(real)
        rows = self._rows("SELECT data FROM message WHERE generation=? AND key=?", (generation, _signed(key)))
        return bytes(rows[0][0]) if rows else self._memory.message(path, key)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    # -- for `agentmem history` -----------------------------------------------------------------------------------

    @staticmethod
    def listing(path: Path) -> list[Kept]:
        """What the store holds, largest first."""
        store = HistoryStore(path, read_only=True)
        rows = store._rows(
            "SELECT path, (SELECT count(*) FROM version v WHERE v.generation=g.id), bytes FROM generation g "
            "ORDER BY bytes DESC", (),
        )  # fmt: skip
        store.close()
        return [Kept(str(where), int(versions), int(size)) for where, versions, size in rows]

    @staticmethod
    def clear(path: Path) -> None:
        """Forget everything."""
        for name in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
            name.unlink(missing_ok=True)


def reading() -> Keeper:
    """The keeper of a command: reads the store, keeps new versions in memory only."""
    return HistoryStore(store_path(), read_only=True)
