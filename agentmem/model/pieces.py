"""Pieces of a prompt and of a state, and what was dropped of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Literal

import msgspec

from agentmem.model.kinds import STATE_KINDS, Cause, Kind, Provenance


class Where(msgspec.Struct, frozen=True, eq=False, gc=False):
    """Where the whole text of a piece stands: bytes `offset .. offset+length` of `source`, piece `part` in it."""

    source: str
    """A file path, or `sqlite:PATH?table=...` style address of a row; read through `agentmem.formats.texts`."""
    offset: int
    length: int
    part: int = 0
    """Ordinal of the piece among the pieces that the record is split into."""
    span: tuple[int, int] | None = None
    """Code points of the part's text, if the piece is carved out of it."""
    line: int | None = None
    """Line of the file, from 1, where the record begins, if known."""


class Segment(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One occurrence of a piece in a prompt."""

    id: int
    kind: Kind
    head: str | None
    """The first 120 characters; None if the text is unknown (system prompt not in the file)."""
    tokens: int | None
    key: int
    """Hash of kind and whole text: equal keys are the same content."""
    where: Where | None = None
    call_id: str | None = None
    stub_of: int | None = None
    """Id of the piece that this one stands for, if it is a stub or a summary."""
    field: str | None = None
    """Name of the field of the state that this piece carries; FRAME: the words around the fields."""
    tool: str | None = None
    """Name of the tool, for a call, its result and its error."""
    characters: int | None = None
    """Length of the whole text in code points."""


class Prompt(Sequence[Segment]):
    """What the model saw at one step, in order. Segments are made when looked at (`agentmem.tape.PromptView`)."""

    __slots__ = ("limit", "provenance")
    limit: int | None
    provenance: Provenance

    @property
    @abstractmethod
    def ids(self) -> Sequence[int]:
        """Ids of the segments, without making them."""


class Field(msgspec.Struct, frozen=True, eq=False):
    """One field of the state that the agent holds."""

    name: str
    """One level: `goal`, `facts.port`, `plan[2]`."""
    value: str
    """Text as it is; anything else as canonical JSON."""
    tokens: int
    verified_by: str | None = None
    verified_at: int | None = None
    """Step number (`own` where the file has one)."""
    segment: int | None = None
    """Id of the prompt's segment that carries it; None: held in the state, not in the prompt."""
    done: bool | None = None
    """For a plan item: finished or not."""


class Miss(msgspec.Struct, frozen=True, eq=False):
    """A later failure that needed what was dropped."""

    lane: str
    n: int
    step: int
    tool: str
    error: str


class Still(msgspec.Struct, frozen=True, eq=False):
    """Why something that left was no drop by itself: it is one only because a later call failed for the lack of it."""

    why: str
    """In words: `its value still stood in the goal`, `notes was worded anew without it`."""
    where: str | None = None
    """Where its value stood when that call failed, in words; None: nowhere."""
    segment: int | None = None
    """The piece of that step's prompt that held it, if one did."""
    part_of: str | None = None
    """The field or text that said it, where that still stands with other words."""


class Drop(msgspec.Struct, frozen=True, eq=False):
    """Something that stood in the prompt or state of the parent step and does not stand in this one."""

    lane: str
    n: int
    step: int
    """`own` number where the file has one, else n; likewise last_step, returned_at."""
    what: Literal["segment", "field", "plan"]
    name: str
    kind: Kind
    head: str | None
    tokens: int | None
    cause: Cause
    recorded: bool
    last_step: int
    returned_at: int | None = None
    missed_by: tuple[Miss, ...] = ()
    segment: int | None = None
    """Id of the piece, to fetch its whole text; None for a field that was held but in no prompt."""
    text: str | None = None
    """Whole text where it is at hand (fields); else fetch the segment."""
    count: int = 1
    """How many pieces this row stands for (a sliding window is one grouped row a step)."""
    record: str | None = None
    """Who recorded it and where, in words."""
    stub: int | None = None
    """Id of the stub or summary that stands in its place."""
    needed_by: tuple[Miss, ...] = ()
    """Failures after the first (`missed_by`) that needed it as well while it was gone."""
    still: Still | None = None
    """Of a loss that is told only because a call failed for it."""

    @property
    def alarming(self) -> bool:
        """▲: an unrecorded drop of a field, fact, plan item, the goal or the system prompt."""
        if self.recorded:
            return False
        if self.what != "segment" or self.kind in STATE_KINDS:
            return True
        return self.kind == "system" and self.cause != "replaced"

    @property
    def needs(self) -> tuple[Miss, ...]:
        """Every failure that needed it, the first one first."""
        return (*self.missed_by, *self.needed_by)
