"""One model call with what it saw, answered and got back; the lanes that steps make."""

from __future__ import annotations

import msgspec

from agentmem.model.kinds import BoundaryKind, Effect, GoalStatus, LaneKind, Outcome, Unsure
from agentmem.model.pieces import Drop, Field, Prompt, Segment


class Attempt(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One tool call with what came of it."""

    lane: str
    n: int
    step: int
    index: int
    """Place among the calls of its step, from 1."""
    tool: str
    arguments: str
    """Canonical JSON, or the text as given where it is no JSON."""
    call_id: str | None
    signature: str
    effect: Effect
    outcome: Outcome
    result_key: str | None
    """Hash of the masked result; None while unknown."""
    result_head: str | None = None
    error: str | None = None
    """The error line, if the outcome is error or denied."""
    started: float | None = None
    """Seconds since the epoch; likewise ended."""
    ended: float | None = None
    tokens: int | None = None
    """Prompt tokens of the step that made it (once per step, on its first attempt)."""


class Usage(msgspec.Struct, frozen=True, eq=False, gc=False):
    """What the provider reported for one call, in tokens."""

    prompt: int | None
    """The whole prompt, cached parts included, whatever the shape."""
    cached: int | None = None
    created: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cost: float | None = None
    rule: str = ""
    """How `prompt` was computed from the record, in words."""
    source: str = ""


class Boundary(msgspec.Struct, frozen=True, eq=False):
    """A place where the prompt was cut, compacted, rewound or rewritten."""

    kind: BoundaryKind
    recorded: bool
    before: int | None
    after: int | None
    why: str = ""
    opaque: bool = False
    """The summary is encrypted or missing: what survived cannot be checked."""


class Tokens(msgspec.Struct, frozen=True, eq=False, gc=False):
    """Counted tokens of a prompt by origin; the three sum to the prompt. None: unknown, none of it is in the file."""

    state: int | None
    trace: int | None
    fixed: int | None
    unknown: int = 0
    """How many pieces could not be counted (system prompt not in the file, encrypted content)."""

    @property
    def prompt(self) -> int | None:
        """The part that is known; None if nothing is."""
        if self.state is self.trace is self.fixed is None:
            return None
        return (self.state or 0) + (self.trace or 0) + (self.fixed or 0)


class Step(msgspec.Struct, frozen=True, eq=False):
    """One model call: what it saw, what it answered, what came back."""

    lane: str
    n: int
    """From 1 in each lane."""
    own: int | None
    """The file's own number, where it gives increasing integers."""
    at: float | None
    """Seconds since the epoch."""
    open: bool
    parent: tuple[str, int] | None
    prompt: Prompt
    fields: tuple[Field, ...]
    replies: tuple[Segment, ...]
    attempts: tuple[Attempt, ...]
    results: tuple[Segment, ...]
    drops: tuple[Drop, ...]
    tokens: Tokens
    usage: Usage | None
    boundary: Boundary | None
    goal: GoalStatus
    tokens_after_goal: int | None
    pending: int = 0
    """Calls of this step that have no result yet."""
    gap: int = 0
    """Steps known to be missing between the step before and this one."""
    notes: str | None = None
    spared: tuple[tuple[str, str], ...] = ()
    """(name, why) of what left with this step and is no drop."""
    unsure: Unsure | None = None
    """What of its prompt is not known; None: it is known as far as the file goes."""

    @property
    def number(self) -> int:
        """What the screen shows and `--step` takes."""
        return self.n if self.own is None else self.own

    @property
    def loses_goal(self) -> bool:
        """The goal left with this step, and whether before its call or right after it is not known."""
        return self.goal == "unknown" and self.unsure == "cut" and any(drop.kind == "goal" for drop in self.drops)


class Lane(msgspec.Struct, frozen=True, eq=False):
    id: str
    kind: LaneKind
    steps: tuple[Step, ...]
    spawned_by: tuple[str, int] | None = None
    name: str | None = None
