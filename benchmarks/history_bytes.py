"""T10, the writer's part: what keeping every step of a growing run costs, in bytes on disk and in time as it grows.

A run of 2,000 steps is saved; each step adds a call and its result. Bytes: the two files together against the final
state (the checkpoint's messages and state as JSON); naive copies of every checkpoint beside it. Time: the save without
what writes the whole checkpoint (its encoding, temporary file, replace, folder), last 100 steps against the first 100.
Finding out whether an earlier message was changed is timed apart: it is needed for the whole checkpoint (an append-only
loop could do without), and it grows with the list. Targets: at most 2.3x, at most 2x. BENCH_DIR names a folder on
another disk; a disk in memory shows the CPU alone.

    python benchmarks/history_bytes.py [--steps 2000]
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

import msgspec

from agentmem.checkpoint import durable
from agentmem.checkpoint.delta.messages import MessageMemo
from agentmem.checkpoint.delta.run import RunMemo
from agentmem.checkpoint.recorder import history, record

WHOLE: tuple[tuple[Any, str], ...] = (
    (durable, "write_temporary"),
    (durable, "replace"),
    (durable, "sync_folder"),
    (RunMemo, "checkpoint"),
)
"""What a save does for the whole checkpoint."""
COMPARE: tuple[tuple[Any, str], ...] = ((MessageMemo, "_standing"),)


class Stopwatch:
    """Seconds spent in these functions."""

    def __init__(self, functions: tuple[tuple[Any, str], ...]) -> None:
        self.seconds = 0.0
        for place, name in functions:
            setattr(place, name, self._timed(getattr(place, name)))

    def _timed(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **named: Any) -> Any:
            began = perf_counter()
            try:
                return real(*args, **named)
            finally:
                self.seconds += perf_counter() - began

        return timed


def grow(random: Random, messages: list[dict[str, Any]], step: int) -> dict[str, Any]:
    """One step more: a call of about 200 bytes and a result of 200 to 2,000. Returns the state."""
    call = {"id": f"c{step}", "type": "function", "function": {"name": "run", "arguments": f'{{"cmd":"make {step}"}}'}}
    messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
    result = f"{random.getrandbits(400):x} " * random.randint(2, 20)
    messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    return {"goal": "build it", "step": step, "facts": {f"f{step % 12}": str(step)}, "last_error": None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2000)
    steps = parser.parse_args().steps
    whole, compare = Stopwatch(WHOLE), Stopwatch(COMPARE)
    random = Random(1)
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You build things. " * 40}]
    rest: list[float] = []
    compared: list[float] = []
    naive = 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        run = record("bench", folder=name)
        for step in range(1, steps + 1):
            state = grow(random, messages, step)
            whole.seconds = compare.seconds = 0.0
            began = perf_counter()
            run.save(messages, state=state)
            rest.append(perf_counter() - began - whole.seconds - compare.seconds)
            compared.append(compare.seconds)
            naive += (Path(name) / "bench.json").stat().st_size
        final = len(msgspec.json.encode({"messages": messages, "state": state}))
        kept = sum(path.stat().st_size for path in Path(name).iterdir())
        began = perf_counter()
        found = sum(1 for _ in history("bench", name))
        read = perf_counter() - began
    print(f"T10 {steps} steps: final state {final:,} bytes, our files {kept:,}: {kept / final:.2f}, target <= 2.3")
    print(f"    naive copies {naive:,} bytes, {naive / kept:.0f}x ours; {found} versions read back in {read:.2f} s")
    for what, times in (("appending", rest), ("finding what changed", compared)):
        first, last = median(times[:100]) * 1e3, median(times[-100:]) * 1e3
        print(f"    {what}: first 100 {first:.3f} ms, last 100 {last:.3f} ms, ratio {last / first:.2f}")
    both = [a + b for a, b in zip(rest, compared, strict=True)]
    print(f"    ratio of the two together {median(both[-100:]) / median(both[:100]):.2f}, target for appending <= 2")


if __name__ == "__main__":
    main()
