"""Somebody else's SQLite database, read without touching it: read-only, short reads, nothing held open between them.

The writer is never locked out, nothing is created beside its file, and only SELECT runs.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentmem.formats.source import NotYet, Unreadable, read_at

MAGIC = b"SQLite format 3\0"
_BUSY_SECONDS = 1.0
_READ_SECONDS = 2.0
_STEPS = 10_000
_TABLES = 1_000
_ALLOWED = frozenset({
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE,
})  # fmt: skip
_PRAGMAS = frozenset({"query_only", "data_version", "table_info", "schema_version"})
_FUNCTIONS_REFUSED = frozenset({"load_extension", "writefile", "edit", "readfile", "fts3_tokenizer"})


class Busy(NotYet):
    """The writer holds the database; look again, keep the last good value."""


class Database:
    """One database file. Every `read` opens it, and closes it at once."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def mark(self) -> tuple[tuple[int, int, int], ...]:
        """Changes whenever the file, its WAL or its journal does. A look costs three stats."""
        out = []
        for ending in ("", "-wal", "-journal"):
            try:
                status = os.stat(f"{self.path}{ending}")
                out.append((status.st_ino, status.st_size, status.st_mtime_ns))
            except OSError:
                out.append((0, 0, 0))
        return tuple(out)

    def changed_at(self) -> float | None:
        """When the database was last written, seconds since the epoch."""
        times = [stamp[2] for stamp in self.mark()]
        return max(times) / 1e9 if any(times) else None

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection for one short read. Raises Unreadable, Busy."""
        with self._opened() as connection:
            ends = time.monotonic() + _READ_SECONDS
            try:
                connection.execute("PRAGMA query_only=1")
                connection.set_authorizer(_authorise)
                connection.set_progress_handler(lambda: int(time.monotonic() > ends), _STEPS)
                yield connection
            except sqlite3.OperationalError as error:
                raise self._trouble(error) from None
            except (sqlite3.DatabaseError, OverflowError) as error:
                raise Unreadable(f"{self.path}: {str(error).lower()}") from None

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of one SELECT. Raises Unreadable, Busy."""
        with self.read() as connection:
            return connection.execute(statement, values).fetchall()

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        wal = Path(f"{self.path}-wal").exists()
        journal = _size(f"{self.path}-journal")
        copy: tempfile.TemporaryDirectory[str] | None = None
        path, options = self.path, "mode=ro"
        if journal and _hot(f"{self.path}-journal"):
            copy = self._copied("-journal")
            path, options = Path(copy.name) / "copy.db", "mode=rw"
        elif not wal and _in_wal_mode(self.path):
            options = "mode=ro&immutable=1"  # mode=ro alone would leave an empty -wal and a -shm beside the file
        elif wal and not Path(f"{self.path}-shm").exists():
            copy = self._copied("-wal")  # opening it in place would create the -shm
            path, options = Path(copy.name) / "copy.db", "mode=rw"
        connection = None
        try:
            connection = sqlite3.connect(
                f"file:{quote(str(path.absolute()))}?{options}", uri=True, timeout=_BUSY_SECONDS, isolation_level=None
            )
            connection.text_factory = _text
            yield connection
        except sqlite3.OperationalError as error:
            raise self._trouble(error) from None
        finally:
            if connection is not None:
                connection.close()
            if copy is not None:
                copy.cleanup()

    def _copied(self, ending: str) -> tempfile.TemporaryDirectory[str]:
        folder: tempfile.TemporaryDirectory[str] = tempfile.TemporaryDirectory(prefix="agentmem-")
        try:
            shutil.copyfile(self.path, Path(folder.name) / "copy.db")
            if Path(f"{self.path}{ending}").exists():
                shutil.copyfile(f"{self.path}{ending}", Path(folder.name) / f"copy.db{ending}")
        except OSError as error:
            folder.cleanup()
            raise Unreadable(f"{self.path}: {(error.strerror or 'cannot be copied').lower()}") from None
        return folder

    def _trouble(self, error: sqlite3.OperationalError) -> Exception:
        text = str(error)
        if "locked" in text or "busy" in text:
            return Busy(f"{self.path}: busy")
        if "interrupted" in text:
            return Unreadable(f"{self.path}: a read took more than {_READ_SECONDS:.0f} s")
        return Unreadable(f"{self.path}: {text.lower()}")


def is_database(head: bytes) -> bool:
    return head.startswith(MAGIC)


def tables(path: Path) -> dict[str, frozenset[str]]:
    """Tables with their columns. Raises Unreadable, Busy."""
    found: dict[str, frozenset[str]] = {}
    with Database(path).read() as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name").fetchmany(_TABLES)
        for (name,) in names:
            quoted = str(name).replace('"', '""')
            try:
                about = connection.execute(f'SELECT * FROM "{quoted}" LIMIT 0').description
            except sqlite3.OperationalError:
                continue  # a virtual table of a module that is not here
            found[str(name)] = frozenset(str(column[0]) for column in about)
    return found


def _authorise(action: int, first: str | None, second: str | None, *_: object) -> int:
    if action == sqlite3.SQLITE_PRAGMA:
        return sqlite3.SQLITE_OK if first in _PRAGMAS else sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and second in _FUNCTIONS_REFUSED:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _hot(path: str) -> bool:
    """Whether a rollback journal holds pages: a writer died, or is writing now."""
    try:
        return read_at(path, 0, 8) == b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" and time.time() - os.stat(path).st_mtime > 5.0
    except (Unreadable, OSError):
        return False


def _in_wal_mode(path: Path) -> bool:
    """By the header, read before the connection is opened. Raises Unreadable."""
    return read_at(path, 18, 2) == b"\x02\x02"
