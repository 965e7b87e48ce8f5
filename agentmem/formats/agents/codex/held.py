"""What the agent holds beside its messages: the steps of `update_plan`, a proposed plan, the goal of the thread.

A plan lives in the call that wrote it. When that call leaves the prompt, a step is kept only by a text that still says
it; a step that no text says is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agentmem.formats.agents.codex.records.items import call_arguments, script_of
from agentmem.formats.fields import place
from agentmem.formats.loose import decode
from agentmem.model import KINDS, Field, TokenCounter
from agentmem.pattern import pattern
from agentmem.tape import Tape

_STEP = pattern(
    r"""["']?step["']?\s*:\s*("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`)\s*,\s*"""
    r"""["']?status["']?\s*:\s*["'`](\w{1,20})["'`]"""
)
_WORD = pattern(r"\w+")
_SAME = 0.6
"""Share of the words of a step that a line must hold to say the same (as for items worded anew)."""
_LONGEST = 2_000_000
TEXTS = frozenset(KINDS.index(kind) for kind in ("user", "goal", "system", "summary"))
"""Kinds of pieces that may carry the goal."""


def plan_of(tool: str, arguments: str) -> list[tuple[str, bool]] | None:
    """[(step, done)] of a call that writes the plan; None if it is no such call."""
    name = tool.rpartition(".")[2]
    if name == "update_plan":
        try:
            return _steps(decode(arguments.encode("utf-8", "replace")))
        except ValueError:
            return _written(arguments)
    if name == "exec" and "update_plan(" in arguments:
        inner = call_arguments(script_of(arguments), "update_plan")
        return None if inner is None else _written(inner)
    return None


def _steps(value: Any) -> list[tuple[str, bool]] | None:
    plan = value.get("plan") if isinstance(value, Mapping) else None
    if not isinstance(plan, list):
        return None
    return [
        (item["step"], item.get("status") == "completed")
        for item in plan
        if isinstance(item, Mapping) and isinstance(item.get("step"), str)
    ]


def _written(script: str) -> list[tuple[str, bool]] | None:
    """The steps as a script writes them: an object of the language, which need not be JSON."""
    found = []
    for text, status in _STEP.findall(script[:200_000]):
        if text[0] == '"':
            try:
                text = decode(text.encode("utf-8", "replace"))
            except ValueError:
                text = text[1:-1]
        else:
            text = text[1:-1]
        found.append((text, status == "completed"))
    return found or None


class Held:
    """The fields of one lane. `fields` is what is held now."""

    def __init__(self, count: TokenCounter) -> None:
        self._count = count
        self._plan: tuple[Field, ...] = ()
        self._goal: Field | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        return self._plan if self._goal is None else (self._goal, *self._plan)

    def read_call(self, tool: str, arguments: str, segment: int) -> bool:
        """Whether that call, carried by that piece, wrote the plan; it is then the plan that is held."""
        steps = plan_of(tool, arguments)
        if steps is not None:
            self.write_plan(steps, segment)
        return steps is not None

    def write_plan(self, steps: Iterable[tuple[str, bool]], segment: int) -> None:
        """A call wrote the plan anew."""
        self._plan = tuple(
            Field(f"plan[{index}]", text, self._count(text), None, None, segment, done)
            for index, (text, done) in enumerate(steps)
        )

    def propose(self, text: str, segment: int | None) -> None:
        """A plan proposed as a text; it does not displace the steps."""
        if not any(field.name != "plan" for field in self._plan):
            self._plan = (Field("plan", text, self._count(text), None, None, segment),)

    def set_goal(self, text: str, tape: Tape) -> None:
        """The goal of the thread, carried by the newest piece of the prompt that begins with it or says it early."""
        carrier = None
        for ident in reversed(tape.live):
            head = tape.segment(ident).head
            if tape.kinds[ident] in TEXTS and head and (text in head or len(head) >= 100 and head in text):
                carrier = ident
                break
        self._goal = Field("goal", text, self._count(text), None, None, carrier)

    def state(self) -> tuple[tuple[Field, ...], Field | None]:
        return self._plan, self._goal

    def restore(self, state: tuple[tuple[Field, ...], Field | None], live: set[int]) -> None:
        """Back to an earlier state, as far as its pieces still stand."""
        self._plan = tuple(field for field in state[0] if field.segment is None or field.segment in live)

    def replaced(self, live: set[int], texts: Iterable[tuple[int, str, bool]]) -> None:
        """The prompt was written anew: `live` are its pieces, `texts` those with a text: (id, text, is a summary). Only
        a summary says a step in other words."""
        came = [(ident, text, summary) for ident, text, summary in texts if len(text) <= _LONGEST]
        kept = []
        for field in self._plan:
            if field.segment is not None and field.segment in live:
                kept.append(field)
                continue
            carrier = next((ident for ident, text, summary in came if says(text, field, summary)), None)
            if carrier is not None:
                kept.append(_with(field, carrier))
        self._plan = tuple(kept)
        if self._goal is not None and self._goal.segment not in live:
            self._goal = _with(self._goal, next((i for i, text, _ in came if place(text, self._goal)), None))

    def came(self, ident: int, text: str) -> None:
        """A piece came that may carry the goal."""
        goal = self._goal
        if goal is not None and goal.segment is None and place(text, goal):
            self._goal = _with(goal, ident)


def _with(field: Field, segment: int | None) -> Field:
    return Field(field.name, field.value, field.tokens, field.verified_by, field.verified_at, segment, field.done)


def says(text: str, field: Field, loosely: bool) -> bool:
    """Whether a text still says a step: as it is, or (loosely) a line of it with most of its words."""
    if place(text, field) is not None:
        return True
    if not loosely:
        return False
    had = {word.lower() for word in _WORD.findall(field.value[:2000])}
    if len(had) < 3:
        return False
    return any(
        len(had & {word.lower() for word in _WORD.findall(line[:2000])}) >= _SAME * len(had)
        for line in text.split("\n")
    )
