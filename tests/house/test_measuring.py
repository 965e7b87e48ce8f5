"""The benchmarks' own tools: ratios within a round, inputs from a seed, a program watched in a terminal."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from benchmarks import inputs
from benchmarks.common import Figure, Row, Taken, in_child, interleave, report, shown
from benchmarks.terminal import Terminal


def test_a_ratio_is_taken_within_a_round_so_that_a_drift_of_the_machine_cancels() -> None:
    drifting = Figure((2.0, 4.0, 8.0, 16.0, 32.0))
    floor = Figure((1.0, 2.0, 4.0, 8.0, 16.0))
    assert drifting.over(floor).values == (2.0,) * 5
    with pytest.raises(ValueError, match="zero"):
        drifting.over(Figure((0.0,) * 5))


def test_jobs_take_turns_and_each_is_first_in_some_round() -> None:
    order: list[str] = []
    jobs: dict[str, Callable[[], object]] = {name: partial(order.append, name) for name in "abc"}
    figures = interleave(jobs, rounds=5, warm=1)
    assert order[:9] == [*"abc", *"bca", *"cab"]
    assert {name: len(figure.values) for name, figure in figures.items()} == {"a": 5, "b": 5, "c": 5}
    with pytest.raises(ValueError, match="at least 5"):
        interleave(jobs, rounds=4)


def test_a_job_that_measures_itself_gives_its_figures_by_name_and_unit() -> None:
    numbers = itertools.count(1)
    figures = interleave({"app": lambda: Taken({"marker": 0.25, "peak.bytes": float(next(numbers))})}, warm=0)
    assert figures["app.marker"].median == 0.25
    assert figures["app.peak.bytes"].unit == "B" and figures["app.peak.bytes"].median == 3


def test_a_missed_target_is_said() -> None:
    slow = Row("slow", Figure((3.0,) * 5), Figure((2.0,) * 5), 1.4)
    text = report("T", [slow, Row("memory", Figure((5e6,) * 5, "B"))])
    assert "1.50x" in text and "<= 1.4x" in text and "MISSED" in text and "5 MB" in text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.0123, "s", "12.3 ms"), (2.0, "s", "2 s"), (0.0, "s", "0 ns"), (1.5e9, "B", "1500 MB"), (0.61, "", "0.61")],
)
def test_a_value_is_shown_in_a_unit_that_suits_it(value: float, unit: str, text: str) -> None:
    assert shown(value, unit) == text


@pytest.mark.parametrize("write", [inputs.session, inputs.rollout, inputs.checkpoint, inputs.requests])
def test_a_big_input_is_the_same_each_time_and_about_as_big_as_asked(
    write: Callable[[Path, int], None], tmp_path: Path
) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, 60_000)
    once = (tmp_path / "one").read_bytes()
    assert once == (tmp_path / "two").read_bytes()
    assert 60_000 <= len(once) < 90_000
    for line in once.splitlines():
        json.loads(line)


def test_a_session_of_long_lines_has_lines_of_that_length() -> None:
    held = inputs.messages(50_000, characters=1_000)
    assert {len(message["content"]) for message in held if message["role"] == "tool"} == {1_000}
    last = list(inputs.growing(3))[-1]
    assert last["step"] == 3 and len(last["messages"]) == 2 + 2 * 3


def test_a_program_in_a_terminal_is_seen_typed_to_and_ended() -> None:
    code = "print('\\x1b[1mRE\\x1b[0mADY'); print('got', input()); raise SystemExit(3)"
    with Terminal([sys.executable, "-c", code], rows=10, columns=40) as screen:
        assert screen.wait_for("READY") is not None, "the mark is found although colours stand in it"
        screen.send("hello\n")
        assert screen.wait_for("got hello") is not None
        assert screen.wait_for("never") is None, "the end of the program ends the waiting"
    assert screen.used is not None and screen.used.status == 3 and screen.used.peak > 1_000_000


def test_a_program_that_does_not_end_is_ended() -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    screen = Terminal([sys.executable, "-c", code])
    assert screen.wait_for("up") is not None
    assert screen.close(grace=0.2).status == -9


def test_a_child_says_what_it_cost_and_why_it_failed() -> None:
    assert in_child("x = bytearray(30_000_000)")["peak.bytes"] > 30_000_000
    with pytest.raises(RuntimeError, match="ValueError: no"):
        in_child("raise ValueError('no')")
