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
    request_of,
    request_span,
    tasks_of,
    texts_of,
    usage_of_request,
)
from agentmem.formats.shared.whole import BARE, Reading, parse
from agentmem.formats.source import NotYet, Unreadable, read_at
from agentmem.formats.versions import Item
from agentmem.model import Boundary, RunInfo, Usage, Where
from agentmem.tape import Piece

_HEAD = 65536
_CHANGES = "context_history.json"
_CHANGES_BYTES = 64 * 1024 * 1024
_EXTENSIONS = ("saoudrizwan.claude-dev",)
_WHOLE = ("openai", "litellm", "xai")
"""Providers of whom it passes on the service's own count, in which what was cached is counted (their files below
`src/core/api/providers`). A tuple: what is looked for in it may be of any type."""


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
        self._placed: dict[int, int] = {}
        """Message -> ordinal of the last request that was made when it was the newest."""
        self._answered = -1
        """Ordinal of the request that was answered last."""
        self._ranges: dict[int, tuple[int, int]] = {}
        self._places: list[int] = []
        """The messages after which a range was told, in order."""
        self._due = 0
        """So many of them have come."""
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
        self._places = sorted(self._ranges)
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
        info = mapping(value.get("modelInfo"))
        model = info.get("modelId")
        self._model = model if isinstance(model, str) else self._model
        if said == "api_req_started":
            if place is not None:
                self._placed[place] = len(self._requests)
            told = request_of(text)
            usage = None if told is None else usage_of_request(told, whole=info.get("providerId") in _WHOLE)
            self._requests.append(Request(at, place, usage))
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
        """The request that message `index` answers: made when the list ended up to three messages before it, and
        answered by none before."""
        if not self._placed:
            done = len(self._tasks.lane.steps)
            return self._requests[done] if done < len(self._requests) else None
        near = [self._placed[place] for place in range(index - 3, index) if place in self._placed]
        found = max((ordinal for ordinal in near if ordinal > self._answered), default=None)
        self._answered = self._answered if found is None else found
        return None if found is None else self._requests[found]

    def _trim(self, index: int) -> None:
        """The range that was hidden when message `index` was asked for."""
        while self._due < len(self._places) and self._places[self._due] < index:
            self._due += 1
        hidden = self._ranges[self._places[self._due - 1]] if self._due else None
        if hidden is None or hidden == self._in_force:
            return
        feed, (first, last), before = self._tasks, hidden, self._in_force
        start = max(0, first) if before is None or first < before[0] else max(0, first, before[1] + 1)
        gone = {i for i in range(start, min(last + 1, len(feed.pieces))) if feed.pieces[i]}
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
