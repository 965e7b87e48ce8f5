"""A forked thread begins with a copy of its parent's records: they make its prompt, their calls are the parent's.

The copy ends at the first turn that is younger than the thread (turn ids carry their time), or at the first record
written later than the copy, which is written at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentmem.formats.agents.codex.records.lines import Entry, seconds

_UUID7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE)
_AT_ONCE = 2.0
"""Seconds that writing the copy takes at most."""


def born(ident: object) -> float | None:
    """The time in a version 7 UUID, in seconds since the epoch; None for any other id."""
    found = _UUID7.fullmatch(ident) if isinstance(ident, str) else None
    return int(found.group(1) + found.group(2), 16) / 1000 if found else None


class Copied:
    """Whether records are still those of the parent."""

    def __init__(self) -> None:
        self.going = False
        self.parent: str | None = None
        self._parents: set[str] = set()
        self._born: float | None = None
        self._at: float | None = None

    def head(self, entry: Entry, payload: Mapping[str, Any]) -> None:
        """The thread's own head."""
        source = payload.get("source")
        spawn = source.get("subagent") if isinstance(source, Mapping) else None
        spawn = spawn.get("thread_spawn") if isinstance(spawn, Mapping) else None
        named = [payload.get("forked_from_id"), payload.get("parent_thread_id")]
        named.append(spawn.get("parent_thread_id") if isinstance(spawn, Mapping) else None)
        self._parents = {name for name in named if isinstance(name, str) and name}
        self._born = born(payload.get("id"))
        self._at = entry.at if entry.at is not None else seconds(payload.get("timestamp"))

    def begins(self, ident: object) -> bool:
        """A second head: that of the parent begins the copy (heads of its own parents stand in it)."""
        if self.going:
            return True
        if isinstance(ident, str) and ident in self._parents:
            self.going, self.parent = True, ident
        return self.going

    def ends(self, entry: Entry) -> bool:
        """Whether that record is the thread's own."""
        if entry.kind == "turn_context" or entry.sub in ("task_started", "turn_started"):
            turn = born(entry.payload.get("turn_id"))
            if turn is not None and self._born is not None:
                return turn >= self._born
        at = entry.at
        return at is not None and self._at is not None and at > self._at + _AT_ONCE
