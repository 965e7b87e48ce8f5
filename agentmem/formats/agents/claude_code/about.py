"""What a session is about: its id, its model, and the goal: the first real request, or the best that stands for it."""

from __future__ import annotations

from pathlib import Path

from agentmem.formats.agents.claude_code.lane import LaneState
from agentmem.formats.agents.claude_code.parts import (
    SYNTHETIC,
    api_error,
    asked,
    command_arguments,
    pieces_of,
    recalled,
    requested,
)
from agentmem.formats.agents.claude_code.records import Entry, is_session, string
from agentmem.formats.agents.claude_code.spawned import Spawned
from agentmem.formats.draft import RunDraft


class About:
    """Told of every line once it stands in its lane. `named`: the session's id is the run's."""

    def __init__(self, draft: RunDraft, spawned: Spawned, *, named: bool) -> None:
        self._draft, self._spawned, self._named = draft, spawned, named
        self.session: str | None = None
        self._command: tuple[str, str] | None = None
        """(uuid, arguments) of the first slash command, while no request is known."""

    def learn(self, source: str, entry: Entry, state: LaneState) -> None:
        """A line that stands in its lane now."""
        line, draft = entry.line, self._draft
        if line.kind == "assistant":
            self._spawned.called(state, entry)
        elif line.kind == "user":
            self._spawned.answered(state, entry)
        if state.lane.id != "main":
            return
        where = f"{Path(source).name}, line {entry.number}" if source != draft.path else f"line {entry.number}"
        if self.session is None and string(line.sessionId):
            self.session = line.sessionId
            if self._named and not is_session(draft.id):
                draft.id = line.sessionId
        if line.kind == "assistant":
            model = string(entry.body.get("model"))
            if model and model != SYNTHETIC:
                draft.model = model
        elif line.kind == "user" and draft.goal is None:
            self._goal(entry, state)
        elif line.kind == "system" and line.subtype == "away_summary" and isinstance(line.content, str):
            self._told(recalled(line.content), state)
        if line.isApiErrorMessage is True:
            parts = pieces_of(entry)
            draft.problem(where, f"the model call failed: {(parts[0].text or '')[:200] if parts else '?'}")
        elif line.subtype == "api_error" and not state.lane.steps:
            draft.problem(where, api_error(line)[:200])

    def _goal(self, entry: Entry, state: LaneState) -> None:
        for part in pieces_of(entry):
            text = part.text or ""
            if part.kind == "user" and asked(text) and state.goal_known:
                self._draft.set_goal(text, declared=False)
            elif part.kind == "user" and self._command is None and (given := command_arguments(text)):
                self._command = (entry.ident, given)
            elif part.kind == "other" and self._command is not None and entry.parent == self._command[0]:
                if not text.lstrip().startswith(("<local-command", "Caveat:")):
                    self._told(self._command[1], state)
            elif part.kind == "summary":
                self._told(requested(text), state)

    def _told(self, goal: str | None, state: LaneState) -> None:
        """The goal, from something else than a request: no later request takes its place."""
        if goal is not None and self._draft.goal is None:
            self._draft.set_goal(goal, declared=False)
            self._draft.goal_unknown = False
            state.goal, state.goal_known = goal, False
