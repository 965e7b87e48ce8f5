"""T6, T7: 200 runs live with a write every 20 ms, and 1,000 files watched while nothing happens.

    python -m benchmarks.following.many_files
"""

from __future__ import annotations

import json
import random
import tempfile
import threading
import time
from pathlib import Path

from agentmem.inspect.watch import Watch
from benchmarks.common import Figure, Row, report

WRITES = 150
EVERY = 0.02


def written(path: Path, step: int) -> None:
    messages = [{"role": "user", "content": "go"}] + [{"role": "assistant", "content": f"a{n}"} for n in range(step)]
    path.write_text(json.dumps({"step": step, "messages": messages, "notes": ""}))


def ours(folder: Path, paths: list[Path]) -> Figure:
    """Time from a write of the chosen run to its new value, while the others are written too."""
    watch, stop = Watch([str(folder)], history=False), threading.Event()
    seen: dict[int, float] = {}

    def emit(event: object) -> None:
        run = getattr(event, "run", None)
        if run is not None and run.path == str(paths[0]):
            seen.setdefault(run.main.steps[-1].number, time.perf_counter())

    thread = threading.Thread(target=watch.run, args=(emit, stop))
    thread.start()
    time.sleep(1.5)
    watch.choose(paths[0].stem)
    time.sleep(0.5)
    begun: dict[int, float] = {}
    step = 2
    for number in range(WRITES):
        if number % 5 == 0:
            step += 1
            begun[step] = time.perf_counter()
            written(paths[0], step)
        else:
            written(random.choice(paths[1:]), number % 7 + 1)
        time.sleep(EVERY)
    time.sleep(0.5)
    stop.set()
    thread.join()
    return Figure(tuple(seen[n] - at for n, at in begun.items() if n in seen))


def defaults(folder: Path, paths: list[Path]) -> Figure:
    """The same writes, through watchfiles as it comes."""
    from watchfiles import watch

    stop = threading.Event()
    seen: list[float] = []
    pending: list[float] = []

    def follow() -> None:
        for changes in watch(folder, stop_event=stop):
            now = time.perf_counter()
            if any(path == str(paths[0]) for _, path in changes):
                seen.extend(now - at for at in pending)
                pending.clear()

    thread = threading.Thread(target=follow)
    thread.start()
    time.sleep(1.0)
    for number in range(WRITES):
        if number % 5 == 0:
            pending.append(time.perf_counter())
            written(paths[0], number + 1)
        else:
            written(random.choice(paths[1:]), number % 7 + 1)
        time.sleep(EVERY)
    time.sleep(2.0)
    stop.set()
    thread.join()
    return Figure(tuple(seen))


def idle(folder: Path, seconds: float = 20.0) -> float:
    """Share of one core while 1,000 files are watched and nothing changes."""
    watch, stop = Watch([str(folder)], history=False), threading.Event()
    thread = threading.Thread(target=watch.run, args=(lambda event: None, stop))
    thread.start()
    time.sleep(8.0)
    began, cpu = time.perf_counter(), time.process_time()
    time.sleep(seconds)
    share = (time.process_time() - cpu) / (time.perf_counter() - began)
    stop.set()
    thread.join()
    return share


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        live, still = Path(name) / "live", Path(name) / "still"
        live.mkdir()
        still.mkdir()
        paths = [live / f"run{number:03d}.json" for number in range(200)]
        for path in paths:
            written(path, 1)
        for number in range(1000):
            written(still / f"run{number:04d}.json", 1)
        own, plain = ours(live, paths), defaults(live, paths)
        p95, floor = Figure((own.percentile(0.95),)), Figure((plain.percentile(0.95),))
        rows = [
            Row("200 runs, p95 from write to run", p95, floor, 0.05),
            Row("watchfiles' defaults, p95", floor),
            Row("1,000 files idle, share of a core", Figure((idle(still),), ""), None, 0.007),
        ]
        print(report("T6, T7 many files", rows))


if __name__ == "__main__":
    main()
