"""The marks: one glyph for one thing, on the screen and in the commands. Pure.

A step's marks are the bits of one byte; the higher bit is the worse, so the worst of many steps is the greatest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from agentmem.inspect.telling.circles import letter, turns

if TYPE_CHECKING:
    from agentmem.model import Boundary, Drop, Run, Step

SILENT, BOUNDARY, CYCLE, ERROR, CHANGED, DROPPED, LEFT, WAITING = 128, 64, 32, 16, 8, 4, 2, 1
GLYPHS: Mapping[int, str] = {
    SILENT: "▲", BOUNDARY: "▼", CYCLE: "↻", ERROR: "✗", CHANGED: "~", DROPPED: "−", LEFT: "·", WAITING: "z",
}  # fmt: skip
"""bit -> glyph, worst first."""
WORDS: Mapping[int, str] = {
    SILENT: "gone, nobody recorded it", BOUNDARY: "boundary", CYCLE: "in a cycle", ERROR: "failed call",
    CHANGED: "shortened or changed", DROPPED: "dropped on record",
    LEFT: "messages that left, nobody recorded it", WAITING: "waiting, not a loop",
}  # fmt: skip
GOALS: Mapping[str, tuple[str, str]] = {
    "last": ("✓", "at end"), "present": ("✓", "present"), "buried": ("!", "buried"), "missing": ("✗", "missing"),
    "changed": ("~", "changed"), "unknown": ("?", "unknown"),
}  # fmt: skip
"""Where the goal stands in a prompt (`Step.goal`) -> mark, word."""
GOAL_LEFT = ("?", "left")
"""In its place where the goal left with a step, before its call or right after it."""
UNSURE: Mapping[str, str] = {
    "unseen": "older messages stood in it that were gone before this file was looked at: its size is unknown",
    "between": "messages stood in it that were cut between two versions that were seen: its size is unknown",
    "cut": "not known whether what left with this step left before its call or right after it",
    "folded": "its answer was cut before the version was saved: what it answered, and what came in for it, is unknown",
}  # fmt: skip
"""What of a prompt is not known (`Step.unsure`), in words."""
ANSWER_UNKNOWN = "unknown: cut before it was saved"
"""In the place of an answer that no version holds (`folded`)."""
HELD = "held, not in the prompt"
HELD_UNSEEN = "held; the prompt is not known whole"
"""Of a field of the state that does not stand in the prompt, and where a part of that is not in the file."""
GONE: Mapping[str, str] = {
    "unseen": "older messages, never seen", "between": "messages cut between two versions, never seen",
    "cut": "before the call or after it: unknown", "folded": "what came in for this call, and its answer: never seen",
}  # fmt: skip
"""The same for a row of the prompt that stands for what is gone."""
CHANGES = frozenset({"shortened", "replaced", "rewritten"})
"""Causes that leave something else in the place of what went."""
FAILED = ("error", "denied")
"""Outcomes of a call that bear ✗."""
QUIET = ("resume", "fork")
"""Kinds of boundary that take nothing away."""

_DONE: Mapping[str, str] = {
    "compaction": "compacted", "condensation": "condensed", "trim": "trimmed", "prune": "pruned", "rewind": "rewound",
    "rewrite": "rewritten",
}  # fmt: skip


def drop_mark(drop: Drop) -> int:
    """The bit of one drop."""
    if drop.alarming:
        return SILENT
    if drop.cause in CHANGES:
        return CHANGED
    return DROPPED if drop.recorded else LEFT


def drop_glyph(drop: Drop) -> str:
    return GLYPHS[drop_mark(drop)]


def cut(step: Step) -> bool:
    """Whether the prompt was cut at this step: its ▼ stands for what merely left with it."""
    return step.boundary is not None and step.boundary.kind not in QUIET


def boundary_word(boundary: Boundary) -> str:
    """What was done to the prompt, behind ▼: `compacted`, `trimmed`."""
    return _DONE.get(boundary.kind, boundary.kind)


def mark_of(step: Step) -> int:
    """Marks that one step bears by itself."""
    edge = cut(step)
    mask = BOUNDARY if edge else 0
    for drop in step.drops:
        bit = drop_mark(drop)
        if not edge or bit not in (DROPPED, LEFT):
            mask |= bit
    if step.goal == "changed":
        mask |= CHANGED
    for attempt in step.attempts:
        if attempt.outcome in FAILED:
            return mask | ERROR
    return mask


def goal_said(step: Step) -> tuple[str, str]:
    """Mark and word for where the goal stands in a prompt, or that it left there (`Step.loses_goal`)."""
    return GOAL_LEFT if step.loses_goal else GOALS[step.goal]


def goal_left(steps: Sequence[Step], n: int) -> int:
    """n of the step at which the goal left, where step `n` is the first that is known to lack it: the one before, if it
    was cut before its call or right behind it; the loss is told there."""
    before = steps[n - 2] if 2 <= n <= len(steps) else None
    return n - 1 if before is not None and before.loses_goal else n


class Numbers:
    """Step numbers as the file gives them -> n."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps

    def n_of(self, number: int) -> int | None:
        steps = self.steps
        if 0 < number <= len(steps) and steps[number - 1].number == number:
            return number
        place = bisect_left(steps, number, key=lambda step: step.number)
        return place + 1 if place < len(steps) and steps[place].number == number else None


def overlay(run: Run, lane: str, marks: bytearray, numbers: Numbers) -> dict[int, str]:
    """Add the cycles and waits of a lane to its steps' marks (n - 1 -> mask). Returns n -> letter of the member of the
    cycle."""
    letters: dict[int, str] = {}
    for cycle in run.cycles:
        if cycle.lane != lane:
            continue
        for turn in turns(cycle, numbers.steps, numbers.n_of):
            n = numbers.n_of(turn.number)
            if n is not None:
                marks[n - 1] |= CYCLE
                letters[n] = letter(turn.place)
    for waiting in run.waiting:
        for number in waiting.steps if waiting.lane == lane else ():
            n = numbers.n_of(number)
            if n is not None:
                marks[n - 1] |= WAITING
    return letters


def shown(mask: int, letter: str = "") -> str:
    """The glyphs of a mask, worst first; behind ↻ the letter of the cycle's member."""
    return "".join(glyph + (letter if bit == CYCLE else "") for bit, glyph in GLYPHS.items() if mask & bit)
