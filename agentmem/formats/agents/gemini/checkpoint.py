"""Chats that were saved: what `/chat save` writes, and what stands beside a change of files to go back to.

Both hold the contents as they are sent to the model. A saved chat is written once; saved again under its name, it is
written anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote

from agentmem.formats.agents.gemini.contents import asked, parts_of, plan_in
from agentmem.formats.loose import decode
from agentmem.formats.messages import Part
from agentmem.formats.reader import Format
from agentmem.formats.shared.peek import PEEK_BYTES
from agentmem.formats.shared.rewriting import WholeReader, call_of, decoded, newest, piece_of
from agentmem.formats.shared.whole import BARE, Reading, parse
from agentmem.formats.source import NotYet, read_at
from agentmem.formats.versions import Item
from agentmem.model import Field, RunInfo
from agentmem.pattern import pattern

_LISTS = ("clientHistory", "history", BARE)
"""A change's file holds the contents under the first name, and what the screen showed under the second."""
_PART = (
    rb'\{\s*"(?:text|thought|thoughtSignature|functionCall|functionResponse|inlineData|fileData|executableCode'
    rb'|codeExecutionResult|videoMetadata)"'
)
_PARTS = pattern(rb'"parts"\s*:\s*(?:\[\s*(?:\]|"|' + _PART + rb')|' + _PART + rb'|")')
"""Of the API, by the names that its parts have: other frameworks too keep `parts`."""
_ROLE = pattern(rb'"role"\s*:\s*"(?:user|model)"')
_LONG = 60_000
"""Bytes of a beginning in which the role, that may stand behind the parts, need not be seen yet."""
_HEAD = pattern(rb'(?:\{\s*"(?:history|clientHistory)"\s*:\s*)?\[\s*\{\s*"(?:role|parts)"\s*:')


class CheckpointReader(WholeReader):
    """Reads one saved chat, again when it is written anew."""

    NAME: ClassVar[str] = "gemini-checkpoint"
    LISTS: ClassVar[tuple[str, ...]] = _LISTS

    def _ident(self) -> str:
        return _tag(Path(self._path))

    def _fresh(self) -> None:
        self.draft.agent = "Gemini CLI"
        self.draft.unknown = ("system prompt", "tool schemas")
        self.draft.past_unknown = True

    def _feed(self, index: int, item: Item) -> None:
        value = self._object(item, index, "content")
        if value is None:
            return
        role, lane = value.get("role"), self.draft.main
        parts = parts_of(value)
        self._count(role if role in ("user", "model") else f"?{role}")
        if role == "model":
            lane.close()
            ids = [lane.reply(piece_of(item, number, part), call_of(part)) for number, part in enumerate(parts)]
            plan = plan_in(value)
            if plan is not None:
                carrier = next((ident for ident, part in zip(ids, parts, strict=True) if part.kind == "call"), None)
                lane.fields = tuple(
                    Field(f"plan[{place}]", title, self.draft.count(title), None, None, carrier, done)
                    for place, (title, done) in enumerate(plan)
                )
            return
        self._goal(parts)
        for number, part in enumerate(parts):
            if part.kind == "result":
                lane.answer(piece_of(item, number, part), failed=part.failed)
            else:
                lane.append(piece_of(item, number, part))

    def _goal(self, parts: list[Part]) -> None:
        first = asked(parts) if self.draft.goal is None else None
        if first is not None:
            self.draft.set_goal(parts[first].text, declared=False)
            parts[first].kind = "goal"

    def _rest(self, reading: Reading) -> None:
        self.draft.finished, self.draft.ended_as = True, "saved"

    def extract(self, raw: bytes, part: int) -> str | None:
        try:
            parts = parts_of(decode(raw))
        except ValueError:
            return None
        return parts[part].text if part < len(parts) else None


def _tag(path: Path) -> str:
    """The name under which a chat was saved."""
    return unquote(path.name.removesuffix(".json").removeprefix("checkpoint-"))


def recognise(path: Path, head: bytes) -> bool:
    """Contents of the API under `history` or `clientHistory`, or a bare list of them."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0 \t\r\n")
    if not text.startswith((b"{", b"[")) or not _PARTS.search(text):
        return False
    if not _ROLE.search(text) and len(text) < _LONG:
        return False
    return _HEAD.match(text) is not None or (b'"clientHistory"' in text and b'"toolCall"' in text)


def places(folder: Path) -> Iterable[Path]:
    """Chats that were saved in this folder, newest first."""
    root = Path.home() / ".gemini" / "tmp"
    kept = [root / hashlib.sha256(str(folder).encode()).hexdigest()]
    for mark in root.glob("*/.project_root"):
        try:
            if mark.read_text(encoding="utf-8", errors="replace").strip() == str(folder):
                kept.append(mark.parent)
        except OSError:
            continue  # a folder that cannot be read names no project
    return newest(path for one in kept for path in one.glob("checkpoint-*.json"))


def peek(path: Path) -> RunInfo:
    """A row of the list, from the beginning of the file. Raises Unreadable."""
    goal = None
    try:
        items = parse(read_at(path, 0, PEEK_BYTES), str(path), _LISTS).records(*_LISTS)
    except NotYet:
        items = []  # nothing whole stands there yet
    for item in items:
        value = decoded(item)
        parts = parts_of(value) if value.get("role") == "user" else []
        first = asked(parts)
        if first is not None:
            goal = parts[first].text
            break
    return RunInfo(_tag(path), str(path), CheckpointReader.NAME, path.stat().st_mtime, "ended", goal=goal,
                   agent="Gemini CLI")  # fmt: skip


FORMAT = Format(
    "gemini-checkpoint", "saved chats of Gemini CLI", recognise, CheckpointReader, places=places,
    everywhere=("~/.gemini/tmp/*/checkpoint-*.json",), peek=peek,
)  # fmt: skip
