"""A forked thread begins with a copy of its parent's records: they make its prompt, their calls are the parent's.

A newer writer copies nothing and names where the history stands (`history_base`).

The copy ends at the first turn that is younger than the thread (turn ids carry their time), or at the first record
written later than the copy, which is written at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentmem.formats.agents.codex.records.lines import Entry
from agentmem.formats.shared.times import seconds
from agentmem.pattern import pattern

_UUID7 = pattern(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE)
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
        self._own_from: int | None = None
        self.base: tuple[str, int | None, int | None] | None = None
        """(thread, byte, ordinal): the history stands in the rollout of that thread, up to there."""

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
        named = [name for name in named if isinstance(name, str) and name]
        start = payload.get("subagent_history_start_ordinal")
        if isinstance(start, int) and named:
            self._own_from, self.going, self.parent = start, True, str(named[0])
        given = payload.get("history_base")
        base = given if isinstance(given, Mapping) else {}
        thread = base.get("thread_id") or (named[0] if named else None)
        end, ordinal = base.get("end_byte_offset"), base.get("end_ordinal_exclusive")
        if ordinal is None:
            ordinal = payload.get("forked_from_ordinal_exclusive")
        if isinstance(thread, str) and (isinstance(end, int) or isinstance(ordinal, int)):
            self.base = (thread, end if isinstance(end, int) else None, ordinal if isinstance(ordinal, int) else None)

    @property
    def named(self) -> str | None:
        return min(self._parents, default=None)

    def begins(self, ident: object) -> bool:
        """A second head: that of the parent begins the copy (heads of its own parents stand in it)."""
        if self.going:
            return True
        if isinstance(ident, str) and ident in self._parents:
            self.going, self.parent = True, ident
        return self.going

    def older(self, entry: Entry) -> bool:
        """Whether a turn of a thread that has a parent is older than the thread itself."""
        if not self._parents or entry.kind != "turn_context" and entry.sub not in ("task_started", "turn_started"):
            return False
        turn = born(entry.payload.get("turn_id"))
        return turn is not None and self._born is not None and turn < self._born

    def ends(self, entry: Entry) -> bool:
        """Whether that record is the thread's own."""
        if self._own_from is not None:
            return entry.ordinal is not None and entry.ordinal >= self._own_from
        if entry.kind == "turn_context" or entry.sub in ("task_started", "turn_started"):
            turn = born(entry.payload.get("turn_id"))
            if turn is not None and self._born is not None:
                return turn >= self._born
        at = entry.at
        return at is not None and self._at is not None and at > self._at + _AT_ONCE
