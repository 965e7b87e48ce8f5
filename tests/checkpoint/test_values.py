"""What is saved comes back exactly, or the save says which value cannot."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.checkpoint.recorder import load, record
from agentmem.checkpoint.store import CheckpointError, DamagedError
from agentmem.checkpoint.values import copied, encoded, parsed
from tests.checkpoint.helpers import message, names

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"])),
)
keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=20
)


def exactly(value: Any) -> str:
    """Equal only for values that are written the same: 1, 1.0 and True differ, and the order of keys counts."""
    return json.dumps(value)


@given(values)
def test_every_json_value_comes_back_exactly(value: Any) -> None:
    copy, _ = copied(value, "v")
    assert exactly(parsed(encoded(copy))) == exactly(value)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def looped() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (math.nan, "nan is not a JSON value"),
        (math.inf, "inf is not a JSON value"),
        (-math.inf, "-inf is not a JSON value"),
        ("a\ud800", r"the lone surrogate U\+D800"),
        (b"bytes", "bytes is not a JSON value"),
        ((1, 2), "tuple is not a JSON value"),
        ({1, 2}, "set is not a JSON value"),
        (Path("x"), "PosixPath|WindowsPath"),
        (10**5000, "an integer of 1661. bits"),
        ({1: "x"}, "the key 1 is int"),
        ({"\udfff": 1}, r"the lone surrogate U\+DFFF"),
        (nested(1000), "nested deeper than 200"),
        (looped(), "nested deeper than 200"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value[:12].encode("ascii", "replace"),
)
def test_a_value_that_no_file_gives_back_is_named_by_its_path(tmp_path: Path, value: Any, says: str) -> None:
    run = record("r", folder=tmp_path)
    run.save([message(0)], state={"a": {"b": [0]}})
    before = (tmp_path / "r.json").read_bytes(), (tmp_path / "r.steps.jsonl").read_bytes()
    with pytest.raises(TypeError, match=r"state\.a\.b\[1\].*: .*" + f"({says})"):
        run.save([message(0)], state={"a": {"b": [0, value]}})
    with pytest.raises(TypeError, match=r"messages\[1\]\.content.*: .*" + f"({says})"):
        run.save([message(0), {"role": "user", "content": value}])
    with pytest.raises(TypeError, match=r"notes.*: .*" + f"({says})"):
        run.save([message(0)], notes=value)
    assert before == ((tmp_path / "r.json").read_bytes(), (tmp_path / "r.steps.jsonl").read_bytes())
    assert run.save([message(0)]) == 2


@pytest.mark.parametrize("value", [None, 2**70, -(2**70), "a\0b", 5e-324, -0.0, 1e22, nested(150), {}, [], "\u2028"])
def test_odd_values_that_a_file_can_hold_round_trip(tmp_path: Path, value: Any) -> None:
    record("r", folder=tmp_path).save([{"role": "user", "content": value}], state={"v": value, "w": {"x": value}})
    now = load("r", tmp_path)
    assert exactly(now.messages[0]["content"]) == exactly(value)
    assert exactly(now.state) == exactly({"v": value, "w": {"x": value}})
    rebuilt = load("r", tmp_path, rebuild=True)
    assert exactly(rebuilt.state) == exactly(now.state)


def test_a_value_that_becomes_wrong_later_is_seen_although_it_was_written_the_same(tmp_path: Path) -> None:
    run = record("r", folder=tmp_path)
    messages: list[Any] = [{"role": "user", "content": None, "args": [1]}]
    run.save(messages)
    for wrong in (math.nan, (1,)):
        messages[0]["content"] = wrong
        with pytest.raises(TypeError, match=r"messages\[0\]\.content"):
            run.save(messages)
    messages[0] = {"role": "user", "content": None, "args": (1,)}
    with pytest.raises(TypeError, match=r"messages\[0\]\.args: tuple"):
        run.save(messages)


def test_a_value_that_fails_in_the_middle_of_a_deep_stack_does_not_break_the_files(tmp_path: Path) -> None:
    run = record("r", folder=tmp_path)
    run.save([message(0)])

    def down(left: int) -> None:
        if left:
            down(left - 1)
        else:
            run.save([{"role": "user", "content": nested(150)}])

    for left in range(700, 1000, 20):
        try:
            down(left)
        except RecursionError:
            break
    assert load("r", tmp_path).step == run.step
    assert run.save([message(1)]) == run.step
    assert names(tmp_path) == [".r.lock", "r.json", "r.steps.jsonl"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('"messages": [{"role": "user", "content": "\\ud800"}]', r"messages\[0\]\.content: the lone surrogate U\+D800"),
        ('"messages": [], "theirs": {"a": "\\ud800"}', r"extra\.theirs\.a: the lone surrogate U\+D800"),
        ('"messages": [], "usage": {"a": "\\ud800"}', r"usage\.a: the lone surrogate U\+D800"),
        (f'"messages": {"[" * 400}{"]" * 400}', "nested deeper than 200"),
    ],
)
def test_a_strangers_value_that_no_save_could_write_again_is_said_when_the_run_is_opened(
    tmp_path: Path, body: str, says: str
) -> None:
    path = tmp_path / "r.json"
    path.write_text(f'{{"step": 3, "notes": "x", {body}}}')
    assert load("r", tmp_path).step == 3
    with pytest.raises(CheckpointError, match=rf"r\.json: cannot be gone on from: .*{says}"):
        record("r", folder=tmp_path)


def test_a_number_that_no_float_holds_is_not_read_as_another(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('{"step": 3, "messages": [], "notes": "x", "theirs": 1e400}')
    with pytest.raises(DamagedError, match=r"r\.json: damaged: the number 1e400 is too large"):
        load("r", tmp_path)
