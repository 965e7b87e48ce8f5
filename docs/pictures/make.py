"""Draws the pictures of the README: the app itself, on the demo's run. `python docs/pictures/make.py`."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from agentmem.experiments.demo import play
from agentmem.inspect.watch import Watch
from tui.app import Inspector

HERE = Path(__file__).parent
BEATS = 30
SHOTS: tuple[tuple[str, tuple[int, int], tuple[str, ...], bool], ...] = (
    ("live", (150, 45), (), False),
    ("scrubbed", (150, 45), ("d", "equals_sign"), False),
    ("loops", (150, 45), ("c", "4"), False),
    ("narrow", (80, 24), (), False),
    ("light", (120, 40), ("5",), True),
)
"""(name, columns and rows, keys pressed, light theme)"""


async def shot(folder: Path, name: str, size: tuple[int, int], keys: tuple[str, ...], light: bool) -> None:
    """One picture, as the terminal shows it."""
    app = Inspector(lambda: Watch([str(folder)], history=False), light=light)
    async with app.run_test(size=size) as pilot:
        await pilot.pause(1.5)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.2)
        await pilot.pause(0.5)
        (HERE / f"{name}.svg").write_text(app.export_screenshot(title="agentmem"), encoding="utf-8")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        play(folder, speed=0, beats=BEATS)
        for name, size, keys, light in SHOTS:
            asyncio.run(shot(Path(folder), name, size, keys, light))
            print(HERE / f"{name}.svg")


if __name__ == "__main__":
    main()
