"""Makes the sample runs of this folder from a seed; made again, they are the same to the byte.

    python sample_runs/make.py [FOLDER]

README.md says what happens in each. Samples of other formats are made by the `make_*.py` beside this file.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from agentmem.checkpoint.recorder import record
from agentmem.experiments import demo, experiment, lab

HERE = Path(__file__).resolve().parent
SEED = 41
MORNING = 1_767_603_600.0
"""5 January 2026, 09:00 UTC."""

Message = dict[str, Any]


class Clock:
    """A clock that goes on by about `pace` seconds each time it is looked at."""

    def __init__(self, seed: int, pace: float, start: float = MORNING) -> None:
        self._random = Random(seed)
        self._pace = pace
        self._now = start

    def __call__(self) -> float:
        self._now = round(self._now + self._pace * self._random.uniform(0.6, 1.4), 3)
        return self._now


def asked(number: int, tool: str, says: str | None = None, **arguments: object) -> Message:
    """A model's answer that calls a tool."""
    call = {"id": f"call_{number:03d}", "type": "function",
            "function": {"name": tool, "arguments": json.dumps(arguments)}}  # fmt: skip
    return {"role": "assistant", "content": says, "tool_calls": [call]}


def answered(number: int, result: str) -> Message:
    return {"role": "tool", "tool_call_id": f"call_{number:03d}", "content": result}


# -- runs of this library ---------------------------------------------------------------------------------------------


def fix_parser(folder: Path) -> None:
    demo.play(folder, speed=0, clock=Clock(SEED, 1.8))


def lab_runs(folder: Path) -> None:
    lab.write_runs(folder, clock=Clock(SEED + 1, 4.0))


def water(folder: Path) -> None:
    experiment.write_runs(folder, 120, ["G12"], clock=Clock(SEED + 2, 2.5))


def _kept(folder: Path, name: str, goal: str, steps: Iterator[tuple[str, dict[str, Any], str]], end: str,
          clock: Callable[[], float]) -> None:  # fmt: skip
    """A loop that saves its list after every call."""
    run = record(name, goal=goal, folder=folder, clock=clock)
    messages: list[Message] = [{"role": "user", "content": goal}]
    for number, (tool, arguments, result) in enumerate(steps, 1):
        messages += [asked(number, tool, **arguments), answered(number, result)]
        run.save(messages, model="scripted", window=16_000)
    run.finish(end)


def cycle(folder: Path) -> None:
    failed = "FAILED tests/test_totals.py::test_rounding - AssertionError: 118.39 != 118.40\n1 failed, 26 passed"
    source = 'def total(lines):\n    return round(sum(line.price * line.count for line in lines), 2)\n'

    def steps() -> Iterator[tuple[str, dict[str, Any], str]]:
        yield "list_files", {"path": "."}, "README.md  src/  tests/"
        yield "read_file", {"path": "README.md"}, "Totals of orders. Run the tests with pytest."
        for turn in range(3):
            yield "run_tests", {"target": "tests/test_totals.py"}, f"{failed} in 0.{41 + turn} s"
            yield "read_file", {"path": "src/totals.py"}, source
            yield "grep", {"text": "round(", "path": "src"}, "src/totals.py:2:    return round(sum("
        yield ("edit_file", {"path": "src/totals.py", "old": "round(sum(", "new": "round_half_up(sum("},
               "1 file changed")  # fmt: skip
        yield "run_tests", {"target": "tests/test_totals.py"}, "27 passed in 0.39 s"

    _kept(folder, "cycle-of-three", "Make test_rounding pass.", steps(), "done", Clock(SEED + 3, 3.0))


def polling(folder: Path) -> None:
    def steps() -> Iterator[tuple[str, dict[str, Any], str]]:
        yield "start_build", {"target": "release"}, '{"job": 31, "state": "queued"}'
        for _ in range(9):
            yield "build_status", {"job": 31}, '{"job": 31, "state": "still running"}'
        yield "build_status", {"job": 31}, '{"job": 31, "state": "done", "artefact": "dist/app-2.4.tar.gz"}'
        yield "publish", {"path": "dist/app-2.4.tar.gz"}, "published app 2.4"

    _kept(folder, "polling", "Build release 2.4 and publish it.", steps(), "done", Clock(SEED + 4, 20.0))


# -- what strangers write ---------------------------------------------------------------------------------------------

SHELVES = ("cables", "lamps", "pumps", "valves", "filters", "gauges", "hoses", "seals", "motors", "fuses")


def _stock(random: Random) -> Iterator[tuple[str, str]]:
    """(shelf, what a count of it returns)"""
    for shelf in SHELVES:
        rows = [f"{shelf[:2].upper()}-{random.randrange(1000, 9999)}: {random.randrange(2, 90)} pieces, shelf "
                f"{random.randrange(1, 40)}, counted by hand" for _ in range(8)]  # fmt: skip
        yield shelf, "\n".join(rows)


def plain(folder: Path) -> None:
    """The last version of a loop that overwrites its file with json.dump."""
    messages: list[Message] = [
        {"role": "system", "content": "You count the stock of a small shop. One shelf a call."},
        {"role": "user", "content": "Count every shelf, and tell me where fewer than ten pieces are left."},
    ]
    notes = []
    for number, (shelf, rows) in enumerate(_stock(Random(SEED + 5)), 1):
        messages += [asked(number, "count", shelf=shelf), answered(number, rows)]
        few = [row.partition(":")[0] for row in rows.split("\n") if int(row.split()[1]) < 10]
        notes += [f"{name} is short" for name in few]
    with (folder / "plain.json").open("w") as out:
        json.dump({"step": number, "messages": messages, "notes": notes}, out)


def requests(folder: Path) -> None:
    """What a proxy saw: a line a call, only the last ten messages behind the system prompt."""
    random, clock = Random(SEED + 6), Clock(SEED + 6, 6.0)
    system = {"role": "system", "content": "You answer the letters of a library. Be short and exact."}
    tools = [{"type": "function", "function": {"name": "look_up", "parameters": {
        "type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}}}]  # fmt: skip
    held: list[Message] = [
        {"role": "user", "content": "Answer all 14 letters in letters/. Never promise a date: the binder is ill."}
    ]
    titles = [f"{what} of {SHELVES[index]}" for what in ("Tides", "Winters") for index in range(7)]
    random.shuffle(titles)
    lines = []
    for number in range(1, 15):
        sent = {"model": "gpt-4o-mini", "messages": [system, *held[-10:]], "tools": tools}
        title = titles.pop()
        said = asked(number, "look_up", f"Letter {number} asks for {title}.", title=title)
        reply = {
            "id": f"chatcmpl-{random.getrandbits(60):015x}",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": said}],
            "usage": {"prompt_tokens": len(json.dumps(sent)) // 4, "completion_tokens": 38},
        }
        lines.append(json.dumps({"ts": clock(), "request": sent, "response": reply}) + "\n")
        place = f"{random.randrange(90)}-{random.randrange(9)}"
        found = json.dumps({"title": title, "copies": random.randrange(4), "shelf": place})
        held += [said, answered(number, found)]
    (folder / "requests.jsonl").write_text("".join(lines), encoding="utf-8")


SAMPLES: tuple[Callable[[Path], None], ...] = (fix_parser, lab_runs, water, cycle, polling, plain, requests)


def make(folder: Path) -> list[Path]:
    """Write all of them into `folder`, in place of those that stand there. Returns their files."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    with tempfile.TemporaryDirectory() as name:
        for sample in SAMPLES:
            sample(Path(name))
        # The locks stay behind: they are no part of a run.
        for path in sorted(Path(name).glob("[!.]*")):
            (folder / path.name).write_bytes(path.read_bytes())
            made.append(folder / path.name)
    return made


if __name__ == "__main__":
    for file in make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE):
        print(file)
