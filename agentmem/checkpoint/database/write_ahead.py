"""Turn a SQLite file's write-ahead logging on while others open it too."""

from __future__ import annotations

import random
import sqlite3
import time

PAUSE_SECONDS = 0.005


def write_ahead(db: sqlite3.Connection, seconds: float) -> None:
    """Turn write-ahead logging on; wait up to `seconds` for others.

    The change needs the file for itself for a moment, and SQLite gives up on it at once instead of waiting for its
    `timeout`, because a busy handler could wait for itself there. Raises sqlite3.Error.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            if db.execute("pragma journal_mode").fetchone()[0] != "wal":
                db.execute("pragma journal_mode = wal").fetchone()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(PAUSE_SECONDS * (0.5 + random.random()))  # no secret: so that two do not keep step
