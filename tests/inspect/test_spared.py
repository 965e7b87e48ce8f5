"""Losses that say nothing by themselves: silent while all goes well, told when a call fails for the lack of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.formats.draft import Declared
from agentmem.inspect.lifelines import field_lifelines, hits_lifeline
from agentmem.inspect.telling.explain import explain_drop
from agentmem.inspect.telling.lost_block import lost_block
from agentmem.inspect.telling.verdict import verdict
from agentmem.inspect.telling.why import why
from agentmem.model import Drop

from .builders import Tale, told

TASK = "Replay order A-1047 for the north shop."
MISSING = "Error: missing order_id"


def lost(place: Callable[[Tale], None] | None = None, after: dict[str, object] | None = None) -> Tale:
    """The order id leaves the state at step 2, while its value stands in the task, or where `place` puts it."""
    tale = Tale(TASK if place is None and after is None else "ship what is open")
    if place is not None:
        place(tale)
    tale.hold(facts={"order_id": "A-1047", "shop": "north"})
    tale.step(("look", "{}", "fine"))
    tale.hold(shown=True, **(after or {"facts": {"shop": "north"}}))
    tale.step(("look", "{}", "fine"))
    return tale


def only(tale: Tale) -> Drop:
    (drop,) = tale.drops()
    return drop


def test_while_the_value_stands_elsewhere_and_nothing_fails_for_it_nothing_is_told() -> None:
    tale = lost()
    tale.step(("replay", "{}", "done"))
    tale.step(("replay", "{}", "Error: disk full"))
    assert tale.drops() == []
    assert verdict(tale.run()).level == "calm"
    assert lost_block(tale.run()) == ""
    assert why(tale.run(), ("main", 4))[0].sentence.endswith("no drop before it is tied to this error")


@pytest.mark.parametrize("arguments", ["{}", '{"order_id":null}', '{"order_id":""}', '{"shop":"north"}'])
def test_a_failure_that_names_the_field_tells_the_loss_where_it_left(arguments: str) -> None:
    tale = lost()
    tale.step(("replay", arguments, MISSING))
    drop = only(tale)
    assert (drop.n, drop.name, drop.text, drop.cause, drop.recorded) == (2, "facts.order_id", "A-1047", "silent", False)
    assert [miss.n for miss in drop.needs] == [3] and drop.alarming
    assert drop.still is not None
    assert (drop.still.why, drop.still.where) == ("its value still stood in the goal", "the goal")


def test_a_call_without_the_argument_that_the_tool_had_tells_it_though_the_error_names_nothing() -> None:
    tale = Tale(TASK)
    tale.hold(facts={"order_id": "A-1047"})
    tale.step(("replay", '{"order_id":"A-1047"}', "half done"))
    tale.hold()
    tale.step(("replay", "{}", "Error: bad request"))
    assert [miss.n for miss in only(tale).needs] == [2]


def test_why_leads_from_the_failure_to_the_loss_and_to_where_the_value_still_stood() -> None:
    tale = lost()
    tale.step(("replay", "{}", MISSING))
    links = why(tale.run(), ("main", 3))
    assert [link.n for link in links] == [2, 3, 1, 1]
    assert links[0].sentence == (
        "fact order_id = A-1047 left at 2 and nobody recorded it; its value still stood in the goal "
        "→ replay failed at 3: Error: missing order_id"
    )
    assert "at 3 A-1047 still stood in the goal, piece 1 of" in links[1].sentence
    assert links[1].segment == tale.lane().steps[2].prompt.ids[0]


def test_every_teller_says_that_the_value_still_stood() -> None:
    tale = lost()
    tale.step(("replay", "{}", MISSING))
    run, drop = tale.run(), only(tale)
    assert verdict(run).sentence == (
        "▲ order_id left at 2, nobody recorded it → replay failed at 3; its value still stood in the goal"
    )
    said = explain_drop(run, drop)
    assert "its value still stood in the goal" in said[0] and "stands nowhere else" not in said[0]
    assert "told because a call failed for it" in said[1]
    assert "order_id = A-1047" in lost_block(run)


def test_lifelines_say_that_it_was_lost_as_a_field_and_needed() -> None:
    tale = lost()
    tale.step(("replay", "{}", MISSING))
    run, lane = tale.run(), tale.lane()
    (line,) = [line for line in field_lifelines(run, "main") if line.name == "facts.order_id"]
    assert line.levels[:3] == "━▲✗"
    holding = {seg.id for step in lane.steps for seg in step.prompt if "A-1047" in (seg.head or "")}
    line = hits_lifeline(lane, "A-1047", holding)
    assert set(line.levels) == {"━"}
    assert line.needed == (3,) and line.lost_as == (("facts.order_id", 2),)
    assert hits_lifeline(lane, "order_id", set()).lost_as == (("facts.order_id", 2),)
    assert hits_lifeline(lane, "north", holding).lost_as == ()


@pytest.mark.parametrize(("place", "words"), [
    (lambda tale: tale.say("user", "It is about A-1047."), "the user message"),
    (lambda tale: tale.say("system", "You look after A-1047."), "the system prompt"),
    (lambda tale: tale.say("summary", "So far: A-1047 was paid."), "the summary"),
    (lambda tale: tale.say("result", "A-1047 is open", tool="list_orders"), "the result of list_orders"),
    (lambda tale: tale.say("assistant", "I go on with A-1047."), "the reply"),
])  # fmt: skip
def test_where_the_value_stood_is_named(place: Callable[[Tale], None], words: str) -> None:
    tale = lost(place)
    assert tale.drops() == []
    tale.step(("replay", "{}", MISSING))
    still = only(tale).still
    assert still is not None and still.where == words and words in still.why


def test_a_renamed_field_is_told_when_a_call_fails_for_the_old_name() -> None:
    tale = lost(after={"facts": {"order": "A-1047", "shop": "north"}})
    assert tale.drops() == []
    error = "1 error: order_id Field required, input {'order': 'A-1047'}"
    tale.step(("replay", '{"order":"A-1047"}', error), failed=True)
    still = only(tale).still
    assert still is not None and still.where == "the field facts.order"


def test_a_field_folded_into_a_summary_or_a_plan_item_is_told() -> None:
    tale = lost(after={"facts": {"shop": "north"}, "plan": ["replay A-1047 tomorrow"]})
    assert tale.drops() == []
    tale.step(("replay", "{}", MISSING))
    still = only(tale).still
    assert still is not None and still.where == "the field plan[0]"


def test_where_the_value_left_before_the_failure_it_is_said_that_it_stood_nowhere() -> None:
    tale = Tale("ship what is open")
    message = tale.say("user", "It is about A-1047.")
    tale.hold(facts={"order_id": "A-1047"})
    tale.step(("look", "{}", "fine"))
    tale.hold()
    tale.step(("look", "{}", "fine"))
    tale.take(message)
    tale.step(("replay", "{}", MISSING))
    drop = next(drop for drop in tale.drops() if drop.what == "field")
    assert drop.still is not None and drop.still.where is None
    assert drop.still.why == "its value still stood in the user message"
    assert "stood nowhere" in why(tale.run(), ("main", 3))[1].sentence


@pytest.mark.parametrize(("arguments", "error"), [
    ('{"order_id":"A-1047"}', "Error: order_id A-1047 not found"),
    ('{"order_id":"A-1047"}', "Error: missing order_id"),
    ('{"command":"replay --order_id A-1047"}', "Error: order_id is closed"),
    ('{"order_id":"B-2200"}', "Error: order_id B-2200 not found"),
    ('{"id":"A-1047"}', "Error: order_id A-1047 not found"),
    ("{}", "Error: no stock for A-1047"),
    ("{}", "Error: order_ident missing"),
])  # fmt: skip
def test_a_call_that_did_not_lack_it_leaves_it_untold(arguments: str, error: str) -> None:
    tale = lost()
    tale.step(("replay", arguments, error))
    assert tale.drops() == []


def test_a_value_given_with_a_character_gone_wrong_is_told() -> None:
    tale = lost()
    tale.step(("replay", '{"order_id":"A-1074"}', "Error: order_id A-1074 not found"))
    assert only(tale).name == "facts.order_id"


def test_after_it_came_back_a_failure_needs_nothing_and_one_before_is_kept() -> None:
    tale = lost()
    tale.hold(facts={"order_id": "A-1047", "shop": "north"})
    tale.step(("replay", "{}", MISSING))
    assert tale.drops() == []
    tale = lost()
    tale.step(("replay", "{}", MISSING))
    tale.hold(facts={"order_id": "A-1047", "shop": "north"})
    tale.step(("replay", "{}", MISSING))
    drop = only(tale)
    assert drop.returned_at == 4 and [miss.n for miss in drop.needs] == [3]


def test_a_result_that_comes_late_tells_it_and_an_earlier_step_is_frozen_anew() -> None:
    tale = lost()
    tale.step(("replay", "{}", None))
    assert tale.drops() == []
    tale.result("call-3", MISSING)
    assert [miss.n for miss in only(tale).needs] == [3]


def test_a_veto_or_a_failure_in_another_lane_tells_nothing() -> None:
    tale = lost()
    tale.step(("replay", "{}", "denied: order_id is not allowed"))
    tale.at = tale.draft.lane("sub", "subagent", spawned_by=("main", 1))
    tale.say("user", "a task")
    tale.step(("replay", "{}", MISSING))
    tale.at = tale.draft.main
    assert tale.drops() == []


def test_a_call_that_forgot_it_by_name_is_its_record() -> None:
    tale = Tale(TASK)
    tale.hold(facts={"order_id": "A-1047"})
    tale.step(("forget_fact", '{"name":"order_id"}', "done"))
    tale.hold()
    tale.step(("replay", "{}", MISSING))
    drop = only(tale)
    assert (drop.cause, drop.recorded, drop.alarming) == ("removed", True, False)


def test_a_loss_that_is_declared_later_is_told_once_as_recorded() -> None:
    tale = lost()
    tale.declare(Declared("order_id", "trimmed", "field", text="A-1047"))
    tale.step(("look", "{}", "fine"))
    tale.step(("replay", "{}", MISSING))
    assert [(drop.recorded, drop.still) for drop in tale.drops()] == [(True, None)]


# -- what a text said that was worded anew -----------------------------------------------------------------------------


def noted(before: object, after: object) -> Tale:
    tale = Tale("ship what is open")
    tale.hold(notes=before)
    tale.step(("look", "{}", "fine"))
    tale.hold(notes=after)
    tale.step(("look", "{}", "fine"))
    return tale


@pytest.mark.parametrize(("before", "after"), [
    ("order_id = A-1047\nthe shop is closed", "the shop is closed on monday"),
    ('{"order_id": "A-1047", "shop": "north"}', '{"shop": "north"}'),
    (["the north shop wants order_id = A-1047 by friday, in blue boxes"],
     ["by friday the north shop wants blue boxes, in paper"]),
])  # fmt: skip
def test_what_a_note_said_and_says_no_more_is_told_when_a_call_fails_for_it(before: object, after: object) -> None:
    tale = noted(before, after)
    assert tale.drops() == []
    tale.step(("replay", "{}", MISSING))
    drop = only(tale)
    assert (drop.name, drop.cause, drop.recorded, drop.n) == ("order_id", "rewritten", False, 2)
    assert (drop.text or "").startswith("A-1047") and drop.alarming
    assert drop.still is not None and drop.still.part_of in ("notes", "notes[0]")
    assert "notes" in why(tale.run(), ("main", 3))[0].sentence
    assert why(tale.run(), ("main", 3))[-1].n == 1


@pytest.mark.parametrize("after", [
    "the shop is closed; order_id: A-1047", "order_id is the one of the task", "order_id = B-2200",
])  # fmt: skip
def test_a_note_that_still_names_it_lost_nothing(after: str) -> None:
    tale = noted("order_id = A-1047\nthe shop is closed", after)
    tale.step(("replay", "{}", MISSING))
    assert tale.drops() == []


def test_what_a_note_said_and_a_field_holds_now_is_not_lost() -> None:
    tale = Tale("ship what is open")
    tale.hold(notes="order_id = A-1047\nthe shop is closed")
    tale.step(("look", "{}", "fine"))
    tale.hold(notes="the shop is closed", facts={"order_id": "A-1047"})
    tale.step(("replay", "{}", MISSING))
    assert tale.drops() == []


def test_a_note_that_says_it_again_needs_nothing() -> None:
    tale = noted("order_id = A-1047\nthe shop is closed", "the shop is closed")
    tale.hold(notes="the shop is closed\norder_id = A-1047")
    tale.step(("replay", "{}", MISSING))
    assert tale.drops() == []


def test_a_summary_in_the_place_of_a_summary_is_held_to_what_the_first_said() -> None:
    tale = Tale("ship what is open")
    first = tale.say("summary", "Paid so far. order_id: A-1047")
    tale.step(("look", "{}", "fine"))
    tale.swap(first, tale.piece("summary", "Everything was paid and packed."))
    tale.step(("replay", "{}", MISSING))
    assert [miss.n for drop in tale.drops() for miss in drop.needs] == [2]


# -- what must stay silent, whatever fails later -----------------------------------------------------------------------


@pytest.mark.parametrize(("before", "after", "error"), [
    ({"last_error": "KeyError: port_name"}, {}, "Error: last_error is gone, port_name too"),
    ({"retry_count": 3}, {}, "Error: missing retry_count"),
    ({"plan": [("read order_id = A-1047", True), ("write it", False)]}, {"plan": [("write it", False)]}, MISSING),
    ({"plan": ["read order_id = A-1047", "write it"], "step": 0}, {"plan": ["write it"], "step": 1}, MISSING),
    ({"facts": {"order_id": "A-1047"}}, {"facts": {"order_id": "B-2200"}}, MISSING),
    ({"facts": {"kind": "north", "id": "A-1047"}}, {"facts": {"kind": "north"}}, "Error: missing id"),
])  # fmt: skip
def test_what_is_no_loss_stays_untold_though_a_call_fails(
    before: dict[str, object], after: dict[str, object], error: str
) -> None:
    tale = Tale(TASK)
    tale.hold(shown=True, **before)
    tale.step(("look", "{}", "fine"))
    tale.hold(shown=True, **after)
    tale.step(("look", "{}", "fine"))
    tale.step(("replay", "{}", error))
    assert tale.drops() == []


def test_after_a_gap_it_is_unknown_and_stays_untold() -> None:
    tale = Tale(TASK)
    tale.hold(facts={"order_id": "A-1047"}, notes="code = 8841\nx")
    tale.step(own=1)
    tale.hold(notes="y")
    tale.step(own=7, gap=5)
    tale.step(("replay", "{}", "Error: missing order_id and code"), own=8)
    assert tale.drops() == []


def test_a_new_run_in_the_same_file_needs_nothing_of_the_one_before() -> None:
    tale = Tale()
    tale.hold(goal="count the meters of A-1047", facts={"order_id": "A-1047", "abone": "T-55"})
    tale.step(own=8)
    tale.hold(goal="count the meters of A-1047")
    tale.step(own=9)
    tale.hold(goal="paint the fence")
    tale.step(own=1)
    tale.step(("replay", "{}", "Error: missing order_id and abone"), own=2)
    assert [drop.needs for drop in tale.drops()] == [()]


VALUES = st.sampled_from(["A-1047", "north gate", "8841", "x/y.py"])
DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("hold"), st.dictionaries(st.sampled_from(["order_id", "abone", "valve_key"]), VALUES)),
        st.tuples(st.just("say"), VALUES),
        st.tuples(st.just("call"), st.sampled_from(["fine", "Error: disk full", MISSING, "Error: no abone"])),
        st.tuples(st.just("note"), st.sampled_from(["order_id = A-1047\nall well", "all well", "abone: 8841\nwell"])),
    ),
    max_size=14,
)


def played(deeds: list[tuple[str, object]], failing: bool = True, look: bool = False) -> Tale:
    tale, notes = Tale("walk through A-1047"), "begun"
    facts: object = {}
    for what, value in deeds:
        if what == "hold":
            facts = value
        elif what == "note":
            notes = str(value)
        elif what == "say":
            tale.say("user", f"it is about {value}, you know")
            continue
        tale.hold(facts=facts, notes=notes)
        tale.step(("replay", "{}", str(value) if failing and what == "call" else "fine"))
        if look:
            tale.run()
    return tale


@given(DEEDS)
def test_where_no_call_fails_no_spared_loss_is_ever_told(deeds: list[tuple[str, object]]) -> None:
    assert all(drop.still is None and not drop.needs for drop in played(deeds, failing=False).drops())


@given(DEEDS)
def test_a_spared_loss_is_told_only_with_a_failure_that_names_it_while_it_is_gone(
    deeds: list[tuple[str, object]],
) -> None:
    tale = played(deeds)
    steps = tale.lane().steps
    for drop in tale.drops():
        if drop.still is None:
            continue
        assert drop.needs
        for miss in drop.needs:
            assert miss.n >= drop.n and drop.name.rpartition(".")[2] in miss.error
            assert drop.name not in {field.name for field in steps[miss.n - 1].fields}


@given(DEEDS)
def test_told_step_by_step_it_is_the_same_as_told_at_once(deeds: list[tuple[str, object]]) -> None:
    assert told(played(deeds, look=True).run()) == told(played(deeds).run())
