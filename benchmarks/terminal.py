"""A program in a terminal of its own: when its first byte comes, when a mark is on screen, when it falls quiet; what it
costs in processor time and memory.

    with Terminal([sys.executable, "-m", "tui", "watch", str(path)], rows=24, columns=80) as screen:
        shown = screen.wait_for("step 31")
        screen.send("\\x1b[D")
        moved = screen.wait_for("step 30")
    print(screen.used)
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType

from benchmarks.common import Taken, peak

# What moves the cursor, colours, asks and titles; what is left is what a person reads.
_CONTROL = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])")
_OVERLAP = 4_096


@dataclass(frozen=True, slots=True)
class Used:
    """What a finished program cost, children that it waited for included."""

    cpu: float
    """Seconds of processor time."""
    peak: float
    """Bytes of resident memory at the most."""
    status: int
    """Exit code; negative: the signal that ended it."""


class Terminal:
    """Starts `argv` on a new pseudo-terminal. All times are seconds since the start, or since the last `mark`.

    The program is ended when the block is left. `output` is every byte that it wrote.
    """

    def __init__(
        self,
        argv: Sequence[str],
        rows: int = 24,
        columns: int = 80,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
    ) -> None:
        self.output = bytearray()
        self.first_byte: float | None = None
        self.used: Used | None = None
        self._last = 0.0
        self._from = 0
        around = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(env or {})}
        for name in ("COLUMNS", "LINES", "NO_COLOR"):
            if name not in (env or {}):
                around.pop(name, None)
        self._began = time.perf_counter()
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                if cwd is not None:
                    os.chdir(cwd)
                os.execvpe(argv[0], list(argv), around)
            finally:
                os._exit(127)
        os.set_blocking(self._master, False)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def text(self) -> str:
        """What was written since the mark, without control sequences. Not a screen: nothing is replaced."""
        return _CONTROL.sub(b"", bytes(self.output[self._from :])).decode("utf-8", "replace")

    def mark(self) -> None:
        """From now on only what comes from now on counts, and times start now."""
        self._pump(0.0)
        self._from = len(self.output)
        self._began = time.perf_counter()

    def send(self, keys: str) -> None:
        """Types; marks first, so that what follows is the answer."""
        self.mark()
        os.write(self._master, keys.encode())

    def wait_for(self, text: str, timeout: float = 10.0) -> float | None:
        """Seconds until `text` was on the wire; None if it did not come in time or the program ended without it."""
        wanted = text.encode()
        began = self._began
        searched = self._from
        alive = True
        while True:
            window = _CONTROL.sub(b"", bytes(self.output[max(self._from, searched - _OVERLAP) :]))
            if wanted in window:
                return self._last - began
            searched = len(self.output)
            left = timeout - (time.perf_counter() - began)
            if left <= 0 or not alive:
                return None
            # The last bytes and the end may come at once: looked through once more.
            alive = self._pump(left)

    def quiet(self, silence: float = 0.3, timeout: float = 30.0) -> float | None:
        """Seconds until the last byte before `silence` seconds without any; None if it never falls quiet."""
        began = self._began
        while time.perf_counter() - began < timeout:
            before = len(self.output)
            alive = self._pump(silence)
            if len(self.output) == before or not alive:
                return max(0.0, self._last - began)
        return None

    def cpu(self) -> float:
        """Processor seconds of the running program so far, without children. Linux only; raises OSError elsewhere."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as held:
            after = held.read().rpartition(")")[2].split()
        return (int(after[11]) + int(after[12])) / os.sysconf("SC_CLK_TCK")

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait(self, timeout: float = 30.0) -> Used:
        """Waits for the program to end by itself. Raises TimeoutError, and the program goes on."""
        deadline = time.perf_counter() + timeout
        while self.used is None:
            if time.perf_counter() > deadline:
                raise TimeoutError(f"still running after {timeout} s")
            self._pump(0.02)
            self._reap(os.WNOHANG)
        return self.used

    def close(self, grace: float = 2.0) -> Used:
        """Asks the program to end, ends it if it does not, and says what it cost."""
        for ending in (signal.SIGTERM, signal.SIGKILL):
            if self.used is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, ending)
                with contextlib.suppress(TimeoutError):
                    self.wait(grace)
        if self._master >= 0:
            os.close(self._master)
            self._master = -1
        if self.used is None:
            raise TimeoutError(f"process {self.pid} does not end")
        return self.used

    def _reap(self, options: int) -> None:
        pid, status, used = os.wait4(self.pid, options)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            self.used = Used(used.ru_utime + used.ru_stime, peak(used.ru_maxrss), code)

    def _pump(self, patience: float) -> bool:
        """Takes what is there, waiting at most `patience` seconds for the first byte. False: the end, nothing comes."""
        if self._master < 0:
            return False
        ready, _, _ = select.select([self._master], [], [], patience)
        while ready:
            try:
                got = os.read(self._master, 1 << 16)
            except BlockingIOError:
                return True
            except OSError:  # the other end is closed: how Linux tells the end of a pseudo-terminal
                return False
            if not got:
                return False
            self._last = time.perf_counter()
            if self.first_byte is None:
                self.first_byte = self._last - self._began
            self.output += got
            ready, _, _ = select.select([self._master], [], [], 0)
        return True


def launch(argv: Sequence[str], marker: str, rows: int = 24, columns: int = 80, **more: str) -> Taken:
    """One start of a program, for `interleave`: `first`, `marker` and `quiet` in seconds, `cpu`, `peak.bytes`.

    `more` goes into its environment. Raises RuntimeError with the end of what it wrote if the marker does not come.
    """
    with Terminal(argv, rows, columns, env=more) as screen:
        shown = screen.wait_for(marker)
        if shown is None or screen.first_byte is None:
            raise RuntimeError(f"{marker!r} did not come; at the end stands {screen.text()[-200:]!r}")
        still = screen.quiet()
        used = screen.close()
    figures = Taken({"first": screen.first_byte, "marker": shown, "cpu": used.cpu, "peak.bytes": used.peak})
    if still is not None:
        figures["quiet"] = still
    return figures
