"""Guarded calls without an outcome are told from files and SQLite alike: under way, then in doubt, then answered."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from agentmem.checkpoint.recorder import Recorder, record
from agentmem.inspect.open import Opened, open_run
from tests.formats.helpers import call, result, user


class Killed(BaseException):
    """The agent ends in the middle of a call."""


def agent(tmp_path: Path, where: str, steps: int = 3) -> tuple[Recorder, list[Any], str]:
    """A run of some steps, its messages, and the path that the inspector is given."""
    store = str(tmp_path / "runs.db") if where == "sqlite" else None
    run = record("mailer", goal="send it", folder=tmp_path, store=store)
    messages: list[Any] = [user("send it")]
    for number in range(1, steps + 1):
        messages += [call(f"c{number}", n=number), result(f"c{number}", f"out {number}")]
        run.save(messages)
    return run, messages, store or str(tmp_path / "mailer.json")


def leave_in_doubt(run: Recorder, tool: str = "send_mail") -> str:
    """Begin a guarded call and be killed in it; its key."""
    under = run.guard.call(tool, {"to": "ann"})
    guarded = under.__enter__()
    assert not under.__exit__(Killed, Killed(), None)
    return guarded.key


def looked_at(source: Opened) -> list[tuple[str, int, bool]]:
    return [(one.tool, one.step, one.in_doubt) for one in source.run.begun]


@pytest.mark.parametrize("where", ["files", "sqlite"])
def test_a_call_is_under_way_until_the_run_goes_on_without_it(tmp_path: Path, where: str) -> None:
    run, messages, path = agent(tmp_path, where)
    source = open_run(path)
    assert not source.run.begun
    key = leave_in_doubt(run)
    until(source, [("send_mail", 4, False)])
    assert source.run.pending is not None and source.run.pending[0] == "send_mail"
    assert source.run.begun[0].key == key and source.run.begun[0].arguments == '{"to":"ann"}'
    messages += [call("c4", n=4), result("c4", "out 4")]
    run.save(messages)
    until(source, [("send_mail", 4, True)])
    again = record("mailer", folder=tmp_path, store=path if where == "sqlite" else None)
    again.guard.happened(key, {"id": 7})
    until(source, [])


@pytest.mark.parametrize("where", ["files", "sqlite"])
def test_a_call_of_a_run_that_ended_is_in_doubt(tmp_path: Path, where: str) -> None:
    run, _, path = agent(tmp_path, where)
    leave_in_doubt(run)
    run.finish("failed")
    assert looked_at(open_run(path)) == [("send_mail", 4, True)]


def test_damage_in_the_file_of_calls_is_said_and_the_steps_are_shown(tmp_path: Path) -> None:
    run, _, path = agent(tmp_path, "files")
    leave_in_doubt(run)
    (tmp_path / "mailer.calls.jsonl").write_bytes(b'{"v":1,"key":\n')
    source = open_run(path)
    assert len([step for step in source.run.main.steps if not step.open]) == 3 and source.run.begun == ()
    assert [problem.where for problem in source.run.problems] == ["calls"]


def until(source: Opened, wanted: list[tuple[str, int, bool]]) -> None:
    """Look again until the guarded calls are these: a database that changed just now is looked at a moment later."""
    for _ in range(200):
        source.refresh()
        if looked_at(source) == wanted:
            return
        time.sleep(0.02)
    raise AssertionError(f"{looked_at(source)} is not {wanted}")
