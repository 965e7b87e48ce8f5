"""Follows one session: its own file and those of its subagents, line by line, onto lanes.

A line is put as soon as the one that it hangs on is there; a few lines are waited for, since lines are not always in
order. Where a session was rewound, the newest way through the tree is the main lane and what was left behind stands in
branches: the file is then read once more, knowing which lines those are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from agentmem.formats.agents.claude_code.about import About
from agentmem.formats.agents.claude_code.chain import Node, left_behind
from agentmem.formats.agents.claude_code.cuts import compact
from agentmem.formats.agents.claude_code.files import meta_of, subagent_files
from agentmem.formats.agents.claude_code.lane import LaneState
from agentmem.formats.agents.claude_code.parts import is_clear, parts_of, pieces_of
from agentmem.formats.agents.claude_code.plan import KeptBeside
from agentmem.formats.agents.claude_code.records import (
    BESIDE,
    CHAINED,
    MESSAGES,
    SUBTYPES,
    Entry,
    decode,
    read,
    string,
)
from agentmem.formats.agents.claude_code.source import Source
from agentmem.formats.agents.claude_code.spawned import Spawned
from agentmem.formats.draft import RunDraft
from agentmem.formats.reader import Options
from agentmem.formats.source import Unreadable, slice_of
from agentmem.model import Problem
from agentmem.tokens import counter

TORN_AFTER = 5.0
"""Seconds without growth after which half a line is damage."""
_READINGS = 4
"""More than are ever needed: a line that comes late, and a rewind that it tells."""
_TRUNK = frozenset({"main"})


class ClaudeCodeReader:
    """Follows one session."""

    def __init__(self, path: Path, options: Options) -> None:
        self._path = path
        self._options = options
        self._behind: dict[str, int] = {}
        """Lines that a rewind left behind -> their branch."""
        self._expected: set[str] = set()
        """Lines that come long after those that hang on them."""
        self._fresh(None)

    def _fresh(self, notice: str | None) -> None:
        name = self._path.name.removesuffix(".jsonl")
        count = counter(self._options.counter)
        self.draft = RunDraft(str(self._path), "claude-code", name, count, self._options.counter)
        self.draft.agent = "claude-code"
        self.draft.notice = notice
        self.draft.unknown = ("system prompt", "tool schemas")
        self._count = count
        self._states: dict[str, LaneState] = {"main": LaneState(self.draft.main, count)}
        self._sub = name.startswith("agent-")
        """The file itself is a subagent's: its lines are the main lane."""
        self._main = Source(self._path, "main" if self._sub else None)
        self._sources: dict[str, Source] = {str(self._path): self._main}
        self._kept = KeptBeside(self._path)
        self._spawned = Spawned(self.draft)
        self._broken: set[str] = set()
        self._leaf: str | None = None
        """The newest request or model call of the session itself, on whatever branch it stands."""
        self._rewound = False
        self._late = False
        self._about = About(self.draft, self._spawned, named=not self._sub)
        self._read = self._known = 0
        self._drift: int | None = None
        self._notice = notice

    def watched(self) -> Iterable[Path]:
        own = self._path.with_suffix("")
        yield self._path.parent
        beside = (Path(path).parent for path in self._sources)
        for folder in {own, own / "subagents", *beside, *self._kept.folders}:
            if folder != self._path.parent and folder.is_dir():
                yield folder

    def extract(self, raw: bytes, part: int) -> str | None:
        try:
            parts = parts_of(decode(raw))
        except ValueError:
            return None
        return parts[part].text if 0 <= part < len(parts) else None

    # -- refresh --------------------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        changed = self._look()
        if not self._main.stopped and (self._late or (self._rewound and self._branches())):
            with slice_of(math.inf):  # what is read again in parts would be begun again with each
                self._again()
            changed = True
        changed = self._kept.look(self._states["main"].plan) or changed
        if self._read and not self._known:
            raise Unreadable(f"{self._path}: format not recognised: {self._told()}")
        return changed

    def _look(self) -> bool:
        """Read what is new in all files."""
        change = self._main.file.change()
        if change == "gone":
            if not self._read:
                raise Unreadable(f"{self._path}: no such file")
            changed = self.draft.notice != "file gone"
            self.draft.notice = "file gone"
            return changed
        fresh = self._subagents()
        changes = {path: source.file.change() for path, source in self._sources.items()}
        if any(told == "replaced" for told in changes.values()):
            try:
                shrunk = self._path.stat().st_size < self._main.file.size
            except OSError:
                shrunk = False  # it went in this moment: reading it says so
            self._behind, self._expected = {}, set()
            self._fresh("lines were taken back, read again" if shrunk else "file replaced, read again")
            self._feed_all({})
            return True
        if not fresh and all(told in ("same", "gone") for told in changes.values()):
            return self._say_torn()
        self._feed_all(changes)
        return True

    def _feed_all(self, changes: Mapping[str, str]) -> None:
        """Read on in all files that grew, and in those of subagents that were named on the way."""
        done: set[str] = set()
        while fresh := [source for path, source in self._sources.items() if path not in done]:
            for source in fresh:
                done.add(source.path)
                if changes.get(source.path, "grown") == "grown":
                    self._feed(source)
            self._subagents()
        self._settle()

    def _again(self) -> None:
        """Read all files once more, knowing what the first reading told; what it says of the tree then holds."""
        for _ in range(_READINGS):
            if self._late:
                self._behind = {}
            self._fresh(self._notice)
            self._feed_all({})
            if not self._branches() and not self._late:
                break

    def _feed(self, source: Source) -> None:
        for record in source.file.records():
            self.draft.see(record.data, self._told_at(source, record.line))
            for found in read(record, source.path):
                if isinstance(found, str):
                    self._problem(source, record.line, found)
                else:
                    self._take(source, found)
        self._drain(source, last=not source.stopped)

    def _settle(self) -> None:
        """What is told once all that is new was read."""
        draft = self.draft
        self._spawned.link()
        for lane in draft.lanes.values():
            if lane.kind == "branch" and lane.steps:
                lane.answered = True
        times = [source.file.changed_at for source in self._sources.values() if source.file.changed_at is not None]
        draft.changed_at = max(times) if times else None
        self._say_torn()
        if self._read > self._known:
            problem = Problem(self._path.name, self._told())
            if self._drift is None:
                self._drift = len(draft.problems)
                draft.problems.append(problem)
            else:
                draft.problems[self._drift] = problem

    def _say_torn(self) -> bool:
        """Half a line at the end is being written, until the file has not grown for a while. True if that is new."""
        file, was = self._main.file, self.draft.notice
        notice = self._notice
        if file.torn:
            quiet = time.time() - (file.changed_at or 0.0) > TORN_AFTER
            what = "the last line is torn" if quiet else "being written"
            notice = f"{what}: {file.torn:,} bytes of a line"
        self.draft.notice = notice
        return notice != was

    def _told(self) -> str:
        names = {name[1:]: n for name, n in self.draft.counts.items() if name.startswith("?")}
        shown = ", ".join(f"{name} x{n}" for name, n in sorted(names.items(), key=lambda item: -item[1])[:12])
        return f"{self._read} records, {self._known} understood, {self._read - self._known} unknown: {shown}"

    def _problem(self, source: Source, line: int, what: str) -> None:
        self.draft.problem(self._told_at(source, line), what)

    def _told_at(self, source: Source, line: int) -> str:
        return f"line {line}" if source is self._main else f"{Path(source.path).name}, line {line}"

    def _subagents(self) -> bool:
        """Files of subagents that are new."""
        fresh = False
        if self._sub:
            return False
        for path, ident in subagent_files(self._path, self._spawned.agents):
            if str(path) in self._sources:
                continue
            fresh = True
            lane = self.draft.lane(ident, "subagent", name=ident)
            self._states[ident] = LaneState(lane, self._count)
            self._sources[str(path)] = Source(path, ident)
            meta = meta_of(path)
            self._spawned.described(ident, string(meta.get("agentType")), string(meta.get("toolUseId")))
        return fresh

    # -- lines ----------------------------------------------------------------------------------------------------

    def _take(self, source: Source, entry: Entry) -> None:
        line, counts = entry.line, self.draft.counts
        kind = line.kind or "no type"
        self._read += 1
        name = f"system/{line.subtype}" if kind == "system" and line.subtype else kind
        chained = kind in CHAINED or isinstance(line.uuid, str)
        if kind in BESIDE or (kind in CHAINED and (kind != "system" or line.subtype in SUBTYPES or not line.subtype)):
            self._known += 1
        else:
            name = f"?{name:.60}"
        counts[name] = counts.get(name, 0) + 1
        if kind in MESSAGES and not entry.body:
            self._problem(source, entry.number, f"a {kind} record without a message")
        if kind == "content-replacement":
            if not sum(state.replace(entry) for state in self._states.values()):
                self._problem(source, entry.number, "replaces results that are not in the session")
        elif chained and kind not in BESIDE:
            source.put(entry)
            if entry.ident in self._broken:
                self._expected.add(entry.ident)
                self._late = True
            self._drain(source, last=False)

    def _drain(self, source: Source, *, last: bool) -> None:
        for entry in source.ready(self._expected, last=last):
            self._place(source, entry)

    def _place(self, source: Source, entry: Entry) -> None:
        """Put one line into its lane."""
        entry.placed = True
        old = source.nodes.get(entry.ident)
        if old is not None:
            self._written_again(source, entry, old)
            return
        state = self._state(source, entry)
        line = entry.line
        known = source.nodes.get(entry.parent) if entry.parent else None
        boundary = line.kind == "system" and line.subtype == "compact_boundary"
        if known is None and state.tip is not None and not boundary and not entry.loose:
            self._cut_off(source, entry, state)
        elif known is None and state.tip is None and (entry.parent is not None or boundary):
            self._begins_late(source, entry, state)
        trunk = state.lane.id == "main" or state.lane.id.startswith("branch-")
        up = entry.parent if known is not None else self._leaf if trunk else state.tip
        group = self._group(state, entry)
        says = line.kind == "assistant" and group not in state.groups
        if line.kind == "user" and line.isMeta is not True and group is None:
            says = bool(pieces_of(entry)) and isinstance(line.uuid, str)
        mark = known.mark if known is not None and known.lane == state.lane.id else state.mark
        if says:
            if known is not None and (known.lane != state.lane.id or mark < state.mark) and state.lane.id == "main":
                self._rewound = self._rewound or known.lane == "main" or known.lane.startswith("branch-")
            state.mark += 1
            if trunk:
                self._leaf = entry.ident
        node = Node(up, state.lane.id, state.mark if says else mark, says, group)
        source.nodes[entry.ident] = node
        if boundary:
            compact(state, entry, source.nodes)
            state.tip = entry.ident
        else:
            state.take(entry, node)
        self._about.learn(source.path, entry, state)

    def _written_again(self, source: Source, entry: Entry, node: Node) -> None:
        """A line with a uuid that stands already: what it says and what it hangs on is what holds."""
        state = self._states[node.lane]
        parent = source.nodes.get(entry.parent) if entry.parent != entry.ident and entry.parent else None
        if parent is not None:
            if node.up != entry.parent:
                node.first, node.up, self._rewound = node.first or node.up, entry.parent, True
            if parent.lane == node.lane:
                state.back(node, parent)
        if state.again(entry, node):
            self._problem(source, entry.number, f"writes uuid {entry.ident[:36]} again, with another content")

    def _group(self, state: LaneState, entry: Entry) -> tuple[str, ...] | None:
        """The model call that a line belongs to."""
        line = entry.line
        if line.kind == "assistant":
            ident = string(entry.body.get("id"))
            asked_as = string(line.requestId)
            return (ident or "", asked_as or "") if ident or asked_as else (entry.ident,)
        if line.kind == "user" and b"tool_result" in bytes(line.message):
            for part in pieces_of(entry):
                if part.kind == "result":
                    return state.calls.get(part.call_id or "", state.last_group)
        return None

    def _cut_off(self, source: Source, entry: Entry, state: LaneState) -> None:
        """A line whose parent is not in the file, or that begins a chain anew behind another one."""
        if entry.parent is not None:
            self._broken.add(entry.parent)
            what = f"its parent {entry.parent[:36]} is not in the file: a resume loses what stands before it"
        elif is_clear(entry):
            state.cleared_at(entry)
            return
        else:
            what = "it begins a chain of its own: what stands before it is not in its prompt"
        state.breaks(entry)
        self._problem(source, entry.number, what)

    def _begins_late(self, source: Source, entry: Entry, state: LaneState) -> None:
        """The first line of the session hangs on something that is not in the file."""
        state.goal_known = False
        if state.lane.id == "main":
            self.draft.goal_unknown = True
        if entry.parent is not None:
            self._broken.add(entry.parent)
            self._problem(source, entry.number, f"begins behind {entry.parent[:36]}, which is not in the file")

    # -- lanes ----------------------------------------------------------------------------------------------------

    def _state(self, source: Source, entry: Entry) -> LaneState:
        """The lane of a line, made if there is none."""
        line = entry.line
        if source.lane is not None:
            return self._states[source.lane]
        branch = self._behind.get(entry.ident)
        if branch is not None:
            return self._branch(source, entry, f"branch-{branch}")
        known = source.nodes.get(entry.parent) if entry.parent else None
        main = self._states["main"]
        if line.isSidechain is True:
            if known is not None and self._states[known.lane].lane.kind == "subagent":
                return self._states[known.lane]
            ident = string(line.agentId) or f"sidechain-{1 + sum(i.startswith('sidechain-') for i in self._states)}"
            if ident in self._states:
                return self._states[ident]
            lane = self.draft.lane(ident, "subagent", name=ident)
            begins = self._states[known.lane].branch(lane) if known is not None else LaneState(lane, self._count)
            state = self._states[ident] = begins
            self._spawned.began(ident, pieces_of(entry))
            return state
        if known is not None and known.lane != "main":
            says = line.kind == "assistant" or line.kind == "user" and b"tool_result" not in bytes(line.message)
            if not known.lane.startswith("branch-") or not says:
                return self._states[known.lane]
        session = string(line.sessionId)
        if session and self._about.session not in (None, session) and known is None and entry.parent is None:
            if line.kind in MESSAGES or f"session-{session[:64]}" in self._states:
                return self._foreign(session)
        return main

    def _foreign(self, session: str) -> LaneState:
        """Another session whose lines stand in the same file."""
        ident = f"session-{session[:64]}"
        if ident not in self._states:
            self.draft.problem(self._path.name, f"holds lines of another session, {session[:64]}")
            self._states[ident] = LaneState(self.draft.lane(ident, "subagent", name=f"session {session}"), self._count)
        return self._states[ident]

    def _branch(self, source: Source, entry: Entry, ident: str) -> LaneState:
        state = self._states.get(ident)
        if state is None:
            known = source.nodes.get(entry.parent) if entry.parent else None
            parent = self._states[known.lane] if known is not None else self._states["main"]
            start = (parent.lane.id, len(parent.lane.steps))
            lane = self.draft.lane(ident, "branch", spawned_by=start, name=f"left behind at line {entry.number}")
            state = self._states[ident] = parent.branch(lane)
        return state

    def _branches(self) -> bool:
        """Which lines a rewind left behind. True if that is more than was known."""
        self._rewound = False
        leaf = self._leaf
        if leaf is None:
            return False
        trunk = _TRUNK | {ident for ident in self._states if ident.startswith("branch-")}
        behind = left_behind(self._main.nodes, leaf, trunk)
        if behind == self._behind:
            return False
        self._behind = behind
        return True
