"""The block of what was lost, ready to paste back into the agent."""

from __future__ import annotations

from msgspec.structs import replace

from agentmem.inspect.telling.lost_block import lost_block, statement
from agentmem.model import Lost
from tests.tui.panes.builders import drop, plain_run, story


def test_silent_losses_come_first_then_the_newest_boundary_by_importance() -> None:
    assert lost_block(story()) == (
        "Left the context and nobody recorded it:\n"
        "- fact order_id = A-1041 (gone since step 29)\n"
        "\n"
        "Lost at step 16 (compaction):\n"
        "- paths: docs/grammar.md\n"
        "- numbers: 8443, 512, 0.25\n"
        "- constraint: never edit tests/golden\n"
        "- changed on the way: 8841 was 8814"
    )


def test_last_is_the_newest_boundary_only_and_all_are_newest_first() -> None:
    run = story()
    older = replace(run.survivals[0], step=3, lost=(Lost("goal", "the goal", 2),), changed=())
    run = replace(run, survivals=(older, run.survivals[0]))
    assert "step 3" not in lost_block(run)
    every = lost_block(run, last=False)
    assert every.index("step 16") < every.index("step 3") and every.endswith("- goal: the goal")


def test_what_came_back_is_not_in_it_and_nothing_lost_is_an_empty_block() -> None:
    run = story()
    steps = tuple(replace(step, drops=tuple(replace(d, returned_at=31) for d in step.drops)) for step in run.main.steps)
    assert "order_id" not in lost_block(replace(run, lanes=(replace(run.main, steps=steps),)))
    assert lost_block(plain_run(2)) == ""


def test_only_the_lane_that_was_asked_for() -> None:
    assert lost_block(story(), lane="other") == "" and lost_block(story(), lane="main") == lost_block(story())


def test_a_loss_is_stated_by_kind_name_and_value() -> None:
    assert statement(drop(2, "facts.port", what="field", kind="fact", text="8841")) == "fact port = 8841"
    assert statement(drop(2, "goal", what="field", kind="goal", text="win")) == "goal = win"
    assert statement(drop(2, "facts.port", what="field", kind="fact", head="port: 8841")) == "fact port: 8841"
    assert statement(drop(2, "result of 16, read x", head="text")) == "result of 16, read x"
