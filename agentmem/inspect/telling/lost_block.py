"""What was lost, as a block ready to paste back into the agent: `y` on the screen, and `agentmem lost`. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from agentmem.inspect.telling.left import still_held
from agentmem.model import Drop, Run, Survival
from agentmem.safe import block

ORDER = ("goal", "identifiers", "paths", "numbers", "commands", "constraints", "decisions", "prose")
SINGULAR = {
    "identifiers": "identifier", "paths": "path", "numbers": "number", "commands": "command",
    "constraints": "constraint", "decisions": "decision",
}  # fmt: skip
SHOWN = {"identifiers": 16, "paths": 16, "numbers": 12, "commands": 4, "constraints": 12, "decisions": 6, "prose": 4}
"""So many of a kind are in the block: it has to fit into a prompt."""
LONGEST_PROSE = 300
KEYWORD_KINDS = ("constraints", "decisions")
"""Told by keywords in the text, so that some may be missed."""


def lost_block(run: Run, last: bool = True, lane: str | None = None) -> str:
    """The block; empty if nothing is known to be lost.

    `last`: only the newest boundary, else each, newest first. Things that left unrecorded and have not come back stand
    first in any case. `lane`: only that one. Text is safe for a terminal; line breaks inside a piece stay.
    """
    parts: list[str] = []
    silent = [drop for drop in unrecorded(run, lane) if drop.returned_at is None]
    if silent:
        rows = [_drop_line(drop, run) for drop in reversed(silent)]
        parts.append("\n".join(["Left the context and nobody recorded it:", *rows]))
    survivals = [s for s in reversed(run.survivals) if lane is None or s.lane == lane]
    for survival in survivals[:1] if last else survivals:
        if survival.lost or survival.changed:
            parts.append(boundary_block(survival))
    return block("\n\n".join(parts))


def unrecorded(run: Run, lane: str | None = None) -> Iterable[Drop]:
    """Alarming drops and texts that were cut or written over without a word, in order of the lanes and steps."""
    for one in run.lanes:
        if lane is None or one.id == lane:
            for step in one.steps:
                for drop in step.drops:
                    if is_unrecorded(drop):
                        yield drop


def is_unrecorded(drop: Drop) -> bool:
    """Whether the block tells it: what alarms, and what a text lost without a word."""
    return drop.alarming or (cut_in_place(drop) and not drop.recorded)


def cut_in_place(drop: Drop) -> bool:
    """Whether the drop is what a text lost that stands there shorter, or what another took the place of."""
    return drop.what == "segment" and drop.text is not None and drop.cause in ("shortened", "replaced")


def boundary_block(survival: Survival) -> str:
    """What one boundary lost, most important first, one kind a line (prose and the goal one piece a line); of each kind
    the first few and how many more there are."""
    rows = [f"Lost at step {survival.step} ({survival.boundary.kind}):"]
    for kind in ORDER:
        texts = [lost.text for lost in survival.lost if lost.kind == kind]
        if not texts:
            continue
        kept, total = survival.kept.get(kind, (0, len(texts)))
        shown = texts[: SHOWN.get(kind, len(texts))]
        rest = max(total - kept, len(texts)) - len(shown)
        more = f" and {rest} more" if rest else ""
        if kind in ("identifiers", "paths", "numbers"):
            rows.append(f"- {kind}: {', '.join(shown)}{more}")
        else:
            rows.extend(f"- {SINGULAR.get(kind, kind)}: {_short(kind, text)}" for text in shown)
            if more:
                rows.append(f"- {kind}:{more}")
    rows.extend(f"- changed on the way: {now} was {was}" for was, now in survival.changed)
    return "\n".join(rows)


def _short(kind: str, text: str) -> str:
    return text if kind != "prose" or len(text) <= LONGEST_PROSE else f"{text[:LONGEST_PROSE].rstrip(' …')} …"


def _drop_line(drop: Drop, run: Run) -> str:
    whole = f" = {run.goal}" if drop.kind == "goal" and drop.what == "segment" and run.goal else ""
    since = f"gone since step {drop.step}"
    if cut_in_place(drop):
        return f"- {statement(drop)} ({'cut out' if drop.cause == 'shortened' else 'written over'} at step {drop.step})"
    if held_now(drop, run):
        since = f"out of the prompt since step {drop.step}, the state still holds it"
    return f"- {statement(drop)}{whole} ({since})"


def held_now(drop: Drop, run: Run) -> bool:
    """Whether the state of the lane's newest step holds what left the prompt."""
    steps = run.lane(drop.lane).steps
    return bool(steps) and still_held(drop, steps[-1])


def statement(drop: Drop) -> str:
    """What was lost, as `fact order_id = A-1041`, or the name where the text is not at hand."""
    if drop.what == "segment":
        return f"{drop.name}: {_short('prose', drop.text)}" if cut_in_place(drop) and drop.text else drop.name
    name = drop.name.removeprefix("facts.")
    prefix = "" if drop.kind in ("goal", "plan", "other") or name == drop.kind else f"{drop.kind} "
    if drop.text is not None:
        return f"{prefix}{name} = {drop.text}"
    return f"{prefix}{drop.head or name}"
