"""T5: from an appended line to the changed screen, against a bare full repaint of the toolkit on a key press.

    python -m benchmarks.append_to_screen [--appends 40]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import Figure, Row, report
from benchmarks.terminal import Terminal

REPAINT = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    count = 0
    def compose(self):
        yield Static('ready-0 ' + 'word ' * 1200)
    def on_key(self, event):
        self.count += 1
        self.query_one(Static).update(f'ready-{self.count} ' + 'word ' * 1200)
Bare().run()
"""


def line(number: int) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "find the leak"}]
    for step in range(number):
        call = {"id": f"c{step}", "type": "function", "function": {"name": "read", "arguments": f'{{"n": {step}}}'}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{step}", "content": f"page {step}"})
    call = {"id": f"c{number}", "type": "function", "function": {"name": f"tool{number:04d}", "arguments": "{}"}}
    reply = {"role": "assistant", "content": None, "tool_calls": [call]}
    request = {"model": "gpt-4o", "messages": messages[-40:]}
    return json.dumps({"request": request, "response": {"choices": [{"message": reply}]}}) + "\n"


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--appends", type=int, default=40)
    args = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        log.write_text("".join(line(number) for number in range(30)))
        home = {"HOME": folder, "XDG_STATE_HOME": folder}
        ours, bare = [], []
        app = Terminal([sys.executable, "-m", "tui", "watch", str(log)], 45, 150, env=home)
        floor = Terminal([sys.executable, "-c", REPAINT], 45, 150)
        with app, floor:
            assert app.wait_for("tool0029", 20) is not None, app.text()[-300:]
            assert floor.wait_for("ready-0", 20) is not None
            app.quiet()
            floor.quiet()
            for number in range(30, 30 + args.appends):
                written = line(number)
                app.mark()
                began = time.perf_counter()
                with log.open("a") as file:
                    file.write(written)
                assert app.wait_for(f"tool{number:04d}", 10) is not None, f"step {number} did not come"
                ours.append(time.perf_counter() - began)
                app.quiet(0.1)
                floor.mark()
                began = time.perf_counter()
                floor.send("x")
                assert floor.wait_for(f"ready-{number - 29}", 10) is not None
                bare.append(time.perf_counter() - began)
                floor.quiet(0.05)
            first = 30 + args.appends
            written = "".join(line(number) for number in range(first, first + 1000))
            app.mark()
            began = time.perf_counter()
            with log.open("a") as file:
                file.write(written)
            assert app.wait_for(f"tool{first + 999:04d}", 20) is not None
            burst = time.perf_counter() - began
        own, repaint = Figure(tuple(ours)), Figure(tuple(bare))
        rows = [
            Row("bare repaint on a key", repaint),
            Row("append to screen, median", own, repaint, 3.5),
            Row("append to screen, p95 (s)", Figure((own.percentile(0.95),)), None, 0.030),
            Row("burst of 1,000 lines (s)", Figure((burst,)), None, 0.100),
        ]
        print(report("T5 append to screen", rows))


if __name__ == "__main__":
    main()
