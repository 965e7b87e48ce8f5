"""Counters by name, exact where memory.md is exact."""

from __future__ import annotations

import importlib.util

import pytest

from agentmem import tokens


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("words", "  one two\nthree ", 3),
        ("words", "", 0),
        ("pieces5", "abone : A001", 3),
        ("pieces5", "a,b", 3),
        ("pieces5", "metrekupluk", 3),
        ("chars4", "", 0),
        ("chars4", "abcde", 2),
        ("chars4", "漢" * 8, 2),
        ("quick", "", 0),
        ("quick", "abcde", 2),
        ("quick", "naïve — ☃", 3),
        ("quick", "漢" * 8, 7),
        ("quick", "abcd漢字かな한글", 6),
    ],
)
def test_the_count_is_as_written(name: str, text: str, count: int) -> None:
    assert tokens.counter(name)(text) == count


def test_an_unknown_counter_names_those_that_there_are() -> None:
    with pytest.raises(tokens.UnknownCounter, match="quick, words, pieces5, chars4, o200k, claude"):
        tokens.counter("bytes")


@pytest.mark.parametrize(("name", "module"), [("o200k", "toktok"), ("claude", "ctok")])
def test_a_missing_extra_says_how_to_install_it(name: str, module: str) -> None:
    if importlib.util.find_spec(module):
        assert tokens.counter(name)("hello world") >= 2
    else:
        with pytest.raises(tokens.UnknownCounter, match=r"agentmem-inspector\[tokens\]"):
            tokens.counter(name)
