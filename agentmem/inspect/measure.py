"""Counted tokens against what the provider reported: sections scaled to the total, estimates, what is unexplained.

Pure. A figure is reported (by the provider), counted (by a counter) or estimated (counted, brought to the scale of what
was reported); the words go with every figure.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentmem.model import Step, Tokens

NEAR_EXACT = ("o200k", "claude")
"""Counters near enough to a provider's for a difference to mean something."""
FRAME_TOKENS = 12
"""What a tool result costs beyond its text with near-exact counters (measured, see the documents on speed)."""
_LOOK_BACK = 50


def reported(step: Step) -> int | None:
    """Prompt tokens that the provider counted."""
    return step.usage.prompt if step.usage is not None else None


def scaled(step: Step) -> Tokens | None:
    """The sections brought to the reported total, so that they sum to it. None where nothing was reported, and where
    `scaled_to` gives none."""
    return scaled_to(step.tokens, reported(step))


def scaled_to(tokens: Tokens, total: int | None) -> Tokens | None:
    """The sections brought to a total by largest remainders, so that they sum to it.

    None where nothing was counted, and where parts of the prompt are not in the file: their share is unknown, and no
    section may take it.
    """
    sections = (tokens.state, tokens.trace, tokens.fixed)
    known = [part for part in sections if part is not None]
    counted = sum(known)
    if total is None or tokens.unknown or len(known) < len(sections) or counted <= 0:
        return None
    exact = [part * total / counted for part in known]
    whole = [int(part) for part in exact]
    rest = sorted(range(len(whole)), key=lambda place: whole[place] - exact[place])
    for place in rest[: total - sum(whole)]:
        whole[place] += 1
    return Tokens(*whole)


def ratio(steps: Sequence[Step], end: int | None = None) -> float | None:
    """Reported over counted tokens of the newest of `steps[:end]` that has both; None if none of the last 50 has."""
    stop = len(steps) if end is None else end
    for step in reversed(steps[max(0, stop - _LOOK_BACK) : stop]):
        total, counted = reported(step), step.tokens.prompt
        if total is not None and counted:
            return total / counted
    return None


def estimate(steps: Sequence[Step], place: int) -> tuple[int | None, str]:
    """(prompt tokens of `steps[place]`, `reported` | `estimated` | `counted` | `unknown`)."""
    step = steps[place]
    total = reported(step)
    if total is not None:
        return total, "reported"
    counted = step.tokens.prompt
    if counted is None:
        return None, "unknown"
    scale = ratio(steps, place)
    return (counted, "counted") if scale is None else (round(counted * scale), "estimated")


def unaccounted(step: Step, counter: str) -> int | None:
    """Tokens that the provider counted and the file does not explain; may be negative, no cause is claimed.

    None without a near-exact counter or a report.
    """
    total, counted = reported(step), step.tokens.prompt
    if counter not in NEAR_EXACT or total is None or counted is None:
        return None
    results = sum(segment.kind in ("result", "error") for segment in step.prompt)
    return total - counted - FRAME_TOKENS * results
