"""What came through the boundaries of a run, found when it is looked at: for it the whole text of what left is read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import overload

from agentmem.model import Survival


class Later:
    """A survival that is found once, by the first that asks for it. Safe from two threads."""

    __slots__ = ("_find", "_found", "_lock")

    def __init__(self, find: Callable[[], Survival]) -> None:
        self._find: Callable[[], Survival] | None = find
        self._found: Survival | None = None
        self._lock = threading.Lock()

    def get(self) -> Survival:
        with self._lock:
            if self._found is None:
                assert self._find is not None
                self._found, self._find = self._find(), None
            return self._found


class Survivals(Sequence[Survival]):
    """As a tuple of them; how many there are is known without looking at any."""

    __slots__ = ("_later",)

    def __init__(self, later: Sequence[Later]) -> None:
        self._later = tuple(later)

    def __len__(self) -> int:
        return len(self._later)

    @overload
    def __getitem__(self, index: int) -> Survival: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Survival, ...]: ...
    def __getitem__(self, index: int | slice) -> Survival | tuple[Survival, ...]:
        if isinstance(index, slice):
            return tuple(one.get() for one in self._later[index])
        return self._later[index].get()

    def __iter__(self) -> Iterator[Survival]:
        return (one.get() for one in self._later)
