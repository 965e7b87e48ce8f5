"""`agentmem show PATH`: a run step by step, or one step whole; a list where PATH holds several runs."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence

from msgspec.structs import replace

from agentmem.cli import shapes
from agentmem.cli.common import keeper_of, lane_of, opened, parser, shown, step_of
from agentmem.cli.output import count, document, encodable, iso, size, table, text, tokens
from agentmem.formats.reader import Keeper
from agentmem.inspect.discover import is_address
from agentmem.inspect.measure import Scale, estimate, reported, scaled_to, sizes
from agentmem.inspect.open import NotYet, Opened, SeveralRuns, Unreadable, open_info
from agentmem.inspect.telling import marks
from agentmem.inspect.telling.explain import NOT_SENT, not_sent_again
from agentmem.inspect.telling.fold import parted, what_left
from agentmem.inspect.telling.left import steps_of
from agentmem.inspect.telling.pulse import begun_line, said, trouble
from agentmem.inspect.telling.verdict import verdict
from agentmem.model import FRAME, Drop, Lane, Run, RunInfo, Step, Tokens
from agentmem.safe import name

GOAL = 160
"""So many characters of the goal are shown."""
COUNT_SECONDS, COUNT_BYTES = 2.0, 4 * 1024 * 1024
"""How long the runs of a list are opened to count their steps; no file that is larger."""


def run(arguments: list[str]) -> int:
    asked = parser("show", "A run, step by step; with --step one step whole.")
    asked.add_argument("--step", type=int, metavar="N", help="one step: its prompt, state, answer, results and drops")
    args = asked.parse_args(arguments)
    try:
        source = opened(args)
    except SeveralRuns as several:
        _list(counted(several.runs, args.counter, keeper_of(args)), args.json)
        return 0

    def show(value: Run) -> None:
        if args.step is not None:
            _one(source, value, args)
        elif args.json:
            document("run", shapes.run(value, (lane_of(value, args.lane).id,) if args.lane else None))
        else:
            text(rows(value, lane_of(value, args.lane)))

    return shown(args, source, show)


def _list(runs: Sequence[RunInfo], as_json: bool) -> None:
    if as_json:
        document("runs", {"runs": [
            {"id": encodable(one.id), "path": encodable(one.path), "format": one.format, "steps": one.steps,
             "at": iso(one.at), "goal": encodable(one.goal), "status": one.status,
             "problem": encodable(one.problem or one.damage)}
            for one in runs
        ]})  # fmt: skip
        return
    head = ("run", "format", "status", "steps done", "changed", "goal or trouble", "path")
    text(table([head, *(
        (name(one.id, 40), one.format, one.status, "?" if one.steps is None else str(one.steps), iso(one.at) or "?",
         name(trouble(one) or one.goal or "", 60), one.path)
        for one in runs
    )], right=(3,)))  # fmt: skip


def counted(runs: Sequence[RunInfo], counter: str, keeper: Keeper | None = None) -> list[RunInfo]:
    """The rows with the steps that are done in all lanes, as the run itself has them: the head of a file may tell
    another number, or none. Of what there is no time for, or what is large, only the head is read. `keeper`: has
    versions seen earlier, whose steps count too."""
    until = time.monotonic() + COUNT_SECONDS
    found = []
    for one in runs:
        try:
            small = is_address(one.path) or os.stat(one.path).st_size <= COUNT_BYTES
            if one.problem is None and small and time.monotonic() < until:
                lanes = open_info(one, counter=counter, keeper=keeper).run.lanes
                one = replace(one, steps=sum(not step.open for lane in lanes for step in lane.steps))
        except (Unreadable, NotYet, OSError):
            pass  # cannot be opened: the row stays as its head told it
        found.append(one)
    return found


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
    frames = sum(one.field == FRAME for one in step.prompt)
    saw = count(len(step.prompt) - frames, "piece") + (f" and {frames} of words around fields" if frames else "")
    out = [f"step {step.number} of {lane.id}: {tokens(step.tokens.prompt)} in {saw}, goal {marks.goal_said(step)[1]}"]
    if step.unsure is not None:
        out.append(f"? {marks.UNSURE[step.unsure]}")
    for title, pieces in (
        ("what the model saw", step.prompt), ("what it answered", step.replies), ("what came back", step.results)
    ):  # fmt: skip
        if step.unsure == "folded" and pieces is not step.prompt:
            out += ["", title, marks.ANSWER_UNKNOWN]
            continue
        out += ["", title, *table([
            (f"{one.kind}, {NOT_SENT}" if not_sent_again(lane.steps, step, one) else one.kind, size(one.tokens),
             one.head or "unknown")
            for one in pieces
        ], right=(1,))]  # fmt: skip
    if step.fields:
        held = marks.HELD_UNSEEN if value.hidden else marks.HELD
        out += ["", "state"]
        out += table([
            (name(one.name), name(one.value[:100], 100), "" if one.segment is not None else held) for one in step.fields
        ])  # fmt: skip
    if step.drops:
        out += ["", "lost here"]
        out += table(_lost_rows(step), right=(2,))
    text(out)


def _lost_rows(step: Step) -> list[tuple[str, str, str, str]]:
    """What merely left with a boundary bears its mark and is one row; everything else has its own."""
    taken, rest = parted(step)
    found = [(f"{marks.drop_glyph(one)} {one.cause}", name(one.name), size(one.tokens), one.head or "") for one in rest]
    if taken and step.boundary is not None:
        known = [one.tokens for one in taken if one.tokens is not None]
        mark = f"{marks.GLYPHS[marks.BOUNDARY]} {marks.boundary_word(step.boundary)}"
        found.append((mark, what_left(taken), size(sum(known) if known else None), ""))
    return found


def rows(value: Run, lane: Lane) -> list[str]:
    """The run as text: a head of three lines, then one row a step."""
    held, source = estimate(lane.steps, len(lane.steps) - 1) if lane.steps else (None, "unknown")
    how = source if source == "reported" else f"{source}, {value.counter}"
    guessed = "  (first request)" if value.goal and not value.goal_declared else ""
    word = "" if value.ended_as is None else f": {name(value.ended_as, 40)}"
    head = [
        f"{name(value.id)}  {value.format}  {value.provenance}  {said(value, time.time())}{word}"
        f"  {tokens(held) if value.window is None else f'{size(held)} of {tokens(value.window)}'} ({how})",
        f"goal: {name((value.goal or 'unknown')[: GOAL + 1], GOAL)}{guessed}",
        verdict(value).sentence,
    ]
    if value.notice:
        head.append(f"! {name(value.notice, 400)}")
    head += [f"{'? in doubt' if call.in_doubt else '! under way'}: {name(begun_line(call), 400)}"
             for call in value.begun]  # fmt: skip
    head += [f"! {name(problem.where)}: {name(problem.what, 400)}" for problem in value.problems[:8]]
    if len(value.problems) > 8:
        head.append(f"! and {len(value.problems) - 8} more")
    if len(value.lanes) > 1:
        others = ", ".join(name(one.name or one.id, 24) for one in value.lanes[:9] if one is not lane)
        head.append(f"lane {name(lane.name or lane.id, 24)}: {steps_of((lane,))}; --lane shows another: {others}")
    masks = bytearray(map(marks.mark_of, lane.steps))
    letters = marks.overlay(value, lane.id, masks, marks.Numbers(lane.steps))
    body = [("#", "mark", "action", "out", "state", "trace", "total", "change", "goal")]
    before: int | None = None
    whole = True
    for place, (step, (total, kind)) in enumerate(zip(lane.steps, sizes(lane.steps), strict=True)):
        parts = parts_of(step, total)
        whole = whole and (parts is not step.tokens or total == step.tokens.prompt)
        about = "≈" if kind == "estimated" or (step.unsure is not None and total is not None) else ""
        change = "" if before is None or total is None else f"{total - before:+d}"
        body.append((
            str(step.number), marks.shown(masks[place], letters.get(step.n, "")), action(step), outcome(step),
            size(parts.state), size(parts.trace), about + size(total), change,
            marks.goal_said(step)[1],
        ))  # fmt: skip
        before = total
    if any(reported(step) is not None for step in lane.steps):
        head.append(SCALED if whole else COUNTED)
    if source == "estimated":
        rule = Scale(lane.steps, len(lane.steps) - 1).rule(lane.steps[-1])
        head.append(f"≈ is an estimate; step {lane.steps[-1].number}: {rule}")
    return [*head, "", *table(body, right=(0, 4, 5, 6, 7))]


SCALED = "total is what the provider reported; state and trace are estimates scaled to it"
COUNTED = (
    "total is what the provider reported; state and trace are only counted: parts of the prompt are not in this file"
)


def parts_of(step: Step, total: int | None) -> Tokens:
    """State and trace on the scale of the total; as counted where parts of the prompt are not in the file."""
    return scaled_to(step.tokens, total) or step.tokens


def action(step: Step) -> str:
    if step.open:
        return "the next call"
    if step.unsure == "folded":
        return marks.ANSWER_UNKNOWN
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
