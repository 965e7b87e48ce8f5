"""A goal that a version of a list was saved without: one number says where it left, wherever it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentmem.inspect.lifelines import goal_lifeline
from agentmem.inspect.telling.explain import explain_header
from agentmem.inspect.telling.marks import goal_said
from agentmem.inspect.telling.verdict import verdict
from agentmem.inspect.telling.why import why
from tests.cases.written import versions
from tests.formats.helpers import call, result, said, user
from tests.tui.panes.shown import context_of, sheet_of
from tui.widgets.prompt.draw import goal_note


def test_headline_header_and_loss_name_one_step(tmp_path: Path) -> None:
    """Whether it left before the call of step 4 or right behind it is not known: it is told at 4, not at 4 and 5."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a shop."}, user("Refund the customer.")]
    saved = []
    for number in range(1, 8):
        messages = [*messages, call(f"c{number}", page=number), result(f"c{number}", f"page {number}")]
        if number == 4:
            del messages[1]
        saved.append({"step": number, "messages": messages, "notes": ""})
    run = versions(tmp_path / "a.json", *saved).run
    drop = next(drop for step in run.main.steps for drop in step.drops if drop.kind == "goal")
    index = context_of(run).index["main"]
    assert run.main.steps[drop.n - 1].unsure == "cut" and drop.step == 4
    assert verdict(run).text == "the goal is not in the prompt since 4"
    assert index.steps[index.goal_since(8) - 1].number == 4
    assert sheet_of(run, 8, context_of(run)).missing_since() == 4
    assert "since 4" in why(run, ("main", 8))[0].sentence
    step = run.main.steps[3]
    assert goal_said(step) == ("?", "left") and goal_note(step)[0] == "? left"
    assert [goal_said(one)[1] for one in run.main.steps[2:5]] == ["present", "left", "missing"]
    line = goal_lifeline(run, "main")
    assert (line.levels[:5], line.alarms) == ("━━━▲·", (4,)), "no hole where the loss is told"
    assert any(told.startswith("goal ? left: the goal left with this step") for told in explain_header(run, step))


def test_a_step_of_which_the_goal_is_unknown_otherwise_does_not_say_that_it_left(tmp_path: Path) -> None:
    saved = [{"step": 20 + n, "messages": [said(f"file {n}"), user(f"{n} lines"), said(f"file {n + 1}")], "notes": ""}
             for n in range(4)]  # fmt: skip
    run = versions(tmp_path / "a.json", *saved).run
    assert "cut" in {step.unsure for step in run.main.steps}
    assert {goal_said(step) for step in run.main.steps} == {("?", "unknown")}
    assert not goal_lifeline(run, "main").levels.strip()
