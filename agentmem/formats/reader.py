"""What every reader is: one file a format, all of one shape. `FORMATS` in `agentmem.formats` lists them.

A reader owns its files, reads what is new at `refresh`, and builds a `RunDraft`. It never writes and never raises for
what stands in a file: damage becomes a problem, a half-written file is looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from agentmem.formats.draft import RunDraft
from agentmem.model import RunInfo

LIVE_SECONDS = 120.0
"""A run that was written so lately is taken for live until it says that it ended."""


class Reader(Protocol):
    """Follows one run. Made by `Format.open(path, options)`."""

    draft: RunDraft

    def refresh(self) -> bool:
        """Read what is new. True if the draft changed. Raises `source.Unreadable` and `source.NotYet` only while there
        is nothing to show yet; later trouble goes to `draft.notice` and `draft.problems`."""

    def watched(self) -> Iterable[Path]:
        """Folders whose changes matter to this run."""

    def extract(self, raw: bytes, part: int) -> str | None:
        """Whole text of piece `part` of the record whose bytes are `raw`; None if it is no longer there."""


class Version(msgspec.Struct, frozen=True):
    """One version seen of a file that is overwritten: its messages by hash, and the rest of the object."""

    seen_at: float
    """Seconds since the epoch."""
    messages: tuple[int, ...]
    """xxh3 of each message's bytes, in order."""
    rest: bytes
    """The object without its messages, as JSON."""
    stands: int = 0
    """So many messages at the beginning are known to be those of the version before."""


class Keeper(Protocol):
    """Remembers versions of overwritten files, by real path: in memory, or in the app's history store."""

    def past(self, path: str) -> Iterable[Version]:
        """Versions seen earlier, oldest first."""

    def keep(self, path: str, version: Version, new: Mapping[int, bytes]) -> None:
        """Remember a version; `new` holds the bytes of the messages that no version before it had."""

    def begin(self, path: str) -> None:
        """What follows is of another run in the same file, and stands on no version before."""

    def message(self, path: str, key: int) -> bytes | None:
        """Bytes of a message of some version, by hash."""

    def earlier(self, path: str) -> int:
        """How many runs are kept that stood in the file before the one that `past` tells of."""


class KeptHere:
    """The keeper of a reader that was given none: messages of the versions that it saw, in memory."""

    def __init__(self) -> None:
        self._messages: dict[int, bytes] = {}

    def past(self, path: str) -> Iterable[Version]:
        return ()

    def begin(self, path: str) -> None:
        """There is no past to stand on."""

    def keep(self, path: str, version: Version, new: Mapping[int, bytes]) -> None:
        self._messages.update(new)

    def message(self, path: str, key: int) -> bytes | None:
        return self._messages.get(key)

    def earlier(self, path: str) -> int:
        return 0


class Options(msgspec.Struct, frozen=True):
    """What goes with every command that reads a run."""

    counter: str = "quick"
    run_id: str | None = None
    keeper: Keeper | None = None
    """Keeps the versions of files that their writer overwrites; None: versions seen are kept in memory."""


class Format(msgspec.Struct, frozen=True):
    name: str
    """As in JSON: `claude-code`, `codex`, `agentmem`, `messages`, `requests`."""
    title: str
    recognise: Callable[[Path, bytes], bool]
    """(path, first 64 KiB) -> whether this reader understands it. Cheap, never raises."""
    open: Callable[[Path, Options], Reader]
    runs: Callable[[Path], Iterable[RunInfo]] | None = None
    """For stores of several runs (databases, job folders): their list. None: a path is one run."""
    places: Callable[[Path], Iterable[Path]] | None = None
    """Where this agent keeps transcripts for a working folder: (folder) -> files that exist, newest first."""
    everywhere: tuple[str, ...] = ()
    """Globs of all transcripts that this agent keeps, whatever folder it worked in: below `~`, or below an environment
    variable with what stands for it, `{CODEX_HOME|~/.codex}`."""
    tree: Callable[[Path], Iterable[Path]] | None = None
    """For runs of several files in a tree of folders: (folder) -> the file that stands for each run below it, none
    where the folder is laid out otherwise. `everywhere` then names such folders."""
    peek: Callable[[Path], RunInfo] | None = None
    """A row of the list from the head and tail of the file; None: made from the file's name and times."""
    overwritten: bool = False
    """The writer leaves nothing of an earlier version; the reader remembers those that it saw (`Options.keeper`)."""
