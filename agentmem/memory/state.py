"""The bounded state of a long task: goal, plan, verified facts, the last failure, budgets. Rendered with the goal last.

What the state holds does not grow with the number of steps unless facts are verified; what the model merely says never
becomes a fact. `render` is pure: what a budget keeps out of one prompt is still held, and comes as Drops.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn, TypedDict

from agentmem import safe
from agentmem.checkpoint.given import number
from agentmem.ledger.given import only_function, only_kind, only_text
from agentmem.memory.fence import guard_headings
from agentmem.model import HEAD_CHARACTERS, Drop, Field, Kind, TokenCounter
from agentmem.pattern import pattern
from agentmem.tokens import words

ERROR_CHARACTERS = 1500
Leaving = tuple[Literal["field", "plan"], str, Kind, str, int]
"""What a budget can keep out of a prompt: sort, name, kind, text, tokens."""
_SURROGATE = pattern("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Verification:
    """Who verified a fact (a checker's name), and at which step."""

    by: str
    step: int


class LogEntry(TypedDict):
    """One line of the log, which is never rendered."""

    kind: Literal["claim", "failure"]
    step: int
    text: str


class Unverified(ValueError):
    """A fact without a verifier was to be stored."""

    def __init__(self, name: object) -> None:
        super().__init__(f"fact {name!r} has no verifier: facts are stored by verify(name, value, by, step)")


class _Facts(dict[str, str]):
    """The facts as a mapping that only `State` changes."""

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise Unverified(args[0] if args else None)

    def __reduce__(self) -> tuple[type[_Facts], tuple[dict[str, str]]]:
        return _Facts, (dict(self),)  # a copy is made whole, not by setting one fact after the other

    __setitem__ = __delitem__ = __ior__ = _refuse
    update = setdefault = pop = popitem = clear = _refuse


class State:
    """Goal, plan, facts, last failure and budgets of one task."""

    def __init__(
        self,
        goal: str,
        plan: Iterable[str] = (),
        step: int = 0,
        attempts: int = 0,
        facts: Mapping[str, str] | None = None,
        last_error: str | None = None,
        budget_steps: int = 20,
        budget_spend_usd: float = 1.00,
        spent_usd: float = 0.0,
        *,
        verified: Mapping[str, Verification] | None = None,
    ) -> None:
        """Raises ValueError for an empty goal, a plan or number that cannot be, a fact that is not in `verified`."""
        if isinstance(plan, str | Mapping) or not isinstance(plan, Iterable):
            raise ValueError("state: plan is not a list of texts")
        self.goal = goal
        self.plan = list(plan)
        """Texts in order; the first `step` are finished."""
        self.step = step
        """Finished plan items."""
        self.attempts = attempts
        """Model calls made."""
        self.budget_steps, self.budget_spend_usd, self.spent_usd = budget_steps, budget_spend_usd, spent_usd
        self.log: list[LogEntry] = []
        """Claims and failures, oldest first; never rendered."""
        self.drops: tuple[Drop, ...] = ()
        """What the last `render` kept out for its budget."""
        self._facts = _Facts()
        self._verified: dict[str, Verification] = {}
        self._last_error: str | None = None
        self._check()
        for rows, argument in ((facts, "facts"), (verified, "verified")):
            only_kind({} if rows is None else rows, Mapping, f"state: {argument}", "a mapping")
        for name, value in (facts or {}).items():
            seal = (verified or {}).get(name)
            if not isinstance(seal, Verification):
                raise Unverified(name)
            self.verify(name, value, seal.by, seal.step)
        self.last_error = last_error

    # -- facts and claims ---------------------------------------------------------------------------------------------

    @property
    def facts(self) -> Mapping[str, str]:
        """Verified facts, oldest first; stored by `verify` only."""
        return self._facts

    @property
    def verified(self) -> Mapping[str, Verification]:
        """Who verified each fact, in the order of the facts."""
        return dict(self._verified)

    def verify(self, name: str, value: str, by: str, step: int | None = None) -> None:
        """Store a fact that `by` (a checker's name) verified at `step` (default: the calls made so far).

        A fact of that name gets the new value and keeps its place. Raises ValueError without a verifier, TypeError for
        what is no text.
        """
        if not isinstance(by, str) or not by.strip():
            raise Unverified(name)
        at = self._at(step)
        dict.__setitem__(self._facts, only_text(name, "verify: name"), only_text(value, f"fact {name!r}: value"))
        self._verified[name] = Verification(by, at)

    def forget(self, name: str) -> Drop:
        """Take a fact out of the state and say so. Raises KeyError if it is not held."""
        value = self._facts[only_text(name, "forget: name")]
        dict.__delitem__(self._facts, name)
        del self._verified[name]
        leaving: Leaving = ("field", f"facts.{name}", "fact", value, words(f"{name}: {value}"))
        return self._drop(leaving, "forgotten by State.forget")

    def claim(self, text: str, step: int | None = None) -> None:
        """Log what the model asserts. It never becomes a fact by that. Raises TypeError for what is no text."""
        self.log.append({"kind": "claim", "step": self._at(step), "text": only_text(text, "a claim")})

    @property
    def last_error(self) -> str | None:
        """The newest failure, the only one in the prompt; setting it keeps the earlier ones in the log."""
        return self._last_error

    @last_error.setter
    def last_error(self, text: str | None) -> None:
        self.fail(text) if text is not None else self.recover()

    def fail(self, text: str, step: int | None = None) -> None:
        """The newest failure. Every failure is logged, this one too."""
        self.log.append({"kind": "failure", "step": self._at(step), "text": only_text(text, "last_error")})
        self._last_error = text

    def _at(self, step: int | None) -> int:
        """The step that was given, or the calls made so far. Raises ValueError for what is no number of a step."""
        return self.attempts if step is None else int(number(step, "state: step", whole=True))

    def recover(self) -> None:
        """Nothing fails any more; the log keeps what did."""
        self._last_error = None

    # -- budgets ------------------------------------------------------------------------------------------------------

    def spend(self, usd: float = 0.0, calls: int = 1) -> None:
        """Count model calls and what they cost. Raises ValueError for what is no finite number, or negative."""
        usd, made = number(usd, "spend: usd"), int(number(calls, "spend: calls", whole=True))
        total = number(self.spent_usd + usd, "spend: usd in all")
        self.spent_usd, self.attempts = total, self.attempts + made

    def advance(self, items: int = 1) -> None:
        """So many plan items more are finished; at most all of them. Raises ValueError for a negative number: what is
        not finished after all is said by setting `step`."""
        more = int(number(items, "advance: items", whole=True))
        self.step = min(self.step + more, max(len(self.plan), self.step))

    @property
    def exhausted(self) -> bool:
        """step >= budget_steps or spent_usd >= budget_spend_usd."""
        return self.step >= self.budget_steps or self.spent_usd >= self.budget_spend_usd

    @property
    def not_converging(self) -> bool:
        """The model calls have reached the budget of steps: stop and hand over to a person."""
        return self.attempts >= self.budget_steps

    @property
    def stop(self) -> str | None:
        """Why the agent must stop and hand over to a person, or None."""
        if self.spent_usd >= self.budget_spend_usd:
            return f"spent {self.spent_usd:.2f} of {self.budget_spend_usd:.2f} USD: stop and hand over to a person"
        if self.step >= self.budget_steps:
            return f"{self.step} of {self.budget_steps} steps used: stop and hand over to a person"
        if self.not_converging:
            return f"not converged in {self.attempts} calls: stop and hand over to a person"
        return None

    # -- the prompt ---------------------------------------------------------------------------------------------------

    def render(self, max_tokens: int | None = None, count: TokenCounter = words, *, at: int | None = None) -> str:
        """The state as a block of prompt, the goal last; what the budget keeps out stands in `drops` afterwards.

        Leaves first to last: facts from the oldest, finished plan items from the first, then (so that the budget holds)
        open items from the last, what is left of the plan, the failure. The goal never: ValueError if it alone is over.
        `at` is the number of the step whose prompt this is, for the drops (default: the next call).
        """
        text, self.drops = self.fit(max_tokens, count, at=at)
        return text

    def fit(
        self, max_tokens: int | None = None, count: TokenCounter = words, *, at: int | None = None
    ) -> tuple[str, tuple[Drop, ...]]:
        """What `render` does, as (text, drops), without touching `drops`."""
        self._check()
        only_function(count, "render: count")
        at = self.attempts + 1 if at is None else int(number(at, "render: at", whole=True))
        if max_tokens is None:
            return self._render(0), ()
        number(max_tokens, "render: max_tokens")
        alone = count(self._goal_block())
        if alone > max_tokens:
            raise ValueError(f"render: the goal alone takes {alone} tokens, the budget is {max_tokens}")
        leaving = self._leaving(count)
        gone = self._fewest(len(leaving), lambda number: count(self._render(number)) <= max_tokens)
        record = f"state rendered in {max_tokens} tokens"
        drops = (self._drop(leave, record, at) for leave in leaving[:gone] if leave is not None)
        return self._render(gone), tuple(drops)

    def _fewest(self, most: int, fits: Callable[[int], bool]) -> int:
        """How few of what can leave have to; all of it fits. Within a stretch each that leaves makes the text shorter;
        from one to the next it may grow, where `1 item` takes the place of a word."""
        facts, done, plan = len(self._facts), self._done(), len(self.plan)
        ends = {0, facts, facts + done - 1, facts + done, facts + plan - 1, facts + plan, most}
        low = 0
        for high in sorted(end for end in ends if 0 <= end <= most):
            if fits(high):
                break
            low = high + 1
        return low + bisect_left(range(low, high), True, key=fits)

    def fields(self, count: TokenCounter = words) -> tuple[Field, ...]:
        """The state as fields, in the order in which they are rendered; tokens of `name: value`."""
        only_function(count, "fields: count")
        rows: list[Field] = []
        for name, value in self._facts.items():
            seal = self._verified[name]
            rows.append(Field(f"facts.{name}", value, count(f"{name}: {value}"), seal.by, seal.step))
        rows += (Field(f"plan[{at}]", item, count(item), done=at < self._done()) for at, item in enumerate(self.plan))
        if self._last_error is not None:
            rows.append(Field("last_error", self._last_error, count(self._last_error)))
        rows.append(Field("goal", self.goal, count(f"goal: {self.goal}")))
        return tuple(rows)

    def _done(self) -> int:
        return min(max(self.step, 0), len(self.plan))

    def _leaving(self, count: TokenCounter) -> list[Leaving | None]:
        """What can leave, in that order; None stands for what is left of the plan's two lines."""
        done = self._done()
        rows: list[Leaving | None] = [
            ("field", f"facts.{name}", "fact", value, count(f"{name}: {value}")) for name, value in self._facts.items()
        ]
        for index in (*range(done), *reversed(range(done, len(self.plan)))):
            rows.append(("plan", f"plan[{index}]", "plan", self.plan[index], count(self.plan[index])))
        rows += [None] if self.plan else []
        if self._last_error:
            rows.append(("field", "last_error", "error", self._last_error, count(self._last_error[:ERROR_CHARACTERS])))
        return rows

    def _render(self, gone: int) -> str:
        facts = list(self._facts.items())
        plan_gone = max(gone - len(facts), 0)
        blocks = []
        if kept := facts[gone:]:
            blocks.append("Verified facts:\n" + _as_json(kept))
        if self.plan and plan_gone <= len(self.plan):
            blocks.append(self._plan_block(plan_gone))
        rest = plan_gone - len(self.plan) - bool(self.plan)
        if self._last_error and rest < 1:
            blocks.append("Last failure:\n" + _guarded(self._last_error[:ERROR_CHARACTERS]))
        blocks.append(self._goal_block())
        return "\n\n".join(blocks)

    def _plan_block(self, gone: int) -> str:
        done = self._done()
        items = [_guarded(item, ("Remaining:",)) for item in self.plan]
        finished = items[min(gone, done) : done]
        missing = max(gone - done, 0)
        open_items = items[done : len(items) - missing]
        said = "; ".join(finished) if finished else _items(done) if done else "nothing yet"
        left = "; ".join(open_items)
        if missing:
            left = f"{left}; and {missing} more" if open_items else _items(missing)
        return f"Done: {said}\nRemaining: {left if done < len(items) else 'nothing'}"

    def _goal_block(self) -> str:
        return "GOAL (unchanged): " + _guarded(self.goal)

    def _drop(self, leaving: Leaving, record: str, at: int | None = None) -> Drop:
        what, name, kind, text, tokens = leaving
        n = self.attempts + 1 if at is None else at
        return Drop(
            lane="main", n=n, step=n, what=what, name=name, kind=kind, head=text[:HEAD_CHARACTERS], tokens=tokens,
            cause="removed" if record.startswith("forgotten") else "trimmed", recorded=True, last_step=max(n - 1, 0),
            text=text, record=record,
        )  # fmt: skip

    # -- keeping ------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON. `verified` maps the name of each fact to who verified it and at which step."""
        return {
            "goal": self.goal, "plan": list(self.plan), "step": self.step, "attempts": self.attempts,
            "facts": dict(self._facts), "last_error": self._last_error, "budget_steps": self.budget_steps,
            "budget_spend_usd": self.budget_spend_usd, "spent_usd": self.spent_usd,
            "verified": {name: {"by": seal.by, "step": seal.step} for name, seal in self._verified.items()},
            "log": [dict(entry) for entry in self.log],
        }  # fmt: skip

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> State:
        """The state that `to_dict` gave. Raises ValueError that names the entry that is wrong."""
        if not isinstance(data, Mapping):
            raise ValueError(f"state: {type(data).__name__} is no mapping")
        facts, log, error = data.get("facts", {}), data.get("log", []), data.get("last_error")
        if not isinstance(facts, Mapping) or not all(isinstance(v, str) for pair in facts.items() for v in pair):
            raise ValueError("state: facts does not map texts to texts")
        if error is not None and not isinstance(error, str):
            raise ValueError("state: last_error is not a text")
        if not isinstance(log, list):
            raise ValueError("state: log is not a list")
        seals = _seals(data.get("verified", {}), facts)
        known = {"goal": "", **{key: data[key] for key in _PLAIN if key in data}}
        state = cls(**known, facts=facts, verified=seals)  # type: ignore[arg-type]  # checked by State, by name
        state._last_error = error
        state.log = [_entry(entry, index) for index, entry in enumerate(log)]
        return state

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.to_dict() == other.to_dict() and [*self._facts] == [*other._facts]

    __hash__ = None  # type: ignore[assignment]  # a state changes

    def __repr__(self) -> str:
        return f"State(goal={self.goal!r}, step={self.step}/{len(self.plan)}, facts={len(self._facts)})"

    def _check(self) -> None:
        if not isinstance(self.goal, str) or not self.goal.strip():
            raise ValueError("state: the goal is empty" if isinstance(self.goal, str) else "state: goal is not a text")
        if not all(isinstance(item, str) for item in self.plan):
            raise ValueError("state: plan is not a list of texts")
        for name in _PLAIN[2:]:
            number(getattr(self, name), f"state: {name}", whole=not name.endswith("usd"))


_PLAIN = ("goal", "plan", "step", "attempts", "budget_steps", "budget_spend_usd", "spent_usd")
"""What `State` takes as it stands; from the third on numbers."""


def _seals(rows: object, facts: Mapping[str, str]) -> dict[str, Verification]:
    if not isinstance(rows, Mapping):
        raise ValueError("state: verified does not map facts to who verified them")
    seals: dict[str, Verification] = {}
    for name, row in rows.items():
        match row:
            case {"by": str(by), "step": int(step)} if name in facts:
                seals[name] = Verification(by, step)
            case _:
                raise ValueError(f"state: verified[{name!r}] is not the by and step of a fact")
    return seals


def _entry(entry: object, index: int) -> LogEntry:
    match entry:
        case {"kind": "claim" | "failure" as kind, "step": int(step), "text": str(text)}:
            return {"kind": kind, "step": step, "text": text}
        case _:
            raise ValueError(f"state: log[{index}] is no entry of kind, step and text")


def _guarded(text: str, also: tuple[str, ...] = ()) -> str:
    return guard_headings(safe.encodable(text), also)


def _as_json(facts: Sequence[tuple[str, str]]) -> str:
    text = "{\n" + ",\n".join(f"  {_quoted(name)}: {_quoted(value)}" for name, value in facts) + "\n}"
    return _SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _quoted(text: str) -> str:
    return json.dumps(guard_headings(text), ensure_ascii=False)


def _items(number: int) -> str:
    return f"{number} item{'s' if number > 1 else ''}"
