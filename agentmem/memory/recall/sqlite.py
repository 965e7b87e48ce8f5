"""The default long-term memory: one SQLite file, no extra package.

Table `memories` can be read with plain SQL. FTS5 picks the records that share a content word with the query, where
the SQLite at hand has it; the ranking is always the stated similarity. With an embedder the vectors stand beside them.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from agentmem.checkpoint.given import moment
from agentmem.ledger.given import only_kind
from agentmem.memory.recall import memory as recall
from agentmem.memory.recall.embeddings import Embedder, embedded, pack, scorer
from agentmem.memory.recall.memory import Recalled, RecallError, Row

_Found = tuple[int, str, str, str, float, float]
"""id, key, value, source, trust, at, as they stand in the table."""

VERSION = 1
_SCHEMA = """
create table memories(
    id integer primary key autoincrement, key text not null, value text not null, source text not null,
    trust real not null, at real not null, vector blob, unique(key, source)
);
create table memory_settings(name text primary key, value text) without rowid;
"""
_INDEXES = ("create virtual table memory_words using fts5(words, detail=none)", "create table memory_words(words text)")
_MOST_WORDS = 400
"""A query with more different words is compared with every record."""
_BATCH = 256


class SqliteMemory:
    """Long-term memory in a file, or in the process alone (`:memory:`)."""

    def __init__(
        self,
        path: str | Path = ":memory:",
        embed: Embedder | None = None,
        *,
        clock: Callable[[], float] = time.time,
        fts: bool = True,
    ) -> None:
        """Opens or makes the file, private to the user. Raises RecallError for what is no memory, or a newer one.

        Records that have no vector of this embedder get one at the next search. `fts=False` does without FTS5.
        """
        only_kind(path, (str, os.PathLike), "SqliteMemory: path", "a path")
        recall.check_parts("SqliteMemory", embed, clock)
        self._path = str(path)
        self._embed = embed
        self._clock = clock
        self._lock = RLock()
        if self._path != ":memory:":
            self._path = str(Path(path).absolute())
            self._touch(Path(self._path))
        self._file = self._standing()
        try:
            self._db = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None)
            self._db.execute("pragma busy_timeout = 5000")
            self._db.execute("pragma secure_delete = on")
            self._open(fts)
        except sqlite3.Error as error:
            raise RecallError(f"{self._path}: {error}") from None

    @property
    def address(self) -> str | None:
        return None if self._path == ":memory:" else self._path

    @property
    def indexed(self) -> bool:
        """Whether FTS5 picks the candidates."""
        return self._indexed

    def _standing(self) -> tuple[int, int] | None:
        """(device, inode) of the file; None where there is none: in the process alone, or gone."""
        try:
            found = None if self.address is None else os.stat(self._path)
        except FileNotFoundError:
            found = None
        return None if found is None else (found.st_dev, found.st_ino)

    def _touch(self, path: Path) -> None:
        if path.exists():
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise RecallError(f"{path}: cannot be made: {error.strerror}") from None

    def _open(self, fts: bool) -> None:
        with self._writing():
            version = int(self._db.execute("pragma user_version").fetchone()[0])
            tables = self._db.execute("select count(*) from sqlite_master").fetchone()[0]
            if version > VERSION:
                raise RecallError(f"{self._path}: version {version} is newer than this library knows ({VERSION})")
            if version == 0 and tables:
                raise RecallError(f"{self._path}: a database, but no long-term memory")
            if version == 0:
                self._make(fts)
            made = self._db.execute("select sql from sqlite_master where name = 'memory_words'").fetchone()
            self._indexed = made is not None and "fts5" in made[0]
            name = None if self._embed is None else self._embed.name
            held = self._db.execute("select value from memory_settings where name = 'embedder'").fetchone()
            if name is not None and (held is None or held[0] != name):
                self._db.execute("update memories set vector = null")
                self._db.execute("insert or replace into memory_settings values('embedder', ?)", (name,))

    def _make(self, fts: bool) -> None:
        for statement in _SCHEMA.split(";\n"):
            self._db.execute(statement)
        for index in _INDEXES[0 if fts else 1 :]:
            try:
                self._db.execute(index)
                break
            except sqlite3.OperationalError as error:
                if "no such module" not in str(error):
                    raise
        self._db.execute(f"pragma user_version = {VERSION}")

    # -- the interface ------------------------------------------------------------------------------------------------

    def remember(self, key: str, value: str, source: str, trust: float) -> None:
        """See `Memory`."""
        at = moment(self._clock(), "remember: the clock")
        self._store([(key, value, source, recall.check(key, value, source, trust), at)])

    def load(self, rows: Iterable[Row]) -> None:
        """See `Memory`."""
        self._store(recall.rows_of(rows))

    def _store(self, rows: Sequence[tuple[str, str, str, float, float]]) -> None:
        vectors = self._vectors([(row[0], row[1]) for row in rows])
        with self._writing():
            for (key, value, source, trust, at), vector in zip(rows, vectors, strict=True):
                names = _write(key), _write(source)
                self._delete("key = ? and source = ?", names)
                added = self._db.execute(
                    "insert into memories(key, value, source, trust, at, vector) values(?, ?, ?, ?, ?, ?)",
                    (names[0], _write(value), names[1], trust, at, vector),
                )
                words = " ".join(recall.tokens(f"{key} {value}"))
                self._db.execute("insert into memory_words(rowid, words) values(?, ?)", (added.lastrowid, words))

    def search(self, query: str, k: int = 4, min_trust: float = 0.5) -> list[Recalled]:
        """See `Memory`. By words a record has to share one; by embeddings it has to reach their floor."""
        recall.check_search(k, min_trust, query)
        if self._embed is None:
            found = self._by_words(query, min_trust)
        elif query.strip():
            found = self._by_vectors(query, min_trust, self._embed)
        else:
            found = []
        found.sort(key=lambda pair: (-pair[1], -pair[0][4], -pair[0][0]))
        return [
            Recalled(_read(row[1]), _read(row[2]), _read(row[3]), row[4], score, row[5]) for row, score in found[:k]
        ]

    def purge(
        self,
        *,
        key: str | None = None,
        source: str | None = None,
        below_trust: float | None = None,
        before: float | None = None,
    ) -> int:
        """See `Memory`. What is deleted is overwritten in the file."""
        recall.check_purge(key=key, source=source, below_trust=below_trust, before=before)
        wanted: list[tuple[str, Any]] = [
            ("key = ?", None if key is None else _write(key)),
            ("source = ?", None if source is None else _write(source)),
            ("trust < ?", below_trust),
            ("at < ?", before),
        ]
        given = [(condition, value) for condition, value in wanted if value is not None]
        with self._writing():
            gone = self._delete(" and ".join(condition for condition, _ in given), [value for _, value in given])
            if gone and self._indexed:  # else the words stand in the index until it is merged some day
                self._db.execute("insert into memory_words(memory_words) values('optimize')")
            return gone

    def dump(self) -> list[Row]:
        """See `Memory`."""
        with self._lock:
            rows = self._all("select key, value, source, trust, at from memories order by id")
        return [
            {"key": _read(key), "value": _read(value), "source": _read(source), "trust": trust, "at": at}
            for key, value, source, trust, at in rows
        ]

    def close(self) -> None:
        """See `Memory`."""
        with self._lock:
            self._db.close()

    def __len__(self) -> int:
        return int(self._all("select count(*) from memories")[0][0])

    # -- inside -------------------------------------------------------------------------------------------------------

    def _by_words(self, query: str, min_trust: float) -> list[tuple[_Found, float]]:
        wanted = Counter(recall.tokens(query))
        if not wanted:
            return []
        sql = (
            "select m.id, m.key, m.value, m.source, m.trust, m.at, w.words from memory_words w "
            "join memories m on m.id = w.rowid where m.trust >= ?"
        )
        values: list[Any] = [min_trust]
        if self._indexed and len(wanted) <= _MOST_WORDS:
            sql += " and w.memory_words match ?"
            values.append(" OR ".join(f'"{word}"' for word in wanted))
        found = []
        for *row, words in self._all(sql, values):
            score = recall.similarity(wanted, Counter(words.split()))
            if score > 0:
                found.append(((row[0], row[1], row[2], row[3], row[4], row[5]), score))
        return found

    def _by_vectors(self, query: str, min_trust: float, embed: Embedder) -> list[tuple[_Found, float]]:
        self._catch_up()
        rows = self._all("select id, key, value, source, trust, at, vector from memories where trust >= ?", [min_trust])
        scores = scorer(pack(embed([query])[0]))([row[-1] for row in rows])
        return [
            ((row[0], row[1], row[2], row[3], row[4], row[5]), min(score, 1.0))
            for row, score in zip(rows, scores, strict=True)
            if score > embed.floor
        ]

    def _catch_up(self) -> None:
        while rows := self._all(f"select id, key, value from memories where vector is null limit {_BATCH}"):
            vectors = self._vectors([(_read(key), _read(value)) for _, key, value in rows])
            with self._writing():
                pairs = [(vector, row[0]) for vector, row in zip(vectors, rows, strict=True)]
                self._db.executemany("update memories set vector = ? where id = ?", pairs)

    def _vectors(self, texts: Sequence[tuple[str, str]]) -> list[bytes | None]:
        if self._embed is None:
            return [None] * len(texts)
        return [pack(vector) for vector in self._embed([embedded(key, value) for key, value in texts])]

    def _delete(self, where: str, values: Sequence[Any]) -> int:
        ids = self._all(f"select id from memories where {where}", values)
        self._db.executemany("delete from memory_words where rowid = ?", ids)
        self._db.executemany("delete from memories where id = ?", ids)
        return len(ids)

    def _all(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._db.execute(sql, values).fetchall()
            except sqlite3.Error as error:
                raise RecallError(f"{self._path}: {error}") from None

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock:
            if self._standing() != self._file:
                raise RecallError(f"{self._path}: was deleted or replaced; nothing was written. Open it again")
            try:
                self._db.execute("begin immediate")
                try:
                    yield
                    self._db.execute("commit")
                except BaseException:
                    if self._db.in_transaction:  # SQLite may have taken it back by itself
                        self._db.execute("rollback")
                    raise
            except sqlite3.Error as error:
                raise RecallError(f"{self._path}: {error}") from None


def _write(text: str) -> str | bytes:
    """Text as SQLite takes it: as it is, or as bytes if it has lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _read(held: str | bytes) -> str:
    return held if isinstance(held, str) else held.decode("utf-8", "surrogatepass")
