"""Events of one conversation, in order, folded onto lanes: the view that the model saw, call by call.

A condensation takes the events that it names out of the view and puts its summary at an offset. Calls without a result
and results without their call are not sent. An event whose parent is older than the last one begins a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from agentmem.formats.agents.openhands.events import ERROR_HEADER, QUIET, parts_of, tasks, text_of
from agentmem.formats.agents.openhands.stats import Stats
from agentmem.formats.draft import Call, LaneDraft, RunDraft, StepDraft
from agentmem.formats.outcome import judge
from agentmem.formats.shared.times import seconds
from agentmem.formats.usage import amount
from agentmem.model import Boundary, Field, Outcome, Where
from agentmem.tape import Piece

_SUMMARY = "-summary"


class _Known(msgspec.Struct, eq=False):
    """What is kept of an event: enough to fold its path again."""

    parent: str | None
    lane: str
    steps: int
    pieces: tuple[int, ...] = ()
    in_view: bool = False
    condensation: tuple[frozenset[str], int | None] | None = None
    """(events it forgets, where its summary goes)"""


class _View(msgspec.Struct, eq=False):
    """What one lane's model sees now."""

    lane: LaneDraft
    events: list[tuple[str, int]] = msgspec.field(default_factory=list)
    """(event, how many pieces it has), in order of the prompt."""
    tip: str | None = None
    response: str | None = None
    calls: dict[str, str] = msgspec.field(default_factory=dict)
    """Calls without a result: id -> the event that made it."""

    def place(self, index: int) -> int:
        """Position in the prompt of the event at `index`."""
        return sum(size for _, size in self.events[:index])

    def remove(self, gone: set[str]) -> set[str]:
        """Take events out of the prompt. Returns those that were in it."""
        found = set()
        index = len(self.events)
        position = sum(size for _, size in self.events)
        while index > 0:
            index -= 1
            ident, size = self.events[index]
            position -= size
            if ident in gone:
                found.add(ident)
                self.lane.splice(position, size)
                del self.events[index]
        return found


class Fold:
    """Builds a draft from events. `where` gives the place of piece `part` of the event in hand."""

    def __init__(self, draft: RunDraft) -> None:
        self.draft = draft
        draft.agent = "OpenHands"
        draft.unknown = ("system prompt", "tool schemas")
        self.stats = Stats()
        self._known: dict[str, _Known] = {}
        self._views = {"main": _View(draft.main)}
        self._tips: dict[str, _View] = {}
        self._view = self._views["main"]
        self._pairs: dict[str, tuple[str, str | None]] = {}
        """Call id -> (event of the call, event of its result)."""
        self._steps: dict[str, tuple[LaneDraft, StepDraft]] = {}
        """Response id -> its step."""
        self._plan: list[tuple[str, bool]] = []
        self._plan_event: str | None = None
        self._summary = ""
        self.seen = 0

    def take(
        self, event: Mapping[str, Any], where: Callable[[int], Where], label: str, *, damaged: bool = False
    ) -> str | None:
        """Take in one event. Returns None, or the name of its kind if that is not understood. `damaged`: what stood
        before it could not be read, so that its parent may be missing."""
        kind, ident = event.get("kind"), text_of(event.get("id"))
        if not isinstance(kind, str):
            return "event without a kind"
        self.seen += 1
        self._turn(event, ident or label, damaged, label)
        view = self._view
        known = _Known(text_of(event.get("parent_id")) or view.tip, view.lane.id, len(view.lane.steps))
        if view.tip is not None:
            self._tips.pop(view.tip, None)
        view.tip = ident or label
        if view.tip in self._known:
            self.draft.problem(label, f"id {view.tip:.40} is given again, to another event")
        self._known[view.tip], self._tips[view.tip] = known, view
        self.draft.counts[kind] = self.draft.counts.get(kind, 0) + 1
        if kind == "Condensation":
            self._condense(view, known, event, where, label)
        elif kind in QUIET:
            self._state(event, label)
        elif kind == "ActionEvent" or (kind == "MessageEvent" and event.get("source") == "agent"):
            self._said(view, known, event, where)
        elif kind in ("SystemPromptEvent", "MessageEvent"):
            self._brought(view, known, event, where)
        elif kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation", "RejectObservation"):
            self._result(view, known, event, where, label)
        else:
            del self.draft.counts[kind]
            return kind
        known.steps = len(view.lane.steps)
        return None

    # -- the tree -------------------------------------------------------------------------------------------------

    def _turn(self, event: Mapping[str, Any], ident: str, damaged: bool, label: str) -> None:
        parent = text_of(event.get("parent_id"))
        if parent is None or parent == self._view.tip:
            return
        if parent in self._tips:
            self._view = self._tips[parent]
        elif parent in self._known:
            self._branch(ident, parent)
        elif self._view.tip is not None and not damaged:
            self.draft.problem(label, f"its parent {parent:.40} is not there: an event is lost")

    def _branch(self, ident: str, parent: str) -> None:
        base = self._known[parent]
        lane = self.draft.lane(ident, "branch", spawned_by=(base.lane, base.steps))
        view = _View(lane, tip=parent)
        for event, pieces in self._refold(parent):
            known = self._known[event.removesuffix(_SUMMARY)]
            lane.tape.adopt(self._views[known.lane].lane.tape, pieces)
            view.events.append((event, len(pieces)))
        self._views[ident] = self._view = view

    def _refold(self, leaf: str) -> list[tuple[str, tuple[int, ...]]]:
        """The view as it was at an event: its path, folded from the start. Ids that are given twice may name each
        other."""
        path: dict[str, None] = {}
        at: str | None = leaf
        while at is not None and at in self._known and at not in path:
            path[at] = None
            at = self._known[at].parent
        view: list[tuple[str, tuple[int, ...]]] = []
        for ident in reversed(path):
            known = self._known[ident]
            if known.condensation is not None:
                forgotten, offset = known.condensation
                view = [item for item in view if item[0] not in forgotten]
                if known.pieces:
                    view.insert(len(view) if offset is None else offset, (ident + _SUMMARY, known.pieces))
            elif known.in_view:
                view.append((ident, known.pieces))
        return view

    # -- what events bring ----------------------------------------------------------------------------------------

    def _pieces(self, event: Mapping[str, Any], where: Callable[[int], Where]) -> list[tuple[Any, Piece]]:
        return [
            (part, Piece(part.kind, part.text, where(number), part.call_id, None, part.tool, part.tokens))
            for number, part in enumerate(parts_of(event))
        ]

    def _enter(self, view: _View, known: _Known, ident: str, pieces: tuple[int, ...]) -> None:
        known.pieces, known.in_view = pieces, True
        view.events.append((ident, len(pieces)))

    def _brought(self, view: _View, known: _Known, event: Mapping[str, Any], where: Callable[[int], Where]) -> None:
        """A system prompt, or a message of the user."""
        made = self._pieces(event, where)
        if event.get("kind") == "SystemPromptEvent":
            kinds = {piece.kind for _, piece in made}
            names = (("system prompt", "system"), ("tool schemas", "tools"))
            self.draft.unknown = tuple(name for name, kind in names if kind not in kinds)
        elif self.draft.goal is None and event.get("source") == "user":
            for number, (part, piece) in enumerate(made):
                if piece.kind == "user" and piece.text:
                    self.draft.set_goal(piece.text, declared=False)
                    made[number] = (part, Piece("goal", piece.text, piece.where))
                    break
        self._enter(view, known, view.tip or "", tuple(view.lane.append(piece) for _, piece in made))

    def _said(self, view: _View, known: _Known, event: Mapping[str, Any], where: Callable[[int], Where]) -> None:
        """A call or a message of the agent; calls of one response are one step."""
        lane = view.lane
        response = text_of(event.get("llm_response_id"))
        if response is None or response != view.response or not lane.steps:
            self._close(view, event, response)
        view.response = response
        at = seconds(event.get("timestamp"))
        pieces = []
        for part, piece in self._pieces(event, where):
            call = None
            if part.kind == "call" and part.tool is not None:
                call = Call(part.tool, part.arguments or "", part.call_id, started=at)
                if part.call_id is not None:
                    view.calls[part.call_id] = view.tip or ""
                    self._pairs[part.call_id] = (view.tip or "", None)
            pieces.append(lane.reply(piece, call))
        self._enter(view, known, view.tip or "", tuple(pieces))
        plan = tasks(event)
        if plan is not None:
            self._plan, self._plan_event = plan, view.tip
            lane.fields = self._fields(view)

    def _close(self, view: _View, event: Mapping[str, Any], response: str | None) -> None:
        lane = view.lane
        if view.calls:
            view.remove(set(view.calls.values()))
            view.calls.clear()
        usage = self.stats.usage(response)
        step = lane.close(at=seconds(event.get("timestamp")), usage=usage, model=self.draft.model)
        if response is not None:
            self._steps[response] = (lane, step)

    def _result(
        self, view: _View, known: _Known, event: Mapping[str, Any], where: Callable[[int], Where], label: str
    ) -> None:
        call_id = text_of(event.get("tool_call_id"))
        owner = self._pairs.get(call_id or "")
        if owner is None or view.lane.call_of(call_id or "") is None:
            self.draft.problem(label, f"a result without its call {call_id or '?':.40}: it is not sent")
            return
        view.calls.pop(call_id or "", None)
        if all(ident != owner[0] for ident, _ in view.events):
            return
        self._pairs[call_id or ""] = (owner[0], view.tip)
        rejected = str(event.get("kind")).endswith("RejectObservation")
        outcome: Outcome | None = "denied" if rejected else None
        at = seconds(event.get("timestamp"))
        made = []
        for part, piece in self._pieces(event, where):
            error = part.text if rejected else None
            if part.failed and not rejected:
                outcome, error = "error", judge((part.text or "").removeprefix(ERROR_HEADER), True)[1]
            made.append(view.lane.answer(piece, failed=part.failed, at=at, outcome=outcome, error=error))
        self._enter(view, known, view.tip or "", tuple(made))

    # -- what leaves ----------------------------------------------------------------------------------------------

    def _condense(
        self, view: _View, known: _Known, event: Mapping[str, Any], where: Callable[[int], Where], label: str
    ) -> None:
        named = event.get("forgotten_event_ids")
        forgotten = {ident for ident in named if isinstance(ident, str)} if isinstance(named, list) else set()
        offset = event.get("summary_offset")
        place = offset if isinstance(offset, int) and not isinstance(offset, bool) and offset >= 0 else None
        known.condensation = (frozenset(forgotten), place)
        lane = view.lane
        view.remove(forgotten)
        standing = {ident for ident, _ in view.events}
        half = set()
        for call, result in self._pairs.values():
            if result is not None and (call in standing) != (result in standing):
                half |= {call, result}
        view.remove(half & standing)
        made = [piece for _, piece in self._pieces(event, where)]
        if made:
            index = len(view.events) if place is None else min(place, len(view.events))
            known.pieces = lane.splice(view.place(index), 0, made)
            view.events.insert(index, ((view.tip or "") + _SUMMARY, len(made)))
        self._summary = made[0].text or "" if made else ""
        why = f"condensation {label}: {len(forgotten)} events forgotten"
        lane.boundary = Boundary("condensation", True, None, None, why, False)
        if self._plan:
            lane.fields = self._fields(view)

    def _fields(self, view: _View) -> tuple[Field, ...]:
        """The plan, and the piece of the prompt that carries each item: the call that wrote it, or a summary."""
        standing = [ident for ident, _ in view.events]
        call = summary = None
        known = self._known.get(self._plan_event or "")
        if self._plan_event in standing and known is not None and known.pieces and known.lane == view.lane.id:
            call = known.pieces[-1]
        last = next((ident for ident in reversed(standing) if ident.endswith(_SUMMARY)), None)
        if last is not None:
            source = self._known[last.removesuffix(_SUMMARY)]
            summary = source.pieces[0] if source.pieces and source.lane == view.lane.id else None
        out = []
        for index, (title, done) in enumerate(self._plan):
            piece = call if call is not None else summary if title in self._summary else None
            out.append(Field(f"plan[{index}]", title, self.draft.count(title), None, None, piece, done))
        return tuple(out)

    # -- what the conversation says of itself ---------------------------------------------------------------------

    def _state(self, event: Mapping[str, Any], label: str) -> None:
        kind, key, value = event.get("kind"), event.get("key"), event.get("value")
        if kind == "ConversationErrorEvent":
            self.draft.problem(label, f"conversation error: {event.get('code')}: {event.get('detail')!s:.200}")
        elif key == "execution_status":
            self.status(value)
        elif key == "stats":
            self.stats.update(value)
        elif key == "full_state" and isinstance(value, Mapping):
            self.base(value)

    def status(self, value: object) -> None:
        """What the conversation says of its own state."""
        self.draft.finished = value in ("finished", "error", "stuck")
        self.draft.ended_as = str(value) if self.draft.finished else None

    def base(self, state: Mapping[str, Any]) -> None:
        """The conversation's base state: model, status, and usage by response."""
        agent = state.get("agent")
        llm = agent.get("llm") if isinstance(agent, Mapping) else None
        if isinstance(llm, Mapping):
            self.draft.model = text_of(llm.get("model")) or self.draft.model
            window = amount(llm.get("max_input_tokens"))
            if window:
                self.draft.window, self.draft.window_source = window, "declared"
        if "execution_status" in state:
            self.status(state["execution_status"])
        self.draft.id = text_of(state.get("id")) or self.draft.id
        for response in self.stats.update(state.get("stats")):
            place = self._steps.get(response)
            usage = self.stats.usage(response)
            if place is not None and usage is not None and place[1].usage != usage:
                place[1].usage = usage
                place[0].touch(place[1])

    def plan(self, items: list[tuple[str, bool]]) -> None:
        """The plan as it stands in TASKS.json."""
        if items != self._plan:
            self._plan = items
            self._plan_event = None
            self._view.lane.fields = self._fields(self._view)
