"""The prompt of one lane: lines appended as they come, cut at compactions, shortened by replacements, lost at a resume
behind a broken chain.

A process that writes a session holds its messages in memory; the chain in the file matters when another process resumes
it. So what stood before a break leaves the prompt only when the reported usage falls (or at once, where no usage is
reported): then the walk over the parents ended at the break.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentmem.formats.agents.claude_code.chain import Node
from agentmem.formats.agents.claude_code.parts import CLEARED, SYNTHETIC, asked, parts_of
from agentmem.formats.agents.claude_code.plan import PLAN_TOOLS, RESULT_TOOLS, Plan
from agentmem.formats.agents.claude_code.records import (
    Entry,
    content_of,
    listed,
    mapping,
    number,
    string,
    time_of,
)
from agentmem.formats.draft import Call, Declared, LaneDraft, StepDraft
from agentmem.formats.messages import Part
from agentmem.formats.usage import merged, usage_of
from agentmem.model import KINDS, Boundary, Kind, TokenCounter, Usage, Where
from agentmem.tape import Piece

FALL = 0.10
"""A fall of reported prompt tokens by this share is a loss (the rule of `inspect.compare.boundary`)."""
_SHARE = 0.3
"""So is a fall by this share of what stood before a break."""
_CANCELLED = "<tool_use_error>Cancelled"
_NO_KEY = ("?",)


@dataclass(slots=True, eq=False)
class Break:
    """A line whose parent is not in the file: a resume will lose what stands before it."""

    position: int
    """How many pieces of the prompt stand before it."""
    number: int
    parent: str | None


class LaneState:
    """One lane as it is read."""

    def __init__(self, lane: LaneDraft, count: TokenCounter) -> None:
        self.lane = lane
        self.plan = Plan(lane, count)
        self._count = count
        self.mark = 0
        self.tip: str | None = None
        self.says: str | None = None
        """The newest line that is a request or begins a model call."""
        self.groups: dict[tuple[str, ...], StepDraft] = {}
        self.calls: dict[str, tuple[str, ...]] = {}
        """Call -> the model call that made it."""
        self.results: dict[str, int] = {}
        """Call -> the piece that is its result."""
        self._late: dict[str, Piece] = {}
        """Replacements that came before their result."""
        self.last_group: tuple[str, ...] | None = None
        self._usage: int | None = None
        self.break_: Break | None = None
        self._summary_at: int | None = None
        """Where the summary of a compaction goes; None: none is awaited."""
        self._cleared = 0
        self.goal_piece: int | None = None
        self.goal_known = True
        """The lane has its beginning: its first request is the goal."""

    def branch(self, lane: LaneDraft, upto: int | None = None) -> LaneState:
        """A lane that begins with this one's prompt as it stands."""
        other = LaneState(lane, self._count)
        live = list(self.lane.tape.live)
        before = len(lane.tape)
        lane.tape.adopt(self.lane.tape, live)
        alias = dict(zip(live, range(before, before + len(live)), strict=True))
        other.plan = self.plan.copy(lane, alias)
        other.mark, other.tip = self.mark, self.tip
        other.results = {call: alias[ident] for call, ident in self.results.items() if ident in alias}
        other._usage, other._cleared = self._usage, self._cleared
        return other

    # -- lines ----------------------------------------------------------------------------------------------------

    def take(self, entry: Entry, node: Node) -> None:
        """A line of the chain that stands in this lane."""
        kind = entry.line.kind
        if kind == "assistant":
            self._assistant(entry, node)
        elif kind == "user":
            self._user(entry, node)
        elif kind == "attachment":
            self._attachment(entry, node)
        elif kind == "system":
            self._system(entry, node)
        node.mark = max(node.mark, self.mark) if node.says else node.mark
        self.tip = entry.ident

    def piece(self, entry: Entry, part: Part, ordinal: int) -> Piece:
        where = Where(entry.source, entry.offset, len(entry.data), ordinal, None, entry.number)
        return Piece(part.kind, part.text, where, part.call_id, None, part.tool, part.tokens)

    def _user(self, entry: Entry, node: Node) -> None:
        line, lane = entry.line, self.lane
        at = time_of(line.timestamp)
        ids = []
        summary: list[Piece] = []
        for ordinal, part in enumerate(parts_of(line)):
            piece = self.piece(entry, part, ordinal)
            if part.kind in ("result", "error"):
                ids.append(self._result(entry, part, piece, at))
            elif part.kind == "summary" and self._summary_at is not None:
                summary.append(piece)
            else:
                if part.kind == "user" and self.goal_piece is None and self.goal_known and lane.kind == "main" and asked(part.text or ""):
                    piece = Piece("goal", part.text, piece.where)
                ids.append(lane.append(piece))
                if piece.kind == "goal":
                    self.goal_piece = ids[-1]
                if part.kind == "summary" and part.text:
                    self.plan.saw(ids[-1], part.text)
        if summary and self._summary_at is not None:
            ids += self._summary(summary)
        node.ids = tuple(ids)

    def _summary(self, pieces: list[Piece]) -> tuple[int, ...]:
        assert self._summary_at is not None
        ids = self.lane.splice(self._summary_at, 0, pieces)
        self.lane.answered = False
        self._summary_at = None
        for ident, piece in zip(ids, pieces, strict=True):
            if piece.text:
                self.plan.saw(ident, piece.text)
        return ids

    def _result(self, entry: Entry, part: Part, piece: Piece, at: float | None) -> int:
        lane, call_id = self.lane, part.call_id
        call = lane.call_of(call_id) if call_id else None
        if call is not None and call.tool in RESULT_TOOLS:
            self.plan.answered(call_id, mapping(content_of(entry.line.toolUseResult)), part.text)
        if (part.text or "").startswith(_CANCELLED):
            ident = lane.answer(piece, at=at, outcome="denied", error="cancelled: another call of the same answer failed")
        else:
            ident = lane.answer(piece, failed=part.failed, at=at)
        if call_id:
            self.results[call_id] = ident
            late = self._late.pop(call_id, None)
            if late is not None:
                self._stub(call_id, late)
        if (part.text or "").startswith("<persisted-output>"):
            told = (part.text or "")[18:].strip().partition("\n")[0][:200]
            tool = call.tool if call is not None else "a tool"
            lane.declared.append(
                Declared(f"result of {tool}", "shortened", kind="result", record=f"persisted output: {told}", stub=ident)
            )
        return ident

    def _attachment(self, entry: Entry, node: Node) -> None:
        parts = parts_of(entry.line)
        if not parts:
            return
        ident = self.lane.append(self.piece(entry, parts[0], 0))
        node.ids = (ident,)
        if parts[0].kind == "plan":
            self.plan.reminded(mapping(content_of(entry.line.attachment)).get("content"), ident)
        if parts[0].text:
            self.plan.saw(ident, parts[0].text)

    # -- model calls ----------------------------------------------------------------------------------------------

    def _assistant(self, entry: Entry, node: Node) -> None:
        line, lane = entry.line, self.lane
        body = mapping(content_of(line.message))
        model = string(body.get("model"))
        parts = parts_of(line)
        if model == SYNTHETIC or line.isApiErrorMessage is True:
            self._made_up(entry, node, parts)
            return
        usage = usage_of(body.get("usage"), f"line {entry.number}")
        group = node.group or _NO_KEY
        at = time_of(line.timestamp)
        step = self.groups.get(group)
        if step is None:
            self._edits(mapping(body.get("context_management")))
            self._check_break(usage)
            self._check_summary()
            step = self.groups[group] = lane.close(at=at, usage=usage, model=model)
            self.last_group = group
            if usage is not None and usage.prompt:
                self._usage = usage.prompt
        elif usage is not None:
            step.usage = merged(step.usage, usage)
            lane.touch(step)
        ids = []
        for ordinal, part in enumerate(parts):
            piece = self.piece(entry, part, ordinal)
            call = None
            if part.kind == "call" and part.tool is not None:
                call = Call(part.tool, part.arguments or "", part.call_id, at)
            ids.append(lane.reply(piece, call, step=step))
            if call is None:
                continue
            if call.call_id is not None:
                self.calls[call.call_id] = group
            if call.tool in PLAN_TOOLS:
                self.plan.called(call.tool, call.arguments, call.call_id, ids[-1])
        node.ids = tuple(ids)

    def _made_up(self, entry: Entry, node: Node, parts: list[Part]) -> None:
        """A message that the program wrote itself. Errors of the service are not sent again; other words are."""
        lane = self.lane
        if entry.line.isApiErrorMessage is True:
            self.failed(entry, parts)
            lane.answered = True
            return
        node.ids = tuple(lane.append(self.piece(entry, part, index)) for index, part in enumerate(parts))
        lane.answered = bool(lane.steps)

    def failed(self, entry: Entry, parts: list[Part]) -> None:
        """A try of a model call that failed: it came back, and stands in no prompt."""
        lane = self.lane
        if not lane.steps:
            return
        step = lane.steps[-1]
        for ordinal, part in enumerate(parts):
            piece = self.piece(entry, Part("error", part.text), ordinal)
            step.results.append(lane.tape.add(piece))
        lane.touch(step)

    # -- what leaves ----------------------------------------------------------------------------------------------

    def _system(self, entry: Entry, node: Node) -> None:
        line, lane = entry.line, self.lane
        parts = parts_of(line)
        if line.subtype == "local_command" and parts:
            node.ids = (lane.append(self.piece(entry, parts[0], 0)),)
        elif line.subtype == "api_error":
            self.failed(entry, parts)
        elif line.subtype == "microcompact_boundary":
            self._microcompact(entry, parts)
        elif line.subtype == "away_summary" and isinstance(line.content, str):
            lane.notes = line.content

    def compact(self, entry: Entry, nodes: Mapping[str, Node]) -> None:
        """A `compact_boundary`: all leaves, but for the messages that it says are preserved; a summary comes next."""
        lane, meta = self.lane, mapping(entry.line.compactMetadata)
        live = lane.tape.live
        kept = self._preserved(meta, nodes)
        first = any(lane.steps) or bool(live)
        end = len(live)
        if kept:
            spots = {ident: spot for spot, ident in enumerate(live)}
            places = sorted(spots[ident] for ident in kept if ident in spots)
            for spot in reversed(range(len(places))):
                start = places[spot] + 1
                if end > start:
                    lane.splice(start, end - start)
                end = places[spot]
        if end > 0:
            lane.splice(0, end)
        anchor = string(mapping(meta.get("preservedSegment") or meta.get("preservedMessages")).get("anchorUuid"))
        self._summary_at = len(lane.tape.live) if anchor == entry.ident else 0
        self.break_ = None
        self.plan.lost()
        trigger = string(meta.get("trigger")) or "unknown trigger"
        saved = f", {len(kept)} pieces preserved" if kept else ""
        after = number(meta.get("postTokens"))
        told = f", {after:,} tokens after it by its own count" if after is not None else ""
        if first:
            lane.boundary = Boundary(
                "compaction", True, number(meta.get("preTokens")), None,
                f"compact_boundary ({trigger}) at line {entry.number}{saved}{told}",
            )  # fmt: skip

    def _preserved(self, meta: Mapping[str, Any], nodes: Mapping[str, Node]) -> set[int]:
        """Pieces that stay: those of the named messages, or all from the head to the tail of a segment."""
        names = listed(mapping(meta.get("preservedMessages")).get("uuids"))
        if names:
            return {i for name in names if isinstance(name, str) and name in nodes for i in nodes[name].ids}
        segment = mapping(meta.get("preservedSegment"))
        head, tail = nodes.get(str(segment.get("headUuid"))), nodes.get(str(segment.get("tailUuid")))
        if head is None or tail is None or not head.ids or not tail.ids:
            return set()
        live = self.lane.tape.live
        try:
            start, end = live.index(head.ids[0]), live.index(tail.ids[-1])
        except ValueError:
            return set()
        return set(live[start : end + 1])

    def _check_summary(self) -> None:
        """A compaction whose summary is not in the file cannot be checked."""
        boundary = self.lane.boundary
        if self._summary_at is not None and boundary is not None:
            self.lane.boundary = Boundary(
                boundary.kind, boundary.recorded, boundary.before, boundary.after, boundary.why, opaque=True
            )
        self._summary_at = None

    def _stub(self, call_id: str, stub: Piece) -> int | None:
        """Put a shorter text in the place of a result. Returns the tokens that this freed; None if it did not stand."""
        ident = self.results.get(call_id)
        tape = self.lane.tape
        if ident is None or ident not in tape.live:
            return None
        if stub.key == tape.keys[ident]:
            return 0
        old = tape.segment(ident)
        stub.stub_of, stub.call_id, stub.tool = ident, call_id, old.tool
        self.results[call_id] = self.lane.splice(tape.live.index(ident), 1, (stub,))[0]
        return max(0, (old.tokens or 0) - (tape.segment(self.results[call_id]).tokens or 0))

    def replace(self, entry: Entry) -> int:
        """A `content-replacement` line. Returns how many of its results are in this lane."""
        found = 0
        for ordinal, part in enumerate(parts_of(entry.line)):
            if part.call_id is None or part.call_id not in self.calls and part.call_id not in self.results:
                continue
            found += 1
            stub = self.piece(entry, part, ordinal)
            if part.call_id in self.results:
                self._stub(part.call_id, stub)
            else:
                self._late[part.call_id] = stub
        return found

    def _microcompact(self, entry: Entry, parts: list[Part]) -> None:
        meta = mapping(entry.line.microcompactMetadata)
        for ordinal, part in enumerate(parts):
            if part.call_id is not None:
                self._stub(part.call_id, self.piece(entry, part, ordinal))
        was, saved = number(meta.get("preTokens")), number(meta.get("tokensSaved"))
        trigger = string(meta.get("trigger")) or "unknown trigger"
        self.lane.boundary = Boundary(
            "prune", True, was, was - saved if was is not None and saved is not None else None,
            f"microcompact_boundary ({trigger}) at line {entry.number}",
        )  # fmt: skip

    def _edits(self, management: Mapping[str, Any]) -> None:
        """Edits that the service made to this call's prompt: it cleared the oldest results."""
        for edit in listed(management.get("applied_edits")):
            uses = number(mapping(edit).get("cleared_tool_uses"))
            if uses is None or uses <= self._cleared:
                continue
            freed = number(mapping(edit).get("cleared_input_tokens"))
            for call_id in list(self.results)[self._cleared : uses]:
                self._stub(call_id, Piece("result", CLEARED))
            self._cleared = uses
            told = f", {freed:,} tokens" if freed is not None else ""
            self.lane.boundary = Boundary(
                "prune", True, None, None, f"context_management cleared {uses} tool uses{told}"
            )

    # -- broken chains --------------------------------------------------------------------------------------------

    def breaks(self, entry: Entry) -> None:
        """The chain ends at this line: whoever resumes the session begins here."""
        self.break_ = Break(len(self.lane.tape.live), entry.number, entry.parent)

    def _check_break(self, usage: Usage | None) -> None:
        """Whether what stood before a break has left this call's prompt."""
        broken, lane = self.break_, self.lane
        if broken is None:
            return
        now, was = usage.prompt if usage is not None else None, self._usage
        if was is not None and not now:
            return
        tape = lane.tape
        gone = tape.live[: broken.position]
        if was is not None and now is not None:
            weight = sum(tape.tokens[ident] for ident in gone if tape.tokens[ident] > 0)
            fall = was - now
            if fall <= 0 or fall <= FALL * was and fall < _SHARE * weight:
                return
        self.break_ = None
        lane.splice(0, broken.position)
        self.plan.lost()
        fell = (
            f"; reported prompt tokens fell from {was:,} to {now:,}" if was is not None and now is not None
            else "; no usage is reported that could tell"
        )  # fmt: skip
        told = (
            f"the chain begins anew at line {broken.number}" if broken.parent is None
            else f"the parent {broken.parent[:8]} of line {broken.number} was never written, so the chain ends there"
        )  # fmt: skip
        lane.boundary = Boundary("resume", False, was, now, told + fell)

    # -- lines that come twice ------------------------------------------------------------------------------------

    def again(self, entry: Entry, node: Node) -> bool:
        """A line with a uuid that stands already: the last one wins. False if nothing in it differs."""
        tape = self.lane.tape
        parts = parts_of(entry.line)
        if entry.line.kind == "assistant":
            step = self.groups.get(node.group or _NO_KEY)
            usage = usage_of(mapping(content_of(entry.line.message)).get("usage"), f"line {entry.number}")
            if step is not None and usage is not None:
                step.usage = merged(step.usage, usage)
                self.lane.touch(step)
        changed = False
        ids = list(node.ids)
        for ordinal, (ident, part) in enumerate(zip(node.ids, parts, strict=False)):
            piece = self.piece(entry, part, ordinal)
            was = tape.segment(ident)
            if part.text is None or Piece(was.kind, part.text).key == was.key:
                continue
            changed = True
            if ident not in tape.live:
                continue
            piece.kind, piece.tool = _same(was.kind), was.tool
            piece.key = Piece(piece.kind, piece.text).key
            ids[ordinal] = self.lane.splice(tape.live.index(ident), 1, (piece,))[0]
            self.lane.declared.append(
                Declared(was.kind, "rewritten", segment=ident, kind=was.kind, stub=ids[ordinal],
                         record=f"line {entry.number} writes the same uuid again")
            )  # fmt: skip
        node.ids = tuple(ids)
        return changed


def _same(kind: Kind) -> Kind:
    """The kind of what stands in a piece's place: another text is no longer the goal that it was."""
    return "user" if kind == "goal" else kind if kind in KINDS else "other"
