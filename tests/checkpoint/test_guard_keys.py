"""Which of several equal calls a call is: a failure gives its place free, and no other call's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentmem.checkpoint.guard import Guard, InDoubt
from agentmem.checkpoint.recorder import record
from tests.checkpoint.helpers import message


def made(guard: Guard, work: Callable[[], object] = lambda: "sent", key: str | None = None) -> str:
    """Makes the call; `again` where its recorded result was given instead."""
    with guard.call("send", {"to": "sam"}, key=key) as call:
        if call.done:
            return "again"
        call.result = work()
    return "made"


def fails() -> object:
    raise RuntimeError("refused")


def test_a_failed_call_with_a_key_of_its_own_gives_no_other_calls_place_free(tmp_path: Path) -> None:
    guard = record("r", folder=tmp_path).guard
    assert made(guard) == "made"
    with pytest.raises(RuntimeError):
        made(guard, fails, key="mine")
    assert made(guard) == "made", "the second equal call is another one than the first"
    again = record("r", folder=tmp_path).guard
    assert [made(again) for _ in range(3)] == ["again", "again", "made"]


def test_of_two_calls_at_once_the_one_that_failed_is_made_again(tmp_path: Path) -> None:
    guard = record("r", folder=tmp_path).guard
    with pytest.raises(RuntimeError):
        made(guard, lambda: (made(guard), fails()))
    assert made(guard) == "made", "the one inside was done, the one around it failed"
    assert made(guard) == "made", "and both are done now"
    again = record("r", folder=tmp_path).guard
    assert [made(again) for _ in range(4)] == ["again", "again", "again", "made"]


def test_a_call_that_fails_after_a_save_gives_no_place_of_the_next_step_free(tmp_path: Path) -> None:
    run = record("r", folder=tmp_path)

    def saves_and_fails() -> None:
        run.save([message(0)])
        assert made(run.guard) == "made"
        fails()

    with pytest.raises(RuntimeError):
        made(run.guard, saves_and_fails)
    assert made(run.guard) == "made", "the first call of this step is done, this is the second"


def test_what_a_question_shows_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    guard = record("r", folder=tmp_path).guard
    with pytest.raises(SystemExit), guard.call("send\x1b[2J", {"to": "a\x9b2J\u202eb"}):
        raise SystemExit
    with pytest.raises(InDoubt) as told, guard.call("send\x1b[2J", {"to": "b"}):
        pytest.fail("it was made")
    question = guard.in_doubt[0].question
    assert question.isprintable() and r'{"to":"a\u009b2J\u202eb"}' in question
    assert str(told.value).isprintable()


def test_a_call_of_a_subagent_is_told_as_one_of_its_lane(tmp_path: Path) -> None:
    record("r", folder=tmp_path).save([message(0)])
    run = record("r", folder=tmp_path, lane="sub")
    made(run.guard)
    assert [call.lane for call in run.store.calls("r")] == ["sub"]
