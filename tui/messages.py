"""What travels: downwards whole immutable values from the worker, upwards what the reader did.

Messages from the worker that stand for the newest state are replaceable: a slow screen skips versions, loses nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from textual.message import Message

if TYPE_CHECKING:
    from agentmem.model import Cursor, Lifeline, Run, RunInfo

    from .index import Index


class RunChanged(Message):
    """A new value of the open run, with its index and what `agentmem line` says of it, computed in the worker."""

    def __init__(self, run: Run, index: Index, line: str) -> None:
        super().__init__()
        self.run, self.index, self.line = run, index, line

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, RunChanged) and message.run.id == self.run.id


class RunsChanged(Message):
    """The list of runs, whole."""

    def __init__(self, infos: tuple[RunInfo, ...]) -> None:
        super().__init__()
        self.infos = infos

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, RunsChanged)


class Progress(Message):
    """Bytes read so far of the open run."""

    def __init__(self, done: int, total: int) -> None:
        super().__init__()
        self.done, self.total = done, total

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Progress)


class TextReady(Message):
    """The whole text of a segment; None with a note when it cannot be had."""

    def __init__(self, run_id: str, lane: str, segment_id: int, text: str | None, note: str = "") -> None:
        super().__init__()
        self.run_id, self.lane, self.segment_id, self.text, self.note = run_id, lane, segment_id, text, note


class RawReady(Message):
    """The raw record that a segment came from, with file and line."""

    def __init__(self, run_id: str, lane: str, segment_id: int, raw: str, path: str, line: int | None) -> None:
        super().__init__()
        self.run_id, self.lane, self.segment_id = run_id, lane, segment_id
        self.raw, self.path, self.line = raw, path, line


class LifelineReady(Message):
    """Where a text stood, over one lane."""

    def __init__(self, run_id: str, lane: str, text: str, lifeline: Lifeline) -> None:
        super().__init__()
        self.run_id, self.lane, self.text, self.lifeline = run_id, lane, text, lifeline


class Trouble(Message):
    """Something the worker has to say in the header; empty: it is over."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Moved(Message):
    """The reader went to another step. The one message by which panes steer the screen."""

    def __init__(self, cursor: Cursor) -> None:
        super().__init__()
        self.cursor = cursor


class Opened(Message):
    """Enter or a second click on a row whose target the pane itself did not handle (`Pane.open_target`).

    The screen understands `ToStep`, `ToSegment` and a plain step number (n of the cursor's lane)."""

    def __init__(self, target: object, pane: str) -> None:
        super().__init__()
        self.target, self.pane = target, pane


class Grown(Message):
    """A pane holds more lines than before: the reader opened a row, or what it waited for has come."""


class Say(Message):
    """One sentence for the reader, shown as a toast; plain text, made safe by the screen."""

    def __init__(self, text: str, severe: bool = False) -> None:
        super().__init__()
        self.text, self.severe = text, severe


class ToStep(msgspec.Struct, frozen=True):
    """A row's target: go to that step (n, not the file's own number); `pane` names the pane to open there."""

    lane: str
    n: int
    pane: str | None = None


class ToSegment(msgspec.Struct, frozen=True):
    """A row's target: go to step n, open the prompt pane, put its cursor on the segment."""

    lane: str
    n: int
    segment: int


class Do(msgspec.Struct, frozen=True):
    """A click's target: run the command of that id (`tui.keys`)."""

    command: str
