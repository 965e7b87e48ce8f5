"""What is found in a run: cycles, waiting, survivals, gaps, problems, lifelines."""

from __future__ import annotations

from typing import Literal

import msgspec

from agentmem.model.kinds import CycleKind
from agentmem.model.steps import Boundary


class Cycle(msgspec.Struct, frozen=True, eq=False):
    """Going in circles: the ledger's finding over attempts."""

    lane: str
    kind: CycleKind
    period: int
    steps: tuple[int, ...]
    """Numbers of all steps in it, in order, as far as it has grown."""
    count: int
    """How often it has come round (for a repeat: equal attempts)."""
    tools: tuple[str, ...]
    """One entry a member of the period, in order."""
    signatures: tuple[str, ...]
    tokens: int | None
    """Prompt tokens spent on its steps."""
    warned_at: int
    ended_at: int | None = None
    """The step whose attempt broke it; None while it turns."""
    detail: str = ""


class Waiting(msgspec.Struct, frozen=True, eq=False):
    """Polls while something runs: told apart from a loop, with what it costs."""

    lane: str
    steps: tuple[int, ...]
    tool: str
    count: int
    tokens: int | None
    seconds: float | None = None


class Lost(msgspec.Struct, frozen=True, eq=False):
    """One thing that a boundary lost."""

    kind: Literal["goal", "identifiers", "paths", "numbers", "commands", "constraints", "decisions", "prose"]
    text: str
    tokens: int


class Survival(msgspec.Struct, frozen=True, eq=False):
    """What came through a boundary, by kind."""

    lane: str
    n: int
    step: int
    boundary: Boundary
    kept: dict[str, tuple[int, int]]
    """kind -> (kept, total)"""
    lost: tuple[Lost, ...]
    """In the order lost goal, identifiers, paths, numbers, then prose."""
    changed: tuple[tuple[str, str], ...]
    """(from, to): came out of the summary changed by a character or two."""


class Begun(msgspec.Struct, frozen=True, eq=False):
    """A guarded call (one that cannot be undone) that was begun and of which no outcome is recorded."""

    lane: str
    step: int
    tool: str
    arguments: str
    """Canonical JSON."""
    key: str
    """Its idempotency key: by it the other side can be asked, and the answer given."""
    attempt: int
    started: float
    """Seconds since the epoch."""
    in_doubt: bool
    """Nobody waits for it any more: the run went on without its outcome, or is no longer live. Else it is under way."""


class Problem(msgspec.Struct, frozen=True, eq=False):
    where: str
    what: str


class Gap(msgspec.Struct, frozen=True, eq=False):
    """Steps that are missing: own numbers `first..last` are not in what was seen."""

    lane: str
    after: int
    before: int
    missing: int
    why: str = ""


class Finding(msgspec.Struct, frozen=True, eq=False):
    rule: str
    name: str
    severity: Literal["error", "warning", "info"]
    lane: str
    step: int
    message: str
    evidence: tuple[tuple[int, str, str], ...] = ()
    """(step, where, text)"""


class Lifeline(msgspec.Struct, frozen=True, eq=False):
    """Where one thing stood, step by step, in one lane."""

    name: str
    lane: str
    first: int
    """n of the first level."""
    levels: str
    """One glyph a step: `━` in the prompt, `◆` changed, `╌` shortened, `─` held in the state but not in the prompt,
    `·` gone, `▲` gone and nobody recorded it, `✗` needed while not in the prompt, space: not yet there."""
    present: tuple[tuple[int, int], ...] = ()
    """(first, last) step numbers."""
    changed: tuple[tuple[int, str], ...] = ()
    needed: tuple[int, ...] = ()
    said: tuple[int, ...] = ()
    """Steps whose reply says it although it is not in the prompt."""
    alarms: tuple[int, ...] = msgspec.field(default=())
    held: tuple[tuple[str, int, int], ...] = ()
    """(field or `notes`, first, last): where a text was held in the state and stood in no prompt."""
    lost_as: tuple[tuple[str, int], ...] = ()
    """(field, step): where it stood on, but not as that field any more, for the lack of which a later call failed."""
