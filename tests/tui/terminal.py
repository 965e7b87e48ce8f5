"""The app in a terminal of its own: a pty whose bytes are kept."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class Terminal:
    """`agentmem` in a pty. `seen` holds every byte that it wrote."""

    def __init__(
        self, arguments: Sequence[str], folder: Path, size: tuple[int, int] = (80, 24),
        env: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        home = {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "TERM": "xterm-256color",
                "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", "PATH": os.environ["PATH"]}  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tui", *arguments], cwd=folder, env={**home, **(env or {})},
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.seen = b""

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False
        self.seen += data
        return bool(data)

    def until(self, words: str, seconds: float = 30.0) -> None:
        """Read on until the bytes hold the words; fail with the last of them otherwise."""
        end = time.monotonic() + seconds
        wanted = words.encode()
        while wanted not in self.seen:
            if time.monotonic() > end or (self.process.poll() is not None and not self._read(0.1)):
                raise AssertionError(f"{words!r} never came; last bytes: {self.seen[-3000:]!r}")
            self._read(0.1)

    def modes(self) -> list[object]:
        """How the terminal treats keys and lines (`termios.tcgetattr`)."""
        return termios.tcgetattr(self._master)

    def stop(self) -> None:
        """As by Ctrl-Z in a shell: returns once the process is stopped."""
        self.process.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(self.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), status

    def signal(self, number: int) -> int:
        """Send that, read what is still written, and return the exit code."""
        self.process.send_signal(number)
        self.process.wait(15)
        while self._read(0.05):
            pass
        return self.process.returncode

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def settle(self, quiet: float = 0.3) -> None:
        """Read until nothing has come for that long (the header's clock ticks once a second)."""
        while self._read(quiet):
            pass

    def end(self) -> int:
        """Press q, read what is still written, and return the exit code."""
        self.type("q")
        end = time.monotonic() + 15
        while self.process.poll() is None and time.monotonic() < end:
            self._read(0.1)
        while self._read(0.05):
            pass
        return self.process.wait(1)

    def hang_up(self) -> None:
        """The terminal goes, the program stays; not to be closed again."""
        os.close(self._master)

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(5)
        os.close(self._master)
