"""What stands where at each size, and what the header keeps as it narrows."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from agentmem.inspect.open import open_run
from agentmem.model import Begun, Problem, Run
from tests.tui.builders import many, story
from tests.tui.seen import inspecting
from tui.context import Context, View
from tui.index import build
from tui.screens.layout import layout, small_text
from tui.widgets.header import header_line
from tui.widgets.line import thousands
from tui.widgets.timeline import timeline_lines


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


async def test_the_cursor_stays_in_view_when_its_pane_becomes_another_size() -> None:
    """You should see the newest step, as the drawer takes its room at the start and as the terminal is made smaller."""
    async with inspecting(story(), size=(150, 45)) as seen:
        await seen.read(31)
        assert "31 " in seen.cursor_row
        await seen.press("2")
        for size in ((150, 24), (120, 40), (80, 24), (150, 45)):
            await seen.pilot.resize_terminal(*size)
            await seen.read(31)
            if size[0] > 80:
                assert "the next call" in seen.cursor_row


@given(st.integers(60, 260), st.integers(1, 31))
def test_the_header_fits_and_keeps_chip_alarms_and_step(width: int, n: int) -> None:
    line = header_line(view_of(STORY, n), width)
    assert cell_len(line.plain) == width
    assert ("LIVE" if n == 31 else f"+{31 - n} ") in line.plain and ("PAUSED" in line.plain or width < 80 or n == 31)
    assert "▲" in line.plain and "↻" in line.plain
    assert f"{n}/31" in line.plain or f"step {n} of 31" in line.plain


def test_the_header_drops_by_rank() -> None:
    shown = {width: header_line(view_of(STORY), width).plain for width in (150, 120, 100, 80)}
    assert "of 32k" in shown[150] and "agentmem" in shown[150] and "█" in shown[150]
    assert "of 32k" in shown[120] and "agentmem" not in shown[120] and "█" not in shown[120]
    assert "of 32k" not in shown[100] and "▲ 1 silent" in shown[100]
    assert "31/31" in shown[80] and " ▲1 " in shown[80] and "64%" in shown[80]


def test_trouble_stands_beside_the_name_and_is_said_shorter_before_a_figure_goes() -> None:
    run = replace(STORY, notice="being written, last good 2 s ago")
    assert "fix-parser  ! being written, last good 2 s ago  31/31" in header_line(view_of(run), 120).plain
    assert "fix-parser ! 31/31  goal ✓ at end  ≈20.6k 64%" in header_line(view_of(run), 80).plain
    calm = replace(run, cycles=(), pending=None, notice="a new run in the same file")
    assert "fix-parser ! new run 31/31  goal ✓ at end  ≈20.6k 64%" in header_line(view_of(calm), 80).plain


@pytest.mark.parametrize("notice", ["a new run in the same file", "not readable: half written or cut, last good 9"])
@given(st.integers(80, 260), st.integers(1, 31))
def test_no_notice_takes_the_place_of_tokens_and_percent(notice: str, width: int, n: int) -> None:
    told = header_line(view_of(replace(STORY, notice=notice), n), width).plain
    size = STORY.main.steps[n - 1].tokens.prompt
    assert size is not None and f"{thousands(size)} " in told and f"{round(100 * size / 32_000)}%" in told
    assert "!" in told


def test_lanes_a_missing_goal_and_a_problem_give_way_to_the_figures(root: Path) -> None:
    run = open_run(str(root / "sample_runs" / "claude-code"), "5b1c7f0e-2d64-4a39-8c11-90de3a7f4c02").run
    assert len(run.lanes) > 1 and run.problems and run.main.steps[-1].goal == "missing"
    line = header_line(view_of(run), 80).plain
    for words in (" !1 ", " 21/21 ", " goal ✗ ", "k 3% ", " ▲5 ", " ↻1 ", " RECON "):
        assert words in line
    assert "goal ✗ missing since 14" in header_line(view_of(run), 140).plain


@pytest.mark.parametrize("n", range(1, 31))
def test_a_reader_who_has_moved_back_sees_the_share_of_the_window_at_80_columns(n: int) -> None:
    """The chip keeps its word where it can, else its mark and the number of steps."""
    pending = replace(STORY, pending=("pytest tests/test_lexer.py", 1150.0))
    for run in (STORY, pending):
        line = header_line(at_time(run, 1189.0, n), 80).plain
        assert "%" in line and f"+{31 - n} " in line
    assert f" ○ PAUSED +{31 - n} " in header_line(view_of(STORY, n), 80).plain


@given(st.integers(60, 260), st.booleans(), st.booleans(), st.integers(1, 31))
def test_the_runs_name_is_the_last_thing_to_go(width: int, trouble: bool, doubt: bool, n: int) -> None:
    """However much there is to say, the name stands there, cut to no less than six cells."""
    run = replace(STORY, id="a-run-with-a-long-name", begun=(BEGUN,) if doubt else (),
                  notice="not readable: half written or cut, last good version step 31" if trouble else None,
                  problems=(Problem("line 3", "damaged"),) * 12)  # fmt: skip
    line = header_line(view_of(run, n), width)
    assert "a-run" in line.plain and cell_len(line.plain) == width
    assert (" ?1 " in line.plain or "? 1 in doubt" in line.plain) is doubt


@pytest.mark.parametrize(("notice", "word"), [("not readable: no JSON", "UNREADABLE"), ("file gone", "GONE")])
def test_what_cannot_be_read_is_not_called_live(notice: str, word: str) -> None:
    line = header_line(view_of(replace(STORY, notice=notice)), 120).plain
    assert f" ! {word} " in line and "LIVE" not in line and "not readable" not in line and "file gone" not in line


def test_live_fades_to_quiet_and_the_guess_that_the_model_works_is_taken_back() -> None:
    steps = tuple(replace(step, at=1000.0 + 5 * step.n) for step in STORY.main.steps)
    run = replace(STORY, lanes=(replace(STORY.main, steps=steps),), changed_at=1155.0, pending=("model", 1155.0))
    shown = [header_line(at_time(run, now), 120).plain for now in (1157.0, 1189.0)]
    assert "● LIVE" in shown[0] and "model 2s" in shown[0]
    assert "● QUIET 34s" in shown[1] and "model" not in shown[1] and "LIVE" not in shown[1]
    waits = header_line(at_time(replace(run, pending=("pytest", 1150.0)), 1189.0), 120).plain
    assert "● QUIET 34s" in waits and "pytest 39s" in waits
    paused = header_line(at_time(run, 1189.0, n=4), 120).plain
    assert "○ PAUSED +27" in paused and "quiet 34s" in paused


def at_time(run: Run, now: float, n: int | None = None) -> View:
    view = view_of(run, n)
    return replace(view, context=replace(view.context, now=now))


@pytest.mark.parametrize(("width", "words"), [(59, "59 x 14"), (40, "this is 40x14"), (14, "60x15"), (5, "60x15")])
def test_the_line_that_says_what_size_is_needed_is_not_cut(width: int, words: str) -> None:
    said = small_text(width, 14)
    assert words in said and len(said) <= max(5, width - 4)


@pytest.mark.parametrize(("width", "words"), [(80, " max ≈26.9k @15"), (100, " max ≈26.9k at 15")])
def test_the_figure_of_the_timeline_says_that_it_is_the_largest(width: int, words: str) -> None:
    view = view_of(STORY)
    view = replace(view, context=replace(view.context, width=width))
    assert timeline_lines(view, width, 1)[0].plain.startswith(words)


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
BEGUN = Begun("main", 31, "send_mail", "{}", "am_17", 1, 1_790_000_000.0, True)
