"""What following tells: whole immutable values, so that a slow screen may skip some and lose nothing."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from agentmem.model import Lifeline, Run, RunInfo


class RunChanged(msgspec.Struct, frozen=True):
    run: Run


class RunsChanged(msgspec.Struct, frozen=True):
    infos: tuple[RunInfo, ...]
    """Newest change first."""


class Progress(msgspec.Struct, frozen=True):
    done: int
    total: int
    """Bytes read of the chosen run; equal when all is read. Told only of what is not read at one go."""


class TextReady(msgspec.Struct, frozen=True):
    run_id: str
    lane: str
    segment_id: int
    text: str | None
    note: str = ""
    """Why there is no text."""


class RawReady(msgspec.Struct, frozen=True):
    run_id: str
    lane: str
    segment_id: int
    raw: str
    path: str
    line: int | None


class LifelineReady(msgspec.Struct, frozen=True):
    run_id: str
    lane: str
    text: str
    lifeline: Lifeline


class Trouble(msgspec.Struct, frozen=True):
    text: str
    """Empty: it is over."""


Event = RunChanged | RunsChanged | Progress | TextReady | RawReady | LifelineReady | Trouble
Emit = Callable[[Event], None]
