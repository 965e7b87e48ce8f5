"""Reported, counted and estimated tokens are told apart, and sections sum to what was reported."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentmem.inspect import measure
from agentmem.inspect.measure import LOOK_BACK, MOST, USUAL, Scale, estimate, is_rough, scaled, sizes, unaccounted
from agentmem.inspect.open import open_run
from agentmem.model import Run, Step, Tokens, Usage
from tests.formats.helpers import call, result, said, user
from tests.tui.panes.builders import plain_run

ANY = plain_run(1).main.steps[0]


def logged(path: Path, tokens: list[int | None], system: str | None = "You look.") -> Run:
    messages = [user("find the leak")]
    lines = []
    for number, reported in enumerate(tokens):
        request = {"model": "m", "messages": list(messages), "system": system}
        usage = {"prompt_tokens": reported} if reported is not None else None
        lines.append({"request": request, "response": {"choices": [{"message": call(f"c{number}")}], "usage": usage}})
        messages += [call(f"c{number}"), result(f"c{number}", "a page of text " * 20), said("I see")]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return open_run(str(path)).run


@given(st.lists(st.integers(1, 100_000), min_size=1, max_size=4))
def test_scaled_sections_sum_to_what_was_reported(tokens: list[int]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        run = logged(Path(folder) / "log.jsonl", list(tokens))
        for step, reported in zip(run.main.steps, tokens, strict=False):
            share = scaled(step)
            assert share is not None and share.prompt == reported


def lane(*given: tuple[int | None, int | None], system: str | None = "You look.", unknown: int = 0) -> tuple[Step, ...]:
    """Steps of (reported tokens, counted tokens); without `system` the fixed part of the prompt is not in the file."""
    made: list[Step] = []
    for n, (told, counted) in enumerate(given, 1):
        tokens = Tokens(0, counted, None if system is None or counted is None else 0, unknown)
        if counted is None:
            tokens = Tokens(None, None, None)
        usage = None if told is None else Usage(told)
        made.append(replace(ANY, n=n, open=told is None, tokens=tokens, usage=usage))
    return tuple(made)


def test_where_all_is_in_the_file_the_ratio_of_the_last_report_is_kept() -> None:
    steps = lane((150, 100), (None, 400))
    assert estimate(steps, 0) == (150, "reported")
    assert estimate(steps, 1) == (600, "estimated")
    assert Scale(steps, 1).rule(steps[1]) == "400 counted, times 1.50: step 1 was reported 150 for 100"


@pytest.mark.parametrize(
    ("before", "counted", "true", "within"),
    [
        ([(2775, 167)], 25_512, 33_638, 0.02),
        ([(None, 2), (1687, 58)], 7_124, 11_209, 0.12),
        ([(3486, 27)], 1_851, 4_646, 0.25),
        ([(18_768, 1147), (19_026, 1370), (19_449, 1590)], 2_239, 20_350, 0.02),
        ([(35_299, 0), (35_984, 324)], 798, 36_700, 0.02),
        ([(33_000, 125)], 143, 33_022, 0.001),
    ],
)
def test_a_prompt_whose_fixed_part_is_not_in_the_file_is_never_multiplied_whole(
    before: list[tuple[int | None, int | None]], counted: int, true: int, within: float
) -> None:
    steps = lane(*before, (None, counted), system=None)
    size, source = estimate(steps, len(before))
    assert source == "estimated" and size is not None
    assert abs(size - true) <= within * true


def test_what_a_counted_token_costs_is_learnt_from_the_differences_between_reports() -> None:
    steps = lane((10_100, 100), (11_700, 1_100), (13_300, 2_100), (None, 3_100), system=None)
    assert estimate(steps, 3) == (14_900, "estimated")
    assert Scale(steps, 3).rule(steps[3]) == "13,300 reported at step 3, and 1,000 counted more, times 1.60"


def test_one_report_that_jumps_for_another_cause_does_not_change_what_was_learnt() -> None:
    told = [(10_100 + 1_600 * n + (30_000 if n > 3 else 0), 100 + 1_000 * n) for n in range(8)]
    steps = lane(*told, (None, 8_100), system=None)
    assert estimate(steps, 8) == (told[-1][0] + 1_600, "estimated")


def test_no_difference_makes_a_counted_token_cost_more_than_counters_differ_by() -> None:
    steps = lane((1_500, 5), (90_000, 1_005), (None, 1_505), system=None)
    assert estimate(steps, 2) == (90_000 + round(MOST * 500), "estimated")


def test_behind_a_compaction_what_was_not_in_the_file_is_still_there() -> None:
    steps = lane((52_000, 20_000), (59_500, 25_000), (None, 2_000), system=None)
    assert estimate(steps, 2) == (59_500 - round(1.5 * 23_000), "estimated")
    rule = Scale(steps, 2).rule(steps[2])
    assert rule == "59,500 reported at step 2, and 23,000 counted less, times 1.50"


def test_an_estimate_never_falls_below_nothing() -> None:
    steps = lane((1_000, 8_000), (None, 10), system=None)
    size, _ = estimate(steps, 1)
    assert size is not None and size >= 0


def test_a_ratio_beyond_what_counters_differ_by_is_no_scale_though_all_seems_to_be_there() -> None:
    assert estimate(lane((2_775, 167), (None, 25_512)), 1)[0] == round(2_775 + USUAL * (25_512 - 167))


def test_a_piece_that_could_not_be_counted_is_not_multiplied_either() -> None:
    assert estimate(lane((2_000, 1_000), (None, 2_000), unknown=1), 1)[0] == round(2_000 + USUAL * 1_000)


def test_tool_schemas_that_are_not_in_the_file_are_missing_beside_a_system_prompt_that_is(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps([{"role": "system", "content": "You look."}, user("look"), said("yes")]))
    run = open_run(str(path)).run
    assert run.unknown == ("tool schemas",)
    step = replace(run.main.steps[0], usage=Usage(9_000))
    assert step.tokens.fixed and step.tokens.unknown == 1
    assert scaled(step) is None, "no section takes the share of the schemas"


def test_zero_tokens_are_no_report() -> None:
    assert estimate(lane((30_000, 1_000), (0, 1_000), system=None), 1) == (30_000, "estimated")


def test_the_last_report_counts_however_long_ago_it_was() -> None:
    steps = lane((30_000, 1_000), *[(None, 1_000)] * 200, system=None)
    assert estimate(steps, 200) == (30_000, "estimated")


def test_the_newest_differences_count_and_as_many_for_a_step_alone_as_in_one_pass() -> None:
    told = [(10_000 + n * (1_000 if n < 60 else 2_000) - 60_000 * (n >= 60), n * 1_000) for n in range(90)]
    steps = lane(*told, (None, 90_000), system=None)
    *_, (size, _) = sizes(steps)
    assert size == estimate(steps, 90)[0] == told[-1][0] + 2_000, "30 of the newest 50 differences cost 2"
    told = [(10_000 + n * (2_000 if n < 80 else 1_000) + 80_000 * (n >= 80), n * 1_000) for n in range(90)]
    steps = lane(*told, (None, 90_000), system=None)
    *_, (size, _) = sizes(steps)
    assert size == estimate(steps, 90)[0] == told[-1][0] + 2_000, "the newest 10 alone cost 1"


def test_a_report_after_which_more_is_missing_teaches_nothing() -> None:
    first, last = lane((10_000, 1_000), (None, 5_000), system=None)
    hidden = replace(first, n=2, usage=Usage(18_000), tokens=Tokens(0, 4_000, None, 1))
    assert estimate((first, hidden, last), 2)[0] == round(18_000 + USUAL * 1_000)


@given(st.lists(st.tuples(st.none() | st.integers(0, 300_000), st.none() | st.integers(0, 300_000)), max_size=130))
def test_one_pass_over_a_lane_says_the_same_as_each_step_alone(told: list[tuple[int | None, int | None]]) -> None:
    steps = lane(*told, system=None)
    for far in (LOOK_BACK, 3):
        with patch.object(measure, "LOOK_BACK", far):
            found = list(sizes(steps))
            assert found == [estimate(steps, place) for place in range(len(steps))]
            assert all(size is None or size >= 0 for size, _ in found)


def test_what_bears_the_sign_of_an_estimate() -> None:
    whole, holed = lane((None, 100))[0], lane((None, 100), system=None)[0]
    assert not is_rough(whole, "reported", "chars4") and not is_rough(whole, "counted", "o200k")
    assert is_rough(whole, "counted", "chars4") and is_rough(whole, "estimated", "o200k")
    assert is_rough(holed, "counted", "o200k"), "what is not in the file is not counted"


def test_without_any_report_the_count_stands_as_counted(tmp_path: Path) -> None:
    steps = logged(tmp_path / "log.jsonl", [None, None]).main.steps
    assert estimate(steps, 1) == (steps[1].tokens.prompt, "counted")


def test_no_section_takes_the_share_of_a_part_that_is_not_in_the_file(tmp_path: Path) -> None:
    step = logged(tmp_path / "log.jsonl", [200]).main.steps[0]
    step = replace(step, tokens=Tokens(10, 20, None, 1))
    assert scaled(step) is None


def test_unaccounted_tokens_need_a_near_exact_counter(tmp_path: Path) -> None:
    step = logged(tmp_path / "log.jsonl", [200]).main.steps[0]
    assert unaccounted(step, "chars4") is None
    assert unaccounted(step, "o200k") == 200 - (step.tokens.prompt or 0)
