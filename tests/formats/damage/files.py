"""Which files are damaged: all samples, and the real files beside the checkout if there are any. What a run says.

`AGENTMEM_DAMAGES=200 pytest tests/formats/damage` for the long run.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from functools import cache
from pathlib import Path

from agentmem.formats import NotYet, Unreadable
from agentmem.inspect.open import NoRuns, Opened, SeveralRuns, open_run
from agentmem.model import FIXED_KINDS, Run
from tests.conftest import REAL, ROOT

DAMAGES = int(os.environ.get("AGENTMEM_DAMAGES", "3"))
"""Places a file is damaged at, for each kind of damage."""
LARGE = 300_000
"""Bytes of a file that is damaged at fewer places."""
REFUSED = (Unreadable, NotYet, NoRuns, SeveralRuns)
_OLD = 3_600.0
_NO_TEXT = (".db", ".sqlite", ".eval", ".zst", "-wal", "-shm", ".sql", ".tsv", ".md", ".py", ".svg")
_BESIDE = ("calls.jsonl", ".marker", "task_metadata.json", "TASKS.json", "base_state.json")

Said = tuple[tuple[int, ...], tuple[int, ...]]
"""Keys of what stood in the prompt of a step, the system prompt and the tools left out, and of what was answered."""


@cache
def named() -> tuple[Path, ...]:
    """All of them, by their place."""
    found = []
    for root in (ROOT / "sample_runs", REAL):
        for path in sorted(root.rglob("*")) if root.is_dir() else ():
            part_of_a_folder = "events" in path.parts or "opencode-storage" in path.parts
            if path.is_file() and not part_of_a_folder and not path.name.endswith((*_NO_TEXT, *_BESIDE)):
                found.append(path)
    return tuple(path for path in found if _is_run(path))


def _is_run(path: Path) -> bool:
    try:
        return bool(open_run(str(path)).run.main.steps)
    except REFUSED:
        return False


def short(path: Path) -> str:
    return str(path.relative_to(REAL.parent if path.is_relative_to(REAL) else ROOT))


def copied(path: Path, folder: Path) -> Path:
    """A copy that may be written, with what stands beside it."""
    target = folder / "copy"
    shutil.copytree(path.parent, target, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for name in (target, *target.rglob("*")):
        name.chmod(0o755 if name.is_dir() else 0o644)
    return target / path.name


def put(path: Path, data: bytes) -> None:
    """Written long ago: nothing of it is still on its way."""
    path.write_bytes(data)
    old = time.time() - _OLD
    os.utime(path, (old, old))


def times(data: bytes) -> int:
    """At how many places a file of that size is damaged."""
    return max(1, DAMAGES // 10) if len(data) > LARGE else DAMAGES


def look(path: Path) -> Opened | str:
    """The run, or in one line why there is none. Nothing else is raised for what stands in a file."""
    try:
        return open_run(str(path))
    except REFUSED as error:
        assert "\n" not in str(error)
        return str(error)


def steps(run: Run) -> dict[str, list[Said]]:
    """What each step of each lane saw and said."""
    return {
        lane.id: [
            (tuple(one.key for one in step.prompt if one.kind not in FIXED_KINDS), tuple(o.key for o in step.replies))
            for step in lane.steps
        ]
        for lane in run.lanes
    }


def losses(run: Run) -> Counter[tuple[str, int, str, str, str]]:
    return Counter(
        (lane.id, step.n, drop.what, drop.name, drop.cause)
        for lane in run.lanes for step in lane.steps for drop in step.drops
    )  # fmt: skip


def count(run: Run) -> int:
    return sum(len(lane.steps) for lane in run.lanes)


def closed(run: Run) -> int:
    """Steps that are over."""
    return sum(not step.open for lane in run.lanes for step in lane.steps)


def told(run: Run) -> list[str]:
    return sorted(f"{problem.where}: {problem.what}" for problem in run.problems)
