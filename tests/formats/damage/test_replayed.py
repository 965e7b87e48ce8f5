"""A file that is followed while it is written, as its agent writes it: nothing goes back, and the end is the whole."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentmem.inspect.open import Opened
from tests.formats.damage.files import DAMAGES, LARGE, closed, copied, look, losses, named, put, short, steps, told

_BATCHES = 12
LINES = tuple(path for path in named() if path.suffix == ".jsonl")
WHOLE = tuple(
    path for path in named()
    if path.suffix != ".jsonl" and path.name != "ui_messages.json" and not path.name.startswith("completions-")
)  # fmt: skip


def batches(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """Pieces that end anywhere, also inside of a character."""
    most = _BATCHES if len(data) < LARGE else 2
    places = sorted(chance.sample(range(1, len(data)), min(most, len(data) - 1)))
    for start, end in zip([0, *places], [*places, len(data)], strict=True):
        yield data[start:end]


class Follower:
    """Looks at a file again and again. The number of its steps never falls."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.source: Opened | None = None
        self.most = 0

    def look(self, *, falls: bool = False) -> None:
        if self.source is None:
            found = look(self.path) if self.path.exists() else "none"
            self.source = None if isinstance(found, str) else found
        else:
            self.source.refresh()
        if self.source is not None:
            now = closed(self.source.run)
            assert falls or now >= self.most, f"{self.most} steps were shown, now {now}"
            self.most = now

    def shows_what_stands_there(self) -> None:
        """The same as one who opens it now."""
        fresh = look(self.path)
        assert not isinstance(fresh, str) and self.source is not None
        assert steps(self.source.run) == steps(fresh.run)
        assert losses(self.source.run) == losses(fresh.run)
        assert [one for one in told(self.source.run) if "half a record" not in one] == told(fresh.run)
        assert (self.source.run.goal, self.source.run.model) == (fresh.run.goal, fresh.run.model)


@pytest.mark.parametrize("path", LINES, ids=short)
def test_a_file_that_grows_is_at_its_end_what_it_is_at_once(path: Path, tmp_path: Path) -> None:
    place = copied(path, tmp_path)
    data = place.read_bytes()
    for seed in range(max(1, DAMAGES // 4)):
        place.write_bytes(b"")
        follower = Follower(place)
        for part in batches(data, random.Random(seed)):
            with place.open("ab") as file:
                file.write(part)
            follower.look()
        follower.shows_what_stands_there()


@pytest.mark.parametrize("path", LINES, ids=short)
def test_a_file_that_shrinks_and_grows_again_is_read_anew(path: Path, tmp_path: Path) -> None:
    place = copied(path, tmp_path)
    data = place.read_bytes()
    lines = data.splitlines(keepends=True)
    chance = random.Random(3)
    follower = Follower(place)
    follower.look()
    for _ in range(2 if len(data) < LARGE else 1):
        kept = chance.randrange(len(lines) // 2, len(lines))
        place.write_bytes(b"".join(lines[:kept]))
        follower.look(falls=True)
        with place.open("ab") as file:
            file.write(b"".join(lines[kept:]))
        follower.look()
    follower.shows_what_stands_there()


def _only_grows(path: Path) -> bool:
    """Whether an earlier version is the beginning of its lists. Roo marks older messages when it writes a summary, and
    SWE-agent keeps a history beside the steps: `test_rewritten_files.py` writes those as they do."""
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    found = look(path)
    return not isinstance(found, str) and found.run.format not in ("roo", "swe-agent", "agentmem")


def grown(data: bytes) -> Iterator[bytes]:
    """Versions of a file that is written whole: with ever more of its lists."""
    for quarter in (1, 2, 3, 4):
        value = json.loads(data)
        for listed in [value] if isinstance(value, list) else [one for one in value.values() if isinstance(one, list)]:
            del listed[max(2, -(-len(listed) * quarter // 4)) :]
        if isinstance(value, dict) and "step" in value and quarter < 4:
            value["step"] = sum(one.get("role") == "assistant" for one in value["messages"])
        yield json.dumps(value, indent=2).encode()


@pytest.mark.parametrize("writer", ["in place", "renamed"])
@pytest.mark.parametrize("path", [path for path in WHOLE if _only_grows(path)], ids=short)
def test_a_file_that_is_written_whole_again_and_again_never_goes_back(
    path: Path, writer: str, tmp_path: Path
) -> None:
    place = copied(path, tmp_path)
    data = place.read_bytes()
    place.unlink()
    follower = Follower(place)
    written = False
    for version in grown(data):
        written = True
        if writer == "renamed":
            beside = place.with_name(f".{place.name}.tmp")
            beside.write_bytes(version)
            follower.look()
            os.replace(beside, place)
        else:
            with place.open("wb") as file:
                follower.look()
                file.write(version[: len(version) // 2])
                file.flush()
                follower.look()
                file.write(version[len(version) // 2 :])
        follower.look()
    if written:
        follower.shows_what_stands_there()


@pytest.mark.parametrize("path", WHOLE, ids=short)
def test_a_file_cut_for_a_moment_keeps_what_was_seen(path: Path, tmp_path: Path) -> None:
    place = copied(path, tmp_path)
    data = place.read_bytes()
    follower = Follower(place)
    follower.look()
    for size in (0, 1, len(data) // 2, len(data) - 2):
        put(place, data[:size])
        follower.look()
    place.write_bytes(data)
    follower.look()
    follower.shows_what_stands_there()
