"""What a person sees: the rows of the terminal as text, and an app that follows runs made by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot
from textual.strip import Strip
from textual.widget import Widget

from agentmem.inspect.watch import Watch
from agentmem.model import Run
from tests.tui.sources import Played
from tui.app import Inspector


class Seen:
    """`pressed` counts the keys that a person has needed so far."""

    def __init__(self, app: Inspector, pilot: Pilot[None], source: Played) -> None:
        self.app, self.pilot, self.source = app, pilot, source
        self.pressed = 0

    @property
    def strips(self) -> list[Strip]:
        """The rows of the screen as cells with their styles."""
        return [Strip(strip) for strip in self.app.screen._compositor.render_strips()]

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
        self.pressed += len(keys)
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, words: str) -> None:
        """Wait until the words stand on the screen; fail with the screen if they never do."""
        for _ in range(400):
            if words in self.text:
                return
            await self.pilot.pause(0.02)
        raise AssertionError(f"{words!r} does not appear on:\n{self.text}")

    async def said(self, words: str) -> None:
        """Wait until the words stand there, wherever their rows break."""
        for _ in range(400):
            if words in " ".join(self.text.split()):
                return
            await self.pilot.pause(0.02)
        raise AssertionError(f"{words!r} is not said on:\n{self.text}")

    async def read(self, steps: int) -> None:
        """Wait until the open run has so many steps and its panes have a place: on a busy machine a part of it is shown
        first, and a key that comes before there is a place leaves the rows scrolled to another."""
        before, same = None, 0
        for _ in range(400):
            reader, panes = self.app.run_screen.reader, self.app.run_screen.panes
            shown = [pane for pane in panes.values() if _displayed(pane)]
            laid_out = len(panes) > 1 and all(pane.size.height for pane in shown)
            now = [(pane.region, getattr(pane, "top", 0)) for pane in shown]
            same = same + 1 if laid_out and now == before else 0
            before = now
            if reader.ready and reader.last == steps and same >= 5:
                return
            await self.pilot.pause(0.02)
        raise AssertionError(f"{steps} steps were never read:\n{self.text}")

    async def row(self, *words: str) -> str:
        """The first row that holds all the words, as soon as there is one."""
        for _ in range(400):
            for row in self.rows:
                if all(word in row for word in words):
                    return row
            await self.pilot.pause(0.02)
        raise AssertionError(f"no row holds {words} on:\n{self.text}")

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


def _displayed(pane: Widget) -> bool:
    return all(node.display for node in pane.ancestors_with_self if isinstance(node, Widget))


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


@asynccontextmanager
async def watching(
    targets: Sequence[Path], size: tuple[int, int] = (80, 24), until: str | None = None, light: bool = False,
    looked: Sequence[tuple[str, str]] = (),
) -> AsyncIterator[Seen]:  # fmt: skip
    """An app that follows real files with the real worker, once `until` is on the screen. No target: this folder."""
    app = Inspector(
        lambda: Watch([str(target) for target in targets], history=False), clock=False, light=light,
        looked=lambda: list(looked),
    )  # fmt: skip
    async with app.run_test(size=size, notifications=True) as pilot:
        seen = Seen(app, pilot, Played())
        if until is not None:
            await seen.until(until)
        await pilot.pause()
        yield seen
