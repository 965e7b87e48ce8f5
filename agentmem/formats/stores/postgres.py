"""Our own store in Postgres, as a role sees it that may only read.

Sessions are read-only with short time limits, every question is a transaction of its own, and an address is shown
without its password.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentmem.checkpoint.database.base import VERSION
from agentmem.checkpoint.ledger_line import Call
from agentmem.checkpoint.postgres.connect import LOOKING, Link, driver, one_line, shown
from agentmem.checkpoint.postgres.listen import Listener
from agentmem.checkpoint.postgres.schema import COMMENT, DEFAULT, prefix, trusted
from agentmem.checkpoint.store import CheckpointError
from agentmem.formats.reader import Format, Options
from agentmem.formats.source import Unreadable
from agentmem.formats.stores.begun import decoded
from agentmem.formats.stores.reader import Saved, StoreReader, status_of
from agentmem.model import RunInfo

SCHEMES = ("postgresql://", "postgres://")
_RETRY_SECONDS = 0.2
_STORES = """
select n.nspname, obj_description(c.oid, 'pg_class'),
    has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select'), current_user
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relname = 'steps' and obj_description(c.oid, 'pg_class') like %s
order by n.nspname <> %s, n.nspname
"""

_addresses: dict[str, str] = {}
"""As shown -> whole: a row of the list names its place as shown, and is opened by it."""


def is_address(target: str) -> bool:
    """Whether a target is the address of a database on a server."""
    return target.startswith(SCHEMES)


def place(address: str) -> str:
    """The address as shown; `PostgresRuns` takes it as well from now on. Raises Unreadable."""
    try:
        found = shown(address)
    except CheckpointError as error:
        raise Unreadable(str(error)) from None
    if found != address:
        _addresses[found] = address
    return found


class PostgresRuns:
    """The runs in one database."""

    def __init__(self, address: str) -> None:
        """Connects when it is first asked. Raises Unreadable for what is no address, or without the extra."""
        try:
            self._link = Link(_addresses.get(address, address), LOOKING, retry=_RETRY_SECONDS)
        except CheckpointError as error:
            raise Unreadable(str(error)) from None
        self.shown = self.source = self._link.shown
        self.folders: Sequence[Path] = ()
        self._tables: str | None = None

    def close(self) -> None:
        self._link.close()

    def mark(self) -> object:
        return None

    def _ask(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        try:
            return self._link.do(lambda connection, again: connection.execute(trusted(sql), values).fetchall())
        except CheckpointError as error:
            raise Unreadable(str(error)) from None
        except driver().Error as error:
            self._tables = None
            raise Unreadable(f"{self.shown}: cannot be read: {one_line(error)}") from None

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if self._tables is None:
            self._tables = self._found()
        return self._ask(sql.replace("{t}", self._tables), values)

    def _found(self) -> str:
        stores = self._ask(_STORES, [f"{COMMENT}%", DEFAULT])
        if not stores:
            raise Unreadable(f"{self.shown}: no store of runs in it")
        schema, comment, allowed, role = stores[0]
        if not allowed:
            raise Unreadable(
                f"{self.shown}: role {role} may not read {schema}.steps: "
                "grant usage on the schema and select on its tables"
            )
        version = str(comment).removeprefix(COMMENT)
        if not version.isdigit() or int(version) > VERSION:
            raise Unreadable(f"{self.shown}: version {version} is newer than this library reads ({VERSION})")
        return prefix(str(schema))

    def after(self, run: str, seq: int, count: int) -> list[Saved]:
        rows = self._rows(
            "select seq, step, extract(epoch from at)::float8, line::text from {t}steps "
            "where run_id = %s and seq > %s order by seq limit %s",
            [run, seq, count],
        )
        return [Saved(seq, (step, at), at, line.encode()) for seq, step, at, line in rows]

    def newest(self, run: str) -> tuple[int, int] | None:
        ((seq, count),) = self._rows("select max(seq), count(*) from {t}steps where run_id = %s", [run])
        return None if seq is None else (seq, count)

    def head(self, run: str, seq: int) -> tuple[object, object] | None:
        rows = self._rows(
            "select step, extract(epoch from at)::float8 from {t}steps where run_id = %s and seq = %s", [run, seq]
        )
        return (rows[0][0], rows[0][1]) if rows else None

    def line(self, run: str, seq: int) -> bytes | None:
        rows = self._rows("select line::text from {t}steps where run_id = %s and seq = %s", [run, seq])
        return rows[0][0].encode() if rows else None

    def calls(self, run: str) -> list[Call]:
        rows = self._rows("select record::text from {t}calls where run_id = %s order by id", [run])
        return decoded((row[0].encode() for row in rows), self.shown)

    def first(self) -> str | None:
        rows = self._rows("select run_id from {t}runs order by at desc limit 1")
        return rows[0][0] if rows else None

    def stamp(self) -> tuple[int, int, int, int]:
        """Another one whenever a run was saved, begun or removed; last, the newest save, in ns since the epoch."""
        ((count, saves, at),) = self._rows(
            "select count(*), coalesce(sum(seq), 0)::bigint, coalesce(extract(epoch from max(at)), 0)::float8 "
            "from {t}runs"
        )
        return (0, count, saves, int(at * 1e9))

    def runs(self) -> list[RunInfo]:
        """A row a run, the newest save first."""
        rows = self._rows(
            "select run_id, step, extract(epoch from at)::float8, status, goal from {t}runs order by at desc, run_id"
        )
        return [
            RunInfo(run, self.shown, "agentmem", at, status_of(status, at), step, goal)
            for run, step, at, status, goal in rows
        ]


def listener(address: str) -> Listener:
    """Waits for saves in that database. Raises Unreadable for what is no address, or without the extra."""
    try:
        return Listener(address)
    except CheckpointError as error:
        raise Unreadable(str(error)) from None


def format_of(address: str) -> Format:
    """The format of what is at an address, which is no file."""

    def open_reader(path: Path, options: Options) -> StoreReader:
        return StoreReader(PostgresRuns(address), options)

    return Format("agentmem", "our own store in Postgres", lambda path, head: False, open_reader, runs=lambda path: [])


def describe(address: str) -> list[RunInfo]:
    """Rows of the list for an address; trouble is a row's `problem`."""
    name = address.partition("://")[0] + "://..."
    try:
        name = place(address)
        store = PostgresRuns(name)
        try:
            found = store.runs()
        finally:
            store.close()
        return found or [RunInfo(name, name, "agentmem", None, problem="no runs in it")]
    except Unreadable as error:
        return [RunInfo(name, name, "agentmem", None, problem=str(error).removeprefix(f"{name}: "))]
