"""Every field of every record may be of any JSON type, or missing: no reader raises, and the rest of the run shows."""

from __future__ import annotations

import copy
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentmem.formats import NotYet, Unreadable
from agentmem.inspect.open import NoRuns, open_run
from agentmem.model import Run
from tests.conftest import ROOT
from tests.formats.agents.test_every_reader import SAMPLES

MISSING = object()
ODD: tuple[Any, ...] = (
    MISSING, None, True, 7, -1, 2**70, 10**400, 1.5, float("inf"), float("nan"), "x", "", [], ["x"], [None], [[1]],
    [{}], {}, {"x": 1}, {"text": 3, "id": [1], "type": {"a": 1}},
)  # fmt: skip
TRIES = 60
Path_ = tuple[str | int, ...]
ASIDE = {
    "cline-session/1775100000000_k3vwq/1775100000000_k3vwq.compaction.json":
        "cline-session/1775100000000_k3vwq/1775100000000_k3vwq.messages.json",
    "cline-task/1775200000000/context_history.json": "cline-task/1775200000000/api_conversation_history.json",
    "cline-task/1775200000000/ui_messages.json": "cline-task/1775200000000/api_conversation_history.json",
    "harbor-job/berths__b2/agent/trajectory.cont-1.json": "harbor-job/berths__b2/agent/trajectory.json",
    "openhands/4f9a1d20c3b84e5f9a6b7c8d9e0f1a2b/base_state.json": "openhands/4f9a1d20c3b84e5f9a6b7c8d9e0f1a2b",
    "opencode-storage/part/msg_00000004seeds/prt_00000006seeds.json":
        "opencode-storage/session/4f1c9d20b7a8e3556c0d/ses_00000001seeds.json",
    "roo-task/0195f3a0-6c1d-7e44-9b11-2f64f7a1c0de/ui_messages.json":
        "roo-task/0195f3a0-6c1d-7e44-9b11-2f64f7a1c0de/api_conversation_history.json",
}  # fmt: skip
"""Files beside the one that is opened."""
FILES = {one: one for one in SAMPLES if Path(one).suffix in (".json", ".jsonl", ".traj")} | ASIDE


def places(value: Any, place: Path_ = ()) -> Iterator[Path_]:
    """Of every member and element below a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*place, key)
        yield from places(item, (*place, key))


def changed(value: Any, place: Path_, odd: object) -> Any:
    """The value with another one, or none, in that place."""
    out = holder = copy.deepcopy(value)
    for key in place[:-1]:
        holder = holder[key]
    if odd is MISSING:
        del holder[place[-1]]
    else:
        holder[place[-1]] = odd
    return out


def kinds(value: Any) -> list[Path_]:
    """One place of each kind: elements of a list are alike, as far as they have the same members."""
    seen: dict[tuple[object, ...], Path_] = {}
    for place in places(value):
        seen.setdefault(tuple(0 if isinstance(key, int) else key for key in place), place)
    return list(seen.values())


def steps(run: Run) -> int:
    return sum(not step.open for lane in run.lanes for step in lane.steps)


@pytest.mark.parametrize("sample", FILES)
def test_a_field_of_any_type_stops_nothing(tmp_path: Path, sample: str) -> None:
    top = Path(sample).parts[0]
    shutil.copytree(ROOT / "sample_runs" / top, tmp_path / top)
    file, opened = tmp_path / sample, str(tmp_path / FILES[sample])
    whole = steps(open_run(opened).run)
    lines = [file.read_bytes()] if file.suffix != ".jsonl" else file.read_bytes().splitlines()
    # A sample may be damaged itself.
    records = {at: json.loads(line) for at, line in enumerate(lines) if line.rstrip().endswith((b"}", b"]"))}
    chance = random.Random(sample)
    todo = [(at, place) for at, record in records.items() for place in kinds(record)]
    for at, place in chance.choices(todo, k=TRIES):
        odd = chance.choice(ODD)
        spoiled = json.dumps(changed(records[at], place, odd)).encode()
        file.write_bytes(b"\n".join([*lines[:at], spoiled, *lines[at + 1 :]]) + b"\n")
        told = f"record {at}: {place} is {odd!r:.40}"
        try:
            run = open_run(opened).run
        except (NotYet, Unreadable, NoRuns) as error:
            assert at == 0 and len(place) <= 2, (told, error)  # what the format is known by
        else:
            assert steps(run) >= whole - 3 or len(place) == 1, (told, steps(run), whole)
