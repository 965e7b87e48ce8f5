"""JSON lines of a plain loop: a checkpoint a line (`{"step", "messages", "notes"}`), or one message a line.

A line with a list of messages is one version of it, as if the file had been overwritten with it; a line that is a
message is appended to the list.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from agentmem.formats.loose import decode, encode
from agentmem.formats.messages import is_message
from agentmem.formats.plain.envelope import NEW_RUN
from agentmem.formats.plain.feed import Feed, nothing_in
from agentmem.formats.plain.parse import LIST_KEYS, SPACE
from agentmem.formats.reader import Format
from agentmem.formats.shared.lines import LineReader
from agentmem.formats.shared.times import seconds
from agentmem.formats.source import Record, Unreadable, read_at
from agentmem.formats.versions import PARTS, Item, extract_message
from agentmem.model import Where

_STATES = ("state", "notes", "memory", "agent_state")
_TIMES = ("ts", "at", "time", "timestamp", "saved_at")


def list_key(line: dict[str, Any]) -> str | None:
    """Under which name a line holds its messages."""
    return next((key for key in LIST_KEYS if isinstance(line.get(key), list)), None)


def is_version(line: dict[str, Any]) -> bool:
    """Whether a line is a checkpoint: a list of messages, or a step with a state."""
    return list_key(line) is not None or ("step" in line and any(name in line for name in _STATES))


class StepsLogReader(LineReader):
    """Follows one such file."""

    name: ClassVar[str] = "messages"

    def begin(self) -> None:
        self._feed = Feed(self.draft, self._stored)

    def take(self, value: dict[str, Any], record: Record) -> str | None:
        at = next((found for name in _TIMES if name in value and (found := seconds(value[name])) is not None), None)
        key = list_key(value)
        if key is None and is_message(value):
            item = Item(record.data, self.path, record.offset, len(record.data), record.line)
            self._feed.version({}, [item], at, len(self._feed.keys))
            return None
        if not is_version(value):
            return "an object without messages"
        rest = {name: held for name, held in value.items() if name != key}
        items = [
            Item(encode(message), self.path, record.offset, len(record.data), record.line, index * PARTS)
            for index, message in enumerate(value[key] if key is not None else ())
        ]
        if (why := nothing_in(rest, items, None)) is not None:
            self.draft.problem(f"line {record.line}", why)
            return "a list without a message"
        if self._feed.restarts(rest, items, 0):
            began = *self.draft.began, Where(self.path, record.offset, 0)
            self._restart(NEW_RUN)
            self.draft.began, self.draft.earlier = began, len(began)
        self._feed.version(rest, items, at, 0)
        return None

    def extract(self, raw: bytes, part: int) -> str | None:
        try:
            line = decode(raw)
        except ValueError:
            return None
        key = list_key(line) if isinstance(line, dict) else None
        if key is None:
            return extract_message(raw, part)
        index, number = divmod(part, PARTS)
        found = line[key]
        return extract_message(encode(found[index]), number) if index < len(found) else None

    def _stored(self, where: Where) -> str | None:
        try:
            return self.extract(read_at(where.source, where.offset, where.length), where.part)
        except Unreadable:
            return None


def recognise(path: Path, head: bytes) -> bool:
    """JSON lines whose first one is a checkpoint or a message."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0" + SPACE)
    first, newline, rest = text.partition(b"\n")
    if not first.startswith(b"{"):
        return False
    named = path.name.endswith((".jsonl", ".ndjson"))
    if not newline and len(first) > len(head) // 2 and named and _cut(first):
        return any(b'"' + key.encode() + b'"' in first for key in LIST_KEYS) or b'"role"' in first
    if not named and not rest.lstrip().startswith(b"{"):
        return False
    try:
        line = decode(first)
    except ValueError:
        return False
    return isinstance(line, dict) and (is_version(line) or is_message(line))


def _cut(first: bytes) -> bool:
    """Whether the first line is longer than what was looked at."""
    try:
        decode(first)
    except ValueError:
        return len(first) > 60_000
    return False


FORMAT = Format("messages", "logs of checkpoints or messages, one a line", recognise, StepsLogReader)
