"""The `agentmem` command: a subcommand goes to `agentmem.cli` before a toolkit is imported, all else opens the app."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from agentmem.cli import COMMANDS
from agentmem.cli import main as command

from .terminal import gone_with, skeleton, terminal

if TYPE_CHECKING:
    from .follow import Source

FOR_THE_COMMANDS = {"-h", "--help", "--json", "--write-only"}
"""With one of these `agentmem demo` draws no screen."""
FRAMES_PER_SECOND = "240"
"""At most. What changed waits for the next frame: at the toolkit's usual 60 a start waits 40 ms in all for frames."""
FIRST_STEP_SECONDS = 5.0
"""The longest wait for the demo's first checkpoint."""


class Refused(Exception):
    """A usage error; the message is one line."""


class Options:
    """What was asked of the app. Neither a dataclass nor a struct: either costs 10 ms of imports before the first
    word."""

    def __init__(self, demo: bool = False) -> None:
        self.path: list[str] = []
        self.demo = demo
        self.all = False
        self.speed = 1.0
        self.folder: str | None = None
        self.counter = "quick"
        self.window: int | None = None
        self.bell = False
        self.light = False
        self.ascii = False


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0, or 2 after one line on standard error."""
    given = list(sys.argv[1:] if argv is None else argv)
    first = given[0] if given else ""
    screen = first in ("", "watch") or (first == "demo" and not FOR_THE_COMMANDS.intersection(given))
    option = first.startswith("-") and first not in ("-h", "--help", "-V", "--version")
    if not (screen or option or (first not in COMMANDS and first != "help" and is_place(first))):
        return command(given)
    try:
        return _app(given)
    except Refused as wrong:
        from agentmem.cli.common import secretless

        print(f"agentmem: {secretless(str(wrong), given)} (see `agentmem --help`)", file=sys.stderr)
        return 2


def is_place(word: str) -> bool:
    """Whether a word names something to watch rather than a command mistyped."""
    return os.path.exists(word) or any(sign in word for sign in "/\\.*?[:")


def options(given: Sequence[str]) -> Options:
    """Read the arguments of the app. Raises Refused."""
    asked = Options(demo=given[:1] == ["demo"])
    rest = list(given[1:] if given[:1] in (["demo"], ["watch"]) else given)
    if "" in rest:
        raise Refused("PATH is empty")
    if not any(word.startswith("-") for word in rest) and not (asked.demo and rest):
        asked.path = rest
        return asked
    # 8 ms of imports, which a start without options need not pay.
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise Refused(message)

    parser = Parser(prog="agentmem", allow_abbrev=False, description="A live inspector of an agent's memory.")
    if asked.demo:
        parser.add_argument("--speed", type=float, default=1.0, metavar="X", help="1 is about a minute")
        parser.add_argument("--folder", metavar="DIR", help="where the run is written, and kept")
    else:
        parser.add_argument("path", nargs="*", metavar="PATH", help="files, folders, globs, a database")
        parser.add_argument("--all", action="store_true", help="all runs of known agents, not only this folder's")
    parser.add_argument("--counter", default="quick", metavar="NAME", help="token counter")
    parser.add_argument("--window", type=int, metavar="N", help="tokens of the model's window")
    parser.add_argument("--bell", action="store_true", help="ring on a new silent drop or cycle")
    parser.add_argument("--light", action="store_true", help="the light theme")
    parser.add_argument("--ascii", action="store_true", help="no signs beyond ASCII, as with AGENTMEM_ASCII=1")
    for name, value in vars(parser.parse_args(rest)).items():
        setattr(asked, name, value)
    if asked.all:
        asked.path = [*asked.path, "~agents"]
    if asked.ascii:
        os.environ["AGENTMEM_ASCII"] = "1"
    if asked.window is not None and asked.window <= 0:
        raise Refused(f"--window {asked.window} is not above zero")
    if not 0 <= asked.speed <= 1000:
        raise Refused(f"--speed {asked.speed} is not between 0 and 1000")
    if asked.counter != "quick":
        from agentmem.tokens import UnknownCounter, counter

        try:
            counter(asked.counter)
        except UnknownCounter as wrong:
            raise Refused(str(wrong)) from None
    return asked


def _app(given: list[str]) -> int:
    asked = options(given)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refused("the inspector needs a terminal; `agentmem show` prints the same as text")
    if not terminal().isatty():
        raise Refused("the inspector draws on standard error, which is no terminal here")
    os.environ.setdefault("TEXTUAL_FPS", FRAMES_PER_SECOND)  # read when the toolkit is imported
    # The toolkit is what a start costs (about 150 ms): nothing above this line imports it.
    with skeleton(), once_for_all():
        from .app import Inspector

    stop = threading.Event()

    def watch(targets: Sequence[str]) -> Source:
        from agentmem.formats import formats
        from agentmem.inspect.watch import Watch

        # Loaded here, in the worker's thread: else it counts as the cost of looking through the folders, and the
        # second look, which finds what appeared before events came, is put off for it.
        formats()
        return Watch(targets, counter=asked.counter, window=asked.window)

    made: list[str] = []
    gone_with(made, stop)

    def demo() -> Source:
        return watch([start_demo(asked.folder, asked.speed, stop, made)])

    make: Callable[[], Source] = demo if asked.demo else lambda: watch(asked.path)
    app = Inspector(make, bell=asked.bell, light=asked.light, demo=demo, looked=list if asked.path else looked)
    try:
        app.run()
    finally:
        stop.set()
    return app.return_code or 0


@contextmanager
def once_for_all() -> Iterator[None]:
    """What is imported here stays until the end: it is not looked through for garbage, now (10 ms) or at any later
    collection."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def start_demo(folder: str | None, speed: float, stop: threading.Event, made: list[str]) -> str:
    """Start the scripted agent in `folder`, else in a temporary one that goes at the end and is added to `made`.
    Returns the folder."""
    import atexit
    import shutil
    import tempfile
    from pathlib import Path

    from agentmem.cli.demo import start

    if folder is None:
        folder = tempfile.mkdtemp(prefix="agentmem-demo-")
        made.append(folder)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    agent = start(Path(folder), speed, stop)
    # Else the first screen says that nothing is there.
    deadline = time.monotonic() + FIRST_STEP_SECONDS
    while agent.is_alive() and not any(Path(folder).glob("*.json")) and time.monotonic() < deadline:
        stop.wait(0.02)
    return folder


def looked() -> list[tuple[str, str]]:
    """(place, what is there) for the screen that says that nothing was found."""
    from pathlib import Path

    from agentmem.inspect.watch.looked import looked as places

    return places(Path.cwd())


if __name__ == "__main__":
    sys.exit(main())
