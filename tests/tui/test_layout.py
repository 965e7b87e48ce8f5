"""What stands where at each size, and what the header keeps as it narrows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agentmem.model import Run
from tests.tui.builders import many, story
from tests.tui.seen import inspecting
from tui.context import Context, View
from tui.index import build
from tui.screens.layout import layout
from tui.widgets.header import header_line


def view_of(run: Run, n: int | None = None) -> View:
    index = build(run)
    last = len(run.main.steps)
    n = n or last
    return View(run, index, (run.main.id, n), Context(index, lane=run.main.id), n == last, last - n)


@pytest.mark.parametrize(
    ("size", "steps", "drawer", "bars", "lifelines"),
    [((150, 45), 72, 14, 2, 3), ((120, 40), 60, 12, 2, 3), ((100, 30), 46, 9, 1, 2)],
)
def test_wide_screens_follow_the_grid(
    size: tuple[int, int], steps: int, drawer: int, bars: int, lifelines: int
) -> None:  # fmt: skip
    plan = layout(*size)
    assert (plan.steps_width, plan.drawer_height, plan.bars, plan.lifelines) == (steps, drawer, bars, lifelines)
    assert not plan.single


def test_below_100_columns_one_pane_at_a_time() -> None:
    assert layout(99, 40).single and not layout(100, 24).single
    assert layout(150, 45, alone=True).single


@pytest.mark.parametrize(("size", "small"), [((59, 24), True), ((60, 15), False), ((200, 14), True)])
def test_below_60_by_15_it_is_too_small(size: tuple[int, int], small: bool) -> None:
    assert layout(*size).too_small is small


async def test_a_terminal_that_is_too_small_says_what_is_needed_and_recovers() -> None:
    """You should see one line, and the run again when there is room."""
    async with inspecting(story(), size=(59, 14), until="agentmem needs 60 x 15; this terminal is 59 x 14") as seen:
        assert "LIVE" not in seen.text
        await seen.pilot.resize_terminal(80, 24)
        await seen.until("● LIVE")
        assert "31    the next call" in seen.text


async def test_crossing_the_breakpoints_keeps_the_reader_and_shows_other_panes() -> None:
    """You should see steps beside prompt at 100, one pane at 80, on the same step."""
    async with inspecting(story(), size=(100, 30)) as seen:
        await seen.press("x")
        assert "1 steps" in seen.text and "2 prompt" in seen.text and "3 lost" in seen.text
        await seen.pilot.resize_terminal(80, 24)
        await seen.until(" 30/31 ")
        assert "GOAL" not in seen.text
        await seen.press("2")
        await seen.until("GOAL")


@given(st.integers(60, 260), st.integers(1, 31))
def test_the_header_fits_and_keeps_chip_alarms_and_step(width: int, n: int) -> None:
    line = header_line(view_of(STORY, n), width)
    assert cell_len(line.plain) == width
    assert ("LIVE" if n == 31 else f"PAUSED +{31 - n}") in line.plain
    assert "▲" in line.plain and "↻" in line.plain
    assert f"{n}/31" in line.plain or f"step {n} of 31" in line.plain


def test_the_header_drops_by_rank() -> None:
    shown = {width: header_line(view_of(STORY), width).plain for width in (150, 120, 100, 80)}
    assert "of 32k" in shown[150] and "agentmem" in shown[150] and "█" in shown[150]
    assert "of 32k" in shown[120] and "agentmem" not in shown[120] and "█" not in shown[120]
    assert "of 32k" not in shown[100] and "▲ 1 silent" in shown[100]
    assert "31/31" in shown[80] and " ▲1 " in shown[80] and "64%" in shown[80]


def test_trouble_stands_in_place_of_the_name() -> None:
    run = replace(STORY, notice="being written, last good 2 s ago")
    assert "! being written, last good 2 s ago" in header_line(view_of(run), 120).plain
    assert "! being written, last g…" in header_line(view_of(run), 80).plain


def test_figures_are_estimated_counted_or_reported() -> None:
    assert "≈20.6k" in header_line(view_of(STORY), 120).plain
    counted = replace(STORY, counter="o200k")
    assert "≈" not in header_line(view_of(counted), 120).plain


def test_a_run_of_100_000_steps_would_share_cells() -> None:
    run = many(2_000)
    line = header_line(view_of(run), 80).plain
    assert "2000/2000" in line and "RECON" in line


async def test_nothing_found_says_where_it_looked_and_what_to_try() -> None:
    """You should see the places, the demo, and that it goes on looking."""
    async with inspecting() as seen:
        for words in ("looked in", "no such folder", "agentmem demo", "agentmem watch PATH", "Still looking"):
            assert words in seen.text


async def test_the_timeline_zooms_and_a_click_on_it_jumps() -> None:
    """You should see step 16 after a click on its bar."""
    async with inspecting(story()) as seen:
        await seen.pilot.click("#timeline", offset=(16 + 15 * 2, 0))
        await seen.until(" 16/31 ")
        await seen.press("Z")
        assert seen.app.run_screen.zoomed


async def test_clicks_work_on_tabs_footer_and_rows() -> None:
    """You should see the prompt pane, then help, then the clicked step."""
    async with inspecting(story()) as seen:
        await seen.pilot.click("#tabs", offset=(12, 0))
        await seen.until("GOAL")
        await seen.pilot.click("#tabs", offset=(3, 0))
        await seen.pilot.click("#steps", offset=(10, 3))
        await seen.until("○ PAUSED +12")
        await seen.pilot.click("#footer", offset=(seen.rows[-1].index("? keys"), 0))
        await seen.until("agentmem: keys and marks")


STORY = story()
