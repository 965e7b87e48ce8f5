"""Cline in the editor: a task's folder, its files written whole, in old versions not atomically.

`api_conversation_history.json` is never cut: what a request hides stands in `ui_messages.json` as
`conversationHistoryDeletedRange` ([2, n]: messages 2 to n), and texts that were changed in place (a file read twice,
the notice of a cut) in `context_history.json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from agentmem.formats.loose import decode
from agentmem.formats.reader import Format, Options
from agentmem.formats.shared.rewriting import Beside, WholeReader, changed_at, decoded, mapping
from agentmem.formats.shared.task_feed import TaskFeed, extract_part, hide_all
from agentmem.formats.shared.times import seconds
from agentmem.formats.shared.vscode_tasks import (
    HISTORY,
    UI,
    everywhere,
    history_of,
    places_of,
    request_span,
    tasks_of,
    texts_of,
)
from agentmem.formats.shared.whole import BARE, Reading, parse
from agentmem.formats.source import NotYet, Unreadable, read_at
from agentmem.formats.usage import ANTHROPIC
from agentmem.formats.versions import Item
from agentmem.model import Boundary, RunInfo, Usage, Where
from agentmem.tape import Piece

_HEAD = 65536
_CHANGES = "context_history.json"
_CHANGES_BYTES = 64 * 1024 * 1024
_EXTENSIONS = ("saoudrizwan.claude-dev",)


class Request(msgspec.Struct):
    """One `api_req_started`."""

    at: float | None
    index: int | None
    """Index of the newest message of the history when it was made."""
    usage: Usage | None


class Change(msgspec.Struct, frozen=True):
    """A text of the history that is sent in other words from some request on."""

    at: float
    message: int
    block: int
    text: str
    number: int
    """Ordinal in `context_history.json`."""


class ClassicReader(WholeReader):
    """Follows one task."""

    NAME: ClassVar[str] = "cline"
    LISTS: ClassVar[tuple[str, ...]] = (BARE,)

    def _ident(self) -> str:
        path = Path(self._path)
        return path.parent.name if path.name == HISTORY else path.name.removesuffix(".json")

    def _fresh(self) -> None:
        self._sides = Beside()
        self._tasks = TaskFeed(self.draft, self.draft.main)
        self._requests: list[Request] = []
        self._ranges: dict[int, tuple[int, int]] = {}
        self._plans: dict[int, str] = {}
        self._changes: list[Change] = []
        self._changes_size = 0
        self._in_force: tuple[int, int] | None = None
        self._model: str | None = None
        self._ended = False
        self.draft.agent = "cline"

    def _beside(self) -> bool:
        return self._sides.changed()

    def _stale(self) -> bool:
        return self._started and self._sides.changed()

    def _start(self, reading: Reading) -> None:
        path = Path(self._path).with_name(UI)
        try:
            for item in self._sides.read_for(self.draft, path, (BARE,)).lists.get(BARE, []):
                self._told(decoded(item))
        except (NotYet, Unreadable) as error:
            if path.exists():
                self.draft.problem(UI, str(error).partition(": ")[2])
        path = path.with_name(_CHANGES)
        if self._sides.look(path):
            try:
                raw = read_at(path, 0, _CHANGES_BYTES)
                self._changes, self._changes_size = sorted(changes_of(decode(raw)), key=lambda c: c.at), len(raw)
            except (Unreadable, OSError, ValueError) as error:
                self.draft.problem(_CHANGES, str(error).rpartition(": ")[2])

    def _told(self, value: Mapping[str, Any]) -> None:
        """One line of the conversation as the person saw it."""
        said, index, text = value.get("say", value.get("ask")), value.get("conversationHistoryIndex"), value.get("text")
        at = seconds(value.get("ts"))
        place = index if isinstance(index, int) and not isinstance(index, bool) else None
        hidden = value.get("conversationHistoryDeletedRange")
        if place is not None and isinstance(hidden, list) and len(hidden) == 2 and all(type(n) is int for n in hidden):
            self._ranges[place] = hidden[0], hidden[1]
        model = mapping(value.get("modelInfo")).get("modelId")
        self._model = model if isinstance(model, str) else self._model
        if said == "api_req_started":
            self._requests.append(Request(at, place, usage_of_request(text)))
            self._ended = False
        elif said == "task_progress" and isinstance(text, str) and place is not None:
            self._plans[place] = text
        elif said in ("completion_result", "resume_completed_task"):
            self._ended = True
        elif said == "user_feedback":
            self._ended = False

    # -- messages -------------------------------------------------------------------------------------------------

    def _feed(self, index: int, item: Item) -> None:
        value, feed = self._object(item, index) or {}, self._tasks
        role, at = value.get("role"), seconds(value.get("ts"))
        self._count(role if role in ("user", "assistant") else f"?{role or 'no role'}")
        if role == "assistant":
            request = self._request(index)
            self._trim(index)
            self._change(index, request)
            model = mapping(value.get("modelInfo")).get("modelId", self._model)
            feed.answer(
                value, item, at if at is not None else request.at if request else None,
                request.usage if request else None, model if isinstance(model, str) else None,
            )  # fmt: skip
        elif role == "user":
            feed.hear(value, item, at)
        else:
            feed.skip()
        if index in self._plans:
            feed.plan(self._plans[index])

    def _request(self, index: int) -> Request | None:
        """The request that message `index` answers: made when the list ended one or two messages before it."""
        found = None
        for request in self._requests:
            if request.index is not None and index - 3 <= request.index <= index - 1:
                found = request
        if found is None and all(request.index is None for request in self._requests):
            done = len(self._tasks.lane.steps)
            found = self._requests[done] if done < len(self._requests) else None
        return found

    def _trim(self, index: int) -> None:
        """The range that was hidden when message `index` was asked for."""
        known = [place for place in self._ranges if place <= index - 1]
        hidden = self._ranges[max(known)] if known else None
        if hidden is None or hidden == self._in_force:
            return
        feed, (first, last) = self._tasks, hidden
        gone = {i for i in range(max(0, first), min(last + 1, len(feed.pieces))) if feed.pieces[i]}
        before = self._in_force
        self._in_force = hidden
        if before is not None and last < before[1]:
            return  # Rewound: what was hidden came back, which a list of messages alone cannot tell.
        hide_all(feed, gone)
        feed.lane.boundary = Boundary("trim", True, None, None, f"conversationHistoryDeletedRange [{first}, {last}]")

    def _change(self, index: int, request: Request | None) -> None:
        """Texts that were sent in other words from this request on."""
        feed, source = self._tasks, str(Path(self._path).with_name(_CHANGES))
        while self._changes and request is not None and request.at is not None and self._changes[0].at < request.at:
            change = self._changes.pop(0)
            if change.message >= len(feed.pieces):
                continue
            live, tape = feed.lane.tape.live, feed.lane.tape
            blocks = zip(feed.pieces[change.message], feed.blocks[change.message], strict=True)
            old = [ident for ident, block in blocks if block == change.block and ident in live]
            if not old:
                continue
            seg, position = tape.segment(old[0]), live.index(old[0])
            where = Where(source, 0, self._changes_size, change.number)
            piece = Piece(seg.kind, change.text, where, seg.call_id, None, seg.tool, stub_of=old[0])
            ids = feed.lane.splice(position, len(old), [piece])
            others = [pair for pair in zip(feed.pieces[change.message], feed.blocks[change.message], strict=True)
                      if pair[0] not in old]  # fmt: skip
            feed.pieces[change.message] = [*(ident for ident, _ in others), *ids]
            feed.blocks[change.message] = [*(block for _, block in others), change.block]

    def _rest(self, reading: Reading) -> None:
        draft = self.draft
        draft.model = self._model
        draft.set_goal(self._tasks.goal, declared=False)
        draft.finished, draft.ended_as = self._ended, "completed" if self._ended else None
        draft.unknown = ("system prompt", "tool schemas")

    def extract(self, raw: bytes, part: int) -> str | None:
        if raw.lstrip()[:1] == b"[":
            return next((change.text for change in changes_of(decode(raw)) if change.number == part), None)
        return extract_part(raw, part)


def changes_of(value: object) -> Iterator[Change]:
    """Changes of texts: [[message, [sort, [[block, [[time, "text", [text], metadata], ...]], ...]]], ...]."""
    number = 0
    for message, held in _pairs(value):
        for block, changes in _pairs(held[1] if isinstance(held, list) and len(held) > 1 else None):
            for change in changes if isinstance(changes, list) else ():
                number += 1
                if not isinstance(change, list) or len(change) < 3 or change[1] != "text":
                    continue
                at, texts = seconds(change[0]), change[2]
                if at is not None and isinstance(texts, list) and texts and isinstance(texts[0], str):
                    yield Change(at, message, block, texts[0], number)


def _pairs(value: object) -> Iterator[tuple[int, Any]]:
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], int):
            yield entry[0], entry[1]


def usage_of_request(text: object) -> Usage | None:
    """Usage of one request, from the JSON in the text of `api_req_started`. What was cached is not in `tokensIn`."""
    if not isinstance(text, str):
        return None
    try:
        told = mapping(decode(text.encode("utf-8", "surrogatepass")))
    except ValueError:
        return None
    given, read, wrote = (_integer(told.get(name)) for name in ("tokensIn", "cacheReads", "cacheWrites"))
    if given is None:
        return None
    cost = told.get("cost")
    money = float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None
    prompt = given + (read or 0) + (wrote or 0)
    return Usage(prompt, read, wrote, _integer(told.get("tokensOut")), None, money, ANTHROPIC, "api_req_started")


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


# -- finding ------------------------------------------------------------------------------------------------------


def recognise(path: Path, head: bytes) -> bool:
    """A history or the conversation of a task by its content and its name, a task's folder, or a folder of such."""
    if path.is_dir():
        return bool(tasks_of(path))
    if path.name not in (HISTORY, UI):
        return False
    text = head.lstrip(b"\xef\xbb\xbf\0 \t\r\n")
    if not text.startswith(b"["):
        return False
    return b'"role"' in text if path.name == HISTORY else b'"say"' in text and history_of(path) is not None


def open_task(path: Path, options: Options) -> ClassicReader:
    """Of a task's folder or of one of its files; of a folder of tasks the one that is named."""
    if path.is_dir() and history_of(path) is None:
        named = [found for found in tasks_of(path) if found.parent.name == options.run_id]
        return ClassicReader((named or tasks_of(path))[0], options)
    return ClassicReader(history_of(path) or path, options)


def runs(path: Path) -> Iterable[RunInfo]:
    """The tasks of a folder; of a task's folder or file its one run."""
    return [peek(found) for found in tasks_of(path)] if path.is_dir() else [peek(history_of(path) or path)]


def places(folder: Path) -> Iterable[Path]:
    """Tasks that were given in this folder, newest first."""
    return places_of(folder, _EXTENSIONS)


def peek(path: Path) -> RunInfo:
    """A row of the list from the head of the history."""
    ident = path.parent.name if path.name == HISTORY else path.name.removesuffix(".json")
    goal = None
    try:
        items = parse(read_at(path, 0, _HEAD), str(path), (BARE,)).lists.get(BARE, [])
    except NotYet:
        items = []
    for text in texts_of(decoded(items[0])) if items else ():
        span = request_span(text)
        if span is not None and goal is None:
            goal = text[span[0] : span[1]]
    return RunInfo(ident, str(path), ClassicReader.NAME, changed_at(path), "unknown", None, goal, "cline", None)


FORMAT = Format(
    "cline", "Cline tasks", recognise, open_task, runs=runs, places=places, everywhere=everywhere(_EXTENSIONS),
    peek=peek,
)  # fmt: skip
