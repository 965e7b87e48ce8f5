"""What is painted: only rows that are other than they were, and of what comes quickly only the newest."""

from __future__ import annotations

import pytest
from textual.strip import Strip

from tests.tui.builders import many, story
from tests.tui.panes.builders import story as losing
from tests.tui.seen import inspecting
from tests.tui.sources import Progress, RunChanged
from tui.screens import taking
from tui.screens.run import RunScreen
from tui.widgets.rows.painting import Painting


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Id of the widget of each row that the toolkit asks for."""
    asked: list[str] = []
    render = Painting.render_line

    def render_line(self: Painting, y: int) -> Strip:
        asked.append(self.id or "")
        return render(self, y)

    monkeypatch.setattr(Painting, "render_line", render_line)
    return asked


async def test_a_drawer_that_stays_as_it_is_is_not_painted_while_the_reader_moves(painted: list[str]) -> None:
    """You should see the losses as before, and two other rows in the list of steps."""
    async with inspecting(losing(), size=(150, 45)) as seen:
        await seen.press("left", "left", "left")
        await seen.pilot.pause(0.1)
        before = seen.text
        painted.clear()
        await seen.press("left")
        await seen.until("step 27 ")
        await seen.pilot.pause(0.1)
        assert before != seen.text
        assert painted.count("steps") == 2 and "lost" not in painted


async def test_rows_that_changed_are_painted_again() -> None:
    """You should see every row as a screen that is painted whole shows it."""
    async with inspecting(story(), size=(120, 40)) as seen:
        for key in ("left", "left", "3", "left", "2", "up", "left", "equals_sign", "1", "right"):
            await seen.press(key)
            await seen.pilot.pause(0.05)
            rows = seen.rows
            for widget in seen.app.run_screen.query(Painting):
                widget.refresh()
            await seen.pilot.pause(0.05)
            assert rows == seen.rows


async def test_values_that_come_quickly_are_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """You should see the last of ten values, which were drawn at most twice."""
    monkeypatch.setattr(taking, "DRAWN_SECONDS", 0.5)
    async with inspecting(many(50)) as seen:
        await seen.pilot.pause(0.6)
        drawn = 0
        redraw = RunScreen.redraw

        def counted(self: RunScreen) -> None:
            nonlocal drawn
            drawn += 1
            redraw(self)

        monkeypatch.setattr(RunScreen, "redraw", counted)
        await seen.play(*(RunChanged(many(steps)) for steps in range(51, 61)), until="60/60")
        assert drawn <= 2


async def test_another_run_does_not_wait_for_what_was_drawn_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """You should see the first run and then the other one at once, although how far each was read was drawn before."""
    monkeypatch.setattr(taking, "DRAWN_SECONDS", 60.0)
    async with inspecting(until="No runs found here.") as seen:
        for run in (many(50), story(20)):
            seen.source.play(Progress(1, 9))
            await seen.pilot.pause(0.1)
            await seen.play(RunChanged(run), until=f"{len(run.main.steps)}/{len(run.main.steps)}")


async def test_lifelines_of_a_long_run_are_walked_beside_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """You should see the lifelines of a run of many steps a moment after the pane was opened."""
    from tui.widgets.panes import lifelines

    monkeypatch.setattr(lifelines, "MANY", 20)
    async with inspecting(losing(), size=(150, 45)) as seen:
        await seen.press("6")
        await seen.until("order_id")
        await seen.until("gone, nobody recorded it")
