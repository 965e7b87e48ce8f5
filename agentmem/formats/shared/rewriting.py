"""What readers of files written whole share: look again, keep the last good value, go on from the common beginning."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from msgspec import structs

from agentmem.formats.draft import Call, LaneDraft, RunDraft
from agentmem.formats.loose import decode
from agentmem.formats.messages import Message, Part
from agentmem.formats.reader import Options
from agentmem.formats.shared.whole import Reading, WholeFile
from agentmem.formats.source import NotYet, Patience, Unreadable
from agentmem.formats.versions import Item
from agentmem.model import Kind, Problem, Where
from agentmem.tape import Piece
from agentmem.tokens import counter

WHOLE = 4095
"""Ordinal of a piece that is a whole member of the file's object."""


class WholeReader:
    """Follows one such file. A subclass feeds records (`_feed`), reads what stands beside them (`_rest`), and splits a
    record for `extract`. Records that were seen before are not fed again; a past that was rewritten is read anew."""

    NAME: ClassVar[str]
    LISTS: ClassVar[tuple[str, ...]]
    MEMBERS: ClassVar[tuple[str, ...]] = ()
    """Other members of the object in which pieces stand (a system prompt)."""

    def __init__(self, path: Path, options: Options) -> None:
        self._path = str(path)
        self._options = options
        self._file = WholeFile(self._path, self.LISTS)
        self._keys: list[int] = []
        self._spots: list[tuple[int, int]] = []
        self._cut = False
        self._seen = False
        self._patience = Patience()
        self._summed: Problem | None = None
        self._started = False
        self.draft = self._begin(None)

    # -- for subclasses -------------------------------------------------------------------------------------------

    def _begin(self, notice: str | None) -> RunDraft:
        """A fresh draft; subclasses set up what they need beside it in `_fresh`."""
        self.draft = RunDraft(
            self._path, self.NAME, self._ident(), counter(self._options.counter), self._options.counter
        )
        self.draft.notice = notice
        self._keys, self._spots, self._summed, self._started = [], [], None, False
        self._fresh()
        return self.draft

    def _ident(self) -> str:
        return Path(self._path).name.removesuffix(".json").removesuffix(".traj")

    def _fresh(self) -> None:
        """Forget everything of the run."""

    def _before(self, reading: Reading) -> None:
        """Told of a reading before its records are fed."""

    def _start(self, reading: Reading) -> None:
        """Told once of the first reading of a draft, before its first record."""

    def _records(self, reading: Reading) -> list[Item]:
        """The list whose records are fed."""
        return reading.records(*self.LISTS)

    def _feed(self, index: int, item: Item) -> None:
        """Take in one record that was not seen before."""
        raise NotImplementedError

    def _rest(self, reading: Reading) -> None:
        """What stands beside the records, after they were fed."""

    def _beside(self) -> bool:
        """Whether a file beside this one changed, so that this one must be looked at again."""
        return False

    def _stale(self) -> bool:
        """Whether what was fed before must be fed again (something beside it changed)."""
        return False

    # -- the reader -----------------------------------------------------------------------------------------------

    def watched(self) -> Iterable[Path]:
        return (Path(self._path).parent,)

    def refresh(self) -> bool:
        change, beside = self._file.change(), self._beside()
        if change == "same" and not beside:
            return False
        try:
            if change == "gone":
                raise Unreadable(f"{self._path}: no such file")
            reading = self._file.read(salvage=self._cut or not self._seen)
        except (NotYet, Unreadable) as error:
            if not self._seen or not self._patience.over:
                self._file.forget()
            if not self._seen:
                raise
            notice = str(error).removeprefix(f"{self._path}: ")
            if change != "gone":
                notice = self._patience.notice(error, self._path, self._last())
            changed = self.draft.notice != notice
            self.draft.notice = notice
            return changed
        self._take(reading)
        return True

    def _last(self) -> int | None:
        """Number of the last step that was read."""
        steps = self.draft.main.steps
        return (steps[-1].own or steps[-1].n) if steps else None

    def _take(self, reading: Reading) -> None:
        self._patience.readable()
        self._before(reading)
        items = self._records(reading)
        keys = [item.key for item in items]
        known = len(self._keys)
        if self._cut and reading.cut and len(keys) < known:
            return
        # What stands before the records may come with the first of them: until then the start is made anew.
        if self._started and (known == 0 or keys[:known] != self._keys or self._cut or self._stale()):
            rewritten = not self._cut and known > 0 and keys[: known - 1] != self._keys[:-1]
            self._begin("history rewritten, read again" if rewritten else None)
            self._before(reading)
            items = self._records(reading)
            known = 0
        else:
            self.draft.notice = None
            self._relocate(self._spots_of(reading, items[:known]))
        self._cut, self._seen = reading.cut, True
        if not self._started:
            self._started = True
            self._start(reading)
        for index in range(known, len(items)):
            self._feed(index, items[index])
        self._keys, self._spots = keys, self._spots_of(reading, items)
        self.draft.changed_at = self._file.changed_at
        self._rest(reading)
        if reading.cut:
            self.draft.notice = "being written"
        if reading.cut or known == 0:
            for where, what in reading.odd():
                self.draft.problem(where, what)
        self._sum_up(len(items))

    def _relocate(self, spots: list[tuple[int, int]]) -> None:
        """What was fed stands elsewhere in the file now."""
        shifts = [new[0] - old[0] for old, new in zip(self._spots, spots, strict=False)]
        if not any(shifts):
            return
        order = sorted((old, length, shift) for (old, length), shift in zip(self._spots, shifts, strict=False))
        starts = [start for start, _, _ in order]
        for lane in self.draft.lanes.values():
            for ident in range(len(lane.tape)):
                where = lane.tape.segment(ident).where
                if where is None or where.source != self._path:
                    continue
                at = bisect_right(starts, where.offset) - 1
                if at >= 0 and order[at][2] and where.offset < order[at][0] + order[at][1]:
                    lane.tape.relocate(ident, structs.replace(where, offset=where.offset + order[at][2]))

    def _spots_of(self, reading: Reading, items: list[Item]) -> list[tuple[int, int]]:
        """Places of what pieces may stand in: the members named in `MEMBERS`, and the records."""
        members = [reading.places.get(name, (0, 0)) for name in self.MEMBERS]
        return [*members, *((item.offset, item.length) for item in items)]

    def _sum_up(self, records: int) -> None:
        """One line about records of kinds that are not known."""
        draft = self.draft
        unknown = {name[1:]: count for name, count in draft.counts.items() if name.startswith("?")}
        if self._summed is not None and self._summed in draft.problems:
            draft.problems.remove(self._summed)
        self._summed = None
        if unknown:
            odd = sum(unknown.values())
            named = ", ".join(f"{name:.40} x{count}" for name, count in sorted(unknown.items()))
            what = f"{records} records, {max(0, records - odd)} understood, {odd} unknown: {named}"
            self._summed = Problem(self._path, what)
            draft.problems.append(self._summed)

    # -- pieces ---------------------------------------------------------------------------------------------------

    def _member(self, reading: Reading, name: str, kind: Kind, text: str) -> Piece:
        """A piece that is a member of the object."""
        place = reading.places.get(name)
        where = None if place is None else Where(self._path, *place, WHOLE)
        return Piece(kind, text, where)

    def _object(self, item: Item, index: int, what: str = "record") -> dict[str, Any] | None:
        """The record; None, with a problem, where it is no object. `what` it is called, before its number."""
        self.draft.see(item.data, f"{what} {index + 1}", f"{what}s")
        try:
            value = decode(item.data)
        except ValueError as error:
            self.draft.problem(f"{what} {index + 1}", f"unreadable: {error}")
            return None
        if not isinstance(value, dict):
            self.draft.problem(f"{what} {index + 1}", f"no object but {type(value).__name__}")
            return None
        return value

    def _count(self, name: object) -> None:
        key = str(name)
        self.draft.counts[key] = self.draft.counts.get(key, 0) + 1


class Beside:
    """Files beside the main one, read when they changed."""

    def __init__(self) -> None:
        self._marks: dict[str, tuple[int, int, int] | None] = {}

    def changed(self) -> bool:
        """Whether one of the files read (or missed) before is another now."""
        return any(_mark(path) != mark for path, mark in self._marks.items())

    def look(self, path: Path) -> bool:
        """Remember that file as it is now; whether it is there."""
        self._marks[str(path)] = mark = _mark(str(path))
        return mark is not None

    def read(self, path: Path, lists: tuple[str, ...], *, salvage: bool = True) -> Reading:
        """Raises Unreadable, NotYet."""
        self.look(path)
        return WholeFile(str(path), lists).read(salvage=salvage)

    def read_for(self, draft: RunDraft, path: Path, lists: tuple[str, ...]) -> Reading:
        """As `read`; what is wrong with the file is a problem of the run."""
        reading = self.read(path, lists)
        for where, what in reading.odd():
            draft.problem(f"{path.name}, {where}", what)
        return reading


def _mark(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def where_of(item: Item, part: int, span: tuple[int, int] | None = None) -> Where:
    """Place of one part of a record."""
    return Where(item.source, item.offset, item.length, item.base + part, span, item.line)


def piece_of(item: Item, number: int, part: Part) -> Piece:
    """The piece of one part of a record."""
    return Piece(part.kind, part.text, where_of(item, number), part.call_id, None, part.tool, part.tokens)


def keep_only(lane: LaneDraft, ids: Iterable[int]) -> None:
    """Take everything out of the list but these pieces."""
    kept = set(ids)
    live = lane.tape.live
    end = len(live)
    while end > 0:
        start = end
        while start > 0 and live[start - 1] not in kept:
            start -= 1
        if start < end:
            lane.splice(start, end - start)
        end = start - 1


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def inner(value: object, name: str) -> Mapping[str, Any]:
    """A member that is an object, else an empty one."""
    return mapping(mapping(value).get(name))


def decoded(item: Item) -> Mapping[str, Any]:
    """The record as an object; empty if it is none."""
    try:
        return mapping(decode(item.data))
    except ValueError:
        return {}


def changed_at(path: Path) -> float:
    """When a file changed, seconds since the epoch; 0.0 if it is gone."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def newest(paths: Iterable[Path]) -> list[Path]:
    """Regular files of these, newest change first."""
    return sorted((path for path in paths if path.is_file()), key=changed_at, reverse=True)


def call_of(part: Part) -> Call | None:
    """The call that a part makes."""
    if part.kind != "call" or part.tool is None:
        return None
    return Call(part.tool, part.arguments or "", part.call_id)


def say(lane: LaneDraft, item: Item, message: Message, *, stays: bool = True) -> None:
    """An answer of the model: its pieces are replies of the last step."""
    for number, part in enumerate(message.parts):
        lane.reply(piece_of(item, number, part), call_of(part), stays=stays)


def hear(lane: LaneDraft, item: Item, message: Message, *, at: float | None = None) -> None:
    """What comes to the model: results answer their calls, the rest stands in the prompt."""
    for number, part in enumerate(message.parts):
        piece = piece_of(item, number, part)
        if part.kind in ("result", "error"):
            lane.answer(piece, failed=part.failed, at=at)
        else:
            lane.append(piece)
