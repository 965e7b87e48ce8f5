"""Trajectories of OpenHands V0: a JSON list of events, an evaluation's `output.jsonl`, or a session's events folder."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import xxhash

from agentmem.formats.agents.openhands.v0_events import parts_of
from agentmem.formats.agents.openhands.v0_fold import FoldV0
from agentmem.formats.draft import RunDraft
from agentmem.formats.loose import decode
from agentmem.formats.reader import Format, Options
from agentmem.formats.shared.lines import BEING_WRITTEN, QUIET_SECONDS
from agentmem.formats.shared.peek import status_of
from agentmem.formats.shared.whole import BARE, WholeFile, items_of
from agentmem.formats.source import AppendFile, NotYet, Record, SnapshotFile, Unreadable, read_at, slice_of
from agentmem.formats.versions import Item
from agentmem.model import Problem, RunInfo, Where
from agentmem.tokens import counter

_SPACE = b"\0 \t\r\n"
Found = tuple[bytes, Where]
Stamps = list[tuple[int, str, int, int]]


class TrajectoryReader:
    """Follows one trajectory: events that are new at the end are folded on, any other change is read again."""

    def __init__(self, path: Path, options: Options) -> None:
        self._path = path
        self._options = options
        self._file = WholeFile(str(path), ())
        self._odd: list[Problem] = []
        """What is wrong with the file now."""
        self._folder = path.is_dir()
        self._lines = not self._folder and _starts(path) == b"{"
        self._restart(None)

    def _restart(self, notice: str | None) -> None:
        name = self._options.run_id or self._path.name.removesuffix(".json")
        count = counter(self._options.counter)
        self.draft = RunDraft(str(self._path), "openhands-v0", name, count, self._options.counter)
        self.draft.notice = notice
        self._fold = FoldV0(self.draft)
        self._keys: list[int] = []
        self._said: list[Problem] = []
        """What was wrong with it at the last look."""
        self._torn = False
        self._seen: Stamps | None = None
        self._unknown = 0

    def watched(self) -> Iterable[Path]:
        return (self._path, self._path / "events") if self._folder else (self._path.parent,)

    def extract(self, raw: bytes, part: int) -> str | None:
        try:
            event = decode(raw)
        except ValueError:
            return None
        parts = parts_of(event) if isinstance(event, dict) else []
        return parts[part].text if part < len(parts) else None

    def refresh(self) -> bool:
        """Read what is new. Raises Unreadable, NotYet while there is nothing to show."""
        if not self._folder:
            change = self._file.change()
            if change == "same":
                return False
            if change == "gone":
                if not self._keys:
                    raise Unreadable(f"{self._path}: no such file")
                changed = self.draft.notice != "file gone"
                self.draft.notice = "file gone"
                return changed
        elif (stamps := self._stamps()) is not None and stamps == self._seen and not self._torn:
            return False
        else:
            self._seen = stamps
        self._torn = False
        try:
            events = list(self._events())
        except (NotYet, Unreadable) as error:
            self._file.forget()
            if not self._keys:
                raise
            before = self.draft.notice
            self.draft.notice = BEING_WRITTEN if isinstance(error, NotYet) else str(error).rpartition(": ")[2]
            return self.draft.notice != before
        keys = [xxhash.xxh3_64_intdigest(data) for data, _ in events]
        before = self.draft.notice
        if before in (None, BEING_WRITTEN, "file gone"):
            self.draft.notice = BEING_WRITTEN if self._torn else None
        if keys == self._keys and self._odd == self._said:
            return self.draft.notice != before
        if keys[: len(self._keys)] != self._keys:
            self._restart("history rewritten, read again")
        for place in range(len(self._keys), len(events)):
            self._take(*events[place], place)
        self._keys = keys
        problems = self.draft.problems
        problems[:] = [*(one for one in problems if one not in self._said), *self._odd]
        self._said = self._odd
        if not keys:
            raise NotYet(f"{self._path}: no events yet")
        self._sum_up()
        return True

    def _take(self, data: bytes, where: Where, place: int) -> None:
        label = f"event {place}"
        try:
            event = decode(data)
        except ValueError as error:
            self.draft.problem(label, f"not JSON: {error}")
            return
        if not isinstance(event, dict):
            self.draft.problem(label, "no object")
            return
        unknown = self._fold.take(
            event, lambda part: Where(where.source, where.offset, where.length, part, None, where.line), label
        )
        if unknown is not None:
            self._unknown += 1
            self.draft.counts[f"?{unknown}"] = self.draft.counts.get(f"?{unknown}", 0) + 1

    def _sum_up(self) -> None:
        total = len(self._keys)
        if not self._unknown:
            return
        names = {name[1:]: n for name, n in self.draft.counts.items() if name.startswith("?")}
        listed = ", ".join(f"{name:.60} x{n}" for name, n in sorted(names.items()))
        if self._unknown == total:
            raise Unreadable(f"{self._path}: format not recognised: {total} events, none understood: {listed}")
        self.draft.problems[:] = [one for one in self.draft.problems if one.where != self.draft.id]
        self.draft.problem(
            self.draft.id, f"{total} events, {total - self._unknown} understood, {self._unknown} unknown: {listed}"
        )

    # -- where events stand ---------------------------------------------------------------------------------------

    def _events(self) -> Iterator[Found]:
        if self._folder:
            yield from self._files()
            return
        if not self._lines:
            reading = self._file.read(salvage=not self._keys)
            self._torn = reading.cut
            self._odd = [Problem(where, what) for where, what in reading.odd()]
            self.draft.changed_at = self._file.changed_at
            for item in reading.records(BARE):
                yield from _flat(item)
            return
        file = AppendFile(self._path)
        with slice_of(math.inf):  # every look begins at the first line: one that stops before the run's never finds it
            found = next(filter(None, map(self._chosen, file.records())), None)
        if found is None:
            raise NotYet(f"{self._path}: no line of {self._options.run_id}")
        self.draft.changed_at = file.changed_at
        for item in items_of(*found, str(self._path)):
            yield from _flat(item)

    def _chosen(self, record: Record) -> tuple[bytes, int] | None:
        """(history, its place) if that line of an evaluation is of this run."""
        line = _line(record.data)
        if line is None or line[0] != (self._options.run_id or line[0]):
            return None
        return line[1], record.offset + record.data.find(line[1])

    def _stamps(self) -> Stamps | None:
        """The files of the events, in order of their numbers: (number, path, size, time of the last change in ns). None
        where the folder cannot be read."""
        found = []
        try:
            with os.scandir(self._path / "events") as entries:
                for entry in entries:
                    stem = entry.name.removesuffix(".json")
                    if stem.isdecimal() and len(stem) < 16 and entry.name.endswith(".json"):
                        status = entry.stat()
                        found.append((int(stem), entry.path, status.st_size, status.st_mtime_ns))
        except OSError:
            return None
        return sorted(found)

    def _files(self) -> Iterator[Found]:
        """Events of a session folder; a half-written newest one is left for later, until it is plain that nobody writes
        it."""
        found = self._seen
        if found is None:
            raise Unreadable(f"{self._path}: no events folder")
        for place, (_, name, _, at) in enumerate(found):
            file = SnapshotFile(name)
            try:
                data = file.read()
            except NotYet:
                data = b""
            if not _is_whole(data) and place == len(found) - 1 and time.time() - at / 1e9 < QUIET_SECONDS:
                self._torn = True
                return
            self.draft.changed_at = max(file.changed_at or 0.0, self.draft.changed_at or 0.0)
            yield data, Where(name, 0, len(data))


def _flat(item: Item) -> Iterator[Found]:
    """An event with its place; of very old histories the action and the observation of a pair."""
    if item.data[:1] == b"[":
        for inner in items_of(item.data, item.offset, item.source):
            yield from _flat(inner)
    else:
        yield item.data, Where(item.source, item.offset, item.length)


def _starts(path: Path) -> bytes:
    return read_at(path, 0, 64).removeprefix(b"\xef\xbb\xbf").lstrip(_SPACE)[:1]


def _is_whole(data: bytes) -> bool:
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


class _Line(msgspec.Struct):
    instance_id: msgspec.Raw = msgspec.Raw(b'""')
    history: msgspec.Raw = msgspec.Raw(b"")


def _line(data: bytes) -> tuple[str, bytes] | None:
    """(instance, bytes of its history) of a line of an evaluation."""
    try:
        line = msgspec.json.decode(data, type=_Line)
        ident = decode(bytes(line.instance_id))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    history = bytes(line.history)
    return (str(ident), history) if history.startswith(b"[") else None


def recognise(path: Path, head: bytes) -> bool:
    """A list of events with a source, a line of an evaluation with a history, or a session folder."""
    if not head:
        return path.is_dir() and (path / "events" / "0.json").is_file()
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(_SPACE)
    if text.startswith(b"["):
        start = text[:4096]
        told = b'"action"' in start or b'"observation"' in start
        return told and b'"source"' in start and b'"id"' in start and b'"timestamp"' in start
    return text.startswith(b'{"instance_id"') and (b'"history"' in text or b'"test_result"' in text[:4096])


def runs(path: Path) -> Iterable[RunInfo]:
    """One run, or one a line of an evaluation. Raises Unreadable."""
    at = path.stat().st_mtime
    if path.is_dir():
        yield RunInfo(path.name, str(path), "openhands-v0", at, status_of(at), agent="OpenHands")
        return
    if _starts(path) != b"{":
        yield RunInfo(path.name.removesuffix(".json"), str(path), "openhands-v0", at, status_of(at), agent="OpenHands")
        return
    for record in AppendFile(path).records():
        line = _line(record.data)
        if line is not None:
            yield RunInfo(line[0], str(path), "openhands-v0", at, "ended", agent="OpenHands")


FORMAT = Format("openhands-v0", "trajectories of OpenHands V0", recognise, TrajectoryReader, runs=runs)
