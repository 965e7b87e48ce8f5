"""The notebook: a system note that stays and one line for each tool result, trimmed from the oldest.

The growing half of the two short-term memories; the bounded half is `agentmem.memory.state`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from agentmem.checkpoint.given import number
from agentmem.ledger.given import only_function, only_kind, only_text, told
from agentmem.model import HEAD_CHARACTERS, Drop, TokenCounter
from agentmem.pattern import pattern
from agentmem.tokens import words

_BREAK = pattern("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
"""Every line break that `str.splitlines` knows."""


def canonical(value: object) -> str:
    """Canonical JSON: keys sorted, no spaces, non-ASCII as it is. TypeError if the value is not JSON."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def one_line(text: str) -> str:
    r"""The text with every line break as the two characters `\n`."""
    return _BREAK.sub(r"\\n", text)


class Notebook:
    """A permanent system note and an ordered list of fact lines."""

    def __init__(self, system: str, facts: Iterable[str] = ()) -> None:
        """Raises TypeError for a note or a fact that is no text."""
        if isinstance(facts, str):
            raise TypeError("notebook: facts is a list of texts, not one text")
        only_kind(facts, Iterable, "notebook: facts", "a list of texts")
        self.system = only_text(system, "notebook: system")
        self._facts = [one_line(only_text(fact, f"notebook: facts[{at}]")) for at, fact in enumerate(facts)]
        self._gone = 0

    @property
    def facts(self) -> tuple[str, ...]:
        """The lines that are kept, oldest first."""
        return tuple(self._facts)

    def add(self, tool: str, args: object, observation: object) -> str:
        r"""Append `tool(args) -> observation` and return the line.

        Texts stand as given, an exception as `Type: message`, anything else as canonical JSON; a line break stands as
        `\n`, so that a fact is one line. Raises TypeError naming the argument that is none of these.
        """
        only_text(tool, "add: tool")
        given, seen = told(args, "add: args"), told(observation, "add: observation")
        fact = one_line(f"{tool}({given}) -> {seen}")
        self._facts.append(fact)
        return fact

    def trim(self, max_tokens: int, count: TokenCounter = words, *, at: int = 0) -> tuple[Drop, ...]:
        """Keep the note and the newest facts that fit into what the note leaves of `max_tokens`.

        A fact is counted with its line break; one that fits exactly stays; at the first that does not fit all older
        ones leave, even those that would fit. The note stays whatever the budget. Returns what left, oldest first.
        `at` is the number of the step whose prompt is being made, for the drops. Raises ValueError for a budget that is
        no finite number; one that is negative leaves no fact.
        """
        number(max_tokens, "trim: max_tokens", least=None)
        number(at, "trim: at", whole=True)
        only_function(count, "trim: count")
        left = max_tokens - count(self.system)
        keep = len(self._facts)
        while keep and (cost := count(self._facts[keep - 1] + "\n")) <= left:
            left -= cost
            keep -= 1
        drops = tuple(
            Drop(
                lane="main", n=at, step=at, what="field", name=f"facts[{self._gone + index}]", kind="fact",
                head=fact[:HEAD_CHARACTERS], tokens=count(fact + "\n"), cause="trimmed", recorded=True,
                last_step=max(at - 1, 0), text=fact, record=f"notebook trimmed to {max_tokens} tokens",
            )
            for index, fact in enumerate(self._facts[:keep])
        )  # fmt: skip
        del self._facts[:keep]
        self._gone += keep
        return drops

    def render(self) -> str:
        """The note, then the kept facts, one a line."""
        return "\n".join((self.system, *self._facts))

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON; `from_dict` gives an equal notebook back."""
        return {"system": self.system, "facts": list(self._facts), "trimmed": self._gone}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Notebook:
        """Raises ValueError that names the entry that is missing or of another type."""
        if not isinstance(data, Mapping):
            raise ValueError(f"notebook: {type(data).__name__} is no mapping")
        system, facts, gone = data.get("system"), data.get("facts"), data.get("trimmed", 0)
        if not isinstance(system, str):
            raise ValueError("notebook: system is not a text")
        if not isinstance(facts, list) or not all(isinstance(fact, str) for fact in facts):
            raise ValueError("notebook: facts is not a list of texts")
        book = cls(system, facts)
        book._gone = int(number(gone, "notebook: trimmed", whole=True))
        return book

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Notebook) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # a notebook changes

    def __repr__(self) -> str:
        return f"Notebook({self.system!r}, {len(self._facts)} facts)"
