"""`agentmem ledger PATH`: attempts, cycles, and waiting told apart from loops."""

from __future__ import annotations

from collections.abc import Sequence

from agentmem.cli import shapes
from agentmem.cli.common import lane_of, opened, parser, shown
from agentmem.cli.output import count, document, table, text, tokens
from agentmem.inspect.telling.circles import ending, letter, together, told, turns
from agentmem.inspect.telling.marks import Numbers
from agentmem.model import Attempt, Cycle, Lane, Run, Waiting
from agentmem.safe import name


def run(arguments: list[str]) -> int:
    asked = parser("ledger", "Attempts, cycles, and waiting told apart from loops.")
    args = asked.parse_args(arguments)

    def show(value: Run) -> None:
        lanes = (lane_of(value, args.lane),) if args.lane else value.lanes
        ids = {lane.id for lane in lanes}
        attempts = [one for lane in lanes for step in lane.steps for one in step.attempts]
        cycles = [one for one in value.cycles if one.lane in ids]
        waits = [one for one in value.waiting if one.lane in ids]
        if not args.json:
            text(rows(value, lanes, cycles, waits))
            return
        document("ledger", {
            "attempts": map(shapes.attempt, attempts), "cycles": [shapes.cycle(one) for one in cycles],
            "waiting": [shapes.waiting(one) for one in waits], "results_known": value.results_known,
        })  # fmt: skip

    return shown(args, opened(args), show)


def span(steps: tuple[int, ...]) -> str:
    if len(steps) > 8:
        return f"steps {steps[0]} to {steps[-1]} ({len(steps)} steps)"
    return f"step{'' if len(steps) == 1 else 's'} {', '.join(map(str, steps))}"


def rows(value: Run, lanes: Sequence[Lane], cycles: list[Cycle], waits: list[Waiting]) -> list[str]:
    """Findings, then the attempts, the newest first in each lane. Of several lanes each row names its lane, since steps
    are counted in each."""
    named = {lane.id: name(lane.name or lane.id, 24) for lane in lanes}
    where = {ident: f" of {said}" if len(lanes) > 1 else "" for ident, said in named.items()}
    newest = [step for lane in lanes for step in reversed(lane.steps)]
    attempts: list[Attempt] = [one for step in newest for one in reversed(step.attempts)]
    out = []
    if not value.results_known:
        out.append("cannot tell: results are not in this file")
    elif not cycles:
        out.append(f"No repeats in {count(len(attempts), 'attempt')}.")
    for alike in together(cycles):
        out += _found(value, alike, where[alike[0].lane])
    for wait in waits:
        often, steps = count(wait.count, "time"), span(wait.steps) + where[wait.lane]
        out.append(f"z waiting  {name(wait.tool)}  {often}  {steps}  {tokens(wait.tokens)}")
    shown = [(str(one.step), one.tool, one.arguments[:60], one.outcome, (one.error or one.result_head or "")[:60])
             for one in attempts]  # fmt: skip
    body = [("step", "tool", "arguments", "outcome", "result"), *shown]
    if len(lanes) == 1:
        return [*out, "", *table(body, right=(0,))]
    beside = ["lane", *(named[one.lane] for one in attempts)]
    return [*out, "", *table([(lane, *row) for lane, row in zip(beside, body, strict=True)], right=(1,))]


def _found(value: Run, alike: list[Cycle], where: str) -> list[str]:
    """Findings about the same calls: a row each (of many, the first and the last), then the calls once."""
    out = []
    single, between = told(alike)
    for place, one in enumerate(single):
        if between and place == len(single) - 1:
            steps = span(tuple(step for other in between for step in other.steps))
            out.append(f"  and {len(between)} more between them that are about the same: {steps}{where}")
        out.append(
            f"↻ {one.kind}  period {one.period}  {count(one.count, 'time')}  {span(one.steps)}{where}"
            f"  {tokens(one.tokens)}  named at {one.warned_at}, {ending(value, one)}"
        )
    newest = alike[-1]
    of_lane = value.lane(newest.lane).steps
    calls = {turn.place: turn.attempt for turn in turns(newest, of_lane, Numbers(of_lane).n_of)}
    for place, tool in enumerate(newest.tools):
        one_of_it = calls.get(place)
        arguments = "" if one_of_it is None or newest.kind == "same-error" else f" {name(one_of_it.arguments, 80)}"
        out.append(f"    {letter(place)} {name(tool)}{arguments}")
    return [*out, f"    {name(newest.detail, 200)}"] if newest.detail else out
