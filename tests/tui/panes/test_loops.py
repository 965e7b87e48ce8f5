"""The loops pane: cycles with their members and cost, waiting apart, attempts newest first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentmem.model import Attempt, Cycle, Lane, Run, RunStatus, Step
from tui.messages import ToStep
from tui.widgets.line import Line
from tui.widgets.panes.attempts import AttemptTable
from tui.widgets.panes.loops import LoopsPane

from .builders import attempt, plain_run, story
from .shown import context_of, pane_lines, row_with, text


def shown(run: Run, width: int = 150, n: int = 25) -> tuple[LoopsPane, list[Line]]:
    pane = LoopsPane()
    pane.show(run, ("main", min(n, len(run.main.steps))), context_of(run, width))
    return pane, pane_lines(pane, width)


@pytest.mark.parametrize("width", [80, 100, 120, 150])
def test_a_cycle_names_its_period_steps_and_cost(width: int) -> None:
    _, lines = shown(story(), width)
    cycle = row_with(lines, "cycle")
    for words in ("20 to 25", "period 2", "A B A B A B", "94.4k"):
        assert words in cycle.plain
    assert cycle.fill == "warning-muted" and cycle.target == ToStep("main", 20)


def test_its_members_have_letters_steps_calls_and_outcomes() -> None:
    _, lines = shown(story())
    one, other = row_with(lines, "20 22 24"), row_with(lines, "21 23 25")
    assert one.plain.split()[0] == "A" and "test_lexer.py" in one.plain and "✗ 1 failed" in one.plain
    assert other.plain.split()[0] == "B" and "read  src/lexer.py:40-80" in other.plain and "over at 26" in other.plain


def test_a_cycle_of_nine_has_nine_members_and_its_relapse_stands_with_it() -> None:
    """You should see two findings and their members A to I once."""
    names = "abcdefghi"
    steps = steps_with([[name] for name in names * 3])
    tools, signatures = tuple(names), tuple(one.attempts[0].signature for one in steps[:9])
    cycle = Cycle("main", "cycle", 9, tuple(range(1, 27)), 2, tools, signatures, None, 19, 27)
    relapse = replace(cycle, kind="relapse", steps=tuple(range(1, 28)), count=3, ended_at=None)
    run = replace(plain_run(1), lanes=(Lane("main", "main", steps),), cycles=(cycle, relapse))
    _, lines = shown(run)
    top = [line.plain for line in lines[1 : 1 + 11]]
    assert [line.split()[:2] for line in top[:2]] == [["↻", "relapse"], ["↻", "cycle"]]
    assert [line.split()[:4] for line in top[2:]] == [
        ["ABCDEFGHI"[place], str(place + 1), str(place + 10), str(place + 19)] for place in range(9)
    ]
    assert "until the end" in top[-1] and text(lines).count("until the end") == 1
    marks = [line.plain for line in lines if "↻ I" in line.plain]
    assert len(marks) == 3


def test_many_findings_about_one_call_are_told_by_their_ends() -> None:
    """You should see the newest, how many stand between, and the first."""
    steps = steps_with([["a"]] * 30)
    sign = steps[0].attempts[0].signature
    cycles = tuple(
        Cycle("main", "repeat", 1, (n, n + 1, n + 2), 3, ("a",), (sign,), None, n + 2, n + 3) for n in range(1, 30, 3)
    )
    _, lines = shown(replace(plain_run(1), lanes=(Lane("main", "main", steps),), cycles=cycles))
    rows = [line.plain for line in lines[1:5]]
    assert "28 to 30" in rows[0] and "and 8 more between them" in rows[1] and "1 to 3" in rows[2]
    assert rows[3].split()[0] == "A" and "1 to 30" in rows[3]


@pytest.mark.parametrize(
    ("status", "words"), [("live", "still turning"), ("ended", "until the end"), ("stale", "until the last step")]
)
def test_a_cycle_that_has_not_been_broken_turns_as_long_as_its_run(status: RunStatus, words: str) -> None:
    """You should see it turn in a run that goes on, and in one that is over how far it went."""
    run = replace(story(), status=status)
    run = replace(run, cycles=(replace(run.cycles[0], ended_at=None),))
    told = text(shown(run)[1])
    assert words in told and ("turning" in told) is (status == "live")


def test_a_result_that_is_indented_begins_where_it_says_something() -> None:
    run = story()
    step = run.main.steps[26]
    made = replace(step.attempts[0], result_head="     1\timport json", outcome="ok")
    steps = (*run.main.steps[:26], replace(step, attempts=(made,)), *run.main.steps[27:])
    _, lines = shown(replace(run, lanes=(replace(run.main, steps=steps),)))
    assert "ok, 1 import json" in text(lines)


def test_waiting_is_told_apart_with_its_cost() -> None:
    _, lines = shown(story())
    row = row_with(lines, "waiting")
    assert row.plain.startswith(" z") and "65.1k" in row.plain and "not a loop" in row.plain


def test_attempts_stand_newest_first_and_say_what_changed() -> None:
    _, lines = shown(story())
    start = next(place for place, line in enumerate(lines) if "attempts, newest first" in line.plain)
    steps = [int(line.plain[13:24]) for line in lines[start + 1 :]]
    assert steps == list(range(30, 0, -1))
    rest = lines[start + 1 :]
    assert "after a silent drop" in row_with(rest, "replay_order").plain
    assert "a change not seen before" in row_with(rest, "edit  src/lexer.py TOKEN_RE").plain
    assert "result changed: progress" in row_with(rest, "24 passed").plain
    assert "↻ A, named" in row_with(rest[6:], "pytest").plain


def test_the_step_under_the_cursor_is_marked() -> None:
    _, lines = shown(story(), 120, 25)
    marked = [line for line in lines if line.fill == "cursor"]
    assert len(marked) == 1 and marked[0].target == ToStep("main", 25)


def test_no_repeats_are_said_with_the_number_of_attempts() -> None:
    assert "No repeats in 3 attempts." in text(shown(plain_run(3))[1])


def test_without_results_it_says_that_it_cannot_tell() -> None:
    said = text(shown(plain_run(3, results_known=False))[1])
    assert "Cannot tell loops" in said and "No repeats" not in said


def test_an_undo_says_what_was_undone() -> None:
    run = replace(story(), cycles=(Cycle("main", "undo", 1, (17, 26), 2, ("edit",), ("e",), None, 26, None,
                                         "src/lexer.py: the edit of 17 was reversed at 26"),))  # fmt: skip
    assert "src/lexer.py: the edit of 17" in text(shown(run)[1])


def steps_with(signatures: list[list[str]]) -> tuple[Step, ...]:
    base = plain_run(1).main.steps[0]
    made = []
    for n, names in enumerate(signatures, 1):
        attempts: tuple[Attempt, ...] = tuple(attempt(n, name, "", index=place) for place, name in enumerate(names, 1))
        made.append(replace(base, n=n, attempts=attempts))
    return tuple(made)


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=3), min_size=1, max_size=14), st.data())
def test_a_table_that_grew_with_the_run_is_the_table_made_at_once(
    signatures: list[list[str]], data: st.DataObject
) -> None:
    steps = steps_with(signatures)
    grown = AttemptTable()
    end = 0
    while end < len(steps):
        end = data.draw(st.integers(end + 1, len(steps)))
        grown.take(Lane("main", "main", steps[:end]))
    at_once = AttemptTable()
    at_once.take(Lane("main", "main", steps))
    assert [(c.attempt, c.times, c.before) for c in map(grown.__getitem__, range(len(grown)))] == [
        (c.attempt, c.times, c.before) for c in map(at_once.__getitem__, range(len(at_once)))
    ]
    assert len(grown) == sum(map(len, signatures))


def test_a_rewritten_run_is_counted_anew() -> None:
    table = AttemptTable()
    table.take(Lane("main", "main", steps_with([["a"], ["a"], ["a"], ["a"], ["a"]])))
    table.take(Lane("main", "main", steps_with([["b"], ["b"], ["a"]])))
    assert [table[place].times for place in range(len(table))] == [1, 2, 1]
