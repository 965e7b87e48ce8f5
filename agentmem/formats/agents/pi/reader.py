"""Sessions of the pi coding agent and its family (OpenClaw, Oh-My-Pi): one JSON line an entry, entries form a tree.

The prompt of a call is the path from the first entry to the call's parent; the last compaction on it stands for what
is older than its first kept entry. A compaction written while the agent works takes effect at the next run: with the
next user message, or earlier where the reported prompt falls. An entry whose parent is older than the last one is a
branch; one whose parent is not in the file breaks the chain, as pi itself reads it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from agentmem.formats.agents.pi.entries import OTHER, parts_of, usage_of
from agentmem.formats.draft import Call, LaneDraft
from agentmem.formats.loose import decode
from agentmem.formats.messages import Part
from agentmem.formats.reader import Format
from agentmem.formats.shared.lines import LineReader
from agentmem.formats.shared.peek import head_and_tail, line_info
from agentmem.formats.shared.rewriting import newest
from agentmem.formats.shared.standing import stand
from agentmem.formats.shared.times import seconds
from agentmem.formats.source import Record, Unreadable
from agentmem.formats.usage import amount
from agentmem.model import Boundary, RunInfo, Usage
from agentmem.pattern import pattern
from agentmem.tape import Piece

_FALL = 0.9
_COMMAND = pattern(r"\s*/[a-z][\w:-]*(?:\s|\Z)")
_QUIET = frozenset({"model_change", "thinking_level_change", "custom", "label", "session_info"})


class _Entry(msgspec.Struct, eq=False):
    id: str
    parent: str | None
    lane: str
    steps: int = 0
    """Steps of its lane when it was the last entry."""
    pieces: tuple[int, ...] = ()
    """Ids in the tape of its lane of what it keeps in the prompt."""
    kept: str | None = None
    """For a compaction: its first kept entry."""
    compaction: bool = False


class _Lane(msgspec.Struct, eq=False):
    draft: LaneDraft
    tip: str | None = None
    adopted: dict[str, tuple[int, ...]] = msgspec.field(default_factory=dict)
    """Pieces of entries that other lanes own, as ids of this lane's tape."""
    waiting: tuple[_Entry, Boundary] | None = None
    """A compaction that has not taken effect."""
    broken: tuple[str, str | None, bool] | None = None
    """(entry at which the chain breaks, last entry before it, whether damage stands there), until usage tells whether
    the prompt broke there too."""
    running: bool = False
    usage: int | None = None


class PiReader(LineReader):
    """Follows one session."""

    name = "pi"
    starts = (b'{"type":"', b'{"type": "')

    def begin(self) -> None:
        draft = self.draft
        draft.unknown = ("system prompt", "tool schemas")
        draft.agent = "pi"
        self._entries: dict[str, _Entry] = {}
        self._order: list[str | None] = []
        self._linear = True
        self._lanes = {"main": _Lane(draft.main)}
        self._tips: dict[str | None, _Lane] = {}
        self._current = self._lanes["main"]

    def extract(self, raw: bytes, part: int) -> str | None:
        try:
            entry = decode(raw)
        except ValueError:
            return None
        parts = parts_of(entry) if isinstance(entry, dict) else []
        return parts[part].text if part < len(parts) else None

    # -- entries --------------------------------------------------------------------------------------------------

    def take(self, value: dict[str, Any], record: Record) -> str | None:
        sort = value.get("type")
        if sort == "session":
            self._header(value)
            self._order.append(None)
            return None
        if not isinstance(sort, str):
            return f"type {sort!r}"
        entry = self._place(value, record)
        lane = self._current
        unknown: str | None = None
        self.draft.counts[sort] = self.draft.counts.get(sort, 0) + 1
        if sort == "message":
            unknown = self._message(lane, entry, value, record)
        elif sort == "compaction":
            self._compaction(lane, entry, value, record)
        elif sort in ("branch_summary", "custom_message"):
            self._append(lane, entry, value, record)
        elif sort == "model_change":
            self.draft.model = _text(value.get("modelId")) or self.draft.model
        elif sort not in _QUIET:
            del self.draft.counts[sort]
            unknown = sort
        entry.steps = len(lane.draft.steps)
        return unknown

    def _header(self, value: Mapping[str, Any]) -> None:
        draft = self.draft
        draft.id = _text(value.get("id")) or draft.id
        draft.model = _text(value.get("modelId")) or draft.model
        self._linear = not isinstance(value.get("version"), int) or value["version"] < 2

    def _place(self, value: Mapping[str, Any], record: Record) -> _Entry:
        """Hang the entry into the tree and make its lane the current one."""
        ident = _text(value.get("id")) or f"#{len(self._order)}"
        if self._linear and "parentId" in value:
            self._linear = False
        parent = self._current.tip if self._linear else _text(value.get("parentId"))
        if not self._linear and parent != self._current.tip:
            self._turn(ident, parent, record)
        lane = self._current
        if ident in self._entries:
            self.draft.problem(f"line {record.line}", f"id {ident:.40} is given again, to another entry")
        entry = _Entry(ident, parent, lane.draft.id)
        self._entries[ident] = entry
        self._order.append(ident)
        if lane.tip is not None:
            self._tips.pop(lane.tip, None)
        lane.tip = ident
        self._tips[ident] = lane
        return entry

    def _turn(self, ident: str, parent: str | None, record: Record) -> None:
        """The parent is not the last entry: another lane goes on, a branch begins, or the chain is broken."""
        if parent in self._tips:
            self._current = self._tips[parent]
        elif parent is not None and parent not in self._entries:
            if not self.damaged:
                self.draft.problem(f"line {record.line}", f"parent {parent:.40} is not in the file: the chain breaks")
            self._current.broken = (ident, self._current.tip, self.damaged)
        else:
            self._branch(ident, parent)

    def _branch(self, ident: str, parent: str | None) -> None:
        base = self._entries.get(parent) if parent is not None else None
        origin = (base.lane, base.steps) if base is not None else None
        draft = self.draft.lane(ident, "branch", spawned_by=origin)
        lane = _Lane(draft)
        self._lanes[ident] = lane
        self._current = lane
        for entry in self._path(base):
            source = self._lanes[entry.lane].draft.tape
            first = len(draft.tape)
            draft.tape.adopt(source, entry.pieces)
            lane.adopted[entry.id] = tuple(range(first, len(draft.tape)))

    def _path(self, leaf: _Entry | None) -> list[_Entry]:
        """Entries that stand in the prompt after `leaf`, in order. Ids that are given twice may name each other."""
        path: list[_Entry] = []
        seen: set[str] = set()
        entry, stop = leaf, None
        last: _Entry | None = None
        after = 0
        while entry is not None and entry.id not in seen:
            seen.add(entry.id)
            if entry.compaction:
                if last is None:
                    last, stop, after = entry, entry.kept, len(path)
            else:
                path.append(entry)
            if last is not None and entry.id == stop:
                break
            entry = self._entries.get(entry.parent) if entry.parent is not None else None
        if last is not None:
            if entry is None or entry.id != stop:
                del path[after:]  # without its first kept entry a compaction keeps only what came after it
            path.append(last)
        path.reverse()
        return path

    # -- what they bring ------------------------------------------------------------------------------------------

    def _pieces(self, parts: list[Part], record: Record) -> Iterator[tuple[Part, Piece]]:
        for number, part in enumerate(parts):
            where = self.where(record, number)
            yield part, Piece(part.kind, part.text, where, part.call_id, None, part.tool, part.tokens)

    def _append(self, lane: _Lane, entry: _Entry, value: Mapping[str, Any], record: Record) -> None:
        pieces = [piece for _, piece in self._pieces(parts_of(value), record)]
        entry.pieces = tuple(map(lane.draft.append, pieces))

    def _asked(self, lane: _Lane, entry: _Entry, value: Mapping[str, Any], record: Record) -> None:
        """What a person wrote; the first of it that is no command is the goal."""
        pieces = [piece for _, piece in self._pieces(parts_of(value), record)]
        first = next((number for number, piece in enumerate(pieces) if piece.kind == "user" and piece.text), None)
        if self.draft.goal is None and first is not None and not _COMMAND.match(pieces[first].text or ""):
            self.draft.set_goal(pieces[first].text, declared=False)
            pieces[first] = Piece("goal", pieces[first].text, pieces[first].where)
        entry.pieces = tuple(map(lane.draft.append, pieces))

    def _message(self, lane: _Lane, entry: _Entry, value: Mapping[str, Any], record: Record) -> str | None:
        message = value.get("message")
        role = message.get("role") if isinstance(message, Mapping) else None
        if not isinstance(message, Mapping) or not isinstance(role, str):
            return "message without a role"
        at = seconds(value.get("timestamp")) or seconds(message.get("timestamp"))
        if role == "assistant":
            self._assistant(lane, entry, message, value, record, at)
        elif role == "toolResult":
            lane.running = True
            entry.pieces = tuple(
                lane.draft.answer(piece, failed=part.failed, at=at)
                for part, piece in self._pieces(parts_of(value), record)
            )
        elif role == "user":
            self._apply(lane)
            self._asked(lane, entry, value, record)
        elif role in ("bashExecution", "branchSummary", "compactionSummary", *OTHER):
            self._append(lane, entry, value, record)
        else:
            return f"message of {role}"
        return None

    def _assistant(
        self, lane: _Lane, entry: _Entry, message: Mapping[str, Any], value: Mapping[str, Any], record: Record,
        at: float | None,
    ) -> None:  # fmt: skip
        draft = lane.draft
        usage = usage_of(message, f"line {record.line}")
        self._settle_chain(lane, entry, usage)
        prompt = usage.prompt if usage is not None else None
        if lane.waiting is not None and prompt and lane.usage and prompt < lane.usage * _FALL:
            self._apply(lane)
        model = _text(message.get("model"))
        self.draft.model = model or self.draft.model
        draft.close(at=at, usage=usage, model=model)
        lane.usage = prompt or lane.usage
        reason = message.get("stopReason")
        lane.running = reason == "toolUse"
        stays = reason not in ("error", "aborted")
        pieces: list[int] = []
        for part, piece in self._pieces(parts_of(value), record):
            call = None
            if part.kind == "call" and part.tool is not None:
                call = Call(part.tool, part.arguments or "", part.call_id, started=at)
            ident = draft.reply(piece, call, stays=stays and part.kind != "error")
            if stays and part.kind != "error":
                pieces.append(ident)
        entry.pieces = tuple(pieces)

    # -- what leaves ----------------------------------------------------------------------------------------------

    def _compaction(self, lane: _Lane, entry: _Entry, value: Mapping[str, Any], record: Record) -> None:
        parts = parts_of(value)
        entry.compaction = True
        entry.pieces = tuple(lane.draft.tape.add(piece) for _, piece in self._pieces(parts, record))
        entry.kept = _text(value.get("firstKeptEntryId"))
        index = amount(value.get("firstKeptEntryIndex"))
        if entry.kept is None and index is not None and index < len(self._order):
            entry.kept = self._order[index]
        before = amount(value.get("tokensBefore")) or None
        by = " by an extension" if value.get("fromHook") or value.get("fromExtension") else ""
        boundary = Boundary(
            "compaction", True, before, None,
            f"compaction record{by}, line {record.line}", all(part.text is None for part in parts),
        )  # fmt: skip
        lane.waiting = (entry, boundary)
        if not lane.running:
            self._apply(lane)

    def _apply(self, lane: _Lane) -> None:
        """The compaction that waits takes effect."""
        if lane.waiting is None:
            return
        (entry, boundary), lane.waiting = lane.waiting, None
        tip = self._entries.get(lane.tip) if lane.tip is not None else None
        self._stand(lane, self._path(tip if tip is not None else entry))
        lane.draft.boundary = boundary

    def _stand(self, lane: _Lane, path: list[_Entry]) -> None:
        """Make the prompt of the lane equal to what the path brings."""
        new: list[int] = []
        for entry in path:
            new.extend(entry.pieces if entry.lane == lane.draft.id else lane.adopted.get(entry.id, ()))
        stand(lane.draft, new)

    def _settle_chain(self, lane: _Lane, entry: _Entry, usage: Usage | None) -> None:
        """At a call after a broken chain: pi, resumed, saw only what came after the break. A process that went on had
        everything; reported usage tells, and where it is silent a break beside damage counts as going on."""
        broken, lane.broken = lane.broken, None
        if broken is None:
            return
        ident, before, damaged = broken
        prompt = usage.prompt if usage is not None else None
        cut = prompt < lane.usage * _FALL if prompt and lane.usage else not damaged
        if cut:
            self._stand(lane, self._path(self._entries.get(entry.parent or "")))
        else:
            self._entries[ident].parent = before


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def recognise(path: Path, head: bytes) -> bool:
    """The first line is a session header with a working folder."""
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0 \t\r\n").partition(b"\n")[0]
    start = first[:4096].replace(b" ", b"")
    return start.startswith(b"{") and b'"type":"session"' in start and b'"id":"' in start and b'"cwd":' in start


def places(folder: Path) -> Iterable[Path]:
    """Sessions of pi and Oh-My-Pi for this folder; of OpenClaw those whose header names it."""
    named = f"--{str(folder).lstrip('/').replace('/', '-').replace(':', '-')}--"
    home = Path.home()
    roots = [
        Path(os.environ.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent"), home / ".omp" / "agent",
    ]  # fmt: skip
    found = [file for root in roots for file in (root / "sessions" / named).glob("*.jsonl")]
    for file in (home / ".openclaw" / "agents").glob("*/sessions/*.jsonl"):
        try:
            head, _ = head_and_tail(file, 2048)
        except (Unreadable, OSError):
            continue  # gone since the folder was listed, or another person's
        if f'"cwd":"{folder}"'.encode() in head.replace(b'": "', b'":"'):
            found.append(file)
    return newest(found)


def peek(path: Path) -> RunInfo:
    """A row of the list, from the first and last 64 KiB."""
    goal = model = None
    ident = path.name.removesuffix(".jsonl")
    for entry in line_info(path):
        if entry.get("type") == "session":
            ident = _text(entry.get("id")) or ident
        model = _text(entry.get("modelId")) or model
        message = entry.get("message")
        if not isinstance(message, Mapping):
            continue
        model = _text(message.get("model")) or model
        if goal is None and message.get("role") == "user":
            texts = [part.text for part in parts_of(entry) if part.text]
            goal = texts[0] if texts and not _COMMAND.match(texts[0]) else None
    return RunInfo(ident, str(path), "pi", path.stat().st_mtime, goal=goal, agent="pi", model=model)


FORMAT = Format(
    "pi", "pi and its family", recognise, PiReader, places=places,
    everywhere=(
        "{PI_CODING_AGENT_DIR|~/.pi/agent}/sessions/*/*.jsonl", "~/.omp/agent/sessions/*/*.jsonl",
        "~/.openclaw/agents/*/sessions/*.jsonl",
    ), peek=peek,
)  # fmt: skip
