"""Losses that recur step after step are one row, on the screen and in the commands; what alarms stands by itself."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentmem.inspect.telling.fold import APART, TOGETHER, Fold, folds, loose, parted, streams
from agentmem.model import Boundary, Drop, Miss, Step
from tests.tui.panes.builders import drop, plain_run, sliding_run


def told(*drops: Drop) -> tuple[Fold, ...]:
    return folds(streams(lane(*drops)))


def lane(*drops: Drop, steps: int = 40) -> tuple[Step, ...]:
    """Steps of which each has the drops of its n."""
    step = plain_run(1).main.steps[0]
    return tuple(
        replace(step, n=n, drops=tuple(one for one in drops if one.n == n)) for n in range(1, steps + 1)
    )  # fmt: skip


def test_a_window_that_slides_is_one_row_with_its_steps_and_how_many_left_at_each() -> None:
    (fold,) = folds(streams(sliding_run(40, since=12).main.steps))
    assert (fold.where, fold.what, fold.tokens) == ("steps 12-40", "58 pieces, 2 a step", 29 * 50)
    assert fold.covers(12) and fold.covers(40) and not fold.covers(11)


def test_a_few_stand_by_themselves() -> None:
    assert told(*(drop(n, "a") for n in range(2, 2 + TOGETHER - 1))) == ()
    assert len(told(*(drop(n, "a") for n in range(2, 2 + TOGETHER)))) == 1


def test_steps_far_apart_are_not_one_row_and_steps_left_out_are_told() -> None:
    every_other = told(*(drop(n, "a") for n in range(2, 12, 2)))
    assert [(fold.where, fold.what) for fold in every_other] == [("steps 2-10", "5 pieces in 5 of them")]
    far = [*range(2, 6), *range(5 + APART + 1, 5 + APART + 5)]
    assert [fold.where for fold in told(*(drop(n, "a") for n in far))] == ["steps 2-5", "steps 10-13"]


def test_each_kind_cause_and_record_is_a_row_of_its_own_but_numbers_in_a_record_part_nothing() -> None:
    fields = [drop(n, f"facts.{n}", what="field", record=f"rendered in {300 + n} tokens") for n in range(2, 8)]
    short = [drop(n, "result", cause="shortened") for n in range(3, 9)]
    assert [(fold.where, fold.what) for fold in told(*fields, *short)] == [
        ("steps 2-7", "6 fields, 1 a step"), ("steps 3-8", "6 pieces, 1 a step"),
    ]  # fmt: skip


def test_what_alarms_and_what_a_call_missed_is_never_folded() -> None:
    loud = [drop(n, f"facts.{n}", what="field", kind="fact", recorded=False, cause="silent") for n in range(2, 12)]
    missed = [drop(n, "a", missed=(Miss("main", n + 1, n + 1, "replay", "missing"),)) for n in range(2, 12)]
    assert told(*loud) == () and told(*missed) == ()


def test_a_boundary_stands_for_the_pieces_that_it_took_and_for_nothing_that_was_missed() -> None:
    pieces = [drop(3, f"result {n}", cause="compacted") for n in range(6)]
    field = drop(3, "facts.port", what="field", cause="compacted")
    missed = drop(3, "result 7", cause="compacted", missed=(Miss("main", 4, 4, "replay", "missing"),))
    step = replace(lane(*pieces, field, missed)[2], boundary=Boundary("compaction", True, 100, 10))
    assert parted(step) == (pieces, [field, missed])
    assert folds(streams([step])) == ()
    resumed = replace(step, boundary=Boundary("resume", True, 100, 100))
    assert parted(resumed)[0] == []


def test_one_step_that_lost_much_says_what_kinds() -> None:
    drops = [drop(3, f"r{n}", kind="result") for n in range(3)] + [drop(3, "c", kind="call")]
    (fold,) = told(*drops)
    assert (fold.where, fold.what) == ("step 3", "4 pieces: 3 result, 1 call")


@example([(n, "trimmed") for n in range(3, 9)], 8, 5)
@example([(n, "trimmed") for n in (3, 4, 20, 21)], 21, 4)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.sampled_from(["trimmed", "shortened"])), max_size=40),
    st.integers(0, 40), st.integers(0, 40),
)  # fmt: skip
def test_a_run_that_grew_or_was_rewritten_folds_as_if_it_had_been_read_whole(
    places: list[tuple[int, str]], before: int, same: int
) -> None:
    steps = lane(*(drop(n, "a", cause=cause) for n, cause in sorted(places)))  # type: ignore[arg-type]  # one of the two
    same = min(before, same)
    grown = streams(steps[same:], streams(steps[:before]), same)
    whole = streams(steps)
    assert {sort: [fold.drops for fold in runs] for sort, runs in grown.items()} == {
        sort: [fold.drops for fold in runs] for sort, runs in whole.items()
    }
    assert {n for fold in folds(whole) for n in fold.steps} | loose(whole) == {n for n, _ in places}
