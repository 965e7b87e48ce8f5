"""`agentmem show PATH`: a run step by step, or one step whole; a list where PATH holds several runs."""

from __future__ import annotations

import argparse

from agentmem.cli import shapes
from agentmem.cli.common import lane_of, opened, parser, shown, step_of
from agentmem.cli.output import document, encodable, iso, size, table, text, tokens
from agentmem.inspect.measure import estimate
from agentmem.inspect.open import Opened, SeveralRuns
from agentmem.inspect.telling.verdict import verdict
from agentmem.model import Drop, Lane, Run, RunInfo, Step
from agentmem.safe import name

GOAL = 160
"""So many characters of the goal are shown."""


def run(arguments: list[str]) -> int:
    asked = parser("show", "A run, step by step; with --step one step whole.")
    asked.add_argument("--step", type=int, metavar="N", help="one step: its prompt, state, answer, results and drops")
    args = asked.parse_args(arguments)
    try:
        source = opened(args)
    except SeveralRuns as several:
        _list(several.runs, args.json)
        return 0

    def show(value: Run) -> None:
        if args.step is not None:
            _one(source, value, args)
        elif args.json:
            document("run", shapes.run(value, (lane_of(value, args.lane).id,) if args.lane else None))
        else:
            text(rows(value, lane_of(value, args.lane)))

    return shown(args, source, show)


def _list(runs: tuple[RunInfo, ...], as_json: bool) -> None:
    if as_json:
        document("runs", {"runs": [
            {"id": encodable(one.id), "path": encodable(one.path), "format": one.format, "steps": one.steps,
             "at": iso(one.at), "goal": encodable(one.goal), "status": one.status, "problem": encodable(one.problem)}
            for one in runs
        ]})  # fmt: skip
        return
    text(table([
        (name(one.id, 40), one.format, one.status, "?" if one.steps is None else str(one.steps), iso(one.at) or "?",
         name(one.problem or one.goal or "", 60), one.path)
        for one in runs
    ], right=(3,)))  # fmt: skip


def drop_text(source: Opened, drop: Drop) -> str | None:
    """Whole text of what was dropped; its head where the whole is gone."""
    if drop.text is not None:
        return drop.text
    if drop.segment is not None:
        return source.text(source.segment(drop.lane, drop.segment)) or drop.head
    return drop.head


def _one(source: Opened, value: Run, args: argparse.Namespace) -> None:
    lane = lane_of(value, args.lane)
    step = step_of(value, lane, args.step)
    if args.json:
        body = shapes.run(value, ())
        body["steps"] = [
            shapes.step_whole(
                step, source.text, lambda drop: drop_text(source, drop), lane.steps, value.counter
            )
        ]
        document("run", body)
        return
    out = [f"step {step.number} of {lane.id}: {tokens(step.tokens.prompt)}, goal {step.goal}"]
    for title, pieces in (
        ("what the model saw", step.prompt), ("what it answered", step.replies), ("what came back", step.results)
    ):  # fmt: skip
        out += ["", title, *table([(one.kind, size(one.tokens), one.head or "unknown") for one in pieces], right=(1,))]
    if step.fields:
        held = "held, not in the prompt"
        out += ["", "state"]
        out += table([
            (name(one.name), name(one.value[:100], 100), "" if one.segment is not None else held) for one in step.fields
        ])  # fmt: skip
    if step.drops:
        out += ["", "lost here"]
        out += table([(one.cause, name(one.name), size(one.tokens), one.head or "") for one in step.drops], right=(2,))
    text(out)


def rows(value: Run, lane: Lane) -> list[str]:
    """The run as text: a head of three lines, then one row a step."""
    held, source = estimate(lane.steps, len(lane.steps) - 1) if lane.steps else (None, "unknown")
    how = source if source == "reported" else f"{source}, {value.counter}"
    guessed = "  (first request)" if value.goal and not value.goal_declared else ""
    head = [
        f"{name(value.id)}  {value.format}  {value.provenance}  {value.status}"
        f"  {tokens(held) if value.window is None else f'{size(held)} of {tokens(value.window)}'} ({how})",
        f"goal: {name((value.goal or 'unknown')[: GOAL + 1], GOAL)}{guessed}",
        verdict(value).sentence,
    ]
    if value.notice:
        head.append(f"! {name(value.notice, 400)}")
    head += [f"! {name(problem.where)}: {name(problem.what, 400)}" for problem in value.problems[:8]]
    if len(value.problems) > 8:
        head.append(f"! and {len(value.problems) - 8} more")
    body = [("#", "mark", "action", "out", "state", "trace", "total", "change", "goal")]
    before: int | None = None
    for place, step in enumerate(lane.steps):
        total, _ = estimate(lane.steps, place)
        change = "" if before is None or total is None else f"{total - before:+d}"
        body.append((
            str(step.number), marks(step), action(step), outcome(step), size(step.tokens.state),
            size(step.tokens.trace), size(total), change, step.goal,
        ))  # fmt: skip
        before = total
    return [*head, "", *table(body, right=(0, 4, 5, 6, 7))]


def marks(step: Step) -> str:
    found = ""
    if any(drop.alarming for drop in step.drops):
        found += "▲"
    if step.boundary is not None:
        found += "▼"
    elif any(drop.recorded for drop in step.drops):
        found += "−"
    if any(attempt.outcome in ("error", "denied") for attempt in step.attempts):
        found += "✗"
    return found


def action(step: Step) -> str:
    if step.open:
        return "the next call"
    shown = ", ".join(f"{one.tool} {one.arguments}"[:60] for one in step.attempts[:2])
    more = f" and {len(step.attempts) - 2} more" if len(step.attempts) > 2 else ""
    if not shown and step.replies:
        shown = (step.replies[-1].head or "")[:60]
    return shown + more


def outcome(step: Step) -> str:
    if step.open:
        return "open"
    for wanted in ("error", "denied", "unknown"):
        if any(one.outcome == wanted for one in step.attempts):
            return wanted
    return "ok" if step.attempts else ""
