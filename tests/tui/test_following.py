"""Following and scrubbing: who stands on the newest step goes with it, who has moved back is left alone."""

from __future__ import annotations

from tests.tui.builders import many, story
from tests.tui.seen import inspecting
from tests.tui.sources import RunChanged


async def test_the_newest_step_is_open_and_followed() -> None:
    """You should see LIVE, step 31 of 31, and the cursor on the open step."""
    async with inspecting(story()) as seen:
        assert "● LIVE" in seen.header and "31/31" in seen.header
        assert "31    the next call" in seen.cursor_row


async def test_new_steps_carry_a_follower_along() -> None:
    """You should see the cursor on step 25 after two more steps have come."""
    async with inspecting(story(23)) as seen:
        await seen.play(RunChanged(story(25)), until="25/25")
        assert "● LIVE" in seen.header
        assert "  25 ↻B" in seen.cursor_row


async def test_moving_back_stops_following_and_new_steps_do_not_move_the_reader() -> None:
    """You should see PAUSED +1, and after two more steps PAUSED +3 on the same row."""
    async with inspecting(story(23)) as seen:
        await seen.press("left")
        assert "○ PAUSED +1" in seen.header and "22/23" in seen.header
        place = seen.rows.index(seen.cursor_row)
        await seen.play(RunChanged(story(25)), until="○ PAUSED +3")
        assert "  22 ↻A pytest" in seen.cursor_row and seen.rows.index(seen.cursor_row) == place


async def test_end_and_space_resume() -> None:
    """You should see LIVE again after End, and after space."""
    async with inspecting(story()) as seen:
        for key in ("end", "space"):
            await seen.press("left", "left")
            assert "PAUSED +2" in seen.header
            await seen.press(key)
            assert "● LIVE" in seen.header


async def test_space_pauses_on_the_newest_step() -> None:
    """You should see PAUSED, and PAUSED +1 when a step comes."""
    async with inspecting(story(20)) as seen:
        await seen.press("space")
        assert "○ PAUSED " in seen.header
        await seen.play(RunChanged(story(21)), until="○ PAUSED +1")
        assert "20/21" in seen.header


async def test_an_ended_run_says_so_at_its_end_and_apart_when_scrubbed() -> None:
    """You should see ENDED, then PAUSED with the agent's state beside it."""
    async with inspecting(many(50)) as seen:
        assert "■ ENDED" in seen.header
        await seen.press("home")
        assert "○ PAUSED +49" in seen.header and "ended" in seen.header


async def test_a_rewritten_history_that_is_shorter_keeps_the_reader_inside() -> None:
    """You should see the newest step there is."""
    async with inspecting(story(30)) as seen:
        await seen.press("left")
        await seen.play(RunChanged(story(12)), until="12/12")
        assert "  12    wait" in seen.cursor_row


async def test_wheel_scrolling_the_steps_is_not_undone_by_a_new_version() -> None:
    """You should see the rows that you scrolled to, although the run has grown."""
    async with inspecting(story(30)) as seen:
        await seen.press("home", "end", "left")
        seen.app.run_screen.panes["steps"].scroll_by(-6)
        await seen.pilot.pause()
        first = seen.rows[8]
        await seen.play(RunChanged(story(31)), until="PAUSED +2")
        assert seen.rows[8] == first
