"""Jumps by kind, why, go to, find."""

from __future__ import annotations

import pytest

from tests.tui.builders import story
from tests.tui.panes.builders import sliding_run
from tests.tui.seen import inspecting
from tests.tui.sources import RunChanged


@pytest.mark.parametrize(
    ("keys", "step"),
    [
        (["x"], 30), (["x", "x"], 24), (["x", "x", "x"], 22), (["x", "x", "X"], 30), (["d"], 29), (["d", "d"], 26),
        (["b"], 16), (["c"], 24), (["home", "X"], 5), (["home", "D"], 16), (["x", "n"], 24), (["x", "x", "N"], 30),
        (["home", "B"], 16), (["home", "C"], 24), (["shift+left"], 21), (["home", "shift+right"], 11), (["h"], 30),
        (["h", "l"], 31), (["up", "up"], 29), (["k", "j"], 31),
    ],
)  # fmt: skip
async def test_keys_lead_to_steps(keys: list[str], step: int) -> None:
    """You should see the step that the keys lead to, in header and list."""
    async with inspecting(story()) as seen:
        await seen.press(*keys)
        assert f" {step}/31 " in seen.header
        assert seen.cursor_row.split()[1 if seen.cursor_row.startswith("▌ ") else 0].lstrip("▌") == str(step)


async def test_a_jump_that_finds_nothing_says_so_and_stays() -> None:
    """You should see a sentence, and the same step."""
    async with inspecting(story(4)) as seen:
        await seen.press("x")
        await seen.until("No failed call before step 4.")
        assert "4/4" in seen.header


async def test_d_takes_a_window_that_slides_as_one_place_until_it_is_opened() -> None:
    """You should see the first of its steps, then the loss before it; once the row is open, each step."""
    async with inspecting(sliding_run(60, since=20, alarm=9)) as seen:
        await seen.press("d")
        assert " 20/60 " in seen.header
        await seen.until("The first of steps 20-60, which lost alike: 82 pieces, 2 a step.")
        await seen.press("d")
        assert " 9/60 " in seen.header
        await seen.press("D")
        assert " 20/60 " in seen.header
        await seen.press("D")
        await seen.until("No step that lost something after step 20.")
        await seen.press("3", "enter")
        await seen.until("read file41.py and 1 more")
        await seen.press("D", "D")
        assert " 22/60 " in seen.header
        await seen.press("escape", "d")
        assert " 20/60 " in seen.header


async def test_why_leads_back_in_three_presses() -> None:
    """You should see the drop, the last step where the lost piece stood, and where it was born."""
    async with inspecting(story()) as seen:
        for step, words in ((29, "1 of 3"), (28, "2 of 3"), (4, "3 of 3")):
            await seen.press("w")
            await seen.until(words)
            assert f" {step}/31 " in seen.header


async def test_go_to_takes_a_number() -> None:
    """You should see step 12 after g 1 2 Enter."""
    async with inspecting(story()) as seen:
        await seen.press("g")
        await seen.until("go to step: 1 to 31")
        await seen.press("1", "2", "enter")
        assert " 12/31 " in seen.header


async def test_go_to_refuses_what_is_no_number() -> None:
    """You should see a sentence."""
    async with inspecting(story()) as seen:
        await seen.press("g", "q", "enter")
        await seen.until("q is not a step number.")
        assert " 31/31 " in seen.header


async def test_typing_a_text_draws_its_lifeline_and_enter_goes_to_where_it_last_stood() -> None:
    """You should see the lifeline while you type, then step 28."""
    async with inspecting(story()) as seen:
        await seen.press("slash", *"A-1041")
        await seen.until("in the prompt 4-28, gone since 29, needed at 30")
        assert "━▲" in seen.text
        await seen.press("enter")
        assert " 28/31 " in seen.header
        await seen.press("N")
        assert " 30/31 " in seen.header


async def test_an_empty_find_offers_the_names_of_the_state() -> None:
    """You should see the fields' names, and Tab takes one."""
    async with inspecting(story(28)) as seen:
        await seen.press("slash")
        await seen.until("fields: goal  parser  order_id")
        await seen.press("o", "tab")
        await seen.until("order_id")


async def test_a_found_text_can_be_pinned() -> None:
    """You should see its lifeline under the timeline of a tall screen."""
    async with inspecting(story(), size=(120, 40)) as seen:
        await seen.press("slash", *"pytest")
        await seen.until("in the prompt 6-31")
        await seen.press("enter", "p")
        await seen.until("Pinned: pytest")
        assert any(row.startswith(" pytest ") for row in seen.rows[5:9])


async def test_a_toast_goes_with_the_place_that_it_spoke_of_and_not_with_the_run() -> None:
    """You should see `why, 1 of 3` until the cursor moves; what was said while following stays when a step comes."""
    async with inspecting(story()) as seen:
        await seen.press("w")
        await seen.until("why, 1 of 3")
        await seen.press("left")
        await seen.until_gone("why, 1 of 3")
        await seen.press("x", "w")
        await seen.until("why, 1 of 1")
        await seen.press("2", "down")
        await seen.until_gone("why, 1 of 1")
    async with inspecting(story(4)) as seen:
        await seen.press("x")
        await seen.until("No failed call before step 4.")
        await seen.play(RunChanged(story(5)), until=" 5/5 ")
        assert "No failed call before step 4." in seen.text


async def test_a_step_that_is_not_there_is_said_beside_the_nearest() -> None:
    """You should see the sentence although the cursor has moved to the nearest step."""
    async with inspecting(story()) as seen:
        await seen.press("g", *"99", "enter")
        await seen.until("No step 99 here; this is 31.")
