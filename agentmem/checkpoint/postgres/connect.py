"""One connection to Postgres: made when it is needed, made anew when it is lost, never idle in a transaction.

Every connection has time limits for statements, locks and idle transactions. A lost connection is tried again with
growing pauses and within a bound; a server that was never reached is said to be unreachable at once.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

from agentmem.checkpoint.store import CheckpointError

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")

WRITING = {"statement_timeout": "30000", "lock_timeout": "10000", "idle_in_transaction_session_timeout": "10000"}
"""Milliseconds."""
LOOKING = {
    "default_transaction_read_only": "on", "statement_timeout": "2000", "lock_timeout": "200",
    "idle_in_transaction_session_timeout": "5000",
}  # fmt: skip
"""For who only reads: it can neither change anything nor be in the way of a writer for long."""
CONNECT_SECONDS = 5
RETRY_SECONDS = 20.0
"""How long a lost connection is tried to be made again before the error is raised."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
ENCODE = "in a user or password write @ as %40, / as %2F, : as %3A, % as %25, a space as %20"
_STARTING = ("57P03",)
_LOST = ("57P01", "57P02", "57P03", "57P05", "25P03")
"""SQLSTATE of a server that goes down, restarts, or ended the session."""
_AGAIN = ("40001", "40P01")
"""Serialisation failure, deadlock: the transaction was taken back and can be done again."""


class MissingExtra(CheckpointError, ImportError):
    """The package of the extra is not installed; the message says how to install it."""


class Unreachable(CheckpointError):
    """The server cannot be reached, or was lost and did not come back in time. The text has no password in it."""


def driver() -> Any:
    """The module psycopg. Raises MissingExtra."""
    try:
        return import_module("psycopg")
    except ImportError as error:
        if getattr(error, "name", None) == "psycopg":
            raise MissingExtra("Postgres needs psycopg: pip install 'agentmem-inspector[postgres]'") from None
        raise MissingExtra(f"psycopg cannot be loaded: {one_line(error)}") from None


def one_line(error: BaseException) -> str:
    """The first line of what an error says."""
    text = str(error).strip().split("\n")[0].strip()
    return text or type(error).__name__


def parts(address: str) -> dict[str, Any]:
    """The address taken apart. Raises CheckpointError for what is no address."""
    psycopg = driver()
    try:
        held = dict(psycopg.conninfo.conninfo_to_dict(address))
    except psycopg.Error as error:
        # What the driver quotes of an address that it cannot read may be the password, or end in it.
        why = re.sub(r"(:| in| at|) *[\"'].*", "", one_line(error))
        why = f"{why}; {ENCODE}" if "://" not in why and "@" not in why else f"it cannot be parsed; {ENCODE}"
        raise _no_address(address, why) from None
    path = address.partition("://")[2].partition("/")[2].partition("?")[0]
    host, port = str(held.get("host") or ""), str(held.get("port") or "")
    if "@" in path or "@" in host[1:] or not re.fullmatch(r"[\d,]*", port):
        # A password with an @ or a / in it: a part of it would be taken for the host, the port or the database.
        raise _no_address(address, f"host, port and database cannot be told apart; {ENCODE}")
    return held


def _no_address(address: str, why: str) -> CheckpointError:
    return CheckpointError(f"{address.split('://')[0]}://...: is no address of a database: {why}")


def shown(address: str) -> str:
    """The address as it may be shown: who, where and which database, nothing else."""
    held = parts(address)
    user = f"{held['user']}@" if held.get("user") else ""
    host = str(held.get("hostaddr") or held.get("host") or os.environ.get("PGHOST") or "")
    place = host if not host.startswith(("/", "@")) else ""
    port = f":{held['port']}" if held.get("port") and place else ""
    where = f" at {host}" if host and not place else ""
    return f"postgresql://{user}{place}{port}/{held.get('dbname') or held.get('user') or ''}{where}"


def without_password(address: str) -> str:
    """The same address, to be kept: the password comes from `~/.pgpass` or the environment when it is used."""
    held = parts(address)
    held.pop("password", None)
    host, port = str(held.pop("host", "")), held.pop("port", "")
    user, name = (quote(str(held.pop(part, "")), safe="") for part in ("user", "dbname"))
    if not re.fullmatch(r"[\w.-]*", host):
        held["host"], host = host, ""  # a socket's folder, several hosts, an IPv6 address
    if port and not host:
        held["port"], port = port, ""
    more = f"?{urlencode(held)}" if held else ""
    return f"postgresql://{user}{'@' if user else ''}{host}{':' if port else ''}{port}/{name}{more}"


class Link:
    """One connection. `do` runs work on it; safe to use from several threads, and after a fork."""

    def __init__(
        self, address: str, settings: Mapping[str, str], *, retry: float = RETRY_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:  # fmt: skip
        self.shown = shown(address)
        self._parts = parts(address)
        self._settings = settings
        self._retry = retry
        self._sleep = sleep
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._left: list[object] = []
        self.connection: psycopg.Connection[Any] | None = None
        self.made = 0
        """How many connections were made so far."""

    def do(self, work: Callable[[psycopg.Connection[Any], bool], T]) -> T:
        """Runs the work; again after a lost connection, told so by the second value. Raises Unreachable, and what the
        server says (psycopg.Error)."""
        psycopg = driver()
        until: float | None = None
        pause = FIRST_PAUSE
        again = asked = False
        with self._lock:
            while True:
                try:
                    connection = self._connected()
                    asked = True
                    found = work(connection, again)
                except psycopg.Error as error:
                    now = time.monotonic()
                    lost = self._lost(error)
                    if not lost and error.sqlstate not in _AGAIN:
                        raise
                    if lost:
                        self.close()
                    if until is None:
                        until = now + self._retry
                    if (lost and not self.made and error.sqlstate not in _STARTING) or now + pause > until:
                        tried = f"; tried for {self._retry:.0f} s" if self.made and self._retry >= 1 else ""
                        away = Unreachable(f"{self.shown}: cannot be reached: {one_line(error)}{tried}")
                        away.unanswered = asked
                        raise away from None
                    again = True
                    self._sleep(pause)
                    pause = min(pause * 2, LONGEST_PAUSE)
                else:
                    return found

    def _lost(self, error: Any) -> bool:
        if error.sqlstate in _LOST or (error.sqlstate or "").startswith("08"):
            return True
        connection = self.connection
        return error.sqlstate is None and (connection is None or connection.closed or connection.broken)

    def _connected(self) -> psycopg.Connection[Any]:
        if self._process != os.getpid():
            self._left.append(self.connection)  # of the process that this one was forked from: neither used nor closed
            self.connection, self._process = None, os.getpid()
        if self.connection is None or self.connection.closed:
            self.connection = self._connect()
            self.made += 1
        return self.connection

    def _connect(self) -> psycopg.Connection[Any]:
        given = dict(self._parts)
        options = " ".join(f"-c {name}={value}" for name, value in self._settings.items())
        given["options"] = f"{given.get('options') or ''} {options}".strip()
        defaults = {
            "connect_timeout": CONNECT_SECONDS, "application_name": "agentmem", "client_encoding": "utf8",
            "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 20000,
        }  # fmt: skip
        connection: psycopg.Connection[Any] = driver().connect(
            **{**defaults, **given}, autocommit=True, prepare_threshold=None
        )
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            connection.close()
            raise CheckpointError(f"{self.shown}: the database holds texts as {encoding}; a store of runs needs UTF8")
        return connection

    def close(self) -> None:
        """Lets go of the connection; the next `do` makes another."""
        with self._lock:
            if self.connection is not None:
                self.connection.close()
                self.connection = None
