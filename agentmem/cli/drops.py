"""`agentmem drops PATH`: what left the prompt or the state, by name, with cause and consequence."""

from __future__ import annotations

from collections.abc import Sequence

from agentmem.cli import shapes
from agentmem.cli.common import lane_of, opened, parser, shown
from agentmem.cli.output import count, document, size, table, text, tokens
from agentmem.cli.show import drop_text
from agentmem.inspect.telling.fold import TOGETHER, Fold, folds, parted, streams, together
from agentmem.inspect.telling.left import cannot_tell, nothing_lost
from agentmem.inspect.telling.marks import BOUNDARY, GLYPHS, cut, drop_glyph
from agentmem.model import Boundary, Drop, Lane, Run, Step, Survival
from agentmem.safe import name

SHOWN = 200
"""Rows of text before the rest is only counted."""


def run(arguments: list[str]) -> int:
    asked = parser("drops", "What left the prompt or the state, by name, with cause and consequence.")
    args = asked.parse_args(arguments)
    source = opened(args)

    def show(value: Run) -> None:
        lanes = (lane_of(value, args.lane),) if args.lane else value.lanes
        survivals = [one for one in value.survivals if any(one.lane == lane.id for lane in lanes)]
        if not args.json:
            text(rows(value, lanes, survivals))
            return
        document("drops", {
            "drops": [
                shapes.drop(drop, drop_text(source, drop))
                for lane in lanes for step in lane.steps for drop in step.drops
            ],
            "boundaries": [shapes.survival(one) for one in survivals],
            "unknown": cannot_tell(value),
        })  # fmt: skip

    return shown(args, source, show)


def rows(value: Run, lanes: Sequence[Lane], survivals: Sequence[Survival]) -> list[str]:
    """Unrecorded ones first, newest first; under each the call that missed it."""
    listed = sorted(
        (row for lane in lanes for row in _listed(lane)),
        key=lambda row: (not _newest(row).alarming, _newest(row).recorded, -_newest(row).step),
    )
    out: list[str] = []
    if not listed:
        out.append(nothing_lost(value, lanes))
    for place, row in enumerate(listed):
        if place >= SHOWN and not _newest(row).alarming:
            rest = sum(len(one.drops) if isinstance(one, Fold) else 1 for one in listed[place:])
            out.append(f"and {count(rest, 'drop')} more; --json lists all")
            break
        where = _lane_said(value, _newest(row).lane) if len(lanes) > 1 else ""
        out += _fold_row(row, where) if isinstance(row, Fold) else _rows(row, where)
    told = {(one.lane, one.n): one for one in survivals}
    for lane in lanes:
        for step in lane.steps:
            one = told.get((lane.id, step.n))
            edge = one.boundary if one is not None else step.boundary if cut(step) else None
            if edge is not None:
                out += _boundary(step, edge, one, _lane_said(value, lane.id) if len(lanes) > 1 else "")
    out += [f"cannot tell: {why}" for why in cannot_tell(value) if not (out and out[0].startswith("Unknown: "))]
    return out


def _boundary(step: Step, edge: Boundary, one: Survival | None, lane: str) -> list[str]:
    silent = "" if edge.recorded else ", nobody recorded it"
    opaque = ", opaque: cannot be checked" if edge.opaque else ""
    sizes = f"{size(edge.before)} -> {tokens(edge.after)}"
    out = ["", f"{GLYPHS[BOUNDARY]} {edge.kind} at {step.number}{lane}: {sizes}{silent}{opaque}"]
    if one is not None:
        out += table([(f"    {sort}", f"{kept} of {total}") for sort, (kept, total) in one.kept.items()])
        out += [f"    lost {lost.kind}: {name(lost.text, 200)}" for lost in one.lost[:20]]
        out += [f"    changed: {name(a)} -> {name(b)}" for a, b in one.changed]
    return out


def _listed(lane: Lane) -> list[Drop | Fold]:
    """What one lane lost: alike ones of steps that follow one another, and what one boundary took, as one row."""
    found: list[Drop | Fold] = [*folds(streams(lane.steps))]
    inside = {id(drop) for fold in found if isinstance(fold, Fold) for drop in fold.drops}
    for step in lane.steps:
        if step.drops:
            taken, rest = parted(step)
            found += [drop for drop in rest if id(drop) not in inside]
            for alike in together(taken):
                found += [alike] if len(alike.drops) >= TOGETHER else alike.drops
    return found


def _newest(row: Drop | Fold) -> Drop:
    return row.last if isinstance(row, Fold) else row


def _lane_said(value: Run, ident: str) -> str:
    lane = value.lane(ident)
    return f" in lane {name(lane.name or lane.id, 24)}"


def _said(drop: Drop) -> str:
    said = drop.record or ("recorded" if drop.recorded else "nobody recorded it")
    return name(said if drop.still is None else f"{said}; {drop.still.why}", 160)


def _fold_row(fold: Fold, lane: str) -> list[str]:
    last = fold.last
    back = f", {fold.returned:,} back later" if fold.returned else ""
    where = fold.where if fold.first.step != last.step else f"step {last.step:>4}"
    return [
        f"{drop_glyph(last)} {last.cause:<11} {where:<9}{lane}  {fold.what}"
        f"  [{tokens(fold.tokens)}, last in {last.last_step}{back}; {_said(last)}]"
    ]


def _rows(drop: Drop, lane: str) -> list[str]:
    back = "" if drop.returned_at is None else f", back at {drop.returned_at}"
    pieces = f" ({drop.count} pieces)" if drop.count > 1 else ""
    what = f"{drop.what} {name(drop.name)}{pieces}: {drop.head or '?'}"
    row = (
        f"{drop_glyph(drop)} {drop.cause:<11} step {drop.step:>4}{lane}  {what}"
        f"  [{tokens(drop.tokens)}, last in {drop.last_step}{back}; {_said(drop)}]"
    )
    needed = [f"    needed at {miss.step} by {name(miss.tool)}: {name(miss.error, 200)}" for miss in drop.missed_by]
    return [row, *needed]
