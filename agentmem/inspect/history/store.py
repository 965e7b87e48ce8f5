"""The store on disk. Messages are content-addressed; a version is a cut of the one before and what was added.

A generation is one run in a file: its versions stand on each other, in the order of their numbers.
"""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from array import array
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from agentmem.checkpoint.database.write_ahead import write_ahead
from agentmem.formats.reader import Version
from agentmem.formats.source import Unreadable
from agentmem.inspect.history.memory import MemoryKeeper

SIZE_LIMIT = 512 * 1024 * 1024
"""Bytes of the store; above it the generations seen longest ago leave."""
BUSY_SECONDS = 1.0
"""How long a write waits for another inspector that writes."""
_CHECK_EVERY = 64
"""Saves between two looks at the size."""
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
_WHOLE_EVERY = 64
_NOT_READ = -2
"""No number of a version: what the generation holds is to be read before it goes on."""
_PACKED = b"\x01"
"""With this begins what is packed; JSON never does."""
_DICTIONARY = 32_768
_SIDES = ("", "-wal", "-shm")


class Kept(msgspec.Struct, frozen=True):
    """One row of `agentmem history`."""

    path: str
    versions: int
    bytes: int
    runs: int
    """How many runs stood in the file, one after the other."""


class Generation(msgspec.Struct, frozen=True):
    """One run of a file, as far as it was seen."""

    id: int
    started: float
    """When it was seen first, seconds since the epoch; then when last."""
    seen: float
    versions: int
    bytes: int


class _Place(msgspec.Struct):
    """Where the next version of a file goes."""

    generation: int
    number: int
    """Of the last version; -1: there is none."""
    messages: tuple[int, ...]
    """Of the last version."""
    rest: bytes
    full: bool = False
    """The store has no room for more of it."""


class HistoryStore:
    """A keeper that survives a restart. What goes wrong is put into `notice`; following goes on from memory."""

    def __init__(self, path: Path, *, read_only: bool = False, limit: int = SIZE_LIMIT) -> None:
        self._path = path
        self._read_only = read_only
        self._limit = limit
        self._memory = MemoryKeeper()
        self._places: dict[str, _Place] = {}
        self._real: dict[str, str] = {}
        self._not_kept: set[str] = set()
        """Files in which a run began that is not in the store."""
        self.notice: str | None = None
        self._db: sqlite3.Connection | None = None
        try:
            self._db = self._reading() if read_only else self._writing()
        except (OSError, sqlite3.Error) as error:
            self.notice = f"history is not kept: {error}"

    # -- opening --------------------------------------------------------------------------------------------------

    def _reading(self) -> sqlite3.Connection | None:
        if not self._path.exists():
            return None
        place = f"file:{quote(str(self._path))}?mode=ro"
        db = sqlite3.connect(place, uri=True, timeout=1, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA query_only=1")
        return db

    def _writing(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            return self._prepared()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            self._move_aside()
            return self._prepared()

    def _prepared(self) -> sqlite3.Connection:
        # SQLite gives its side files the mode of the file.
        os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        os.chmod(self._path, 0o600)
        db = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA auto_vacuum=INCREMENTAL")
            write_ahead(db, BUSY_SECONDS)
            db.execute("PRAGMA synchronous=NORMAL")
            db.executescript(_SCHEMA)
        except BaseException:
            db.close()
            raise
        return db

    def _move_aside(self) -> None:
        """Nothing is lost: the damaged store is kept beside the new one, its side files with it."""
        aside = self._path.with_name(f"{self._path.stem}.damaged-{time.time_ns()}{self._path.suffix}")
        for side in _SIDES:
            with suppress(FileNotFoundError):
                os.replace(f"{self._path}{side}", f"{aside}{side}")
        self.notice = f"history was damaged; it is kept as {aside}"

    def _begin_anew(self, error: sqlite3.Error) -> None:
        """Damage found while at work."""
        if self._read_only or isinstance(error, sqlite3.OperationalError):
            self.notice = f"history {'cannot be read' if self._read_only else 'is not kept'}: {error}"
            return
        self.close()
        self._places.clear()
        try:
            self._move_aside()
            self._db = self._prepared()
        except (OSError, sqlite3.Error) as again:
            self.notice = f"history is not kept: {again}"

    # -- the keeper -----------------------------------------------------------------------------------------------

    def past(self, path: str, of: int | None = None) -> Iterator[Version]:
        """Versions of the newest generation of that file, or of the one with the id `of`, oldest first."""
        real = self._path_of(path)
        generation = self._newest(real) if of is None else of
        if generation is None:
            return
        self._places[real] = _Place(generation, -1, (), b"")
        keys: list[int] = []
        last = _Place(generation, -1, (), b"")
        for number, seen, keep, added, rest in self._rows(
            "SELECT number, seen, keep, added, rest FROM version WHERE generation=? ORDER BY number", (generation,)
        ):
            keys[keep:] = _keys(added)
            try:
                last = _Place(generation, number, tuple(keys), _unpacked(rest, last.rest))
            except sqlite3.DatabaseError as error:
                self._begin_anew(error)
                return
            yield Version(seen, last.messages, last.rest, keep)
        self._places[real] = last

    def _path_of(self, path: str) -> str:
        found = self._real.get(path)
        if found is None:
            found = self._real[path] = os.path.realpath(path)
        return found

    def _newest(self, real: str) -> int | None:
        rows = self._rows("SELECT id FROM generation WHERE path=? ORDER BY id DESC LIMIT 1", (real,))
        return int(rows[0][0]) if rows else None

    def _rows(self, sql: str, values: tuple[object, ...]) -> list[Any]:
        if self._db is None:
            return []
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            self._begin_anew(error)
            return []

    def begin(self, path: str) -> None:
        """The next version begins a generation, or joins the one that another inspector began for the same run."""
        real = self._path_of(path)
        if self._db is None or self._read_only:
            self._not_kept.add(real)
            return
        place, newest = self._places.pop(real, None), self._newest(real)
        if place is not None and newest is not None and newest > place.generation:
            self._places[real] = _Place(newest, _NOT_READ, (), b"")

    def keep(self, path: str, version: Version, new: Mapping[int, bytes]) -> None:
        if self._db is not None and not self._read_only:
            try:
                if self._write(self._path_of(path), version, new):
                    return
            except sqlite3.Error as error:
                self._begin_anew(error)
        self._memory.keep(path, version, new)

    def _write(self, real: str, version: Version, new: Mapping[int, bytes]) -> bool:
        """False: there is no room."""
        db = self._db
        assert db is not None
        place = self._places.get(real)
        if place is not None and place.full:
            return False
        db.execute("BEGIN IMMEDIATE")
        try:
            place = self._place(db, real, place, version.seen_at)
            if place.number < 0 or place.rest != version.rest or place.messages != version.messages:
                place = self._append(db, place, version, new)
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise
        self._places[real] = place
        if place.number % _CHECK_EVERY == 0:
            self._make_room(db, place)
        return True

    def _place(self, db: sqlite3.Connection, real: str, place: _Place | None, seen: float) -> _Place:
        """Where the version goes: another inspector may have kept versions of the same file in between."""
        if place is not None:
            last = db.execute(
                "SELECT (SELECT max(number) FROM version WHERE generation=g.id) FROM generation g WHERE id=?",
                (place.generation,),
            ).fetchone()
            if last is not None and (-1 if last[0] is None else last[0]) == place.number:
                return place
            if last is not None:
                keys: list[int] = []
                newest = b""
                for keep, added, rest in db.execute(
                    "SELECT keep, added, rest FROM version WHERE generation=? ORDER BY number", (place.generation,)
                ):
                    keys[keep:] = _keys(added)
                    newest = _unpacked(rest, newest)
                return _Place(place.generation, -1 if last[0] is None else int(last[0]), tuple(keys), newest)
        added_row = db.execute("INSERT INTO generation(path, started, seen) VALUES (?, ?, ?)", (real, seen, seen))
        return _Place(int(added_row.lastrowid or 0), -1, (), b"")

    @staticmethod
    def _append(db: sqlite3.Connection, place: _Place, version: Version, new: Mapping[int, bytes]) -> _Place:
        before, now = place.messages, version.messages
        same = 0
        if now[: len(before)] == before:
            same = len(before)
        else:
            while same < min(len(before), len(now)) and before[same] == now[same]:
                same += 1
        added = array("Q", now[same:]).tobytes()
        db.executemany(
            "INSERT OR IGNORE INTO message VALUES (?, ?, ?)",
            [(place.generation, _signed(key), data) for key, data in new.items()],
        )
        number = place.number + 1
        rest = _packed(version.rest, place.rest) if number % _WHOLE_EVERY else version.rest
        db.execute(
            "INSERT INTO version VALUES (?, ?, ?, ?, ?, ?)",
            (place.generation, number, version.seen_at, same, added, rest),
        )
        size = sum(map(len, new.values())) + len(added) + len(rest)
        db.execute("UPDATE generation SET seen=?, bytes=bytes+? WHERE id=?", (version.seen_at, size, place.generation))
        return _Place(place.generation, number, now, version.rest)

    def _make_room(self, db: sqlite3.Connection, place: _Place) -> None:
        """Above the limit the generations seen longest ago leave; the one in hand is not kept on if it alone is too
        big."""
        total = db.execute("SELECT coalesce(sum(bytes), 0) FROM generation").fetchone()[0]
        if total <= self._limit:
            return
        for ident, size in db.execute(
            "SELECT id, bytes FROM generation WHERE id<>? ORDER BY seen", (place.generation,)
        ).fetchall():
            for table in ("message", "version"):
                db.execute(f"DELETE FROM {table} WHERE generation=?", (ident,))
            db.execute("DELETE FROM generation WHERE id=?", (ident,))
            total -= size
            if total <= self._limit:
                break
        if total > self._limit:
            place.full = True
            self.notice = f"history is full ({self._limit:,} bytes): no more versions are kept"
        db.execute("PRAGMA incremental_vacuum")

    def message(self, path: str, key: int) -> bytes | None:
        real = self._path_of(path)
        place = self._places.get(real)
        generation = self._newest(real) if place is None else place.generation
        rows = self._rows("SELECT data FROM message WHERE generation=? AND key=?", (generation, _signed(key)))
        return bytes(rows[0][0]) if rows else self._memory.message(path, key)

    def generations(self, path: str) -> list[Generation]:
        """The runs that stood in that file, oldest first."""
        rows = self._rows(
            "SELECT id, started, seen, (SELECT count(*) FROM version v WHERE v.generation=g.id), bytes "
            "FROM generation g WHERE path=? ORDER BY id", (self._path_of(path),),
        )  # fmt: skip
        return [Generation(*row) for row in rows]

    def earlier(self, path: str) -> int:
        real = self._path_of(path)
        rows = self._rows("SELECT count(*) FROM generation WHERE path=?", (real,))
        return max(0, rows[0][0] - (real not in self._not_kept)) if rows else 0

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    # -- for `agentmem history` -----------------------------------------------------------------------------------

    @staticmethod
    @contextmanager
    def reading(path: Path) -> Iterator[HistoryStore]:
        """The store, to be read only. Raises Unreadable at the end for one that is damaged."""
        with closing(HistoryStore(path, read_only=True)) as store:
            yield store
        if store.notice:
            raise Unreadable(f"{path}: {store.notice}")

    @staticmethod
    def listing(path: Path) -> list[Kept]:
        """What the store holds, largest first. Raises Unreadable."""
        with HistoryStore.reading(path) as store:
            rows = store._rows(
                "SELECT path, sum((SELECT count(*) FROM version v WHERE v.generation=g.id)), sum(bytes) AS size, "
                "count(*) FROM generation g GROUP BY path ORDER BY size DESC", (),
            )  # fmt: skip
        return [Kept(str(where), int(versions), int(size), int(runs)) for where, versions, size, runs in rows]

    @staticmethod
    def clear(path: Path) -> None:
        """Forget everything, damaged stores that were kept aside too. An inspector that runs begins anew."""
        if path.exists():
            try:
                with closing(sqlite3.connect(path, timeout=5, isolation_level=None)) as db:
                    for table in ("message", "version", "generation"):
                        db.execute(f"DELETE FROM {table}")
                    db.execute("VACUUM")
                    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error:
                # Not a store, or damaged: it goes whole.
                for side in _SIDES:
                    Path(f"{path}{side}").unlink(missing_ok=True)
        for aside in path.parent.glob(f"{path.stem}.damaged-*"):
            aside.unlink(missing_ok=True)


def _packed(rest: bytes, before: bytes) -> bytes:
    """What stands beside the messages changes little from one version to the next: packed against the one before."""
    packer = zlib.compressobj(1, zdict=before[-_DICTIONARY:]) if before else zlib.compressobj(1)
    packed = _PACKED + packer.compress(rest) + packer.flush()
    return packed if len(packed) < len(rest) else rest


def _unpacked(held: bytes, before: bytes) -> bytes:
    """Raises sqlite3.DatabaseError for what was not packed so."""
    if not held.startswith(_PACKED):
        return held
    try:
        unpacker = zlib.decompressobj(zdict=before[-_DICTIONARY:]) if before else zlib.decompressobj()
        return unpacker.decompress(held[1:]) + unpacker.flush()
    except zlib.error as error:
        raise sqlite3.DatabaseError(f"a version cannot be unpacked: {error}") from None


def _keys(added: bytes) -> array[int]:
    keys = array("Q")
    keys.frombytes(added)
    return keys


def _signed(key: int) -> int:
    return key - (1 << 64) if key >= 1 << 63 else key
