"""What the detector keeps: an attempt as an item of its window, and a group of attempts that go in circles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from agentmem.model import Cycle, CycleKind, Waiting

Key = tuple[str, str]
"""(signature, result key): equal keys are the same attempt with the same result."""
ErrorKey = tuple[str, str]
"""(tool, error prefix)"""
Place = tuple[int, int]
"""(n, step number)"""
LONGEST = 30
"""The longest period that is looked for."""
KEYS_NAMED = LONGEST + 1
"""More keys than a cycle can have members, so that a group with more is never absorbed."""


class Item(msgspec.Struct, frozen=True):
    """One judged attempt."""

    place: Place
    key: Key
    tool: str
    error: ErrorKey | None
    failed: bool
    ordinal: int
    """How many attempts were judged before it."""


class Cost(msgspec.Struct, eq=False):
    """Steps and tokens of a growing list of places, summed once a place."""

    steps: list[int] = msgspec.field(default_factory=list)
    tokens: int = 0
    unknown: bool = False
    seen: set[int] = msgspec.field(default_factory=set)
    taken: int = 0

    def of(self, places: list[Place], tokens: Mapping[int, int]) -> tuple[tuple[int, ...], int | None]:
        """(distinct steps, prompt tokens of them or None if those of any are unknown)."""
        for n, step in places[self.taken :]:
            if n not in self.seen:
                self.seen.add(n)
                self.steps.append(step)
                self.unknown = self.unknown or n not in tokens
                self.tokens += tokens.get(n, 0)
        self.taken = len(places)
        return tuple(self.steps), None if self.unknown else self.tokens


class Group(msgspec.Struct, eq=False):
    """A cycle while it grows; `value` is what the screen gets."""

    lane: str
    kind: CycleKind
    period: int
    keys: tuple[Key, ...]
    """Keys of its members, in order; for undo and same-error, of all attempts in it."""
    tools: tuple[str, ...]
    places: list[Place]
    """Of all its attempts, in order; equal ones once."""
    hits: int
    """How many attempts (for an undo: reversals) are in it."""
    warned_at: int
    ended_at: int | None = None
    detail: str = ""
    origin: Group | None = None
    """For a relapse: what was warned about."""
    cost: Cost = msgspec.field(default_factory=Cost)
    built: Cycle | None = None

    @property
    def count(self) -> int:
        """How often it has come round."""
        return self.hits if self.kind in ("same-error", "undo") else self.hits // self.period

    @property
    def steps(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(step for _, step in self.places))

    def extend(self, item: Item) -> None:
        """One more attempt in it: it turns again."""
        self.hits += 1
        if not self.places or self.places[-1] != item.place:
            self.places.append(item.place)
        if len(self.keys) < KEYS_NAMED and self.kind in ("same-error", "undo") and item.key not in self.keys:
            self.keys = (*self.keys, item.key)
        self.ended_at = None
        self.built = None

    def join(self, items: Sequence[Item]) -> None:
        """Attempts of one more call that take turns with those of this repeat."""
        self.keys = (*self.keys, items[-1].key)
        self.tools = (*self.tools, items[-1].tool)
        self.period = len(self.keys)
        self.places = sorted({*self.places, *(item.place for item in items)})
        self.hits += len(items)
        self.detail = f"{self.period} calls that take turns with the same results, others between them"
        self.ended_at, self.built, self.cost = None, None, Cost()

    def end(self, step: int) -> None:
        """The attempt of `step` broke it."""
        if self.ended_at is None:
            self.ended_at = step
            self.built = None

    def value(self, tokens: Mapping[int, int]) -> Cycle:
        if self.built is None:
            steps, spent = self.cost.of(self.places, tokens)
            self.built = Cycle(
                lane=self.lane, kind=self.kind, period=self.period, steps=steps, count=self.count,
                tools=self.tools, signatures=tuple(key[0] for key in self.keys), tokens=spent,
                warned_at=self.warned_at, ended_at=self.ended_at, detail=self.detail,
            )  # fmt: skip
        return self.built


class Polls(msgspec.Struct, eq=False):
    """Polls of one tool while something runs."""

    lane: str
    tool: str
    places: list[Place] = msgspec.field(default_factory=list)
    count: int = 0
    asked: dict[str, None] = msgspec.field(default_factory=dict)
    """Signatures of the polls whose last answer was a wait."""
    started: float | None = None
    ended: float | None = None
    cost: Cost = msgspec.field(default_factory=Cost)
    built: Waiting | None = None

    def extend(self, place: Place, started: float | None, ended: float | None) -> None:
        self.count += 1
        if not self.places or self.places[-1] != place:
            self.places.append(place)
        if self.started is None:
            self.started = started if started is not None else ended
        self.ended = ended if ended is not None else started if started is not None else self.ended
        self.built = None

    def value(self, tokens: Mapping[int, int]) -> Waiting:
        if self.built is None:
            seconds = None if self.started is None or self.ended is None else max(0.0, self.ended - self.started)
            steps, spent = self.cost.of(self.places, tokens)
            self.built = Waiting(self.lane, steps, self.tool, self.count, spent, seconds)
        return self.built
