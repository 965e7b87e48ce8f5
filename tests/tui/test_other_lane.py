"""What the second row tells of another lane is reached by a click and by a key, with a word, and Esc leads back."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agentmem.inspect.telling.verdict import verdict
from agentmem.model import Lane, Run
from tests.tui.builders import calm, story
from tests.tui.seen import inspecting


def beside(steps: int = 28) -> Run:
    """A calm run of 4 steps with a subagent that lived through the story up to that step."""
    run, told = calm(4), story(steps)
    lived = tuple(
        replace(step, lane="sub", drops=tuple(replace(drop, lane="sub") for drop in step.drops))
        for step in told.main.steps
    )
    cycles = tuple(replace(cycle, lane="sub") for cycle in told.cycles)
    return replace(run, lanes=(run.main, Lane("sub", "subagent", lived, ("main", 3), "scout")), cycles=cycles)


@pytest.mark.parametrize(
    ("key", "words", "step"),
    [
        ("c", "No cycle in lane main. Lane scout now; Esc leads back to main.", 24),
        ("C", "No cycle in lane main.", 24),
        ("x", "No failed call in lane main.", 24), ("d", "No step that lost something in lane main.", 26),
        ("w", "why, 1 of 2: pytest, read in a circle, steps 20 to 25:", 24),
    ],
)  # fmt: skip
async def test_a_key_that_finds_nothing_here_leads_to_the_lane_that_the_verdict_tells_of(
    key: str, words: str, step: int
) -> None:
    """You should see the step there, a sentence that says so, and after Esc the step where you were."""
    async with inspecting(beside(), size=(120, 40)) as seen:
        assert seen.rows[1].startswith(" ↻ scout: ") and "(lane" not in seen.rows[1]
        await seen.press("left", key)
        await seen.said(words)
        assert f"step {step} of 28" in seen.header and "scout" in seen.header
        await seen.press("escape")
        assert "step 3 of 4" in seen.header


async def test_a_click_on_the_verdict_goes_there_too_and_the_newest_step_is_followed_again_after_it() -> None:
    """You should see the end of the circle, the word, and after Esc the newest step."""
    async with inspecting(beside(), size=(120, 40)) as seen:
        await seen.pilot.click("#verdict", offset=(10, 0))
        await seen.said("Lane scout now; Esc leads back to main.")
        assert "step 25 of 28" in seen.header
        await seen.press("escape")
        assert "step 4 of 4" in seen.header and "○ PAUSED" not in seen.header


async def test_after_a_lane_was_chosen_by_hand_esc_leads_to_no_lane() -> None:
    """You should see that Esc leaves you where you went yourself."""
    async with inspecting(beside(), size=(120, 40)) as seen:
        await seen.press("c", "L", "L")
        assert "step 28 of 28" in seen.header
        await seen.press("escape")
        assert "step 28 of 28" in seen.header


async def test_the_loops_of_another_lane_are_named_where_this_one_has_none() -> None:
    """You should see where the cycle is and the key that leads there."""
    async with inspecting(beside(), size=(120, 40)) as seen:
        await seen.press("4")
        await seen.said("of this lane; 1 cycle in lane scout: c leads there.")


async def test_w_stands_beside_the_verdict_only_where_it_explains_the_verdict() -> None:
    """You should see `w why` at the newest step and at the failure that it tells of, not at a failure of its own."""
    async with inspecting(story(), size=(120, 40)) as seen:
        assert seen.rows[1].rstrip().endswith("w why")
        await seen.press("x")
        assert "step 30 of 31" in seen.header and seen.rows[1].rstrip().endswith("w why")
        await seen.press("x")
        assert "step 24 of 31" in seen.header and "w why" not in seen.rows[1]
        await seen.press("w")
        await seen.said("why, 1 of 1: pytest failed at 24")
        await seen.press("left")
        assert seen.rows[1].rstrip().endswith("w why")
        await seen.press("w")
        await seen.said("why, 1 of 3: fact order_id = A-1041 left at 29")


def test_the_verdict_is_of_the_other_lane() -> None:
    assert verdict(beside()).lane == "sub"


async def test_the_headline_names_its_lane_only_where_another_one_is_shown() -> None:
    """You should see the name in front of the sentence in main, and in the lane itself no name there."""
    async with inspecting(beside(), size=(80, 24)) as seen:
        assert seen.rows[1].startswith(" ↻ scout: pytest, read in a circle")
        await seen.press("L")
        await seen.until("scout")
        assert seen.rows[1].startswith(" ↻ pytest, read in a circle")
    told = story()
    alarmed = replace(told, lanes=(told.main, *beside().lanes[1:]))
    async with inspecting(alarmed, size=(80, 24)) as seen:
        plain = seen.rows[1]
        assert "order_id" in plain and "main:" not in plain
        await seen.press("L")
        await seen.until("scout")
        assert seen.rows[1].startswith(" ▲ main: ") and "order_id" in seen.rows[1]
