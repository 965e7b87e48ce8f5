"""Follows chats of Gemini CLI: `session-*.jsonl` with the chats of its subagents, and the older single JSON file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentmem.formats.agents.gemini.chat import Chat, Place
from agentmem.formats.agents.gemini.legacy import LegacyReader, extract_bits
from agentmem.formats.agents.gemini.parts import TYPES, display
from agentmem.formats.loose import canonical, decode
from agentmem.formats.reader import Format, Options, Reader
from agentmem.formats.shared.lines import LineReader
from agentmem.formats.shared.peek import PEEK_BYTES, line_info
from agentmem.formats.shared.rewriting import decoded, newest
from agentmem.formats.shared.whole import parse
from agentmem.formats.source import AppendFile, NotYet, Record, Unreadable, read_at
from agentmem.model import RunInfo, Where
from agentmem.pattern import pattern

_PARTS = 4096
_HEAD = pattern(rb'"sessionId"\s*:\s*"')


class GeminiReader(LineReader):
    """Follows one chat."""

    name = "gemini-cli"
    repeats = True
    starts = (b'{"id":"', b'{"id": "', b'{"$set"', b'{"$rewindTo"', b'{"sessionId"')

    def begin(self) -> None:
        self.draft.unknown = ("system prompt", "tool schemas")
        self.draft.agent = "Gemini CLI"
        self._chat = Chat(self.draft, self.draft.main)
        self._session: str | None = None
        self._subs: dict[str, tuple[AppendFile, Chat]] = {}

    def watched(self) -> Iterable[Path]:
        folder = Path(self.path).parent
        return (folder, folder / self._session) if self._session else (folder,)

    def extract(self, raw: bytes, part: int) -> str | None:
        return extract_bits(raw, part)

    def refresh(self) -> bool:
        """Read what is new, of the chat and of its subagents."""
        changed = super().refresh()
        return self._subagents() or changed

    def take(self, value: dict[str, Any], record: Record) -> str | None:
        return self._take(self._chat, value, record, self.path)

    def _take(self, chat: Chat, value: dict[str, Any], record: Record, source: str) -> str | None:
        label = f"line {record.line}"

        def where(index: int) -> Place:
            return lambda part: Where(source, record.offset, len(record.data), index * _PARTS + part, None, record.line)

        if "$rewindTo" in value:
            chat.rewind(str(value["$rewindTo"]), label)
            self._count("$rewindTo")
        elif isinstance(value.get("$set"), Mapping):
            self._set(chat, value["$set"], where, label)
        elif "sessionId" in value and "type" not in value:
            if chat is self._chat:
                self._session = str(value["sessionId"])
                self.draft.id = self._session or self.draft.id
            if isinstance(value.get("messages"), list):
                self._set(chat, value, where, label)
            self._count("metadata")
        elif str(value.get("type")) in TYPES:
            chat.record(value, where(0), label, str(value.get("id") or label))
            self._count(str(value["type"]))
        else:
            sort = value.get("type") or next(iter(value), "?")
            return f"{sort}"
        return None

    def _count(self, name: str) -> None:
        self.draft.counts[name] = self.draft.counts.get(name, 0) + 1

    def _set(self, chat: Chat, given: Mapping[str, Any], where: Any, label: str) -> None:
        messages = given.get("messages")
        if isinstance(messages, list):
            listed = []
            for index, message in enumerate(messages):
                sort = str(message.get("type")) if isinstance(message, Mapping) else "no object"
                if isinstance(message, Mapping) and sort in TYPES:
                    listed.append((str(message.get("id") or f"{label}/{index}"), message, where(index + 1)))
                else:
                    self._unknown += 1
                    self._count(f"?{sort}")
            chat.listed(listed, label)
            self._count("$set.messages")
        scratchpad = given.get("memoryScratchpad")
        if scratchpad:
            chat.lane.notes = scratchpad if isinstance(scratchpad, str) else canonical(scratchpad)
        self._count("$set")

    # -- subagents ------------------------------------------------------------------------------------------------

    def _subagents(self) -> bool:
        """Chats of subagents stand in a folder named after the session."""
        if not self._session or "/" in self._session or self._session.startswith("."):
            return False
        changed = False
        for path in sorted((Path(self.path).parent / self._session).glob("*.jsonl")):
            ident = path.name.removesuffix(".jsonl")
            if ident not in self._subs:
                lane = self.draft.lane(ident, "subagent", spawned_by=self._spawned(ident))
                self._subs[ident] = (AppendFile(path), Chat(self.draft, lane))
            file, chat = self._subs[ident]
            if chat.lane.spawned_by is None or ident in self._chat.agents:
                chat.lane.spawned_by = self._spawned(ident)  # its chat may come before the call that names it
            change = file.change()
            if change == "replaced":
                return self.read_again("a subagent's chat was replaced, read again")
            if change != "grown":
                continue
            for value, part in self.beside(file, path.name):
                self._take(chat, value, part, str(path))
            changed = True
        return changed

    def _spawned(self, ident: str) -> tuple[str, int] | None:
        n = next((n for agent, n in self._chat.agents.items() if ident in (agent, f"session-{agent}")), None)
        steps = len(self.draft.main.steps)
        return ("main", n if n is not None else steps) if steps else None


def open_chat(path: Path, options: Options) -> Reader:
    """A reader of lines, or of the older single JSON file."""
    head = read_at(path, 0, 65536)
    return GeminiReader(path, options) if _lines(head) else LegacyReader(path, options)


def _lines(head: bytes) -> bool:
    first, newline, _ = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0 \t\r\n").partition(b"\n")
    if newline:
        try:
            decode(first.strip(b"\0\r \t"))
        except ValueError:
            return False
        return not (b'"messages"' in first and b'"type"' in first and not _rest(head))
    return first.rstrip().endswith(b"}") and b'"messages"' not in first


def _rest(head: bytes) -> bytes:
    return head.lstrip(b"\xef\xbb\xbf\0 \t\r\n").partition(b"\n")[2].strip()


def recognise(path: Path, head: bytes) -> bool:
    """A session header as the first line, or one object with a session, its times and messages."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0 \t\r\n")
    if not text.startswith(b"{"):
        return False
    first = text.partition(b"\n")[0]
    if _HEAD.search(first[:4096]) and (b'"projectHash"' in first or b'"startTime"' in first) and _lines(text):
        return True
    told = b'"projectHash"' in text or b'"lastUpdated"' in text[:400] or b'"startTime"' in text[:400]
    return told and b'"messages"' in text and (b'"sessionId"' in text or b'"gemini"' in text)


def places(folder: Path) -> Iterable[Path]:
    """Chats for this folder: below its SHA-256, or below a short name whose `.project_root` names it."""
    root = Path.home() / ".gemini" / "tmp"
    chats = [root / hashlib.sha256(str(folder).encode()).hexdigest() / "chats"]
    for mark in root.glob("*/.project_root"):
        try:
            if read_at(mark, 0, 4096).decode("utf-8", "replace").strip() == str(folder):
                chats.append(mark.parent / "chats")
        except (OSError, Unreadable):
            continue  # a folder that cannot be read names no project
    found = [file for chat in chats for pattern in ("session-*.jsonl", "session-*.json") for file in chat.glob(pattern)]
    return newest(found)


def peek(path: Path) -> RunInfo:
    """A row of the list, from the first and last 64 KiB."""
    ident, goal, model = path.name.partition(".json")[0], None, None
    for record in _glance(path):
        if isinstance(record.get("sessionId"), str):
            ident = record["sessionId"] or ident
        model = record["model"] if isinstance(record.get("model"), str) else model
        if goal is None and record.get("type") == "user":
            goal = display(record)
    return RunInfo(ident, str(path), "gemini-cli", path.stat().st_mtime, goal=goal, agent="Gemini CLI", model=model)


def _glance(path: Path) -> Iterator[Mapping[str, Any]]:
    """Records at both ends of a file of lines, at the beginning of an older one. Raises Unreadable."""
    head = read_at(path, 0, PEEK_BYTES)
    if not _lines(head):
        try:
            reading = parse(head, str(path), ("messages",))
        except NotYet:
            return  # nothing whole stands there yet
        yield reading.rest
        yield from map(decoded, reading.records("messages"))
        return
    for value in line_info(path):
        messages = value.get("messages")
        yield from (
            one for one in (value, *(messages if isinstance(messages, list) else ())) if isinstance(one, Mapping)
        )


FORMAT = Format(
    "gemini-cli", "Gemini CLI", recognise, open_chat, places=places,
    everywhere=("~/.gemini/tmp/*/chats/session-*.json*",), peek=peek,
)  # fmt: skip
