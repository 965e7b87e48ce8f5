"""Versions of this process, in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping

from agentmem.formats.reader import Version

MEMORY_LIMIT = 256 * 1024 * 1024


class MemoryKeeper:
    """Keeps messages up to a limit in bytes; then the oldest ones leave, and their texts are no longer at hand."""

    def __init__(self, limit: int = MEMORY_LIMIT) -> None:
        self._limit = limit
        self._held = 0
        self._messages: OrderedDict[tuple[str, int], bytes] = OrderedDict()

    def past(self, path: str) -> Iterable[Version]:
        return ()

    def begin(self, path: str) -> None:
        """There is no past to stand on."""

    def keep(self, path: str, version: Version, new: Mapping[int, bytes]) -> None:
        for key, data in new.items():
            if (path, key) not in self._messages:
                self._messages[path, key] = data
                self._held += len(data)
        while self._held > self._limit and len(self._messages) > 1:
            self._held -= len(self._messages.popitem(last=False)[1])

    def message(self, path: str, key: int) -> bytes | None:
        return self._messages.get((path, key))

    def earlier(self, path: str) -> int:
        return 0

    def close(self) -> None:
        """Nothing to close."""
