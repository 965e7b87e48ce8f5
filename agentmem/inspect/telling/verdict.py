"""The worst thing in a run, in one sentence with its consequence: what the app's second row and `agentmem line` say.

Pure. Outside text (names of fields and tools) stands raw in the sentence; it is made safe at the door.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from agentmem.inspect.telling.circles import ending, turning
from agentmem.inspect.telling.left import cannot_tell, steps_of, went
from agentmem.inspect.telling.marks import CHANGES, goal_left

if TYPE_CHECKING:
    from agentmem.model import Cycle, Drop, Lane, Run


Level = Literal["alarm", "warning", "calm", "unknown"]
NOTHING_LEFT = "nothing left unrecorded"
PAST_UNKNOWN = "cannot tell what was left out before this file was written"
_CUT = ("compaction", "condensation", "trim", "prune", "rewind", "rewrite", "unexplained")
_TAKEN_BACK = 0.1
"""A rewind that takes back less of the prompt is no fall of it: a failed call that is tried again."""


BURIED_TOKENS = 200
"""Fewer tokens after the goal are no reason for a warning; the header says `buried` all the same."""


class Verdict(msgspec.Struct, frozen=True, eq=False):
    level: Level
    glyph: str
    """`▲` silent loss, `✗` the goal is missing, `↻` cycle, `−` recorded loss, `▼` boundary, `~` goal changed or buried,
    `?` cannot tell, or as an alarm a call in doubt; empty when calm."""
    text: str
    lane: str | None = None
    n: int | None = None
    """Where to look: n of the step that it speaks of."""
    about: Drop | Cycle | None = None
    """What it tells of, where that is one finding."""

    @property
    def sentence(self) -> str:
        return f"{self.glyph} {self.text}" if self.glyph else self.text


def short_name(drop: Drop) -> str:
    """A field without the head of its path: `order_id` for `facts.order_id`."""
    name = drop.name
    return name.split(".", 1)[1] if drop.what == "field" and "." in name else name


def verdict(run: Run) -> Verdict:
    """The worst first: a call in doubt, which waits for an answer, an unrecorded loss that was missed, a missing goal,
    one that was missed and came back, one that was not missed, a cycle that nothing broke, a recorded loss that was
    missed, an unexplained fall of the prompt, a goal changed or buried, what is over."""
    if not run.lanes or not run.main.steps:
        return Verdict("unknown", "?", "cannot tell: no step is in this file yet")
    found = _doubt(run) or _worst(run)
    if found.lane is None or found.lane == run.main.id:
        return found
    lane = run.lane(found.lane)
    return replace(found, text=f"{found.text} (lane {lane.name or lane.id})")


def _doubt(run: Run) -> Verdict | None:
    """A guarded call of which nobody knows whether it happened."""
    if not run.doubts:
        return None
    call = run.doubts[-1]
    text = f"{_count(len(run.doubts), 'call')} in doubt: {call.tool} at step {call.step}, key {call.key}"
    lane = next((lane for lane in run.lanes if lane.id == call.lane and lane.steps), run.main)
    n = next((step.n for step in reversed(lane.steps) if step.number <= call.step), lane.steps[-1].n)
    return Verdict("alarm", "?", text, lane.id, n)


def _worst(run: Run) -> Verdict:
    alarms, recorded = _losses(run)
    gone = [drop for drop in alarms if drop.returned_at is None]
    missed = [drop for drop in gone if drop.missed_by]
    if missed:
        return _missed(missed[-1], "▲", "alarm", "nobody recorded it")
    goal = _goal(run.main)
    if goal is not None and goal.level == "alarm":
        return goal
    over = [drop for drop in alarms if drop.missed_by and drop.returned_at is not None]
    if over:
        return _missed(over[-1], "▲", "alarm", "nobody recorded it")
    if gone:
        drop = gone[-1]
        more = f" (+{len(gone) - 1})" if len(gone) > 1 else ""
        text = f"{short_name(drop)} {went(drop)} at {drop.step}, nobody recorded it{more}; not missed yet"
        return Verdict("alarm", "▲", text, drop.lane, drop.n, drop)
    unbroken = [cycle for cycle in run.cycles if cycle.ended_at is None]
    if unbroken:
        return _cycle(run, unbroken[-1], "warning")
    if recorded:
        return _missed(recorded[-1], "−", "warning", recorded[-1].cause)
    fall = _fall(run)
    if fall is not None:
        return fall
    if goal is not None:
        return goal
    if alarms:
        drop = alarms[-1]
        return Verdict("warning", "▲", f"{short_name(drop)} {went(drop)} at {drop.step}, nobody recorded it; "
                       f"it came back at {drop.returned_at}", drop.lane, drop.n, drop)  # fmt: skip
    if run.cycles:
        return _cycle(run, run.cycles[-1], "warning")
    return _calm(run)


def _missed(drop: Drop, glyph: str, level: Level, record: str) -> Verdict:
    miss = drop.missed_by[0]
    text = f"{short_name(drop)} {went(drop)} at {drop.step}, {record} → {miss.tool} failed at {miss.step}"
    if drop.returned_at is not None:
        text += f"; back at {drop.returned_at}"
    if drop.still is not None:
        text += f"; {drop.still.why}"
    return Verdict(level, glyph, text, drop.lane, drop.n, drop)


def _losses(run: Run) -> tuple[list[Drop], list[Drop]]:
    """(silent drops, other drops whose lack made a call fail and that have not come back), in order."""
    alarms, recorded = [], []
    for lane in run.lanes:
        for step in lane.steps:
            for drop in step.drops:
                if drop.alarming:
                    alarms.append(drop)
                elif drop.missed_by and drop.returned_at is None:
                    recorded.append(drop)
    return alarms, recorded


def _goal(lane: Lane) -> Verdict | None:
    step = lane.steps[-1]
    if step.goal == "missing":
        first = step
        for before in reversed(lane.steps):
            if before.goal != "missing":
                break
            first = before
        first = lane.steps[goal_left(lane.steps, first.n) - 1]
        return Verdict("alarm", "✗", f"the goal is not in the prompt since {first.number}", lane.id, first.n)
    if step.goal == "buried" and (step.tokens_after_goal is None or step.tokens_after_goal >= BURIED_TOKENS):
        after = "" if step.tokens_after_goal is None else f", {_tokens(step.tokens_after_goal)} after it"
        return Verdict("warning", "~", f"the goal is buried{after}", lane.id, step.n)
    for before in reversed(lane.steps):
        if before.goal == "changed":
            return Verdict("warning", "~", f"the goal changed at {before.number}", lane.id, before.n)
    return None


def _fall(run: Run) -> Verdict | None:
    for lane in run.lanes:
        for step in reversed(lane.steps):
            edge = step.boundary
            if edge is not None and edge.kind in _CUT and not edge.recorded and edge.before and edge.after is not None:
                if edge.kind == "rewind" and edge.after > edge.before * (1 - _TAKEN_BACK):
                    continue
                sizes = f"from {_thousands(edge.before)} to {_tokens(edge.after)}"
                text = f"the prompt fell {sizes} at {step.number}, nobody recorded why"
                return Verdict("warning", "▼", text, lane.id, step.n)
    return None


def _cycle(run: Run, cycle: Cycle, level: Level) -> Verdict:
    tools = ", ".join(dict.fromkeys(cycle.tools))
    cost = "" if cycle.tokens is None else f", {_tokens(cycle.tokens)}"
    first, last = cycle.steps[0], cycle.steps[-1]
    if turning(run, cycle):
        text = f"{tools} in a circle since {first}, {_count(cycle.count, 'time')}{cost}"
    else:
        text = f"{tools} in a circle {first}-{last}, {_count(cycle.count, 'time')}{cost}; {ending(run, cycle)}"
    steps = run.lane(cycle.lane).steps
    n = next((step.n for step in reversed(steps) if step.number <= last), None)
    return Verdict(level, "↻", text, cycle.lane, n, cycle)


def _calm(run: Run) -> Verdict:
    calls = list(_signatures(run))
    steps = steps_of(run.lanes)
    if run.provenance == "partial":
        return Verdict("unknown", "?", f"cannot tell: what the model saw is not in this file ({steps})")
    left = _left(run)
    if not run.results_known:
        left = PAST_UNKNOWN if run.past_unknown and not left else left or NOTHING_LEFT
        return Verdict("unknown", "?", f"{steps}; cannot tell loops: this file keeps no results; {left}")
    waited = sum(waiting.count for waiting in run.waiting)
    waits = f" ({_count(waited, 'wait')})" if waited else ""
    told = f"{steps}, {_count(len(set(calls)), 'distinct call')}{waits}, no loop"
    if run.past_unknown:
        return Verdict("unknown", "?", f"{PAST_UNKNOWN}; {told}{'; ' if left else ''}{left}")
    if run.gaps:
        unseen = "; ".join(cannot_tell(run)[:2])
        return Verdict("unknown", "?", f"cannot tell: {unseen}; {told}{'; ' if left else ''}{left}")
    return Verdict("calm", "", f"{told}; {left or NOTHING_LEFT}")


def _left(run: Run) -> str:
    """The pieces that left and that nobody recorded, counted; empty if none did. They are no alarm: a window that
    slides over replies and results is how most loops work."""
    drops = [
        drop for lane in run.lanes for step in lane.steps for drop in step.drops
        if not drop.recorded and not drop.alarming
    ]  # fmt: skip
    if not drops:
        return ""
    causes = {drop.cause for drop in drops}
    gone = "left"
    if causes == {"trimmed"}:
        gone = "were trimmed"
    elif causes <= CHANGES:
        gone = "were cut short" if causes == {"shortened"} else "were changed"
    number = sum(drop.count for drop in drops)
    if number == 1:
        gone = gone.replace("were", "was")
    return f"{_count(number, 'piece')} {gone}, nobody recorded it"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _signatures(run: Run) -> Iterator[str]:
    for lane in run.lanes:
        for step in lane.steps:
            for attempt in step.attempts:
                yield attempt.signature


def _tokens(number: int) -> str:
    return f"{_thousands(number)} token{'' if number == 1 else 's'}"


def _thousands(tokens: int) -> str:
    if abs(tokens) < 1000:
        return str(tokens)
    return f"{tokens / 1000:.1f}k" if abs(tokens) < 999_950 else f"{tokens / 1_000_000:.1f}M"
