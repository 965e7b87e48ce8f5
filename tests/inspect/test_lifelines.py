"""Where one thing stood, step by step."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.inspect.lifelines import field_lifelines, find, goal_lifeline, ranges, text_lifeline
from agentmem.model import Lifeline

from .builders import Tale


def fetch(tale: Tale) -> Callable[[int], str | None]:
    texts = tale.assembler._texts
    return lambda ident: texts.text(tale.at, ident)


def text_line(tale: Tale, text: str) -> Lifeline:
    return text_lifeline(tale.run(), "main", text, fetch(tale))


def test_the_goal_is_followed_until_it_is_lost_and_said_again() -> None:
    tale = Tale("repair the billing export of march")
    tale.say("user", "begin")
    tale.step()
    tale.take(tale.at.tape.live[0])
    tale.step()
    tale.step()
    tale.say("user", "Again: repair the billing export of march")
    tale.step(said="yes")
    line = goal_lifeline(tale.run(), "main")
    assert (line.levels, line.present, line.alarms) == ("━▲·━", ((1, 1), (4, 4)), (2,))


def test_a_goal_that_changes_is_told_with_its_new_text() -> None:
    tale = Tale()
    tale.draft.set_goal("count the meters", declared=True)
    tale.hold(goal="count the meters")
    tale.step(own=11)
    tale.hold(goal="paint the fence")
    tale.step(own=12, said="yes")
    line = goal_lifeline(tale.run(), "main")
    assert (line.levels, line.changed, line.present) == ("━◆", ((12, "paint the fence"),), ((11, 12),))


def test_a_field_goes_from_the_prompt_to_held_to_lost_and_needed() -> None:
    tale = Tale("ship the order")
    tale.step()
    tale.hold(facts={"port": "8841", "host": "db_main"})
    tale.step()
    tale.hold(facts={"port": "8842", "host": "db_main"})
    tale.step()
    tale.hold(shown=False, facts={"port": "8842", "host": "db_main"})
    tale.step()
    tale.hold(facts={"host": "db_main"})
    tale.step()
    tale.step(("connect", "{}", "Error: missing port 8842"))
    tale.draft.finished = True
    lines = field_lifelines(tale.run(), "main")
    assert [line.name for line in lines] == ["facts.port", "facts.host"]
    port, host = lines
    assert port.levels == " ━◆▲▲✗" and port.needed == (6,) and port.changed == ((3, "8842"),)
    assert host.levels == " ━━▲━━" and host.present == ((2, 3), (5, 6))


def test_a_state_that_is_never_rendered_is_held() -> None:
    tale = Tale("ship the order")
    tale.hold(shown=False, facts={"port": "8841"})
    tale.step()
    tale.step(said="yes")
    (line,) = field_lifelines(tale.run(), "main")
    assert line.levels == "──" and line.present == ()


def test_items_of_a_list_are_followed_by_their_value_and_not_by_their_place() -> None:
    tale = Tale("ship the order")
    tale.hold(shown=False, plan=[("read it", False), ("write it", False)])
    tale.step()
    tale.hold(shown=False, plan=[("write it", False)])
    tale.step(said="yes")
    lines = {line.name: line.levels for line in field_lifelines(tale.run(), "main")}
    assert lines == {"plan[0]": "─▲", "plan[1]": "──"}


def test_the_worst_lost_field_stands_first() -> None:
    tale = Tale("ship the order")
    tale.hold(facts={"kept": "stays here", "quiet": "quiet value", "missed": "missed value"})
    tale.step()
    tale.hold(facts={"kept": "stays here"})
    tale.step(("look", "{}", "Error: missing missed"))
    assert [line.name for line in field_lifelines(tale.run(), "main")] == ["facts.missed", "facts.quiet", "facts.kept"]


def test_any_text_is_found_inside_long_pieces() -> None:
    tale = Tale("look")
    tale.step()
    ident = tale.say("user", "x " * 200 + "the port is 8841 today")
    tale.step()
    tale.step()
    tale.take(ident)
    tale.step(said="fine")
    tale.draft.finished = True
    line = text_line(tale, "8841")
    assert line.levels == " ━━·" and line.present == ((2, 3),)


def test_a_text_the_model_says_but_does_not_see_is_told() -> None:
    tale = Tale("look")
    tale.step(said="the port is 8841, I think")
    tale.take(tale.at.tape.live[-1])
    tale.step(said="done")
    line = text_line(tale, "8841")
    assert line.said == (1,) and line.present == ()


def test_a_text_needed_while_it_is_gone_is_marked() -> None:
    tale = Tale("look")
    ident = tale.say("user", "the port is 8841")
    tale.step()
    tale.take(ident)
    tale.step()
    tale.step(("connect", "{}", "Error: nothing on 8841"))
    line = text_line(tale, "8841")
    assert line.levels == "━·✗━" and line.needed == (3,)


def test_a_shortened_text_is_told_from_a_lost_one() -> None:
    tale = Tale("look")
    tale.step(("read", "{}", "beginning " * 60 + " the port is 8841"))
    tale.step()
    old = tale.lane().steps[0].results[0].id
    tale.swap(old, tale.piece("result", "beginning " * 20 + "…[trimmed]", call_id="call-1"))
    tale.step(said="fine")
    assert text_line(tale, "8841").levels == " ━╌"


def test_a_text_that_stands_twice_is_lost_with_its_last_copy() -> None:
    tale = Tale("look")
    one = tale.say("user", "the port is 8841")
    two = tale.say("note", "port 8841")
    tale.step()
    tale.take(one)
    tale.step()
    tale.take(two)
    tale.step(said="fine")
    assert text_line(tale, "8841").levels == "━━▲"


def test_nothing_to_find_is_nowhere_and_an_unknown_lane_is_an_error() -> None:
    tale = Tale("look")
    tale.step(said="fine")
    assert text_line(tale, "").levels == " " and text_line(tale, "nowhere").levels == " "
    with pytest.raises(KeyError):
        text_lifeline(tale.run(), "other", "x", fetch(tale))


@given(st.lists(st.tuples(st.sampled_from(["say", "cut", "step"]), st.integers(0, 9)), max_size=40))
def test_a_lifeline_agrees_with_a_search_through_every_prompt(moves: list[tuple[str, int]]) -> None:
    tale = Tale()
    for what, number in moves:
        if what == "say":
            tale.say("user", "y" * (100 + 10 * number) + (" needle here" if number % 3 == 0 else " hay"))
        elif what == "cut" and tale.at.tape.live:
            tale.at.splice(number % len(tale.at.tape.live), 1 + number % 2)
        elif what == "step":
            tale.step(said="fine")
    lane = tale.lane()
    line = text_line(tale, "needle")
    texts = fetch(tale)
    stands = [any("needle" in (texts(ident) or "") for ident in step.prompt.ids) for step in lane.steps]
    assert [level == "━" for level in line.levels] == stands
    assert line.present == ranges(lane, ["━" if here else " " for here in stands])
    hits = find(tale.at.tape, "needle", texts)
    assert hits == {ident for ident in range(len(tale.at.tape)) if "needle" in (texts(ident) or "")}


def test_a_near_form_that_came_after_a_text_had_left_is_told() -> None:
    tale = Tale("ship the order")
    first = tale.say("user", "the order id is 8841, not 8842")
    tale.step(own=27)
    tale.take(first)
    tale.step(own=28)
    tale.say("note", "order 8814 of 1848, 8842, 9814")
    tale.step(own=29, said="done")
    line = text_line(tale, "8841")
    assert (line.present, line.changed) == (((27, 27),), ((29, "8814"),))
    assert text_line(tale, "8842").changed == ()


def test_a_text_that_still_stands_has_no_near_forms() -> None:
    tale = Tale("ship the order")
    tale.say("user", "the order id is 8841")
    tale.step()
    tale.say("user", "or 8814")
    tale.step(said="done")
    assert text_line(tale, "8841").changed == ()


def test_a_text_that_only_the_state_held_has_a_line_of_held_levels_and_says_where() -> None:
    tale = Tale("water the beds")
    tale.hold(shown=False, notes="valve_key = V-33; never water bed 13")
    tale.step(("open_valve", "{}", "fine"))
    tale.step(("open_valve", "{}", "fine"))
    tale.hold()
    tale.step(("open_valve", "{}", "fine"))
    tale.step(("open_valve", "{}", "Error: no valve"))
    line = text_line(tale, "V-33")
    assert line.levels[:4] == "──▲·" and line.held == (("notes", 1, 2),) and line.present == ()


def test_a_text_is_held_only_where_no_message_has_it() -> None:
    tale = Tale("water the beds")
    tale.hold(shown=False, facts={"valve": "V-33"})
    tale.step(said="nothing of it")
    said = tale.say("user", "take V-33")
    tale.step(said="well")
    tale.take(said)
    tale.step(said="done")
    line = text_line(tale, "V-33")
    assert line.levels.startswith("─━─") and line.held == (("facts.valve", 1, 1), ("facts.valve", 3, 3))


def test_every_failure_that_needed_a_field_while_it_was_gone_is_marked() -> None:
    tale = Tale("read the meter")
    tale.hold(facts={"abone": "A017x"})
    tale.step(("read_meter", '{"abone":"A017x"}', "onceki 120"))
    tale.hold()
    tale.step(("read_meter", "{}", "Error: missing abone"))
    tale.step(("other_tool", "{}", "Error: disk full"))
    tale.step(("read_meter", "{}", "Error: missing abone"))
    (line,) = [one for one in field_lifelines(tale.run(), "main") if one.name == "facts.abone"]
    assert line.needed == (2, 4) and line.levels[:4] == "━✗·✗"


def test_of_a_note_only_the_part_that_an_error_names_was_needed() -> None:
    tale = Tale("water the beds")
    tale.hold(shown=False, notes="valve_key = V-33; never water bed 13")
    tale.step(("open_valve", "{}", "fine"))
    tale.hold()
    tale.step(("open_valve", "{}", "Error: missing field: valve_key"))
    assert text_line(tale, "V-33").needed == (2,)
    assert text_line(tale, "never water bed 13").needed == ()
