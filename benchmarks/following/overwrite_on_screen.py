"""What the whole app costs while a stranger's loop overwrites its file 20 times a second, in a terminal of its own.

No floor: CPU of the app as a share of one core, and bytes written to the terminal, at 80x24 and 150x45.

    python -m benchmarks.following.overwrite_on_screen [--seconds 20]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.following.overwrite_minute import STRANGER
from benchmarks.terminal import Terminal

SIZES = ((24, 80), (45, 150))
STARTING = 3.0
"""Seconds for which the start is not measured."""


def taken(screen: Terminal, seconds: float) -> None:
    """Read what is written for so long, or the app would wait for its terminal."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        screen.mark()
        time.sleep(0.02)


def measured(rows: int, columns: int, seconds: float) -> tuple[float, float]:
    """(share of a core, bytes to the terminal a second)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        home = {"HOME": folder, "XDG_STATE_HOME": folder}
        command = [sys.executable, "-c", STRANGER, str(path), str(seconds + STARTING + 5)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as writer:
            time.sleep(1.0)
            with Terminal([sys.executable, "-m", "tui", "watch", str(path)], rows, columns, env=home) as screen:
                assert screen.wait_for("count", 20) is not None, screen.text()[-300:]
                taken(screen, STARTING)
                began, spent, written = time.perf_counter(), screen.cpu(), len(screen.output)
                taken(screen, seconds)
                took = time.perf_counter() - began
                found = (screen.cpu() - spent) / took, (len(screen.output) - written) / took
            writer.terminate()
    return found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--seconds", type=float, default=20.0)
    seconds = asked.parse_args().seconds
    for rows, columns in SIZES:
        share, written = measured(rows, columns, seconds)
        print(f"{columns}x{rows}: {share:.1%} of a core, {written / 1000:.0f} KB a second to the terminal")


if __name__ == "__main__":
    main()
