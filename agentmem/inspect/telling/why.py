"""Why a step failed, as a chain back: the drop it needed, the last step where it stood, where it was born.

Where the step at the cursor did not fail, the chain is that of the run's verdict.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agentmem.formats.fields import SHORTEST
from agentmem.inspect.compare.words import leaf, stands
from agentmem.inspect.telling.circles import ending, turns
from agentmem.inspect.telling.lost_block import statement
from agentmem.inspect.telling.marks import FAILED, Numbers
from agentmem.inspect.telling.verdict import Verdict, verdict
from agentmem.model import Attempt, Cursor, Cycle, Drop, Field, Lane, Miss, Run, Step, Still
from agentmem.safe import line
from agentmem.safe import name as safe_name
from agentmem.tape import PromptView


class Because(msgspec.Struct, frozen=True, eq=False):
    """One press of `w`: where to look, and one sentence (safe for a terminal) that says what is there."""

    lane: str
    n: int
    sentence: str
    segment: int | None = None
    """The piece to put the cursor on, if the step's prompt holds it."""

    @property
    def cursor(self) -> Cursor:
        return self.lane, self.n


def why(run: Run, cursor: Cursor, found: Verdict | None = None) -> tuple[Because, ...]:
    """The chain from the trouble at the cursor, else from what the verdict tells, which may be in another lane, else
    from the newest trouble before the cursor; at least one link. `found`: the run's verdict if it is at hand.

    Trouble is a failed call, or a step where something left unrecorded. The last link of a chain that ends early says
    what cannot be told.
    """
    lane = run.lane(cursor[0])
    n = min(max(cursor[1], 1), len(lane.steps))
    if not lane.steps:
        return (Because(lane.id, cursor[1], "nothing to explain: this lane has no steps"),)
    if not _troubled(lane.steps[n - 1]):
        told = _told(run, verdict(run) if found is None else found)
        if told:
            return told
    for step in reversed(lane.steps[:n]):
        if _troubled(step):
            return _from(run, lane, step)
    return (Because(lane.id, n, f"nothing to explain: no call failed and nothing was lost unrecorded up to step "
                                f"{lane.steps[n - 1].number}"),)  # fmt: skip


def explains(run: Run, cursor: Cursor, found: Verdict) -> bool:
    """Whether `why` at the cursor explains what the verdict tells, and not a failure of the step there. Asked at every
    key, so that no chain is made for it."""
    lane = run.lane(cursor[0])
    if not lane.steps or not _tells(found):
        return False
    step = lane.steps[min(max(cursor[1], 1), len(lane.steps)) - 1]
    if not _troubled(step):
        return True
    about = found.about
    if not isinstance(about, Drop) or about.lane != lane.id:
        return False
    if about.n != step.n and all(miss.n != step.n for miss in about.needs):
        return False
    return _lost_at(lane, step)[0] is about


def _tells(found: Verdict) -> bool:
    """Whether it tells of trouble that has a step. A call in doubt has its own sheet."""
    return found.level in ("alarm", "warning") and found.glyph != "?" and found.lane is not None and found.n is not None


def _told(run: Run, found: Verdict) -> tuple[Because, ...]:
    """The chain of what the verdict tells; empty where it tells of no trouble of a step."""
    if not _tells(found) or found.lane is None or found.n is None:
        return ()
    lane = run.lane(found.lane)
    about = found.about
    if about is None:
        return (Because(lane.id, found.n, line(found.text)),)
    if isinstance(about, Drop):
        return _chain(run, lane, about, about.missed_by[0] if about.missed_by else None)
    return _circle(run, lane, about)


def _circle(run: Run, lane: Lane, cycle: Cycle) -> tuple[Because, ...]:
    """Where a circle was certain, then where it began."""
    n_of = Numbers(lane.steps).n_of
    first, last = cycle.steps[0], cycle.steps[-1]
    tools = safe_name(", ".join(dict.fromkeys(cycle.tools)), 60)
    how = safe_name(cycle.detail, 80) if cycle.detail else "the same calls with the same results"
    certain = n_of(cycle.warned_at) or n_of(last) or len(lane.steps)
    links = [Because(lane.id, certain, f"{tools} in a circle, steps {first} to {last}: {how}; certain at "
                                       f"{cycle.warned_at}, {ending(run, cycle)}")]  # fmt: skip
    start = n_of(first)
    turn = next(turns(cycle, lane.steps, n_of), None)
    if start is not None and turn is not None and turn.attempt is not None:
        called = f"{safe_name(turn.attempt.tool, 30)} {safe_name(turn.attempt.arguments, 60)}"
        links.append(Because(lane.id, start, f"the circle began at {first} with {called}"))
    return tuple(links)


def _troubled(step: Step) -> bool:
    return _failed(step) is not None or any(drop.alarming for drop in step.drops)


def _from(run: Run, lane: Lane, step: Step) -> tuple[Because, ...]:
    """The chain of a troubled step."""
    drop, miss = _lost_at(lane, step)
    if drop is not None:
        return _chain(run, lane, drop, miss)
    failed = _failed(step)
    assert failed is not None  # a troubled step has lost something or has a failed call
    return (_untied(run, step, failed),)


def _lost_at(lane: Lane, step: Step) -> tuple[Drop | None, Miss | None]:
    """What the failure of a step needed, else what left at it unrecorded, with the failure that came of it."""
    if _failed(step) is not None:
        return _needed_by(lane, step.n) or (None, None)
    drop = max((drop for drop in step.drops if drop.alarming), key=lambda d: bool(d.missed_by), default=None)
    return drop, drop.missed_by[0] if drop is not None and drop.missed_by else None


def _failed(step: Step) -> Attempt | None:
    return next((a for a in step.attempts if a.outcome in FAILED), None)


def _needed_by(lane: Lane, n: int) -> tuple[Drop, Miss] | None:
    """The newest drop that the failure at n needed: one tied to it before one tied to an earlier one."""
    later: tuple[Drop, Miss] | None = None
    for step in reversed(lane.steps[:n]):
        for drop in step.drops:
            for place, miss in enumerate(drop.needs):
                if miss.n != n or miss.lane != lane.id:
                    continue
                if place == 0:
                    return drop, miss
                later = later or (drop, miss)
    return later


def _untied(run: Run, step: Step, failed: Attempt) -> Because:
    error = safe_name(failed.error or failed.result_head or failed.outcome, 70)
    reason = (
        "cannot tell why: what the model saw is not in this file"
        if step.prompt.provenance == "partial"
        else "no drop before it is tied to this error"
    )
    return Because(step.lane, step.n, f"{safe_name(failed.tool, 30)} failed at {step.number}: {error}; {reason}")


def _chain(run: Run, lane: Lane, drop: Drop, miss: Miss | None) -> tuple[Because, ...]:
    what = safe_name(statement(drop), 60)
    how = "and nobody recorded it" if not drop.recorded else f"({drop.cause}, recorded)"
    after = f" → {safe_name(miss.tool, 30)} failed at {miss.step}: {safe_name(miss.error, 50)}" if miss else ""
    spared = f"; {safe_name(drop.still.why, 80)}" if drop.still is not None else ""
    links = [Because(lane.id, drop.n, f"{what} left at {drop.step} {how}{spared}{after}", drop.segment)]
    if drop.still is not None and drop.missed_by and len(drop.text or "") >= SHORTEST:
        links.append(_still(lane, drop, drop.still, drop.missed_by[0]))
    last = _step_numbered(lane, drop.last_step, drop.n)
    if last is None:
        return (*links, Because(lane.id, drop.n, f"{what} last stood at {drop.last_step}, which was not seen"))
    held = _place(run, last, drop)
    links.append(Because(lane.id, last.n, f"{what} last stood at {last.number}, {held}", drop.segment))
    born, source = _born(run, lane, last, drop)
    links.append(Because(lane.id, born.n, f"{what} came in at {born.number}{source}", drop.segment))
    return tuple(links)


def _still(lane: Lane, drop: Drop, still: Still, miss: Miss) -> Because:
    """Where the value stood all the same at the first failure that lacked it."""
    value = safe_name(drop.text or drop.name, 40)
    if still.where is None:
        return Because(lane.id, miss.n, f"at {miss.step} {value} stood nowhere in the prompt (calls aside)")
    ids = list(lane.steps[miss.n - 1].prompt.ids)
    piece = f", piece {ids.index(still.segment) + 1} of {len(ids)}" if still.segment in ids else ""
    told = f"at {miss.step} {value} still stood in {safe_name(still.where, 60)}{piece}"
    return Because(lane.id, miss.n, f"{told}, not as {safe_name(drop.name, 30)}", still.segment)


def _step_numbered(lane: Lane, number: int, below: int) -> Step | None:
    return next((step for step in reversed(lane.steps[: max(0, below - 1)]) if step.number == number), None)


def _place(run: Run, step: Step, drop: Drop) -> str:
    if drop.segment is None:
        return "held in the state, the prompt not known whole" if run.hidden else "held in the state, not in the prompt"
    ids = list(step.prompt.ids)
    if drop.segment in ids:
        return f"piece {ids.index(drop.segment) + 1} of {len(ids)}"
    return "in the prompt"


def _holds(drop: Drop, fields: Sequence[Field]) -> bool:
    """Whether a state holds the field, or the text that said it."""
    part_of = drop.still.part_of if drop.still is not None else None
    if part_of is None:
        return any(held.name == drop.name for held in fields)
    return any(held.name == part_of and stands(leaf(drop.name), held.value) for held in fields)


def _born(run: Run, lane: Lane, last: Step, drop: Drop) -> tuple[Step, str]:
    """The step whose prompt or state first held it, and what it came from, in words."""
    n = last.n
    prompt = last.prompt
    if drop.what != "segment" and _holds(drop, last.fields):
        # A state that is rendered anew at each step makes new pieces; the field is as old as the state that holds it.
        while n > 1 and _holds(drop, lane.steps[n - 2].fields):
            n -= 1
    elif drop.segment is not None and isinstance(prompt, PromptView) and drop.segment < len(prompt.tape):
        n = prompt.tape.born[drop.segment] or n
    born = lane.steps[n - 1] if 1 <= n <= len(lane.steps) else last
    held = next((field for field in last.fields if field.name == drop.name), None)
    if held is not None and held.verified_by:
        at = "" if held.verified_at is None else f" @{held.verified_at}"
        return born, f", verified by {safe_name(held.verified_by, 30)}{at}"
    before = lane.steps[n - 2] if n >= 2 else None
    if before is not None and before.attempts:
        tools = ", ".join(dict.fromkeys(safe_name(a.tool, 30) for a in before.attempts))
        return born, f", after {tools} at {before.number}"
    return born, ""
