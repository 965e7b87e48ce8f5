"""A circle told: its members by letter, and findings about the same calls together."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agentmem.inspect.telling.circles import letter, together, told, turns
from agentmem.inspect.telling.marks import CYCLE, Numbers, overlay
from agentmem.inspect.telling.status_line import status_line
from agentmem.ledger import Detector, make_attempt
from agentmem.model import Attempt, Cycle, Lane, Run, Step
from tests.tui.panes.builders import plain_run

NAMES = "abcdefghi"


def lane_of(*steps: str) -> tuple[Run, tuple[Cycle, ...]]:
    """A run with a step for each text, whose letters are its calls; and what the detector says of it."""
    base = plain_run(1)
    detector, made = Detector(), []
    for n, names in enumerate(steps, 1):
        attempts: tuple[Attempt, ...] = tuple(
            make_attempt("read", {"path": name}, f"text of {name}", n=n, index=i) for i, name in enumerate(names, 1)
        )
        for attempt in attempts:
            detector.feed(attempt)
        made.append(replace(base.main.steps[0], n=n, attempts=attempts))
    run = replace(base, lanes=(Lane("main", "main", tuple(made)),), cycles=detector.cycles)
    return run, detector.cycles


def letters_of(run: Run, cycle: Cycle) -> str:
    steps: tuple[Step, ...] = run.main.steps
    return "".join(letter(turn.place) for turn in turns(cycle, steps, Numbers(steps).n_of))


def test_letters_go_on_after_z() -> None:
    assert [letter(place) for place in (0, 5, 25, 26, 29)] == ["A", "F", "Z", "AA", "AD"]


@pytest.mark.parametrize("period", [2, 7, 9])
def test_each_attempt_of_a_circle_is_its_member(period: int) -> None:
    run, (cycle,) = lane_of(*NAMES[:period] * 3)
    assert letters_of(run, cycle) == "ABCDEFGHI"[:period] * 3
    marks = bytearray(len(run.main.steps))
    shown = overlay(run, "main", marks, Numbers(run.main.steps))
    assert [shown[n] for n in (1, period, period + 1)] == ["A", "ABCDEFGHI"[period - 1], "A"]
    assert set(marks) == {CYCLE}


def test_members_that_share_a_step_and_steps_that_hold_others_too_are_told_by_their_call() -> None:
    run, (cycle,) = lane_of(*["xab", "c"] * 4)
    (first, *_) = cycle.signatures
    assert cycle.period == 4 and first == run.main.steps[0].attempts[0].signature
    assert letters_of(run, cycle) == "ABCD" * 4
    run, (repeat, relapse) = lane_of(*[call for i in range(6) for call in ("a", "b", f"{i}")])
    assert (repeat.kind, letters_of(run, repeat)) == ("repeat", "ABABAB")
    assert (relapse.kind, letters_of(run, relapse)) == ("relapse", "AB" * 6)


def test_a_circle_whose_calls_are_not_known_is_told_in_order() -> None:
    run, (cycle,) = lane_of(*"ababab")
    assert letters_of(run, replace(cycle, signatures=("?", "!"))) == "ABABAB"
    assert letters_of(run, replace(cycle, steps=(1, 2, 99))) == "ABA"


def test_findings_about_the_same_calls_stand_together_and_of_many_the_ends_are_told() -> None:
    _, cycles = lane_of(*"aaa", *"bbb", "x", "a", "y", "b")
    assert [(one.kind, one.tools) for one in cycles] == [("repeat", ("read",))] * 2 + [("relapse", ("read",))] * 2
    a, b = together(cycles)
    assert [one.kind for one in a] == [one.kind for one in b] == ["repeat", "relapse"]
    assert a[0].signatures == a[1].signatures != b[0].signatures
    errors = [replace(a[0], kind="same-error", detail=what) for what in ("refused", "refused", "denied")]
    assert [len(alike) for alike in together(errors)] == [2, 1]
    assert together([replace(a[0], lane=lane) for lane in ("one", "two")]) != [a]
    assert told(a) == (a, ())
    assert told([*a, *b]) == ((a[0], b[1]), [a[1], b[0]])


def test_a_circle_and_its_return_are_counted_once() -> None:
    """`↻2` in the header for one loop that came back would read as two loops."""
    calls = ["a", "b"] * 3 + ["c", "d"] + ["a", "b"] * 3
    run, _ = lane_of(*calls)
    assert len(run.cycles) > 1
    assert len(together(run.cycles)) == 1
    assert "↻1" in status_line(run)
