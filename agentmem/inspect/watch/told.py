"""What following tells: whole immutable values, so that a slow screen may skip some and lose nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agentmem.model import Lifeline, Run, RunInfo


@dataclass(frozen=True, slots=True)
class RunChanged:
    run: Run


@dataclass(frozen=True, slots=True)
class RunsChanged:
    infos: tuple[RunInfo, ...]
    """Newest change first."""


@dataclass(frozen=True, slots=True)
class Progress:
    done: int
    total: int
    """Bytes read of the chosen run; equal when all is read. Told only of what is not read at one go."""


@dataclass(frozen=True, slots=True)
class TextReady:
    run_id: str
    lane: str
    segment_id: int
    text: str | None
    note: str = ""
    """Why there is no text."""


@dataclass(frozen=True, slots=True)
class RawReady:
    run_id: str
    lane: str
    segment_id: int
    raw: str
    path: str
    line: int | None


@dataclass(frozen=True, slots=True)
class LifelineReady:
    run_id: str
    lane: str
    text: str
    lifeline: Lifeline


@dataclass(frozen=True, slots=True)
class Trouble:
    text: str
    """Empty: it is over."""


Event = RunChanged | RunsChanged | Progress | TextReady | RawReady | LifelineReady | Trouble
Emit = Callable[[Event], None]
