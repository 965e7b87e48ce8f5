"""What commands share: their arguments, the run they read, and the one line for what goes wrong."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar

from agentmem import safe
from agentmem.checkpoint.store import CheckpointError
from agentmem.cli.output import Unwritable, error
from agentmem.formats.reader import Keeper
from agentmem.formats.source import NotYet, Unreadable
from agentmem.inspect.discover import EVERYWHERE, NoRuns, told, without_secrets
from agentmem.inspect.open import Opened, SeveralRuns, open_run
from agentmem.model import Lane, Run, Step
from agentmem.tokens import DEFAULT, NAMES, UnknownCounter, counter

FOLLOW_SECONDS = 0.1
PATIENT_SECONDS, LOOK_SECONDS = 1.0, 0.02
CHANGING_SECONDS = 0.25
"""A file that changed within this time is taken to be in the middle of being written."""
DEBUG = "AGENTMEM_DEBUG"
T = TypeVar("T")


class Refused(Exception):
    """A usage error or a wish that cannot be met; the message is one line."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line and exit code 2."""

    def error(self, message: str) -> NoReturn:
        raise Refused(f"{message} (see `{self.prog} --help`)")


def guarded(run: Callable[[list[str]], int], name: str, arguments: list[str]) -> int:
    """Run a command; what it refuses becomes one line on standard error and exit code 2."""
    try:
        return run(arguments)
    except (Refused, Unreadable, NotYet, Unwritable, CheckpointError, NoRuns, SeveralRuns, UnknownCounter) as wrong:
        error(secretless(str(wrong), arguments))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except OSError as wrong:
        error(f"{told(str(wrong.filename or name))}: {(wrong.strerror or 'cannot be read or written').lower()}")
    except Exception:  # a fault of ours must not end in a traceback; DEBUG shows it
        if os.environ.get(DEBUG) == "1":
            raise
        about = next((word for word in arguments if not word.startswith("-")), name)
        error(f"{told(about)}: internal error in `agentmem {name}`; {DEBUG}=1 shows where: please report that")
    return 2


def secretless(message: str, arguments: list[str]) -> str:
    """The message; an argument that stands in it without what it holds of passwords."""
    for word in arguments:
        for given in (word, word.partition("=")[2]):
            if "://" in given:
                message = message.replace(given, told(given))
    return without_secrets(message)


def patiently(look: Callable[[], T], target: str) -> T:
    """The answer of `look`, tried again for up to a second while the target is being rewritten: a writer that is not
    atomic leaves it empty or cut for a moment."""
    until = time.monotonic() + PATIENT_SECONDS
    while True:
        try:
            return look()
        except (NotYet, Unreadable, NoRuns):
            if time.monotonic() >= until or not _changing(target):
                raise
        time.sleep(LOOK_SECONDS)


def _changing(target: str) -> bool:
    """Whether a file, or one in a folder, changed just now."""
    path = Path(target or "runs")
    try:
        files = list(os.scandir(path)) if path.is_dir() else [path]
        return any(time.time() - file.stat().st_mtime < CHANGING_SECONDS for file in files)
    except (OSError, ValueError):
        return False  # no such file, or gone just now: nothing is being written


def parser(name: str, what: str, *, path: bool = True) -> Parser:
    """A parser with the options that go with every command that reads a run."""
    made = Parser(prog=f"agentmem {name}", description=what, allow_abbrev=False)
    made.add_argument("--json", action="store_true", help="one JSON document on standard output")
    if not path:
        return made
    made.add_argument("path", nargs="?", metavar="PATH", help="a file, a folder or a glob")
    made.add_argument("--all", action="store_true", help="all runs of known agents, not only this folder's")
    made.add_argument("--run", metavar="ID", help="which run, where PATH holds several")
    made.add_argument("--lane", metavar="LANE", help="a lane: main, a subagent's id, branch-1")
    made.add_argument("--window", type=positive, metavar="N", help="tokens of the model's window")
    made.add_argument("--counter", default=DEFAULT, metavar="NAME", help=f"token counter: {', '.join(NAMES)}")
    made.add_argument("--no-history", action="store_true", help="only what the file holds now")
    made.add_argument("--follow", action="store_true", help="print again as it grows")
    return made


def positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{value} is not above zero")
    return value


def target_of(args: argparse.Namespace) -> str:
    """What the arguments name: PATH, with `--all` alone all that known agents keep; "" for this folder.

    Raises Refused."""
    if args.path is None:
        return EVERYWHERE if args.all else ""
    return named(args.path)


def named(path: str) -> str:
    """A PATH as it was given. Raises Refused for an empty one, which a variable gives that was never set."""
    if not path:
        raise Refused("PATH is empty")
    return path


def keeper_of(args: argparse.Namespace) -> Keeper | None:
    """The versions that were seen earlier, unless the arguments do without."""
    if args.no_history:
        return None
    from agentmem.inspect.history import reading

    return reading()


def opened(args: argparse.Namespace) -> Opened:
    """The run that the arguments name."""
    counter(args.counter)
    target = args.path = target_of(args)
    keeper = keeper_of(args)
    # What is read stays until the command ends: no search for garbage need walk it, neither now nor later.
    gc.disable()
    try:
        return patiently(
            lambda: open_run(target, args.run, counter=args.counter, window=args.window, keeper=keeper), target
        )
    finally:
        gc.freeze()
        gc.enable()


def shown(args: argparse.Namespace, source: Opened, show: Callable[[Run], None]) -> int:
    """Show the run now, and with --follow again whenever it changed, until it ends. Returns the exit code."""
    show(source.run)
    while args.follow and source.run.status != "ended":
        time.sleep(FOLLOW_SECONDS)
        if source.refresh():
            show(source.run)
    return 0


def lane_of(run: Run, name: str | None) -> Lane:
    """The lane of that id, main by default. Raises Refused."""
    try:
        return run.lane(name) if name else run.main
    except KeyError as wrong:
        raise Refused(f"{run.path}: {wrong.args[0]}") from None


def step_of(run: Run, lane: Lane, number: int) -> Step:
    """The step of that number (its own where the file has one). Raises Refused with what there is."""
    for step in lane.steps:
        if step.number == number:
            return step
    if not lane.steps:
        raise Refused(f"{run.path}: no steps in lane {safe.name(lane.id)}")
    first, last = lane.steps[0].number, lane.steps[-1].number
    raise Refused(f"{run.path}: no step {number} in lane {safe.name(lane.id)}; there are {first} to {last}")
