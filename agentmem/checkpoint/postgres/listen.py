"""Waking up when a run was saved: LISTEN, with nothing in it but ids.

A notification says that there is something to look at, never what: it is lost while the connection is. So whoever
listens reads on from its own cursor after every wake, and after every connection that was made anew.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from agentmem.checkpoint.postgres import connect
from agentmem.checkpoint.postgres import schema as tables
from agentmem.checkpoint.postgres.connect import LOOKING, Link, Unreachable, driver, one_line

if TYPE_CHECKING:
    import psycopg


class Listener:
    """Waits for saves of any run in a database. A role that may only read may listen."""

    def __init__(self, address: str) -> None:
        self._link = Link(address, LOOKING, retry=0.0)
        self.address = self._link.shown
        self._heard = 0
        self._pause = connect.FIRST_PAUSE
        self._due = 0.0
        self.trouble: str | None = None
        """Why nothing can be heard just now, in words; None while it can."""

    def wait(self, seconds: float) -> set[str] | None:
        """Ids of the runs that were saved, as soon as there are any; empty after `seconds` without one. None: look at
        everything, for the connection was made (anew) and what was told before is not known. Never raises for a server
        that is away: it is tried again with growing pauses, and `trouble` says why."""
        psycopg = driver()
        now = time.monotonic()
        if now < self._due:
            time.sleep(min(seconds, self._due - now))
            if time.monotonic() < self._due:
                return set()
        try:
            found = self._link.do(lambda connection, again: self._listen(connection, seconds))
        except (Unreachable, psycopg.Error) as error:
            self._link.close()
            self.trouble = str(error) if isinstance(error, Unreachable) else f"{self.address}: {one_line(error)}"
            self._due = time.monotonic() + self._pause
            self._pause = min(self._pause * 2, connect.LONGEST_PAUSE)
            return set()
        self.trouble, self._pause = None, connect.FIRST_PAUSE
        return found

    def _listen(self, connection: psycopg.Connection[Any], seconds: float) -> set[str] | None:
        if self._heard != self._link.made:
            connection.execute(tables.trusted(f"listen {tables.CHANNEL}"))
            self._heard = self._link.made
            return None
        return {told.payload.rpartition(":")[0] for told in connection.notifies(timeout=seconds, stop_after=1)}

    def close(self) -> None:
        self._link.close()
