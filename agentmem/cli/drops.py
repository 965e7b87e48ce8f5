"""`agentmem drops PATH`: what left the prompt or the state, by name, with cause and consequence."""

from __future__ import annotations

from agentmem.cli import shapes
from agentmem.cli.common import lane_of, opened, parser, shown
from agentmem.cli.output import count, document, size, table, text, tokens
from agentmem.cli.show import drop_text
from agentmem.model import Drop, Run, Survival
from agentmem.safe import name

TOGETHER = 4
"""So many pieces that left one step for one cause are one row of text; JSON has each."""
SHOWN = 200
"""Rows of text before the rest is only counted."""

def run(arguments: list[str]) -> int:
    asked = parser("drops", "What left the prompt or the state, by name, with cause and consequence.")
    args = asked.parse_args(arguments)
    source = opened(args)

    def show(value: Run) -> None:
        lanes = (lane_of(value, args.lane),) if args.lane else value.lanes
        drops = [drop for lane in lanes for step in lane.steps for drop in step.drops]
        survivals = [one for one in value.survivals if any(one.lane == lane.id for lane in lanes)]
        if not args.json:
            text(rows(value, drops, survivals))
            return
        document("drops", {
            "drops": [shapes.drop(drop, drop_text(source, drop)) for drop in drops],
            "boundaries": [shapes.survival(one) for one in survivals],
            "unknown": cannot_tell(value),
        })  # fmt: skip

    return shown(args, source, show)


def cannot_tell(value: Run) -> list[str]:
    """Why some drops cannot be known, in words; empty where all can."""
    why = []
    if value.provenance == "partial":
        why.append("what the model saw is not in this file")
    if value.past_unknown:
        why.append("what was left out before the file was written cannot be told from it")
    for gap in value.gaps:
        first, last = gap.after + 1, gap.before - 1
        why.append(f"step {first} was not seen" if first == last else f"steps {first} to {last} were not seen")
    return why


def rows(value: Run, drops: list[Drop], survivals: list[Survival]) -> list[str]:
    """Unrecorded ones first, newest first; under each the call that missed it."""
    out: list[str] = []
    if not drops:
        out.append(f"No drops in {count(sum(len(lane.steps) for lane in value.lanes), 'step')}.")
    ordered = sorted(drops, key=lambda drop: (not drop.alarming, drop.recorded, -drop.step))
    shown = 0
    for alike in _grouped(ordered):
        if shown >= SHOWN and not alike[0].alarming:
            out.append(f"and {count(len(ordered) - shown, 'drop')} more; --json lists all")
            break
        shown += len(alike)
        out += [_group_row(alike)] if len(alike) >= TOGETHER else [row for drop in alike for row in _rows(drop)]
    for one in survivals:
        edge = one.boundary
        silent = "" if edge.recorded else ", nobody recorded it"
        opaque = ", opaque: cannot be checked" if edge.opaque else ""
        out += ["", f"▼ {edge.kind} at {one.step}: {size(edge.before)} -> {tokens(edge.after)}{silent}{opaque}"]
        out += table([(f"    {sort}", f"{kept} of {total}") for sort, (kept, total) in one.kept.items()])
        out += [f"    lost {lost.kind}: {name(lost.text, 200)}" for lost in one.lost[:20]]
        out += [f"    changed: {name(a)} -> {name(b)}" for a, b in one.changed]
    out += [f"cannot tell: {why}" for why in cannot_tell(value)]
    return out


def _grouped(ordered: list[Drop]) -> list[list[Drop]]:
    """Pieces that left one step for one cause stand together."""
    groups: list[list[Drop]] = []
    for drop in ordered:
        last = groups[-1][-1] if groups else None
        alike = last is not None and drop.what == last.what == "segment" and _place(drop) == _place(last)
        if alike and not drop.alarming:
            groups[-1].append(drop)
        else:
            groups.append([drop])
    return groups


def _place(drop: Drop) -> tuple[object, ...]:
    return drop.lane, drop.step, drop.cause, drop.recorded, drop.record, bool(drop.missed_by), drop.alarming


def _glyph(drop: Drop) -> str:
    return "▲" if drop.alarming else "~" if drop.cause == "shortened" else "−" if drop.recorded else "·"


def _said(drop: Drop) -> str:
    return name(drop.record or ("recorded" if drop.recorded else "nobody recorded it"), 120)


def _group_row(alike: list[Drop]) -> str:
    first = alike[0]
    total = sum(drop.tokens or 0 for drop in alike)
    back = sum(drop.returned_at is not None for drop in alike)
    came = f", {back} back later" if back else ""
    return (
        f"{_glyph(first)} {first.cause:<11} step {first.step:>4}  {sum(drop.count for drop in alike)} pieces"
        f"  [{tokens(total)}, last in {first.last_step}{came}; {_said(first)}]"
    )


def _rows(drop: Drop) -> list[str]:
    back = "" if drop.returned_at is None else f", back at {drop.returned_at}"
    pieces = f" ({drop.count} pieces)" if drop.count > 1 else ""
    what = f"{drop.what} {name(drop.name)}{pieces}: {drop.head or '?'}"
    row = (
        f"{_glyph(drop)} {drop.cause:<11} step {drop.step:>4}  {what}"
        f"  [{tokens(drop.tokens)}, last in {drop.last_step}{back}; {_said(drop)}]"
    )
    needed = [f"    needed at {miss.step} by {name(miss.tool)}: {name(miss.error, 200)}" for miss in drop.missed_by]
    return [row, *needed]
