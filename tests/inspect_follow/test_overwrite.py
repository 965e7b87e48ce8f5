"""Files that their writer overwrites, atomically or not: the view is never lost, what was missed is a gap."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agentmem.formats.source import SnapshotFile
from agentmem.inspect.open import open_run
from agentmem.inspect.watch.loop import HALF_SECONDS
from agentmem.model import Run
from tests.inspect_follow.following import Following, checkpoint, closed, content, dump, put

STRANGER = """
import json, sys, time
messages, notes = [{"role": "user", "content": "count the shelves"}], []
for step in range(1, int(sys.argv[2]) + 1):
    call = {"id": f"c{step}", "type": "function", "function": {"name": "count", "arguments": json.dumps({"n": step})}}
    messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
    messages.append({"role": "tool", "tool_call_id": f"c{step}", "content": "pieces " * 400})
    notes.append(f"shelf {step}")
    json.dump({"step": step, "messages": messages, "notes": notes}, open(sys.argv[1], "w"))
    time.sleep(float(sys.argv[3]))
"""
"""An agent's loop as a stranger writes it."""


def consistent(runs: list[Run]) -> None:
    """Steps never go back, and every one of them is numbered or stands in a gap."""
    counts = [closed(run) for run in runs]
    assert counts == sorted(counts), "a step that was shown went away"
    for run in runs:
        numbers = [step.own or 0 for step in run.main.steps if not step.open]
        missing = sum(gap.missing for gap in run.gaps)
        assert numbers and numbers[0] > 0
        assert numbers == sorted(set(numbers)) and len(numbers) + missing == numbers[-1]


def test_a_hundred_atomic_replacements_end_on_the_last_and_nothing_flickers(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    put(path, checkpoint(1))
    with Following(path) as seen:
        for step in range(2, 101):
            put(path, checkpoint(step))
            time.sleep(0.02)
        seen.until(lambda s: s.steps == 100)
        assert {run.notice for run in seen.runs_told} == {None} and seen.trouble == ""
        consistent(seen.runs_told)
        assert not any(run.problems for run in seen.runs_told)


def test_a_strangers_loop_that_overwrites_its_file_is_followed_without_a_lost_view(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    steps = 60
    with subprocess.Popen([sys.executable, "-c", STRANGER, str(path), str(steps), "0.05"]) as writer:
        with Following(tmp_path) as seen:
            seen.until(lambda s: s.steps == steps)
            runs = seen.runs_told
        assert writer.wait(20) == 0
    consistent(runs)
    assert len(runs) > 10, "it was seen while it grew"
    assert not any(run.problems for run in runs)
    assert {run.notice for run in runs} == {None}, "half a file that is soon whole is not worth a word"


def test_a_file_that_stays_half_written_keeps_the_last_good_run_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    dump(path, checkpoint(4))
    half = json.dumps(checkpoint(5))[:-40]
    with Following(path) as seen:
        seen.until(lambda s: s.steps == 4)
        for text in (half, ""):
            began = time.monotonic()
            path.write_text(text)
            seen.until(lambda s: s.run is not None and s.run.notice == "being written")
            assert time.monotonic() - began >= HALF_SECONDS / 2 and seen.steps == 4
            dump(path, checkpoint(4))
            seen.until(lambda s: s.run is not None and s.run.notice is None)
        dump(path, checkpoint(6))
        seen.until(lambda s: s.steps == 6)
        assert seen.run is not None and not seen.run.gaps, "its list holds both calls"


def test_versions_that_were_missed_are_a_gap_where_the_list_does_not_hold_them(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    dump(path, checkpoint(4))
    with Following(path) as seen:
        seen.until(lambda s: s.steps == 4)
        later = checkpoint(9)
        later["messages"] = [later["messages"][0], *later["messages"][-4:]]
        put(path, later)
        seen.until(lambda s: s.steps == 6)
        assert seen.run is not None
        assert [(gap.after, gap.before, gap.missing) for gap in seen.run.gaps] == [(4, 8, 3)]
        assert [step.own for step in seen.run.main.steps if not step.open] == [1, 2, 3, 4, 8, 9]


def test_a_file_that_is_empty_at_first_is_opened_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.touch()
    with Following(path) as seen:
        seen.until(lambda s: "empty" in s.trouble)
        path.write_text('{"step": 1, "mess')
        dump(path, checkpoint(2))
        seen.until(lambda s: s.steps == 2 and s.trouble == "")


def test_a_new_run_in_the_same_file_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    put(path, {**checkpoint(5), "goal": "Count the shelves."})
    with Following(path) as seen:
        seen.until(lambda s: s.steps == 5)
        put(path, {**checkpoint(1), "goal": "Count the lamps."})
        seen.until(lambda s: s.steps == 1)
        assert seen.run is not None and seen.run.goal == "Count the lamps."


@given(st.lists(st.tuples(st.integers(1, 6), st.floats(0, 1)), min_size=1, max_size=6))
def test_looks_at_halves_of_versions_change_nothing_of_what_is_seen_in_the_end(
    versions: list[tuple[int, float]],
) -> None:
    with tempfile.TemporaryDirectory() as name:
        path, plain = Path(name) / "run.json", Path(name) / "plain.json"
        dump(path, checkpoint(1))
        dump(plain, checkpoint(1))
        looked, calm = open_run(str(path)), open_run(str(plain))
        for steps, share in sorted(versions):
            text = json.dumps(checkpoint(steps))
            path.write_text(text[: int(len(text) * share)])
            looked.refresh()
            for target, opened in ((path, looked), (plain, calm)):
                target.write_text(text)
                os.utime(target, ns=(1, time.time_ns()))
                opened.refresh()
        assert content(looked.run) == content(calm.run)


def test_a_second_write_in_the_same_tick_of_the_clock_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    file = SnapshotFile(path)
    path.write_bytes(b'{"a": 1}')
    now = time.time_ns()
    os.utime(path, ns=(now, now))
    assert file.change() == "grown" and file.read() == b'{"a": 1}'
    with path.open("r+b") as out:
        out.write(b'{"a": 2}')
    os.utime(path, ns=(now, now))
    while time.time_ns() - now < 25_000_000:
        time.sleep(0.005)
    assert file.change() == "grown" and file.read() == b'{"a": 2}'
    assert file.change() == "same"
