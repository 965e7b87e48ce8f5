"""A goal that a version of a list was saved without: one number says where it left, wherever it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentmem.inspect.telling.verdict import verdict
from agentmem.inspect.telling.why import why
from tests.cases.written import versions
from tests.formats.helpers import call, result, user
from tests.tui.panes.shown import context_of, sheet_of


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
