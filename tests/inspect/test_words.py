"""What an error may name: the quick search never misses what the exact one finds."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.inspect.compare.words import folded, marks_of, said_in

NAMES = st.sampled_from(("order_id", "orderId", "api-url", "facts.İndex_no", "STRASSE_nr", "___1", "id", "port"))
VALUES = st.sampled_from(("A017x", "8080", "true", "straße", "http://a/b", "İzmir", "x" * 500, "ab"))
GLUE = st.sampled_from((" ", "", "_", "-", ": ", "'", "x"))


@st.composite
def errors(draw: st.DrawFn) -> str:
    words = draw(st.lists(st.one_of(NAMES, VALUES), max_size=4))
    turns: tuple[Callable[[str], str], ...] = (str, str.lower, str.upper, str.swapcase)
    turn = draw(st.sampled_from(turns))
    return "".join(turn(word) + draw(GLUE) for word in words) + draw(st.text(max_size=6))


@given(st.lists(st.tuples(NAMES, VALUES), max_size=4), errors())
def test_every_error_that_names_a_pair_has_one_of_its_marks(pairs: list[tuple[str, str]], error: str) -> None:
    if any(said_in(pair, error) for pair in pairs):
        assert any(mark in folded(error) for mark in marks_of(pairs))


@pytest.mark.parametrize(
    "error", ["no order id", "ORDERID is missing", "order-id: null", "cannot find A017x", "ORDER_İD", "order_ıd"]
)
def test_a_name_is_found_however_its_words_are_joined(error: str) -> None:
    pair = ("facts.order_id", "A017x")
    assert said_in(pair, error) and any(mark in folded(error) for mark in marks_of([pair]))


def test_what_an_expression_without_case_takes_for_one_is_folded_into_one() -> None:
    apart = []
    for code in range(0x11000):
        one = chr(code)
        found = re.compile(re.escape(one), re.IGNORECASE)
        for other in {one.lower(), one.upper(), one.casefold(), "i", "I"}:
            if len(other) == 1 and found.fullmatch(other) and folded(one) != folded(other):
                apart.append((one, other))
    assert apart == []
