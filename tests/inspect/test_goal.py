"""The goal's status, step by step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.inspect.compare.goal import GoalWalk
from agentmem.inspect.telling.verdict import verdict
from agentmem.model import Where
from agentmem.tape import Piece, Tape
from agentmem.tokens import chars4

from .builders import Tale

GOAL = "repair the billing export of march"


def test_a_goal_that_is_the_last_piece_is_last() -> None:
    tale = Tale(GOAL)
    tale.step()
    assert (tale.lane().steps[0].goal, tale.lane().steps[0].tokens_after_goal) == ("last", 0)


def test_a_transcript_with_its_goal_at_the_top_is_present_with_the_tokens_after_it() -> None:
    tale = Tale(GOAL, window=1000)
    tale.step(("look", "{}", "x" * 400))
    step = tale.last()
    assert step.open and step.goal == "present"
    assert step.tokens_after_goal == sum(segment.tokens or 0 for segment in step.prompt[1:])


def test_a_goal_under_more_than_half_of_the_window_is_buried() -> None:
    tale = Tale(GOAL, window=1000)
    tale.say("user", "x" * 2001)
    tale.step()
    assert tale.lane().steps[0].goal == "buried"
    tale = Tale(GOAL, window=1000)
    tale.say("user", "x" * 2000)
    tale.step()
    assert tale.lane().steps[0].goal == "present"


def test_without_a_window_a_transcript_is_never_buried() -> None:
    tale = Tale(GOAL)
    tale.say("user", "x" * 1_000_000)
    tale.step()
    assert tale.lane().steps[0].goal == "present"


def test_a_rendered_state_whose_goal_is_not_last_is_buried() -> None:
    tale = Tale()
    tale.draft.set_goal(GOAL, declared=True)
    tale.say("goal", f"GOAL (unchanged): {GOAL}")
    tale.say("user", "one more thing")
    tale.step()
    assert tale.lane().steps[0].goal == "buried"


def test_a_goal_carved_beside_facts_of_the_same_text_is_rendered_state() -> None:
    tale = Tale()
    tale.draft.set_goal(GOAL, declared=True)
    for kind, name, span in (("goal", "goal", (0, 10)), ("fact", "facts.port", (10, 20))):
        where = Where("history:book", 0, 0, 0, span)
        tale.at.append(Piece(kind, GOAL if kind == "goal" else "port: 8841", where, None, name))  # type: ignore[arg-type]  # kinds by construction
    tale.step()
    assert tale.lane().steps[0].goal == "buried"


def test_a_declared_goal_that_only_stands_in_the_first_message_is_no_rendered_state() -> None:
    tale = Tale(GOAL, declared=True)
    tale.step(("look", "{}", "fine"))
    assert tale.last().goal == "present"


def test_a_goal_that_left_is_missing_until_a_summary_says_it_again() -> None:
    tale = Tale(GOAL)
    tale.say("user", "second message")
    tale.step()
    tale.take(tale.at.tape.live[0])
    tale.step()
    tale.say("summary", "Progress so far. " + "Details. " * 30 + f"The task: {GOAL}, and then a report.")
    tale.step()
    assert [step.goal for step in tale.lane().steps[:3]] == ["present", "missing", "last"]


def test_only_a_declared_goal_can_be_changed() -> None:
    tale = Tale()
    tale.draft.set_goal(GOAL, declared=True)
    tale.hold(goal=GOAL)
    tale.step()
    tale.hold(goal="something else entirely")
    tale.step()
    assert [step.goal for step in tale.lane().steps[:2]] == ["last", "changed"]
    assert tale.drops() == []


def test_a_goal_that_is_held_but_not_in_the_prompt_is_missing() -> None:
    tale = Tale()
    tale.draft.set_goal(GOAL, declared=True)
    tale.hold(shown=False, goal=GOAL)
    tale.say("user", "go on")
    tale.step()
    assert tale.lane().steps[0].goal == "missing"


@pytest.mark.parametrize("unknown", [("system prompt", "tool schemas"), ("the request",), ("tool schemas",), ()])
def test_a_goal_that_a_part_of_the_prompt_may_say_which_is_not_in_the_file_is_unknown_and_not_missing(
    unknown: tuple[str, ...],
) -> None:
    tale = Tale()
    tale.draft.set_goal(GOAL, declared=True)
    tale.draft.unknown = unknown
    tale.hold(shown=False, goal=GOAL)
    tale.say("user", "go on")
    tale.step()
    hidden = unknown not in ((), ("tool schemas",))
    assert tale.run().hidden is hidden
    assert tale.lane().steps[0].goal == ("unknown" if hidden else "missing"), "the schemas of tools say no goal"
    assert ("the goal is not in the prompt" in verdict(tale.run()).text) is not hidden


@pytest.mark.parametrize("declared", [True, False])
def test_a_goal_that_left_the_known_part_is_missing_where_nothing_else_can_say_it(declared: bool) -> None:
    tale = Tale(GOAL, declared=declared)
    tale.draft.unknown = ("system prompt", "tool schemas")
    tale.say("user", "second message")
    tale.step()
    tale.take(tale.at.tape.live[0])
    tale.step()
    # A declared goal may be rendered into the system prompt; the text of a request is not.
    assert [step.goal for step in tale.lane().steps[:2]] == ["present", "unknown" if declared else "missing"]


def test_no_goal_and_a_list_that_was_cut_are_unknown() -> None:
    tale = Tale()
    tale.say("user", "hello")
    tale.step()
    assert tale.lane().steps[0].goal == "unknown"
    tale = Tale(GOAL)
    tale.draft.goal_unknown = True
    tale.step()
    assert tale.lane().steps[0].goal == "unknown" and tale.run().goal is None


def test_a_goal_that_has_not_been_said_yet_is_unknown_and_not_missing() -> None:
    tale = Tale()
    tale.draft.set_goal(GOAL, declared=False)
    tale.say("user", "/mode")
    tale.step()
    tale.say("user", GOAL)
    tale.step(said="yes")
    assert [step.goal for step in tale.lane().steps] == ["unknown", "last"]


def test_a_plan_that_is_restored_does_not_stand_for_the_goal() -> None:
    tale = Tale("move the billing export to the new host before friday")
    tale.hold(plan=[("read the config", False), ("write the file", False)], step=0)
    tale.step()
    tale.take(tale.at.tape.live[0])
    tale.step()
    assert [step.goal for step in tale.lane().steps[:2]] == ["present", "missing"]
    assert [(drop.kind, drop.alarming) for drop in tale.drops()] == [("goal", True)]


def test_a_subagent_has_the_task_that_it_was_given() -> None:
    tale = Tale(GOAL)
    tale.step()
    tale.at = tale.draft.lane("sub", "subagent", spawned_by=("main", 1))
    tale.say("user", "count the files in src")
    tale.step(("ls", "{}", "a.py"))
    assert [step.goal for step in tale.lane().steps] == ["last", "present"]


MOVES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.lists(st.booleans(), max_size=3)), max_size=12)


@given(st.lists(MOVES, max_size=8))
def test_the_goal_followed_by_edits_stands_where_a_search_finds_it(
    steps: list[list[tuple[int, int, list[bool]]]],
) -> None:
    tape = Tape(chars4)
    walk = GoalWalk(tape, GOAL, lambda ident: None)
    number = 0
    for edits in steps:
        for place, gone, new in edits:
            pieces = []
            for is_goal in new:
                number += 1
                pieces.append(Piece("goal", GOAL) if is_goal else Piece("user", f"message {number} {'x' * number}"))
            at = min(place, len(tape.live))
            tape.splice(at, gone, pieces)
        open_place = walk.at(tape.steps + 1)
        n = tape.close()
        ids = tape.ids(n)
        index = max((i for i, ident in enumerate(ids) if tape.segment(ident).kind == "goal"), default=-1)
        after = sum(tape.tokens[ident] for ident in ids[index + 1 :]) if index >= 0 else 0
        for found in (open_place, walk.at(n)):
            assert (found.index, found.after) == (index, after)
            assert found.ident == (ids[index] if index >= 0 else -1)
