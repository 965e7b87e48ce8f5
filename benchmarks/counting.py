"""T13: counting a 5 MB history with the o200k extra, piece by piece as a tape does, against tiktoken where it can load.

    python -m benchmarks.counting      (pip install 'agentmem-inspector[tokens]'; tiktoken for the floor)
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module

from agentmem.tokens import UnknownCounter, counter
from benchmarks import inputs
from benchmarks.common import Figure, Row, interleave, report


def tiktoken() -> Callable[[str], int] | None:
    """It takes its vocabulary from the network; None where it is not installed or cannot."""
    try:
        encoding = import_module("tiktoken").get_encoding("o200k_base")
    except Exception as error:  # noqa: BLE001 - whatever it raises without its vocabulary, there is no floor
        print(f"no floor: tiktoken: {type(error).__name__}")
        return None
    return lambda text: len(encoding.encode_ordinary(text))


def main() -> None:
    try:
        ours = counter("o200k")
    except UnknownCounter as missing:
        print(missing)
        return
    texts = [json.dumps(message.get("content") or message) for message in inputs.messages(5_000_000)]
    chars4 = counter("chars4")
    floor = tiktoken()
    jobs: dict[str, Callable[[], object]] = {
        "o200k": lambda: sum(map(ours, texts)), "chars4": lambda: sum(map(chars4, texts)),
    }  # fmt: skip
    if floor is not None:
        jobs["tiktoken"] = lambda: sum(map(floor, texts))
    found = interleave(jobs, 5)
    below: Figure | None = found.get("tiktoken")
    rows = [Row("o200k, 5 MB", found["o200k"], below, None if below is None else 0.4), Row("chars4", found["chars4"])]
    print(report("T13 counting", rows))


if __name__ == "__main__":
    main()
