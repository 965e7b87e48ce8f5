"""The words of the vocabulary: kinds, causes, outcomes, and which kinds are state or fixed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

Kind = Literal[
    "system", "tools", "goal", "plan", "fact", "note", "recall", "summary", "user", "assistant",
    "thinking", "call", "result", "image", "error", "other",
]  # fmt: skip
KINDS: tuple[Kind, ...] = Kind.__args__  # type: ignore[attr-defined]  # the tuple of a Literal has no typed accessor

STATE_KINDS: frozenset[str] = frozenset({"goal", "plan", "fact", "note", "recall", "summary"})
FIXED_KINDS: frozenset[str] = frozenset({"system", "tools"})

Provenance = Literal["exact", "reconstructed", "partial"]
Outcome = Literal["ok", "error", "denied", "unknown"]
Effect = Literal["changes", "reads", "waits", "unknown"]
Cause = Literal[
    "trimmed", "compacted", "summarised", "shortened", "replaced", "removed", "rewritten", "undeclared",
    "nulled", "silent",
]  # fmt: skip
GoalStatus = Literal["missing", "changed", "buried", "last", "present", "unknown"]
BoundaryKind = Literal[
    "compaction", "condensation", "trim", "prune", "rewind", "fork", "rewrite", "resume", "unexplained",
]  # fmt: skip
CycleKind = Literal["repeat", "cycle", "same-error", "undo", "relapse"]
RunStatus = Literal["live", "ended", "stale", "unknown"]
Unsure = Literal["unseen", "between", "cut", "folded"]
"""What is not known of a prompt. `unseen`: older messages stood in it that were gone before the file was looked at, so
that its size is unknown; `between`: the same of messages that were cut between two versions seen. `cut`: whether what
left with it left before the call or right after it. `folded`: what came in for its call, and what that answered: the
version was saved without them."""
UNSIZED: frozenset[str | None] = frozenset({"unseen", "between"})
"""Of these prompts the size is unknown."""
LaneKind = Literal["main", "subagent", "branch"]
WindowSource = Literal["declared", "model", "given", "unknown"]

HEAD_CHARACTERS = 120
FRAME = ""
"""`Segment.field` of the words between the fields of a rendered state (headings): no field, and never a drop."""

TokenCounter = Callable[[str], int]
Cursor = tuple[str, int]
"""(lane id, n), everywhere."""
