"""A file that is cut at any place: what stands in it whole is shown as before, and nothing is said to be lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.formats.damage.files import copied, look, losses, named, put, short, steps, times

BEHIND = frozenset({"swe-agent"})
"""Formats whose older versions keep the prompts behind the steps: a cut takes them."""
BESIDE = frozenset({"ui_messages.json"})
"""Files that only say what was left out of the prompts of another one."""


@pytest.mark.parametrize("path", named(), ids=short)
def test_what_stands_before_the_cut_is_shown_as_it_was(path: Path, tmp_path: Path) -> None:
    place = copied(path, tmp_path)
    data = place.read_bytes()
    whole = look(place)
    assert not isinstance(whole, str)
    known = {said for lane in steps(whole.run).values() for said in lane}
    lost = losses(whole.run)
    chance = random.Random(7)
    for size in sorted(chance.sample(range(1, len(data)), min(times(data), len(data) - 1))):
        put(place, data[:size])
        found = look(place)
        if isinstance(found, str):
            assert place.suffix != ".jsonl" or data.count(b"\n", 0, size) == 0, (size, found)
            continue
        run = found.run
        last = {lane.id: lane.steps[-1].n if lane.steps else 0 for lane in run.lanes}
        assert sum(losses(run).values()) == 0 or not [
            drop for drop in losses(run) - lost if drop[1] < last[drop[0]]
        ], (size, "a loss that is none")
        if run.format not in BEHIND and path.name not in BESIDE:
            other = [(name, n + 1) for name, lane in steps(run).items() for n, said in enumerate(lane[:-2])
                     if said not in known]  # fmt: skip
            assert not other, (size, other)
        if steps(run) != steps(whole.run) and b"\n" not in data[size - 1 : size + 1]:
            assert run.problems != whole.run.problems or run.notice, (size, "a cut that is not said")
