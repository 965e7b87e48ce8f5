"""The event stream that `codex exec --json` prints: what was done, without the prompts.

Neither the person's request nor the instructions stand in it, and its usage is a lifetime total: the prompt is partial,
reported tokens of a call are unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from agentmem.formats.agents.codex.history import piece_of
from agentmem.formats.agents.codex.records.events import item_content, item_type
from agentmem.formats.agents.codex.records.lines import Entry, Place, entry_of, records_in, rescued
from agentmem.formats.draft import Call, RunDraft
from agentmem.formats.messages import Part
from agentmem.formats.reader import Options
from agentmem.formats.shared.lines import Tail
from agentmem.formats.source import AppendFile, NotYet, Record, Unreadable
from agentmem.model import Field, Problem
from agentmem.tokens import counter

TYPES = ("thread.started", "turn.started", "turn.completed", "turn.failed", "item.started", "item.updated",
         "item.completed", "error")  # fmt: skip


class ExecReader:
    """Follows one stream that was written to a file."""

    def __init__(self, path: Path, options: Options) -> None:
        self._file = AppendFile(path)
        self._path = path
        self._options = options
        self._fresh(None)

    def _fresh(self, notice: str | None) -> None:
        draft = self.draft = RunDraft(
            str(self._path), "codex", self._path.name.removesuffix(".jsonl"), counter(self._options.counter),
            self._options.counter,
        )  # fmt: skip
        draft.agent, draft.notice = "codex", notice
        draft.provenance = "partial"
        draft.goal_unknown = True
        draft.unknown = ("the request", "system prompt", "tool schemas")
        self._open = False
        self._calls: dict[str, Call] = {}
        self._records = self._unknown = 0
        self._summary: Problem | None = None
        self._tail = Tail()

    def watched(self) -> Iterable[Path]:
        return (self._path.parent,)

    def extract(self, raw: bytes, part: int) -> str | None:
        try:
            item = entry_of(raw).payload.get("item")
        except ValueError:
            return None
        content = item_content(item) if isinstance(item, Mapping) else None
        return content.parts[part].text if content is not None and part < len(content.parts) else None

    def refresh(self) -> bool:
        change = self._file.change()
        if change == "same" and self._records > self._unknown:
            return self._tail.settle(self.draft, self._file)
        if change == "gone":
            if not self._records:
                raise Unreadable(f"{self._path}: no such file")
            changed = self.draft.notice != "file gone"
            self.draft.notice = "file gone"
            return changed
        if change == "replaced":
            self._file.rewind()
            self._fresh("file replaced, read again")
        elif self.draft.notice == "file gone":
            self.draft.notice = None
        for record in self._file.records():
            self._record(record)
        draft = self.draft
        draft.changed_at = self._file.changed_at
        self._tail.settle(draft, self._file)
        if not self._records:
            raise NotYet(f"{self._path}: empty")
        self._tell_unknown()
        return True

    def _tell_unknown(self) -> None:
        draft = self.draft
        names = ", ".join(f"{name[1:]} x{count}" for name, count in draft.counts.items() if name.startswith("?"))
        text = f"{self._records} records, {self._records - self._unknown} understood, {self._unknown} unknown: {names}"
        if self._unknown == self._records:
            raise Unreadable(f"{self._path}: format not recognised: {text}")
        if self._summary is not None and self._summary in draft.problems:
            draft.problems.remove(self._summary)
        if self._unknown:
            self._summary = Problem("file", text)
            draft.problems.insert(0, self._summary)

    def _record(self, record: Record) -> None:
        found, trouble = records_in(record.data)
        where = f"line {record.line}"
        self.draft.see(record.data, where)
        if trouble:
            self.draft.problem(where, trouble)
        for start, data in found:
            try:
                self._take(record, start, entry_of(data), len(data))
            except ValueError as error:
                whole = rescued(data)
                self.draft.problem(where, f"{len(whole)} records in a damaged line" if whole else f"not JSON: {error}")
                for offset, part in whole:
                    try:
                        self._take(record, start + offset, entry_of(part), len(part))
                    except ValueError as reason:
                        self.draft.problem(where, f"not JSON: {reason}")

    def _take(self, record: Record, start: int, entry: Entry, length: int) -> None:
        place = Place(str(self._path), record.offset + start, length, record.line)
        self._records += 1
        name, known = str(entry.kind)[:60], entry.kind in TYPES
        payload = entry.payload
        draft = self.draft
        if entry.kind == "thread.started" and isinstance(payload.get("thread_id"), str):
            draft.id = payload["thread_id"]
        elif entry.kind == "turn.started":
            self._open, draft.finished, draft.ended_as = False, False, None
        elif entry.kind in ("turn.completed", "turn.failed"):
            self._open, draft.finished = False, True
            draft.ended_as = "completed" if entry.kind == "turn.completed" else "failed"
        elif known and entry.kind is not None and entry.kind.startswith("item."):
            item = payload.get("item")
            if not isinstance(item, Mapping):
                draft.problem(f"line {record.line}", "an item event without an item")
            elif not self._item(item, entry.kind, place):
                known, name = False, f"{entry.kind} {item_type(item)[:60]}"
        if entry.kind in ("error", "turn.failed"):
            error = payload.get("error")
            message = error.get("message") if isinstance(error, Mapping) else payload.get("message")
            draft.problem(f"line {record.line}", f"the agent reports an error: {str(message or 'without words')[:300]}")
        if not known:
            self._unknown += 1
            name = f"?{name}"
        draft.counts[name] = draft.counts.get(name, 0) + 1

    def _item(self, item: Mapping[str, object], kind: str, place: Place) -> bool:
        content = item_content(item)
        if content is None:
            return False
        if content.sort == "todo":
            self._todo(item.get("items"))
        elif content.sort == "tool":
            self._tool(content.parts, content.ident, place, done=kind == "item.completed")
        elif kind == "item.completed" and content.parts and content.sort in ("assistant", "plan"):
            self._reply(content.parts[0], place)
        return True

    def _reply(self, part: Part, place: Place, call: Call | None = None) -> None:
        lane = self.draft.main
        if not self._open:
            lane.close()
            self._open = True
        lane.reply(piece_of(part, place.where()), call)

    def _tool(self, parts: list[Part], ident: str | None, place: Place, *, done: bool) -> None:
        part = parts[0]
        if ident is None or ident not in self._calls:
            call = Call(part.tool or "?", part.arguments or "", ident)
            self._reply(part, place, call)
            if ident is not None:
                self._calls[ident] = call
        if done and len(parts) > 1:
            self._open = False
            self.draft.main.answer(piece_of(parts[1], place.where(1)), failed=parts[1].failed)

    def _todo(self, items: object) -> None:
        lane = self.draft.main
        found = [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []
        lane.fields = tuple(
            Field(f"plan[{index}]", str(item["text"]), self.draft.count(str(item["text"])), None, None, None,
                  item.get("completed") is True)
            for index, item in enumerate(found) if isinstance(item.get("text"), str)
        )  # fmt: skip
