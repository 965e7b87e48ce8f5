"""Long-term memory in Postgres, for agents on more than one machine. Needs the extra `postgres` (psycopg).

Table `agentmem.memories` can be read with plain SQL. Without an embedder an index over the content words picks the
records that share one with the query, and the ranking is the stated similarity; with one, vectors stand beside the
records and pgvector (the extension `vector` of the database) compares them.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from agentmem.checkpoint.given import moment
from agentmem.checkpoint.postgres.connect import WRITING, Link, driver, one_line, without_password
from agentmem.checkpoint.postgres.schema import DEFAULT, prefix, trusted
from agentmem.checkpoint.store import CheckpointError
from agentmem.ledger.given import only_text
from agentmem.memory.recall import memory as recall
from agentmem.memory.recall.embeddings import Embedder, Vector, embedded
from agentmem.memory.recall.memory import Recalled, RecallError, Row

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")
VERSION = 1
_COMMENT = "agentmem long-term memory, version "
_TABLES = """
create table {t}memories(
    id bigint generated always as identity primary key, key text not null, value text not null, source text not null,
    trust float8 not null, at float8 not null, words text[] not null
);
create unique index on {t}memories(md5(key), md5(source));
create index on {t}memories using gin(words);
create table {t}memory_settings(name text primary key, value text);
comment on table {t}memories is '{comment}{version}';
"""
_FIELDS = "id, key, value, source, trust, at"
_BATCH = 256
_MARK = "\x01"
"""A text that Postgres cannot hold (NUL, lone surrogates) stands as this and its JSON."""


class PostgresMemory:
    """Long-term memory in one schema of a Postgres database. See `Memory`. Safe to use from several threads.

    What is deleted is gone for every question; the server overwrites it on its disk when it vacuums.
    """

    def __init__(
        self,
        address: str,
        embed: Embedder | None = None,
        *,
        schema: str = DEFAULT,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Connects, and makes the tables where there are none. Records that have no vector of this embedder get one at
        the next search. Raises RecallError for a server that cannot be reached, tables of something else or newer ones,
        a database without pgvector (with an embedder); MissingExtra, an ImportError, without psycopg."""
        only_text(address, "PostgresMemory: address")
        recall.check_parts("PostgresMemory", embed, clock)
        self._embed = embed
        self._clock = clock
        self._schema = schema
        self._t = prefix(schema)
        try:
            self._link = Link(address, WRITING)
            self._address = without_password(address)
        except CheckpointError as error:
            if isinstance(error, ImportError):
                raise
            raise RecallError(str(error)) from None
        self._do(self._open)

    @property
    def address(self) -> str | None:
        """Without a password: keep that in `~/.pgpass` or `PGPASSWORD`."""
        return self._address

    def _open(self, connection: psycopg.Connection[Any], again: bool) -> None:
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(hashtext(%s))", [f"agentmem memory {self._schema}"])
            self._make(connection)
            if self._embed is not None:
                self._with_vectors(connection, self._embed)

    def _make(self, connection: psycopg.Connection[Any]) -> None:
        row = connection.execute(
            "select obj_description(c.oid, 'pg_class') from pg_catalog.pg_class c join pg_catalog.pg_namespace n "
            "on n.oid = c.relnamespace where n.nspname = %s and c.relname = 'memories'",
            [self._schema],
        ).fetchone()
        if row is None:
            there = connection.execute("select 1 from pg_catalog.pg_namespace where nspname = %s", [self._schema])
            if there.fetchone() is None:
                connection.execute(trusted(f"create schema {self._schema}"))
            connection.execute(trusted(_TABLES.format(t=self._t, comment=_COMMENT, version=VERSION)))
            return
        version = str(row[0] or "").removeprefix(_COMMENT)
        if not version.isdigit():
            raise RecallError(f"{self._link.shown}: {self._t}memories is a table of something else")
        if int(version) > VERSION:
            raise RecallError(f"{self._link.shown}: version {version} is newer than this library knows ({VERSION})")

    def _with_vectors(self, connection: psycopg.Connection[Any], embed: Embedder) -> None:
        """The column of vectors; those of another embedder are made anew."""
        connection.execute("create extension if not exists vector")
        connection.execute(trusted(f"alter table {self._t}memories add column if not exists vector vector"))
        held = connection.execute(
            trusted(f"select value from {self._t}memory_settings where name = 'embedder'")
        ).fetchone()
        if held is None or held[0] != embed.name:
            connection.execute(trusted(f"update {self._t}memories set vector = null where vector is not null"))
            connection.execute(
                trusted(f"insert into {self._t}memory_settings values('embedder', %s) "
                        "on conflict(name) do update set value = excluded.value"),
                [embed.name],
            )  # fmt: skip

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

        def work(connection: psycopg.Connection[Any], again: bool) -> None:
            with connection.transaction():
                # One after the other: two that remember the same key at once would both insert it.
                connection.execute("select pg_advisory_xact_lock(hashtext(%s))", [f"agentmem memory {self._schema}"])
                for (key, value, source, trust, at), vector in zip(rows, vectors, strict=True):
                    words = recall.tokens(f"{key} {value}")
                    held: list[Any] = [_write(key), _write(value), _write(source), trust, at, words]
                    columns, marks = "key, value, source, trust, at, words", "%s, %s, %s, %s, %s, %s"
                    if vector is not None:
                        held, columns, marks = [*held, vector], f"{columns}, vector", f"{marks}, %s::vector"
                    # A new row, so that it is the newest of all: `id` tells the order.
                    connection.execute(
                        trusted(f"delete from {self._t}memories where md5(key) = md5(%s) and md5(source) = md5(%s)"),
                        [held[0], held[2]],
                    )
                    connection.execute(trusted(f"insert into {self._t}memories({columns}) values({marks})"), held)

        self._do(work)

    def search(self, query: str, k: int = 4, min_trust: float = 0.5) -> list[Recalled]:
        """See `Memory`. By words a record has to share one; by embeddings it has to reach their floor."""
        recall.check_search(k, min_trust, query)
        if self._embed is None:
            found = self._by_words(query, min_trust)
            found.sort(key=lambda pair: (-pair[1], -pair[0][4], -pair[0][0]))
        elif query.strip():
            found = self._by_vectors(query, k, min_trust, self._embed)
        else:
            found = []
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
        """See `Memory`."""
        recall.check_purge(key=key, source=source, below_trust=below_trust, before=before)
        wanted: list[tuple[str, Any]] = [
            ("key = %s", None if key is None else _write(key)),
            ("source = %s", None if source is None else _write(source)),
            ("trust < %s", below_trust),
            ("at < %s", before),
        ]
        given = [(condition, value) for condition, value in wanted if value is not None]
        sql = f"delete from {self._t}memories where {' and '.join(condition for condition, _ in given)}"
        return self._do(lambda connection, again: connection.execute(trusted(sql), [v for _, v in given]).rowcount)

    def dump(self) -> list[Row]:
        """See `Memory`."""
        return [
            {"key": _read(key), "value": _read(value), "source": _read(source), "trust": trust, "at": at}
            for _, key, value, source, trust, at in self._all(f"select {_FIELDS} from {self._t}memories order by id")
        ]

    def close(self) -> None:
        """See `Memory`."""
        self._link.close()

    def __len__(self) -> int:
        return int(self._all(f"select count(*) from {self._t}memories")[0][0])

    # -- inside -------------------------------------------------------------------------------------------------------

    def _by_words(self, query: str, min_trust: float) -> list[tuple[tuple[Any, ...], float]]:
        wanted = Counter(recall.tokens(query))
        if not wanted:
            return []
        rows = self._all(
            f"select {_FIELDS}, words from {self._t}memories where trust >= %s and words && %s",
            [min_trust, list(wanted)],
        )
        return [(row[:6], recall.similarity(wanted, Counter(row[6]))) for row in rows]

    def _by_vectors(
        self, query: str, k: int, min_trust: float, embed: Embedder
    ) -> list[tuple[tuple[Any, ...], float]]:
        self._catch_up()
        # A vector without direction has no angle with any other: NaN, which is not between 0 and 2.
        rows = self._all(
            f"select {_FIELDS}, 1 - distance as score from (select *, vector <=> %s::vector as distance "
            f"from {self._t}memories where trust >= %s and vector is not null) as held "
            "where distance between 0 and 2 and 1 - distance > %s order by score desc, trust desc, id desc limit %s",
            [_vector(embed([query])[0]), min_trust, embed.floor, k],
        )
        return [(row[:6], min(row[6], 1.0)) for row in rows]

    def _catch_up(self) -> None:
        sql = f"select id, key, value from {self._t}memories where vector is null order by id limit {_BATCH}"
        while rows := self._all(sql):
            vectors = self._vectors([(_read(key), _read(value)) for _, key, value in rows])
            pairs = [(vector, row[0]) for vector, row in zip(vectors, rows, strict=True)]

            def work(
                connection: psycopg.Connection[Any], again: bool, pairs: list[tuple[str | None, Any]] = pairs
            ) -> None:
                with connection.transaction(), connection.cursor() as cursor:
                    cursor.executemany(
                        trusted(f"update {self._t}memories set vector = %s::vector where id = %s"), pairs
                    )

            self._do(work)

    def _vectors(self, texts: Sequence[tuple[str, str]]) -> list[str | None]:
        if self._embed is None:
            return [None] * len(texts)
        return [_vector(vector) for vector in self._embed([embedded(key, value) for key, value in texts])]

    def _all(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._do(lambda connection, again: connection.execute(trusted(sql), values or None).fetchall())

    def _do(self, work: Callable[[psycopg.Connection[Any], bool], T]) -> T:
        try:
            return self._link.do(work)
        except CheckpointError as error:
            raise RecallError(str(error)) from None
        except driver().Error as error:
            raise RecallError(f"{self._link.shown}: {one_line(error)}") from None


def _vector(vector: Vector) -> str:
    """As pgvector reads it. Raises ValueError for one that is not finite."""
    if not all(map(math.isfinite, vector)):
        raise ValueError("an embedder gave a vector that is not finite")
    return "[" + ",".join(repr(float(x)) for x in vector) + "]"


def _write(text: str) -> str:
    """Text as Postgres takes it."""
    if "\0" not in text and not text.startswith(_MARK):
        try:
            text.encode()
            return text
        except UnicodeEncodeError:
            pass  # lone surrogates: as JSON
    return _MARK + json.dumps(text)


def _read(held: str) -> str:
    return str(json.loads(held[1:])) if held.startswith(_MARK) else held
