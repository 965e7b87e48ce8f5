"""The files of opencode's older storage: which there are, and which of them were written since they were read.

    session/PROJECT/SESSION.json   message/SESSION/MESSAGE.json   part/MESSAGE/PART.json   todo/SESSION.json

Each holds one JSON value. Ids rise with time, so that names give the order. A file is written whole, in older versions
in place: it may be empty or half there when it is looked at.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import xxhash

from agentmem.formats.loose import decode
from agentmem.formats.shared.whole import read_small
from agentmem.formats.source import UNREADABLE_SECONDS, NotYet, Unreadable

_LIMIT = 64 * 1024 * 1024
_TICK_NS = 20_000_000
"""Two writes within a tick of the file's clock may leave the same size and time."""


class _Seen(msgspec.Struct, eq=False):
    stamp: tuple[int, int, int]
    digest: int
    racy: bool
    """It was read in the tick in which it was written."""


class Entry(msgspec.Struct, frozen=True):
    """One file of a folder."""

    ident: str
    """Its name without the ending."""
    path: str
    stamp: tuple[int, int, int]
    """Inode, size in bytes, time of the last write in nanoseconds."""

    @property
    def at(self) -> float:
        """When it was written, seconds since the epoch."""
        return self.stamp[2] / 1e9


class Tree:
    """The storage to which a session's file belongs."""

    def __init__(self, session: Path) -> None:
        self.root = session.parent.parent.parent
        self.project = session.parent
        self._seen: dict[str, _Seen] = {}
        self._parents: dict[str, tuple[str | None, float]] = {}
        """Session -> (the session that began it, when it was made)."""

    def entries(self, *folder: str) -> list[Entry]:
        """The JSON files of a folder below the root, in the order of their ids; none where there is no such folder."""
        return sorted(_scan(os.path.join(self.root, *folder)), key=lambda entry: entry.ident)

    def entry(self, *names: str) -> Entry | None:
        """One file below the root; None if it is not there."""
        path = os.path.join(self.root, *names)
        try:
            status = os.stat(path)
        except OSError:
            return None
        return Entry(Path(path).stem, path, (status.st_ino, status.st_size, status.st_mtime_ns))

    def value(self, entry: Entry) -> tuple[Any, int] | None:
        """(what stands in a file, its length in bytes) if that was written since it was last read, else None. Raises
        NotYet for a file that is being written, Unreadable with the reason, once, for one that nobody writes."""
        seen = self._seen.get(entry.path)
        if seen is not None and seen.stamp == entry.stamp and not seen.racy:
            return None
        data = read_small(entry.path, _LIMIT)
        digest = xxhash.xxh3_64_intdigest(data)
        racy = time.time_ns() - entry.stamp[2] < _TICK_NS
        self._seen[entry.path] = _Seen(entry.stamp, digest, racy)
        if seen is not None and seen.digest == digest:
            return None
        try:
            return decode(data), len(data)
        except ValueError as error:
            if time.time() - entry.at < UNREADABLE_SECONDS:
                del self._seen[entry.path]
                raise NotYet(f"{entry.path}: being written") from None
            raise Unreadable(f"{entry.path}: {f'not JSON: {error}' if data.strip() else 'empty'}") from None

    def children(self, parent: str) -> list[str]:
        """Sessions that a session began, in the order in which they were made."""
        for entry in _scan(str(self.project)):
            if entry.ident not in self._parents:
                about = head(entry)
                if about is not None:
                    self._parents[entry.ident] = (about.parent, about.made)
        found = [(made, ident) for ident, (above, made) in self._parents.items() if above == parent]
        return [ident for _, ident in sorted(found)]


class Head(msgspec.Struct, frozen=True):
    """What the file of a session says of it."""

    ident: str
    parent: str | None
    directory: str | None
    title: str | None
    made: float
    """Milliseconds since the epoch; 0 if it does not say."""


def head(entry: Entry) -> Head | None:
    """What a session's file says; None while it cannot be read."""
    try:
        return _head(entry.path, entry.stamp)
    except (ValueError, Unreadable):
        return None  # half written, or gone since it was listed: asked again at the next look


@lru_cache(maxsize=20_000)
def _head(path: str, stamp: tuple[int, int, int]) -> Head:
    """Raises ValueError, Unreadable for what is no session, so that it is not remembered."""
    value = decode(read_small(path, _LIMIT))
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        raise ValueError("no session")

    def text(name: str) -> str | None:
        found = value.get(name)
        return found if isinstance(found, str) and found else None

    times = value.get("time")
    made = times.get("created") if isinstance(times, dict) else None
    at = float(made) if isinstance(made, int | float) and not isinstance(made, bool) and 0 < made < 1e15 else 0.0
    return Head(value["id"], text("parentID"), text("directory"), text("title"), at)


def _scan(folder: str) -> Iterator[Entry]:
    try:
        with os.scandir(folder) as found:
            for one in found:
                if not one.name.endswith(".json") or one.name.startswith("."):
                    continue
                try:
                    status = one.stat()
                except OSError:
                    continue  # gone since it was listed
                yield Entry(one.name[:-5], one.path, (status.st_ino, status.st_size, status.st_mtime_ns))
    except OSError:
        return


def sessions(root: Path) -> Iterator[Entry]:
    """The files of all sessions below a storage."""
    try:
        with os.scandir(root / "session") as projects:
            names = sorted(one.path for one in projects if one.is_dir())
    except OSError:
        return
    for name in names:
        yield from (entry for entry in _scan(name) if entry.ident.startswith("ses_"))
