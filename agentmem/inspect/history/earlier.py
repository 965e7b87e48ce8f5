"""The runs that stood in one file, one after the other: what is known of each, and all of one as JSON lines.

Of a file that is overwritten they are in the history store; a file that grows holds them itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec

from agentmem.formats.loose import decode, encode
from agentmem.inspect.history.store import HistoryStore
from agentmem.model import Where


class Stood(msgspec.Struct, frozen=True):
    """One run that stood in a file, or stands there now."""

    number: int
    """From 1, the oldest first."""
    now: bool
    """Whether it is the one that stands there now, as far as the file was seen."""
    bytes: int
    """Of what is kept of it; of the file that holds it."""
    versions: int | None = None
    """How many of the file were seen; None of a file that grows."""
    started: float | None = None
    """When it was seen first, seconds since the epoch; then when last."""
    seen: float | None = None


def kept(store: Path, path: str) -> list[Stood]:
    """The runs of a file that is overwritten. Raises Unreadable for a damaged store."""
    with HistoryStore.reading(store) as history:
        found = history.generations(path)
    return [Stood(number, number == len(found), one.bytes, one.versions, one.started, one.seen)
            for number, one in enumerate(found, 1)]  # fmt: skip


def kept_lines(store: Path, path: str, number: int) -> Iterator[bytes]:
    """One of them: each version of the file, whole, as one line. Raises IndexError for a number that is not there,
    Unreadable for a damaged store."""
    with HistoryStore.reading(store) as history:
        of = history.generations(path)[number - 1].id
        for version in history.past(path, of):
            messages = [history.message(path, key) for key in version.messages]
            rest = decode(version.rest)
            # A list alone has nothing beside it.
            rest["messages"] = [decode(message) for message in messages if message is not None]
            yield encode(rest)


def grown(path: str, began: tuple[Where, ...]) -> list[Stood]:
    """The runs of a file that grows; `began`: where each but the first begins."""
    return [Stood(number, number == len(began) + 1, end - start)
            for number, (start, end) in enumerate(_parts(path, began), 1)]  # fmt: skip


def grown_lines(path: str, began: tuple[Where, ...], number: int) -> Iterator[bytes]:
    """One of them as it stands in the file. Raises IndexError, OSError."""
    start, end = _parts(path, began)[number - 1]
    with open(path, "rb") as file:
        file.seek(start)
        yield from file.read(end - start).removesuffix(b"\n").split(b"\n")


def _parts(path: str, began: tuple[Where, ...]) -> list[tuple[int, int]]:
    edges = [0, *(where.offset for where in began), Path(path).stat().st_size]
    return list(pairwise(edges))
