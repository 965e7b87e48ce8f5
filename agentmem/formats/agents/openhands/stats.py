"""Usage of calls from OpenHands' statistics: accumulated totals, of which the growth is one call, or a row a response.

A prompt counts its cached tokens (OpenAI's rule); the accumulated total is never a context size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agentmem.formats.usage import amount, money_of
from agentmem.model import Usage

_RULE = "growth of the accumulated prompt tokens, cached included"
_ROW = "prompt tokens of the response, cached included"
_NAMES = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_MAIN = ("default", "agent")


def _numbers(row: Mapping[str, Any]) -> tuple[int, ...] | None:
    found = tuple(amount(row.get(name)) for name in _NAMES)
    return None if found[0] is None else tuple(value or 0 for value in found)


class Stats:
    """Takes in statistics as they come; gives the usage of the next call, or of a response by its id."""

    def __init__(self) -> None:
        self._total: tuple[int, ...] | None = None
        self._cost = 0.0
        self._next: Usage | None = None
        self._rows: dict[str, Usage] = {}

    def update(self, value: object) -> Iterable[str]:
        """Take in `stats`. Returns the responses of which it has rows."""
        metrics = value.get("usage_to_metrics") if isinstance(value, Mapping) else None
        if not isinstance(metrics, Mapping):
            return ()
        main = next((metrics[name] for name in _MAIN if isinstance(metrics.get(name), Mapping)), None)
        if main is None:
            rest = [row for name, row in metrics.items() if name != "condenser" and isinstance(row, Mapping)]
            main = rest[0] if len(rest) == 1 else None
        if main is None:
            return ()
        self._grow(main)
        rows = main.get("token_usages")
        for row in rows if isinstance(rows, list) else ():
            numbers = _numbers(row) if isinstance(row, Mapping) else None
            if numbers is not None and isinstance(row.get("response_id"), str) and row["response_id"]:
                self._rows[row["response_id"]] = _usage(numbers, None, _ROW, "stats")
        return tuple(self._rows)

    def _grow(self, main: Mapping[str, Any]) -> None:
        held = main.get("accumulated_token_usage")
        total = _numbers(held) if isinstance(held, Mapping) else None
        if total is None or not isinstance(held, Mapping):
            return
        money = money_of(main.get("accumulated_cost")) or 0.0
        before, self._total = self._total, total
        if before is None:
            turn = held.get("per_turn_token")
            before = (0,) * len(_NAMES) if turn == total[0] + total[1] else total
        grown = tuple(new - old for new, old in zip(total, before, strict=True))
        if grown[0] > 0 and min(grown) >= 0:
            spent = money - self._cost
            self._next = _usage(grown, spent if spent > 0 else None, _RULE, "stats")
        self._cost = money

    def usage(self, response: str | None) -> Usage | None:
        """Usage of a call that is made now: its row, else what the totals grew by since the last one."""
        grown, self._next = self._next, None
        return self._rows.get(response or "") or grown


def _usage(numbers: tuple[int, ...], cost: float | None, rule: str, source: str) -> Usage:
    prompt, output, read, written, reasoning = numbers
    return Usage(prompt, read, written, output, reasoning or None, cost, rule, source)
