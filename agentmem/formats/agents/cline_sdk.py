"""Cline SDK and CLI: `<id>.messages.json`, written whole by rename, with a manifest and a compaction beside it.

The messages are never cut. A compaction stands in `<id>.compaction.json`: from the message that it names on, the prompt
is its messages and those that came after, if the hash of what it replaces still fits; else the whole list.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from agentmem.formats.cline_hash import boundary_key, prefix_start, source_line
from agentmem.formats.draft import LaneDraft
from agentmem.formats.loose import decode
from agentmem.formats.messages import Message, Part, split
from agentmem.formats.reader import Format
from agentmem.formats.rewriting import (
    WHOLE,
    Beside,
    WholeReader,
    call_of,
    changed_at,
    decoded,
    inner,
    mapping,
    newest,
    piece_of,
    where_of,
)
from agentmem.formats.source import NotYet, Unreadable, read_at
from agentmem.formats.times import seconds
from agentmem.formats.usage import ANTHROPIC, OPENAI
from agentmem.formats.versions import Item
from agentmem.formats.whole import Reading, parse
from agentmem.model import Boundary, RunInfo, Usage
from agentmem.tape import Piece

_HEAD = 65536
_LISTS = ("messages",)
_NOTICE = "<SYSTEM_NOTICE>"
_INPUT = re.compile(r"<user_input\b[^>]*>(.*?)</user_input>", re.DOTALL)
_GOAL = re.compile(r"## Goal\s*\n(.+?)(?=\n## |\Z)", re.DOTALL)
_ENDED = frozenset({"completed", "failed", "cancelled", "canceled", "stopped", "aborted", "error"})


class ClineReader(WholeReader):
    """Follows one session."""

    NAME: ClassVar[str] = "cline-sdk"
    LISTS: ClassVar[tuple[str, ...]] = _LISTS
    MEMBERS: ClassVar[tuple[str, ...]] = ("system_prompt",)

    def _ident(self) -> str:
        return _stem(Path(self._path))

    def _fresh(self) -> None:
        self._sides = Beside()
        self._past = False
        self._state: Reading | None = None
        self._hash = sha256()
        self._key: str | None = None
        self.draft.agent = "cline"
        self._feeder = _Feeder(self.draft.main)

    def _beside(self) -> bool:
        return self._sides.changed()

    def _stale(self) -> bool:
        return self._past

    def _before(self, reading: Reading) -> None:
        self._past = self._started and self._sides.changed()

    def _start(self, reading: Reading) -> None:
        system = reading.rest.get("system_prompt")
        if isinstance(system, str) and system:
            self.draft.main.append(self._member(reading, "system_prompt", "system", system))
        self._state = self._read(".compaction.json")
        self._count_of = _integer(self._state.rest.get("source_message_count")) if self._state else None
        self._hash = sha256(prefix_start(self._count_of or 0))

    def _read(self, ending: str) -> Reading | None:
        path = Path(self._path).with_name(_stem(Path(self._path)) + ending)
        if str(path) == self._path:
            return None
        try:
            return self._sides.read(path, _LISTS)
        except NotYet as error:
            self.draft.problem(path.name, str(error).partition(": ")[2])
        except Unreadable as error:
            if path.exists():
                self.draft.problem(path.name, str(error).partition(": ")[2])
        return None

    def _feed(self, index: int, item: Item) -> None:
        value = self._object(item, index)
        if value is None:
            return
        if self._count_of == index:
            self._compact(index)
        if self._count_of is not None and index < self._count_of:
            self._hash.update(source_line(value))
            self._key = boundary_key(value)
        role = value.get("role")
        self._count(role if role in ("user", "assistant") else f"?{role}")
        self._feeder.feed(value, item)

    def _compact(self, index: int) -> None:
        """The compaction that replaces the messages so far, if it still fits them."""
        state, self._count_of = self._state, None
        if state is None:
            return
        given, key = state.rest.get("source_prefix_hash"), state.rest.get("source_last_message_key")
        fits = given == f"sha256:{self._hash.hexdigest()}" if given else bool(key) and key == self._key
        if not fits:
            self.draft.problem("compaction", "does not fit the messages that it replaces, so that it is not sent")
            return
        lane, pieces = self.draft.main, [ident for ident in self.draft.main.tape.live[:1]]
        kept = [self._again(ident) for ident in pieces if lane.tape.segment(ident).kind == "system"]
        values = [(decoded(item), item) for item in state.lists.get("messages", [])]
        for value, item in values:
            kept.extend(piece_of(item, number, part) for number, part in enumerate(split_record(value).parts))
        self._feeder.same_goal(kept)
        lane.sync(kept)
        lane.boundary = boundary_of([value for value, _ in values], f"compaction of {index} messages")

    def _again(self, ident: int) -> Piece:
        seg = self.draft.main.tape.segment(ident)
        return Piece(seg.kind, seg.head, seg.where, None, None, None, seg.tokens, None, seg.key)

    def _rest(self, reading: Reading) -> None:
        draft = self.draft
        items = self._records(reading)
        if self._count_of is not None:
            if self._count_of == len(items):
                self._compact(len(items))
            elif not self._short:
                self._short = True
                draft.problem("compaction", f"replaces {self._count_of} messages, of which {len(items)} are here")
        manifest = self._read(".json")
        rest = manifest.rest if manifest is not None else {}
        ident, model, status = reading.rest.get("sessionId"), rest.get("model"), rest.get("status")
        draft.id = ident if isinstance(ident, str) and ident else self._ident()
        draft.model = self._feeder.model or (model if isinstance(model, str) else None)
        draft.finished = isinstance(status, str) and status.lower() in _ENDED
        draft.ended_as = str(status) if draft.finished else None
        if draft.finished and status != "completed" and draft.notice is None:
            draft.notice = f"ended: {status}"
        system = isinstance(reading.rest.get("system_prompt"), str)
        draft.unknown = ("tool schemas",) if system else ("system prompt", "tool schemas")
        draft.set_goal(self._feeder.goal, declared=False)
        draft.goal_unknown = self._feeder.orphaned and draft.goal is None
        self._subagents()

    _short = False

    def _subagents(self) -> None:
        """Sessions of subagents and team tasks, which stand beside the session that spawned them."""
        path = Path(self._path)
        if path.parent.name != self._ident():
            return
        for other in sorted(path.parent.glob("*.messages.json")):
            name = _stem(other)
            if other == path or other.is_symlink() or name in self.draft.lanes:
                continue
            try:
                reading = self._sides.read(other, _LISTS)
            except (NotYet, Unreadable) as error:
                self.draft.problem(other.name, str(error).partition(": ")[2])
                continue
            items = reading.lists.get("messages", [])
            first = seconds(decoded(items[0]).get("ts")) if items else None
            steps = self.draft.main.steps
            spawner = [step.n for step in steps if step.at is not None and first is not None and step.at <= first]
            lane = self.draft.lane(name, "subagent", spawned_by=("main", spawner[-1] if spawner else 1))
            feeder = _Feeder(lane)
            for item in items:
                feeder.feed(decoded(item), item)

    def extract(self, raw: bytes, part: int) -> str | None:
        value = decode(raw)
        if part == WHOLE:
            return value if isinstance(value, str) else None
        parts = split_record(value).parts if isinstance(value, dict) else []
        return parts[part].text if part < len(parts) else None


class _Feeder:
    """Puts messages on a lane."""

    def __init__(self, lane: LaneDraft) -> None:
        self.lane = lane
        self.goal: str | None = None
        self.orphaned = False
        """The first message is a summary: what the run was asked at first is not in the file."""
        self.model: str | None = None
        self._first: int | None = None

    def feed(self, value: Mapping[str, Any], item: Item) -> None:
        lane, message, at = self.lane, split_record(value), seconds(value.get("ts"))
        if message.role == "assistant":
            model = mapping(value.get("modelInfo")).get("id")
            self.model = model if isinstance(model, str) else self.model
            lane.close(at=at, usage=usage_of_metrics(value.get("metrics")), model=self.model)
            for number, part in enumerate(message.parts):
                call = call_of(part)
                if call is not None:
                    call.started = at
                lane.reply(piece_of(item, number, part), call, stays=part.kind != "thinking")
            return
        if message.compaction and lane.steps and lane.boundary is None:
            lane.boundary = boundary_of([value], "a summary stands in the place of older messages")
        for number, part in enumerate(message.parts):
            if part.kind == "summary" and self.goal is None and part.text:
                found = _GOAL.search(part.text)
                self.goal = found.group(1).strip() if found else None
                self.orphaned = self.orphaned or not lane.steps
            if part.kind == "user" and part.text and self.goal is None and not self.orphaned:
                self._ask(part.text, number, item)
            elif part.kind in ("result", "error"):
                lane.answer(piece_of(item, number, part), failed=part.failed, at=at)
            else:
                lane.append(piece_of(item, number, part))

    def _ask(self, text: str, number: int, item: Item) -> None:
        found = _INPUT.search(text)
        start, end = found.span(1) if found else (0, len(text))
        if not text[start:end].strip():
            start, end = 0, len(text)
        self.goal = text[start:end]
        for a, b in ((0, start), (start, end), (end, len(text))):
            if text[a:b].strip():
                span = None if b - a == len(text) else (a, b)
                kept = self.lane.append(
                    Piece("goal" if (a, b) == (start, end) else "user", text[a:b], where_of(item, number, span))
                )
                self._first = kept if (a, b) == (start, end) else self._first

    def same_goal(self, pieces: list[Piece]) -> None:
        """The first request, kept by a compaction, is the goal there too."""
        for index, piece in enumerate(pieces):
            if piece.kind == "user" and piece.text == self.goal and self.goal is not None:
                pieces[index] = Piece("goal", piece.text, piece.where)


def split_record(value: Mapping[str, Any]) -> Message:
    """The pieces of one message. A file that the person gave is text; a notice of a compaction is a summary."""
    content = value.get("content")
    kind = mapping(value.get("metadata")).get("kind")
    blocks = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping) and block.get("type") == "file" and isinstance(block.get("content"), str):
            block = {"type": "text", "text": block["content"]}
        blocks.append(block)
    message = split({**value, "content": blocks} if isinstance(content, list) else value)
    for part in message.parts:
        told = part.text is not None and (part.text.startswith(_NOTICE) or kind == "compaction_summary")
        if part.kind == "user" and told:
            part.kind = "summary"
        elif part.kind == "result":
            part.failed = True if part.failed else _failed(part.text)
    message.compaction = any(part.kind == "summary" for part in message.parts)
    return message


def _failed(text: str | None) -> bool | None:
    """Results of its tools say `success`, one or several."""
    if text is None or not text.startswith(("[{", "{")):
        return None
    told = re.findall(r'"success"\s*:\s*(true|false)', text[-4000:])
    return None if not told else "false" in told


def boundary_of(values: list[Mapping[str, Any]], why: str) -> Boundary:
    """What the messages of a compaction say of it."""
    for value in values:
        told = mapping(value.get("metadata"))
        if told.get("kind") == "compaction_summary":
            return Boundary("compaction", True, _integer(told.get("tokensBefore")), None, f"agentic {why}")
        if told.get("kind") == "compaction":
            removed = _integer(told.get("messagesRemoved"))
            return Boundary(
                "compaction", True, None, None, f"basic {why}" + (f", {removed} removed" if removed is not None else "")
            )
    return Boundary("compaction", True, None, None, why)


def usage_of_metrics(metrics: object) -> Usage | None:
    """Metrics of one call. Input includes what was cached, unless more was cached than came in."""
    if not isinstance(metrics, Mapping):
        return None
    given, read = _integer(metrics.get("inputTokens")), _integer(metrics.get("cacheReadTokens"))
    wrote, cost = _integer(metrics.get("cacheWriteTokens")), metrics.get("cost")
    outside = given is not None and (read or 0) > given
    prompt = None if given is None else given + (read or 0) + (wrote or 0) if outside else given
    money = float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None
    return Usage(
        prompt, read, wrote, _integer(metrics.get("outputTokens")), None, money, ANTHROPIC if outside else OPENAI,
        "metrics",
    )  # fmt: skip


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _stem(path: Path) -> str:
    return path.name.removesuffix(".json").removesuffix(".messages").removesuffix(".compaction")


# -- finding ------------------------------------------------------------------------------------------------------


def recognise(path: Path, head: bytes) -> bool:
    """An object with the session's id, its agent and a list of messages, or a compaction of one."""
    text = head.lstrip(b"\xef\xbb\xbf\0 \t\r\n")
    if not text.startswith(b"{") or b'"messages"' not in text:
        return False
    start = text[: text.index(b'"messages"')]
    return b'"version"' in start and b'"updated_at"' in start and (
        b'"sessionId"' in start or b'"source_message_count"' in start or b'"agent"' in start
    )


def places(folder: Path) -> Iterable[Path]:
    """Sessions whose manifest names this folder, newest first."""
    data = os.environ.get("CLINE_DATA_DIR")
    root = (Path(data) if data else Path.home() / ".cline" / "data") / "sessions"
    found = []
    for path in root.glob("*/*.messages.json"):
        if _stem(path) != path.parent.name:
            continue
        told = _manifest(path)
        if str(folder) in (told.get("cwd"), told.get("workspace_root")):
            found.append(path)
    return newest(found)


def _manifest(path: Path) -> Mapping[str, Any]:
    try:
        return mapping(decode(read_at(path.with_name(_stem(path) + ".json"), 0, _HEAD)))
    except (Unreadable, OSError, ValueError):
        return {}


def peek(path: Path) -> RunInfo:
    """A row of the list from the manifest and the head of the messages."""
    told, ident, at = _manifest(path), _stem(path), changed_at(path)
    goal, model, status = None, told.get("model"), str(told.get("status", "")).lower()
    try:
        items = parse(read_at(path, 0, _HEAD), str(path), _LISTS).lists.get("messages", [])
    except NotYet:
        items = []
    for item in items[:4]:
        value = decoded(item)
        if value.get("role") == "user":
            goal = next((part.text for part in split_record(value).parts if part.kind == "user" and part.text), None)
            break
    title = inner(told, "metadata").get("title")
    return RunInfo(
        ident, str(path), ClineReader.NAME, at, "ended" if status in _ENDED else "unknown", None,
        goal or (title if isinstance(title, str) else None), "cline", model if isinstance(model, str) else None,
    )  # fmt: skip


FORMAT = Format("cline-sdk", "Cline sessions", recognise, ClineReader, places=places, peek=peek)
