"""A list whose beginning slid out before it was first seen: what was asked is unknown, and no piece is the goal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentmem.inspect.open import open_run
from agentmem.inspect.telling.verdict import verdict
from agentmem.model import Run
from tests.cases.written import call, drops, list_of, result, said, user, versions
from tests.inspect_follow.following import Following, closed, put


def loop(first: int, last: int, keep: int = 6) -> list[dict[str, Any]]:
    """Versions `first` to `last` of a loop that keeps its last messages, whose observations come as the user."""
    messages, out = [user("Fix the failing test in parser.py")], []
    for step in range(1, last + 1):
        messages = [*messages[-keep:], said(f"I look at file {step}"), user(f"Observation {step}: {step * 7} lines")]
        out.append({"step": step, "messages": messages, "notes": ""})
    return out[first - 1 :]


def no_goal(run: Run) -> None:
    assert run.goal is None
    assert {step.goal for step in run.main.steps} == {"unknown"}
    assert {piece.kind for step in run.main.steps for piece in step.prompt} <= {"assistant", "user", "call", "result"}
    assert "goal" not in verdict(run).text
    assert not [drop for drop in drops(run) if drop.kind == "goal" or drop.alarming]


@pytest.mark.parametrize("last", [20, 21, 22, 24])
@pytest.mark.parametrize("keep", [4, 6])
def test_an_observation_that_is_left_is_no_goal(last: int, keep: int, tmp_path: Path) -> None:
    no_goal(versions(tmp_path / "run.json", *loop(20, last, keep)).run)


def test_what_slides_out_is_what_a_user_said(tmp_path: Path) -> None:
    run = versions(tmp_path / "run.json", *loop(20, 22)).run
    assert [drop.name for drop in drops(run)] == ["2 pieces: 1 user, 1 assistant"] * 2


def test_nor_is_it_when_followed_and_when_its_history_is_read_again(tmp_path: Path) -> None:
    path, saves = tmp_path / "run.json", loop(20, 23)
    put(path, saves[0])
    with Following(path, history=True) as seen:
        for number, save in enumerate(saves, 20):
            put(path, save)
            seen.until(lambda s, own=number: s.run is not None and s.run.main.steps[-2].own == own)  # type: ignore[misc]  # bound now
        assert seen.run is not None
        no_goal(seen.run)
        steps = closed(seen.run)
    with Following(path, history=True) as seen:
        seen.until(lambda s: s.steps == steps)
        assert seen.run is not None
        no_goal(seen.run)
    no_goal(open_run(str(path)).run)


@pytest.mark.parametrize(
    "messages",
    [
        [call("c7", n=7), result("c7", "7 lines"), user("go on"), call("c8", n=8), result("c8", "8 lines")],
        [user("look at file 7 too"), result("c7", "7 lines"), said("it has 7")],
    ],
    ids=["a call first", "a result without its call"],
)
def test_a_list_that_begins_inside_a_call_has_no_goal(messages: list[dict[str, Any]], tmp_path: Path) -> None:
    no_goal(list_of(tmp_path / "run.json", messages))


def test_what_is_asked_behind_a_greeting_is_the_goal(tmp_path: Path) -> None:
    run = list_of(tmp_path / "run.json", [said("How can I help?"), user("water the garden"), said("I water it")])
    assert run.goal == "water the garden"
    assert [piece.kind for piece in run.main.steps[1].prompt] == ["assistant", "goal"]
