"""`agentmem lost PATH`: what the newest boundary (or each) lost, as a block ready to paste back into the agent."""

from __future__ import annotations

from agentmem.cli.common import lane_of, opened, parser, shown
from agentmem.cli.output import block, document, encodable, error
from agentmem.inspect.telling.fold import parted
from agentmem.inspect.telling.left import cannot_tell, left_of, nothing_lost, steps_of
from agentmem.inspect.telling.lost_block import held_now, is_unrecorded, lost_block, statement, unrecorded
from agentmem.model import Drop, Lane, Run


def run(arguments: list[str]) -> int:
    asked = parser("lost", "What a compaction lost, as a block to paste back into the agent.")
    asked.add_argument("--last", action="store_true", help="only the newest boundary")
    args = asked.parse_args(arguments)

    def show(value: Run) -> None:
        lanes = (lane_of(value, args.lane),) if args.lane else value.lanes
        ids = {lane.id for lane in lanes}
        survivals = [one for one in value.survivals if one.lane in ids]
        others = beside(lanes)
        if not args.json:
            paste = lost_block(value, args.last, lanes[0].id if args.lane else None)
            if paste:
                block(paste)
                if others:
                    error(f"beside this block {left_of(others)}: `agentmem drops` lists them")
            else:
                block("\n".join(nothing(value, lanes, others)))
            return
        gone = [drop for lane in lanes for drop in unrecorded(value, lane.id) if drop.returned_at is None]
        document("lost", {
            "silent": [
                {"step": drop.step, "lane": drop.lane, "what": drop.what, "kind": drop.kind,
                 "name": encodable(drop.name), "text": encodable(drop.text or drop.head), "tokens": drop.tokens,
                 "cause": drop.cause, "held": held_now(drop, value), "says": encodable(statement(drop))}
                for drop in reversed(gone)
            ],
            "boundaries": [
                {"step": one.step, "lane": one.lane, "kind": one.boundary.kind, "opaque": one.boundary.opaque,
                 "survival": {name: list(pair) for name, pair in one.kept.items()},
                 "lost": [{"kind": lost.kind, "text": encodable(lost.text), "tokens": lost.tokens}
                          for lost in one.lost],
                 "changed": [{"from": encodable(was), "to": encodable(now)} for was, now in one.changed]}
                for one in (survivals[-1:] if args.last else survivals)
            ],
            "beside": {
                "recorded": sum(drop.count for drop in others if drop.recorded),
                "unrecorded": sum(drop.count for drop in others if not drop.recorded),
            },
            "unknown": cannot_tell(value),
        })  # fmt: skip

    return shown(args, opened(args), show)


def beside(lanes: tuple[Lane, ...]) -> list[Drop]:
    """Drops that no block to paste back speaks of: neither silent losses nor what a boundary took."""
    return [drop for lane in lanes for step in lane.steps if step.drops
            for drop in parted(step)[1] if not is_unrecorded(drop)]  # fmt: skip


def nothing(value: Run, lanes: tuple[Lane, ...], others: list[Drop]) -> list[str]:
    """Why there is nothing to paste back, and what left all the same."""
    if not any(step.drops for lane in lanes for step in lane.steps):
        said = nothing_lost(value, lanes)
    else:
        steps = steps_of(lanes)
        said = f"Nothing to paste back in {steps}: no boundary lost a thing by name, no field is gone silently."
    ids = {lane.id for lane in lanes}
    opaque = [f"cannot tell: what the {one.boundary.kind} at step {one.step} lost, its summary is encrypted or missing"
              for one in value.survivals if one.lane in ids and one.boundary.opaque]  # fmt: skip
    more = [f"But {left_of(others)}: `agentmem drops` lists them."] if others else []
    unknown = [] if said.startswith("Unknown: ") else [f"cannot tell: {why}" for why in cannot_tell(value)]
    return [said, *more, *opaque, *unknown]
