"""`agentmem lifeline PATH TEXT`: where a text stood, step by step."""

from __future__ import annotations

from msgspec.structs import replace

from agentmem.cli.common import Refused, lane_of, opened, parser, shown
from agentmem.cli.output import document, encodable, text
from agentmem.inspect.lifelines import HELD, named_lifeline, ranges, text_lifeline
from agentmem.inspect.telling.left import steps_of
from agentmem.model import Lane, Lifeline, Run
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
        as_text = text_lifeline(value, lane.id, args.text, lambda ident: source.text(source.segment(lane.id, ident)))
        field = named_lifeline(value, lane.id, args.text)
        found = field or as_text
        if field is not None:
            held = ranges(lane, field.levels, (HELD,))
            found = field = replace(field, held=tuple((field.name, first, last) for first, last in held))
        lost = dict.fromkeys(found.lost_as)
        for step in lane.steps:
            for drop in step.drops:
                lost_it = drop.text == args.text if field is None else drop.name == field.name
                if lost_it and drop.what != "segment":
                    lost[drop.name, drop.step] = None
        if args.json:
            document("lifeline", {
                "text": encodable(args.text), "field": None if field is None else encodable(field.name),
                "lane": lane.id, "steps": len(lane.steps),
                "present": [list(pair) for pair in found.present],
                "changed": [{"step": step, "to": encodable(to)} for step, to in found.changed],
                "needed": list(found.needed), "said": list(found.said), "unrecorded": list(found.alarms),
                "held": [{"in": encodable(name), "from": first, "to": last} for name, first, last in found.held],
                "lost_as": [{"field": encodable(of), "step": step} for of, step in lost],
                "text_present": [list(pair) for pair in as_text.present],
            })  # fmt: skip
            return
        out = [found.levels] if found.levels.strip() else []
        if field is None:
            text([*out, sentence(found, lane, hidden=value.hidden)])
            return
        out.append(f"field {name(field.name)}: {sentence(field, lane, is_field=True, hidden=value.hidden)}")
        stood = replace(as_text, alarms=(), needed=(), lost_as=())
        text([*out, f"as a text: {sentence(stood, lane, hidden=value.hidden)}"])

    return shown(args, source, show)


def sentence(found: Lifeline, lane: Lane, is_field: bool = False, hidden: bool = False) -> str:
    """`in the prompt 4-28, 32, left unrecorded at 29, needed at 30`. `hidden`: see `Run.hidden`."""
    needed = f", needed at {', '.join(map(str, found.needed))}" if found.needed else ""
    lost = f", left unrecorded at {', '.join(map(str, found.alarms))}" if found.alarms else ""
    lost += "".join(f", lost as {name(of, 40)} at {step}" for of, step in found.lost_as)
    kept = ", ".join(_range(a, b) if is_field else f"{name(of, 40)} {_range(a, b)}" for of, a, b in found.held)
    outside = "and not found in it" if hidden else "outside it"
    held = f"held {outside if is_field else 'in'} {kept}" if kept else ""
    if not found.present:
        told = f"said by the model at {', '.join(map(str, found.said))}, " if found.said else ""
        count = "the one step" if len(lane.steps) == 1 else steps_of((lane,))
        return f"{told}{held}{', ' if held else ''}{'found ' if hidden else ''}in no prompt of {count}{lost}{needed}"
    ranges = ", ".join(_range(a, b) for a, b in found.present)
    needed = f", {held}{needed}" if held else needed
    changed = "".join(f"; {form} since {step}?" for step, form in found.changed)
    if is_field and found.changed:
        changed = f", changed at {', '.join(str(step) for step, _ in found.changed)}"
    return f"in the prompt {ranges}{lost}{needed}{changed}"


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"
