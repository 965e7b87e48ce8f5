"""Counted tokens against what the provider reported: sections scaled to the total, estimates, what is unexplained.

Pure. A figure is reported (by the provider), counted (by a counter) or estimated (what was reported before, and what
was counted more or less since); the words go with every figure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Literal

from agentmem.model import Step, Tokens

NEAR_EXACT = ("o200k", "claude")
"""Counters near enough to a provider's for a difference to mean something."""
FRAME_TOKENS = 12
"""What a tool result costs beyond its text with near-exact counters (measured, see the documents on speed)."""
LEAST, MOST = 0.5, 2.5
"""Bounds of what a provider counts for one token of ours. Real transcripts lie from 0.6 to 2.3, as the median of each
(`python -m benchmarks.token_error` measures the estimates)."""
USUAL = 1.2
"""Tokens of a provider for one of ours as long as no calls tell: nearly all of the same transcripts have more than 1,
with o200k too, since what frames a message is not in its text."""
_USUAL_TOKENS = 500
"""So many counted tokens of differences outweigh it."""
_PAIRS = 50
LOOK_BACK = 5_000
"""Steps in a row without a report, behind which an older one is not used."""

Source = Literal["reported", "estimated", "counted", "unknown"]


def reported(step: Step) -> int | None:
    """Prompt tokens that the provider counted; None also for zero, which a call that never happened has."""
    return (step.usage.prompt or None) if step.usage is not None else None


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


class Scale:
    """What the calls of a lane so far tell of a prompt that was not reported. Steps are added in their order.

    A prompt is `base`, the newest reported one, and what was counted more or less since, times `rate`: so what is in
    every prompt and not in the file (system prompt, tool schemas) is added once and never multiplied. Where all of
    `base` is in the file this is its ratio of reported to counted.
    """

    __slots__ = ("_learnt", "_pairs", "_since", "base")

    def __init__(self, steps: Sequence[Step] = (), end: int | None = None) -> None:
        """As after `steps[:end]`; looks no further back than it must."""
        self.base: Step | None = None
        self._pairs: deque[tuple[float, int]] = deque(maxlen=_PAIRS)
        """(reported over counted, counted) of the differences between two reported calls."""
        self._learnt: float | None = None
        self._since = 0
        """Steps since `base`."""
        found: list[Step] = []
        since = without = 0
        for place in range((len(steps) if end is None else end) - 1, -1, -1):
            if _both(steps[place]):
                since = since if found else without
                found.append(steps[place])
                without = 0
                if len(found) > _PAIRS:
                    break
            elif (without := without + 1) >= LOOK_BACK:
                break
        for step in reversed(found):
            self.add(step)
        self._since = since

    def add(self, step: Step) -> None:
        """The next step of the lane; one that was not reported changes nothing, LOOK_BACK of them forget the rest."""
        if not _both(step):
            self._since += 1
            if self._since == LOOK_BACK:
                self.base = self._learnt = None
                self._pairs.clear()
            return
        self._since = 0
        if self.base is not None and _missing(self.base) == _missing(step):
            more = (step.tokens.prompt or 0) - (self.base.tokens.prompt or 0)
            if more:
                told = (reported(step) or 0) - (reported(self.base) or 0)
                self._pairs.append((told / more, abs(more)))
                self._learnt = None
        self.base = step

    @property
    def ratio(self) -> float | None:
        """Reported over counted tokens of `base`; None where parts of it are not in the file. Beyond what counters
        differ by, something is missing though the file does not say so: then None too."""
        if self.base is None or _missing(self.base) != _WHOLE or not self.base.tokens.prompt:
            return None
        found = (reported(self.base) or 0) / self.base.tokens.prompt
        return found if LEAST <= found <= MOST else None

    @property
    def rate(self) -> float:
        """Tokens of the provider for one that was counted: `ratio`, else the median of the differences between
        reported calls, each weighted by its counted tokens, within LEAST and MOST."""
        whole = self.ratio
        if whole is not None:
            return whole
        if self._learnt is None:
            pairs = sorted((*self._pairs, (USUAL, _USUAL_TOKENS)))
            half = sum(weight for _, weight in pairs) / 2
            for found, weight in pairs:
                half -= weight
                if half <= 0:
                    self._learnt = min(max(found, LEAST), MOST)
                    break
        return USUAL if self._learnt is None else self._learnt

    def size(self, step: Step) -> tuple[int | None, Source]:
        """Prompt tokens of the step that comes next, and what kind of figure it is."""
        total = reported(step)
        if total is not None:
            return total, "reported"
        counted = step.tokens.prompt
        if counted is None:
            return None, "unknown"
        if self.base is None:
            return counted, "counted"
        was, held = reported(self.base) or 0, self.base.tokens.prompt or 0
        # What left cannot have been more than there was.
        rate = min(self.rate, was / held) if counted < held else self.rate
        return round(was + rate * (counted - held)), "estimated"

    def rule(self, step: Step) -> str | None:
        """How `size` of the step was estimated, in words; None if it is no estimate."""
        size, source = self.size(step)
        if source != "estimated" or size is None or self.base is None:
            return None
        was, held, counted = reported(self.base) or 0, self.base.tokens.prompt or 0, step.tokens.prompt or 0
        number = self.base.number
        if self.ratio is not None:
            return f"{counted:,} counted, times {self.ratio:.2f}: step {number} was reported {was:,} for {held:,}"
        if counted == held:
            return f"{was:,} reported at step {number}, and nothing counted more"
        more = "more" if counted > held else "less"
        rate = (size - was) / (counted - held)
        return f"{was:,} reported at step {number}, and {abs(counted - held):,} counted {more}, times {rate:.2f}"


def _both(step: Step) -> bool:
    return reported(step) is not None and step.tokens.prompt is not None


_WHOLE = (False, 0)


def _missing(step: Step) -> tuple[bool, int]:
    """What of the prompt has no counted tokens; `_WHOLE` for nothing."""
    tokens = step.tokens
    return tokens.state is None or tokens.trace is None or tokens.fixed is None, tokens.unknown


def sizes(steps: Sequence[Step]) -> Iterator[tuple[int | None, Source]]:
    """`estimate` of every step of a lane, in one pass."""
    scale = Scale()
    for step in steps:
        yield scale.size(step)
        scale.add(step)


def estimate(steps: Sequence[Step], place: int) -> tuple[int | None, Source]:
    """(prompt tokens of `steps[place]`, `reported` | `estimated` | `counted` | `unknown`)."""
    step = steps[place]
    return (Scale(steps, place) if reported(step) is None else Scale()).size(step)


def is_rough(step: Step, source: str, counter: str) -> bool:
    """Whether `≈` stands before the figure: all but what was reported, and what a near-exact counter counted whole."""
    known = source == "counted" and step.unsure is None and _missing(step) == _WHOLE
    return source != "reported" and not (known and counter in NEAR_EXACT)


def unaccounted(step: Step, counter: str) -> int | None:
    """Tokens that the provider counted and the file does not explain; may be negative, no cause is claimed.

    None without a near-exact counter or a report.
    """
    total, counted = reported(step), step.tokens.prompt
    if counter not in NEAR_EXACT or total is None or counted is None:
        return None
    results = sum(segment.kind in ("result", "error") for segment in step.prompt)
    return total - counted - FRAME_TOKENS * results
