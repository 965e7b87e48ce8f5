"""The open step where the exact prompts are recorded: the prompt that the next call will see, not that of the last."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentmem.checkpoint.recorder import record
from agentmem.experiments.demo.agent import DemoAgent
from agentmem.experiments.demo.script import GOAL, story
from agentmem.inspect.open import open_run
from agentmem.model import Run, Step
from tests.formats.helpers import call, result, said, user

SKELETON = {"plan", "fact", "note", "goal", "other", "error"}
"""Kinds of the pieces of a rendered state, which may be another before the next call."""


def opened(path: Path) -> Run:
    found = open_run(str(path))
    return found.run


def heads(step: Step) -> list[str | None]:
    return [segment.head for segment in step.prompt]


@pytest.mark.parametrize("last", [1, 5, 13, 16, 22, 28, 30])
def test_the_open_step_of_the_demo_is_the_prompt_of_the_next_call_but_for_its_state(tmp_path: Path, last: int) -> None:
    """Step 16 reads a file of 7,000 tokens: they are in the prompt that comes. Step 15 is left out: the agent compacts
    its messages behind it, which nothing tells before."""
    agent = DemoAgent(record("a", goal=GOAL, folder=tmp_path, resume=False))
    for beat in story()[:last]:
        agent.step(beat)
    before = opened(tmp_path / "a.json").main.steps[-1]
    agent.step(story()[last])
    after = opened(tmp_path / "a.json").main.steps[last]
    assert before.open and not after.open and before.number == after.number == last + 1
    spoken = [[seg.key for seg in step.prompt if seg.kind not in SKELETON] for step in (before, after)]
    assert spoken[0] == spoken[1]
    assert before.tokens.trace == after.tokens.trace and before.tokens.fixed == after.tokens.fixed
    assert before.goal == after.goal == "last" and before.tokens_after_goal == 0
    assert before.prompt.provenance == "reconstructed" and after.prompt.provenance == "exact"
    assert not before.drops and not before.attempts


def saved(folder: Path, *, sends: int | None, saves: int = 3) -> Run:
    """A run whose prompts are its first message and the last `sends` of the others; None: a text made for the call."""
    run = record("a", folder=folder)
    messages: list[dict[str, Any]] = [user("go")]
    for number in range(1, saves + 1):
        rest = messages[1:]
        prompt = [user(f"state {number}")] if sends is None else [messages[0], *rest[max(0, len(rest) - sends) :]]
        messages += [call(f"c{number}"), result(f"c{number}", f"out {number}")]
        run.save(messages, prompt=prompt)
    return opened(folder / "a.json")


def test_the_answer_and_what_came_back_stand_behind_what_was_sent(tmp_path: Path) -> None:
    step = saved(tmp_path, sends=100).main.steps[-1]
    assert step.open and heads(step)[-3:] == ["out 2", "read {}", "out 3"]
    assert heads(step)[0] == "go" and len(step.prompt) == 7


def test_a_loop_that_sends_no_answers_again_is_not_promised_to_do_so(tmp_path: Path) -> None:
    """Its prompts are made from the state alone, as is seen from the second call on."""
    assert heads(saved(tmp_path, sends=None).main.steps[-1]) == ["state 3"]


def test_messages_of_the_first_save_that_were_never_sent_do_not_come_next(tmp_path: Path) -> None:
    run = record("a", folder=tmp_path)
    old = [message for n in range(20) for message in (call(f"o{n}", n=n), result(f"o{n}", f"old {n}"))]
    messages = [user("go"), *old, user("now"), call("c1", "list"), result("c1", "new")]
    run.save(messages, prompt=[messages[0], user("now")])
    assert heads(opened(tmp_path / "a.json").main.steps[-1])[2:] == ["list {}", "new"]


def test_what_a_person_says_behind_the_answer_comes_next(tmp_path: Path) -> None:
    run = record("a", folder=tmp_path)
    messages = [user("go"), said("Which one?"), user("the left one")]
    run.save(messages, prompt=messages[:1])
    step = opened(tmp_path / "a.json").main.steps[-1]
    assert step.open and heads(step) == ["go", "Which one?", "the left one"]


def test_the_goal_has_behind_it_what_came_behind_it(tmp_path: Path) -> None:
    run = record("a", goal="mend the leak", folder=tmp_path)
    messages = [user("mend the leak"), call("c1"), result("c1", "x" * 400)]
    run.save(messages, prompt=messages[:1])
    step = opened(tmp_path / "a.json").main.steps[-1]
    assert step.goal == "present" and step.tokens_after_goal == sum(seg.tokens or 0 for seg in list(step.prompt)[1:])


def test_the_answer_of_the_last_request_of_a_log_is_in_the_prompt_that_comes(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    answer = {"choices": [{"message": call("a")}]}
    lines = [{"ts": 1790000000, "request": {"model": "m", "messages": [user("go")]}, "response": answer}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    step = opened(path).main.steps[-1]
    assert step.open and heads(step) == ["go", "read {}"] and step.prompt.provenance == "reconstructed"
