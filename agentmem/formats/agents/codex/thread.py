"""One rollout file read into one lane: its items make the prompt, its events tell usage, turns, goals and children."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentmem.formats.agents.codex import history
from agentmem.formats.agents.codex.fork import Copied
from agentmem.formats.agents.codex.held import TEXTS
from agentmem.formats.agents.codex.history import piece_of
from agentmem.formats.agents.codex.records.events import UNDERSTOOD, Content, error_words
from agentmem.formats.agents.codex.records.items import (
    COMPACTIONS,
    INPUTS,
    NOT_SENT,
    OUTPUTS,
    PARTS,
    SERVED,
    call_of,
    item_parts,
    outcome_of,
    request_of,
    sort_of,
)
from agentmem.formats.agents.codex.records.lines import Entry, Place
from agentmem.formats.agents.codex.response import ABORTED, Response
from agentmem.formats.agents.codex.told import Told
from agentmem.formats.draft import LaneDraft, RunDraft
from agentmem.formats.messages import Part
from agentmem.formats.usage import amount
from agentmem.model import KINDS, Boundary
from agentmem.tape import Piece, content_key

_PASSED_OVER = frozenset({
    "world_state", "inter_agent_communication", "inter_agent_communication_metadata", "security_risk_score",
})  # fmt: skip
_SAID = KINDS.index("assistant")


class Thread:
    """Feeds the records of one file, in order, to its lane."""

    def __init__(self, draft: RunDraft, lane: LaneDraft, *, main: bool = True) -> None:
        self.draft, self.lane, self._main = draft, lane, main
        self.spawned: dict[str, tuple[str | None, int]] = {}
        """Thread of a child -> (its name, n of the step that spawned it)."""
        self.ident: str | None = None
        self.response = Response(draft, lane)
        self.held = self.response.held
        self.told = Told(self)
        self._copied = Copied()
        self._prefix: list[Piece] = []
        self._goal_key: int | None = None
        self._limit: int | None = None
        self._states: list[Any] = []
        self.inheriting = False
        """Records come from the rollout of a parent."""
        self._once = False
        """It ends with its turn: a subagent, or a run without a person."""

    @property
    def system_known(self) -> bool:
        return bool(self._prefix)

    def take(self, entry: Entry, place: Place) -> bool:
        """Take in one record. False: its type is unknown. Raises ValueError if its payload cannot be decoded."""
        kind = entry.kind
        if not self.inheriting:
            if self._copied.going:
                if self._copied.ends(entry):
                    self._own()
            elif not self.lane.steps and self._copied.older(entry):
                self._copied.going, self._copied.parent = True, self._copied.named
        if kind == "response_item":
            return self._item(entry.payload, place, entry.at)
        if kind == "event_msg":
            return self._event(entry, place)
        if kind == "compacted":
            self._compacted(entry.payload, place)
        elif kind == "turn_context":
            self._context(entry.payload)
        elif kind == "session_meta":
            self._meta(entry, place)
        elif kind is None:
            return self._old_head(entry, place)
        elif kind == "token_usage_record":
            self.response.one(entry.payload.get("usage"), place, copied=self._copied.going)
        elif kind == "history_mutation":
            return self._mutated(entry, place)
        elif kind in OUTPUTS or kind in INPUTS or kind in COMPACTIONS or kind == "message":
            return self._item(entry.payload, place, entry.at)
        else:
            return kind in _PASSED_OVER
        return True

    # -- the head, turns ------------------------------------------------------------------------------------------

    def _meta(self, entry: Entry, place: Place) -> None:
        payload = entry.payload
        ident = payload.get("id")
        if self.ident is not None:
            if self._copied.begins(ident):
                return
            if isinstance(ident, str) and ident != self.ident:
                self.draft.problem(f"line {place.line}", f"the head of another thread, {ident:.60}")
            return
        self.ident = ident if isinstance(ident, str) else ""
        source, origin = payload.get("source"), payload.get("originator")
        self._once = source == "exec" or isinstance(source, Mapping) and "subagent" in source or origin == "codex_exec"
        self._copied.head(entry, payload)
        given = payload.get("base_instructions", payload.get("instructions"))
        text = given.get("text") if isinstance(given, Mapping) else given
        if isinstance(text, str) and text:
            self._set_prefix(text, place)
        if self._main and self.ident:
            self.draft.id = self.ident

    def _old_head(self, entry: Entry, place: Place) -> bool:
        """The first line of a rollout before September 2025; later lines of the agent's own state."""
        payload = entry.payload
        if "record_type" in payload:
            return True
        if self.ident is None and isinstance(payload.get("id"), str) and "timestamp" in payload:
            self._meta(entry, place)
            return True
        return False

    def _set_prefix(self, text: str, place: Place) -> None:
        piece = Piece("system", text, place.where())
        self.lane.splice(0, 0, [piece])
        count = self.lane.tape.tokens[self.lane.tape.live[0]]
        self._prefix = [Piece("system", None, piece.where, tokens=count, key=piece.key)]

    def _context(self, payload: Mapping[str, Any]) -> None:
        self._model(payload.get("model"))
        policy = payload.get("truncation_policy")
        limit = amount(policy.get("limit")) if isinstance(policy, Mapping) else None
        if isinstance(policy, Mapping) and limit is not None:
            self._limit = limit if policy.get("mode") == "tokens" else limit // history.BYTES_PER_TOKEN

    def _model(self, model: object) -> None:
        if isinstance(model, str) and model:
            self.response.model = model
            if self._main:
                self.draft.model = model

    @property
    def base(self) -> tuple[str, int | None, int | None] | None:
        """Where the history stands that this thread began with: (thread, byte, ordinal)."""
        return self._copied.base

    def inherit(self, parent: str) -> None:
        """What follows is the history of another thread, which stands in its rollout, until `inherited`."""
        self.inheriting = self._copied.going = True
        self._copied.parent = parent

    def inherited(self) -> None:
        self.inheriting = False
        self._own()

    def _own(self) -> None:
        """What follows is the thread's own; before it stood what it was forked with."""
        self._copied.going = False
        self.lane.declared = []
        self.lane.boundary = Boundary(
            "fork", True, None, None, f"forked from {self._copied.parent}: its history stands before the first call"
        )
        self.response.end()

    # -- items ----------------------------------------------------------------------------------------------------

    def _mutated(self, entry: Entry, place: Place) -> bool:
        """Items in one record, as a relative of the agent writes them."""
        items = entry.payload.get("items")
        if entry.payload.get("operation") != "append" or not isinstance(items, list):
            return False
        for index, item in enumerate(items):
            if isinstance(item, Mapping):
                self._item(item, place.inside(index * PARTS), entry.at)
        return True

    def _item(self, payload: Mapping[str, Any], place: Place, at: float | None) -> bool:
        sort = sort_of(payload)
        if sort in NOT_SENT:
            return True
        parts = item_parts(payload)
        if sort == "reasoning":
            self.output(parts, place, at)
        elif sort in OUTPUTS:
            self.told.item_seen("tool")
            self.output(parts, place, at, served=sort in SERVED, status=payload.get("status"))
        elif sort == "message" and payload.get("role") == "assistant":
            self.told.item_seen("assistant")
            self.output(parts, place, at)
        elif sort in COMPACTIONS:
            hidden = all(part.text is None for part in parts)
            self.input(parts, place, at)
            self._mark(f"{sort} item, line {place.line}", hidden)
        else:
            if sort == "message" and any(part.kind == "user" for part in parts):
                self.told.item_seen("user")
            self.input(parts, place, at)
        return sort == "message" or sort in OUTPUTS or sort in INPUTS or sort in COMPACTIONS

    def output(
        self, parts: list[Part], place: Place, at: float | None, *, served: bool = False, status: object = None
    ) -> None:
        """What the model answered."""
        copied = self._copied.going
        for number, part in enumerate(parts):
            piece = piece_of(part, place.where(number))
            if copied:
                ident = self.lane.append(piece)
            else:
                ident = self.response.reply(piece, part, at, served=served, status=status)
            if part.kind == "call":
                tool, arguments = call_of(part)
                if self.held.read_call(tool, arguments, ident):
                    self.lane.fields = self.held.fields

    def input(self, parts: list[Part], place: Place, at: float | None) -> None:
        """What came to the model: messages and results."""
        self.response.end()
        real = [part for part in parts if part.kind == "user"]
        if real:
            self._turn()
        for number, part in enumerate(parts):
            self._goal(part)
            piece = piece_of(part, place.where(number))
            if part.kind in ("result", "error"):
                self._answer(part, piece, at)
                continue
            ident = self.lane.append(piece)
            if part.text is not None and self.lane.tape.kinds[ident] in TEXTS:
                self.held.came(ident, part.text)

    def result(self, part: Part, place: Place, at: float | None) -> None:
        """What a tool gave back, as an event tells it: the second part of its record."""
        self.response.end()
        self._answer(part, piece_of(part, place.where(1)), at)

    def proposed(self, content: Content) -> None:
        """A plan as a text. It stands in the last message of the model, if it stands in the prompt at all."""
        text = content.parts[0].text if content.parts else None
        if text:
            replies = self.lane.steps[-1].replies if self.lane.steps else []
            said = [ident for ident in replies if self.lane.tape.kinds[ident] == _SAID]
            self.held.propose(text, said[-1] if said else None)
            self.lane.fields = self.held.fields

    def _answer(self, part: Part, piece: Piece, at: float | None) -> None:
        text = part.text or ""
        if self._limit is not None and len(text) > self._limit * history.BYTES_PER_TOKEN * 1.2:
            piece.tokens = self._limit
        if self._copied.going:
            self.lane.append(piece)
            return
        outcome, error = outcome_of(part.text, part.failed) or (None, None)
        call = self.lane.call_of(piece.call_id) if piece.call_id else None
        again = call is not None and call.error == ABORTED
        self.lane.answer(piece, failed=part.failed, at=at, outcome=outcome, error=error, again=again)
        if call is not None and call.tool == "spawn_agent":
            self._child(history.agent_of(text), None)

    def _goal(self, part: Part) -> None:
        """The first text of a person is the goal, wherever it stands again later."""
        if part.kind != "user" or not part.text:
            return
        key = content_key("user", part.text)
        if self._goal_key is None:
            self._goal_key = key
            if self._main:
                self.draft.set_goal(request_of(part.text), declared=False)
        if key == self._goal_key:
            part.kind = "goal"

    def _turn(self) -> None:
        """A person's message: unanswered calls are interrupted, old reasoning goes."""
        self.response.interrupt()
        self._states.append(self.held.state())
        history.prune(self.lane)

    # -- what rewrites the prompt ---------------------------------------------------------------------------------

    def _compacted(self, payload: Mapping[str, Any], place: Place) -> None:
        lane = self.lane
        self.response.end(forget=True)
        self.response.interrupt()
        new = history.replacement(payload, place)
        texts: list[tuple[int, str, bool]] = []
        if lane.steps and lane.steps[-1].fields is not lane.fields:
            # What the last call itself changed was never in a prompt, and is lost like the rest.
            lane.steps[-1].fields = lane.fields
            lane.touch(lane.steps[-1])
        if new is None:
            message = payload.get("message")
            message = message if isinstance(message, str) else ""
            history.legacy(lane, message, place, len(self._prefix))
            texts = [(lane.tape.live[-1], message, True)] if message else []
        else:
            pieces = list(self._prefix)
            for part, piece in new:
                self._goal(part)
                pieces.append(piece if part.kind == piece.kind else piece_of(part, piece.where or place.where()))
            lane.sync(pieces)
            pairs = zip(lane.tape.live, pieces, strict=True)
            texts = [(i, piece.text, piece.kind == "summary") for i, piece in pairs if piece.text is not None]
        self.held.replaced(set(lane.tape.live), texts)
        lane.fields = self.held.fields
        lane.boundary = None if self._copied.going else history.compaction(payload, place)

    def _mark(self, why: str, hidden: bool) -> None:
        """A compaction of which only a mark is there, if no fuller record told it."""
        steps = self.lane.steps
        if self.lane.boundary is None and not self._copied.going and steps:
            last = steps[-1].boundary
            if last is not None and last.kind == "compaction":
                return
            self.lane.boundary = Boundary("compaction", True, None, None, why, hidden)

    def _rolled_back(self, payload: Mapping[str, Any], place: Place) -> None:
        count = amount(payload.get("num_turns")) or 1
        self.response.end(forget=True)
        self.response.interrupt()
        if not history.rollback(self.lane, count, place):
            return self.draft.problem(f"line {place.line}", "a rollback of turns that are not there")
        if self._copied.going:
            self.lane.boundary = None
        if len(self._states) >= count:
            self.held.restore(self._states[-count], set(self.lane.tape.live))
            del self._states[-count:]
            self.lane.fields = self.held.fields

    # -- events ---------------------------------------------------------------------------------------------------

    def _event(self, entry: Entry, place: Place) -> bool:
        sub = entry.sub
        if sub == "token_count":
            self.response.count(entry.payload, place, copied=self._copied.going)
            if self.response.window is not None and (self._main or self.draft.window is None):
                self.draft.window, self.draft.window_source = self.response.window, "declared"
        elif sub == "thread_rolled_back":
            self._rolled_back(entry.payload, place)
        elif sub == "context_compacted":
            self._mark(f"context_compacted event, line {place.line}: what it kept is not told", True)
        elif sub == "thread_goal_updated":
            self._goal_told(entry.payload)
        elif sub in ("task_started", "turn_started"):
            self._started(entry.payload)
        elif sub in ("task_complete", "turn_complete", "turn_aborted"):
            self._ended(sub)
        elif sub in ("collab_agent_spawn_end", "sub_agent_activity"):
            payload = entry.payload
            name = payload.get("new_agent_nickname", payload.get("agent_path"))
            self._child(payload.get("new_thread_id", payload.get("agent_thread_id")), name)
        elif sub == "thread_settings_applied":
            settings = entry.payload.get("thread_settings")
            self._model(settings.get("model") if isinstance(settings, Mapping) else None)
        elif sub == "error":
            self.draft.problem(f"line {place.line}", f"the agent reports an error: {error_words(entry.payload)}")
        elif not self._copied.going:
            return self.told.event(entry, place) and sub in UNDERSTOOD
        return sub in UNDERSTOOD

    def _started(self, payload: Mapping[str, Any]) -> None:
        self.response.end()
        window = amount(payload.get("model_context_window"))
        if window and (self._main or self.draft.window is None):
            self.draft.window, self.draft.window_source = window, "declared"
        if self._main:
            self.draft.finished, self.draft.ended_as = False, None

    def _ended(self, sub: str) -> None:
        self.told.turn_over()
        self.response.end()
        if sub == "turn_aborted":
            self.response.interrupt()
        if self._main and self._once and not self._copied.going:
            self.draft.finished, self.draft.ended_as = True, "aborted" if sub == "turn_aborted" else "completed"

    def _goal_told(self, payload: Mapping[str, Any]) -> None:
        goal = payload.get("goal")
        text = goal.get("objective") if isinstance(goal, Mapping) else None
        if not isinstance(text, str) or not text:
            return
        if self._main:
            self.draft.set_goal(text, declared=True)
        self.held.set_goal(text, self.lane.tape)
        self.lane.fields = self.held.fields

    def _child(self, ident: object, name: object) -> None:
        if isinstance(ident, str) and ident and self.lane.steps and not self._copied.going:
            known = self.spawned.get(ident)
            label = name if isinstance(name, str) and name else known[0] if known else None
            self.spawned[ident] = (label, known[1] if known else len(self.lane.steps))
