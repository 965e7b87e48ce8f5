"""What each store costs: bytes on disk for a growing run, time of a save as it grows, time to load the newest version.

The run is that of `history_bytes.py`: each step adds a call and its result. Bytes stand against the final state (its
messages and state as JSON) and against naive copies of every checkpoint; saves against an append of one line with fsync
on the same disk, measured in the same run; the last 100 saves against the first 100. BENCH_DIR names a folder on
another disk, BENCH_POSTGRES an address of a database, which is then measured as well.

    python benchmarks/stores.py [--steps 2000]
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

import msgspec

from agentmem.checkpoint.files import FileStore
from agentmem.checkpoint.postgres import PostgresStore
from agentmem.checkpoint.recorder import record
from agentmem.checkpoint.sqlite import SqliteStore
from agentmem.checkpoint.store import Store
from benchmarks.history_bytes import grow


def floor(folder: Path, size: int, times: int = 200) -> float:
    """Median seconds of appending a line of that size with fsync."""
    took = []
    handle = os.open(folder / "floor", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for _ in range(times):
        began = perf_counter()
        os.write(handle, b"x" * size)
        os.fsync(handle)
        took.append(perf_counter() - began)
    os.close(handle)
    return median(took)


def size_of(store: Store, folder: Path) -> int:
    if isinstance(store, PostgresStore):
        rows = store._rows("select sum(pg_total_relation_size('agentmem.' || t)) from "
                           "(values ('runs'), ('steps'), ('calls')) as tables(t)")  # fmt: skip
        return int(rows[0][0])
    if isinstance(store, SqliteStore):
        store.close()  # puts the log into the file
    return sum(path.stat().st_size for path in folder.iterdir())


def measure(name: str, store: Store, folder: Path, steps: int, line: float) -> None:
    random = Random(1)
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You build things. " * 40}]
    took: list[float] = []
    naive = final = 0
    with record("growing", store=store) as run:
        for step in range(1, steps + 1):
            state = grow(random, messages, step)
            began = perf_counter()
            run.save(messages, state=state)
            took.append(perf_counter() - began)
            final = len(msgspec.json.encode([messages, state]))
            naive += final
    held = size_of(store, folder)
    began = perf_counter()
    store.load("growing")
    loaded = perf_counter() - began
    first, last = median(took[:100]), median(took[-100:])
    print(
        f"{name:9} {held / 1e6:6.1f} MB = {held / final:4.1f}x the final state, 1/{naive / held:.0f} of naive copies; "
        f"save {median(took) * 1e3:6.2f} ms = {median(took) / line:4.1f}x a line with fsync, "
        f"last/first {last / first:3.1f}; load {loaded * 1e3:.0f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2000)
    steps = parser.parse_args().steps
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        line = floor(Path(name), 2000)
        for kind in ("files", "sqlite"):
            folder = Path(name) / kind
            folder.mkdir()
            store = FileStore(folder) if kind == "files" else SqliteStore(folder / "runs.db")
            measure(kind, store, folder, steps, line)
        if address := os.environ.get("BENCH_POSTGRES"):
            server = PostgresStore(address)
            measure("postgres", server, Path(name), steps, line)
            server.remove("growing")


if __name__ == "__main__":
    main()
