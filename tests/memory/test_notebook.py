"""The notebook: lines, trimming by the letter, and a record of all that leaves."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.memory.notebook import Notebook, canonical
from agentmem.tokens import chars4, words

FACTS = st.lists(st.text(max_size=30), max_size=12)


def test_a_tool_result_becomes_one_line_with_its_arguments_as_given() -> None:
    book = Notebook("Be brief.")
    assert book.add("read", "port.txt", "8080") == "read(port.txt) -> 8080"
    assert book.add("search", {"q": "çay", "n": 2}, "two\nlines") == 'search({"n":2,"q":"çay"}) -> two\\nlines'
    assert book.render() == 'Be brief.\nread(port.txt) -> 8080\nsearch({"n":2,"q":"çay"}) -> two\\nlines'


def test_an_observation_that_is_no_text_stands_as_canonical_json() -> None:
    assert Notebook("n").add("t", "", {"b": 1, "a": None}) == 't() -> {"a":null,"b":1}'


def test_a_fact_that_fits_exactly_stays_and_the_next_older_leaves() -> None:
    book = Notebook("two words", ["one two three", "four five", "six"])
    drops = book.trim(5)
    assert book.facts == ("four five", "six")
    assert [(d.head, d.tokens, d.cause, d.recorded, d.name) for d in drops] == [
        ("one two three", 3, "trimmed", True, "facts[0]")
    ]


def test_trimming_stops_at_the_first_that_does_not_fit_even_if_older_ones_would() -> None:
    book = Notebook("note", ["a", "b c d e f", "g"])
    book.trim(4)
    assert book.facts == ("g",)


@pytest.mark.parametrize("budget", [-5, 0, 1, 2])
def test_a_tiny_or_negative_remainder_keeps_the_note_alone(budget: int) -> None:
    book = Notebook("a long note", ["x", "y"])
    assert [d.head for d in book.trim(budget)] == ["x", "y"]
    assert book.render() == "a long note"


def test_a_fact_is_counted_with_its_line_break() -> None:
    book = Notebook("", ["abcd"])
    assert len(book.trim(1, chars4)) == 1
    book = Notebook("", ["abc"])
    assert book.trim(1, chars4) == ()


def test_facts_keep_their_number_after_a_trim() -> None:
    book = Notebook("n", ["a", "b"])
    assert [d.name for d in book.trim(2)] == ["facts[0]"]
    book.add("t", "", "c")
    assert [d.name for d in book.trim(2)] == ["facts[1]", "facts[2]"]


@given(st.text(max_size=20), FACTS, st.integers(-3, 40))
def test_what_stays_and_what_is_recorded_are_together_what_there_was_in_order(
    note: str, facts: list[str], budget: int
) -> None:
    book = Notebook(note, facts)
    before = book.facts
    drops = book.trim(budget)
    assert tuple(d.text for d in drops) + book.facts == before
    assert all(d.tokens == words(d.text + "\n") for d in drops if d.text is not None)
    spent = sum(words(fact + "\n") for fact in book.facts)
    assert not book.facts or spent <= budget - words(note)
    if drops and drops[-1].text is not None:
        assert spent + words(drops[-1].text + "\n") > budget - words(note)
    assert book.trim(budget) == ()


@given(st.text(max_size=20), FACTS, st.integers(0, 40))
def test_every_fact_is_one_line_and_a_notebook_comes_back_from_json(note: str, facts: list[str], budget: int) -> None:
    book = Notebook(note, facts)
    assert all(len(fact.splitlines()) <= 1 for fact in book.facts)
    book.trim(budget)
    again = Notebook.from_dict(json.loads(json.dumps(book.to_dict())))
    assert again == book and again.render() == book.render()
    again.add("read", {}, "more")
    assert again != book and book != "a text"


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ({}, "system"),
        ({"system": "n", "facts": [1]}, "facts"),
        ({"system": "n", "facts": [], "trimmed": -1}, "trimmed"),
        ({"system": "n", "facts": [], "trimmed": True}, "trimmed"),
        (None, "mapping"),
        ([], "mapping"),
    ],
)
def test_a_broken_notebook_is_refused_by_the_name_of_its_entry(data: Any, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        Notebook.from_dict(data)


def test_canonical_json_refuses_what_is_no_json() -> None:
    with pytest.raises(TypeError):
        canonical({1, 2})


@pytest.mark.parametrize("budget", [float("nan"), float("inf"), "9", None, True])
def test_a_budget_that_is_no_finite_number_is_refused_and_nothing_leaves(budget: Any) -> None:
    book = Notebook("note", ["a", "b"])
    with pytest.raises(ValueError, match="max_tokens is"):
        book.trim(budget)
    assert book.facts == ("a", "b")
