"""Reported usage by the record's shape, and figures that are none."""

from __future__ import annotations

from typing import Any

import pytest

from agentmem.formats.usage import ANTHROPIC, OPENAI, amount, money_of, usage_of

HUGE = 10**400


@pytest.mark.parametrize(("given", "prompt", "cached", "created", "rule"), [
    ({"input_tokens": 5, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 20}, 95, 70, 20, ANTHROPIC),
    ({"input_tokens": 5, "cache_read_input_tokens": 70}, 75, 70, None, ANTHROPIC),
    ({"prompt_tokens": 95, "prompt_tokens_details": {"cached_tokens": 70}}, 95, 70, None, OPENAI),
    ({"prompt_tokens": 95, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 20}, 95, 70, 20, OPENAI),
    ({"prompt_tokens": 95, "prompt_tokens_details": None}, 95, None, None, OPENAI),
    ({"input_tokens": 95, "input_tokens_details": {"cached_tokens": 70}}, 95, 70, None, OPENAI),
    ({"prompt_tokens": HUGE, "cost": HUGE}, None, None, None, OPENAI),
])  # fmt: skip
def test_a_prompt_counts_what_was_cached_once(
    given: dict[str, Any], prompt: int | None, cached: int | None, created: int | None, rule: str
) -> None:
    usage = usage_of(given)
    assert usage is not None
    assert (usage.prompt, usage.cached, usage.created, usage.rule) == (prompt, cached, created, rule)
    assert usage.cost is None


@pytest.mark.parametrize("value", [None, True, -1, HUGE, 1.5, "7", [7], {}])
def test_what_is_no_count_is_unknown(value: object) -> None:
    assert amount(value) is None and (amount(0), amount(7)) == (0, 7)


@pytest.mark.parametrize("value", [None, True, -1, HUGE, float("nan"), float("inf"), "7", [7]])
def test_what_is_no_sum_of_money_is_unknown(value: object) -> None:
    assert money_of(value) is None and (money_of(0), money_of(7), money_of(0.5)) == (0.0, 7.0, 0.5)
