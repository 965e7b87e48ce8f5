"""What an author gives as an object of their own is kept field by field: what stands at its default is said as well."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentmem.checkpoint.recorder import load, record
from agentmem.model import Attempt, Drop
from tests.checkpoint.helpers import message
from tests.formats.agents.following import opened


@dataclass
class Plan:
    """A state of an author's."""

    order_id: str | None = None
    phase: str = "planning"
    done: list[str] = field(default_factory=list)


class Packed(msgspec.Struct):
    """The same as a struct."""

    order_id: str | None = None
    phase: str = "planning"
    done: list[str] = []
    absent: int | msgspec.UnsetType = msgspec.UNSET


EMPTY: dict[str, Any] = {"order_id": None, "phase": "planning", "done": []}


@pytest.mark.parametrize("kind", [Plan, Packed])
def test_a_field_at_its_default_is_kept_wherever_the_object_is_given(tmp_path: Path, kind: Any) -> None:
    run = record("r", folder=tmp_path)
    run.save([{"role": "user", "content": kind()}, kind()], state=kind(), notes=kind(), usage=kind())
    now = load("r", tmp_path)
    assert (now.state, now.notes, now.usage) == (EMPTY, EMPTY, EMPTY)
    assert now.messages == [{"role": "user", "content": EMPTY}, EMPTY]


@pytest.mark.parametrize("kind", [Plan, Packed])
def test_a_field_that_goes_back_to_its_default_is_no_loss(tmp_path: Path, kind: Any) -> None:
    run = record("r", folder=tmp_path)
    for number, phase in enumerate(("planning", "acting", "planning")):
        run.save([message(n) for n in range(2 * number + 2)], state=kind("o1", phase))
    steps = opened(tmp_path / "r.json").run.main.steps
    assert [drop.name for step in steps for drop in step.drops] == []
    assert load("r", tmp_path).state == {**EMPTY, "order_id": "o1"}


def test_a_figure_of_zero_is_known(tmp_path: Path) -> None:
    @dataclass
    class Usage:
        prompt_tokens: int
        completion_tokens: int = 0

    record("r", folder=tmp_path).save([message(0), message(1)], usage=Usage(5))
    assert load("r", tmp_path).usage == {"prompt_tokens": 5, "completion_tokens": 0}
    told = opened(tmp_path / "r.json").run.main.steps[0].usage
    assert told is not None and (told.prompt, told.output) == (5, 0)


def test_nothing_in_a_state_is_kept_and_in_what_a_client_gives_left_out(tmp_path: Path) -> None:
    pydantic = pytest.importorskip("pydantic")
    model: Any = pydantic.create_model("Model", order_id=(str | None, None), phase=(str, "planning"))
    run = record("r", folder=tmp_path)
    run.save([model()], state=model(), notes={"plan": model()}, usage=model())
    now = load("r", tmp_path)
    assert now.state == {"order_id": None, "phase": "planning"} and now.notes == {"plan": now.state}
    assert now.messages == [{"phase": "planning"}] and now.usage == {"phase": "planning"}


def test_our_own_records_are_kept_without_what_they_need_not_say(tmp_path: Path) -> None:
    drop = Drop("main", 1, 1, "field", "port", "fact", None, 3, "trimmed", True, 1)
    attempt = Attempt("main", 1, 1, 1, "ls", "{}", None, "s", "reads", "ok", None)
    record("r", folder=tmp_path).save([message(0)], drops=[drop], attempts=[attempt, Plan()])
    now = load("r", tmp_path)
    assert now.drops is not None and "count" not in now.drops[0] and now.drops[0]["name"] == "port"
    assert now.attempts is not None and "tokens" not in now.attempts[0] and now.attempts[0]["outcome"] == "ok"
    assert now.attempts[1] == {"phase": "planning", "done": []}


class Colour(Enum):
    RED = 1


class Text(str):
    """A text that may have attributes."""


@pytest.mark.parametrize("value", [Colour.RED, Text("x"), ValueError("x"), Path("x")], ids=lambda v: type(v).__name__)
def test_what_has_attributes_and_is_no_object_of_fields_is_refused(tmp_path: Path, value: Any) -> None:
    run = record("r", folder=tmp_path)
    for name in ("state", "usage"):
        with pytest.raises(TypeError, match=f"{name}: {type(value).__name__} is neither"):
            run.save([message(0)], **{name: value})
    with pytest.raises(TypeError, match="is not a JSON value"):
        run.save([message(0)], notes=value)


@pytest.mark.parametrize("prompt", ["user: fix it", b"x", {"a": 1}, [5], ["user: fix it"], [None], 3])
def test_a_prompt_is_a_list_of_messages(tmp_path: Path, prompt: Any) -> None:
    run = record("r", folder=tmp_path)
    with pytest.raises(TypeError, match=r"prompt(\[0\])?: expected a"):
        run.save([message(0)], prompt=prompt)
    assert run.save([message(0)], prompt=(message(0),)) == 1
    assert load("r", tmp_path).prompt == [message(0)]
