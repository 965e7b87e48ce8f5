"""T10, the inspector's part: what its store of versions costs, for a stranger's file that is overwritten each step.

Bytes of the store against the final state; naive copies beside it; the time of keeping a version, last 100 against the
first 100; the time to put 2,000 versions together again after a restart.

    python -m benchmarks.following.kept_history [--steps 2000]
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from agentmem.formats.reader import Version
from agentmem.inspect.history import HistoryStore
from agentmem.inspect.open import open_run
from benchmarks import inputs


class Timed(HistoryStore):
    """A store that notes how long it takes to keep a version."""

    def __init__(self, path: Path) -> None:
        self.taken: list[float] = []
        super().__init__(path)

    def keep(self, path: str, version: Version, new: Mapping[int, bytes]) -> None:
        began = time.perf_counter()
        super().keep(path, version, new)
        self.taken.append(time.perf_counter() - began)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--steps", type=int, default=2000)
    steps = asked.parse_args().steps
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        path, place = Path(name) / "run.json", Path(name) / "state" / "history.db"
        store = Timed(place)
        opened = None
        naive = 0
        began = time.perf_counter()
        for version in inputs.growing(steps):
            data = json.dumps(version)
            path.write_text(data)
            naive += len(data)
            if opened is None:
                opened = open_run(str(path), keeper=store)
            else:
                opened.refresh()
        followed = time.perf_counter() - began
        assert opened is not None
        store.close()
        final, kept = path.stat().st_size, place.stat().st_size
        began = time.perf_counter()
        again = open_run(str(path), keeper=HistoryStore(place))
        restored = time.perf_counter() - began
        assert len(again.run.main.steps) == len(opened.run.main.steps)
    first, last = median(store.taken[1:101]) * 1e3, median(store.taken[-100:]) * 1e3
    print(f"T10 {steps} versions: final state {final:,} bytes, store {kept:,}: {kept / final:.2f}, target <= 1.5")
    print(f"    naive copies {naive:,} bytes, {naive / kept:.0f}x the store")
    print(f"    keeping a version: first 100 {first:.3f} ms, last 100 {last:.3f} ms, ratio {last / first:.2f}, "
          "target <= 2")  # fmt: skip
    print(f"    followed in {followed:.1f} s, put together after a restart in {restored:.2f} s")


if __name__ == "__main__":
    main()
