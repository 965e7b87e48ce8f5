"""What a place that keeps runs must do, the value that it gives back, and what can go wrong.

The files of `agentmem.checkpoint.files` are the default store. Another store (a database) implements `Store`; the
recorder prepares every save as bytes and does not know where they go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentmem.model import Problem

SCHEMA = "agentmem.checkpoint/1"
LIVE = "live"


class CheckpointError(Exception):
    """A checkpoint could not be kept or read; the text names the file and the reason in one line."""


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Checkpoint:
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
    """What the provider reported for this step, as given; likewise drops, attempts and prompt are of this step only."""
    drops: list[Any] | None = None
    attempts: list[Any] | None = None
    prompt: list[Any] | None = None
    """The exact prompt, where it was given to `save` and the ledger was read."""
    status: str | None = None
    """`live`, or what was given to `finish`; None for a file that this library did not write."""
    lane: str = "main"
    at: float | None = None
    """Seconds since the epoch."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the file that this library does not know; they stand again in the next save."""
    source: str = "checkpoint"
    """`checkpoint`, `checkpoint and ledger` (rolled forward), or `ledger`."""
    damaged: int = 0
    """Lines of the ledger that cannot be read."""
    problems: tuple[Problem, ...] = ()

    @property
    def finished(self) -> bool:
        return self.status is not None and self.status != LIVE


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Change:
    """One save, ready to be stored: all or nothing."""

    run: str
    seq: int
    step: int
    at: float
    line: bytes
    """The sealed ledger line, without newline."""
    whole_line: Callable[[], bytes]
    """The same save as a line that needs none before it, for a store that has lost them."""
    checkpoint: Sequence[bytes | bytearray]
    """The sealed checkpoint, without newline, in parts to be written one after the other before `commit` returns."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resumed:
    """What a store holds of a run when a recorder opens it."""

    checkpoint: Checkpoint | None
    """None: there is no such run yet."""
    seq: int
    """The highest number of a save that was ever used; 0 for none."""
    continuous: bool
    """The next line may stand on those before it; if not, it must be whole."""


class Store(Protocol):
    """A place that keeps runs. Everything raises CheckpointError or a subclass; nothing returns half a value."""

    def resume(self, run: str, rebuild: bool = False) -> Resumed:
        """Prepare for saving: sweep what a crash left, repair, and give the newest version."""

    def commit(self, run: str, change: Change) -> None:
        """Store it durably. Raises ConflictError if the run was saved by another since this store last saw it."""

    def load(self, run: str, generation: int = 0, rebuild: bool = False) -> Checkpoint:
        """The newest version, or the one `-generation` saves before. Raises MissingError, DamagedError."""

    def history(self, run: str) -> Iterator[Checkpoint]:
        """All versions that can still be rebuilt, oldest first."""

    def runs(self) -> list[str]:
        """Ids of the runs that there are."""
