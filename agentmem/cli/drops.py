"""`agentmem drops PATH`: what left the prompt or the state, by name, with cause and consequence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentmem.cli import shapes
from agentmem.cli.common import lane_of, opened, parser, shown
from agentmem.cli.output import count, document, size, table, text, tokens
from agentmem.cli.show import drop_text
from agentmem.inspect.telling.fold import TOGETHER, Fold, folds, parted, streams, what_left
from agentmem.inspect.telling.left import cannot_tell, nothing_lost
from agentmem.inspect.telling.marks import BOUNDARY, GLYPHS, boundary_word, cut, drop_glyph
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
            "drops": (
                shapes.drop(drop, drop_text(source, drop))
                for lane in lanes for step in lane.steps for drop in step.drops
            ),
            "boundaries": [shapes.survival(one) for one in survivals],
            "unknown": cannot_tell(value),
        })  # fmt: skip

    return shown(args, source, show)


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """One boundary with what it took and what came through it."""

    step: Step
    boundary: Boundary
    pieces: list[Drop]
    survival: Survival | None

    @property
    def count(self) -> int:
        return sum(drop.count for drop in self.pieces)


Row = Drop | Fold | Edge


def rows(value: Run, lanes: Sequence[Lane], survivals: Sequence[Survival]) -> list[str]:
    """Unrecorded ones first, newest first; under each the call that missed it, under a boundary what came through."""
    told = {(one.lane, one.n): one for one in survivals}
    listed = sorted((row for lane in lanes for row in _listed(lane, told)), key=_order)
    out: list[str] = []
    if not any(step.drops for lane in lanes for step in lane.steps):
        out.append(nothing_lost(value, lanes))
    left = 0
    for place, row in enumerate(listed):
        if place >= SHOWN and not isinstance(row, Edge) and not _newest(row).alarming:
            left += len(row.drops) if isinstance(row, Fold) else 1
            continue
        ident = row.step.lane if isinstance(row, Edge) else _newest(row).lane
        where = _lane_said(value, ident) if len(lanes) > 1 else ""
        if isinstance(row, Edge):
            out += _boundary(row, where)
        else:
            out += _fold_row(row, where) if isinstance(row, Fold) else _rows(row, where)
    if left:
        out.append(f"and {count(left, 'drop')} more; --json lists all")
    out += [f"cannot tell: {why}" for why in cannot_tell(value) if not (out and out[0].startswith("Unknown: "))]
    return out


def _order(row: Row) -> tuple[bool, bool, int]:
    if isinstance(row, Edge):
        return True, row.boundary.recorded, -row.step.number
    drop = _newest(row)
    return not drop.alarming, drop.recorded, -drop.step


def _boundary(edge: Edge, lane: str) -> list[str]:
    """As in the lost pane: one row bears the mark and the word of the boundary and stands for what left with it."""
    boundary, pieces = edge.boundary, edge.pieces
    sizes = "" if boundary.before is None and boundary.after is None else (
        f"{size(boundary.before)} -> {tokens(boundary.after)}"
    )  # fmt: skip
    known = [drop.tokens for drop in pieces if drop.tokens is not None]
    back = sum(drop.count for drop in pieces if drop.returned_at is not None)
    about = [sizes] if sizes and pieces else []
    if known:
        about.append(f"{tokens(sum(known))} left")
    if pieces:
        about.append(f"last in {max(drop.last_step for drop in pieces)}" + (f", {back:,} back later" if back else ""))
    record = boundary.why or next((drop.record for drop in pieces if drop.record), None)
    if not boundary.recorded:
        record = f"nobody recorded it; {record}" if record else "nobody recorded it"
    opaque = "; opaque: cannot be checked" if boundary.opaque else ""
    what = what_left(pieces) if pieces else sizes or "the prompt was cut"
    said = f"{', '.join(about)}; {name(record or 'recorded', 160)}{opaque}".removeprefix("; ")
    where = f"step {edge.step.number:>4}{lane}"
    out = [f"{GLYPHS[BOUNDARY]} {boundary_word(boundary):<11} {where}  {what}  [{said}]"]
    if edge.count < TOGETHER:
        out += [f"    {name(drop.name)}: {drop.head or '?'}  [{tokens(drop.tokens)}]" for drop in pieces]
    one = edge.survival
    if one is not None:
        out += table([(f"    {sort}", f"{kept} of {total}") for sort, (kept, total) in one.kept.items()])
        out += [f"    lost {lost.kind}: {name(lost.text, 200)}" for lost in one.lost[:20]]
        out += [f"    changed: {name(a)} -> {name(b)}" for a, b in one.changed]
    return out


def _listed(lane: Lane, told: dict[tuple[str, int], Survival]) -> list[Row]:
    """What one lane lost: alike ones of steps that follow one another, and what one boundary took, as one row."""
    found: list[Row] = [*folds(streams(lane.steps))]
    inside = {id(drop) for fold in found if isinstance(fold, Fold) for drop in fold.drops}
    for step in lane.steps:
        survival = told.get((lane.id, step.n))
        boundary = survival.boundary if survival is not None else step.boundary if cut(step) else None
        taken, rest = parted(step) if step.drops else ([], [])
        found += [drop for drop in rest if id(drop) not in inside]
        if boundary is not None:
            found.append(Edge(step, boundary, taken, survival))
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
    values = "" if fold.sort[0] == "segment" else "values "
    where = fold.where if fold.first.step != last.step else f"step {last.step:>4}"
    return [
        f"{drop_glyph(last)} {last.cause:<11} {where:<9}{lane}  {fold.what}"
        f"  [{values}{tokens(fold.tokens)}, last in {last.last_step}{back}; {_said(last)}]"
    ]


def size_said(drop: Drop) -> str:
    """Of a field that is its value; the line that carried it in the prompt has its name too."""
    return tokens(drop.tokens) if drop.what == "segment" else f"value {tokens(drop.tokens)}"


def _rows(drop: Drop, lane: str) -> list[str]:
    back = "" if drop.returned_at is None else f", back at {drop.returned_at}"
    if drop.count > 1 and drop.name.startswith(str(drop.count)):
        what = name(drop.name)  # `52 pieces: 26 call, 26 result`
    else:
        pieces = f" ({drop.count} pieces)" if drop.count > 1 else ""
        what = f"{drop.what} {name(drop.name)}{pieces}: {drop.head or '?'}"
    row = (
        f"{drop_glyph(drop)} {drop.cause:<11} step {drop.step:>4}{lane}  {what}"
        f"  [{size_said(drop)}, last in {drop.last_step}{back}; {_said(drop)}]"
    )
    needed = [f"    needed at {miss.step} by {name(miss.tool)}: {name(miss.error, 200)}" for miss in drop.missed_by]
    return [row, *needed]
