"""`agentmem lost PATH`: what the newest boundary (or each) lost, as a block ready to paste back into the agent."""

from __future__ import annotations

from agentmem.cli.common import lane_of, opened, parser, shown
from agentmem.cli.output import block, count, document, encodable
from agentmem.inspect.telling.lost_block import lost_block
from agentmem.model import Run


def run(arguments: list[str]) -> int:
    asked = parser("lost", "What a compaction lost, as a block to paste back into the agent.")
    asked.add_argument("--last", action="store_true", help="only the newest boundary")
    args = asked.parse_args(arguments)

    def show(value: Run) -> None:
        lane = lane_of(value, args.lane).id if args.lane else None
        survivals = [one for one in value.survivals if lane is None or one.lane == lane]
        if not args.json:
            steps = count(sum(len(one.steps) for one in value.lanes), "step")
            block(lost_block(value, args.last, lane) or f"Nothing is known to be lost in {steps}.")
            return
        document("lost", {"boundaries": [
            {"step": one.step, "lane": one.lane, "kind": one.boundary.kind, "opaque": one.boundary.opaque,
             "lost": [{"kind": lost.kind, "text": encodable(lost.text), "tokens": lost.tokens} for lost in one.lost]}
            for one in (survivals[-1:] if args.last else survivals)
        ]})  # fmt: skip

    return shown(args, opened(args), show)
