"""T8, T9: a step of scrubbing over prompts of 200 KB and 2 MB, a list of 100,000 steps, against a bare full repaint,
TextArea and DataTable of the same toolkit. CPU of the whole process, layout and painting included.

    python -m benchmarks.scrub [--rounds 9]
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import DataTable, Static, TextArea

from agentmem.inspect.watch import Watch
from benchmarks.common import Figure, Row, report
from tui.app import Inspector

SIZE = (150, 45)
Press = Callable[[], Awaitable[None]]


async def taken(pilot: Pilot[None], press: Press, rounds: int) -> Figure:
    """CPU seconds from a key to the painted screen."""
    values = []
    for number in range(rounds + 2):
        began = time.process_time()
        await press()
        await pilot.pause()
        if number > 1:
            values.append(time.process_time() - began)
    return Figure(tuple(values))


class Bare(App[None]):
    """One Static that is painted anew: the floor."""

    count = 0

    def compose(self) -> ComposeResult:
        yield Static("0 " + "word " * 1300)

    def on_key(self) -> None:
        self.count += 1
        self.query_one(Static).update(f"{self.count} " + "word " * 1300)


class Area(App[None]):
    """TextArea given a text of 200 KB."""

    texts = tuple(f"{number} " + "word and another word\n" * 9_000 for number in range(2))
    count = 0

    def compose(self) -> ComposeResult:
        yield TextArea(self.texts[0])

    def replace(self) -> None:
        self.count += 1
        self.query_one(TextArea).load_text(self.texts[self.count % 2])


def log(path: Path, steps: int, characters: int) -> None:
    """A plain list whose prompts hold about `characters` from the first step on."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "find the leak " + "with care " * (characters // 10)}]
    for number in range(steps):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": f'{{"n":{number}}}'}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"page {number} " * 20})
    path.write_text(json.dumps({"step": steps, "messages": messages, "notes": ""}))


async def scrubbing(path: Path, rounds: int) -> Figure:
    app = Inspector(lambda: Watch([str(path)], history=False), clock=False)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(2.0)
        return await taken(pilot, lambda: pilot.press("left"), rounds)


async def bare(rounds: int) -> Figure:
    app = Bare()
    async with app.run_test(size=SIZE) as pilot:
        return await taken(pilot, lambda: pilot.press("x"), rounds)


async def area(rounds: int) -> Figure:
    app = Area()
    async with app.run_test(size=SIZE) as pilot:

        async def press() -> None:
            app.replace()

        return await taken(pilot, press, rounds)


async def table(rows: int) -> float:
    """CPU to fill a DataTable."""

    class Table(App[None]):
        def compose(self) -> ComposeResult:
            yield DataTable()

    app = Table()
    async with app.run_test(size=SIZE) as pilot:
        began = time.process_time()
        found = app.query_one(DataTable)
        found.add_columns("#", "action", "out", "total")
        found.add_rows((str(number), "read page", "ok", "1.2k") for number in range(rows))
        await pilot.pause()
        return time.process_time() - began


async def listed(steps: int, rounds: int) -> tuple[Figure, Figure, Figure]:
    """(first painting, its part on the screen's own thread, one step of scrubbing) of a run of so many steps, its value
    already made. The difference of the first two is the index of the steps, made in the worker."""
    from agentmem.inspect.open import open_run
    from agentmem.inspect.watch import RunChanged

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        log(path, steps, 100)
        run = open_run(str(path)).run
        # As the app's worker does with so many values: they are not looked through for garbage while it paints.
        gc.collect()
        gc.freeze()

        class Still:
            def run(self, emit: Callable[[object], None], stop: object) -> None:
                emit(RunChanged(run))

            def choose(self, *_: object) -> None: ...
            def ask_text(self, *_: object) -> None: ...
            def ask_raw(self, *_: object) -> None: ...
            def ask_lifeline(self, *_: object) -> None: ...

        firsts, on_screen = [], []
        for _ in range(7):
            app = Inspector(Still, clock=False)
            began, here = time.process_time(), time.thread_time()
            async with app.run_test(size=SIZE) as pilot:
                await pilot.pause(0.5)
                firsts.append(time.process_time() - began)
                on_screen.append(time.thread_time() - here)
                moved = await taken(pilot, lambda pilot=pilot: pilot.press("left"), rounds)  # type: ignore[misc]  # bound now
        return Figure(tuple(firsts)), Figure(tuple(on_screen)), moved


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rounds", type=int, default=9)
    args = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scrubbed = {}
        for name, characters in (("2 KB", 2_000), ("200 KB", 200_000), ("2 MB", 2_000_000)):
            path = Path(folder) / f"{characters}.json"
            log(path, 40, characters)
            scrubbed[name] = asyncio.run(scrubbing(path, args.rounds))
        floor, text = asyncio.run(bare(args.rounds)), asyncio.run(area(args.rounds))
        few, few_here, few_moved = asyncio.run(listed(1_000, args.rounds))
        many, many_here, many_moved = asyncio.run(listed(100_000, args.rounds))
        filled = Figure((asyncio.run(table(100_000)),) * len(many.values))
        extra = Figure(tuple(max(0.0, value - few_here.median) for value in many_here.values))
        rows = [
            Row("bare full repaint", floor),
            Row("scrub, 200 KB prompt", scrubbed["200 KB"], floor, 2.0),
            Row("scrub 200 KB against TextArea", scrubbed["200 KB"], text, 0.1),
            Row("scrub 2 MB against 2 KB", scrubbed["2 MB"], scrubbed["2 KB"], 4.0),
            Row("list of 100,000 steps built, against 1,000", many_here, few_here, 1.2),
            Row("what 99,000 more cost it, against filling DataTable", extra, filled, 0.01),
            Row("100,000 steps shown, the worker's index with it, against 1,000", many, few),
            Row("one step in a prompt of 200,000 pieces", many_moved, few_moved),
        ]
        print(report("T8, T9 scrubbing", rows))


if __name__ == "__main__":
    main()
