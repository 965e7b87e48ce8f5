"""Live runs that are not on the screen: where their writer overwrites the file, each version that is noticed is read,
so that none is missing once the run is looked at. Nothing is put together of it until then.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from agentmem.formats import recognise
from agentmem.formats.reader import Keeper, Options, Reader
from agentmem.formats.source import NotYet, Unreadable
from agentmem.inspect.discover import WRITTEN_WHOLE
from agentmem.inspect.open import Opened
from agentmem.inspect.telling.pulse import BEING_WRITTEN

MOST = 50
"""So many files are followed at once; that which changed longest ago leaves for another."""
SHARE = 9
"""Reading takes one tenth of the time at most: many fast writers leave gaps, and never a slow screen."""
AGAIN_SECONDS = 0.05
"""A half-written file is looked at again after this time."""
FORGET_SECONDS = 2.0
"""For so long a path that no target is known to hold waits to become one that does."""


class Sampler:
    """The readers of such files, by absolute path."""

    def __init__(self, keeper: Keeper, counter: str) -> None:
        self._options = Options(counter, None, keeper)
        self._readers: OrderedDict[str, Reader] = OrderedDict()
        """That which changed last is last."""
        self._other: set[str] = set()
        """Files whose format keeps its own past."""
        self._waiting: OrderedDict[str, float] = OrderedDict()
        """Paths to look at, the first one next, with the time when each changed."""
        self._due = 0.0

    def note(self, paths: set[str]) -> None:
        """These paths changed."""
        now = time.monotonic()
        for path in paths:
            if path.endswith(WRITTEN_WHOLE) and path not in self._other:
                self._waiting.setdefault(os.path.abspath(path), now)

    def wait(self) -> float | None:
        """Seconds until there is something to do; None: there is nothing."""
        return max(0.0, self._due - time.monotonic()) if self._waiting else None

    def work(
        self, holds: Callable[[str], bool], opened: Callable[[str], Opened | None], shown: str | None, seconds: float
    ) -> dict[str, int]:  # fmt: skip
        """Read what waits, for about so long. `holds`: whether a target holds a path; `opened`: the run that was opened
        from it; `shown`: the path that is read by itself. Returns how many steps were done in each file that was read,
        as opening it would tell."""
        began = time.monotonic()
        counted: dict[str, int] = {}
        if began < self._due:
            return counted
        late = []
        while self._waiting and time.monotonic() - began < seconds:
            path, since = self._waiting.popitem(last=False)
            if path == shown:
                continue
            if not holds(path):
                late += [(path, since)] * (began - since < FORGET_SECONDS)
            elif not self._read(path, opened(path), counted):
                late.append((path, since))
        cost = time.monotonic() - began
        self._due = began + cost + max(SHARE * cost, AGAIN_SECONDS if late and not self._waiting else 0.0)
        for path, since in late:
            self._waiting.setdefault(path, since)
        return counted

    def _read(self, path: str, opened: Opened | None, counted: dict[str, int]) -> bool:
        """False: it is to be looked at again soon."""
        try:
            if opened is not None:
                if not opened.overwritten:
                    return True
                reader = opened.sample()
            else:
                found = self._readers.get(path) or self._open(path)
                if found is None:
                    return True
                reader = found
                reader.refresh()
                self.give(path, reader)
        except NotYet:
            return False
        except (Unreadable, OSError):
            return True  # said when it is opened
        counted[path] = sum(len(lane.steps) for lane in reader.draft.lanes.values())
        return not (reader.draft.notice or "").startswith(BEING_WRITTEN)

    def _open(self, path: str) -> Reader | None:
        known = recognise(Path(path))
        if known is None:
            return None
        if not known.overwritten:
            self._other.add(path)
            return None
        return known.open(Path(path), self._options)

    def give(self, path: str, reader: Reader) -> None:
        """Follow a file by a reader that has read it."""
        self._readers[path] = reader
        self._readers.move_to_end(path)
        while len(self._readers) > MOST:
            self._readers.popitem(last=False)

    def take(self, path: str) -> Reader | None:
        """The reader of a file, with all that it saw; it is followed here no longer."""
        self._waiting.pop(path, None)
        return self._readers.pop(path, None)
