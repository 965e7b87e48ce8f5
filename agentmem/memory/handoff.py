"""Handoff: when a task ends, a few structured facts go into a clean state, and everything else stays behind, told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from agentmem.checkpoint.given import number
from agentmem.ledger.given import only_function, only_kind, only_text
from agentmem.memory.state import State
from agentmem.model import HEAD_CHARACTERS, Drop, Kind, TokenCounter
from agentmem.tokens import words

Distiller = Callable[[State], Mapping[str, str]]
"""The state of the ended task -> the facts that the next one needs, name -> value. It may call a model."""


@dataclass(frozen=True, slots=True, eq=False)
class Handoff:
    """A clean state and all that did not come along."""

    state: State
    drops: tuple[Drop, ...]


def handoff(
    ended: State,
    goal: str,
    distil: Distiller | Sequence[str],
    *,
    plan: Sequence[str] = (),
    most: int = 8,
    by: str | None = None,
    count: TokenCounter = words,
) -> Handoff:
    """Start a clean state for `goal` that carries only what `distil` picks: names of facts, or a function.

    A fact that the ended state holds with that value keeps who verified it. Any other is new: with `by`, a checker's
    name, it is stored as verified by it; without, it goes to the new state's log as a claim. Budgets start afresh; the
    goal, plan, other facts and failure of the ended task are recorded drops.
    Raises ValueError for more than `most` facts, KeyError for a name that is no fact of the ended state.
    """
    only_kind(ended, State, "handoff: ended", "a State")
    number(most, "handoff: most", whole=True)
    only_function(count, "handoff: count")
    if not callable(distil):
        names = None if isinstance(distil, str) else distil  # a text would be taken letter by letter
        only_kind(names, Iterable, "handoff: distil", "a function or a list of names")
    picked = distil(ended) if callable(distil) else {name: _held(ended, name) for name in distil}
    only_kind(picked, Mapping, "handoff: what distil gives", "a mapping of facts")
    if len(picked) > most:
        raise ValueError(f"handoff: {len(picked)} facts are more than {most}; distil further")
    state = State(goal, plan, budget_steps=ended.budget_steps, budget_spend_usd=ended.budget_spend_usd)
    for name, value in picked.items():
        seal = ended.verified.get(name) if ended.facts.get(name) == value else None
        if seal is not None:
            state.verify(name, value, seal.by, seal.step)
        elif by is not None:
            state.verify(name, value, by, ended.attempts)
        else:
            state.claim(f"{name}: {value}")
    n = ended.attempts + 1
    carried = {"goal": goal, **{f"facts.{name}": value for name, value in state.facts.items()}}
    drops = tuple(
        Drop(
            lane="main", n=n, step=n, what="plan" if _kind(field.name) == "plan" else "field", name=field.name,
            kind=_kind(field.name), head=field.value[:HEAD_CHARACTERS], tokens=field.tokens, cause="removed",
            recorded=True, last_step=ended.attempts, text=field.value, record=f"handed off to: {goal}",
        )
        for field in ended.fields(count)
        if field.value != carried.get(field.name)
    )  # fmt: skip
    return Handoff(state, drops)


def _kind(name: str) -> Kind:
    return (
        "goal"
        if name == "goal"
        else "plan"
        if name.startswith("plan[")
        else "error"
        if name == "last_error"
        else "fact"
    )


def _held(ended: State, name: str) -> str:
    if only_text(name, "handoff: a name in distil") not in ended.facts:
        raise KeyError(f"handoff: {name!r} is no fact of the ended state; there are {', '.join(ended.facts) or 'none'}")
    return ended.facts[name]
