"""The terminal before and beside the toolkit: the first words on it while the toolkit is imported, and its end."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

_SHOW = "\x1b[?1049h\x1b[2J\x1b[H agentmem\r\n\r\n  reading"
_LEAVE = "\x1b[?1049l"
_GIVE_BACK = (
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1004l\x1b[?2004l\x1b[?2048l\x1b[?7h\x1b[<u"
    "\x1b[?1049l\x1b[?25h"
)
"""The mouse, focus, pasted text, sizes told, wrapping and keys as they were; the screen before; the cursor."""
_PATIENCE = 0.2
"""Seconds that a terminal has to take that, before the process ends all the same."""


def terminal() -> TextIO:
    """The stream that the toolkit draws on."""
    return sys.stdout if os.name == "nt" else sys.stderr


class _Plain:
    """A stream to a terminal that shows no more than ASCII; what is drawn keeps its cells."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        from agentmem.safe import plain

        return self._out.write(plain(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)


def plain_where_needed() -> None:
    """Before the toolkit takes its stream: in ASCII for a terminal that shows no more, or where that was asked for."""
    out = terminal()
    utf_8 = (out.encoding or "").lower() in ("utf-8", "utf8")
    if utf_8 and os.environ.get("TERM") != "linux" and "AGENTMEM_ASCII" not in os.environ:
        return
    from agentmem.safe import shows_ascii_only  # most terminals are told without it, before the first word

    if shows_ascii_only(out.encoding):
        where = "__stdout__" if os.name == "nt" else "__stderr__"
        setattr(sys, where, _Plain(out))


@contextmanager
def skeleton() -> Iterator[None]:
    """Stands until something is painted over it; goes if the block fails, or is interrupted."""
    plain_where_needed()
    out = terminal()
    out.write(_SHOW)
    out.flush()
    try:
        yield
    except BaseException:
        out.write(_LEAVE)
        out.flush()
        raise


def gone_with(folders: list[str], stop: threading.Event) -> None:
    """When the terminal closes, or somebody ends this process by a signal: `stop` is set and these folders go before it
    dies of the signal, which runs nothing else of an exit; a terminal that is still there is given back as it was.
    Called in the main thread, before the toolkit takes the terminal."""
    import shutil
    import signal

    give_back = giving_back()

    def end(number: int, _: object) -> None:
        stop.set()
        give_back()
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    hang_up = getattr(signal, "SIGHUP", None)  # Windows has none
    if hang_up is not None and signal.getsignal(hang_up) in (signal.SIG_DFL, signal.SIG_IGN):
        # Ignored, as under nohup: the toolkit would read the end of a terminal that is gone for ever, a core's worth.
        signal.signal(hang_up, end)
        if sys.stdin.isatty():
            threading.Thread(target=_wait_for_hang_up, args=(hang_up,), name="agentmem-terminal", daemon=True).start()
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)


def giving_back() -> Callable[[], None]:
    """What gives the terminal back as it is now. It waits for no terminal that takes nothing, and for none that is
    gone."""
    if os.name == "nt":
        return lambda: None  # a console forgets what a process has set
    import select
    import termios

    try:
        keys, out = sys.stdin.fileno(), terminal().fileno()
        before = termios.tcgetattr(keys)
    except (OSError, termios.error, ValueError):
        return lambda: None  # no terminal, nothing to give back

    def give_back() -> None:
        # Gone, or taken away: there is nothing to give back.
        with suppress(OSError, termios.error, ValueError):
            if select.select([], [out], [], _PATIENCE)[1]:
                os.write(out, _GIVE_BACK.encode())
            termios.tcsetattr(keys, termios.TCSANOW, before)

    return give_back


def _wait_for_hang_up(number: int) -> None:
    """A terminal that does not control this process goes without a signal: it is sent here."""
    import select

    terminal_gone = select.poll()
    terminal_gone.register(sys.stdin, 0)
    if any(event & select.POLLHUP for _, event in terminal_gone.poll()):
        os.kill(os.getpid(), number)
