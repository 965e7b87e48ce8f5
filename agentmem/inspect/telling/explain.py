"""How a figure was counted: the text behind `i`. Pure; each function gives lines: the rule, the evidence, the source.

Lines are safe for a terminal. Where something that left is no drop, the line says why it is none.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentmem.inspect.compare.words import is_item
from agentmem.inspect.measure import Scale, scaled, unaccounted
from agentmem.inspect.telling import marks
from agentmem.inspect.telling.circles import ending, letter
from agentmem.inspect.telling.lost_block import statement
from agentmem.inspect.telling.pulse import READ_ANEW, age, begun_line, quiet_after, standing
from agentmem.model import FRAME, UNSIZED, Attempt, Cycle, Drop, Field, Lane, Prompt, Run, Segment, Step, Waiting, Where
from agentmem.safe import line, name
from agentmem.tape import PromptView

COUNTERS = {
    "quick": "characters divided by 4, those of Chinese, Japanese and Korean most of a token each",
    "words": "words between spaces",
    "pieces5": "pieces of at most 5 characters",
    "chars4": "characters divided by 4, rounded up",
    "o200k": "the o200k byte-pair encoding",
    "claude": "a reconstruction of Claude's tokenizer",
}
NOT_SENT = "not re-sent"
PROVENANCE = {
    "exact": "exact: the request itself was kept",
    "reconstructed": "rebuilt from the file; what is not in it is shown as unknown",
    "partial": "what the model saw is not in this file",
}
LISTED = 6


def counter_text(run: Run) -> str:
    """How this run's texts are counted, in words."""
    return f"counted by {run.counter}: {COUNTERS.get(run.counter, 'a counter given by name')}"


def _frames(prompt: Prompt) -> int:
    """How many pieces are the words around the fields of a rendered state."""
    if isinstance(prompt, PromptView):
        frames = set(prompt.tape.frames)
        return sum(ident in frames for ident in prompt.ids) if frames else 0
    return sum(segment.field == FRAME for segment in prompt)


def where_text(where: Where | None) -> str:
    if where is None:
        return "source: not in a file"
    if where.source.startswith("history:"):
        return f"source: an earlier version of {line(where.source.removeprefix('history:'))}, kept in the history"
    at = f"line {where.line}" if where.line is not None else f"byte {where.offset:,}"
    return f"source: {line(where.source)}, {at}"


GOALS = {
    "last": "the goal is the last piece of this prompt: nothing stands after it",
    "present": "the goal stands in this prompt",
    "buried": "the goal stands in this prompt, but not at the end of one rendered from state, or with more than half "
              "of the window after it",
    "missing": "the goal stood in an earlier prompt, or is held in the state, and does not stand in this one",
    "changed": "the goal's text is another one than at first",
    "unknown": "which text is the goal cannot be told from this file",
}  # fmt: skip


def explain_header(run: Run, step: Step, size: str = "", now: float | None = None) -> tuple[str, ...]:
    """The words of the header, one line each: the reader's place, the goal, the agent's state, the alarms. Figures are
    those of this step and this moment: `size` are the tokens of its prompt as they are shown, `now` is in seconds since
    the epoch."""
    last = step.n
    for lane in run.lanes:
        if lane.id == step.lane and lane.steps:
            last = lane.steps[-1].n
    paused = f"PAUSED +{last - step.n}: you look at an earlier step, {_count(last - step.n, 'newer one')} came"
    if last == step.n:
        paused = "PAUSED: you look at an earlier step, or stand on the newest without following"
    found = standing(run, now)
    silent = "" if found.word != "quiet" or found.seconds is None else f" {age(found.seconds)}"
    lines = [
        "LIVE: the file changed within 2 minutes, or a call has no result yet and it changed within 10",
        f"QUIET{silent}: live, but nothing was written for so long, which is unusual for this run (over "
        f"{quiet_after(run):.0f}s: twice the longest of its last pauses between steps); its writer may have ended",
        f"{paused}; End or space goes back to the newest",
        "ENDED: the run says that it is over; STALE: it does not, and nothing has changed or can change any more",
        "UNREADABLE, GONE: the file cannot be read now, or is gone; what stands here is its last good state",
        f"goal {_goal_word(step)}: {_goal(run, step)}{_after(run, step)}",
        _agent(run, now),
    ]
    window = run.window
    share = "; the window is unknown" if window is None else f" of {window:,} ({run.window_source})"
    figure = f"{size}: " if size else ""
    lines.append(f"{figure}tokens of this step's prompt, and their share of the window{share}")
    lines.append("▲: fields, facts, plan items, goals and system prompts that left and that nobody recorded; ↻: loops")
    lines.append(f"{run.provenance.upper()}: {PROVENANCE[run.provenance]}")
    lines += [f"? in doubt: {line(begun_line(call))}" for call in run.doubts]
    if run.notice:
        stands = "was read since" if run.notice.endswith(READ_ANEW) else "is what was read before"
        lines.append(f"! {line(run.notice)}: what happened to the file; what stands here {stands}")
    return tuple(lines)


def _goal_word(step: Step) -> str:
    return " ".join(marks.goal_said(step))


def _goal(run: Run, step: Step) -> str:
    if step.goal == "unknown" and run.goal is not None and run.hidden:
        return f"the goal stands in nothing that is known of this prompt, {not_known(run)}"
    if step.loses_goal:
        return f"the goal left with this step: {marks.UNSURE['cut']}"
    return GOALS[step.goal]


def not_known(run: Run) -> str:
    """What of the prompts is not in the file, in words."""
    return f"and not in this file: {', '.join(map(line, run.unknown))}"


def _after(run: Run, step: Step) -> str:
    after = step.tokens_after_goal
    if after is None:
        return ""
    return f"; {after:,} after it: so many tokens stand behind it ({counter_text(run)})" if after else ""


def _agent(run: Run, now: float | None) -> str:
    if run.status == "ended":
        how = "" if run.ended_as is None else f", in its word: {line(run.ended_as[:80])}"
        return f"ended: the run says that it is over{how}"
    since = None if run.pending is None else run.pending[1]
    waited = "" if since is None or now is None else f" {age(now - since)}"
    if run.pending is not None and run.pending[0] == "model":
        return f"model{waited}: every call has its result, so the model is next; the time since the last of them came"
    if run.pending is not None:
        return f"{name(run.pending[0], 30)}{waited}: this call has no result yet; the time since it was made"
    if run.status == "stale":
        seconds = standing(run, now).seconds
        silent = "" if seconds is None else f" {age(seconds)}"
        return f"stale{silent}: no call waits for a result, and the file has not changed for so long"
    if run.status == "live":
        return "your turn: the list ends in an answer without a call, so the agent waits for a person"
    return "the agent's state is unknown: the file does not tell when it changed"


def explain_prompt(run: Run, step: Step) -> tuple[str, ...]:
    """Tokens of a step's prompt: what was reported, what was counted, by origin, against the window."""
    lines = [f"prompt of step {step.number}: {PROVENANCE[step.prompt.provenance]}"]
    usage = step.usage
    if usage is not None and usage.prompt:
        rule = line(usage.rule) or "as the provider gives it"
        lines.append(f"reported {_count(usage.prompt, 'token')}; rule: {rule}")
        if usage.source:
            lines.append(f"source: {line(usage.source)}")
    counted = step.tokens
    if step.unsure is not None:
        lines.append(f"not sure: {marks.UNSURE[step.unsure]}")
    if step.unsure in UNSIZED:
        lines.append("counted: unknown, only a part of it was seen")
    elif counted.prompt is None:
        lines.append("counted: unknown, nothing of it is in the file")
    else:
        parts = [
            f"{word} {'unknown' if value is None else f'{value:,}'}"
            for word, value in (("state", counted.state), ("trace", counted.trace), ("fixed", counted.fixed))
        ]
        lines.append(f"counted {counted.prompt:,} = {', '.join(parts)}; {counter_text(run)}")
    if counted.unknown:
        lines.append(f"not counted: {_count(counted.unknown, 'piece')} whose text is not in the file")
    scale = Scale(run.lane(step.lane).steps, step.n - 1)
    used, _ = scale.size(step)
    basis = scale.rule(step)
    if used is not None and basis is not None:
        lines.append(f"not reported: estimated {_count(used, 'token')}; {basis}")
    frames = _frames(step.prompt)
    if frames:
        words = "words around the fields of a state, which have no row"
        lines.append(f"{_count(len(step.prompt), 'segment')}; {frames:,} of them {words}")
    parted = scaled(step)
    if parted is not None:
        words = f"state {parted.state:,}, trace {parted.trace:,}, fixed {parted.fixed:,}"
        lines.append(f"scaled to what was reported, by largest remainders: {words}")
    rest = unaccounted(step, run.counter)
    if rest is not None:
        lines.append(f"unaccounted: {rest:+,} tokens that the texts do not explain")
    if run.window is not None:
        share = f", {100 * used / run.window:.0f} % used" if used is not None and run.window else ""
        lines.append(f"window {run.window:,} ({run.window_source}){share}")
    else:
        lines.append("window: unknown; give it with --window")
    if run.unknown:
        lines.append(f"not in this file: {', '.join(map(line, run.unknown))}")
    return (*lines, *not_drops(run, step))


def explain_piece(run: Run, step: Step, segment: Segment) -> tuple[str, ...]:
    """One piece: how it was counted, since when it stands there, where its text is."""
    kind = segment.kind if segment.field is None else f"{segment.kind}, field {line(segment.field)}"
    lines = [f"{kind}: piece {segment.id}, key {segment.key:016x}"]
    if segment.head is None:
        lines.append("its text is not in this file, so its tokens are unknown")
    elif segment.tokens is None:
        lines.append("tokens unknown: the text alone does not tell what the model pays for it")
    else:
        size = "" if segment.characters is None else f" for {_count(segment.characters, 'character')}"
        lines.append(f"{_count(segment.tokens, 'token')}{size}; {counter_text(run)}")
    born = _born(step, segment)
    if born is not None:
        lines.append(f"in the prompt since step {_number(run, step.lane, born)}")
    if segment.stub_of is not None:
        lines.append(f"stands for piece {segment.stub_of}, which it replaces")
    if not_sent_again(run.lane(step.lane).steps, step, segment):
        lines.append(f"{NOT_SENT}: the prompt of the next call does not hold it, so that it costs nothing there")
    lines.append(where_text(segment.where))
    return tuple(lines)


def not_sent_again(steps: Sequence[Step], step: Step, segment: Segment) -> bool:
    """Whether it is known of a piece of thinking that the call after the step that thought it was not sent it.
    `steps`: those of its lane."""
    if segment.kind != "thinking" or not 0 < step.n < len(steps) or all(one.id != segment.id for one in step.replies):
        return False
    after = steps[step.n]
    return after.prompt.provenance != "partial" and all(one.key != segment.key for one in after.prompt)


def explain_drop(run: Run, drop: Drop) -> tuple[str, ...]:
    """Why this counts as a drop, and why as a recorded or a silent one."""
    still = drop.still
    rest = "and the same content stands nowhere else in that prompt" if still is None else line(still.why)
    lines = [f"{name(statement(drop))}: stood at step {drop.last_step}, not at step {drop.step}, {rest}"]
    if still is not None:
        where = "nowhere in the prompt" if still.where is None else f"in {line(still.where)}"
        lines.append(f"no drop by itself; told because a call failed for it, when its value stood {where}")
    if drop.recorded:
        lines.append(f"recorded, cause {drop.cause}" + (f": {line(drop.record)}" if drop.record else ""))
    else:
        lines.append("recorded by nobody: no drop line, no boundary, no removal message and no stub in its place")
        if drop.cause == "silent":
            lines.append("silent: no other cause was found")
        else:
            lines.append(f"cause: {drop.cause}")
    steps = run.lane(drop.lane).steps
    if 0 < drop.n <= len(steps) and (unsure := steps[drop.n - 1].unsure) is not None:
        lines.append(f"prompt of step {drop.step}: {marks.UNSURE[unsure]}")
    if drop.tokens is not None:
        lines.append(f"{_count(drop.tokens, 'token')}; {counter_text(run)}")
    if drop.count > 1:
        lines.append(f"this row stands for {drop.count} pieces of one step")
    for miss in drop.needs[:LISTED]:
        lines.append(f"missed at step {miss.step}: {name(miss.tool, 40)} failed with {name(miss.error, 100)}")
    if drop.returned_at is not None:
        lines.append(f"it came back at step {drop.returned_at}")
    return tuple(lines)


def explain_field(run: Run, step: Step, held: Field) -> tuple[str, ...]:
    lines = [f"{line(held.name)}: {_count(held.tokens, 'token')}; {counter_text(run)}"]
    if held.segment is None and run.hidden:
        where = "neither its line nor its value stands in what is known of the prompt"
        lines.append(f"held in the state; {where}, {not_known(run)}")
    elif held.segment is None:
        lines.append("held in the state, not in the prompt: neither its line nor its value stands in a message")
    else:
        lines.append(f"carried by piece {held.segment} of the prompt of step {step.number}")
    if held.verified_by is not None:
        at = "" if held.verified_at is None else f" at step {held.verified_at}"
        lines.append(f"verified by {line(held.verified_by)}{at}")
    elif held.name.startswith("facts."):
        lines.append("no verifier is recorded")
    return tuple(lines)


def explain_cycle(run: Run, cycle: Cycle) -> tuple[str, ...]:
    """The ledger's rule that found it, with its members."""
    rules = {
        "repeat": "the same call with the same result three times within 20 attempts" if cycle.period == 1 else
                  f"{cycle.period} calls that take turns, each three times within 20 attempts with the same result",
        "cycle": f"a sequence of {cycle.period} calls that repeats with the same results, named at attempt "
                 f"{2 * cycle.period + 1} of it",
        "same-error": "one error three times, whatever the arguments",
        "undo": "an edit that is reversed, twice on one file",
        "relapse": "what was named before came back after other calls; its count goes on",
    }  # fmt: skip
    times = _count(cycle.count, "time")
    first, last = cycle.steps[0], cycle.steps[-1]
    lines = [
        f"{cycle.kind}: {rules[cycle.kind]}",
        f"{times} round, from step {first} to {last}; certain, and named, from step {cycle.warned_at} on",
    ]
    for place, (tool, signature) in enumerate(zip(cycle.tools, cycle.signatures, strict=False)):
        lines.append(f"{letter(place)}: {name(tool, 40)}, signature {name(signature, 40)}")
    if cycle.tokens is not None:
        lines.append(f"{_count(cycle.tokens, 'token')}: the prompts of its {_count(len(cycle.steps), 'step')} together")
    lines.append(ending(run, cycle))
    return tuple(lines)


def explain_waiting(run: Run, waiting: Waiting) -> tuple[str, ...]:
    lines = [f"waiting, not a loop: {name(waiting.tool, 40)} asked {_count(waiting.count, 'time')} while something ran"]
    if waiting.tokens is not None:
        steps = _count(len(waiting.steps), "step")
        lines.append(f"{_count(waiting.tokens, 'token')}: the prompts of its {steps} together")
    return tuple(lines)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def explain_attempt(run: Run, attempt: Attempt) -> tuple[str, ...]:
    lines = [f"attempt {attempt.step}.{attempt.index}: signature {name(attempt.signature, 60)}"]
    lines.append("result: unknown" if attempt.result_key is None else f"result key {name(attempt.result_key, 60)}: "
                 "the result after clock times, durations, process ids and addresses are masked")  # fmt: skip
    lines.append(f"effect {attempt.effect}, outcome {attempt.outcome}")
    if attempt.tokens is not None:
        lines.append(f"{_count(attempt.tokens, 'token')}: the prompt of its step")
    return tuple(lines)


def not_drops(run: Run, step: Step) -> tuple[str, ...]:
    """What left with this step and is not a drop, each with its reason."""
    if step.parent is None:
        return ()
    try:
        lane = run.lane(step.parent[0])
    except KeyError:
        return ()
    before = _step(lane, step.parent[1])
    if before is None:
        return ()
    lines = [*_moved_pieces(before, step), *_fields_gone(before, step)]
    more = [f"and {len(lines) - LISTED} more that left and are no drops"] if len(lines) > LISTED else []
    return (*lines[:LISTED], *more)


def _moved_pieces(before: Step, step: Step) -> Sequence[str]:
    old, new = before.prompt, step.prompt
    if not (isinstance(old, PromptView) and isinstance(new, PromptView) and old.tape is new.tape):
        return ()
    tape, here = new.tape, set(new.ids)
    left = [ident for ident in old.ids if ident not in here]
    if not left:
        return ()
    keys = {tape.keys[ident] for ident in here}
    return [
        f"{tape.segment(ident).kind} {name(tape.segment(ident).head or '', 40)}: not a drop, because the same content "
        "still stands in the prompt"
        for ident in left
        if tape.keys[ident] in keys
    ]


def _fields_gone(before: Step, step: Step) -> Sequence[str]:
    """Fields with another value, then all that was spared when the step was compared, each with its reason."""
    held = {field.name: field for field in step.fields}
    told = {drop.name for drop in step.drops}
    lines = []
    for field in before.fields:
        now = held.get(field.name)
        if now is not None and now.value != field.value and field.name not in told and not is_item(field.name):
            told.add(field.name)
            lines.append(f"{line(field.name)}: not a drop, because the same name has another value (changed)")
    for of, why in step.spared:
        if of not in told:
            told.add(of)
            lines.append(f"{line(of)}: not a drop, because {line(why)}")
    return lines


def _born(step: Step, segment: Segment) -> int | None:
    prompt = step.prompt
    if isinstance(prompt, PromptView) and segment.id < len(prompt.tape):
        return prompt.tape.born[segment.id] or None
    return None


def _step(lane: Lane, n: int) -> Step | None:
    place = n - lane.steps[0].n if lane.steps else -1
    return lane.steps[place] if 0 <= place < len(lane.steps) else None


def _number(run: Run, lane_id: str, n: int) -> int:
    step = _step(run.lane(lane_id), n)
    return n if step is None else step.number
