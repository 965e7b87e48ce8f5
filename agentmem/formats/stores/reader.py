"""One run in a store of ours, followed by the number of its newest save: nothing is missed, nothing read twice.

A store says where it is, what is new of a run after a save, and the line of one save. That is all that the reader
needs, so that a store of another kind is one small class.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from agentmem.checkpoint.ledger_line import Call, DamagedLine, NewerLine, decode
from agentmem.formats.draft import RunDraft
from agentmem.formats.reader import LIVE_SECONDS, Options
from agentmem.formats.source import NotYet, Unreadable, given_slice
from agentmem.formats.stores.begun import begun, last_at, same
from agentmem.formats.stores.lines import OwnLines
from agentmem.formats.stores.place import Place, extract
from agentmem.model import RunStatus, Where
from agentmem.tokens import counter

BATCH = 200
"""Lines read at a time."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0


class Saved(msgspec.Struct, frozen=True):
    """A row: one save."""

    seq: int
    head: tuple[object, object]
    """Its step and its time as they stand there: other ones tell of another save under the same number."""
    at: float | None
    """Seconds since the epoch; None if it says no time."""
    line: bytes


class RunStore(Protocol):
    """A place that keeps runs of ours, as the inspector sees it. Everything raises Unreadable or NotYet."""

    shown: str
    """The place in words, without a password."""
    source: str
    """What stands in `Where.source` of its lines."""
    folders: Sequence[Path]
    """Folders whose changes tell that there may be something new."""

    def mark(self) -> object:
        """Another value whenever there may be something new; None if that cannot be told cheaply."""

    def after(self, run: str, seq: int, count: int) -> list[Saved]:
        """The first `count` saves after that one, in order."""

    def newest(self, run: str) -> tuple[int, int] | None:
        """(number of the newest save, how many saves there are); None if there is no such run."""

    def head(self, run: str, seq: int) -> tuple[object, object] | None:
        """`Saved.head` of a save; None if it is not there."""

    def line(self, run: str, seq: int) -> bytes | None:
        """The line of a save; None if it is not there."""

    def calls(self, run: str) -> list[Call]:
        """Its guarded calls, every attempt in the order of their beginning."""

    def first(self) -> str | None:
        """Id of the run that was saved last."""


class StoreReader:
    """Follows one run of a store."""

    def __init__(self, store: RunStore, options: Options) -> None:
        """Raises Unreadable, NotYet if the store holds no run."""
        self._store = store
        self._options = options
        run = options.run_id or store.first()
        if run is None:
            raise NotYet(f"{store.shown}: no runs in it")
        self._run = run
        self._mark: object = None
        self._due = 0.0
        self._pause = FIRST_PAUSE
        self._calls_wrong = ""
        self._fresh(None)

    def _fresh(self, notice: str | None) -> None:
        self._seq = 0
        self._head: tuple[object, object] | None = None
        self._anew(notice)

    def _anew(self, notice: str | None) -> None:
        options = self._options
        self.draft = RunDraft(self._store.shown, "agentmem", self._run, counter(options.counter), options.counter)
        self.draft.notice = notice
        self._lines = OwnLines(self.draft, self.rows)

    def watched(self) -> Iterable[Path]:
        return self._store.folders

    def extract(self, raw: bytes, part: int) -> str | None:
        try:
            return extract(raw, part)
        except DamagedLine:
            return None

    def rows(self, where: Where) -> bytes | None:
        """Bytes of the line that holds a piece; None if they cannot be had now."""
        try:
            return self._store.line(self._run, where.offset)
        except (Unreadable, NotYet):
            return None

    def refresh(self) -> bool:
        """Read what is new. What goes wrong once there is something to show is a notice, and tried again later."""
        if time.monotonic() < self._due:
            return False
        mark = self._store.mark()
        if mark is not None and mark == self._mark:
            return False
        before = self.draft.notice
        try:
            changed = self._read()
            changed = self._read_calls() or changed
        except (Unreadable, NotYet) as error:
            if not self._lines.begun:
                raise
            self._mark = None
            self._due = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
            self.draft.notice = str(error).removeprefix(f"{self._store.shown}: ")
            return self.draft.notice != before
        self._mark, self._pause = mark, FIRST_PAUSE
        return changed or self.draft.notice != before

    def _read(self) -> bool:
        changed = self._rewritten()
        given = given_slice()
        while found := self._store.after(self._run, self._seq, BATCH):
            for saved in found:
                self._take(saved)
            changed = True
            if len(found) < BATCH:
                break
            if given is not None and given.over:
                newest = self._store.newest(self._run)
                given.behind[self._store.shown] = (self._seq, newest[0] if newest else self._seq)
                return True
        if self._seq == 0:
            raise Unreadable(f"{self._store.shown}: no run {self._run}")
        return changed

    def _read_calls(self) -> bool:
        """Whether other guarded calls have no outcome now than before."""
        try:
            calls = self._store.calls(self._run)
        except (Unreadable, NotYet) as error:
            # The steps can be read all the same: a role may be let see them and not the calls.
            told = str(error).removeprefix(f"{self._store.shown}: ")
            if told == self._calls_wrong:
                return False
            self._calls_wrong = told
            self.draft.problem("calls", told)
            return True
        self._calls_wrong = ""
        self.draft.changed_at = last_at(calls, self.draft.changed_at)
        found = begun(calls, self._seq)
        if same(found, self.draft.begun):
            return False
        self.draft.begun = found
        return True

    def _rewritten(self) -> bool:
        """Whether the run is another one now than the one that was read, or gone; then it is read again, or kept."""
        self.draft.notice = None
        if self._head is None:
            return False
        found = self._store.head(self._run, self._seq)
        if found == self._head:
            return False
        if found is None and self._store.newest(self._run) is None:
            self.draft.notice = "run removed"
            return False
        self._fresh("run replaced, read again")
        return True

    def _take(self, saved: Saved) -> None:
        self._seq, self._head = saved.seq, saved.head
        self.draft.changed_at = saved.at if saved.at is not None else self.draft.changed_at
        shown = f"save {saved.seq}"
        try:
            line = decode(saved.line)
        except NewerLine as error:
            self.draft.problem(shown, f"not read: {error}")
            return
        except DamagedLine as error:
            self.draft.problem(shown, f"damaged: {error}")
            return
        if self._lines.begins_anew(line):
            self._anew("a new run under the same name")
        self._lines.add(line, Place(self._store.source, saved.seq, len(saved.line), saved.seq, shown))


def status_of(status: str, at: float | None) -> RunStatus:
    """What the list says of a run: a live one that was not saved for a while is stale."""
    if status != "live":
        return "ended"
    if at is None:
        return "unknown"
    return "live" if time.time() - at < LIVE_SECONDS else "stale"
