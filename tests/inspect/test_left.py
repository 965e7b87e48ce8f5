"""Sentences on losses: how many steps of which lanes, what left, and never "none" where the file cannot tell."""

from __future__ import annotations

from msgspec.structs import replace

from agentmem.inspect.telling.left import cannot_tell, left_of, nothing_lost, steps_of
from agentmem.inspect.telling.verdict import verdict
from agentmem.model import Lane
from tests.tui.panes.builders import drop, plain_run, story


def test_steps_of_several_lanes_say_so_and_the_open_step_is_counted_and_named() -> None:
    assert steps_of(story().lanes) == "31 steps, 1 open"
    run = plain_run(3)
    both = replace(run, lanes=(run.main, Lane("b", "subagent", run.main.steps[:1])))
    assert steps_of(both.lanes) == "4 steps of 2 lanes" and steps_of(both.lanes[1:]) == "1 step"
    assert nothing_lost(both, both.lanes) == "No drops in 4 steps of 2 lanes."
    assert verdict(both).sentence.startswith("4 steps of 2 lanes, ")


def test_what_left_is_counted_by_what_it_was_and_whether_anybody_recorded_it() -> None:
    drops = [drop(2, "a", count=3, recorded=False), drop(2, "b"), drop(2, "facts.x", what="field"),
             drop(2, "plan[0]", what="plan")]  # fmt: skip
    assert left_of(drops) == (
        "3 pieces left, nobody recorded it; 1 piece, 1 field and 1 plan item left on record"
    )  # fmt: skip
    assert left_of(drops[1:3]) == "1 piece and 1 field left on record" and left_of(()) == ""


def test_no_drops_is_not_said_of_a_file_that_cannot_tell() -> None:
    partial = replace(plain_run(3), provenance="partial")
    assert nothing_lost(partial, partial.lanes).startswith("Unknown: ")
    early = replace(plain_run(3), past_unknown=True)
    assert cannot_tell(early) == ["what was left out before the file was written cannot be told from it"]
    begun = plain_run(1)
    begun = replace(begun, lanes=(Lane("main", "main", (replace(begun.main.steps[0], open=True),)),))
    assert nothing_lost(begun, begun.lanes) == "No step has finished yet: nothing can have been lost."
