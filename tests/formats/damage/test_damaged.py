"""A file with damage in it: nothing is raised, what is not understood is said, and the rest is shown."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tests.formats.damage.files import copied, count, look, losses, named, put, short, times, told
from tests.formats.damage.kinds import ANY, OF_LINES, in_lines

HARMLESS = ("byte_order_mark", "carriage_returns")
_NUMBER = re.compile(r"\d+")
LINES = tuple(path for path in named() if path.suffix == ".jsonl" and path.read_bytes().count(b"\n") > 2)


@pytest.mark.parametrize("path", named(), ids=short)
def test_damage_anywhere_raises_nothing(path: Path, tmp_path: Path) -> None:
    place = copied(path, tmp_path)
    data = place.read_bytes()
    whole = look(place)
    assert not isinstance(whole, str)
    chance = random.Random(5)
    for _ in range(times(data)):
        for name, damage in ANY.items():
            put(place, damage(data, chance))
            found = look(place)
            if isinstance(found, str):
                assert name not in HARMLESS, (name, found)
                continue
            if name in HARMLESS:
                assert count(found.run) == count(whole.run), name
                beside = f"{place.name}: damaged"  # a checkpoint of ours, which `load` refuses too
                assert [_NUMBER.sub("", one) for one in told(found.run) if not one.startswith(beside)] == [
                    _NUMBER.sub("", one) for one in told(whole.run)
                ], name
                assert losses(found.run) == losses(whole.run), name
            if name == "nul_block" and count(found.run) < count(whole.run):
                assert told(found.run) != told(whole.run) or found.run.notice, "steps that went without a word"


@pytest.mark.parametrize("kind", OF_LINES)
@pytest.mark.parametrize("path", LINES, ids=short)
def test_a_line_that_is_damaged_costs_no_other(path: Path, kind: str, tmp_path: Path) -> None:
    place = copied(path, tmp_path)
    data = place.read_bytes()
    whole = look(place)
    assert not isinstance(whole, str)
    chance = random.Random(11)
    for _ in range(times(data)):
        put(place, in_lines(kind, data, chance))
        found = look(place)
        assert not isinstance(found, str), found
        run = found.run
        if kind in ("glued", "foreign"):
            assert count(run) == count(whole.run), told(run)
            assert losses(run) == losses(whole.run), told(run)
        if kind == "twice" and run.format in ("codex", "claude-code", "pi", "gemini-cli", "agentmem"):
            assert count(run) == count(whole.run), told(run)
        if kind in ("glued", "foreign", "half_then_whole"):
            assert told(run) != told(whole.run), "it is said"
