"""What a person sees: the rows of the terminal as text, and an app that follows runs made by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from agentmem.model import Run
from tests.tui.sources import Played
from tui.app import Inspector


class Seen:
    def __init__(self, app: Inspector, pilot: Pilot[None], source: Played) -> None:
        self.app, self.pilot, self.source = app, pilot, source

    @property
    def rows(self) -> list[str]:
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip) for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(row.rstrip() for row in self.rows)

    @property
    def header(self) -> str:
        return self.rows[0]

    @property
    def cursor_row(self) -> str:
        """The row under the cursor of the steps pane."""
        return next(row for row in self.rows if row.startswith("▌"))

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, words: str) -> None:
        """Wait until the words stand on the screen; fail with the screen if they never do."""
        for _ in range(200):
            if words in self.text:
                return
            await self.pilot.pause(0.02)
        raise AssertionError(f"{words!r} does not appear on:\n{self.text}")

    async def until_gone(self, words: str) -> None:
        """Wait until the words no longer stand on the screen."""
        for _ in range(200):
            if words not in self.text:
                return
            await self.pilot.pause(0.02)
        raise AssertionError(f"{words!r} is still on:\n{self.text}")

    async def play(self, *events: object, until: str) -> None:
        self.source.play(*events)
        await self.until(until)


@asynccontextmanager
async def inspecting(
    *runs: Run, size: tuple[int, int] = (80, 24), until: str | None = None, light: bool = False, bell: bool = False
) -> AsyncIterator[Seen]:
    """An app on these runs, once the first is on the screen."""
    source = Played(*runs)
    app = Inspector(lambda: source, clock=False, looked=lambda: [("runs", "no such folder")], light=light, bell=bell)
    async with app.run_test(size=size, notifications=True) as pilot:
        seen = Seen(app, pilot, source)
        await seen.until(until or (f" {runs[0].id} " if runs else "No runs found here."))
        await pilot.pause()
        yield seen
