"""Circles of any period to 30: told once, with the right period, rounds and bounds; honest work stays silent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.ledger import Detector, Ledger
from agentmem.ledger.history import KEPT, History
from agentmem.model import Attempt, Cycle, Outcome

from .build import at, call, edit, feed, read, test_run

PERIODS = st.integers(2, 30)
ROUNDS = st.integers(3, 6)


def member(place: int) -> Attempt:
    """Members of all effects: some read, some are not known, some change something."""
    tool = ("read_file", "do_it", "write_file", "bash")[place % 4]
    outcome: Outcome = "error" if place % 5 == 4 else "ok"
    return call(tool, f"member {place} says the same", outcome, path=f"m{place}", command=f"cat m{place}")


def circle(period: int, rounds: int) -> list[Attempt]:
    return [member(place) for place in range(period)] * rounds


def noise(name: str, count: int) -> list[Attempt]:
    return [read(f"{name}{i}") for i in range(count)]


def only(detector: Detector) -> Cycle:
    (cycle,) = detector.cycles
    return cycle


@given(PERIODS, ROUNDS, st.integers(0, 40), st.integers(0, 40), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_a_planted_circle_is_found_once_with_its_period_rounds_and_bounds(
    period: int, rounds: int, before: int, after: int, order: object
) -> None:
    first, last = noise("before", before), noise("after", after)
    order.shuffle(first)  # type: ignore[attr-defined]  # hypothesis gives a Random
    order.shuffle(last)  # type: ignore[attr-defined]  # the same
    detector, named = feed([*first, *circle(period, rounds), *last])
    cycle = only(detector)
    end = before + period * rounds
    assert (cycle.kind, cycle.period, cycle.count) == ("cycle", period, rounds)
    assert cycle.steps == tuple(range(before + 1, end + 1)) and cycle.tokens == 100 * len(cycle.steps)
    assert named == cycle.warned_at == before + 2 * period + 1
    assert cycle.ended_at == (end + 1 if after else None)
    assert cycle.tools == tuple(one.tool for one in circle(period, 1))
    assert cycle.signatures == tuple(one.signature for one in circle(period, 1))


@given(st.lists(st.integers(0, 9), min_size=3, max_size=30), ROUNDS)
@settings(max_examples=150, deadline=None)
def test_a_circle_that_has_members_twice_is_one_finding_too(word: list[int], rounds: int) -> None:
    detector, named = feed([read(str(letter)) for letter in word] * rounds)
    cycle = only(detector)
    assert cycle.steps == tuple(range(1, len(word) * rounds + 1)) and cycle.ended_at is None
    assert named is not None and named <= 2 * len(word) + 1


@given(PERIODS, st.integers(0, 29))
@settings(max_examples=60, deadline=None)
def test_two_rounds_are_no_circle_yet(period: int, more: int) -> None:
    run = [*circle(period, 2), *noise("other", more)]
    assert feed(run)[1] is None


def test_a_period_above_the_longest_is_not_looked_for() -> None:
    assert feed([read(str(i % 31)) for i in range(31 * 4)])[1] is None


@pytest.mark.parametrize("period", [2, 7, 9, 14, 30])
def test_a_circle_that_is_broken_again_and_again_is_one_circle_and_one_relapse(period: int) -> None:
    run = [one for i in range(6) for one in (*circle(period, 3), read(f"other {i}"))]
    found = feed(run)[0].cycles
    assert [(one.kind, one.period) for one in found] == [("cycle", period), ("relapse", period)]
    assert found[1].count == 18


def test_what_was_found_among_its_members_is_folded_into_a_circle() -> None:
    detector, named = feed([read(letter) for letter in "BABBCAD" * 6])
    cycle = only(detector)
    assert named == 4 and (cycle.kind, cycle.period, cycle.count, cycle.warned_at) == ("cycle", 7, 6, 4)
    errors = [call("query", f"the server of '{host}' refused it", "error", host=host) for host in "abcdefgh"] * 3
    assert [(one.kind, one.period) for one in feed(errors)[0].cycles] == [("cycle", 8)]
    many = [call("query", f"the server of '{i}' refused it", "error", host=str(i)) for i in range(30)] * 3
    assert [(one.kind, one.period) for one in feed(many)[0].cycles] == [("cycle", 30)]


def test_a_circle_is_named_at_its_third_round_whatever_turned_before() -> None:
    """The ninth of `A B A A, A B A A, A` is a member of the repeat of A, which turns: that does not hide the circle."""
    assert feed([read(letter) for letter in "ABAAABAAA"])[0].cycles[0].period == 4


def test_a_circle_with_a_call_that_varies_is_a_repeat_of_the_others_told_together() -> None:
    for others in (2, 5, 7):
        run = [one for i in range(9) for one in (*circle(others, 1), call("fetch", f"row {i}", at=1_700_000_000 + i))]
        repeat, relapse = feed([one for one in run if one.effect != "changes"])[0].cycles
        held = len([place for place in range(others) if member(place).effect != "changes"])
        assert (repeat.kind, repeat.period, repeat.count) == ("repeat", held, 3)
        assert (relapse.kind, relapse.period, relapse.count) == ("relapse", held, 9)
        assert len(set(repeat.signatures)) == len(repeat.tools) == held


def test_repeats_that_do_not_take_turns_are_told_each() -> None:
    run = [read("a"), read("a"), read("a"), read("b"), read("b"), read("b")]
    assert [(one.kind, one.period, one.steps) for one in feed(run)[0].cycles] == [
        ("repeat", 1, (1, 2, 3)), ("repeat", 1, (4, 5, 6)),
    ]  # fmt: skip


def test_a_new_change_ends_a_circle_and_the_same_circle_after_it_is_another() -> None:
    run = [one for i in range(3) for one in (*[read(str(n % 7)) for n in range(28)], edit(f"v{i}", f"v{i + 1}"))]
    assert [(one.kind, one.period, one.count) for one in feed(run)[0].cycles] == [("cycle", 7, 4)] * 3


def test_searches_that_find_nothing_and_say_only_their_exit_code_are_no_same_error() -> None:
    found = [call("bash", "Command exited with code 1", "error", command=f"grep -n {w} a.py") for w in "abcd"]
    assert feed(found)[1] is None
    ran = [call("bash", "Command exited with code 1", "error", command=f"python {w}.py") for w in "abcd"]
    assert feed(ran)[1] == 3


def test_trying_one_indentation_after_another_is_work_that_goes_on() -> None:
    tried = [edit("foo()", " " * width + "foo()") for width in range(1, 9)]
    assert feed([one for attempt in tried for one in (attempt, test_run())])[1] is None


MOVES = ("edit", "edit twice", "page", "progress", "wait", "read", "status", "sweep")


def honest(moves: list[str]) -> Iterator[Attempt]:
    """Work that goes on: each edit is new, each page another, each poll further, a look back only after a change."""
    for n, move in enumerate(moves):
        if move.startswith("edit"):
            yield edit(f"v{n}", f"v{n + 1}")
            if move == "edit twice":
                yield test_run()
            yield test_run()
        elif move == "page":
            yield call("search", f"hits of page {n}", "ok", q="needle", page=n)
        elif move == "progress":
            yield call("check_build", f"{n} of 900 built", "ok", id=4)
        elif move == "wait":
            yield call("job", "still running", id=7)
        elif move == "read":
            yield read(f"file {n}")
        elif move == "status":
            yield edit(f"s{n}", f"s{n + 1}", "other.py")
            yield call("bash", "nothing to commit", "ok", command="git status")
        else:
            yield from (call("bash", f"{n} errors in part {i}", "error", command=f"make part{i}") for i in range(9))


@given(st.lists(st.sampled_from(MOVES), max_size=120))
@settings(max_examples=150, deadline=None)
def test_honest_work_in_any_order_stays_silent(moves: list[str]) -> None:
    assert feed(honest(moves))[1] is None


@given(PERIODS, ROUNDS, st.lists(st.integers(0, 12), max_size=40), st.integers(0, 60))
@settings(max_examples=60, deadline=None)
def test_the_live_ledger_agrees_with_the_detector_also_when_it_is_saved_between(
    period: int, rounds: int, places: list[int], cut: int
) -> None:
    names = [*map(str, places), *[f"m{i % period}" for i in range(period * rounds)], *map(str, places)]
    ledger, detector = Ledger(), Detector()
    for n, name in enumerate(names, 1):
        if n == cut:
            ledger = Ledger.from_dict(ledger.to_dict())
        verdict = ledger.record("read_file", {"path": name}, f"text of {name}")
        detector.feed(at(read(name), n))
        group = detector.touched
        said = (None, None) if group is None else (group.kind, group.period)
        assert (verdict.kind, verdict.period) == said
        assert verdict.action == ("continue" if group is None else "warn" if detector.fresh else "stop")


@given(st.lists(st.integers(0, 40), max_size=300))
@settings(max_examples=40, deadline=None)
def test_what_is_kept_of_the_past_is_bounded_and_its_runs_are_true(names: list[int]) -> None:
    detector = Detector()
    for n, name in enumerate(names, 1):
        detector.feed(at(read(str(name)), n))
    history: History = detector.history
    assert len(history.items) <= KEPT and len(history.runs) <= 30
    for period, run in history.runs.items():
        tail = names[len(names) - run - period :]
        assert tail[period:] == tail[:run]
