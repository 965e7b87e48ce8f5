"""What the panes are shown beside (run, cursor): one frozen value, made by the run screen, read by every pane.

A pane never looks at another pane, at a file or at the screen; whatever it needs beyond the run is here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from agentmem.model import Cursor, Lifeline, Run, RunInfo, Step

    from .index import Index


class Texts:
    """Whole texts that the worker has fetched for one run, by (lane, segment id). Lives on the UI thread.

    `note` of a text says why there is only a head (the bytes in the file have changed, the file is gone).
    """

    def __init__(self, ask: Callable[[str, Sequence[int]], None] | None = None, limit: int = 64_000_000) -> None:
        self._ask = ask
        self._limit = limit
        self._size = 0
        self._texts: dict[tuple[str, int], str | None] = {}
        self._notes: dict[tuple[str, int], str] = {}
        self._asked: set[tuple[str, int]] = set()

    def get(self, lane: str, ident: int) -> str | None:
        return self._texts.get((lane, ident))

    def note(self, lane: str, ident: int) -> str:
        return self._notes.get((lane, ident), "")

    def put(self, lane: str, ident: int, text: str | None, note: str = "") -> None:
        """Keep a text; the oldest go when the cache is full (characters, about)."""
        key = (lane, ident)
        self._asked.discard(key)
        self._size += len(text or "") - len(self._texts.pop(key, None) or "")
        self._texts[key] = text
        if note:
            self._notes[key] = note
        while self._size > self._limit and len(self._texts) > 1:
            first = next(iter(self._texts))
            self._size -= len(self._texts.pop(first) or "")

    def request(self, lane: str, idents: Sequence[int]) -> None:
        """Ask the worker, once, for texts that are not here; each comes back as `TextReady`."""
        wanted = [i for i in idents if (lane, i) not in self._texts and (lane, i) not in self._asked]
        if wanted and self._ask is not None:
            self._asked.update((lane, i) for i in wanted)
            self._ask(lane, wanted)


class Context(msgspec.Struct, frozen=True, eq=False):
    """Everything a pane may need that is neither the run nor the cursor."""

    index: Index
    """What is computed once a run: sizes, marks, alarms, by lane; see `tui.index`."""
    width: int = 80
    """Columns of the whole terminal: the breakpoints 100, 120, 140 go by it, not by the pane's own width."""
    height: int = 24
    changes: bool = False
    """`=`: show changes only."""
    base: Cursor | None = None
    """`m`: what changes are shown against; None: the step's parent."""
    pins: tuple[str, ...] = ()
    """Texts that the reader follows, oldest first."""
    lifelines: Mapping[str, Lifeline] = msgspec.field(default_factory=dict)
    """Lifelines of the pins and of the last find, by text, as far as the worker has answered."""
    texts: Texts = msgspec.field(default_factory=Texts)
    lane: str = ""
    """Lane of the cursor: the ids that `text_of` and `request_text` take are ids of this lane."""
    runs: tuple[RunInfo, ...] = ()
    now: float | None = None
    """Seconds since the epoch when the screen last ticked; None in tests: no clock is shown."""
    opened: set[tuple[object, ...]] = msgspec.field(default_factory=set)
    """Folds that the reader opened, by ident: the lost pane opens and closes them, `d` goes through the open ones."""

    def text_of(self, segment_id: int, lane: str | None = None) -> str | None:
        """Whole text of a segment if it has been fetched. Draw the head meanwhile."""
        return self.texts.get(lane or self.lane, segment_id)

    def note_of(self, segment_id: int, lane: str | None = None) -> str:
        """Why `text_of` stays None although the worker has answered; empty if there is nothing to say."""
        return self.texts.note(lane or self.lane, segment_id)

    def request_text(self, *segment_ids: int, lane: str | None = None) -> None:
        """Ask for whole texts; cheap and idempotent. `Pane.texts_changed` is called when they are there."""
        self.texts.request(lane or self.lane, segment_ids)


class View(msgspec.Struct, frozen=True, eq=False):
    """What the bands draw (header, verdict, timeline, strip, footer): the panes' values and the reader's place."""

    run: Run
    index: Index
    cursor: Cursor
    context: Context
    following: bool = True
    behind: int = 0
    """Steps after the cursor's."""
    trouble: str = ""
    """What the worker has to say, in place of the run's name."""
    progress: tuple[int, int] | None = None
    """(read, total) bytes while a big file is still being read."""
    zoomed: bool = False
    """`Z`: the timeline shows only the surroundings of the cursor."""

    @property
    def step(self) -> Step:
        return self.index[self.cursor[0]].steps[self.cursor[1] - 1]
