"""Values -> the JSON of the contract. Every step number but `n` is the file's own where it has one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agentmem.cli.output import encodable, iso
from agentmem.inspect.measure import estimate, scaled, sizes, unaccounted
from agentmem.inspect.telling.explain import not_sent_again
from agentmem.model import (
    FRAME,
    UNSIZED,
    Attempt,
    Boundary,
    Cycle,
    Drop,
    Field,
    Run,
    Segment,
    Step,
    Survival,
    Tokens,
    Waiting,
    Where,
)


def where(place: Where | None) -> dict[str, Any] | None:
    if place is None:
        return None
    return {"source": encodable(place.source), "offset": place.offset, "length": place.length, "line": place.line}


def key(value: int) -> str:
    return f"{value:016x}"


def attempt(value: Attempt) -> dict[str, Any]:
    return {
        "step": value.step, "lane": value.lane, "n": value.n, "index": value.index, "tool": encodable(value.tool),
        "arguments": encodable(value.arguments), "signature": value.signature, "outcome": value.outcome,
        "result_key": value.result_key, "effect": value.effect, "error": encodable(value.error),
        "call_id": encodable(value.call_id),
    }  # fmt: skip


def boundary(value: Boundary | None) -> dict[str, Any] | None:
    if value is None:
        return None
    return {
        "kind": value.kind, "recorded": value.recorded, "before": value.before, "after": value.after,
        "why": encodable(value.why), "opaque": value.opaque,
    }  # fmt: skip


def drop(value: Drop, text: str | None) -> dict[str, Any]:
    return {
        "step": value.step, "lane": value.lane, "n": value.n, "what": value.what, "name": encodable(value.name),
        "kind": value.kind, "text": encodable(text), "tokens": value.tokens, "cause": value.cause,
        "recorded": value.recorded, "record": encodable(value.record), "last_step": value.last_step,
        "returned_at": value.returned_at, "count": value.count,
        "missed_by": [
            {"step": miss.step, "lane": miss.lane, "tool": encodable(miss.tool), "error": encodable(miss.error)}
            for miss in value.missed_by
        ],
        "still": None if value.still is None else {
            "why": encodable(value.still.why), "where": encodable(value.still.where), "segment": value.still.segment,
            "part_of": encodable(value.still.part_of),
        },
    }  # fmt: skip


def segment(value: Segment, text: str | None) -> dict[str, Any]:
    return {
        "id": value.id, "kind": value.kind, "text": encodable(text), "tokens": value.tokens, "key": key(value.key),
        "where": where(value.where), "field": encodable(value.field), "tool": encodable(value.tool),
        "call_id": encodable(value.call_id),
    }  # fmt: skip


def field(value: Field) -> dict[str, Any]:
    return {
        "name": encodable(value.name), "value": encodable(value.value), "tokens": value.tokens,
        "verified_by": encodable(value.verified_by), "verified_at": value.verified_at,
        "in_prompt": value.segment is not None, "done": value.done,
    }  # fmt: skip


def step(value: Step, told: tuple[int | None, str], counter: str = "") -> dict[str, Any]:
    """`told`: the size of its prompt and what kind of figure it is (`inspect.measure.estimate`)."""
    size, source = told
    return {
        "n": value.n, "own": value.own, "at": iso(value.at), "lane": value.lane, "open": value.open,
        "prompt_tokens": value.tokens.prompt, "reported_tokens": value.usage.prompt if value.usage else None,
        "state_tokens": value.tokens.state, "trace_tokens": value.tokens.trace, "fixed_tokens": value.tokens.fixed,
        "segments": None if value.unsure in UNSIZED else len(value.prompt), "unsure": value.unsure,
        "goal": value.goal, "tokens_after_goal": value.tokens_after_goal,
        "attempts": [attempt(one) for one in value.attempts], "boundary": boundary(value.boundary),
        "drops": sum(one.count for one in value.drops), "pending": value.pending, "gap": value.gap,
        "tokens": size, "tokens_source": source, "scaled": sections(scaled(value)),
        "unaccounted_tokens": unaccounted(value, counter),
    }  # fmt: skip


def sections(value: Tokens | None) -> dict[str, int | None] | None:
    """The parts of a prompt by origin."""
    return None if value is None else {"state": value.state, "trace": value.trace, "fixed": value.fixed}


def step_whole(
    value: Step, text: Callable[[Segment], str | None], drop_text: Callable[[Drop], str | None],
    steps: Sequence[Step] = (), counter: str = "",
) -> dict[str, Any]:  # fmt: skip
    told = estimate(steps, value.n - 1) if 0 < value.n <= len(steps) else (value.tokens.prompt, "counted")
    shown = step(value, told, counter)
    shown["frames"] = sum(one.field == FRAME for one in value.prompt)
    shown["prompt"] = [segment(one, text(one)) for one in value.prompt]
    shown["state"] = [field(one) for one in value.fields]
    shown["replies"] = [
        {**segment(one, text(one)), "not_sent_again": not_sent_again(steps, value, one)} for one in value.replies
    ]
    shown["results"] = [segment(one, text(one)) for one in value.results]
    shown["drops"] = [drop(one, drop_text(one)) for one in value.drops]
    return shown


def run(value: Run, lanes: tuple[str, ...] | None = None) -> dict[str, Any]:
    """Its steps are an iterator, made as they are written."""
    body: dict[str, Any] = {
        "id": encodable(value.id), "path": encodable(value.path), "format": value.format,
        "provenance": value.provenance, "goal": encodable(value.goal), "goal_declared": value.goal_declared,
        "status": value.status, "ended_as": encodable(value.ended_as), "model": encodable(value.model),
        "window": {"tokens": value.window, "source": value.window_source}, "counter": value.counter,
        "lanes": [{"id": lane.id, "kind": lane.kind, "steps": len(lane.steps)} for lane in value.lanes],
        "unknown": list(value.unknown), "notice": encodable(value.notice),
        "steps": (
            step(one, told, value.counter)
            for lane in value.lanes if lanes is None or lane.id in lanes
            for one, told in zip(lane.steps, sizes(lane.steps), strict=True)
        ),
        "gaps": [
            {"lane": gap.lane, "after": gap.after, "before": gap.before, "missing": gap.missing} for gap in value.gaps
        ],
        "begun": [
            {"lane": one.lane, "step": one.step, "tool": encodable(one.tool), "arguments": encodable(one.arguments),
             "key": encodable(one.key), "attempt": one.attempt, "started": iso(one.started), "in_doubt": one.in_doubt}
            for one in value.begun
        ],
        "problems": [{"where": encodable(one.where), "what": encodable(one.what)} for one in value.problems],
    }  # fmt: skip
    if value.synthetic:
        body["synthetic"] = True
    return body


def cycle(value: Cycle) -> dict[str, Any]:
    return {
        "kind": value.kind, "lane": value.lane, "period": value.period, "steps": list(value.steps),
        "count": value.count, "tools": [encodable(tool) for tool in value.tools], "tokens": value.tokens,
        "warned_at": value.warned_at, "ended_at": value.ended_at, "detail": encodable(value.detail),
    }  # fmt: skip


def waiting(value: Waiting) -> dict[str, Any]:
    return {
        "lane": value.lane, "steps": list(value.steps), "tool": encodable(value.tool), "count": value.count,
        "tokens": value.tokens, "seconds": value.seconds,
    }  # fmt: skip


def survival(value: Survival) -> dict[str, Any]:
    edge = value.boundary
    return {
        "step": value.step, "lane": value.lane, "kind": edge.kind, "recorded": edge.recorded, "before": edge.before,
        "after": edge.after, "survival": {name: list(pair) for name, pair in value.kept.items()},
        "lost": [encodable(one.text) for one in value.lost],
        "changed": [{"from": encodable(a), "to": encodable(b)} for a, b in value.changed], "opaque": edge.opaque,
    }  # fmt: skip
