"""A long file: its first part is told at once, and drawn before any more is read."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from agentmem.inspect import open as opening
from agentmem.inspect.watch import LifelineReady, Progress, RunChanged, loop
from agentmem.inspect.watch.catalogue import Catalogue
from tests.inspect_follow.following import Following


def written(path: Path, steps: int) -> Path:
    lines = (json.dumps({"role": "user" if n % 2 else "assistant", "content": f"text {n}"}) for n in range(2 * steps))
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_what_follows_the_first_part_waits_for_the_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else the loop is woken for meanwhile: here a question."""
    monkeypatch.setattr(loop, "SLICES", (0.0005, 0.03, 5.0))
    monkeypatch.setattr(opening, "NEARLY_SECONDS", 0.0)  # as of a file that is much longer
    monkeypatch.setattr(loop, "DRAWN_SECONDS", 1.0)
    long = written(tmp_path / "long.jsonl", 20_000)
    with Following(long) as seen:
        seen.until(lambda s: any(isinstance(one, Progress) for one in s.events))
        seen.watch.ask_lifeline("main", "text 1")
        seen.until(lambda s: any(isinstance(one, LifelineReady) for one in s.events))
        time.sleep(0.3)
        parts = [one.run for one in seen.events if isinstance(one, RunChanged) and one.run.path == str(long)]
        assert len(parts) == 1 and 0 < len(parts[0].main.steps) < 20_000
        seen.until(lambda s: s.run is not None and len(s.run.main.steps) >= 20_000)


def test_a_run_that_left_the_list_before_it_was_opened_gives_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the row of a server that could not be asked at first: the loop goes on and opens what is there."""
    first = Catalogue.first
    asked: list[str | None] = []

    def gone_at_first(self: Catalogue) -> str | None:
        asked.append(first(self))
        return "what is not there" if len(asked) == 1 else asked[-1]

    monkeypatch.setattr(Catalogue, "first", gone_at_first)
    with Following(written(tmp_path / "a.jsonl", 20)) as seen:
        seen.until(lambda s: s.run is not None and len(s.run.main.steps) >= 20)
    assert len(asked) > 1


def test_a_file_that_is_read_soon_is_read_without_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SLICES", (0.0, 5.0))
    monkeypatch.setattr(loop, "DRAWN_SECONDS", 60.0)
    with Following(written(tmp_path / "a.jsonl", 200)) as seen:
        seen.until(lambda s: s.run is not None)
        assert seen.run is not None and len(seen.run.main.steps) >= 200
