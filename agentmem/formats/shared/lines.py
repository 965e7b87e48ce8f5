"""What readers of append files of JSON lines share: following, damage, and the count of what was understood.

A line that holds several values, or half a value in front of a whole one (a writer that was killed and went on), gives
the values that are whole, and a problem that says so.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from agentmem.formats.draft import RunDraft
from agentmem.formats.loose import decode
from agentmem.formats.reader import Options
from agentmem.formats.source import AppendFile, Record, Unreadable
from agentmem.model import Problem, Where
from agentmem.pattern import pattern
from agentmem.tokens import counter

BEING_WRITTEN = "being written"
QUIET_SECONDS = 5.0
"""A torn last line is damage, not writing, when the file has not changed for so long."""
_TRIES = 64
_GLUED_LIMIT = 16_000_000
_SPACE = b"\0 \t\r\n"
_BEGINNING = pattern(rb'\{\s*"[^"\\]+"')
_DECODER = json.JSONDecoder(strict=False)
_NAMES = ("id", "uuid", "timestamp", "ts", "at", "time", "created_at")


def values(record: Record, starts: tuple[bytes, ...]) -> Iterator[tuple[Any, Record] | str]:
    """Whole JSON values of one line, each with the record of its own bytes; a text says what is wrong with the rest.

    `starts` are the bytes with which a record of the format begins: behind half a value the search goes on there.
    """
    data = record.data
    if b"\0" in data:
        kept = data.replace(b"\0", b"")
        if not kept.strip():
            yield f"{len(data)} NUL bytes"
            return
        if data.strip(_SPACE).count(b"\0"):
            yield f"{data.count(0)} NUL bytes inside"
        elif data[:1] == b"\0":
            yield f"{len(data) - len(data.lstrip(_SPACE))} NUL bytes before the record"
    body = data.removeprefix(b"\xef\xbb\xbf").lstrip(_SPACE)
    at = record.offset + len(data) - len(body)
    body = body.rstrip(_SPACE)
    if not body:
        return
    whole = Record(body, at, record.line)
    try:
        yield decode(body), whole
        return
    except ValueError as error:
        why = str(error)
    if len(body) > _GLUED_LIMIT:
        yield f"not JSON: {why}"
        return
    yield from _parts(body, whole, why, starts)


def _parts(body: bytes, whole: Record, why: str, starts: tuple[bytes, ...]) -> Iterator[tuple[Any, Record] | str]:
    position = tries = 0
    found: list[tuple[Any, Record]] = []
    text = body.decode("latin-1")  # a character a byte: places in it are places in the line
    while position < len(body) and tries < _TRIES:
        end = _end_of_value(text, position)
        if end is not None:
            try:
                value = decode(body[position:end])
            except ValueError:
                end = None
            else:
                found.append((value, Record(body[position:end], whole.offset + position, whole.line)))
                while end < len(body) and body[end] in _SPACE:
                    end += 1
                position = end
                continue
        tries += 1
        places = [place for start in starts if (place := body.find(start, position + 1)) > 0]
        if not places:
            break
        position = min(places)
    if not found:
        yield f"not JSON: {why}"
    elif position < len(body):
        yield f"damaged: {len(found)} whole records and {len(body) - position} bytes that are none"
    else:
        yield f"{len(found)} records on one line" if tries == 0 else f"half a record, then {len(found)} whole"
    yield from found


def _end_of_value(text: str, position: int) -> int | None:
    """End of the JSON value that begins at `position`; None if there is no whole one."""
    try:
        return _DECODER.raw_decode(text, position)[1]
    except (ValueError, RecursionError):
        return None


class Tail:
    """What is said of a last line without its end: it is being written; once the file was quiet for long, damage."""

    def __init__(self) -> None:
        self._problem: Problem | None = None
        self.damaged = False
        """It is known to be damage, however lately the file changed."""

    def settle(self, draft: RunDraft, file: AppendFile) -> bool:
        """Say it in the draft. True if that is new."""
        torn = file.torn
        self.damaged = self.damaged and torn > 0
        quiet = torn and (self.damaged or time.time() - (file.changed_at or 0.0) > QUIET_SECONDS)
        before = (draft.notice, self._problem)
        if draft.notice in (None, BEING_WRITTEN):
            draft.notice = BEING_WRITTEN if torn and not quiet else None
        if self._problem is not None and not quiet:
            draft.problems.remove(self._problem)
            self._problem = None
        elif quiet and self._problem is None:
            self._problem = Problem(f"line {file.line + 1}", f"half a record at the end, {torn} bytes")
            draft.problems.append(self._problem)
        return before != (draft.notice, self._problem)


class LineReader:
    """Follows one append file. A format fills in `name`, `begin` and `take`."""

    name: ClassVar[str]
    starts: ClassVar[tuple[bytes, ...]] = ()
    """With what a record begins, for what stands behind half a record; none: as the first whole line does."""
    repeats: ClassVar[bool] = False
    """Whether writing a record again is how the format changes it."""

    draft: RunDraft

    def __init__(self, path: Path, options: Options) -> None:
        self._file = AppendFile(path)
        self.path = str(path)
        self.options = options
        self.damaged = False
        """The line before the one in hand could not be read whole."""
        self._restart(None)

    def _restart(self, notice: str | None) -> None:
        ident = Path(self.path).name.removesuffix(".jsonl")
        self.draft = RunDraft(self.path, self.name, ident, counter(self.options.counter), self.options.counter)
        self.draft.notice = notice
        self._summary: Problem | None = None
        self._tail = Tail()
        self._understood = self._unknown = 0
        self._last: Record | None = None
        self._learned: tuple[bytes, ...] = ()
        self.begin()

    def begin(self) -> None:
        """Called with a fresh draft: forget what was read."""
        raise NotImplementedError

    def take(self, value: dict[str, Any], record: Record) -> str | None:
        """Take in one record. Returns None, or the name of its type if that is not understood. Never raises."""
        raise NotImplementedError

    def watched(self) -> Iterable[Path]:
        return (Path(self.path).parent,)

    def where(self, record: Record, part: int = 0) -> Where:
        """The place of piece `part` of a record."""
        return Where(self.path, record.offset, len(record.data), part, None, record.line)

    def refresh(self) -> bool:
        """Read what is new. Raises Unreadable while there is nothing to show."""
        change = self._file.change()
        if change == "same":
            if not self._understood:
                self._sum_up()  # it still raises: there is nothing to show
            return self._tail.settle(self.draft, self._file)
        if change == "gone":
            if not self._understood:
                raise Unreadable(f"{self.path}: no such file")
            changed = self.draft.notice != "file gone"
            self.draft.notice = "file gone"
            return changed
        if change == "replaced":
            self._file.rewind()
            self._restart("file replaced, read again")
        elif self.draft.notice == "file gone":
            self.draft.notice = None
        for record in self._file.records():
            self._line(record)
        self.draft.changed_at = self._file.changed_at
        self._sum_up()
        self._tail.settle(self.draft, self._file)
        return True

    def read_again(self, notice: str) -> bool:
        """Read the file and those beside it once more, from the start: one of them was replaced. Returns True."""
        self._file.rewind()
        self._restart(notice)
        self.refresh()
        return True

    def _learn(self, record: Record) -> None:
        """Remember a whole line: what may be written twice, and with what records begin."""
        self._last = record
        if not self._learned:
            found = _BEGINNING.match(record.data)
            self._learned = (found.group(),) if found else ()

    def is_again(self, record: Record, value: Mapping[str, Any]) -> bool:
        """Whether a line is the line before it, byte for byte, of a record that has a name or a time of its own."""
        last = self._last
        if self.repeats or last is None or record.data != last.data or record.offset == last.offset:
            return False
        inner = (value, value.get("response"), value.get("message"))
        return any(isinstance(one, Mapping) and any(one.get(name) for name in _NAMES) for one in inner)

    def _line(self, record: Record) -> None:
        where = f"line {record.line}"
        self.draft.see(record.data, where)
        for item in values(record, self.starts or self._learned):
            if isinstance(item, str):
                self.damaged = True
                self.draft.problem(where, item)
                continue
            value, part = item
            if not isinstance(value, dict):
                self.draft.problem(where, f"no object but {_sort(value)}")
                self.damaged = True
                continue
            if self.is_again(part, value):
                self.draft.problem(where, "the record before it once more, left out")
                continue
            self._learn(part)
            unknown = self.take(value, part)
            self.damaged = False
            if unknown is None:
                self._understood += 1
            else:
                self._last = None  # what is not known may be meant to be there so often
                self._unknown += 1
                name = f"?{unknown}"
                self.draft.counts[name] = self.draft.counts.get(name, 0) + 1

    def beside(self, file: AppendFile, name: str) -> Iterator[tuple[dict[str, Any], Record]]:
        """Objects of the new records of another file of this run; what is damaged in it becomes a problem."""
        for record in file.records():
            where = f"{name} line {record.line}"
            self.draft.see(record.data, where)
            for item in values(record, self.starts):
                if isinstance(item, str):
                    self.draft.problem(where, item)
                elif isinstance(item[0], dict):
                    yield item

    def _sum_up(self) -> None:
        """One problem that sums up what was not understood. Raises Unreadable if nothing was."""
        total = self._understood + self._unknown
        if not self._unknown:
            return
        names = sorted(((n, name[1:]) for name, n in self.draft.counts.items() if name.startswith("?")), reverse=True)
        listed = ", ".join(f"{name:.60} x{n}" for n, name in names[:8])
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        if not self._understood:
            raise Unreadable(f"{self.path}: format not recognised: {total} records, none understood: {listed}{more}")
        problems = self.draft.problems
        if self._summary in problems:
            problems.remove(self._summary)
        what = f"{total} records, {self._understood} understood, {self._unknown} unknown: {listed}{more}"
        self._summary = Problem(self.draft.id, what)
        problems.append(self._summary)


def _sort(value: object) -> str:
    names = {list: "a list", str: "a text", type(None): "null", bool: "a truth value"}
    return names.get(type(value), "a number")
