"""What takes pieces out of a lane's prompt: compactions, shortened results, edits of the service, broken chains.

A process that writes a session holds its messages in memory; the chain in the file matters when another process resumes
it. So what stood before a break leaves the prompt only when the reported usage falls (or at once, where no usage is
reported): then the walk over the parents ended at the break.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from agentmem.formats.agents.claude_code.chain import Node
from agentmem.formats.agents.claude_code.parts import CLEARED
from agentmem.formats.agents.claude_code.plan import Plan
from agentmem.formats.agents.claude_code.records import Entry, listed, mapping, string
from agentmem.formats.draft import LaneDraft
from agentmem.formats.messages import Part
from agentmem.formats.usage import amount
from agentmem.model import Boundary, Usage
from agentmem.tape import Piece

FALL = 0.10
"""A fall of reported prompt tokens by this share is a loss (the rule of `inspect.compare.boundary`)."""
_SHARE = 0.3
"""So is a fall by this share of what stood before a break."""


class Break(msgspec.Struct, eq=False):
    """A line whose parent is not in the file: a resume will lose what stands before it."""

    position: int
    """How many pieces of the prompt stand before it."""
    number: int
    parent: str | None


class Cut(Protocol):
    """What of a lane's state the cuts need."""

    lane: LaneDraft
    plan: Plan
    results: dict[str, int]
    broken: Break | None
    summary_at: int | None
    cleared: int
    usage: int | None


def compact(state: Cut, entry: Entry, nodes: Mapping[str, Node]) -> None:
    """A `compact_boundary`: all leaves, but for the messages that it says are preserved; a summary comes next."""
    lane, meta = state.lane, mapping(entry.line.compactMetadata)
    live = lane.tape.live
    kept = _preserved(lane, meta, nodes)
    first = bool(lane.steps) or bool(live)
    end = len(live)
    for place in sorted((spot for spot, ident in enumerate(live) if ident in kept), reverse=True):
        if end > place + 1:
            lane.splice(place + 1, end - place - 1)
        end = place
    if end > 0:
        lane.splice(0, end)
    anchor = string(mapping(meta.get("preservedSegment") or meta.get("preservedMessages")).get("anchorUuid"))
    state.summary_at = len(lane.tape.live) if anchor == entry.ident else 0
    state.broken = None
    state.plan.lost()
    trigger = string(meta.get("trigger")) or "unknown trigger"
    saved = f", {len(kept)} pieces preserved" if kept else ""
    after = amount(meta.get("postTokens"))
    told = f", {after:,} tokens after it by its own count" if after is not None else ""
    if first:
        why = f"compact_boundary ({trigger}) at line {entry.number}{saved}{told}"
        lane.boundary = Boundary("compaction", True, amount(meta.get("preTokens")), None, why)


def _preserved(lane: LaneDraft, meta: Mapping[str, Any], nodes: Mapping[str, Node]) -> set[int]:
    """Pieces that stay: those of the named messages, or all from the head to the tail of a segment."""
    names = listed(mapping(meta.get("preservedMessages")).get("uuids"))
    live = lane.tape.live
    if names:
        named = {i for name in names if isinstance(name, str) and name in nodes for i in nodes[name].ids}
        return named.intersection(live)
    segment = mapping(meta.get("preservedSegment"))
    head, tail = nodes.get(str(segment.get("headUuid"))), nodes.get(str(segment.get("tailUuid")))
    if head is None or tail is None or not head.ids or not tail.ids:
        return set()
    try:
        start, end = live.index(head.ids[0]), live.index(tail.ids[-1])
    except ValueError:
        return set()
    return set(live[start : end + 1])


def check_summary(state: Cut) -> None:
    """A compaction whose summary is not in the file cannot be checked."""
    was = state.lane.boundary
    if state.summary_at is not None and was is not None:
        state.lane.boundary = Boundary(was.kind, was.recorded, was.before, was.after, was.why, opaque=True)
    state.summary_at = None


def shorten(state: Cut, call_id: str, stub: Piece) -> None:
    """Put a shorter text in the place of a result, if it stands in the prompt."""
    ident = state.results.get(call_id)
    tape = state.lane.tape
    if ident is None or stub.key == tape.keys[ident] or ident not in tape.live:
        return
    stub.stub_of, stub.call_id, stub.tool = ident, call_id, tape.segment(ident).tool
    state.results[call_id] = state.lane.splice(tape.live.index(ident), 1, (stub,))[0]


def microcompact(state: Cut, entry: Entry, stubs: list[tuple[Part, Piece]]) -> None:
    """A `microcompact_boundary`: results that it names were cleared."""
    meta = mapping(entry.line.microcompactMetadata)
    for part, stub in stubs:
        if part.call_id is not None:
            shorten(state, part.call_id, stub)
    was, saved = amount(meta.get("preTokens")), amount(meta.get("tokensSaved"))
    after = was - saved if was is not None and saved is not None and saved <= was else None
    trigger = string(meta.get("trigger")) or "unknown trigger"
    why = f"microcompact_boundary ({trigger}) at line {entry.number}"
    state.lane.boundary = Boundary("prune", True, was, after, why)


def service_edits(state: Cut, management: Mapping[str, Any]) -> None:
    """Edits that the service made to this call's prompt: it cleared the oldest results. Each call tells all of them."""
    for edit in listed(management.get("applied_edits")):
        uses = amount(mapping(edit).get("cleared_tool_uses"))
        if uses is None or uses <= state.cleared:
            continue
        freed = amount(mapping(edit).get("cleared_input_tokens"))
        for call_id in list(state.results)[state.cleared : uses]:
            shorten(state, call_id, Piece("result", CLEARED))
        state.cleared = uses
        told = f", {freed:,} tokens" if freed is not None else ""
        why = f"context_management cleared {uses} tool uses{told}"
        state.lane.boundary = Boundary("prune", True, None, None, why)


def check_break(state: Cut, usage: Usage | None) -> None:
    """Whether what stood before a break has left this call's prompt."""
    broken, lane = state.broken, state.lane
    if broken is None:
        return
    now, was = usage.prompt if usage is not None else None, state.usage
    if was is not None and not now:
        return
    tape = lane.tape
    if was is not None and now is not None:
        weight = sum(max(0, tape.tokens[ident]) for ident in tape.live[: broken.position])
        fall = was - now
        if fall <= 0 or (fall <= FALL * was and fall < _SHARE * weight):
            return
        fell = f"; reported prompt tokens fell from {was:,} to {now:,}"
    else:
        fell = "; no usage is reported that could tell"
    state.broken = None
    lane.splice(0, broken.position)
    state.plan.lost()
    told = (
        f"the chain begins anew at line {broken.number}" if broken.parent is None
        else f"the parent {broken.parent[:8]} of line {broken.number} was never written, so the chain ends there"
    )  # fmt: skip
    lane.boundary = Boundary("resume", False, was, now, told + fell)
