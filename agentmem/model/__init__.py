"""The values: one small vocabulary that every reader produces and every pane draws.

All values are frozen and slotted and compare by identity, so that handing one to the screen costs nothing.
Texts are raw here; they are made safe for a terminal at the door (`agentmem.safe`).
None means unknown, everywhere; it is never replaced by zero or by an empty text.
"""

from __future__ import annotations

from agentmem.model.findings import Begun, Cycle, Finding, Gap, Lifeline, Lost, Problem, Survival, Waiting
from agentmem.model.kinds import (
    FIXED_KINDS,
    FRAME,
    HEAD_CHARACTERS,
    KINDS,
    STATE_KINDS,
    UNSIZED,
    BoundaryKind,
    Cause,
    Cursor,
    CycleKind,
    Effect,
    GoalStatus,
    Kind,
    LaneKind,
    Outcome,
    Provenance,
    RunStatus,
    TokenCounter,
    Unsure,
    WindowSource,
)
from agentmem.model.pieces import Drop, Field, Miss, Prompt, Segment, Still, Where
from agentmem.model.run import Run, RunInfo, hides_text
from agentmem.model.steps import Attempt, Boundary, Lane, Step, Tokens, Usage

__all__ = [
    "FIXED_KINDS", "FRAME", "HEAD_CHARACTERS", "KINDS", "STATE_KINDS", "UNSIZED", "Attempt", "Begun",
    "Boundary", "BoundaryKind", "Cause", "Cursor", "Cycle", "CycleKind", "Drop", "Effect", "Field", "Finding", "Gap",
    "GoalStatus", "Kind", "Lane", "LaneKind", "Lifeline", "Lost", "Miss", "Outcome", "Problem", "Prompt", "Provenance",
    "Run", "RunInfo", "RunStatus", "Segment", "Step", "Still", "Survival", "TokenCounter", "Tokens", "Unsure", "Usage",
    "Waiting", "Where", "WindowSource", "hides_text",
]  # fmt: skip
