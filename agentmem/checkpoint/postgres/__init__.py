"""Runs in Postgres, for many agents on many machines. Needs the extra `postgres` (psycopg), imported when used."""

from agentmem.checkpoint.postgres.connect import MissingExtra, Unreachable, shown
from agentmem.checkpoint.postgres.listen import Listener
from agentmem.checkpoint.postgres.store import PostgresStore

__all__ = ["Listener", "MissingExtra", "PostgresStore", "Unreachable", "shown"]
