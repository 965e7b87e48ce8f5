"""What tools naturally give is taken in; what is none of it is refused with a line that names the argument."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.ledger import (
    Detector,
    Ledger,
    code_signature,
    effect,
    error_line,
    failure,
    find_edits,
    is_waiting,
    make_attempt,
    mask,
    result_key,
    signature,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("result", "said"),
    [({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}'), (["x", 2], '["x",2]'), ((1, 2), "[1,2]"), (0, "0"),
     (2.5, "2.5"), (True, "true"), ({1: "ş"}, '{"1":"ş"}')],
)  # fmt: skip
def test_a_json_value_is_written_down_as_canonical_json(result: Any, said: str) -> None:
    ledger, as_text = Ledger(), Ledger()
    ledger.record("measure", {"id": 1}, result)
    as_text.record("measure", {"id": 1}, said)
    assert ledger.to_dict() == as_text.to_dict()
    assert said in ledger.render()


def test_the_same_value_in_another_order_is_the_same_result() -> None:
    ledger = Ledger()
    said = [ledger.record("read", {"path": "a"}, {"x": 1, "y": 2} if n % 2 else {"y": 2, "x": 1}) for n in range(4)]
    assert [verdict.action for verdict in said] == ["continue", "continue", "warn", "stop"]
    other = Ledger()
    assert {other.record("read", {"path": "a"}, {"x": n}).action for n in range(4)} == {"continue"}


@pytest.mark.parametrize("given_as", ["error", "result"])
def test_an_exception_is_an_error_with_its_type_and_message(given_as: str) -> None:
    ledger, as_text = Ledger(matches=2), Ledger(matches=2)
    for _ in range(2):
        wrong = KeyError("port")
        more: Any = {"result": None, "error": wrong} if given_as == "error" else {"result": wrong}
        verdict = ledger.record("read", {"key": "port"}, **more)
        expected = as_text.record("read", {"key": "port"}, None, error="KeyError: 'port'")
    assert verdict == expected and verdict.action == "stop"
    assert ledger.to_dict() == as_text.to_dict()
    ledger.record("wait_for", {}, TimeoutError())
    assert "TimeoutError" in ledger.render()


def test_an_error_may_be_the_object_that_an_interface_answers_with() -> None:
    ledger = Ledger()
    ledger.record("call", {}, None, error={"code": 404, "message": "no such order"})
    assert '-> error: {"code":404,"message":"no such order"}' in ledger.render()


def holding_itself() -> list[Any]:
    held: list[Any] = []
    held.append(held)
    return held


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"tool": None}, "tool is a text, not NoneType"),
        ({"arguments": b"{}"}, "arguments is a mapping or its JSON text, not bytes"),
        ({"arguments": 5}, "arguments is a mapping or its JSON text, not int"),
        ({"result": b"x"}, "result is a text, a JSON value or an exception, not bytes"),
        ({"result": object()}, "result is a text, a JSON value or an exception, not object"),
        ({"result": [{"day": date(2026, 1, 1)}]}, "result is a text, a JSON value or an exception, not date"),
        ({"result": holding_itself()}, "result is nested too deeply"),
        ({"error": False}, "error is the error's text or the exception, not bool"),
        ({"error": 0}, "error is the error's text or the exception, not int"),
        ({"error": b"x"}, "error is the error's text or the exception, not bytes"),
        ({"step": "1"}, "step is a whole number, not str"),
        ({"step": [1]}, "step is a whole number, not list"),
        ({"step": True}, "step is a whole number, not bool"),
    ],
)
def test_anything_else_is_refused_by_the_argument_and_nothing_is_written_down(wrong: dict[str, Any], said: str) -> None:
    ledger = Ledger()
    before = ledger.to_dict()
    with pytest.raises(TypeError, match=f"^record: {said}"):
        ledger.record(**{"tool": "read", "arguments": {}, "result": "x", **wrong})
    assert ledger.to_dict() == before


@pytest.mark.parametrize("wrong", [None, 5, b"x", ["a"], {"a": 1}])
def test_the_functions_that_take_a_text_name_the_argument_that_is_none(wrong: Any) -> None:
    for name, call in (
        ("tool", lambda: signature(wrong, {})), ("tool", lambda: effect(wrong, "{}")),
        ("tool", lambda: is_waiting(wrong, "{}", None)), ("code", lambda: code_signature(wrong)),
        ("arguments", lambda: find_edits("edit", wrong)), ("text", lambda: mask(wrong)),
        ("text", lambda: result_key(wrong)), ("text", lambda: error_line(wrong)), ("result", lambda: failure(wrong)),
        ("tool", lambda: make_attempt(wrong, {}, "x", n=1)), ("attempt", lambda: Detector().feed(wrong)),
        ("code", lambda: Ledger().record_code(wrong, "x")),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=rf": {name} is an? (text|Attempt), not {type(wrong).__name__}$"):
            call()
    if wrong is not None:
        with pytest.raises(TypeError, match="result is a text"):
            make_attempt("read", {}, wrong, n=1)


@given(JSON)
def test_every_json_value_is_taken_and_can_be_saved(value: Any) -> None:
    ledger = Ledger()
    ledger.record("read", {"value": value}, value)
    assert Ledger.from_dict(ledger.to_dict()).to_dict() == ledger.to_dict()
