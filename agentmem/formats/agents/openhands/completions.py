"""Logs of completions that the OpenHands SDK writes on request: one file a call, the request as it was sent. Exact.

A folder that holds nothing else is one run, its calls in order of time; one file alone is a run of one call.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agentmem.formats.draft import Call, RunDraft
from agentmem.formats.loose import canonical, decode, encode
from agentmem.formats.messages import Message, split
from agentmem.formats.reader import Format, Options
from agentmem.formats.shared.lines import QUIET_SECONDS
from agentmem.formats.shared.times import seconds
from agentmem.formats.shared.whole import read_small
from agentmem.formats.source import NotYet, Unreadable
from agentmem.formats.usage import amount, usage_of
from agentmem.formats.versions import PARTS, Item, MessageList
from agentmem.model import Where
from agentmem.pattern import pattern
from agentmem.tape import Piece
from agentmem.tokens import counter

_FILE = pattern(r".+-(\d{9,11}\.\d+)(?:-\w+)?\.json\Z")
_REPLY = 1_000_000
_TOOLS = 2_000_000
_LIMIT = 256 * 1024 * 1024


def replies(log: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The message or items that came back."""
    response = log.get("response")
    body: Mapping[str, Any] = response if isinstance(response, Mapping) else {}
    choices = body.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, Mapping) and isinstance(choice.get("message"), Mapping):
            return [choice["message"]]
    output = body.get("output")
    return [item for item in output if isinstance(item, Mapping)] if isinstance(output, list) else []


def sent(log: Mapping[str, Any]) -> list[Any]:
    """The messages or items that were sent."""
    for name in ("messages", "input"):
        if isinstance(log.get(name), list):
            found: list[Any] = log[name]
            return found
    return []


class CompletionsReader:
    """Follows a folder of logs, or reads one of them."""

    def __init__(self, path: Path, options: Options) -> None:
        self._path = path
        name = path.name.removesuffix(".json")
        self.draft = RunDraft(str(path), "openhands-completions", name, counter(options.counter), options.counter)
        self.draft.provenance = "exact"
        self.draft.agent = "OpenHands"
        self._list = MessageList(self.draft.main)
        self._done: set[str] = set()
        self._sizes: dict[str, tuple[int, int]] = {}

    def watched(self) -> Iterable[Path]:
        return (self._path if self._path.is_dir() else self._path.parent,)

    def refresh(self) -> bool:
        """Read the logs that are new. Raises Unreadable, NotYet while there is nothing to show."""
        changed = False
        if self._done and not self._path.exists():
            changed, self.draft.notice = self.draft.notice != "file gone", "file gone"
            return changed
        self.draft.notice = None
        for name in self._names():
            if name in self._done:
                continue
            try:
                status = os.stat(name)
                if self._sizes.get(name) == (status.st_size, status.st_mtime_ns):
                    continue
                self._sizes[name] = (status.st_size, status.st_mtime_ns)
                log, length = _read(name)
            except NotYet as error:
                if time.time() - status.st_mtime > QUIET_SECONDS:
                    self.draft.problem(Path(name).name, str(error).removeprefix(f"{name}: "))
                else:
                    del self._sizes[name]  # read again at the next look
                continue
            except Unreadable as error:
                if name == str(self._path):
                    raise
                self._done.add(name)
                self.draft.problem(Path(name).name, str(error).removeprefix(f"{name}: "))
                continue
            except OSError as error:
                raise Unreadable(f"{name}: {(error.strerror or 'unreadable').lower()}") from None
            self._done.add(name)
            self._call(log, name, length)
            self.draft.changed_at = max(status.st_mtime, self.draft.changed_at or 0.0)
            changed = True
        if not self.draft.main.steps:
            raise NotYet(f"{self._path}: no whole log yet")
        return changed

    def _names(self) -> list[str]:
        """The logs, in order of time. Raises Unreadable."""
        if not self._path.is_dir():
            return [str(self._path)]
        try:
            return sorted(_logs(self._path), key=_order)
        except OSError as error:
            raise Unreadable(f"{self._path}: {(error.strerror or 'unreadable').lower()}") from None

    def _call(self, log: Mapping[str, Any], name: str, length: int) -> None:
        draft, lane = self.draft, self.draft.main
        tools = log.get("tools")
        if isinstance(tools, list) and tools:
            where = Where(name, 0, length, _TOOLS * PARTS)
            self._list.prefix([Piece("tools", canonical(tools), where)])
        items = [Item(encode(message), name, 0, length, None, index * PARTS) for index, message in enumerate(sent(log))]
        self._list.update(items, stays=False)
        response = log.get("response")
        body: Mapping[str, Any] = response if isinstance(response, Mapping) else {}
        model = body.get("model")
        draft.model = model if isinstance(model, str) else draft.model
        window = amount(log.get("context_window"))
        if window:
            draft.window, draft.window_source = window, "declared"
        usage = usage_of(body.get("usage"), Path(name).name)
        lane.close(at=seconds(log.get("timestamp")), usage=usage, model=draft.model)
        for index, reply in enumerate(replies(log)):
            message: Message = split(reply)
            for number, part in enumerate(message.parts):
                where = Where(name, 0, length, (_REPLY + index) * PARTS + number)
                call = None
                if part.kind == "call" and part.tool is not None:
                    call = Call(part.tool, part.arguments or "", part.call_id)
                piece = Piece(part.kind, part.text, where, part.call_id, None, part.tool, part.tokens)
                ident = lane.reply(piece, call, stays=False)
                if part.kind != "thinking":
                    lane.comes(ident)
        draft.set_goal(self._list.goal_text, declared=False)

    def extract(self, raw: bytes, part: int) -> str | None:
        log = decode(raw.removeprefix(b"\xef\xbb\xbf"))
        if not isinstance(log, dict):
            return None
        index, number = divmod(part, PARTS)
        if index >= _TOOLS:
            return canonical(log.get("tools"))
        found = replies(log) if index >= _REPLY else sent(log)
        place = index - _REPLY if index >= _REPLY else index
        message = found[place] if place < len(found) else None
        parts = split(message).parts if isinstance(message, Mapping) else []
        return parts[number].text if number < len(parts) else None


def _read(name: str) -> tuple[dict[str, Any], int]:
    data = read_small(name, _LIMIT)
    try:
        value = decode(data.removeprefix(b"\xef\xbb\xbf"))
    except ValueError as error:
        raise NotYet(f"{name}: half written or cut: {error}") from None
    if not isinstance(value, dict) or not sent(value):
        raise Unreadable(f"{name}: no request in it")
    return value, len(data)


def _logs(folder: Path) -> Iterable[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if _FILE.match(entry.name):
                yield entry.path


def _order(name: str) -> tuple[float, str]:
    match = _FILE.match(os.path.basename(name))
    return (float(match.group(1)) if match else 0.0, name)


def recognise(path: Path, head: bytes) -> bool:
    """A file with a request, its answer and `latency_sec`; or a folder of such files only."""
    if not head:
        try:
            names = [name for name in os.listdir(path) if not name.startswith(".")] if path.is_dir() else []
        except OSError:
            return False  # a folder that cannot be read is nobody's
        return bool(names) and all(_FILE.match(name) for name in names)
    start = head[:300].translate(None, b" \t\r\n").removeprefix(b"\xef\xbb\xbf")
    if not (start.startswith(b'{"messages":[') or start.startswith(b'{"input":[')):
        return False
    return bool(_FILE.match(path.name)) or b'"latency_sec"' in head


FORMAT = Format("openhands-completions", "logs of completions of OpenHands", recognise, CompletionsReader)
