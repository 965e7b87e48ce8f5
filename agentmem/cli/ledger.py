"""`agentmem ledger PATH`: attempts, cycles, and waiting told apart from loops."""

from __future__ import annotations

from agentmem.cli import shapes
from agentmem.cli.common import lane_of, opened, parser, shown
from agentmem.cli.output import count, document, table, text, tokens
from agentmem.inspect.telling.circles import letter, together, told, turns
from agentmem.inspect.telling.marks import Numbers
from agentmem.model import Attempt, Cycle, Run, Waiting
from agentmem.safe import name


def run(arguments: list[str]) -> int:
    asked = parser("ledger", "Attempts, cycles, and waiting told apart from loops.")
    args = asked.parse_args(arguments)

    def show(value: Run) -> None:
        lanes = {lane_of(value, args.lane).id} if args.lane else {lane.id for lane in value.lanes}
        attempts = [one for lane in value.lanes if lane.id in lanes for step in lane.steps for one in step.attempts]
        cycles = [one for one in value.cycles if one.lane in lanes]
        waits = [one for one in value.waiting if one.lane in lanes]
        if not args.json:
            text(rows(value, attempts, cycles, waits))
            return
        document("ledger", {
            "attempts": [shapes.attempt(one) for one in attempts], "cycles": [shapes.cycle(one) for one in cycles],
            "waiting": [shapes.waiting(one) for one in waits], "results_known": value.results_known,
        })  # fmt: skip

    return shown(args, opened(args), show)


def span(steps: tuple[int, ...]) -> str:
    if len(steps) > 8:
        return f"steps {steps[0]} to {steps[-1]} ({len(steps)} steps)"
    return f"step{'' if len(steps) == 1 else 's'} {', '.join(map(str, steps))}"


def rows(value: Run, attempts: list[Attempt], cycles: list[Cycle], waits: list[Waiting]) -> list[str]:
    out = []
    if not value.results_known:
        out.append("cannot tell: results are not in this file")
    elif not cycles:
        out.append(f"No repeats in {count(len(attempts), 'attempt')}.")
    for alike in together(cycles):
        out += _found(value, alike)
    for wait in waits:
        often = count(wait.count, "time")
        out.append(f"z waiting  {name(wait.tool)}  {often}  {span(wait.steps)}  {tokens(wait.tokens)}")
    shown = [(str(one.step), one.tool, one.arguments[:60], one.outcome, (one.error or one.result_head or "")[:60])
             for one in reversed(attempts)]  # fmt: skip
    return [*out, "", *table([("step", "tool", "arguments", "outcome", "result"), *shown], right=(0,))]


def _found(value: Run, alike: list[Cycle]) -> list[str]:
    """Findings about the same calls: a row each (of many, the first and the last), then the calls once."""
    out = []
    single, between = told(alike)
    for place, one in enumerate(single):
        if between and place == len(single) - 1:
            steps = span(tuple(step for other in between for step in other.steps))
            out.append(f"  and {len(between)} more between them that are about the same: {steps}")
        state = "still turning" if one.ended_at is None else f"over at {one.ended_at}"
        out.append(
            f"↻ {one.kind}  period {one.period}  {count(one.count, 'time')}  {span(one.steps)}  {tokens(one.tokens)}"
            f"  named at {one.warned_at}, {state}"
        )
    newest = alike[-1]
    of_lane = value.lane(newest.lane).steps
    calls = {turn.place: turn.attempt for turn in turns(newest, of_lane, Numbers(of_lane).n_of)}
    for place, tool in enumerate(newest.tools):
        one_of_it = calls.get(place)
        arguments = "" if one_of_it is None or newest.kind == "same-error" else f" {name(one_of_it.arguments, 80)}"
        out.append(f"    {letter(place)} {name(tool)}{arguments}")
    return [*out, f"    {name(newest.detail, 200)}"] if newest.detail else out
