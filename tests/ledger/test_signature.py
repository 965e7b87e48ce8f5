"""Signatures are of the strategy; canonical arguments are what is shown."""

from __future__ import annotations

import json
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.ledger import canonical_arguments, code_signature, signature


def test_canonical_arguments_sort_keys_and_keep_white_space_and_letters() -> None:
    assert canonical_arguments('{"b": 1, "a": {"d": "x  y", "c": "ü"}}') == '{"a":{"c":"ü","d":"x  y"},"b":1}'
    assert canonical_arguments({"b": (1, 2), "a": None}) == '{"a":null,"b":[1,2]}'


@pytest.mark.parametrize("text", ["", "ls  -la", "{half", '{"a":', "[" * 100_000, "9" * 5000 + "x"])
def test_text_that_is_no_json_stands_as_given(text: str) -> None:
    assert canonical_arguments(text) == text
    assert len(signature("bash", text)) == 16


def test_white_space_is_folded_in_the_signature_only() -> None:
    assert signature("find", '{"q": "a  b\\n"}') == signature("find", {"q": "a b"})
    assert signature("find", '{"q": "ab"}') != signature("find", {"q": "a b"})
    assert signature("find", {"q": "a"}) != signature("look", {"q": "a"})


@pytest.mark.parametrize(
    ("tool", "one", "two"),
    [
        ("str_replace", {"path": "a", "new_str": "  x"}, {"path": "a", "new_str": "    x"}),
        ("write", {"path": "a", "content": "if a:\n  b"}, {"path": "a", "content": "if a:\n    b"}),
        ("multiedit", {"path": "a", "edits": [{"old": "x", "new": "\tx"}]},
                      {"path": "a", "edits": [{"old": "x", "new": "  x"}]}),
        ("apply_patch", {"patch": "+ x"}, {"patch": "+  x"}),
        ("bash", {"command": "sed -i 's/^a/  a/' f"}, {"command": "sed -i 's/^a/    a/' f"}),
        ("bash", {"command": "cat > f <<E\n  a\nE"}, {"command": "cat > f <<E\n    a\nE"}),
    ],
)  # fmt: skip
def test_another_indentation_of_what_is_written_is_another_edit(
    tool: str, one: dict[str, object], two: dict[str, object]
) -> None:
    assert signature(tool, one) != signature(tool, two)


def test_other_white_space_of_what_is_written_is_folded() -> None:
    one, two = {"path": "a", "content": "a  = 1\n\n\n  b\n"}, {"path": "a", "content": "a = 1 \r\n  b"}
    assert signature("write", one) == signature("write", two)
    assert signature("bash", {"command": "ls   -l\n 'a  b'"}) == signature("bash", {"command": "ls -l 'a  b'  "})
    assert signature("find", {"path": " a", "q": "x  y"}) == signature("find", {"path": "a", "q": " x y"})


@pytest.mark.parametrize("text", ['"' + '\\"' * 100_000, "'" * 100_001, '"' * 100_001 + "\\", "a ' b \" " * 50_000])
def test_quotes_that_do_not_end_take_no_time(text: str) -> None:
    start = process_time()
    assert len(signature("bash", {"command": text})) == 16
    assert process_time() - start < 1


def test_a_thinking_tool_has_nothing_but_its_thought() -> None:
    assert signature("think", {"thought": "a"}) != signature("think", {"thought": "b"})
    assert signature("run", {"thought": "a", "x": 1}) == signature("run", {"Thought": "b", "x": 1})


def test_a_command_stands_without_its_comments() -> None:
    assert signature("bash", {"command": "# again\npytest -q  # now"}) == signature("bash", {"command": "pytest  -q"})
    assert signature("bash", {"command": "echo '#1'"}) != signature("bash", {"command": "echo '#2'"})
    assert signature("bash", "# again\npytest") == signature("bash", "pytest")


PYTHON = "def f(a, b):\n    # add them\n    return a + b\n\n\nprint( f(1,2) )\n"


@pytest.mark.parametrize(
    "other",
    [
        "def f(a,b):\n  return a+b\nprint(f(1, 2))",
        "def f(\n    a,\n    b\n):\n\n        return a + b  # sum\nprint(f(1, 2)) # done",
        "\n\ndef f(a, b):\n\treturn a + b\n\nprint(f(1,2))\n",
    ],
)
def test_code_that_differs_by_comments_and_layout_is_one_strategy(other: str) -> None:
    assert code_signature(PYTHON) == code_signature(other)
    assert signature("python", {"code": PYTHON}) == signature("python", {"code": other})


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("if a:\n  b\nc", "if a:\n  b\n  c"),
        ("x = 'a  b'", "x = 'a b'"),
        ("x = '# a'", "x = '# b'"),
        ("x = 10 // 2", "x = 10 // 3"),
        ("return a", "returna"),
        ("#include <a>", "#include <b>"),
        ("a + b", "a - b"),
    ],
)
def test_code_that_differs_in_what_it_does_is_another_strategy(one: str, two: str) -> None:
    assert code_signature(one) != code_signature(two)


def test_comments_of_several_languages_are_left_out() -> None:
    assert code_signature("f();\n// one\ng(); /* two */") == code_signature("f();\n\ng();")
    assert code_signature("select 1 -- why\nfrom t") == code_signature("select 1\nfrom t")
    assert code_signature("int f() {\n  return 1;\n}") == code_signature("int f() {\nreturn 1;\n}\n")


@given(st.text(alphabet="ab1 =+:(){}.\n\t"))
def test_a_comment_or_an_empty_line_behind_code_changes_nothing(code: str) -> None:
    assert code_signature(code) == code_signature(f"{code}\n\n# done\n")


@given(st.text())
def test_code_of_any_text_has_a_signature(code: str) -> None:
    assert len(code_signature(code)) == 16


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda v: st.lists(v) | st.dictionaries(st.text(), v), max_leaves=8
)  # fmt: skip


@given(st.text(), st.dictionaries(st.text(), json_values))
def test_any_arguments_have_one_canonical_form_and_signature(tool: str, arguments: dict[str, object]) -> None:
    shown = canonical_arguments(arguments)
    assert json.loads(shown) == arguments
    assert canonical_arguments(shown) == shown == canonical_arguments(json.dumps(arguments, indent=2))
    assert signature(tool, arguments) == signature(tool, shown)


@given(st.text())
def test_any_text_as_arguments_has_a_signature(text: str) -> None:
    assert len(signature("bash", text)) == len(signature("python", text)) == len(signature("x", text)) == 16
    canonical_arguments(text)
