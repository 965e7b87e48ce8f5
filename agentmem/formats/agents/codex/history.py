"""What rewrites the prompt of a thread: compactions, rollbacks, and reasoning that is not sent again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentmem.formats.agents.codex.records.items import PARTS, SUMMARY, is_opaque, item_parts
from agentmem.formats.agents.codex.records.lines import Place
from agentmem.formats.draft import Declared, LaneDraft, StepDraft
from agentmem.formats.loose import decode
from agentmem.formats.messages import Part
from agentmem.model import KINDS, Boundary, Where
from agentmem.tape import Piece, content_key

KEPT_TOKENS = 20_000
"""COMPACT_USER_MESSAGE_MAX_TOKENS of Codex: how much of the user messages an old compaction keeps, newest first."""
BYTES_PER_TOKEN = 4
FALL = 0.10
"""A smaller fall of reported tokens needs no cause."""
_SLACK = 0.05
_USER = frozenset({KINDS.index("user"), KINDS.index("goal")})
_THINKING = KINDS.index("thinking")
_SYSTEM = KINDS.index("system")
_LOOK_BACK = 200
SERVED_TOOLS = frozenset({"web_search", "image_generation"})
NOT_AGAIN = "reasoning of earlier turns is not sent again"


def replacement(payload: Mapping[str, Any], place: Place) -> list[tuple[Part, Piece]] | None:
    """The history that a `compacted` record puts in place; None where it names none (the older shape)."""
    given = payload.get("replacement_history")
    if not isinstance(given, list):
        return None
    message = payload.get("message")
    out: list[tuple[Part, Piece]] = []
    for index, item in enumerate(given):
        for number, part in enumerate(item_parts(item) if isinstance(item, Mapping) else ()):
            if part.kind == "user" and part.text and isinstance(message, str) and len(message) > 40:
                if part.text == message or part.text.endswith(message):
                    part.kind = "summary"
            where = place.where(index * PARTS + number)
            out.append((part, piece_of(part, where)))
    return out


def piece_of(part: Part, where: Where) -> Piece:
    """A part on its way into a tape. What is encrypted is like nothing else: its key is its place."""
    key = content_key(part.kind, f"\0{where.offset}:{where.part}") if part.text is None else 0
    return Piece(part.kind, part.text, where, part.call_id, None, part.tool, part.tokens, None, key)


def compaction(payload: Mapping[str, Any], place: Place) -> Boundary:
    """The boundary of a `compacted` record."""
    given = payload.get("replacement_history")
    message = payload.get("message")
    hidden = any(is_opaque(item) for item in given) if isinstance(given, list) else not message
    why = f"compacted record, line {place.line}"
    if hidden:
        why += ": the summary is encrypted" if isinstance(given, list) else ": its message is empty"
    elif isinstance(given, list) and not message:
        why += ": a new window without a summary"
    return Boundary("compaction", True, None, None, why, hidden)


def legacy(lane: LaneDraft, message: str, place: Place, fixed: int) -> None:
    """An old compaction: of the messages the newest of the person within 20,000 tokens stay, then the summary."""
    tape = lane.tape
    room = KEPT_TOKENS * BYTES_PER_TOKEN
    kept: set[int] = set()
    for index in range(len(tape.live) - 1, -1, -1):
        ident = tape.live[index]
        if index < fixed:
            kept.add(ident)
        elif tape.kinds[ident] in _USER and room > 0:
            kept.add(ident)
            room -= tape.segment(ident).characters or 0
    end = len(tape.live)
    while end > 0:
        if tape.live[end - 1] in kept:
            end -= 1
            continue
        start = end
        while start > 0 and tape.live[start - 1] not in kept:
            start -= 1
        lane.splice(start, end - start)
        end = start
    if message:
        lane.append(Piece("summary", message, place.where(SUMMARY * PARTS)))


def rollback(lane: LaneDraft, turns: int, place: Place) -> bool:
    """Take the last user turns out of the prompt. False if there is none."""
    tape = lane.tape
    starts: list[int] = []
    last: tuple[str, int, int] | None = None
    for index in range(len(tape.live) - 1, -1, -1):
        ident = tape.live[index]
        if tape.kinds[ident] not in _USER:
            last = None
            continue
        where = tape.segment(ident).where
        record = (where.source, where.offset, where.part // PARTS) if where is not None else None
        if record is not None and record == last:
            starts[-1] = index
            continue
        if len(starts) == turns:
            break
        starts.append(index)
        last = record
    if not starts:
        return False
    start = starts[-1]
    earlier = any(tape.kinds[ident] in _USER for ident in tape.live[:start])
    while earlier and start > 0 and tape.kinds[tape.live[start - 1]] == _SYSTEM:
        start -= 1  # what the agent itself put before the turn goes with it
    lane.splice(start, len(tape.live) - start)
    lane.boundary = Boundary(
        "rewind", True, None, None, f"thread_rolled_back record, line {place.line}: {turns} turn{'s' * (turns != 1)}"
    )
    lane.answered = True
    return True


def prune(lane: LaneDraft) -> None:
    """A new user turn: reasoning before it leaves the prompt. What of it stood in one is a drop by a known rule."""
    tape = lane.tape
    gone = [ident for ident in tape.live if tape.kinds[ident] == _THINKING]
    if not gone:
        return
    for index in range(len(tape.live) - 1, -1, -1):
        if tape.kinds[tape.live[index]] == _THINKING:
            lane.splice(index, 1)
    sent = [ident for ident in gone if tape.born[ident]]
    if sent:
        name = f"reasoning of {len(sent)} item{'s' * (len(sent) != 1)}"
        record = f"{NOT_AGAIN}: a known rule of the provider"
        lane.declared.append(
            Declared(name, "trimmed", segment=sent[0], kind="thinking", record=record, others=tuple(sent[1:]))
        )


def explain(steps: Sequence[StepDraft], step: StepDraft) -> Boundary | None:
    """The known and harmless cause of a fall of reported tokens; None, and the fall stays unexplained."""
    now = step.usage.prompt if step.usage is not None else None
    past = [other for other in steps[max(0, step.n - 1 - _LOOK_BACK) : step.n - 1] if other.usage is not None]
    was = past[-1].usage.prompt if past and past[-1].usage is not None else None
    if now is None or not was or now >= was * (1 - FALL):
        return None
    why = None
    if any(item.record.startswith(NOT_AGAIN) for item in step.declared):
        why = _reasoning(past, was - now - was * _SLACK)
    if why is None and any(call.tool in SERVED_TOOLS for call in past[-1].calls):
        earlier = past[-2].usage.prompt if len(past) > 1 and past[-2].usage is not None else None
        if earlier is None or now >= earlier * (1 - FALL):
            why = "what the provider's own search brought counts in one call and is not sent again"
    return Boundary("prune", True, was, now, why) if why is not None else None


def _reasoning(past: Sequence[StepDraft], fall: float) -> str | None:
    """Words for a fall at the first call of a turn that the reasoning reported for the turn before explains."""
    reasoning = 0
    for other in reversed(past):
        reasoning += (other.usage.reasoning or 0) if other.usage is not None else 0
        if other.boundary is not None or any(item.record.startswith(NOT_AGAIN) for item in other.declared):
            break
    return f"{NOT_AGAIN}; {reasoning:,} tokens of it were reported" if fall <= reasoning else None


def agent_of(text: str) -> str | None:
    """The thread that a result of `spawn_agent` names."""
    try:
        value = decode(text.encode("utf-8", "replace"))
    except ValueError:
        return None
    ident = value.get("agent_id", value.get("thread_id")) if isinstance(value, Mapping) else None
    return ident if isinstance(ident, str) else None
