"""The prompt of one lane: requests, answers, results and reminders appended as they come; `cuts` takes out of it."""

from __future__ import annotations

from agentmem.formats.agents.claude_code.chain import Node
from agentmem.formats.agents.claude_code.cuts import (
    Break,
    check_break,
    check_summary,
    microcompact,
    service_edits,
    shorten,
)
from agentmem.formats.agents.claude_code.parts import SYNTHETIC, asked, pieces_of
from agentmem.formats.agents.claude_code.plan import PLAN_TOOLS, RESULT_TOOLS, Plan
from agentmem.formats.agents.claude_code.records import (
    Entry,
    content_of,
    mapping,
    string,
)
from agentmem.formats.draft import Call, Declared, LaneDraft, StepDraft
from agentmem.formats.messages import Part
from agentmem.formats.shared.times import seconds
from agentmem.formats.usage import merged, usage_of
from agentmem.model import Boundary, Kind, TokenCounter, Where
from agentmem.tape import Piece

SHORTEST_GOAL = 12
"""A shorter goal is not looked for in summaries: it would be found by chance."""
_CANCELLED = "<tool_use_error>Cancelled"
_NO_KEY = ("?",)


class LaneState:
    """One lane as it is read."""

    def __init__(self, lane: LaneDraft, count: TokenCounter) -> None:
        self.lane = lane
        self.plan = Plan(lane, count)
        self._count = count
        self.mark = 0
        self.tip: str | None = None
        self.groups: dict[tuple[str, ...], StepDraft] = {}
        self.calls: dict[str, tuple[str, ...]] = {}
        """Call -> the model call that made it."""
        self.results: dict[str, int] = {}
        """Call -> the piece that is its result."""
        self._late: dict[str, Piece] = {}
        """Replacements that came before their result."""
        self.last_group: tuple[str, ...] | None = None
        self.usage: int | None = None
        self.broken: Break | None = None
        self.summary_at: int | None = None
        """Where the summary of a compaction goes; None: none is awaited."""
        self.cleared = 0
        self.goal_piece: int | None = None
        self.goal: str | None = None
        """The text of the goal, once it is known: where a summary quotes it, it is a piece of its own."""
        self.goal_known = True
        """The lane has its beginning: its first request is the goal."""

    def branch(self, lane: LaneDraft) -> LaneState:
        """A lane that begins with this one's prompt as it stands."""
        other = LaneState(lane, self._count)
        live = list(self.lane.tape.live)
        before = len(lane.tape)
        lane.tape.adopt(self.lane.tape, live)
        alias = dict(zip(live, range(before, before + len(live)), strict=True))
        other.plan = self.plan.copy(lane, alias)
        other.mark, other.tip, other.goal = self.mark, self.tip, self.goal
        other.results = {call: alias[ident] for call, ident in self.results.items() if ident in alias}
        other.usage, other.cleared = self.usage, self.cleared
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
        at = seconds(line.timestamp)
        ids = []
        summary: list[Piece] = []
        for ordinal, part in enumerate(pieces_of(entry)):
            piece = self.piece(entry, part, ordinal)
            if part.kind in ("result", "error"):
                ids.append(self._result(entry, part, piece, at))
            elif part.kind == "summary" and self.summary_at is not None:
                summary.extend(self._carved(piece))
            else:
                if part.kind == "user" and self._wants_goal and asked(part.text or ""):
                    piece = Piece("goal", part.text, piece.where)
                ids.append(lane.append(piece))
                if piece.kind == "goal":
                    self.goal_piece, self.goal = ids[-1], piece.text
                if part.kind == "summary" and part.text:
                    self.plan.saw(ids[-1], part.text)
        if summary and self.summary_at is not None:
            ids += self._summary(summary)
        node.ids = tuple(ids)

    @property
    def _wants_goal(self) -> bool:
        return self.goal_piece is None and self.goal_known and self.lane.kind == "main"

    def _carved(self, piece: Piece) -> list[Piece]:
        """A summary, with the goal that it quotes as a piece of its own."""
        text, goal, where = piece.text or "", self.goal or "", piece.where
        start = text.find(goal) if len(goal) >= SHORTEST_GOAL else -1
        if start < 0 or where is None:
            return [piece]
        out = []
        for kind, a, b in (("summary", 0, start), ("goal", start, start + len(goal)),
                           ("summary", start + len(goal), len(text))):  # fmt: skip
            if text[a:b].strip():
                spot = Where(where.source, where.offset, where.length, where.part, (a, b), where.line)
                out.append(Piece("goal" if kind == "goal" else "summary", text[a:b], spot))
        return out

    def _summary(self, pieces: list[Piece]) -> tuple[int, ...]:
        assert self.summary_at is not None
        ids = self.lane.splice(self.summary_at, 0, pieces)
        self.lane.answered = False
        self.summary_at = None
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
            ident = lane.answer(piece, at=at, outcome="denied", error="cancelled: another call of this answer failed")
        else:
            ident = lane.answer(piece, failed=part.failed, at=at)
        if call_id:
            self.results[call_id] = ident
            late = self._late.pop(call_id, None)
            if late is not None:
                shorten(self, call_id, late)
        if (part.text or "").startswith("<persisted-output>"):
            told = (part.text or "")[18:].strip().partition("\n")[0][:200]
            tool = call.tool if call is not None else "a tool"
            record = f"persisted output: {told}"
            lane.declared.append(Declared(f"result of {tool}", "shortened", kind="result", record=record, stub=ident))
        return ident

    def _attachment(self, entry: Entry, node: Node) -> None:
        parts = pieces_of(entry)
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
        body = entry.body
        model = string(body.get("model"))
        parts = pieces_of(entry)
        if model == SYNTHETIC or line.isApiErrorMessage is True:
            self._made_up(entry, node, parts)
            return
        usage = usage_of(body.get("usage"), f"line {entry.number}")
        group = node.group or _NO_KEY
        at = seconds(line.timestamp)
        step = self.groups.get(group)
        if step is None:
            service_edits(self, mapping(body.get("context_management")))
            check_break(self, usage)
            check_summary(self)
            step = self.groups[group] = lane.close(at=at, usage=usage, model=model)
            self.last_group = group
            if usage is not None and usage.prompt:
                self.usage = usage.prompt
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
        parts = pieces_of(entry)
        if line.subtype == "local_command" and parts:
            node.ids = (lane.append(self.piece(entry, parts[0], 0)),)
        elif line.subtype == "api_error":
            self.failed(entry, parts)
        elif line.subtype == "microcompact_boundary":
            microcompact(self, entry, [(part, self.piece(entry, part, index)) for index, part in enumerate(parts)])
        elif line.subtype == "away_summary" and isinstance(line.content, str):
            lane.notes = line.content

    def replace(self, entry: Entry) -> int:
        """A `content-replacement` line. Returns how many of its results are in this lane."""
        found = 0
        for ordinal, part in enumerate(pieces_of(entry)):
            if part.call_id is None or (part.call_id not in self.calls and part.call_id not in self.results):
                continue
            found += 1
            stub = self.piece(entry, part, ordinal)
            if part.call_id in self.results:
                shorten(self, part.call_id, stub)
            else:
                self._late[part.call_id] = stub
        return found

    def breaks(self, entry: Entry) -> None:
        """The chain ends at this line: whoever resumes the session begins here."""
        self.broken = Break(len(self.lane.tape.live), entry.number, entry.parent)

    def cleared_at(self, entry: Entry) -> None:
        """The person emptied the conversation."""
        self.broken = None
        self.lane.splice(0, len(self.lane.tape.live))
        self.plan.lost()
        self.lane.boundary = Boundary("rewind", True, None, None, f"/clear at line {entry.number}")

    # -- lines that come twice ------------------------------------------------------------------------------------

    def back(self, node: Node, parent: Node) -> None:
        """A line that a compaction took out and that was written again behind one that stands."""
        standing = set(self.lane.tape.live)
        if node.ids and standing.isdisjoint(node.ids) and not standing.isdisjoint(parent.ids):
            self.lane.splice(len(self.lane.tape.live), 0, node.ids)
            self.lane.answered = False

    def again(self, entry: Entry, node: Node) -> bool:
        """A line with a uuid that stands already: the last one wins. False if nothing in it differs."""
        tape = self.lane.tape
        parts = pieces_of(entry)
        if entry.line.kind == "assistant":
            step = self.groups.get(node.group or _NO_KEY)
            usage = usage_of(entry.body.get("usage"), f"line {entry.number}")
            if step is not None and usage is not None:
                step.usage = merged(step.usage, usage)
                self.lane.touch(step)
        changed = False
        ids = list(node.ids)
        for ordinal, (ident, part) in enumerate(zip(ids, parts, strict=True) if len(ids) == len(parts) else ()):
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
    return "user" if kind == "goal" else kind
