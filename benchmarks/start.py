"""T1, T2: from the command to the first paint and to real content, against a one-Static app of the same toolkit.

    python -m benchmarks.start [--size MB] [--rounds 7] [--against "mini-extra inspector"]

`--against` is the command of another inspector of mini-swe-agent's trajectories; both open the same sample.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks import inputs
from benchmarks.common import Row, interleave, report
from benchmarks.terminal import launch

TRAJECTORY = Path(__file__).parent.parent / "sample_runs" / "mini-swe-agent" / "tides-v1.traj.json"
SHOWN = "You are a helpful assistant that can interact"
"""Words of its first message, which both show."""
BARE = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static('bare-content')
Bare().run()
"""


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--size", type=int, default=50, help="megabytes of the big log")
    asked.add_argument("--rounds", type=int, default=7)
    asked.add_argument("--against", default="", metavar="COMMAND", help="another inspector, to which a file is added")
    args = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.json"
        small.write_text(json.dumps({"step": 1, "notes": "", "messages": [
            {"role": "user", "content": "find-the-leak"}, {"role": "assistant", "content": "ok"},
        ]}))  # fmt: skip
        big = inputs.made(f"log-{args.size}.jsonl", lambda path: inputs.requests(path, args.size * 1_000_000))
        short = inputs.made("log-short.jsonl", lambda path: inputs.requests(path, 20_000))
        # The toolkit's own first paint: words that the skeleton before it does not have.
        first = "keys  q quit"
        app = [sys.executable, "-m", "tui", "watch"]
        home = {"HOME": folder, "XDG_STATE_HOME": folder}
        jobs = {
            "bare": lambda: launch([sys.executable, "-c", BARE], "bare-content", 45, 150),
            "small": lambda: launch([*app, str(small)], "find-the-leak", 45, 150, **home),
            "paint": lambda: launch([*app, str(small)], first, 45, 150, **home),
            "big": lambda: launch([*app, str(big)], "EXACT", 45, 150, **home),
            "short": lambda: launch([*app, str(short)], "EXACT", 45, 150, **home),
        }
        other = shlex.split(args.against)
        for name, command in (("ours", app), ("other", other)) if other else ():
            jobs[name] = partial(launch, [*command, str(TRAJECTORY)], SHOWN, 45, 150, **home)
        found = interleave(jobs, args.rounds)
        rows = [
            Row("one-Static app, first byte", found["bare.first"]),
            Row("one-Static app, first paint", found["bare.marker"]),
            Row("small file, first byte (the skeleton)", found["small.first"], found["bare.first"], 1.15),
            Row("small file, first paint", found["paint.marker"], found["bare.marker"], 1.15),
            Row("small file, content", found["small.marker"], found["bare.marker"]),
            Row(f"{args.size} MB log, first byte", found["big.first"], found["small.first"], 1.1),
            Row("20 KB log, header and steps", found["short.marker"], found["bare.marker"]),
            Row(f"{args.size} MB log, header and steps", found["big.marker"], found["short.marker"], 1.1),
            Row("small file, CPU", found["small.cpu"], found["bare.cpu"]),
            Row(f"{args.size} MB log, memory", found["big.peak.bytes"], found["small.peak.bytes"]),
        ]
        if other:
            rows += [
                Row("another inspector, a trajectory's text", found["other.marker"]),
                Row("ours, the same text", found["ours.marker"], found["other.marker"], 1.0),
            ]
        print(report("T1, T2 start", rows))


if __name__ == "__main__":
    main()
