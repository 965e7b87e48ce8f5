"""The tables of a store in Postgres, and how they come to be there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, LiteralString

from agentmem.checkpoint.database.base import VERSION
from agentmem.checkpoint.store import CheckpointError, NewerSchemaError
from agentmem.pattern import pattern

if TYPE_CHECKING:
    import psycopg

CHANNEL = "agentmem"
"""What is told there: `run_id:seq` of a save that is committed, and nothing else of it."""
COMMENT = "agentmem store of runs, version "
DEFAULT = "agentmem"
_NAME = pattern(r"[a-z_][a-z0-9_]{0,59}")

_TABLES = """
create table {t}runs(
    run_id text primary key, step bigint not null, at timestamptz not null, status text not null, goal text,
    state jsonb, seq bigint not null
);
create index on {t}runs(at);
create table {t}steps(
    run_id text not null, step bigint not null, at timestamptz not null, status text not null, goal text, state jsonb,
    lane text not null, seq bigint not null, whole boolean not null, line json not null, primary key(run_id, seq)
);
create index on {t}steps(run_id, step);
create index on {t}steps(at);
create table {t}calls(
    id bigint generated always as identity primary key, run_id text not null, key text not null,
    attempt integer not null, tool text not null, outcome text not null, started timestamptz not null,
    ended timestamptz, record json not null, unique(run_id, key, attempt)
);
create function {t}tell() returns trigger language plpgsql as $$
begin
    perform pg_notify('{channel}', new.run_id || ':' || new.seq);
    return null;
end $$;
create trigger tell after insert on {t}steps for each row execute function {t}tell();
comment on table {t}runs is 'A row a run: its newest save.';
comment on table {t}steps is '{comment}{version}';
"""


def prefix(schema: str) -> str:
    """What stands before the name of a table. Raises ValueError for a name that would have to be quoted."""
    if not _NAME.fullmatch(schema):
        raise ValueError(f"schema {schema!r}: small letters, digits and _ only, at most 60")
    return f"{schema}."


def version(connection: psycopg.Connection[Any], schema: str, address: str) -> int:
    """Of the store that is there; 0 if there is none. Raises NewerSchemaError, CheckpointError for tables of others."""
    row = connection.execute(
        "select c.oid, obj_description(c.oid, 'pg_class') from pg_catalog.pg_class c "
        "join pg_catalog.pg_namespace n on n.oid = c.relnamespace where n.nspname = %s and c.relname = 'steps'",
        [schema],
    ).fetchone()
    if row is None:
        return 0
    said = str(row[1] or "")
    number = said.removeprefix(COMMENT)
    if number == said or not number.isdigit():
        raise CheckpointError(f"{address}: {schema}.steps is a table of something else; nothing was changed")
    if int(number) > VERSION:
        raise NewerSchemaError(f"{address}: version {number} is newer than this library reads ({VERSION})")
    return int(number)


def make(connection: psycopg.Connection[Any], schema: str, address: str) -> None:
    """Makes the tables where there are none; several processes may try at once. Raises psycopg.Error."""
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(hashtext(%s))", [f"agentmem store {schema}"])
        if version(connection, schema, address):
            return
        there = connection.execute("select 1 from pg_catalog.pg_namespace where nspname = %s", [schema]).fetchone()
        if there is None:
            connection.execute(trusted(f"create schema {schema}"))
        connection.execute(
            trusted(_TABLES.format(t=prefix(schema), channel=CHANNEL, comment=COMMENT, version=VERSION))
        )


def trusted(sql: str) -> LiteralString:
    """SQL made of constants and of names that were checked: no value is ever put into it."""
    return sql
