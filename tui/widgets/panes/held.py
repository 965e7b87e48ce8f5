"""What an agent holds at a step, sorted for the state pane, and what is new, changed, gone or backwards in it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from agentmem.inspect.telling.left import still_held
from agentmem.model import Drop, Field, Step

from ...index import LaneIndex
from ..line import called

GOAL = ("goal", "task")
COUNTERS = ("step", "attempts", "budget_steps", "spent_usd", "budget_spend_usd")
GROWING = ("step", "attempts", "spent_usd")
"""Counters that never go down by themselves."""


class Item(msgspec.Struct, frozen=True, eq=False):
    """One field with what happened to it since the parent step."""

    held: Field
    was: str | None = None
    """Its value in the parent step, where that differs."""
    new: bool = False
    backwards: str = ""
    finished: bool = False
    """A plan item that was done with this step."""
    lost: Drop | None = None
    """It left the prompt, unrecorded, and is held in the state only."""

    @property
    def label(self) -> str:
        return called(self.held.name)


class Held(msgspec.Struct):
    goal: Item | None = None
    plan: list[Item] = msgspec.field(default_factory=list)
    facts: list[Item] = msgspec.field(default_factory=list)
    notes: list[Item] = msgspec.field(default_factory=list)
    failure: Item | None = None
    counters: dict[str, Item] = msgspec.field(default_factory=dict)
    others: list[Item] = msgspec.field(default_factory=list)
    gone: list[Drop] = msgspec.field(default_factory=list)
    """Fields that left unrecorded and have not come back, oldest first; but for facts that the state still holds."""
    left: list[Drop] = msgspec.field(default_factory=list)
    """Fields that left on record with this very step."""

    @property
    def empty(self) -> bool:
        return not (self.goal or self.plan or self.facts or self.notes or self.failure or self.counters or self.others
                    or self.gone or self.left)  # fmt: skip

    @property
    def backwards(self) -> list[Item]:
        """What went backwards, wherever it is shown."""
        return [item for item in (*self.plan, *self.counters.values()) if item.backwards]


def held_at(step: Step, parent: Step | None, index: LaneIndex | None) -> Held:
    before = {one.name: one for one in parent.fields} if parent is not None else {}
    found = Held()
    for one in step.fields:
        old = before.get(one.name)
        was = old.value if old is not None and old.value != one.value else None
        finished = old is not None and bool(one.done) and not old.done
        item = Item(one, was, parent is not None and old is None, _backwards(one, old), finished)
        _sort(item, found)
    alarms: Sequence[Drop] = index.alarms if index is not None else ()
    found.gone = [
        drop for drop in alarms
        if drop.what != "segment" and drop.n <= step.n and (drop.returned_at is None or drop.returned_at > step.number)
    ]  # fmt: skip
    for drop in found.gone:
        for place, item in enumerate(found.facts):
            if item.held.name == drop.name and still_held(drop, step):
                found.facts[place] = replace(item, lost=drop)
    told = {id(item.lost) for item in found.facts}
    found.gone = [drop for drop in found.gone if id(drop) not in told]
    found.left = [drop for drop in step.drops if drop.what != "segment" and drop.recorded]
    return found


def _sort(item: Item, found: Held) -> None:
    name = item.held.name
    if name in GOAL and found.goal is None:
        found.goal = item
    elif name in COUNTERS:
        found.counters[name] = item
    elif name == "last_error":
        found.failure = item
    elif name == "plan" or name.startswith("plan[") or item.held.done is not None:
        found.plan.append(item)
    elif name.startswith("facts."):
        found.facts.append(item)
    elif name.startswith("note"):
        found.notes.append(item)
    else:
        found.others.append(item)


def _backwards(now: Field, old: Field | None) -> str:
    if old is None:
        return ""
    if old.done and now.done is False and old.value == now.value:
        return "was done, open again"
    if now.name in GROWING:
        one, other = number(now.value), number(old.value)
        if one is not None and other is not None and one < other:
            return f"went back from {old.value}"
    return ""


def number(text: str) -> float | None:
    """A counter's value; None if it is no number."""
    try:
        return float(text) if len(text) < 40 else None
    except ValueError:
        return None
