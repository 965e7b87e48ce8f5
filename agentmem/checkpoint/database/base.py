"""A store in a database: what SQLite and Postgres have in common, in plain SQL.

Three tables. `runs` has a row a run (its newest save) and `steps` a row a save; both have what a person would ask for:
`run_id`, `step`, `at`, `status`, `goal`, `state`. `steps.line` is the sealed line of the ledger, which holds all that a
save was given; only what changed, so that bytes grow with the steps and not with their square. `calls` has a row an
attempt at a call with a side effect.

No table has a counter of its own that a reader could stand on: saves of one run are numbered without a gap, each
commits after the one before it, and so a reader that asks for `seq > n` of one run misses nothing, however late a
transaction commits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from agentmem.checkpoint import ledger_line
from agentmem.checkpoint.database.reading import calls_of, ledger_of, newest_of, version_of
from agentmem.checkpoint.delta.forget import first_kept, rewritten
from agentmem.checkpoint.given import asked, goal_of, span
from agentmem.checkpoint.ledger_line import Call
from agentmem.checkpoint.lost import Saves
from agentmem.checkpoint.replay import Ledger, versions
from agentmem.checkpoint.store import (
    Change,
    Checkpoint,
    ConflictError,
    DamagedError,
    MissingError,
    Resumed,
    RunRow,
)

T = TypeVar("T")
Row = tuple[Any, ...]
Ask = Callable[[str, Sequence[Any]], list[Row]]
"""(SQL with `?` for values, values) -> rows; of a statement that gives none, one row: how many rows it changed."""
VERSION = 1
LONGEST_ID = 1000
_MOST = 2**63 - 1
NEWEST = ("run_id", "step", "at", "status", "goal", "state", "seq")
STEP = ("run_id", "step", "at", "status", "goal", "state", "lane", "seq", "whole", "line")
"""Columns of `runs` and `steps`."""


class DatabaseStore(ABC):
    """What a database store is made of. All SQL here is understood by SQLite and by Postgres alike."""

    address: str
    """Where it is, as shown: without a password."""
    tables: str = ""
    """What stands before the name of a table."""
    line: str = "line"
    record: str = "record"
    """How the exact bytes of these columns are asked for."""

    @abstractmethod
    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Rows of a question; none where there is no store yet. Raises CheckpointError."""

    @abstractmethod
    def _change(self, what: str, work: Callable[[Ask, bool], T]) -> T:
        """Does the work in a transaction, all or nothing, and makes the store where there is none. The work is told
        whether it is done again after a lost connection: then it may have been done already.

        Raises SaveError, which says that `what` did not happen.
        """

    @abstractmethod
    def _store(self, run: str, change: Change) -> None:
        """`commit`."""

    @abstractmethod
    def _moment(self, at: float) -> Any:
        """Seconds since the epoch as the database holds them."""

    @abstractmethod
    def _seconds(self, moment: Any) -> float:
        """The other way."""

    # -- reading --------------------------------------------------------------------------------------------------

    def load(
        self, run: str, generation: int = 0, rebuild: bool = False, *, step: int | None = None, at: float | None = None
    ) -> Checkpoint:
        """See `Store`."""
        checked(run)
        asked(generation, step, at)
        path = self._path(run)
        if rebuild and not generation and step is None and at is None:
            return newest_of(self._ledger(run), path)
        seq = self._wanted(run, generation, step, at)
        start = self._first(f"select max(seq) from {self.tables}steps where run_id = ? and seq <= ? and whole",
                            [run, seq])  # fmt: skip
        ledger = self._ledger(run, start or 0, seq)
        try:
            return version_of(ledger, seq, path)
        except DamagedError:
            if rebuild:
                return newest_of(self._ledger(run, 0, seq), path)
            if not start:
                raise
            return version_of(self._ledger(run, 0, seq), seq, path)  # says what of all can be had

    def _wanted(self, run: str, generation: int, step: int | None, at: float | None) -> int:
        """Number of the save that is asked for. Raises MissingError."""
        where, values = "run_id = ?", list[Any]([run])
        if step is not None:
            where, values = where + " and step = ?", [*values, step]
        if at is not None:
            where, values = where + " and at <= ?", [*values, self._moment(at)]
        found = self._rows(
            f"select seq from {self.tables}steps where {where} order by seq desc limit 1 "
            f"offset {min(-generation, _MOST)}", values
        )
        if found:
            return int(found[0][0])
        return Saves(self._ledger(run), None, self._path(run)).find(generation, step, at)  # it says why there is none

    def _ledger(self, run: str, first: int = 0, last: int | None = None) -> Ledger:
        sql = f"select seq, {self.line} from {self.tables}steps where run_id = ? and seq >= ?"
        values: list[Any] = [run, first]
        if last is not None:
            sql, values = sql + " and seq <= ?", [*values, last]
        rows = self._rows(sql + " order by seq", values)
        if not rows:
            raise MissingError(f"{self._path(run)}: there is no such run")
        return ledger_of(((int(seq), as_bytes(line)) for seq, line in rows), self._path(run))

    def history(
        self, run: str, rebuild: bool = False, *, since: float | None = None, until: float | None = None
    ) -> Iterator[Checkpoint]:
        """See `Store`."""
        checked(run)
        span(since, until)
        ledger = self._ledger(run)
        if not rebuild:
            Saves(ledger, None, self._path(run)).must_be_whole()
        for version in versions(ledger, self._path(run), list(ledger.problems)):
            at = version.at or 0.0
            if (since is None or at >= since) and (until is None or at <= until):
                yield version

    def runs(self) -> list[str]:
        """See `Store`."""
        return sorted(str(row[0]) for row in self._rows(f"select run_id from {self.tables}runs"))

    def listing(self, *, status: str | None = None, since: float | None = None) -> list[RunRow]:
        """See `Store`."""
        sql = f"select run_id, step, seq, at, status, goal from {self.tables}runs where 1 = 1"
        values: list[Any] = []
        if status is not None:
            sql, values = sql + " and status = ?", [*values, status]
        if since is not None:
            sql, values = sql + " and at >= ?", [*values, self._moment(since)]
        return [
            RunRow(run=run, step=step, seq=seq, at=self._seconds(at), status=status, goal=goal)
            for run, step, seq, at, status, goal in self._rows(sql + " order by at desc, run_id", values)
        ]

    # -- saving ---------------------------------------------------------------------------------------------------

    def resume(self, run: str, rebuild: bool = False) -> Resumed:
        """See `Store`. A transaction that a crash cut short has left nothing: there is nothing to sweep."""
        checked(run)
        try:
            newest = self.load(run)
        except MissingError:
            return Resumed(checkpoint=None, seq=0, continuous=False)
        except DamagedError:
            if not rebuild:
                raise
            seq = self._first(f"select max(seq) from {self.tables}steps where run_id = ?", [run])
            return Resumed(checkpoint=self.load(run, rebuild=True), seq=seq or 0, continuous=False)
        return Resumed(checkpoint=newest, seq=newest.seq or 0, continuous=True)

    def commit(self, run: str, change: Change) -> None:
        """See `Store`. Raises ConflictError, SaveError."""
        checked(run)
        self._store(run, change)

    def prune(self, run: str, *, keep: int | None = None, before: float | None = None) -> int:
        """See `Store`."""
        checked(run)
        path = self._path(run)

        def work(ask: Ask, again: bool) -> int:
            rows = ask(f"select seq, {self.line} from {self.tables}steps where run_id = ? order by seq", [run])
            if not rows:
                raise MissingError(f"{path}: there is no such run")
            ledger = ledger_of(((int(seq), as_bytes(line)) for seq, line in rows), path)
            if ledger.problems:
                raise DamagedError(f"{ledger.problems[0].where}: {ledger.problems[0].what}; nothing was pruned")
            cut = first_kept(ledger.lines, keep, before)
            if cut:
                first = ledger.lines[cut].seq
                for seq, line in rewritten(ledger.lines, cut, path).items():
                    ask(f"update {self.tables}steps set line = ?, whole = ? where run_id = ? and seq = ?",
                        [line.decode(), seq == first, run, seq])  # fmt: skip
                ask(f"delete from {self.tables}steps where run_id = ? and seq < ?", [run, first])
            return cut

        return self._change(f"run {run!r} was not pruned", work)

    def remove(self, run: str) -> None:
        """See `Store`."""
        checked(run)

        def work(ask: Ask, again: bool) -> None:
            gone = sum(
                ask(f"delete from {self.tables}{table} where run_id = ?", [run])[0][0]
                for table in ("runs", "steps", "calls")
            )
            if not gone and not again:
                raise MissingError(f"{self._path(run)}: there is no such run")

        self._change(f"run {run!r} was not removed", work)

    # -- calls ----------------------------------------------------------------------------------------------------

    def begin(self, run: str, call: Call) -> None:
        """See `Store`."""
        checked(run)
        record = ledger_line.encode_call(call)

        def work(ask: Ask, again: bool) -> None:
            added = ask(
                f"insert into {self.tables}calls(run_id, key, attempt, tool, outcome, started, record) "
                "values(?, ?, ?, ?, ?, ?, ?) on conflict do nothing",
                [run, call.key, call.attempt, plain(call.tool), call.outcome, self._moment(call.started),
                 record.decode()],
            )[0][0]  # fmt: skip
            if not added and not (again and self._record(ask, run, call) == record):
                raise ConflictError(f"{self._path(run)}: attempt {call.attempt} of call {call.key} was begun before")

        self._change(f"the call of {call.tool} was not recorded", work)

    def end(self, run: str, call: Call) -> None:
        """See `Store`."""
        checked(run)
        record = ledger_line.encode_call(call)

        def work(ask: Ask, again: bool) -> None:
            changed = ask(
                f"update {self.tables}calls set outcome = ?, ended = ?, record = ? "
                "where run_id = ? and key = ? and attempt = ? and outcome = 'started'",
                [call.outcome, None if call.ended is None else self._moment(call.ended), record.decode(), run,
                 call.key, call.attempt],
            )[0][0]  # fmt: skip
            if not changed and not (again and self._record(ask, run, call) == record):
                raise ConflictError(
                    f"{self._path(run)}: attempt {call.attempt} of call {call.key} was not begun, or ended before"
                )

        self._change(f"what came of {call.tool} was not recorded", work)

    def _record(self, ask: Ask, run: str, call: Call) -> bytes | None:
        rows = ask(
            f"select {self.record} from {self.tables}calls where run_id = ? and key = ? and attempt = ?",
            [run, call.key, call.attempt],
        )
        return as_bytes(rows[0][0]) if rows else None

    def calls(self, run: str) -> list[Call]:
        """See `Store`."""
        checked(run)
        rows = self._rows(f"select {self.record} from {self.tables}calls where run_id = ? order by id", [run])
        return calls_of((as_bytes(row[0]) for row in rows), self._path(run))

    # -- inside ---------------------------------------------------------------------------------------------------

    def _first(self, sql: str, values: Sequence[Any]) -> int | None:
        rows = self._rows(sql, values)
        return None if not rows or rows[0][0] is None else int(rows[0][0])

    def _conflict(self, run: str, change: Change) -> ConflictError:
        return ConflictError(
            f"{self._path(run)}: was saved by another since save {change.seq - 1} was seen here; nothing was written. "
            "Record the run again to go on from what stands there"
        )

    def _path(self, run: str) -> str:
        return f"{self.address}: run {run!r}"

    def _step_values(self, run: str, change: Change, line: bytes, whole: bool) -> dict[str, Any]:
        """Column of `steps` -> value."""
        state = None if change.state is None else change.state.decode()
        decoded = msgspec.json.decode(change.state) if change.goal is None and change.state is not None else None
        goal = goal_of(change.goal, decoded)
        return {
            "run_id": run, "step": change.step, "at": self._moment(change.at), "status": plain(change.status),
            "goal": None if goal is None else plain(goal), "state": state, "lane": plain(change.lane),
            "seq": change.seq, "whole": whole, "line": line.decode(),
        }  # fmt: skip


def checked(run: str) -> None:
    """Raises TypeError, ValueError for what cannot be the id of a run."""
    if not isinstance(run, str):
        raise TypeError(f"a run id is a text, not {type(run).__name__}")
    if not run:
        raise ValueError("a run id must not be empty")
    if "\0" in run or len(run) > LONGEST_ID:
        raise ValueError(f"run id {run[:40]!r}...: at most {LONGEST_ID} characters, none of them NUL")
    try:
        run.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"run id {run!r}: cannot be written as UTF-8: {error.reason}") from None


def plain(text: str) -> str:
    """As a column for people holds it: not every database takes NUL. The line has the text as it is."""
    return text.replace("\0", "\ufffd")


def as_bytes(value: Any) -> bytes:
    """A line or record as it was written."""
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)


__all__ = ["NEWEST", "STEP", "VERSION", "Ask", "DatabaseStore", "Row", "as_bytes", "checked", "plain"]
