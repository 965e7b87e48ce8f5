"""Boundaries that the file does not record, told from a summary in place of messages or from reported usage; and why
something left, by what the file records at that step."""

from __future__ import annotations

from collections.abc import Sequence

from agentmem.formats.draft import Declared, StepDraft
from agentmem.model import KINDS, Boundary, BoundaryKind, Cause
from agentmem.tape import Tape

FALL = 0.10
"""Reported prompt tokens that fall by more than this share between two calls are unexplained."""
_HALF = 2
_FEWEST = 6
_SUMMARY = KINDS.index("summary")
_SYNTHETIC = "<synthetic>"
_LOOK_BACK = 64
_CAUSES: dict[BoundaryKind, Cause] = {
    "compaction": "compacted",
    "condensation": "summarised",
    "trim": "trimmed",
    "prune": "trimmed",
    "rewind": "removed",
    "fork": "removed",
    "rewrite": "rewritten",
}


def reported(step: StepDraft | None) -> int | None:
    """Prompt tokens that the provider reported; None for none, zero and made-up calls."""
    if step is None or step.usage is None or step.model == _SYNTHETIC:
        return None
    return step.usage.prompt or None


def before_of(steps: Sequence[StepDraft], index: int) -> StepDraft | None:
    """The latest earlier step of the lane with reported tokens; None across a boundary."""
    for at in range(index - 1, max(-1, index - _LOOK_BACK), -1):
        if reported(steps[at]) is not None:
            return steps[at]
        if steps[at].boundary is not None:
            return None
    return None


def boundary_of(
    steps: Sequence[StepDraft], index: int, given: Boundary | None, tape: Tape, left: Sequence[int],
    came: Sequence[int], *, synthetic: bool, gap: bool, counted: tuple[int | None, int | None], sizes: tuple[int, int],
) -> Boundary | None:  # fmt: skip
    """The boundary of step `index` (len(steps): the open one). `counted`: counted tokens of the parent's prompt and of
    this one, `sizes` the numbers of their pieces."""
    now = steps[index] if index < len(steps) else None
    is_ = reported(now)
    last = None if is_ is None else before_of(steps, index)
    was = reported(last)
    told = (was, is_) if was is not None and is_ is not None else counted
    if given is not None:
        return _whole(given, told, counted, is_)
    if synthetic:
        return None
    if left:
        summary = next((ident for ident in came if tape.kinds[ident] == _SUMMARY), None)
        if summary is not None:
            opaque = tape.segment(summary).head is None
            pieces = f"{len(left)} piece{'' if len(left) == 1 else 's'}"
            return Boundary("compaction", True, *told, f"a summary stands in the place of {pieces}", opaque)
    if gap:
        return None
    if last is not None and now is not None and was is not None and is_ is not None and is_ < was * (1 - FALL):
        same = last.model is None or now.model is None or last.model == now.model
        if same:
            return Boundary("unexplained", False, was, is_, "reported prompt tokens fell and nothing records why")
    if len(left) >= _FEWEST and len(left) * _HALF > sizes[0]:
        if sizes[1] - len(came) <= 0 and came:
            return Boundary("rewrite", False, *told, "most of the list was written anew")
        return Boundary("trim", False, *told, "most of the list is gone")
    return None


def _whole(
    given: Boundary, told: tuple[int | None, int | None], counted: tuple[int | None, int | None], is_: int | None
) -> Boundary:
    """A boundary of the file with both of its sizes, in one measure: where it gives one of them and the other was only
    counted, both are the counted ones, and what it gives stands in its words."""
    before, after, why = given.before, given.after, given.why
    if before is None and after is None:
        before, after = told
    elif before is not None and after is None:
        if before == counted[0]:
            after = counted[1]
        elif is_ is not None:
            after = is_
        elif None not in counted:
            why = f"{why}; " if why else ""
            why += f"{before:,} tokens before it by the file's own count"
            before, after = counted
    elif before is None:
        before = told[0]
    return Boundary(given.kind, given.recorded, before, after, why, given.opaque)


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
