"""Writers that put a whole file down again and again, each in its own way, and what a reader shows meanwhile."""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import random
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from agentmem.formats import NotYet, recognise
from agentmem.formats.reader import Reader
from tests.conftest import ROOT
from tests.formats.agents.following import picture, reader_of


@cache
def maker(name: str) -> ModuleType:
    """The generator of a sample, `sample_runs/make_NAME.py`."""
    spec = importlib.util.spec_from_file_location(f"make_{name}", ROOT / "sample_runs" / f"make_{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def dumped(value: object) -> bytes:
    return json.dumps(value, indent=2).encode()


def half_written(path: Path, data: bytes, look: Callable[[], None]) -> None:
    """`open("w")` and two writes: the file is seen empty, and cut in the middle."""
    with path.open("wb") as file:
        look()
        file.write(data[: len(data) * 2 // 3])
        file.flush()
        look()
        file.write(data[len(data) * 2 // 3 :])
    look()


def renamed(path: Path, data: bytes, look: Callable[[], None]) -> None:
    """A file beside it, renamed over it: it is always whole, and another inode each time."""
    beside = path.with_name(f".{path.name}.tmp")
    beside.write_bytes(data)
    look()
    os.replace(beside, path)
    look()


WRITERS = (half_written, renamed)


def follow(path: Path, versions: Iterable[Any], write: Callable[[Path, bytes, Callable[[], None]], None]) -> Reader:
    """A reader that looks at every moment of the writing. It never shows fewer steps than before, and after each whole
    version what a fresh reader shows."""
    reader: Reader | None = None
    most = 0

    def look() -> None:
        nonlocal reader, most
        if reader is None and path.exists() and recognise(path) is not None:
            reader = reader_of(path)
        if reader is None:
            return
        try:
            reader.refresh()
        except NotYet:
            return
        steps = sum(len(lane.steps) for lane in reader.draft.lanes.values())
        assert steps >= most, f"{most} steps were seen, now {steps}"
        most = steps

    for version in versions:
        write(path, dumped(version), look)
        fresh = reader_of(path)
        fresh.refresh()
        assert reader is not None
        assert picture(reader.draft) == picture(fresh.draft)
        assert reader.draft.notice != "being written"
    assert reader is not None
    return reader


ODD: Sequence[Any] = (
    None, True, -1, 2**70, 1.5, "", "text", "\u202e\x1b[2J", [], [[]], {}, {"type": "text"},
    {"type": "text", "text": 7},
    [{"type": "tool_use"}], [{"type": "tool_result", "content": [{}]}], {"role": []}, [None],
)  # fmt: skip


def spoiled(value: Any, seed: int, times: int = 6) -> Any:
    """The value with some of its members, anywhere, replaced by what nobody would write, left out, or given twice."""
    chance = random.Random(seed)
    whole = json.loads(json.dumps(value))
    for _ in range(times):
        held: Any = whole
        while True:
            keys = list(held) if isinstance(held, dict) else range(len(held))
            if not keys:
                break
            key = chance.choice(list(keys))
            if isinstance(held[key], dict | list) and held[key] and chance.random() < 0.8:
                held = held[key]
                continue
            if chance.random() < 0.2:
                del held[key]
            else:
                held[key] = copy.deepcopy(chance.choice(ODD))
            break
    return whole
