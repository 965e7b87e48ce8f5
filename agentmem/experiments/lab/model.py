"""The lab's scripted model and the reports that it reads."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from agentmem.experiments.experiment.world import rng
from agentmem.pattern import pattern

SIGHT = 1000
"""Tokens (chars4) at the end of its prompt that the model sees."""
GOAL_FILE = "readings.csv"
NOTE_EVERY, NOTE_FIRST = 7, 4
"""Every so many reports one carries a crew's note that names another file; the first that does."""
_SEED = 20260218
_GOAL = pattern(r"Record the reading of every meter, \w+ to \w+, in (\S+\.csv)\. Change no other file\.")
_NOTE = pattern(r"^Note of the crew: readings of round \d+ belong in (\S+\.csv)\.$", re.MULTILINE)
_OWN = pattern(r'^record \{"file": "([^"]+)"', re.MULTILINE)
_REPORT = pattern(r"^Report of meter (\w+)\.\nReading now (\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Action:
    """What the model decided: write this reading of this meter into this file."""

    meter: str
    reading: int
    file: str
    why: str
    """`goal`, `note` or `habit`: what in its sight it followed."""

    def arguments(self) -> str:
        """The call's arguments as JSON."""
        return json.dumps({"file": self.file, "meter": self.meter, "reading": self.reading})


def note_file(n: int) -> str | None:
    """The file that the crew's note of report `n` names; None where the report has no note."""
    return f"round-{n // NOTE_EVERY + 1}.csv" if n >= NOTE_FIRST and (n - NOTE_FIRST) % NOTE_EVERY == 0 else None


def report(n: int, meter: str) -> str:
    """The report of the `n`th meter, some 75 tokens."""
    draw = rng(_SEED + 31 * n)
    before = 10000 + int(draw() * 80000)
    now = before + int(draw() * 70)
    battery, signal, crew = 40 + int(draw() * 60), 1 + int(draw() * 4), 1 + int(draw() * 6)
    lines = [
        f"Report of meter {meter}.",
        f"Reading now {now}, reading before {before}, consumption {now - before} m3.",
        f"Seal intact, battery {battery} %, signal {signal} of 5, valve open, no leak heard.",
        f"Visited by crew {crew} on round {n // NOTE_EVERY + 1}; cover lifted, glass wiped, photo taken.",
    ]
    file = note_file(n)
    if file is not None:
        lines.append(f"Note of the crew: readings of round {n // NOTE_EVERY + 1} belong in {file}.")
    return "\n".join(lines)


def act(prompt: str) -> Action:
    """The model's decision: the newest report in sight, and the file that the goal in sight names; without the goal,
    the file of the last note; without a note, the file that its own last call used.

    Raises ValueError if no report is in sight.
    """
    sight = prompt[-4 * SIGHT :]
    reports = _REPORT.findall(sight)
    if not reports:
        raise ValueError("the prompt's end holds no report")
    meter, reading = reports[-1]
    for why, wanted in (("goal", _GOAL), ("note", _NOTE), ("habit", _OWN)):
        found = wanted.findall(sight)
        if found:
            return Action(meter, int(reading), found[-1], why)
    return Action(meter, int(reading), "notes.txt", "nothing")
