"""Roo Code (and Kilo before 2026): a task's folder, written whole by rename under a lock. Nothing is ever deleted.

Messages that a summary or a truncation hides keep their place and name what hides them. The newest summary begins the
prompt; results whose calls are hidden are not sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

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
from agentmem.formats.usage import amount
from agentmem.formats.versions import Item
from agentmem.model import Boundary, RunInfo, Usage
from agentmem.pattern import pattern

_HEAD = 65536
_MARKS = pattern(rb'"(?:condenseParent|condenseId|isSummary|truncationParent|truncationId|isTruncationMarker)"\s*:')
_EXTENSIONS = ("rooveterinaryinc.roo-cline", "kilocode.kilo-code")
_WHOLE_SINCE = 1_761_955_200.0
"""1 November 2025, when Roo 3.29.5 came out (Roo-Code pull request 8954): since then `tokensIn` counts what was cached
too; before, for Anthropic's protocol, it did not. The record names no version."""


Event = tuple[float, int | None, int | None]
"""When the person was told of a compaction, and the tokens before and after it."""


class RooReader(WholeReader):
    """Follows one task."""

    NAME: ClassVar[str] = "roo"
    LISTS: ClassVar[tuple[str, ...]] = (BARE,)

    def _ident(self) -> str:
        path = Path(self._path)
        return path.parent.name if path.name == HISTORY else path.name.removesuffix(".json")

    def _fresh(self) -> None:
        self._sides = Beside()
        self._feed_ = TaskFeed(self.draft, self.draft.main)
        self._values: list[dict[str, Any]] = []
        """What each message says of summaries and truncations, without its text."""
        self._hidden: set[int] = set()
        self._events: dict[str, Event] = {}
        self._requests: list[tuple[float, Usage]] = []
        self._waiting: list[int] = []
        self._summarised = False
        self._calls: set[str] = set()
        """Ids of the calls made since the newest summary."""
        self._ended: str | None = None
        self.draft.agent = "roo"

    def _beside(self) -> bool:
        return self._sides.changed()

    def _stale(self) -> bool:
        return self._started and self._sides.changed()

    def _start(self, reading: Reading) -> None:
        path = Path(self._path).with_name(UI)
        try:
            ui = self._sides.read_for(self.draft, path, (BARE,))
        except (NotYet, Unreadable) as error:
            if path.exists():
                self.draft.problem(UI, str(error).partition(": ")[2])
            ui = Reading()
        for item in ui.lists.get(BARE, []):
            self._told(decoded(item))
        self._requests.sort(key=lambda one: one[0])
        item_path = Path(self._path).with_name("history_item.json")
        if self._sides.look(item_path):
            try:
                held = mapping(decode(read_at(item_path, 0, _HEAD)))
            except (Unreadable, OSError, ValueError):
                held = {}
            if held.get("status") == "completed":
                self._ended = "completed"

    def _told(self, value: Mapping[str, Any]) -> None:
        """One line of the conversation as the person saw it."""
        at, said = seconds(value.get("ts")), value.get("say", value.get("ask"))
        if at is None:
            return
        if said == "api_req_started":
            request = request_of(value.get("text"))
            whole = request is not None and (at >= _WHOLE_SINCE or request.get("apiProtocol") == "openai")
            usage = None if request is None else usage_of_request(request, whole=whole)
            if usage is not None:
                self._requests.append((at, usage))
        elif said in ("condense_context", "sliding_window_truncation"):
            told = mapping(value.get("contextCondense") or value.get("contextTruncation"))
            ident = told.get("condenseId") or told.get("truncationId")
            if isinstance(ident, str):
                sizes = (amount(told.get("prevContextTokens")), amount(told.get("newContextTokens")))
                self._events[ident] = (at, *sizes)
        elif said == "completion_result":
            self._ended = "completed"
        elif said in ("user_feedback", "api_req_started", "resume_task"):
            self._ended = None

    # -- messages -------------------------------------------------------------------------------------------------

    def _feed(self, index: int, item: Item) -> None:
        value = self._object(item, index)
        if value is None:
            value = {}
        names = ("condenseParent", "condenseId", "truncationParent", "truncationId", "isSummary", "isTruncationMarker")
        self._values.append({name: value[name] for name in names if name in value})
        role, at, feed = value.get("role"), seconds(value.get("ts")), self._feed_
        self._count(role if role in ("user", "assistant") else f"?{role or 'no role'}")
        if value.get("isSummary"):
            self._waiting.append(index)
            feed.hear(value, item, at, summary=True)
            feed.lane.answered = False
            self._apply(at, everything=False, index=index)
            return
        if value.get("isTruncationMarker"):
            self._waiting.append(index)
            feed.hear(value, item, at)
            self._apply(at, everything=False, index=index)
            return
        if role == "assistant":
            self._apply(at, everything=False, index=index)
            feed.answer(value, item, at, self._usage(at), self.draft.model)
            self._calls.update(call.call_id for call in feed.lane.steps[-1].calls if call.call_id is not None)
        elif role == "user":
            feed.hear(value, item, at)
            if self._summarised:
                self._orphans(feed.pieces[-1])
        else:
            feed.skip()

    def _apply(self, at: float | None, *, everything: bool, index: int) -> None:
        """Bring what hides messages into force: where it stands in the list, or when the person was told of it."""
        late: list[int] = []
        for marker in self._waiting:
            value = self._values[marker]
            ident = value.get("condenseId") or value.get("truncationId")
            told = self._events.get(ident) if isinstance(ident, str) else None
            if told is not None and at is not None and at < told[0] and not everything:
                late.append(marker)
                if marker == index:
                    hide_all(self._feed_, {marker})  # It was put in front of messages that were there before it.
                continue
            self._hide(marker, ident, told, before=marker < index)
        self._waiting = late

    def _hide(self, marker: int, ident: object, told: Event | None, *, before: bool) -> None:
        values, feed, lane = self._values, self._feed_, self._feed_.lane
        summary = bool(values[marker].get("isSummary"))
        parent = "condenseParent" if summary else "truncationParent"
        hidden = {i for i, value in enumerate(values) if ident is not None and value.get(parent) == ident}
        hidden -= self._hidden
        if before and not any(piece in lane.tape.live for piece in feed.pieces[marker]):
            self._put_back(marker)
        if hidden:
            hide_all(feed, hidden)
            self._hidden |= hidden
        if summary or lane.boundary is None:
            _, was, now = told or (0.0, None, None)
            why = f"{parent} hides {len(hidden)} messages"
            lane.boundary = Boundary("compaction" if summary else "trim", True, was, now, why)
        if summary:
            self._summarised = True
            segments = map(lane.tape.segment, lane.tape.live)
            self._calls = {seg.call_id for seg in segments if seg.kind == "call" and seg.call_id is not None}
            self._orphans(list(lane.tape.live))

    def _put_back(self, marker: int) -> None:
        """A marker that came into force later than its place in the list: it stands where it is."""
        feed, live = self._feed_, self._feed_.lane.tape.live
        after = {ident for ids in feed.pieces[marker + 1 :] for ident in ids}
        position = next((place for place, ident in enumerate(live) if ident in after), len(live))
        feed.lane.splice(position, 0, feed.pieces[marker])

    def _orphans(self, among: list[int]) -> None:
        """Results whose calls stand before a summary are not sent."""
        tape, orphans = self._feed_.lane.tape, set()
        for ident in among:
            seg = tape.segment(ident)
            if seg.kind in ("result", "error") and seg.call_id is not None and seg.call_id not in self._calls:
                orphans.add(ident)
        position = len(tape.live)
        while orphans and position > 0:
            position -= 1
            if tape.live[position] in orphans:
                orphans.remove(tape.live[position])
                self._feed_.lane.splice(position, 1)

    def _usage(self, at: float | None) -> Usage | None:
        """Of the last request that was begun before the answer."""
        found = None
        while at is not None and self._requests and self._requests[0][0] <= at:
            found = self._requests.pop(0)[1]
        return found

    def _rest(self, reading: Reading) -> None:
        draft = self.draft
        if self._waiting:
            self._apply(None, everything=True, index=len(self._values))
        draft.set_goal(self._feed_.goal, declared=False)
        draft.finished, draft.ended_as = self._ended is not None, self._ended
        draft.unknown = ("system prompt", "tool schemas")

    def extract(self, raw: bytes, part: int) -> str | None:
        return extract_part(raw, part)


# -- finding ------------------------------------------------------------------------------------------------------


def recognise(path: Path, head: bytes) -> bool:
    """A list of messages with this agent's marks, a task's folder of it, or a folder of such folders."""
    if path.is_dir():
        return any(_is_roo(found) for found in tasks_of(path)[:1])
    if path.name == UI:
        history = history_of(path)
        return history is not None and _is_roo(history)
    text = head.lstrip(b"\xef\xbb\xbf\0 \t\r\n")
    if not text.startswith(b"[") or b'"role"' not in text:
        return False
    return _MARKS.search(text) is not None or (path.name == HISTORY and _is_roo(path))


def _is_roo(history: Path) -> bool:
    if (history.parent / "history_item.json").is_file() or any(name in str(history) for name in _EXTENSIONS):
        return True
    try:
        return _MARKS.search(read_at(history, 0, _HEAD)) is not None
    except (Unreadable, OSError):
        return False


def open_task(path: Path, options: Options) -> RooReader:
    """Of a task's folder or of one of its files; of a folder of tasks the one that is named."""
    if path.is_dir() and history_of(path) is None:
        named = [found for found in tasks_of(path) if found.parent.name == options.run_id]
        return RooReader((named or tasks_of(path))[0], options)
    known = path.name in (HISTORY, UI) or path.is_dir()
    return RooReader((history_of(path) if known else None) or path, options)


def runs(path: Path) -> Iterable[RunInfo]:
    if path.is_dir():
        return [peek(found) for found in tasks_of(path)]
    return [peek((history_of(path) if path.name == UI else None) or path)]


def places(folder: Path) -> Iterable[Path]:
    """Tasks that were given in this folder, newest first."""
    return places_of(folder, _EXTENSIONS)


def peek(path: Path) -> RunInfo:
    """A row of the list from the head of the history and the item beside it."""
    ident = path.parent.name if path.name == HISTORY else path.name.removesuffix(".json")
    goal = status = None
    try:
        held = mapping(decode(read_at(path.with_name("history_item.json"), 0, _HEAD)))
        goal, status = held.get("task"), held.get("status")
    except (Unreadable, OSError, ValueError):
        pass  # the task has no item of its own yet: goal and status stay unknown
    try:
        items = parse(read_at(path, 0, _HEAD), str(path), (BARE,)).lists.get(BARE, [])
    except NotYet:
        items = []
    for item in items[:1] if not goal else ():
        for text in texts_of(decoded(item)):
            span = request_span(text)
            if span is not None:
                goal = goal or text[span[0] : span[1]]
    return RunInfo(
        ident, str(path), RooReader.NAME, changed_at(path), "ended" if status == "completed" else "unknown", None,
        goal if isinstance(goal, str) else None, "roo", None,
    )  # fmt: skip


FORMAT = Format(
    "roo", "Roo and Kilo tasks", recognise, open_task, runs=runs, places=places, everywhere=everywhere(_EXTENSIONS),
    peek=peek,
)  # fmt: skip
