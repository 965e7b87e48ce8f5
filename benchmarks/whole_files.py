"""T3, T4: `show --json` and `drops --json` of big sessions, headless, against a bare orjson loop over the same lines.

    python -m benchmarks.whole_files [--megabytes 100]      (orjson is needed for the floor: pip install orjson)
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial

from benchmarks.common import Row, in_child, interleave, report
from benchmarks.inputs import made, rollout, session

LOOP = "import sys, orjson\nwith open(sys.argv[1], 'rb') as lines:\n    for line in lines:\n        orjson.loads(line)"
RUN = "import sys; from agentmem.cli import main; sys.exit(main(sys.argv[1:]))"
LINE = 2_000
"""Bytes of a record: as long as those of real sessions on average."""


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--megabytes", type=int, default=100)
    size = asked.parse_args().megabytes
    files = {
        "Claude Code": made(f"session-{size}.jsonl", lambda path: session(path, size * 1_000_000, LINE)),
        "Codex": made(f"rollout-{size}.jsonl", lambda path: rollout(path, size * 1_000_000, LINE)),
    }
    with tempfile.TemporaryDirectory() as name:
        home = {"HOME": name, "XDG_STATE_HOME": name}
        jobs = {}
        for agent, path in files.items():
            jobs[f"{agent} loop"] = partial(in_child, LOOP, str(path))
            for command in ("show", "drops"):
                jobs[f"{agent} {command}"] = partial(in_child, RUN, command, "--json", str(path), env=home)
        found = interleave(jobs)
    rows = []
    for agent in files:
        loop = found[f"{agent} loop.cpu"]
        rows += [
            Row(f"{agent}: bare loop, CPU", loop),
            Row(f"{agent}: show --json, CPU", found[f"{agent} show.cpu"], loop, 4),
            Row(f"{agent}: show --json, peak (B)", found[f"{agent} show.peak.bytes"]),
            Row(f"{agent}: drops --json, CPU", found[f"{agent} drops.cpu"], loop),
            Row(f"{agent}: drops --json, peak (B)", found[f"{agent} drops.peak.bytes"]),
        ]
    print(report(f"T3 whole files of {size} MB", rows))


if __name__ == "__main__":
    main()
