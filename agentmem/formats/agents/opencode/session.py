"""One opencode session on its lane: messages and parts come, and are updated in place while they stream.

The prompt of a call is what stands from the last finished compaction on: the request to sum up, the summary, the tail
that was kept, and what came after. A pruned result is a stub; an answer that failed is not sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from agentmem.formats.agents.opencode.parts import (
    CALL,
    QUIET,
    RESULT,
    STUB,
    completed,
    created,
    piece,
    plan_of,
    text_of,
    todos,
    tool,
    usage_of,
)
from agentmem.formats.draft import Call, LaneDraft, RunDraft
from agentmem.formats.shared.standing import stand
from agentmem.model import Boundary, Field, Where
from agentmem.tape import Piece

_GONE = "messages taken back"
_PARTS = "parts"


class PartRow(msgspec.Struct, frozen=True):
    """A part as it stands now."""

    id: str
    data: Mapping[str, Any]
    source: str
    offset: int
    length: int
    base: int = 0
    """Added to the ordinals of its pieces."""

    def where(self, number: int) -> Where:
        return Where(self.source, self.offset, self.length, self.base + number)


class _Part(msgspec.Struct, eq=False):
    keys: tuple[int, ...] = ()
    pieces: tuple[int, ...] = ()
    sort: str = ""
    tail: str | None = None
    """For a compaction: the first message that is kept."""
    stub: tuple[float, int] | None = None
    """For a pruned result: when it was cleared, and the stub that has stood for it since."""
    step: int | None = None
    asks: bool = False
    """It is the first request: its text is the goal."""


class _Message(msgspec.Struct, eq=False):
    id: str
    role: str
    parent: str | None = None
    parts: dict[str, _Part] = msgspec.field(default_factory=dict)
    summary: bool = False
    finished: bool = False
    stopped: bool = False
    """It ended without asking for another call."""
    failed: bool = False
    error: str | None = None
    steps: list[int] = msgspec.field(default_factory=list)
    """Indices of its steps."""
    placed: int = 0
    """So many of its pieces stand in the prompt; told only of messages behind the summary."""

    @property
    def ids(self) -> list[int]:
        """Its pieces as they are sent."""
        return [] if self.failed else [ident for part in self.parts.values() for ident in part.pieces]


class Session:
    """Takes in messages in order; `settle` brings the prompt up to date."""

    def __init__(self, draft: RunDraft, lane: LaneDraft) -> None:
        self.draft, self.lane = draft, lane
        self._messages: dict[str, _Message] = {}
        self._order: list[str] = []
        self._places: dict[str, int] = {}
        """Message -> index in the order."""
        self._changed = 0
        """Index of the first message that changed since the prompt was brought up to date; -1: all of it."""
        self._summary_at = -1
        """Index of the summary that begins the prompt."""
        self._reverted: str | None = None
        self._boundary: str | None = None
        """The summary of the compaction that stands."""
        self._cleared: list[_Part] = []
        """Cleared results whose stub does not stand yet."""
        self._plan: list[tuple[str, bool]] = []
        self._plan_piece: int | None = None
        self.children: dict[str, int] = {}
        """Session of a subagent -> number of the step that began it."""

    # -- messages -------------------------------------------------------------------------------------------------

    def message(self, ident: str, info: Mapping[str, Any], parts: Iterable[PartRow], label: str) -> None:
        """A message with those of its parts that are new or changed, in order."""
        known = self._messages.get(ident)
        if known is None:
            role = "user" if info.get("role") == "user" else "assistant"
            known = self._messages[ident] = _Message(ident, role)
            self._places[ident] = len(self._order)
            self._order.append(ident)
            known.parent = text_of(info.get("parentID"))
            if role == "assistant":
                self.settle(created(info))
                self._step(known, info)
            self.lane.answered = False
        self._touched(ident)
        known.summary = info.get("summary") is True and known.role == "assistant"
        # Older versions name neither the message that is answered nor why the answer ended, only when.
        known.finished = bool(info.get("finish")) or (known.parent is None and completed(info))
        known.stopped = known.finished and info.get("finish") != "tool-calls"
        error = info.get("error")
        aborted = isinstance(error, Mapping) and error.get("name") == "MessageAbortedError"
        for row in parts:
            self._part(known, row)
        holds = any(part.pieces for part in known.parts.values())
        known.failed = error is not None and not (aborted and holds)
        self._failure(known, error)
        if known.steps:
            self._usage(known, info, label)
        self._touched(ident)

    def _touched(self, ident: str) -> None:
        self._changed = min(self._changed, self._places[ident])

    def _step(self, known: _Message, info: Mapping[str, Any]) -> None:
        at = created(info)
        model = text_of(info.get("modelID"))
        self.draft.model = model or self.draft.model
        self.lane.close(at=at, model=model)
        known.steps.append(len(self.lane.steps) - 1)

    def _failure(self, known: _Message, error: object) -> None:
        """What the provider or the loop said instead of an answer: shown, never sent."""
        if not isinstance(error, Mapping) or not known.steps or known.error is not None:
            return
        data = error.get("data")
        told = text_of(data.get("message")) if isinstance(data, Mapping) else None
        known.error = f"{error.get('name')}: {told}" if told else str(error.get("name"))
        if known.steps[-1] == len(self.lane.steps) - 1:
            self.lane.reply(Piece("error", known.error), stays=False)

    def _usage(self, known: _Message, info: Mapping[str, Any], label: str) -> None:
        if len(known.steps) > 1:
            return  # several calls in one message: each has its own step-finish part
        step = self.lane.steps[known.steps[0]]
        usage = usage_of(info.get("tokens"), info.get("cost"), label)
        if usage is not None and usage != step.usage:
            step.usage = usage
            self.lane.touch(step)

    def _part(self, known: _Message, row: PartRow) -> None:
        sort = str(row.data.get("type") or "?")
        held = known.parts.setdefault(row.id, _Part())
        fresh = not held.sort
        held.sort = sort
        if sort == "step-start" and fresh and known.role == "assistant":
            if any(part.sort == "step-start" for ident, part in known.parts.items() if ident != row.id):
                self.settle(self.lane.steps[-1].at if self.lane.steps else None)
                self.lane.close(model=self.draft.model)
                known.steps.append(len(self.lane.steps) - 1)
        elif sort == "step-finish" and known.steps:
            step = self.lane.steps[known.steps[-1]]
            step.usage = usage_of(row.data.get("tokens"), row.data.get("cost"), row.id) or step.usage
            self.lane.touch(step)
        elif sort == "tool":
            self._tool(known, held, row, fresh)
        elif sort == "compaction":
            held.tail = text_of(row.data.get("tail_start_id"))
            self._plain(known, held, row)
        elif sort in QUIET:
            pass
        elif sort in ("text", "reasoning", "file", "subtask"):
            self._plain(known, held, row)
        else:
            name = f"?{sort}"
            self.draft.counts[name] = self.draft.counts.get(name, 0) + int(fresh)
            if fresh:
                self._tell_unknown()
            return
        self.draft.counts[sort] = self.draft.counts.get(sort, 0) + int(fresh)

    def _tell_unknown(self) -> None:
        """One problem that sums up the parts, of all sessions of the run, that were not understood."""
        draft = self.draft
        named = sorted((name[1:], n) for name, n in draft.counts.items() if name.startswith("?"))
        told = ", ".join(f"{name:.60} x{n}" for name, n in named)
        draft.problems[:] = [one for one in draft.problems if one.where != _PARTS]
        draft.problem(_PARTS, f"{sum(n for _, n in named)} of unknown types: {told}")

    def _plain(self, known: _Message, held: _Part, row: PartRow) -> None:
        role = "summary" if known.summary else known.role
        made: list[Piece] = []
        while len(made) < 3 and (found := piece(row.data, len(made), role)) is not None:
            made.append(Piece(found.kind, found.text, row.where(len(made)), tokens=found.tokens))
        keys = tuple(one.key for one in made)
        if keys == held.keys:
            return
        if known.role == "user":
            synthetic = row.data.get("synthetic") is True
            if made and made[0].kind == "user" and not synthetic and self.lane.kind == "main":
                held.asks = held.asks or self.draft.goal is None
                self.draft.set_goal(made[0].text, declared=False)
                if held.asks:
                    made[0] = Piece("goal", made[0].text, made[0].where)
            ids = [self.lane.tape.add(one) for one in made]
        else:
            ids = [self._reply(known, held, one, None, place) for place, one in enumerate(made)]
        held.pieces, held.keys = tuple(ids), keys

    def _reply(self, known: _Message, held: _Part, made: Piece, call: Call | None, place: int = 0) -> int:
        """A piece of an answer; a text that streams takes the place of its shorter self."""
        if held.step is None:
            held.step = known.steps[-1] if known.steps else None
        steps = self.lane.steps
        if place < len(held.pieces) and held.step is not None:
            ident = self.lane.tape.add(made)
            replies = steps[held.step].replies
            if held.pieces[place] in replies:
                replies[replies.index(held.pieces[place])] = ident
            self.lane.touch(steps[held.step])
            return ident
        if held.step is None or held.step != len(steps) - 1:
            return self.lane.tape.add(made)
        return self.lane.reply(made, call, stays=False)

    def _tool(self, known: _Message, held: _Part, row: PartRow, fresh: bool) -> None:
        found = tool(row.data)
        call = piece(row.data, CALL, known.role)
        assert call is not None
        made = Piece("call", call.text, row.where(CALL), found.call_id, None, found.name)
        own = self.lane.call_of(found.call_id)
        if not held.keys or held.keys[0] != made.key:
            new = Call(found.name, found.arguments, found.call_id, started=found.started) if own is None else None
            ident = self._reply(known, held, made, new)
            held.pieces, held.keys = (ident, *held.pieces[1:]), (made.key, *held.keys[1:])
            own = self.lane.call_of(found.call_id)
            if own is not None:
                own.arguments, own.started = found.arguments, found.started
        if found.result is not None:
            text = Piece("result", found.result, row.where(RESULT), found.call_id, None, found.name)
            if len(held.keys) < 2 or held.keys[1] != text.key:
                result = self.lane.answer(
                    text, at=found.ended, stays=False, outcome=found.outcome, error=found.error, again=True
                )
                held.pieces, held.keys = (held.pieces[0], result), (held.keys[0], text.key)
        if found.cleared is not None and held.stub is None and len(held.pieces) > 1:
            stub = piece(row.data, STUB, known.role)
            assert stub is not None
            ident = self.lane.tape.add(
                Piece("result", stub.text, row.where(STUB), found.call_id, None, found.name, stub_of=held.pieces[1])
            )
            held.stub = (found.cleared, ident)
            self._cleared.append(held)
        if fresh or plan_of(row.data) != self._plan:
            self._read_plan(row.data, held)
        metadata = (row.data.get("state") or {}).get("metadata") if isinstance(row.data.get("state"), Mapping) else None
        child = metadata.get("sessionId") if isinstance(metadata, Mapping) else None
        if isinstance(child, str):
            self.children.setdefault(child, len(self.lane.steps))

    def gone(self, messages: Sequence[str], parts: Sequence[tuple[str, str]]) -> None:
        """Messages, and parts of messages, that are no longer stored."""
        for ident in messages:
            if self._messages.pop(ident, None) is not None:
                self._order.remove(ident)
        for ident, part in parts:
            if ident in self._messages:
                self._messages[ident].parts.pop(part, None)
        self._places = {ident: index for index, ident in enumerate(self._order)}
        self._changed = -1
        if messages:
            self.lane.boundary = Boundary("rewind", True, None, None, f"{len(messages)} {_GONE}")

    def revert(self, info: object) -> None:
        """What the session says was undone: everything from a message on."""
        ident = text_of(info.get("messageID")) if isinstance(info, Mapping) else None
        if ident != self._reverted:
            self._reverted, self._changed = ident, -1
            if ident is not None:
                self.lane.boundary = Boundary("rewind", True, None, None, f"undone from {ident}")

    # -- the prompt -----------------------------------------------------------------------------------------------

    def settle(self, at: float | None = None) -> bool:
        """Bring the list to what a call at that time sees; None: what the next one will see. Returns whether it, or the
        plan, was another."""
        due = [part for part in self._cleared if part.stub is not None and (at is None or part.stub[0] <= at)]
        for part in due:
            if part.stub is not None:
                part.pieces = (part.pieces[0], part.stub[1])
                self._cleared.remove(part)
        fresh = [] if due else self._fresh()
        if fresh:
            start = len(self.lane.tape.live) - sum(known.placed for known in fresh)
            visible, summary = [known for known in fresh if not known.failed], self._boundary
        else:
            start, (visible, summary) = 0, self._visible()
            self._summary_at = -1 if summary is None else self._places[summary]
            fresh = self._from(self._summary_at + 1)
        for known in fresh:
            known.placed = len(known.ids)
        self._changed = len(self._order)
        ids = [ident for known in visible for ident in known.ids]
        held, changed = self.lane.fields, stand(self.lane, ids, start)
        if changed:
            if summary != self._boundary and summary is not None:
                self.lane.boundary = Boundary("compaction", True, None, None, f"compaction, summary {summary}")
            elif due and self.lane.boundary is None:
                self.lane.boundary = Boundary("prune", True, None, None, f"{len(due)} old results cleared")
        self._boundary = summary
        last = visible[-1] if visible else None
        calls = any(part.sort == "tool" for part in last.parts.values()) if last is not None else False
        done = last is not None and last.role == "assistant" and bool(last.parts)
        self.lane.answered = done and last is not None and (last.stopped or not calls)
        self._fields()
        return changed or self.lane.fields is not held

    def _from(self, index: int) -> list[_Message]:
        return [self._messages[ident] for ident in self._order[index:]]

    def _fresh(self) -> list[_Message]:
        """The messages at the end of which only some may have changed, where all before them stand as they stood; empty
        where the whole prompt must be looked at."""
        if self._reverted is not None or self._changed <= self._summary_at:
            return []
        found = self._from(min(self._changed, len(self._order) - 1))
        return [] if any(known.summary for known in found) or all(known.failed for known in found) else found

    def _visible(self) -> tuple[list[_Message], str | None]:
        """(messages that are sent, in order; the summary that begins them)."""
        order = [self._messages[ident] for ident in self._order]
        if self._reverted in self._messages:
            order = order[: self._order.index(self._reverted)]
        for place in range(len(order) - 1, -1, -1):
            summary = order[place]
            if not (summary.summary and summary.finished and not summary.failed):
                continue
            if summary.parent is None:  # older versions: the prompt begins with the summary itself
                return [known for known in order[place:] if not known.failed], summary.id
            marker = next((at for at in range(place) if order[at].id == summary.parent), None)
            if marker is None:
                continue
            part = next((part for part in order[marker].parts.values() if part.sort == "compaction"), None)
            if part is None:
                continue
            tail = next((at for at in range(marker) if order[at].id == part.tail), marker)
            kept = [order[marker], summary, *order[tail:marker], *order[place + 1 :]]
            return [known for known in kept if not known.failed], summary.id
        return [known for known in order if not known.failed], None

    # -- the plan -------------------------------------------------------------------------------------------------

    def _read_plan(self, data: Mapping[str, Any], held: _Part) -> None:
        plan = plan_of(data)
        if plan:
            self._plan, self._plan_piece = plan, held.pieces[0]

    def todo(self, items: object) -> None:
        """The todo list as it stands in the store."""
        plan = todos(items)
        if plan and [title for title, _ in plan] == [title for title, _ in self._plan]:
            self._plan = plan
        elif plan:
            self._plan, self._plan_piece = plan, None

    def _fields(self) -> None:
        carrier = self._plan_piece
        if carrier is not None and carrier not in self.lane.tape.live:
            carrier = None
        fields = tuple(
            Field(f"plan[{index}]", title, self.draft.count(title), None, None, carrier, done)
            for index, (title, done) in enumerate(self._plan)
        )
        if [(f.name, f.value, f.segment, f.done) for f in fields] != [
            (f.name, f.value, f.segment, f.done) for f in self.lane.fields
        ]:
            self.lane.fields = fields
