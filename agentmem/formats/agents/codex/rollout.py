"""Follows one rollout: its own file, those in which its thread goes on, those of the threads that it spawned, and its
compressed copy if the plain file gives way to it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from pathlib import Path

from agentmem.formats.agents.codex.finding import (
    head_of,
    last_segment,
    looked_through,
    other_shape,
    rollout_of,
    segments_mark,
    thread_file,
)
from agentmem.formats.agents.codex.packed import PackedFile
from agentmem.formats.agents.codex.records.events import event_content
from agentmem.formats.agents.codex.records.items import PARTS, SUMMARY, item_parts
from agentmem.formats.agents.codex.records.lines import Entry, Place, entry_of, records_in, rescued
from agentmem.formats.agents.codex.thread import Thread
from agentmem.formats.draft import RunDraft
from agentmem.formats.reader import Options
from agentmem.formats.shared.standing import stand
from agentmem.formats.source import AppendFile, NotYet, Record, Unreadable, given_slice, slice_of
from agentmem.model import Boundary, Problem, Where
from agentmem.tokens import counter

QUIET_SECONDS = 5.0
"""Half a line that did not grow for so long is damage."""
_DEEPEST = 200


class _Followed:
    """One file with its thread."""

    def __init__(self, path: Path, thread: Thread) -> None:
        self.path = path
        self.thread = thread
        self.file: AppendFile | PackedFile = PackedFile(path) if path.name.endswith(".zst") else AppendFile(path)
        self.source = self.file.source if isinstance(self.file, PackedFile) else str(path)
        self.last = b""


class RolloutReader:
    """Follows one rollout. `draft` is made anew when its past changed."""

    def __init__(self, path: Path, options: Options) -> None:
        self._path = last_segment(path)
        self._segments = segments_mark(self._path)
        self._options = options
        self._fresh(None)

    def _fresh(self, notice: str | None) -> None:
        name = self._path.name.removesuffix(".zst").removesuffix(".jsonl")
        draft = self.draft = RunDraft(
            str(self._path), "codex", name, counter(self._options.counter), self._options.counter
        )
        draft.agent = "codex"
        draft.notice = notice
        self._main = _Followed(self._path, Thread(draft, draft.main))
        self._children: dict[str, _Followed] = {}
        self._missed: dict[str, tuple[tuple[str, int], ...]] = {}
        """Children whose file was not found, with what was looked through."""
        self._records = self._understood = 0
        self._summary: Problem | None = None
        self._tail: Problem | None = None
        self._bases: dict[str, PackedFile] = {}
        self._baseless = False

    def watched(self) -> Iterable[Path]:
        return {self._path.parent, *(child.path.parent for child in self._children.values())}

    # -- texts ----------------------------------------------------------------------------------------------------

    def extract(self, raw: bytes, part: int) -> str | None:
        return extract(raw, part)

    def rows(self, where: Where) -> bytes | None:
        """Bytes of a record in a compressed file."""
        for followed in (self._main, *self._children.values()):
            if followed.source == where.source and isinstance(followed.file, PackedFile):
                try:
                    return followed.file.read(where.offset, where.length)
                except (Unreadable, OSError):
                    return None
        base = self._bases.get(where.source)
        return base.read(where.offset, where.length) if base is not None else None

    # -- following ------------------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        mark = segments_mark(self._path)
        if mark != self._segments:
            self._segments = mark
            further = last_segment(self._path)
            if further != self._path:
                self._path = further
                self._fresh("the thread goes on in another file, read on there")
        change = self._main.file.change()
        if change == "gone":
            return self._gone()
        notice = self.draft.notice
        if change == "replaced" or any(child.file.change() == "replaced" for child in self._children.values()):
            self._fresh("file replaced, read again")
            change = "grown"
        changed = False
        if change == "grown":
            self._read(self._main)
            changed = True
        changed |= self._read_children()
        if not changed and self._understood:
            return self._went_quiet()
        if notice in ("file gone", "being written") and self.draft.notice == notice:
            self.draft.notice = None
        self._finish()
        return True

    def _gone(self) -> bool:
        other = other_shape(self._path)
        if other.is_file():
            self._path = other
            shape = "its compressed copy" if other.name.endswith(".zst") else "the plain file"
            self._fresh(f"{shape} took its place, read again")
            return self.refresh()
        if not self._records:
            raise Unreadable(f"{self._path}: no such file")
        changed = self.draft.notice != "file gone"
        self.draft.notice = "file gone"
        return changed

    def _read(self, followed: _Followed) -> None:
        for _ in range(3):
            for record in followed.file.records():
                self._record(followed, record)
                if followed.thread.told.restart:
                    break
            if not followed.thread.told.restart:
                break
            # What was taken from events is told by items after all: the whole is read again without them.
            self._fresh(self.draft.notice)
            followed = self._main
        given = given_slice()
        if given is None or followed.file.path not in given.behind:  # else it goes on behind what was read
            followed.thread.told.flush(self._quiet(followed))
        if isinstance(followed.file, PackedFile) and followed.file.trouble:
            self.draft.problem(followed.path.name, followed.file.trouble)

    def _quiet(self, followed: _Followed) -> bool:
        at = followed.file.changed_at
        return at is not None and time.time() - at > QUIET_SECONDS

    def _record(self, followed: _Followed, record: Record) -> None:
        followed.thread.draft.see(record.data, f"{followed.source}: line {record.line}")
        again = record.data == followed.last and b'"timestamp"' in record.data[:40]
        found, trouble = ([], "the record before it once more, left out") if again else records_in(record.data)
        followed.last = record.data
        if trouble:
            self._damaged(followed, record, trouble)
        for start, data in found:
            try:
                self._take(followed, record, start, entry_of(data), len(data))
            except ValueError as error:
                self._rescue(followed, record, start, data, error)

    def _rescue(self, followed: _Followed, record: Record, start: int, data: bytes, error: ValueError) -> None:
        whole = rescued(data)
        text = str(error) if str(error).startswith("not an object") else f"not JSON: {error}"
        if whole:
            text = f"{len(whole)} record{'s' * (len(whole) != 1)} found in a damaged line"
        self._damaged(followed, record, text)
        for offset, part in whole:
            try:
                self._take(followed, record, start + offset, entry_of(part), len(part))
            except ValueError as reason:
                self._damaged(followed, record, str(reason))

    def _damaged(self, followed: _Followed, record: Record, what: str) -> None:
        where = f"line {record.line}"
        if followed is not self._main:
            where = f"{followed.path.name}, {where}"
        self.draft.problem(where, what)

    def _take(self, followed: _Followed, record: Record, start: int, entry: Entry, length: int) -> None:
        place = Place(followed.source, record.offset + start, length, record.line)
        self._records += 1
        fresh = followed.thread.ident is None
        known = followed.thread.take(entry, place)
        if fresh and followed.thread.base is not None:
            self._inherit(followed)
        name = entry.sub if entry.kind in ("event_msg", "response_item") and entry.sub else entry.kind or "no type"
        counts = self.draft.counts
        if known:
            self._understood += 1
        else:
            name, followed.last = f"?{name[:60]}", b""
        counts[name] = counts.get(name, 0) + 1

    def _finish(self) -> None:
        draft = self.draft
        if not self._records:
            if not draft.problems:
                raise NotYet(f"{self._path}: empty")
            first = draft.problems[0]
            raise Unreadable(f"{self._path}: no record can be read; {first.where}: {first.what}")
        unknown = ", ".join(f"{name[1:]} x{count}" for name, count in draft.counts.items() if name.startswith("?"))
        missed = self._records - self._understood
        text = f"{self._records} records, {self._understood} understood, {missed} unknown: {unknown}"
        if not self._understood:
            raise Unreadable(f"{self._path}: format not recognised: {text}")
        if self._summary is not None and self._summary in draft.problems:
            draft.problems.remove(self._summary)
            self._summary = None
        if missed:
            self._summary = Problem("file", text)
            draft.problems.insert(0, self._summary)
        draft.unknown = ("tool schemas",) if self._main.thread.system_known else ("system prompt", "tool schemas")
        if self._baseless:
            draft.unknown = (*draft.unknown, "the history it was forked with")
        times = [f.file.changed_at for f in (self._main, *self._children.values()) if f.file.changed_at is not None]
        draft.changed_at = max(times) if times else None
        self._tell_tail()

    def _tell_tail(self) -> None:
        """Half a line at the end: being written, or damage when nothing came for a while."""
        draft, torn = self.draft, self._main.file.torn
        if self._tail is not None and self._tail in draft.problems:
            draft.problems.remove(self._tail)
        self._tail = None
        if torn and self._quiet(self._main):
            self._tail = Problem("last line", f"{torn:,} bytes that are no whole record")
            draft.problems.append(self._tail)
        if torn and self._tail is None:
            draft.notice = draft.notice or "being written"
        elif draft.notice == "being written":
            draft.notice = None

    def _went_quiet(self) -> bool:
        if not self._quiet(self._main):
            return False
        changed = self._main.thread.told.flush(True)
        if self._main.file.torn and self._tail is None:
            self._tell_tail()
            changed = True
        return changed

    # -- histories that stand elsewhere ---------------------------------------------------------------------------

    def _inherit(self, followed: _Followed) -> None:
        """Take in what stands before the file: the history that its thread was forked with, then the earlier files of
        the thread itself, whose calls are its own."""
        thread = followed.thread
        chain: list[tuple[Path, int | None, int | None]] = []
        own, parent = 0, ""
        base = thread.base
        while base is not None and len(chain) < _DEEPEST:
            name, end, ordinal = base
            parent = name if own == len(chain) else parent
            path = rollout_of(followed.path, name)
            if path is None or path in [each[0] for each in chain] or path == followed.path:
                self.draft.problem("line 1", f"its history stands in the rollout of {name:.60}, which is not here")
                if followed is self._main:
                    self._baseless = self.draft.goal_unknown = True
                    self.draft.provenance = "partial"
                break
            chain.append((path, end, ordinal))
            ident, base = head_of(path)
            if ident == thread.ident and own == len(chain) - 1:
                own = len(chain)
        if own < len(chain) or not chain:
            thread.inherit(parent)
            for path, end, ordinal in reversed(chain[own:]):
                self._history(thread, path, end, ordinal)
            thread.inherited()
        for path, end, ordinal in reversed(chain[:own]):
            self._segment(thread, path, end, ordinal)

    def _history(self, thread: Thread, path: Path, end: int | None, ordinal: int | None) -> None:
        before = self._before(thread, path)
        for record in self._whole(before):
            if end is not None and record.offset >= end:
                return
            for start, data in records_in(record.data)[0]:
                try:
                    entry = entry_of(data)
                    if end is None and ordinal is not None and (entry.ordinal or 0) >= ordinal:
                        return
                    thread.take(entry, Place(before.source, record.offset + start, len(data), record.line))
                except ValueError as error:
                    self.draft.problem(f"{path.name}, line {record.line}", f"not JSON: {error}")

    def _segment(self, thread: Thread, path: Path, end: int | None, ordinal: int | None) -> None:
        """An earlier file of the same thread. What stands behind the place from which the next one goes on was taken
        back: it is shown, and leaves the prompt."""
        segment = self._before(thread, path)
        cut = None
        behind = 0
        for record in self._whole(segment):
            if cut is None and _behind(record, end, ordinal):
                cut = (list(thread.lane.tape.live), thread.held.state())
            behind += cut is not None
            self._record(segment, record)
            if thread.told.restart:
                return
        thread.told.turn_over()
        if cut is None:
            return
        thread.response.end(forget=True)
        thread.response.interrupt()
        live, state = cut
        if stand(thread.lane, live):
            thread.held.restore(state, set(live))
            thread.lane.fields = thread.held.fields
            why = f"the thread went back: {behind} records of {path.name} were taken back"
            thread.lane.boundary = Boundary("rewind", True, None, None, why)

    def _before(self, thread: Thread, path: Path) -> _Followed:
        """A file that stands before the one that is followed."""
        before = _Followed(path, thread)
        if isinstance(before.file, PackedFile):
            self._bases[before.source] = before.file
        return before

    def _whole(self, followed: _Followed) -> Iterable[Record]:
        """All its records: what comes behind them cannot be read without them, however long that takes."""
        with slice_of(math.inf):
            yield from followed.file.records()

    # -- children -------------------------------------------------------------------------------------------------

    def _read_children(self) -> bool:
        changed = False
        pending = [self._main, *self._children.values()]
        for followed in pending:
            if followed is not self._main and followed.file.change() == "grown":
                draft = self.draft
                self._read(followed)
                if self.draft is not draft:
                    return self._read_children() or True
                changed = True
            for ident, (name, n) in followed.thread.spawned.items():
                if ident in self._children or ident == self._main.thread.ident or len(self._children) >= _DEEPEST:
                    continue
                days = looked_through(followed.path)
                if self._missed.get(ident) == days:
                    continue
                path = thread_file(followed.path, ident)
                if path is None:
                    self._missed[ident] = days
                    continue
                lane = self.draft.lane(ident, "subagent", spawned_by=(followed.thread.lane.id, n), name=name)
                child = self._children[ident] = _Followed(last_segment(path), Thread(self.draft, lane, main=False))
                pending.append(child)
        return changed


def _behind(record: Record, end: int | None, ordinal: int | None) -> bool:
    """Whether a record stands behind a place that is given by its byte, or by the number of the record."""
    if end is not None or ordinal is None:
        return end is not None and record.offset >= end
    for _, data in records_in(record.data)[0]:
        try:
            return (entry_of(data).ordinal or 0) >= ordinal
        except ValueError:
            continue  # told when it is taken in
    return False


def extract(raw: bytes, part: int) -> str | None:
    """Whole text of a part of the record of these bytes; None if it is no longer there."""
    try:
        entry = entry_of(raw)
        payload = entry.payload
    except ValueError:
        return None
    if entry.kind == "session_meta" or "instructions" in payload and entry.kind is None:
        given = payload.get("base_instructions", payload.get("instructions"))
        text = given.get("text") if isinstance(given, dict) else given
        return text if isinstance(text, str) else None
    item = payload
    if entry.kind == "history_mutation":
        index, part = divmod(part, PARTS)
        items = payload.get("items")
        item = items[index] if isinstance(items, list) and index < len(items) else {}
    if entry.kind == "compacted":
        index, part = divmod(part, PARTS)
        if index == SUMMARY:
            return payload["message"] if isinstance(payload.get("message"), str) else None
        items = payload.get("replacement_history")
        item = items[index] if isinstance(items, list) and index < len(items) else {}
    if entry.kind == "event_msg":
        content = event_content(payload, entry.sub)
        parts = content.parts if content is not None else []
    else:
        parts = item_parts(item) if isinstance(item, dict) else []
    return parts[part].text if part < len(parts) else None
