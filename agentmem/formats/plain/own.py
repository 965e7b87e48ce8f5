"""Our own checkpoints: `runs/{id}.steps.jsonl` beside `runs/{id}.json`, read line by line from the ledger."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentmem.checkpoint import durable, names
from agentmem.checkpoint.files import Paths
from agentmem.checkpoint.files.calls import held
from agentmem.checkpoint.ledger_line import Call, DamagedLine, Line, NewerLine, check, decode, half
from agentmem.checkpoint.replay import read_checkpoint
from agentmem.checkpoint.store import CheckpointError
from agentmem.formats.draft import RunDraft
from agentmem.formats.plain.envelope import NEW_RUN, integer
from agentmem.formats.reader import Format, Options
from agentmem.formats.shared.lines import Tail, values
from agentmem.formats.shared.peek import line_info, members
from agentmem.formats.source import AppendFile, Record, Unreadable, given_slice, read_at
from agentmem.formats.stores.begun import begun, last_at, same
from agentmem.formats.stores.lines import OwnLines
from agentmem.formats.stores.place import Place, extract, line_of
from agentmem.formats.usage import amount
from agentmem.model import Problem, RunInfo, Where
from agentmem.pattern import pattern
from agentmem.tokens import counter

SUFFIX = ".steps.jsonl"
_ROW = ("run", "status", "step", "goal", "model", "window")
_STARTS = (b'{"v":',)
_MARKS = (b'"schema":', b'"agentmem.checkpoint/', b'"seq":', b'"lane":')
"""What stands in the head of a checkpoint of ours; one of them may be damaged."""
_HEAD = 4096
_SEQ = pattern(rb'"seq":(\d{1,18})\b')
_REST_SECONDS = 2.0
"""A checkpoint that has not been replaced for so long is read whole and checked; not at each save of a busy run."""


class OwnReader:
    """Follows one run of our own writer."""

    def __init__(self, path: Path, options: Options) -> None:
        name = path.name
        base = name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else name.removesuffix(".json")
        self._ledger = path.with_name(base + SUFFIX)
        self._shown = str(path.with_name(base + ".json"))
        self._base = base
        self._options = options
        self._file = AppendFile(self._ledger)
        self._paths = Paths.of(path.with_name(base + ".json"))
        self._calls: list[Call] = []
        self._calls_seen: tuple[int, int, int] | None = None
        """(inode, size, time in ns) of the file of calls as it was read; None: there was none."""
        self._fresh(None)

    def _fresh(self, notice: str | None) -> None:
        self.draft = RunDraft(
            self._shown, "agentmem", names.run_id(self._base) or self._base, counter(self._options.counter),
            self._options.counter,
        )
        self.draft.notice = notice
        self._lines = OwnLines(self.draft, _fetch)
        self._hole = False
        """The last line could not be read."""
        self._halves: list[Problem] = []
        """Half lines behind which no whole one was read yet."""
        self._ahead = False
        """The newest save was put in from the checkpoint, and the ledger may yet come to hold it: what it holds more is
        read anew with it."""
        self._checkpoint_seen: tuple[int, int, int] | None = None
        """(inode, size, time in ns) of the checkpoint as it was looked at."""
        self._checkpoint_told: Problem | None = None
        self._tail = Tail()

    def watched(self) -> Iterable[Path]:
        return (self._ledger.parent,)

    def extract(self, raw: bytes, part: int) -> str | None:
        return extract(raw, part)

    def refresh(self) -> bool:
        changed = self._refresh()
        changed = self._look_at_checkpoint() or changed
        changed = self._read_calls() or changed
        found = begun(self._calls, self._lines.seq)
        if not same(found, self.draft.begun):
            self.draft.begun, changed = found, True
        self.draft.changed_at = last_at(self._calls, self.draft.changed_at)
        return changed

    def _look_at_checkpoint(self) -> bool:
        """Check the checkpoint, which has the newest save whole: told if it is damaged, and put in if the ledger lost
        that save. Looked at when the run is opened, when the ledger lacks something, and once it has been at rest."""
        given = given_slice()
        if given is not None and self._file.path in given.behind:
            return False
        try:
            status = os.stat(self._paths.checkpoint)
            now = (status.st_ino, status.st_size, status.st_mtime_ns)
            lacks = self._lines.lost or self._hole or self._file.torn > 0
            rests = self._checkpoint_seen is None or time.time() - status.st_mtime > _REST_SECONDS
            rests = rests or self._checkpoint_told is not None
            if now == self._checkpoint_seen or not (lacks or rests):
                return False
            self._checkpoint_seen = now
            data, _ = durable.read(self._paths.checkpoint)
            if not lacks and check(data, b"checksum") is None and self._holds(data):
                return self._tell_checkpoint(None)
            saved = read_checkpoint(data, str(self._paths.checkpoint))
        except OSError:
            return self._tell_checkpoint(None)  # there is none
        except CheckpointError as error:
            return self._tell_checkpoint(str(error).removeprefix(f"{self._paths.checkpoint}: "))
        told = self._tell_checkpoint(None)
        if saved.seq is None or saved.seq < self._lines.seq + (not self._lines.lost) or self._grew():
            return told
        self._ahead = not (self._lines.lost or self._hole)
        if self._ahead and self._lines.exact:
            # Its prompt stood in the ledger alone, and what is concluded from the list would pass for it.
            self._lines.say_status(saved.status)
            if not self.draft.main.steps or saved.step != self.draft.main.steps[-1].own:
                what = f"step {saved.step} stands in {self._paths.checkpoint.name} alone, without its prompt: not shown"
                self.draft.problem(self._ledger.name, what)
            return True
        self._lines.lost = self._lines.lost or saved.seq > self._lines.seq + 1
        self._hole = False
        shown = f"save {saved.seq}, from {self._paths.checkpoint.name}"
        self._lines.add(line_of(saved), Place(str(self._paths.checkpoint), 0, len(data), None, shown))
        self._tail.damaged = True
        self._tail.settle(self.draft, self._file)
        return True

    def _holds(self, checkpoint: bytes) -> bool:
        """Whether the ledger as it was read holds the save of that checkpoint, which is whole."""
        seq = _SEQ.search(checkpoint, 0, _HEAD)
        return seq is None or int(seq[1]) <= self._lines.seq

    def _grew(self) -> bool:
        """Whether the ledger went on since it was read: a line is there before the checkpoint that holds it."""
        try:
            return os.stat(self._ledger).st_size != self._file.offset + self._file.torn
        except OSError:
            return True  # gone just now: told when it is looked for again

    def _tell_checkpoint(self, what: str | None) -> bool:
        """Say what is wrong with the checkpoint, or no longer. True if that is new."""
        told = None if what is None else Problem(self._paths.checkpoint.name, what)
        if told == self._checkpoint_told:
            return False
        if self._checkpoint_told in self.draft.problems:
            self.draft.problems.remove(self._checkpoint_told)
        if told is not None:
            self.draft.problems.append(told)
        self._checkpoint_told = told
        return True

    def _read_calls(self) -> bool:
        """Read the guarded calls again if their file changed. True if something is wrong with it."""
        try:
            status = os.stat(self._paths.calls)
            now = (status.st_ino, status.st_size, status.st_mtime_ns)
        except OSError:
            now = None  # most runs guard no calls
        if now == self._calls_seen:
            return False
        self._calls_seen, self._calls = now, []
        try:
            self._calls = list(held(self._paths).calls.values())
        except CheckpointError as error:
            self.draft.problem("calls", str(error).removeprefix(f"{self._paths.calls}: "))
            return True
        return False

    def _refresh(self) -> bool:
        change = self._file.change()
        if change == "same":
            return self._tail.settle(self.draft, self._file)
        if change == "gone":
            if not self._lines.begun:
                raise Unreadable(f"{self._ledger}: no such file")
            changed = self.draft.notice != "file gone"
            self.draft.notice = "file gone"
            return changed
        if change == "replaced":
            self._file.rewind()
            self._fresh("file replaced, read again")
        elif self._ahead:
            self._file.rewind()
            self._fresh(None)
        elif self.draft.notice == "file gone":
            self.draft.notice = None
        for record in self._file.records():
            self._record(record)
        given = given_slice()
        if given is None or self._file.path not in given.behind:
            self._tell_halves()
        self.draft.changed_at = self._file.changed_at
        self._tail.settle(self.draft, self._file)
        return True

    def _record(self, record: Record) -> None:
        try:
            self._add(decode(record.data), record)
        except NewerLine as error:
            self.draft.problem(f"line {record.line}", f"not read: {error}")
        except DamagedLine as error:
            self._damaged(record, error)

    def _damaged(self, record: Record, why: DamagedLine) -> None:
        """A line that is not what was written: saves that stand in it whole, by their own checksums, are taken."""
        where, told, whole = f"line {record.line}", [], []
        for item in values(record, _STARTS):
            if isinstance(item, str):
                told.append(item)
                continue
            try:
                whole.append((decode(item[1].data), item[1]))
            except DamagedLine as error:
                told.append(f"damaged: {error}")
        if not whole and half(record.data):
            self._halves.append(Problem(where, f"damaged: {why}"))
        else:
            self._tell_halves()
            for what in told if whole else [f"damaged: {why}"]:
                self.draft.problem(where, what)
        self._hole = not whole
        for line, part in whole:
            self._add(line, part)

    def _add(self, line: Line, record: Record) -> None:
        place = Place(str(self._ledger), record.offset, len(record.data), record.line, f"line {record.line}")
        if self._lines.begins_anew(line):
            began = *self.draft.began, Where(place.source, place.offset, 0)
            self._fresh(NEW_RUN)
            self.draft.began, self.draft.earlier = began, len(began)
        self._hole = False
        if line.seq == self._lines.seq + 1:
            self._halves.clear()  # never acknowledged: the next save went on behind it with the next number
        self._tell_halves()
        self._lines.add(line, place)

    def _tell_halves(self) -> None:
        for problem in self._halves:
            self.draft.problem(problem.where, problem.what)
        self._halves.clear()


def _fetch(where: Where) -> bytes | None:
    try:
        return read_at(where.source, where.offset, where.length)
    except Unreadable:
        return None


def recognise(path: Path, head: bytes) -> bool:
    """A steps ledger, or a checkpoint of ours that has its ledger beside it."""
    if path.name.endswith(SUFFIX):
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0 \t\r\n")
        return start.startswith(_STARTS) or not start
    if not path.name.endswith(".json") or sum(mark in head[:_HEAD] for mark in _MARKS) < len(_MARKS) - 1:
        return False
    return path.with_name(path.name.removesuffix(".json") + SUFFIX).exists()


def peek(path: Path) -> RunInfo:
    """From the head of the checkpoint, where all but the messages stands; from the ledger where there is none."""
    base = path.name.removesuffix(SUFFIX).removesuffix(".json")
    checkpoint = path.with_name(base + ".json")
    found: dict[str, Any] = {}
    if checkpoint.exists():
        found = members(checkpoint, ("messages",))
    else:
        for line in line_info(path):
            found.update((name, value) for name, value in line.items() if name in _ROW and value is not None)
    ident = found.get("run") if isinstance(found.get("run"), str) else None
    status, goal, model = found.get("status"), found.get("goal"), found.get("model")
    return RunInfo(
        ident or names.run_id(base) or base, str(path), "agentmem", _written(path, base),
        "ended" if isinstance(status, str) and status != "live" else "unknown", integer(found.get("step")),
        goal if isinstance(goal, str) else None, None, model if isinstance(model, str) else None,
        window=amount(integer(found.get("window"))),
    )  # fmt: skip


def _written(path: Path, base: str) -> float:
    """When the ledger was written last, as an opened run tells it; else the checkpoint alone. Raises OSError."""
    ledger = path.with_name(base + SUFFIX)
    return (ledger if ledger.exists() else path).stat().st_mtime


FORMAT = Format("agentmem", "our own checkpoints", recognise, OwnReader, peek=peek)
