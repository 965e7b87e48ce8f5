"""Why something left, by what the file records at that step."""

from __future__ import annotations

from agentmem.formats.draft import Declared
from agentmem.model import Boundary, BoundaryKind, Cause

_CAUSES: dict[BoundaryKind, Cause] = {
    "compaction": "compacted",
    "condensation": "summarised",
    "trim": "trimmed",
    "prune": "trimmed",
    "rewind": "removed",
    "fork": "removed",
    "rewrite": "rewritten",
}


def cause_of(boundary: Boundary | None) -> tuple[Cause, bool, str | None]:
    """(cause, recorded, who recorded it) of what left at a boundary; silent where there is none that explains it."""
    if boundary is None:
        return "silent", False, None
    cause = _CAUSES.get(boundary.kind)
    if cause is None:
        if boundary.recorded:
            return "removed", True, boundary.why or f"{boundary.kind} record"
        return "silent", False, None
    return cause, boundary.recorded, (boundary.why or f"{boundary.kind} record") if boundary.recorded else None


def declared_record(declared: Declared) -> str:
    """Who recorded a declared drop, in words."""
    return declared.record or "the run's own record"
