"""Events of an OpenHands V0 session, in order, onto the main lane.

A condensation takes the events that it names out of the view; only the last summary stands in it. Masking condensers
leave no record, so the prompt is known no better than that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentmem.formats.agents.openhands.events import text_of
from agentmem.formats.agents.openhands.v0_events import (
    QUIET_ACTIONS,
    QUIET_OBSERVATIONS,
    call_id,
    failed,
    forgotten,
    is_call,
    number,
    parts_of,
    response,
)
from agentmem.formats.draft import Call, RunDraft
from agentmem.formats.shared.times import seconds
from agentmem.formats.usage import usage_of
from agentmem.model import Boundary, Field, Where
from agentmem.tape import Piece

_SUMMARY = -1


class FoldV0:
    """Builds a draft from events."""

    def __init__(self, draft: RunDraft) -> None:
        self.draft = draft
        draft.agent = "OpenHands"
        draft.unknown = ("system prompt", "tool schemas")
        self._view: list[tuple[int, int]] = []
        """(event id, how many pieces it has), in order of the prompt; the summary has the id -1."""
        self._response: str | None = None
        self._tasks: list[tuple[str, bool]] = []
        self._carrier: int | None = None

    def take(self, event: Mapping[str, Any], where: Callable[[int], Where], label: str) -> str | None:
        """Take in one event. Returns None, or the name of its type if that is not understood."""
        action, seen = text_of(event.get("action")), text_of(event.get("observation"))
        name = action or seen
        if name is None:
            return "event that is neither action nor observation"
        self.draft.counts[name] = self.draft.counts.get(name, 0) + 1
        ident = number(event.get("id"))
        ident = -2 - len(self._view) if ident is None else ident
        if action == "condensation":
            self._condense(event, where, label)
        elif is_call(event) or (action == "message" and event.get("source") == "agent"):
            self._said(event, ident, where, label)
        elif action in ("message", "system"):
            self._told(event, ident, where)
        elif seen is not None and seen not in QUIET_OBSERVATIONS:
            self._seen(event, ident, where)
        elif action is not None and action not in QUIET_ACTIONS:
            del self.draft.counts[name]
            return name
        if action == "task_tracking":
            self._plan(event)
        if action == "finish":
            self.draft.finished, self.draft.ended_as = True, "finish"
        elif action == "message" and event.get("source") == "user":
            self.draft.finished, self.draft.ended_as = False, None
        return None

    def _pieces(self, event: Mapping[str, Any], where: Callable[[int], Where]) -> list[tuple[Any, Piece]]:
        return [
            (part, Piece(part.kind, part.text, where(index), part.call_id, None, part.tool, part.tokens))
            for index, part in enumerate(parts_of(event))
        ]

    def _told(self, event: Mapping[str, Any], ident: int, where: Callable[[int], Where]) -> None:
        made = self._pieces(event, where)
        if event.get("action") == "system":
            tools = any(piece.kind == "tools" for _, piece in made)
            self.draft.unknown = () if tools else ("tool schemas",)
        elif event.get("source") == "user" and made and self.draft.goal is None:
            part, piece = made[0]
            self.draft.set_goal(piece.text, declared=False)
            if piece.kind == "user" and piece.text:
                made[0] = (part, Piece("goal", piece.text, piece.where))
        for _, piece in made:
            self.draft.main.append(piece)
        self._view.append((ident, len(made)))

    def _said(self, event: Mapping[str, Any], ident: int, where: Callable[[int], Where], label: str) -> None:
        lane, answer = self.draft.main, response(event)
        named = answer.get("id")
        same = isinstance(named, str) and named == self._response and bool(lane.steps)
        if not same:
            model = answer.get("model")
            self.draft.model = model if isinstance(model, str) else self.draft.model
            usage = usage_of(answer.get("usage"), label)
            lane.close(at=seconds(event.get("timestamp")), usage=usage, model=self.draft.model)
        self._response = named if isinstance(named, str) else None
        size = 0
        for part, piece in self._pieces(event, where):
            if same and part.kind != "call":
                continue
            call = None
            if part.kind == "call" and part.tool is not None:
                call = Call(part.tool, part.arguments or "", part.call_id, started=seconds(event.get("timestamp")))
                call.answered = event.get("action") in ("finish", "reject")
            lane.reply(piece, call)
            size += 1
        self._view.append((ident, size))

    def _seen(self, event: Mapping[str, Any], ident: int, where: Callable[[int], Where]) -> None:
        lane, made = self.draft.main, self._pieces(event, where)
        own = lane.call_of(call_id(event) or "")
        for part, piece in made:
            if own is not None and part.kind == "result":
                lane.answer(piece, failed=failed(event), at=seconds(event.get("timestamp")))
            else:
                piece.call_id = None
                lane.append(piece)
        self._view.append((ident, len(made)))

    def _condense(self, event: Mapping[str, Any], where: Callable[[int], Where], label: str) -> None:
        lane, gone = self.draft.main, forgotten(event)
        made = [piece for _, piece in self._pieces(event, where)]
        position = sum(size for _, size in self._view)
        for index in range(len(self._view) - 1, -1, -1):
            ident, size = self._view[index]
            position -= size
            if ident in gone or (ident == _SUMMARY and made):
                lane.splice(position, size)
                del self._view[index]
        if made:
            args = event.get("args")
            offset = number(args.get("summary_offset")) if isinstance(args, Mapping) else None
            index = len(self._view) if offset is None else min(offset, len(self._view))
            lane.splice(sum(size for _, size in self._view[:index]), 0, made)
            self._view.insert(index, (_SUMMARY, len(made)))
        why = f"condensation {label}: {len(gone)} events forgotten"
        lane.boundary = Boundary("condensation", True, None, None, why, False)
        if self._tasks:
            self._fields()

    def _plan(self, event: Mapping[str, Any]) -> None:
        args = event.get("args")
        items = args.get("task_list") if isinstance(args, Mapping) else None
        if not isinstance(items, list):
            return
        self._tasks = [
            (item["title"], item.get("status") == "done")
            for item in items
            if isinstance(item, Mapping) and isinstance(item.get("title"), str) and item["title"]
        ]
        live = self.draft.main.tape.live
        self._carrier = live[-1] if live else None
        self._fields()

    def _fields(self) -> None:
        """The plan, and the call that carries it while that stands in the prompt."""
        carrier = self._carrier if self._carrier in self.draft.main.tape.live else None
        self.draft.main.fields = tuple(
            Field(f"plan[{index}]", title, self.draft.count(title), None, None, carrier, done)
            for index, (title, done) in enumerate(self._tasks)
        )
