"""The panes over real runs, where they are beside the project: every line whole, safe and as wide as asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentmem.formats import recognise
from agentmem.formats.reader import Options
from agentmem.inspect.open import Opened
from tui.widgets.panes.loops import LoopsPane
from tui.widgets.panes.lost import LostPane
from tui.widgets.panes.state import StatePane
from tui.widgets.prompt.pane import PromptPane

from .shown import context_of, pane_lines, text
from .test_outside_text import check


def opened(path: Path) -> Opened:
    known = recognise(path)
    assert known is not None
    return Opened(path, known, Options())


@pytest.mark.parametrize(
    "name",
    [
        "mini-swe-agent/gen-v2-loop.traj.json",
        "swe-agent/marshmallow-function_calling_replace_from_source.traj",
        "plain-openai-chat/messages.json",
        "plain-openai-chat/requests.jsonl",
    ],
)
@pytest.mark.parametrize("width", [80, 150])
def test_every_step_of_a_real_run_is_drawn(real: Path, name: str, width: int) -> None:
    run = opened(real / name).run
    for step in run.main.steps[::3]:
        for changes in (False, True):
            context = context_of(run, width, changes=changes)
            for make in (PromptPane, LoopsPane, LostPane, StatePane):
                pane = make()
                pane.show(run, (run.main.id, step.n), context)
                check(pane_lines(pane, width), width)


def test_the_cycle_of_a_real_run_is_named(real: Path) -> None:
    run = opened(real / "mini-swe-agent/gen-v2-loop.traj.json").run
    pane = LoopsPane()
    pane.show(run, ("main", 12), context_of(run, 150))
    assert "period 2" in text(pane_lines(pane, 150))
