"""`agentmem demo`: the scripted agent. The app starts it beside itself; here it only writes, or writes and returns."""

from __future__ import annotations

import argparse
import threading
from pathlib import Path

from agentmem.cli.common import Parser, Refused
from agentmem.cli.output import text


def speed(text_given: str) -> float:
    try:
        value = float(text_given)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text_given!r} is no number") from None
    if not 0 <= value <= 1000:
        raise argparse.ArgumentTypeError("the speed is between 0 (at once) and 1000")
    return value


def options() -> Parser:
    """The arguments of `agentmem demo`, for the app and for this command."""
    made = Parser(prog="agentmem demo", description="A live scripted agent: no key, no network, about a minute.")
    made.add_argument("--speed", type=speed, default=1.0, metavar="X", help="1 is about a minute, 0 at once")
    made.add_argument("--folder", type=Path, default=None, metavar="DIR", help="where the run is written")
    made.add_argument("--write-only", action="store_true", help="write the run; open no app")
    return made


def run(arguments: list[str]) -> int:
    """Write the demo's run and return. The app calls `start` instead."""
    args = options().parse_args(arguments)
    folder = args.folder or Path("runs")
    if folder.exists() and not folder.is_dir():
        raise Refused(f"{folder}: not a folder")
    from agentmem.experiments.demo import DEMO_RUN, play

    play(folder, speed=args.speed)
    text([str(folder / f"{DEMO_RUN}.json")])
    return 0


def start(folder: Path, rate: float, stop: threading.Event) -> threading.Thread:
    """Play the demo into `folder` in a thread of its own, until it ends or `stop` is set."""
    from agentmem.experiments.demo import play

    thread = threading.Thread(target=play, args=(folder,), kwargs={"speed": rate, "stop": stop}, daemon=True)
    thread.start()
    return thread
