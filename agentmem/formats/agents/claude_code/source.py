"""One file of a session, and its lines that wait for the one that they hang on."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator
from pathlib import Path

from agentmem.formats.agents.claude_code.chain import Node
from agentmem.formats.agents.claude_code.records import Entry
from agentmem.formats.source import AppendFile, given_slice

WAIT = 64
"""So many lines are waited for the one that a line hangs on."""
LONGEST_WAIT = 5000
"""So many where it is known to come."""


class Source:
    """One file of the session, and its lines that wait for the one before them."""

    def __init__(self, path: Path, lane: str | None) -> None:
        self.file = AppendFile(path)
        self.path = str(path)
        self.lane = lane
        """The lane of all its lines: a subagent's file. None: the session's own file."""
        self.nodes: dict[str, Node] = {}
        self._queue: deque[Entry] = deque()
        self._queued: dict[str, Entry] = {}

    @property
    def stopped(self) -> bool:
        """Whether this look stopped in the middle of the file."""
        given = given_slice()
        return given is not None and self.path in given.behind

    def put(self, entry: Entry) -> None:
        """A line of the chain, in the order of the file."""
        self._queue.append(entry)
        self._queued.setdefault(entry.ident, entry)

    def ready(self, expected: Container[str], *, last: bool) -> Iterator[Entry]:
        """The lines that may be put now, each behind the one that it hangs on; whoever takes one puts it into `nodes`
        before the next. `expected`: lines that are known to come late. `last`: nothing is waited for."""
        queue = self._queue
        while queue:
            head = queue[0]
            if not head.placed:
                way, missing = self._way(head)
                limit = LONGEST_WAIT if missing in expected else WAIT
                if missing is not None and not last and len(queue) < limit:
                    return
                yield from reversed(way)
                yield head
            queue.popleft()
            if self._queued.get(head.ident) is head:
                del self._queued[head.ident]

    def _way(self, head: Entry) -> tuple[list[Entry], str | None]:
        """(waiting lines that it hangs on, nearest first; the line behind them that has not come)."""
        way: list[Entry] = []
        at, seen = head, {head.ident}
        if head.ident in self.nodes:
            return way, None
        while at.parent is not None and at.parent not in self.nodes:
            found = self._queued.get(at.parent)
            if found is None or found.placed:
                return way, at.parent
            if found.ident in seen:
                return [], None
            seen.add(found.ident)
            way.append(found)
            at = found
        return way, None
