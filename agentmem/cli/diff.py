"""`agentmem diff PATH --from N --to M`: two prompts of a lane against each other."""

from __future__ import annotations

from typing import Any

from agentmem.cli import shapes
from agentmem.cli.common import lane_of, opened, parser, shown, step_of
from agentmem.cli.output import count, document, size, table, text
from agentmem.inspect.difference import difference, taken_by
from agentmem.inspect.telling.fold import parted
from agentmem.inspect.telling.marks import BOUNDARY, CHANGED, GLYPHS, boundary_word, drop_glyph
from agentmem.model import Drop, Run, Step


def run(arguments: list[str]) -> int:
    asked = parser("diff", "Two steps of a run against each other.")
    asked.add_argument("--from", dest="first", type=int, required=True, metavar="N", help="the earlier step")
    asked.add_argument("--to", dest="last", type=int, required=True, metavar="M", help="the later step")
    args = asked.parse_args(arguments)
    source = opened(args)

    def show(value: Run) -> None:
        lane = lane_of(value, args.lane)
        before, after = step_of(value, lane, args.first), step_of(value, lane, args.last)
        found = difference(before.prompt, after.prompt)
        added = [one.now for one in found.changes if one.sort == "added" and one.now is not None]
        gone = [one.was for one in found.changes if one.sort == "gone" and one.was is not None]
        pairs = [(one.was, one.now) for one in found.changes if one.was is not None and one.now is not None]
        taken = taken_by(lane.steps[before.n : after.n], gone)
        if args.json:
            document("diff", {
                "from": before.number, "to": after.number, "lane": lane.id,
                "added": [shapes.segment(one, source.text(one)) for one in added],
                "gone": [{**shapes.segment(one, source.text(one)), **lost(taken.get(one.id))} for one in gone],
                "shortened": [
                    {"was": shapes.segment(was, source.text(was)), "now": shapes.segment(now, source.text(now))}
                    for was, now in pairs
                ],
                "kept": found.kept, "kept_tokens": found.kept_tokens,
            })  # fmt: skip
            return
        rows = [("  kept", count(found.kept, "piece"), size(found.kept_tokens), "")]
        rows += [("+ added", one.kind, size(one.tokens), one.head or "") for one in added]
        changed = GLYPHS[CHANGED]
        rows += [(said(taken.get(one.id)), one.kind, size(one.tokens), one.head or "") for one in gone]
        rows += [(f"{changed} was", was.kind, size(was.tokens), was.head or "") for was, _ in pairs]
        rows += [(f"{changed} now", now.kind, size(now.tokens), now.head or "") for _, now in pairs]
        text([f"step {before.number} to {after.number} of {lane.id}", *table(rows, right=(2,))])

    return shown(args, source, show)


Taken = tuple[Step, Drop] | None


def said(taken: Taken) -> str:
    """Mark and word of what took a piece, as `agentmem drops` has them: `▲ silent`, `▼ trimmed`, `− removed`."""
    if taken is None:
        return "  gone"
    step, drop = taken
    if step.boundary is not None and drop in parted(step)[0]:
        return f"{GLYPHS[BOUNDARY]} {boundary_word(step.boundary)}"
    return f"{drop_glyph(drop)} {drop.cause}"


def lost(taken: Taken) -> dict[str, Any]:
    """What the run tells of its leaving; null where it is no drop."""
    step, drop = taken or (None, None)
    return {
        "left_at": None if step is None else step.number, "cause": None if drop is None else drop.cause,
        "recorded": None if drop is None else drop.recorded, "alarming": None if drop is None else drop.alarming,
    }  # fmt: skip
