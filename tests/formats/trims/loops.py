"""Loops as strangers write them: each saves its versions, and tells what each call really saw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tests.formats.helpers import call, result, said, user

Message = dict[str, Any]
Cut = Callable[[list[Message]], list[Message]]


class Round(NamedTuple):
    """What one step adds."""

    asks: int = 0
    """Words of a person that come in before the call."""
    calls: int = 1
    """Tool calls of the answer, with a result each; 0: an answer in words."""


class Saved(NamedTuple):
    version: dict[str, Any]
    sent: list[Message]
    """What the call of that step saw."""


def last(keep: int, head: int = 0) -> Cut:
    """The first `head` and the last messages, `keep` in all."""
    return lambda messages: messages if len(messages) <= keep else messages[:head] + messages[head - keep :]


def summarised(limit: int, keep: int) -> Cut:
    """Above the limit a summary of what was, and the last few."""

    def cut(messages: list[Message]) -> list[Message]:
        if len(messages) <= limit:
            return messages
        return [messages[0], user(f"Progress so far: {len(messages)} messages."), *messages[-keep:]]

    return cut


def run(rounds: Sequence[Round], cut: Cut, *, at: str, behind_results: bool = True) -> Iterator[Saved]:
    """One save a step, behind the results or right behind the answer. `at`: where the loop cuts: `start` of the round,
    `call`, `answer`, `save`, or `never`."""
    messages: list[Message] = [{"role": "system", "content": "You count."}, user("count the meters of the district")]
    results: list[Message] = []
    for number, each in enumerate(rounds, 1):
        if at == "start":
            messages = cut(messages)
        messages = messages + results + [user(f"and street {number}.{n}") for n in range(each.asks)]
        results = []
        if at == "call":
            messages = cut(messages)
        sent = messages
        answer = said(f"street {number} has {number * 7}")
        if each.calls:
            answer = call(f"c{number}.0", n=number)
            for n in range(1, each.calls):
                answer["tool_calls"] += call(f"c{number}.{n}", n=number, m=n)["tool_calls"]
            results = [result(f"c{number}.{n}", f"meter {number}.{n} stands at {number * 13 + n}")
                       for n in range(each.calls)]  # fmt: skip
        messages = [*messages, answer]
        if at == "answer":
            messages = cut(messages)
        if behind_results:
            messages, results = messages + results, []
        if at == "save":
            messages = cut(messages)
        yield Saved({"step": number, "messages": messages, "notes": ""}, sent)
