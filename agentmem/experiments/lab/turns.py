"""The lab: one long task, run with a growing string and with the bounded state, by a scripted model.

The model is a script, not a measurement of any real one: it sees the last `SIGHT` tokens of its prompt, obeys the goal
if it stands there, and otherwise the last instruction that does. So the only difference between the two runs is what
stands in their prompts. Deterministic; no model is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from agentmem.experiments.lab.model import GOAL_FILE, Action, act, report
from agentmem.experiments.text import table
from agentmem.memory.state import State
from agentmem.model import Drop
from agentmem.tokens import chars4

ITERATIONS, MOST_ITERATIONS = 30, 200
STATE_BUDGET = 320
"""Tokens (chars4) that the state may take of a prompt."""

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """One iteration of one run: what the model saw and what it did."""

    n: int
    """From 1."""
    prompt: tuple[Message, ...]
    action: Action
    reply: tuple[Message, ...]
    """The assistant's call and its result."""
    tokens: int
    """Of the prompt, by chars4."""
    goal_depth: int
    """Tokens of the prompt after the goal."""
    on_goal: bool
    """The reading of this iteration went into the goal's file."""
    new: tuple[Message, ...] = ()
    """Messages of the prompt that no earlier turn had."""
    state: dict[str, object] | None = None
    """The state that the prompt was rendered from, in the bounded run."""
    drops: tuple[Drop, ...] = ()
    """What the state's budget kept out of this prompt."""


@dataclass(frozen=True, slots=True)
class Row:
    """One iteration of both runs."""

    iteration: int
    string_tokens: int
    """Prompt of the growing string, by chars4; likewise state_tokens."""
    state_tokens: int
    string_goal_depth: int
    """Tokens after the goal; likewise state_goal_depth."""
    state_goal_depth: int
    string_goal_share: float
    """Share of the prompt that stands after the goal, 0 to 1, rounded to three decimals; likewise state_goal_share."""
    state_goal_share: float
    string_on_goal: bool
    state_on_goal: bool

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Lab:
    """Both runs, row by row."""

    rows: tuple[Row, ...]
    on_goal: dict[str, bool]
    """`string` and `state`: every reading went where the goal says."""
    strayed_at: dict[str, int | None]
    """First iteration off goal; None if there is none."""

    def to_dict(self) -> dict[str, object]:
        """The JSON document of `agentmem lab`."""
        return {
            "schema": "agentmem.lab/1",
            "rows": [row.to_dict() for row in self.rows],
            "on_goal": dict(self.on_goal),
            "strayed_at": dict(self.strayed_at),
        }


def run(iterations: int = ITERATIONS) -> Lab:
    """Both runs side by side. Raises ValueError for fewer iterations than 1 or more than 200."""
    string, state = string_run(iterations), state_run(iterations)
    rows = tuple(
        Row(
            iteration=one.n,
            string_tokens=one.tokens,
            state_tokens=two.tokens,
            string_goal_depth=one.goal_depth,
            state_goal_depth=two.goal_depth,
            string_goal_share=round(one.goal_depth / one.tokens, 3),
            state_goal_share=round(two.goal_depth / two.tokens, 3),
            string_on_goal=one.on_goal,
            state_on_goal=two.on_goal,
        )
        for one, two in zip(string, state, strict=True)
    )
    runs = {"string": string, "state": state}
    strayed = {name: next((turn.n for turn in turns if not turn.on_goal), None) for name, turns in runs.items()}
    return Lab(rows, {name: at is None for name, at in strayed.items()}, strayed)


def goal(iterations: int = ITERATIONS) -> str:
    """The goal of a run of so many iterations."""
    meters = f"{_meter(1)} to {_meter(iterations)}"
    return f"Record the reading of every meter, {meters}, in {GOAL_FILE}. Change no other file."


def string_run(iterations: int = ITERATIONS) -> tuple[Turn, ...]:
    """The growing string: the goal first, then everything that was ever said."""
    _check(iterations)
    aim = goal(iterations)
    messages: list[Message] = [{"role": "user", "content": "GOAL: " + aim}]
    turns: list[Turn] = []
    for n in range(1, iterations + 1):
        said = len(messages) if turns else 0
        messages.append({"role": "user", "content": report(n, _meter(n))})
        turn = _turn(n, messages, aim)
        turns.append(replace(turn, new=tuple(messages[said:])))
        messages += turn.reply
    return tuple(turns)


def state_run(iterations: int = ITERATIONS) -> tuple[Turn, ...]:
    """The bounded state: the newest report, then the state's own render with the goal last."""
    _check(iterations)
    aim = goal(iterations)
    state = State(aim, [f"record {_meter(n)}" for n in range(1, iterations + 1)], budget_steps=2 * iterations)
    turns = []
    for n in range(1, iterations + 1):
        (text, drops), held = state.fit(STATE_BUDGET, chars4), state.to_dict()
        turn = _turn(n, [{"role": "user", "content": report(n, _meter(n))}, {"role": "user", "content": text}], aim)
        state.spend(calls=1)
        state.verify(turn.action.meter, f"{turn.action.reading} in {turn.action.file}", by="record", step=n)
        state.advance()
        turns.append(replace(turn, new=turn.prompt[:1], state=held, drops=drops))
    return tuple(turns)


def lab_table(lab: Lab) -> str:
    """One line an iteration; `verdicts` says what came of it."""
    head = ("iteration", "string", "after goal", "share", "file", "state", "after goal", "share", "file")
    lines = [(str(row.iteration), *_string_cells(row), *_state_cells(row)) for row in lab.rows]
    return table(head, lines, left=(4, 8))


def _string_cells(row: Row) -> tuple[str, ...]:
    return _cells(row.string_tokens, row.string_goal_depth, row.string_goal_share, row.string_on_goal)


def _state_cells(row: Row) -> tuple[str, ...]:
    return _cells(row.state_tokens, row.state_goal_depth, row.state_goal_share, row.state_on_goal)


def _cells(tokens: int, depth: int, share: float, on_goal: bool) -> tuple[str, ...]:
    return str(tokens), str(depth), f"{share:.0%}", "goal's" if on_goal else "another"


def verdicts(lab: Lab) -> tuple[str, str]:
    """One sentence a run: what its prompt grew to and whether it stayed on goal."""
    last = lab.rows[-1]
    sizes = {"string": ("growing string", last.string_tokens), "state": ("bounded state", last.state_tokens)}

    def sentence(name: str) -> str:
        title, tokens = sizes[name]
        at = lab.strayed_at[name]
        how = "on goal to the end" if at is None else f"off goal from iteration {at}"
        return f"{title}: {tokens:,} tokens at iteration {last.iteration}, {how}"

    return sentence("string"), sentence("state")


def _check(iterations: int) -> None:
    if not 1 <= iterations <= MOST_ITERATIONS:
        raise ValueError(f"iterations {iterations}: not between 1 and {MOST_ITERATIONS}")


def _meter(n: int) -> str:
    return f"A{n:02d}"


def _turn(n: int, prompt: Sequence[Message], aim: str) -> Turn:
    text = flat(prompt)
    action = act(text)
    reply: tuple[Message, ...] = (
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": f"call_{n}",
                    "type": "function",
                    "function": {"name": "record", "arguments": action.arguments()},
                }
            ],
        },
        {"role": "tool", "tool_call_id": f"call_{n}", "content": f"{action.meter} written to {action.file}"},
    )
    depth = chars4(text[text.rindex(aim) + len(aim) :])
    return Turn(n, tuple(prompt), action, reply, chars4(text), depth, action.file == GOAL_FILE)


def flat(messages: Sequence[Message]) -> str:
    """The prompt as one text: contents and calls, one message a paragraph."""
    parts = []
    for message in messages:
        calls = [f"record {call['function']['arguments']}" for call in message.get("tool_calls", ())]
        parts.append("\n".join([*([message["content"]] if message["content"] else []), *calls]))
    return "\n\n".join(parts)
