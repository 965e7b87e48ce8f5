"""A row of what was lost while its run still goes on: what comes back and what fails for it is not yet known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from agentmem.formats.draft import Call, Declared
from agentmem.model import Boundary, Cause, Drop, Field, Kind, Miss, Segment, Still
from agentmem.tape import Edit, Tape


class Row(msgspec.Struct, eq=False):
    """What becomes a `Drop`. Fields as there; indices count the steps of the lane from 0."""

    index: int
    what: Literal["segment", "field", "plan"]
    name: str
    kind: Kind
    head: str | None
    tokens: int | None
    cause: Cause
    recorded: bool
    segment: int | None = None
    text: str | None = None
    count: int = 1
    record: str | None = None
    stub: int | None = None
    held: bool = False
    """A field that left the prompt and is still held in the state."""
    ids: tuple[int, ...] = ()
    """Pieces that the row stands for."""
    keys: set[int] = msgspec.field(default_factory=set)
    """Contents that have not come back yet."""
    returned: int | None = None
    misses: list[Miss] = msgspec.field(default_factory=list)
    """Every failure that needed it while it was gone; the first is what the drop is tied to."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Of a note or a summary: (name, value) of what it says as `name = value` or `name: value`."""
    marks: tuple[str, ...] = ()
    """What an error must have one of to name any of `pairs` (`words.marks_of`)."""
    still: Still | None = None
    """Of a loss that was spared: why. It is no drop until a call fails for it."""

    def freeze(self, lane: str, number: Callable[[int], int], last_step: int) -> Drop:
        """`number` gives the number of a step by its index; `last_step` is the parent's."""
        return Drop(
            lane, self.index + 1, number(self.index), self.what, self.name, self.kind, self.head, self.tokens,
            self.cause, self.recorded, last_step, None if self.returned is None else number(self.returned),
            tuple(self.misses[:1]), self.segment, self.text, self.count, self.record, self.stub,
            tuple(self.misses[1:]), self.still,
        )  # fmt: skip


def title(segment: Segment) -> str:
    """A name for a piece: its field, else its kind with its tool."""
    if segment.field is not None:
        return segment.field
    if segment.tool is not None:
        return f"{segment.kind} of {segment.tool}" if segment.kind != "call" else f"call {segment.tool}"
    names = {"system": "system prompt", "tools": "tool schemas", "user": "user message", "assistant": "reply"}
    return names.get(segment.kind, segment.kind)


class Spared(msgspec.Struct, frozen=True, eq=False):
    """Something that left and is no drop, and why not, in words."""

    name: str
    why: str
    segment: int | None = None


class Passage(msgspec.Struct, eq=False):
    """All that one comparison looks at: a step's prompt and state against its parent's."""

    index: int
    """Index of the step from 0; its prompt is `index + 1` on the tape."""
    tape: Tape
    left: tuple[int, ...]
    came: tuple[int, ...]
    edits: tuple[Edit, ...]
    before: tuple[Field, ...]
    after: tuple[Field, ...]
    declared: Iterable[Declared]
    boundary: Boundary | None
    calls: Iterable[Call]
    """Calls of this step and of its parent."""
    text: Callable[[int], str | None]
    """Whole text of a piece of this lane."""
    gap: bool = False
    """Steps are missing before this one: what happened in between is unknown."""
    restarted: bool = False
    """A new run in the same file."""
    live: Callable[[], list[int]] = list
    """Ids of the step's prompt, in order."""
    absent: Callable[[str, str | None], bool] = lambda name, text: False
    """Whether what bears that name and text, or as a piece that text, left earlier and has not come back."""
    given: bool = False
    """The file itself tells the boundary; otherwise it was concluded."""
    goal_stands: bool = False
    """The goal stands in this step's prompt, whatever piece carries it."""


class Outcome(msgspec.Struct, eq=False):
    rows: list[Row] = msgspec.field(default_factory=list)
    spared: list[Spared] = msgspec.field(default_factory=list)
    waiting: list[Row] = msgspec.field(default_factory=list)
    """Of what was spared: the rows that become drops if a call fails for them."""
