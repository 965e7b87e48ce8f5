"""`agentmem lifeline PATH TEXT`: where a text stood, step by step."""

from __future__ import annotations

from agentmem.cli.common import Refused, lane_of, opened, parser, shown
from agentmem.cli.output import document, encodable, text
from agentmem.inspect.lifelines import text_lifeline
from agentmem.model import Lifeline, Run
from agentmem.safe import name


def run(arguments: list[str]) -> int:
    asked = parser("lifeline", "Where a text stood, step by step.")
    asked.add_argument("text", nargs="?", metavar="TEXT", help="the text to follow")
    args = asked.parse_intermixed_args(arguments)
    if args.text is None:
        raise Refused("lifeline: TEXT missing; `agentmem lifeline PATH TEXT`")
    if not args.text:
        raise Refused("lifeline: the text is empty")
    source = opened(args)

    def show(value: Run) -> None:
        lane = lane_of(value, args.lane)
        found = text_lifeline(
            value, lane.id, args.text, lambda ident: source.text(source.segment(lane.id, ident))
        )
        if args.json:
            document("lifeline", {
                "text": encodable(args.text), "lane": lane.id, "steps": len(lane.steps),
                "present": [list(pair) for pair in found.present],
                "changed": [{"step": step, "to": encodable(to)} for step, to in found.changed],
                "needed": list(found.needed), "said": list(found.said),
                "held": [{"in": encodable(name), "from": first, "to": last} for name, first, last in found.held],
                "lost_as": [{"field": encodable(of), "step": step} for of, step in found.lost_as],
            })  # fmt: skip
            return
        text([*([found.levels] if found.levels.strip() else []), sentence(found, len(lane.steps))])

    return shown(args, source, show)


def sentence(found: Lifeline, steps: int) -> str:
    needed = f", needed at {', '.join(map(str, found.needed))}" if found.needed else ""
    lost = "".join(f", lost as {name(of, 40)} at {step}" for of, step in found.lost_as)
    kept = ", ".join(f"{name(of, 40)} {_range(a, b)}" for of, a, b in found.held)
    held = f"held in {kept}" if kept else ""
    if not found.present:
        told = f"said by the model at {', '.join(map(str, found.said))}, " if found.said else ""
        count = "the one step" if steps == 1 else f"{steps} steps"
        return f"{told}{held}{', ' if held else ''}in no prompt of {count}{lost}{needed}"
    ranges = ", ".join(_range(a, b) for a, b in found.present)
    needed = f", {held}{needed}" if held else needed
    changed = "".join(f"; {form} since {step}?" for step, form in found.changed)
    return f"in the prompt {ranges}{lost}{needed}{changed}"


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"
