"""What events say of the prompt, kept until the turn is over: it counts only where no response item says it.

Since early 2026 some files tell their messages by `item_completed` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.formats.agents.codex.records.events import Content, event_content
from agentmem.formats.agents.codex.records.lines import Entry, Place

if TYPE_CHECKING:
    from agentmem.formats.agents.codex.thread import Thread


class Told:
    """The events of the turn that goes on."""

    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        self._events: list[tuple[Content, Place, float | None]] = []
        self._seen: set[str] = set()
        self._ever = False
        self._early = False
        self.restart = False
        """An item came for what was taken from events before: the file is to be read again."""

    def item_seen(self, sort: str) -> None:
        """A response item of that sort stands in this turn."""
        self._seen.add(sort)
        self._ever = True
        if self._early:
            self.restart = True

    def event(self, entry: Entry, place: Place) -> bool:
        """Take in an event. False: it holds an item of unknown type."""
        content = event_content(entry.payload, entry.sub)
        if content is None:
            return entry.sub != "item_completed"
        if content.sort == "plan":
            self._thread.proposed(content)
        elif content.parts:
            self._events.append((content, place, entry.at))
        return True

    def turn_over(self) -> None:
        """The turn has ended: what no item said is taken from its events."""
        self._replay()
        self._seen.clear()
        self._early = False

    def flush(self, quiet: bool) -> bool:
        """The end of the file. `quiet`: nothing was written for a while. True if something was taken from events."""
        if self._events and (quiet or not self._ever):
            self._early = self._replay() or self._early
            return self._early
        return False

    def _replay(self) -> bool:
        done = False
        for content, place, at in self._events:
            thought = content.parts[0].kind == "thinking"
            if content.sort in self._seen or (thought and self._seen):
                continue
            done = True
            if content.sort == "user":
                self._thread.input(content.parts, place, at)
                continue
            self._thread.output(content.parts[:1], place, at)
            if len(content.parts) > 1:
                self._thread.result(content.parts[1], place, at)
        self._events.clear()
        return done
