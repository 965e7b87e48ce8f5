"""What a place that keeps runs must do, the value that it gives back, and what can go wrong.

The files of `agentmem.checkpoint.files` are the default store. Another store (a database) implements `Store`; the
recorder prepares every save as bytes and does not know where they go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from agentmem.checkpoint.ledger_line import Call
from agentmem.model import Problem

SCHEMA = "agentmem.checkpoint/1"
LIVE = "live"


class CheckpointError(Exception):
    """A checkpoint could not be kept or read; the text names the file and the reason in one line."""

    unanswered = False
    """The store was asked to keep something and gave no answer: it may have been kept nevertheless."""


class DamagedError(CheckpointError):
    """What is stored is not what was written. The text says where and why, and what can still be read."""


class NewerSchemaError(CheckpointError):
    """Written by a newer version of this library. Nothing was changed."""


class ConflictError(CheckpointError):
    """Someone else saved the same run since this recorder last did. Nothing was written."""


class SaveError(CheckpointError):
    """The save did not succeed (disk full, no permission, ...). `errno` says why."""

    def __init__(self, message: str, errno: int | None = None, stored: bool = False) -> None:
        super().__init__(message)
        self.errno = errno
        self.stored = stored
        """False: the previous checkpoint stands. True: this one does, but the disk has not confirmed it."""


class MissingError(CheckpointError, FileNotFoundError):
    """There is no such run."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One saved version of a run. What is None was never given. Versions share their messages: do not mutate them."""

    path: str
    step: int
    """The author's number of the step; several saves may carry the same."""
    seq: int | None
    """Number of the save, from 1, never reused: the order of versions. None for a file that is not ours."""
    messages: list[Any]
    notes: Any
    state: dict[str, Any] | None = None
    run: str | None = None
    goal: str | None = None
    model: str | None = None
    system: Any = None
    tools: Any = None
    window: int | None = None
    usage: Any = None
    """What the provider reported for this step, as given; likewise drops, attempts and prompt are of this step only.
    The end of a run is no step of its own: it has those of the last one."""
    drops: list[Any] | None = None
    attempts: list[Any] | None = None
    prompt: list[Any] | None = None
    """The exact prompt, where it was given to `save` and the ledger was read."""
    status: str | None = None
    """`live`, or what was given to `finish`; None for a file that this library did not write."""
    lane: str = "main"
    at: float | None = None
    """Seconds since the epoch."""
    extra: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Keys of the file that this library does not know; they stand again in the next save."""
    source: str = "checkpoint"
    """`checkpoint`, `checkpoint and ledger` (rolled forward), or `ledger`."""
    damaged: int = 0
    """Lines of the ledger that cannot be read."""
    problems: tuple[Problem, ...] = ()

    @property
    def finished(self) -> bool:
        return self.status is not None and self.status != LIVE


class Change(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One save, ready to be stored: all or nothing."""

    run: str
    seq: int
    step: int
    at: float
    line: bytes
    """The sealed ledger line, without newline."""
    whole_line: Callable[[], bytes]
    """The same save as a line that needs none before it, for a store that has lost them."""
    checkpoint: Callable[[], Sequence[bytes | bytearray]]
    """The sealed checkpoint, without newline, in parts to be written one after the other before `commit` returns: for a
    store that keeps the newest version whole. Its cost grows with the run."""
    whole: bool = False
    """`line` itself needs none before it."""
    lane: str = "main"
    status: str = LIVE
    goal: str | None = None
    state: bytes | None = None
    """The state as it stands after the save, as JSON; None if none was ever given."""


class Resumed(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What a store holds of a run when a recorder opens it."""

    checkpoint: Checkpoint | None
    """None: there is no such run yet."""
    seq: int
    """The highest number of a save that was ever used; 0 for none."""
    continuous: bool
    """The next line may stand on those before it; if not, it must be whole."""


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the list of runs: its newest save, without what it holds."""

    run: str
    step: int
    seq: int
    """Number of the save, from 1; 0 if the store cannot tell without reading the run."""
    at: float
    """When it was saved, in seconds since the epoch."""
    status: str
    goal: str | None = None


class Store(Protocol):
    """A place that keeps runs. Everything raises CheckpointError or a subclass; nothing returns half a value.

    A run is whole in itself: saves of one run stand in the order of their numbers (`seq`), without a gap, and become
    visible in that order. `agentmem.checkpoint.conformance` checks all that is said here on any store.
    """

    def resume(self, run: str, rebuild: bool = False) -> Resumed:
        """Prepare for saving: sweep what a crash left, repair, and give the newest version. With `rebuild` the newest
        one that can be rebuilt, where the newest is damaged."""

    def commit(self, run: str, change: Change) -> None:
        """Store it durably. Raises ConflictError if the run was saved by another since this store last saw it."""

    def load(
        self, run: str, generation: int = 0, rebuild: bool = False, *, step: int | None = None, at: float | None = None
    ) -> Checkpoint:
        """The newest version, of whatever lane, or the one `-generation` saves before; with `step` the last save of
        that step; with `at` (seconds since the epoch) the last save up to that moment. Raises MissingError;
        DamagedError where it was saved and cannot be had, saying what can: with `rebuild` the newest before it that can
        be rebuilt."""

    def history(
        self, run: str, rebuild: bool = False, *, since: float | None = None, until: float | None = None
    ) -> Iterator[Checkpoint]:
        """All versions, oldest first; those saved from `since` to `until`, both included. Raises MissingError;
        DamagedError before the first where one of them cannot be had: with `rebuild` those that can are given."""

    def runs(self) -> list[str]:
        """Ids of the runs that there are, sorted."""

    def listing(self, *, status: str | None = None, since: float | None = None) -> list[RunRow]:
        """A row a run, the newest save first: those of that status, saved at or after `since`."""

    def prune(self, run: str, *, keep: int | None = None, before: float | None = None) -> int:
        """Forget old saves: all but the newest `keep`, or those before a moment. The newest one always stays, and the
        newest of lane `main`, and a run that is being recorded goes on. Returns how many saves are gone.

        Raises MissingError."""

    def remove(self, run: str) -> None:
        """Forget a run with its calls. Raises MissingError."""

    def begin(self, run: str, call: Call) -> None:
        """Store durably that a call is about to be made. Raises ConflictError if that attempt was stored before."""

    def end(self, run: str, call: Call) -> None:
        """Store durably what came of an attempt that `begin` stored. Raises ConflictError if there is none such, or if
        something else came of it already."""

    def calls(self, run: str) -> list[Call]:
        """Every attempt, in the order in which they began; none for a run that made none. Raises DamagedError."""
