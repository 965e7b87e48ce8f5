"""Reported usage by the record's shape.

Anthropic: the prompt is input + cache read + cache creation. OpenAI: the input already includes what was cached.
Several
lines of one response count once, field by field the largest. A lifetime total is never a context size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentmem.model import Usage

ANTHROPIC = "input + cache read + cache creation"
OPENAI = "input, cached included"
_TOO_MANY = 10**15


def amount(value: object) -> int | None:
    """How many, as a file says it: a whole number that is not negative; None for anything else, and for more than there
    can be of anything that is counted here."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _TOO_MANY else None


def money_of(value: object) -> float | None:
    """What a call cost, as a file says it; None for what is no sum of money."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12:
        return float(value)
    return None


def _details(usage: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in names:
        if isinstance(usage.get(name), Mapping):
            found: Mapping[str, Any] = usage[name]
            return found
    return {}


def usage_of(usage: object, source: str = "") -> Usage | None:
    """The usage of one call from the provider's object; None if it is none of the known shapes."""
    if not isinstance(usage, Mapping):
        return None
    money = money_of(usage.get("cost"))
    read, created = amount(usage.get("cache_read_input_tokens")), amount(usage.get("cache_creation_input_tokens"))
    if "input_tokens" in usage and (read is not None or created is not None):
        base = amount(usage.get("input_tokens"))
        prompt = None if base is None else base + (read or 0) + (created or 0)
        return Usage(prompt, read, created, amount(usage.get("output_tokens")), None, money, ANTHROPIC, source)
    if "prompt_tokens" in usage:
        given = _details(usage, "prompt_tokens_details")
        out = _details(usage, "completion_tokens_details")
        cached = amount(given.get("cached_tokens"))
        return Usage(
            amount(usage["prompt_tokens"]), read if cached is None else cached, created,
            amount(usage.get("completion_tokens")), amount(out.get("reasoning_tokens")), money, OPENAI, source,
        )  # fmt: skip
    if "input_tokens" in usage:
        given = _details(usage, "input_tokens_details", "input_token_details")
        out = _details(usage, "output_tokens_details", "output_token_details")
        return Usage(
            amount(usage["input_tokens"]), amount(given.get("cached_tokens", given.get("cache_read"))),
            amount(given.get("cache_write_tokens", given.get("cache_creation"))), amount(usage.get("output_tokens")),
            amount(out.get("reasoning_tokens", out.get("reasoning"))), money, OPENAI, source,
        )  # fmt: skip
    return None


def merged(first: Usage | None, second: Usage | None) -> Usage | None:
    """Two reports of one response: field by field the larger."""
    if first is None or second is None:
        return first or second

    def larger(a: int | None, b: int | None) -> int | None:
        return b if a is None else a if b is None else max(a, b)

    cost = second.cost if first.cost is None else first.cost if second.cost is None else max(first.cost, second.cost)
    return Usage(
        larger(first.prompt, second.prompt), larger(first.cached, second.cached), larger(first.created, second.created),
        larger(first.output, second.output), larger(first.reasoning, second.reasoning), cost, first.rule, first.source,
    )  # fmt: skip
