"""The store itself: a save is one statement, which is done or not done whatever happens to the connection."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from agentmem.checkpoint.database.base import NEWEST, STEP, Ask, DatabaseStore, Row, as_bytes
from agentmem.checkpoint.postgres import schema as tables
from agentmem.checkpoint.postgres.connect import RETRY_SECONDS, WRITING, Link, driver, one_line
from agentmem.checkpoint.store import Change, CheckpointError, SaveError
from agentmem.pattern import pattern

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")
_NUL = pattern(r"(?<!\\)((?:\\\\)*)\\u0000")
_ERRNO = {"53100": errno.ENOSPC, "53200": errno.ENOMEM, "58030": errno.EIO, "55P03": errno.EBUSY,
          "42501": errno.EACCES, "25006": errno.EROFS}  # fmt: skip
_SET = ", ".join(f"{name} = excluded.{name}" for name in NEWEST[1:])


def _place(name: str) -> str:
    return {"state": "%(state)s::jsonb", "line": "%(line)s::json"}.get(name, f"%({name})s")


_VALUES, _NEW = (", ".join(map(_place, names)) for names in (STEP, NEWEST))


class PostgresStore(DatabaseStore):
    """Runs in one schema of a Postgres database, which is made at the first save.

    A role that may only read needs `grant usage on schema agentmem` and `grant select on all tables in schema
    agentmem`; one that saves also insert, update and delete. The tables are made by who saves first, or by `prepare`.
    """

    line = "line::text"
    record = "record::text"

    def __init__(self, address: str, *, schema: str = tables.DEFAULT, retry: float = RETRY_SECONDS) -> None:
        """`retry`: for how many seconds a lost server is tried again before a save fails.

        Raises MissingExtra, CheckpointError for what is no address. Connects when it is first used.
        """
        self.schema = schema
        self.tables = tables.prefix(schema)
        self._link = Link(address, WRITING, retry=retry)
        self.address = self._link.shown
        self._there = self._prepared = 0
        """Number of the connection by which the tables were found, and of the one that was made ready to save."""

    def close(self) -> None:
        self._link.close()

    def prepare(self) -> None:
        """Makes the tables, if there are none. Raises SaveError, Unreachable."""
        self._guarded("the tables were not made", lambda connection, again: self._made(connection))

    # -- what a database store is made of ----------------------------------------------------------------------------

    def _made(self, connection: psycopg.Connection[Any]) -> None:
        if self._prepared == self._link.made:
            return
        if not tables.version(connection, self.schema, self.address):
            tables.make(connection, self.schema, self.address)
        row = connection.execute("show synchronous_commit").fetchone()
        if row is not None and row[0] == "off":
            connection.execute("set synchronous_commit = on")  # what was acknowledged survives a power loss
        self._prepared = self._link.made

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        def work(connection: psycopg.Connection[Any], again: bool) -> list[Row]:
            if self._there != self._link.made:
                if not tables.version(connection, self.schema, self.address):
                    return []
                self._there = self._link.made
            return connection.execute(_sql(sql), values).fetchall()

        try:
            return self._link.do(work)
        except driver().Error as error:
            self._there = 0
            raise CheckpointError(f"{self.address}: cannot be read: {one_line(error)}") from None

    def _change(self, what: str, work: Callable[[Ask, bool], T]) -> T:
        def changing(connection: psycopg.Connection[Any], again: bool) -> T:
            self._made(connection)

            def ask(sql: str, values: Sequence[Any]) -> list[Row]:
                done = connection.execute(_sql(sql), values)
                return done.fetchall() if done.description else [(done.rowcount,)]

            with connection.transaction():
                return work(ask, again)

        return self._guarded(what, changing)

    def _guarded(self, what: str, work: Callable[[psycopg.Connection[Any], bool], T]) -> T:
        try:
            return self._link.do(work)
        except driver().Error as error:
            raise SaveError(
                f"{self.address}: {what}: {one_line(error)}; what was saved before stands",
                _ERRNO.get(error.sqlstate or ""),
            ) from error

    def _store(self, run: str, change: Change) -> None:
        def work(connection: psycopg.Connection[Any], again: bool) -> None:
            self._made(connection)
            first = change.seq == 1 or change.whole
            values = self._values(run, change, change.line, change.whole)
            if self._saved(connection, values, first):
                return
            row = connection.execute(_sql(f"select seq from {self.tables}runs where run_id = ?"), [run]).fetchone()
            if row is None and not first:
                if self._saved(connection, self._values(run, change, change.whole_line(), True), True):
                    return
            if again and self._mine(connection, run, change):
                return
            raise self._conflict(run, change)

        self._guarded(f"step {change.step} was not saved", work)

    def _values(self, run: str, change: Change, line: bytes, whole: bool) -> dict[str, Any]:
        values = self._step_values(run, change, line, whole)
        if values["state"] is not None:
            values["state"] = _NUL.sub(r"\1\\ufffd", values["state"])
        return values

    def _saved(self, connection: psycopg.Connection[Any], values: dict[str, Any], first: bool) -> bool:
        """Whether the save was stored: it is not if the newest save is another than the one before it.

        The row of the run is locked first, so the saves of a run commit in the order of their numbers.
        """
        newest = f"{self.tables}runs"
        if first:
            head = (f"insert into {newest} as held({', '.join(NEWEST)}) values({_NEW}) on conflict(run_id) "
                    f"do update set {_SET} where held.seq = excluded.seq - 1 returning 1")  # fmt: skip
        else:
            sets = ", ".join(f"{name} = {_place(name)}" for name in NEWEST[1:])
            head = f"update {newest} set {sets} where run_id = %(run_id)s and seq = %(seq)s - 1 returning 1"
        sql = (f"with newest as ({head}) insert into {self.tables}steps({', '.join(STEP)}) "
               f"select {_VALUES} from newest")  # fmt: skip
        return connection.execute(tables.trusted(sql), values).rowcount == 1

    def _mine(self, connection: psycopg.Connection[Any], run: str, change: Change) -> bool:
        """Whether this very save was committed before the connection was lost."""
        row = connection.execute(
            _sql(f"select {self.line} from {self.tables}steps where run_id = ? and seq = ?"), [run, change.seq]
        ).fetchone()
        return row is not None and as_bytes(row[0]) in (change.line, change.whole_line())

    def _moment(self, at: float) -> datetime:
        return datetime.fromtimestamp(at, UTC)

    def _seconds(self, moment: Any) -> float:
        return float(moment.timestamp())


def _sql(sql: str) -> Any:
    return tables.trusted(sql.replace("?", "%s"))


__all__ = ["PostgresStore"]
