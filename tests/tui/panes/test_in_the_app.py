"""Keys in the panes: what is pressed, what is then seen."""

from __future__ import annotations

from pathlib import Path

from tests.tui.seen import inspecting, watching

from .builders import story, tell


async def test_enter_opens_a_piece_whole_and_escape_folds_it() -> None:
    """You should see the last failure whole under its row, and not any more after escape."""
    async with inspecting(story(), size=(120, 40)) as seen:
        await seen.press("2", "enter")
        await seen.until("Enter folds")
        await seen.press("escape")
        assert "Enter folds" not in seen.text and "2 prompt" in seen.text


async def test_enter_opens_the_fold() -> None:
    """You should see no fold any more."""
    async with inspecting(story(), size=(80, 24)) as seen:
        await seen.press("2")
        for _ in range(40):
            if "more" in next(row for row in seen.rows if row.startswith("▌")):
                break
            await seen.press("up")
        await seen.press("enter")
        assert "Enter opens" not in seen.text


async def test_the_difference_names_what_came_and_what_was_lost() -> None:
    """You should see + for the new call, ▲ for the lost fact and the step that is compared with."""
    async with inspecting(story(), size=(80, 24)) as seen:
        await seen.press("2", "left", "equals_sign")
        await seen.until("step 30 against 29")
        assert "+ result" in seen.text and "last in 28, recorded by nobody; replay_order needs it" in seen.text


async def test_enter_on_a_loss_goes_to_its_step() -> None:
    """You should see step 29 in the header."""
    async with inspecting(story(), size=(80, 24)) as seen:
        await seen.press("3", "enter")
        await seen.until(" 29/31 ")


async def test_what_survived_a_boundary_is_seen_at_80_columns() -> None:
    """You should see counts by kind and what was lost."""
    async with inspecting(story(), size=(80, 24)) as seen:
        await seen.press("3")
        assert "survived   goal 1/1" in seen.text and "path docs/grammar.md" in seen.text


async def test_loops_state_and_lifelines_have_something_to_say() -> None:
    """You should see the cycle, the lost fact struck through, and its lifeline with the legend."""
    run, _ = tell()
    async with inspecting(run, size=(150, 45)) as seen:
        await seen.press("4")
        assert "period 2   A B A B A B" in seen.text
        await seen.press("5")
        assert "silent since 29" in seen.text and "✓ grep @7" in seen.text
        await seen.press("6")
        assert "needed while not in the prompt" in seen.text


async def test_a_low_drawer_has_the_details_of_its_lifeline_and_the_legend(root: Path) -> None:
    """You should see where the goal stood, and what the signs mean: the drawer has the room that they take."""
    async with watching([root / "sample_runs" / "polling.json"], size=(100, 30), until=" polling ") as seen:
        await seen.read(12)
        await seen.press("6")
        await seen.until("in the prompt 1-12")
        assert "needed while not in the prompt" in seen.text
