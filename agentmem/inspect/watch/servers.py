"""Databases on servers that are followed: what woke us, and whether anything in one is new.

A server tells ids of runs that were saved; what is new is then read from where the reader stands. Each is listened to
by a thread of its own, since listening blocks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from agentmem.inspect.discover import is_address, postgres

WAIT_SECONDS = 0.5


class Servers:
    """One connection a server, to ask whether its list of runs is another now."""

    def __init__(self) -> None:
        self._open: dict[str, Any] = {}

    def stamp(self, address: str) -> tuple[int, int, int, int]:
        """Another one whenever a run of that server was saved, begun or removed. Raises Unreadable."""
        module = postgres()
        if address not in self._open:
            module.place(address)
            self._open[address] = module.PostgresRuns(address)
        found: tuple[int, int, int, int] = self._open[address].stamp()
        return found


    def close(self) -> None:
        for store in self._open.values():
            store.close()
        self._open.clear()


class Wakes:
    """Listens to the servers among the targets and says so when one told something."""

    def __init__(self, targets: Sequence[str], out: Callable[[set[str]], None]) -> None:
        self._addresses = [target for target in targets if is_address(target)]
        self._out = out
        self._stop = threading.Event()

    def start(self) -> None:
        for address in self._addresses:
            threading.Thread(target=self._listen, args=(address,), name="agentmem-listen", daemon=True).start()

    def stop(self) -> None:
        self._stop.set()

    def _listen(self, address: str) -> None:
        module = postgres()
        try:
            listener = module.listener(address)
        except module.Unreadable:
            return  # no address, or no driver: the list says so
        try:
            while not self._stop.is_set():
                told = listener.wait(WAIT_SECONDS)
                if told is None or told:
                    self._out({address})
        finally:
            listener.close()
