"""Which call of which lane a subagent was started by: told by its agent id, its call id, or the prompt it was given."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import xxhash

from agentmem.formats.agents.claude_code.lane import LaneState
from agentmem.formats.agents.claude_code.records import Entry, content_of, listed, mapping, string
from agentmem.formats.draft import LaneDraft, RunDraft
from agentmem.formats.messages import Part

TOOLS = frozenset({"Task", "Agent"})


class Start(msgspec.Struct, eq=False):
    lane: str
    n: int
    name: str
    taken: bool = False


class Spawned:
    """The starts seen so far, and the lanes that look for theirs."""

    def __init__(self, draft: RunDraft) -> None:
        self._draft = draft
        self.agents: set[str] = set()
        """Ids of agents that results name."""
        self._by_call: dict[str, Start] = {}
        self._by_prompt: dict[int, list[Start]] = {}
        self._by_agent: dict[str, str] = {}
        self._prompts: dict[str, int] = {}
        self._sorts: dict[str, str] = {}
        self._open: set[str] = set()

    def called(self, state: LaneState, entry: Entry) -> None:
        """An assistant line: remember the subagents that it starts."""
        if not state.lane.steps or not any(b'"' + tool.encode() + b'"' in entry.data for tool in TOOLS):
            return
        for block in listed(entry.body.get("content")):
            body = mapping(block)
            if body.get("type") != "tool_use" or string(body.get("name")) not in TOOLS:
                continue
            given = mapping(body.get("input"))
            sort, told = string(given.get("subagent_type")), string(given.get("description"))
            start = Start(state.lane.id, state.lane.steps[-1].n, ": ".join(filter(None, (sort, told))) or "subagent")
            if string(body.get("id")):
                self._by_call[body["id"]] = start
            prompt = string(given.get("prompt"))
            if prompt is not None:
                self._by_prompt.setdefault(_key(prompt), []).append(start)

    def answered(self, state: LaneState, entry: Entry) -> None:
        """A user line: the first of a subagent is its prompt; a result may name the agent."""
        line = entry.line
        if state.lane.kind == "subagent" and state.lane.id not in self._prompts and not state.lane.steps:
            content = entry.body.get("content")
            text = content if isinstance(content, str) else None
            for block in listed(content):
                text = text or string(mapping(block).get("text"))
            if text is not None:
                self._prompts[state.lane.id] = _key(text)
                self._open.add(state.lane.id)
        if b'"agentId"' in bytes(line.toolUseResult):
            agent = string(mapping(content_of(line.toolUseResult)).get("agentId"))
            if agent is None:
                return
            self.agents.add(agent)
            for block in listed(entry.body.get("content")):
                call = string(mapping(block).get("tool_use_id"))
                if call is not None:
                    self._by_agent[agent] = call
                    self._open.update(lane.id for lane in self._draft.lanes.values() if lane.kind == "subagent")

    def began(self, ident: str, parts: Sequence[Part]) -> None:
        """A lane of lines inside the session's own file."""
        self._open.add(ident)
        if parts and parts[0].text:
            self._prompts[ident] = _key(parts[0].text)

    def described(self, ident: str, sort: str | None, call_id: str | None) -> None:
        """What stands beside a subagent's file."""
        self._open.add(ident)
        if sort is not None:
            self._sorts[ident] = sort
        if call_id is not None:
            self._by_agent[ident] = call_id

    def link(self) -> None:
        """Tie the lanes that are not tied yet to their starts."""
        for ident in sorted(self._open):
            lane = self._draft.lanes.get(ident)
            if lane is None or lane.spawned_by is not None:
                self._open.discard(ident)
                continue
            start = self._by_call.get(self._by_agent.get(ident, ""))
            if start is None and ident in self._prompts:
                start = next((one for one in self._by_prompt.get(self._prompts[ident], ()) if not one.taken), None)
            if start is not None:
                start.taken = True
                self._tie(lane, start)
                self._open.discard(ident)
            elif ident in self._sorts and lane.name == ident:
                lane.name = self._sorts[ident]

    def _tie(self, lane: LaneDraft, start: Start) -> None:
        lane.spawned_by, lane.name = (start.lane, start.n), start.name
        if lane.steps:
            lane.touch(lane.steps[-1])


def _key(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.strip().encode("utf-8", "surrogatepass"))
