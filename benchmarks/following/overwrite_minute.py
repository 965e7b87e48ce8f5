"""A stranger's loop of ten lines that overwrites its file 20 times a second, not atomically, followed for a minute.

No floor and no ratio: it says whether the view was ever lost, what was missed and whether that is stated as a gap.

    python -m benchmarks.following.overwrite_minute [--seconds 60]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from agentmem.inspect.watch import RunChanged, Trouble, Watch
from agentmem.model import Run

STRANGER = """
import json, sys, time
messages, notes, step = [{"role": "user", "content": "count the shelves"}], [], 0
end = time.time() + float(sys.argv[2])
while time.time() < end:
    step += 1
    call = {"id": f"c{step}", "type": "function", "function": {"name": "count", "arguments": json.dumps({"n": step})}}
    messages += [{"role": "assistant", "content": None, "tool_calls": [call]},
                 {"role": "tool", "tool_call_id": f"c{step}", "content": f"shelf {step} " + "pieces " * 300}]
    del messages[1:-60]
    json.dump({"step": step, "messages": messages, "notes": notes}, open(sys.argv[1], "w"))
    time.sleep(0.05)
print(step)
"""


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--seconds", type=float, default=60.0)
    seconds = asked.parse_args().seconds
    runs: list[Run] = []
    troubles: list[str] = []
    stop = threading.Event()

    def emit(event: object) -> None:
        if isinstance(event, RunChanged):
            runs.append(event.run)
        elif isinstance(event, Trouble) and event.text and runs:
            troubles.append(event.text)

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "run.json"
        watch = Watch([name], history=False)
        thread = threading.Thread(target=watch.run, args=(emit, stop))
        began = time.process_time()
        thread.start()
        writer = subprocess.run(
            [sys.executable, "-c", STRANGER, str(path), str(seconds)], capture_output=True, text=True, check=True
        )
        time.sleep(1.0)
        spent = time.process_time() - began
        alive = thread.is_alive()
        stop.set()
        thread.join()
    written = int(writer.stdout)
    last = runs[-1]
    closed = [step.own or 0 for step in last.main.steps if not step.open]
    counts = [sum(not step.open for step in run.main.steps) for run in runs]
    missing = sum(gap.missing for gap in last.gaps)
    print(f"{written} versions written in {seconds:g} s, {len(runs)} runs told, CPU {spent / seconds:.1%} of a core")
    print(f"  following alive: {alive}; troubles: {troubles or 'none'}; notices: {({run.notice for run in runs})}")
    print(f"  steps never went back: {counts == sorted(counts)}; the last is the last written: {closed[-1] == written}")
    print(f"  steps {len(closed)} + missing, stated as gaps {missing} = written: {len(closed) + missing == written}")


if __name__ == "__main__":
    main()
