"""Whole texts of pieces: fetched from the file when they are looked at, and checked against their key."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from agentmem.formats.draft import LaneDraft
from agentmem.formats.reader import Keeper
from agentmem.formats.source import Unreadable, read_at
from agentmem.model import Segment, Where
from agentmem.tape import Tape, content_key

HISTORY = "history:"
"""Sources that begin so stand in the history of versions seen: `history:PATH`, the offset is the message's hash."""
_KEPT_CHARACTERS = 16_000_000
_KEPT_RECORDS = 16
_KEPT_RECORD = 4 * 1024 * 1024
_LARGEST_RECORD = 256 * 1024 * 1024


class Fetcher(Protocol):
    """What knows how its own records are split: a reader."""

    def extract(self, raw: bytes, part: int) -> str | None:
        """Whole text of piece `part` of the record whose bytes are `raw`."""


class Texts:
    """Fetches whole texts through `Where`; keeps the latest ones (about 16 million characters). Safe from two threads.

    `rows` reads the bytes of a record that is no span of a file (a row of a database).
    """

    def __init__(
        self, reader: Fetcher, keeper: Keeper | None = None, rows: Callable[[Where], bytes | None] | None = None
    ) -> None:
        self._reader = reader
        self._keeper = keeper
        self._rows = rows
        self._lock = threading.RLock()
        self._texts: OrderedDict[int, str] = OrderedDict()
        self._held = 0
        self._records: OrderedDict[tuple[str, int, int], bytes] = OrderedDict()

    def text(self, lane: LaneDraft | Tape, ident: int) -> str | None:
        """Whole text of piece `ident`; None if it is unknown, unreadable, or no longer the same in the file."""
        tape = lane if isinstance(lane, Tape) else lane.tape
        return self.of(tape.segment(ident))

    def of(self, segment: Segment) -> str | None:
        """Whole text of a segment, as `text`."""
        head = segment.head
        if head is None:
            return None
        if segment.characters is not None and segment.characters <= len(head):
            return head
        with self._lock:
            kept = self._texts.get(segment.key)
            if kept is not None:
                self._texts.move_to_end(segment.key)
                return kept
            text = self._fetch(segment)
            if text is None or content_key(segment.kind, text) != segment.key:
                return None
            self._keep(segment.key, text)
            return text

    def put(self, key: int, text: str) -> None:
        """A text that is at hand anyway."""
        with self._lock:
            if key not in self._texts:
                self._keep(key, text)

    def raw(self, where: Where) -> bytes | None:
        """Bytes of the record that holds a piece; None if they cannot be read."""
        place = (where.source, where.offset, where.length)
        with self._lock:
            data = self._records.get(place)
            if data is None:
                data = self._read(where)
                if data is None:
                    return None
                if len(data) > _KEPT_RECORD:
                    return data
                self._records[place] = data
                while len(self._records) > _KEPT_RECORDS:
                    self._records.popitem(last=False)
            return data

    def _read(self, where: Where) -> bytes | None:
        if where.source.startswith(HISTORY):
            return self._keeper.message(where.source[len(HISTORY) :], where.offset) if self._keeper else None
        if "://" in where.source or where.source.startswith("sqlite:"):
            return self._rows(where) if self._rows else None
        if where.length > _LARGEST_RECORD:
            return None
        try:
            data = read_at(where.source, where.offset, where.length)
        except (Unreadable, OSError):
            return None
        return data if len(data) == where.length else None

    def _fetch(self, segment: Segment) -> str | None:
        where = segment.where
        if where is None:
            return None
        data = self.raw(where)
        if data is None:
            return None
        try:
            text = self._reader.extract(data, where.part)
        except ValueError:
            return None  # damaged, or other bytes stand there now
        if text is not None and where.span is not None:
            return text[where.span[0] : where.span[1]]
        return text

    def _keep(self, key: int, text: str) -> None:
        if len(text) > _KEPT_CHARACTERS:
            return
        self._texts[key] = text
        self._held += len(text)
        while self._held > _KEPT_CHARACTERS:
            _, old = self._texts.popitem(last=False)
            self._held -= len(old)
