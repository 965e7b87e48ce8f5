"""The world of the water-meter experiment: random numbers, subscribers, charges and tasks (deterministic).

Everything that is data stands in `water_meter.json` in the folder above; everything here is rule.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

Kind = Literal["charge", "consumption", "document", "record"]
Draw = Callable[[], float]

_MASK = 0xFFFFFFFF
_KINDS: tuple[tuple[float, Kind], ...] = (
    (0.30, "charge"),
    (0.30 + 0.22, "consumption"),
    (0.30 + 0.22 + 0.20, "document"),
    (1.0, "record"),
)
"""Kinds of task with the upper bounds of their cumulative weights 0.30, 0.22, 0.20, 0.28."""
SUBSCRIBERS = 60
TASKS = 24


@dataclass(frozen=True, slots=True)
class Data:
    """What `water_meter.json` holds."""

    seed: int
    regions: tuple[str, ...]
    types: tuple[str, ...]
    documents: Mapping[str, str]
    tiers: tuple[tuple[int, int], ...]
    """(upper bound in m3, unit price), ascending."""
    above: int
    """Unit price over the last tier."""
    commercial_factor: int
    requests: Mapping[Kind, str]
    """The request of each kind of task; `{sub}` stands for the subscriber."""
    sequences: Mapping[Kind, tuple[str, ...]]
    """The tools that solve each kind of task, in order."""
    tools: Mapping[str, tuple[str, ...]]
    """Tool -> the fields that its schema names, in the order of the agent's list."""
    side_effects: frozenset[str]


@dataclass(frozen=True, slots=True)
class Subscriber:
    bolge: str
    tip: str
    onceki: int
    """Meter reading before, m3; likewise simdiki, the reading now."""
    simdiki: int


@dataclass(frozen=True, slots=True)
class Task:
    name: str
    """`G01` .. `G24`."""
    kind: Kind
    subscriber: str
    request: str
    sequence: tuple[str, ...]
    answer: int | str
    """The right answer: m3, document code, or charge."""


def rng(seed: int) -> Draw:
    """Draws in [0, 1): the seed mixed once, then a 32-bit linear congruential generator."""
    x = ((seed ^ seed >> 16) * 2246822507) & _MASK
    x = ((x ^ x >> 13) * 3266489909) & _MASK
    s = x ^ x >> 16

    def draw() -> float:
        nonlocal s
        s = (s * 1664525 + 1013904223) & _MASK
        return s / 2**32

    return draw


def fnv1a(text: str) -> int:
    """32-bit FNV-1a over the code points of `text`."""
    h = 2166136261
    for character in text:
        h = ((h ^ ord(character)) * 16777619) & _MASK
    return h


@cache
def data() -> Data:
    """The package's data, read once."""
    raw = json.loads(files("agentmem.experiments").joinpath("water_meter.json").read_text(encoding="utf-8"))
    return Data(
        seed=raw["seed"],
        regions=tuple(raw["regions"]),
        types=tuple(raw["types"]),
        documents=raw["documents"],
        tiers=tuple((bound, price) for bound, price in raw["tiers"]),
        above=raw["above"],
        commercial_factor=raw["commercial_factor"],
        requests=raw["task_requests"],
        sequences={kind: tuple(names) for kind, names in raw["task_sequences"].items()},
        tools={name: tuple(tool["fields"]) for name, tool in raw["tools"].items()},
        side_effects=frozenset(name for name, tool in raw["tools"].items() if tool["side_effect"]),
    )


@cache
def subscribers() -> Mapping[str, Subscriber]:
    """`A001` .. `A060`."""
    world, found = data(), {}
    for i in range(SUBSCRIBERS):
        draw = rng(world.seed + 31 * i)
        onceki = 10000 + int(draw() * 80000)
        bolge = world.regions[int(draw() * 5)]
        tip = world.types[int(draw() * 2)]
        found[f"A{i + 1:03d}"] = Subscriber(bolge, tip, onceki, onceki + int(draw() * 70))
    return found


def charge(m3: int, tip: str) -> int:
    """What `m3` cost: each tier charges its band, the rest goes at `above`; `isyeri` pays the commercial factor."""
    world, total, lower = data(), 0, 0
    for bound, price in world.tiers:
        total += max(0, min(m3, bound) - lower) * price
        lower = bound
    total += max(0, m3 - lower) * world.above
    return total * (world.commercial_factor if tip == "isyeri" else 1)


def consumption(onceki: int, simdiki: int) -> int:
    """m3 between two readings; a meter that passed 99999 begins again at 0."""
    m3 = simdiki - onceki
    return m3 + 100000 if m3 < 0 else m3


@cache
def tasks() -> Mapping[str, Task]:
    """`G01` .. `G24`, in order."""
    world, found = data(), {}
    for i in range(TASKS):
        draw = rng(world.seed + 9973 * i)
        name, sub = f"G{i + 1:02d}", f"A{1 + int(draw() * SUBSCRIBERS):03d}"
        chosen = draw()
        kind = next(kind for bound, kind in _KINDS if chosen < bound)
        found[name] = Task(
            name=name,
            kind=kind,
            subscriber=sub,
            request=world.requests[kind].replace("{sub}", sub),
            sequence=world.sequences[kind],
            answer=_answer(kind, subscribers()[sub]),
        )
    return found


def _answer(kind: Kind, sub: Subscriber) -> int | str:
    if kind == "document":
        return "SY01"
    m3 = consumption(sub.onceki, sub.simdiki)
    return m3 if kind == "consumption" else charge(m3, sub.tip)


def task(name: str) -> Task:
    """The task of that name. Raises ValueError that names the first and last of those that there are."""
    found = tasks().get(name)
    if found is None:
        known = list(tasks())
        raise ValueError(f"unknown task {name!r}; there are {known[0]} to {known[-1]}")
    return found
