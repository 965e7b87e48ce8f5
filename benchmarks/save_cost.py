"""T16: what a durable save of one step costs, against the bare protocol on the same bytes in the same run.

The floor writes the bytes of the checkpoint to a new file, fsyncs it, replaces the old one, fsyncs the folder. A save
does the same and also finds out what changed, encodes it, and appends and fsyncs its ledger line, under the lock.
Target: at most 2x at 20 KB, 1.3x at 1 MB. Prints medians of interleaved rounds with their ranges.

    python benchmarks/save_cost.py [--rounds 7] [--saves 40]
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

from agentmem.checkpoint.recorder import Recorder, record

SIZES = ((20_000, 2.0), (1_000_000, 1.3))


def text(random: Random, length: int) -> str:
    words = ("parser", "token", "error", "line", "42", "the", "result", "of", "call", "görev", '"quoted"')
    parts: list[str] = []
    size = 0
    while size < length:
        word = random.choice(words)
        parts.append(word)
        size += len(word) + 1
    return " ".join(parts)[:length]


def conversation(random: Random, size: int) -> list[dict[str, Any]]:
    """An agent's messages of about `size` bytes: calls with arguments, and results of 200 to 4,000 characters."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": text(random, 800)}]
    held = 900
    while held < size:
        arguments = text(random, 120)
        call = {"id": f"c{len(messages)}", "type": "function", "function": {"name": "run", "arguments": arguments}}
        result = text(random, min(random.randint(200, 4000), max(50, size - held)))
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        held += len(result) + 400
    return messages


def bare(target: Path, data: bytes) -> float:
    began = perf_counter()
    temporary = target.with_suffix(".tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(handle, data)
    os.fsync(handle)
    os.close(handle)
    os.replace(temporary, target)
    folder = os.open(target.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
    return perf_counter() - began


def saved(run: Recorder, messages: list[dict[str, Any]], index: int) -> float:
    messages.append({"role": "assistant", "content": f"step {index} " + "x" * 300})
    began = perf_counter()
    run.save(messages, state={"goal": "g", "facts": {"port": str(index)}}, notes="notes")
    return perf_counter() - began


def measure(size: int, rounds: int, saves: int) -> tuple[list[float], list[float]]:
    """Seconds a save of the floor and of ours, medians of each round, interleaved save by save."""
    floors: list[float] = []
    ours: list[float] = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        target = Path(name) / "floor" / "bench.json"
        target.parent.mkdir()
        for number in range(rounds):
            messages = conversation(Random(size), size)
            run = record(f"bench{number}", folder=Path(name) / "ours")
            saved(run, messages, 0)
            kept = Path(name) / "ours" / f"bench{number}.json"
            one: list[float] = []
            two: list[float] = []
            for index in range(saves):
                one.append(bare(target, kept.read_bytes()))
                two.append(saved(run, messages, index + 1))
            floors.append(median(one))
            ours.append(median(two))
    return floors, ours


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--saves", type=int, default=25)
    given = arguments.parse_args()
    for size, target in SIZES:
        floors, ours = measure(size, given.rounds, given.saves)
        ratios = sorted(b / a for a, b in zip(floors, ours, strict=True))
        print(
            f"T16 {size:>9,} bytes: save {median(ours) * 1e3:.2f} ms, floor {median(floors) * 1e3:.2f} ms, "
            f"ratio {median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}), target <= {target}"
        )


if __name__ == "__main__":
    main()
