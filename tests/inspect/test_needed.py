"""A drop tied to the later failure that needed it: each clause of the rule."""

from __future__ import annotations

import pytest

from agentmem.model import Boundary

from .builders import Tale


def losing(tale: Tale, name: str = "abone", value: str = "A017x") -> None:
    """Two steps: the tool is called with the field, then the field is gone."""
    tale.hold(facts={name: value, "other": "stays here"})
    tale.step(("read_meter", f'{{"{name}":"{value}"}}', "onceki 120"))
    tale.hold(facts={"other": "stays here"})


def missed(tale: Tale) -> list[tuple[int, str]]:
    return [(miss.n, miss.tool) for drop in tale.drops() for miss in drop.missed_by]


def test_a_failing_call_that_lacks_the_argument_it_had_needs_the_drop() -> None:
    for arguments in ("{}", '{"abone":null}', '{"abone":""}'):
        tale = Tale("read the meter")
        losing(tale)
        tale.step(("read_meter", arguments, '{"hata":"yok"}'))
        assert missed(tale) == [(2, "read_meter")], arguments


def test_lacking_it_without_an_error_never_counts() -> None:
    tale = Tale("read the meter")
    losing(tale)
    tale.step(("read_meter", "{}", "fine"))
    assert missed(tale) == []


def test_a_tool_that_never_had_the_argument_does_not_need_it() -> None:
    tale = Tale("read the meter")
    losing(tale)
    tale.step(("write_file", "{}", "Error: disk full"))
    assert missed(tale) == []


def test_the_argument_may_have_had_another_name_but_the_value() -> None:
    tale = Tale("read the meter")
    tale.hold(facts={"abone": "A017x", "other": "stays here"})
    tale.step(("read_meter", '{"subscriber":"A017x"}', "onceki 120"))
    tale.hold(facts={"other": "stays here"})
    tale.step(("read_meter", '{"subscriber":null}', "Error: bad request"))
    assert missed(tale) == [(2, "read_meter")]


def test_a_call_with_another_value_lacks_nothing() -> None:
    tale = Tale("read the meter")
    losing(tale)
    tale.step(("read_meter", '{"abone":"A018y"}', "Error: bad request"))
    assert missed(tale) == []


def test_an_error_that_names_the_field_needs_it_whatever_the_tool() -> None:
    tale = Tale("read the meter")
    losing(tale)
    tale.step(("other_tool", "{}", "Error: missing abone in state"))
    assert missed(tale) == [(2, "other_tool")]


def test_an_error_that_names_the_value_needs_it() -> None:
    tale = Tale("read the meter")
    losing(tale)
    tale.step(("other_tool", "{}", "Error: nothing known of A017x"))
    assert missed(tale) == [(2, "other_tool")]


def test_a_part_of_a_word_is_no_name() -> None:
    tale = Tale("read the meter")
    losing(tale)
    tale.step(("other_tool", "{}", "Error: abonelik expired for A017xyz"))
    assert missed(tale) == []


@pytest.mark.parametrize("error", [
    "missing orderId", "Order ID is required", "no ORDER_ID", "order-id: none given", "missing order_id",
])  # fmt: skip
def test_an_error_may_write_the_words_of_a_name_in_its_own_way(error: str) -> None:
    for name in ("order_id", "orderId"):
        tale = Tale("read the meter")
        losing(tale, name)
        tale.step(("other_tool", "{}", f"Error: {error}"))
        assert missed(tale) == [(2, "other_tool")], name


def test_words_that_stand_apart_by_chance_are_no_name() -> None:
    tale = Tale("read the meter")
    losing(tale, "in_use")
    tale.step(("other_tool", "{}", "Error: address already in use; order identity is known"))
    assert missed(tale) == []


@pytest.mark.parametrize("arguments", [
    '{"orderId":null}', '{"orderId":"  "}', '{"orderId":"null"}', '{"orderId":"None"}',
])  # fmt: skip
def test_an_argument_is_the_field_in_another_writing_and_a_word_for_nothing_is_nothing(arguments: str) -> None:
    tale = Tale("read the meter")
    tale.hold(facts={"order_id": "A017x"})
    tale.step(("read_meter", '{"orderId":"A018y"}', "fine"))
    tale.hold()
    tale.step(("read_meter", arguments, "Error: bad request"))
    assert missed(tale) == [(2, "read_meter")]


@pytest.mark.parametrize("value", ["true", "none", "error", "failed"])
def test_a_value_that_errors_say_for_other_reasons_is_not_looked_for(value: str) -> None:
    tale = Tale("read the meter")
    losing(tale, "verbose", value)
    tale.step(("other_tool", "{}", f"Error: expected {value} here"))
    assert missed(tale) == []


def test_what_a_new_summary_still_says_is_not_needed_of_the_old_one() -> None:
    tale = Tale("water the beds")
    old = tale.say("summary", "All beds. valve_key: V-33, gate_code: 8841")
    tale.step(("open_valve", "{}", "fine"))
    tale.boundary(Boundary("compaction", True, 900, 100))
    tale.swap(old, tale.piece("summary", "Beds done. valve_key: V-33"))
    tale.step(("open_valve", "{}", "Error: valve_key V-33 is stuck"))
    assert [drop.recorded for drop in tale.drops()] == [True] and missed(tale) == []
    tale.step(("open_gate", "{}", "Error: missing gate_code"))
    assert missed(tale) == [(3, "open_gate")]


def test_short_and_everyday_names_are_not_looked_for_in_errors() -> None:
    for name in ("id", "name", "path", "file", "type", "step", "sku"):
        tale = Tale("read the meter")
        losing(tale, name, "v1")
        tale.step(("other_tool", "{}", f"Error: bad {name}"))
        assert missed(tale) == [], name


def test_only_the_first_failure_counts() -> None:
    tale = Tale("read the meter")
    losing(tale)
    tale.step(("read_meter", "{}", "Error: missing abone"))
    tale.step(("read_meter", "{}", "Error: missing abone"))
    assert missed(tale) == [(2, "read_meter")]


def test_later_failures_that_needed_it_too_are_kept_beside_the_first() -> None:
    tale = Tale("read the meter")
    losing(tale)
    tale.step(("read_meter", "{}", "Error: missing abone"))
    tale.step(("read_meter", "{}", "Error: out of paper"), ("other_tool", "{}", "Error: no abone"))
    tale.step(("other_tool", "{}", "Error: disk full"))
    (drop,) = tale.drops()
    assert [(miss.n, miss.tool) for miss in drop.needed_by] == [(3, "read_meter")]
    assert drop.needs == (*drop.missed_by, *drop.needed_by)


def test_needs_end_where_it_came_back_and_go_with_the_steps_that_made_them() -> None:
    tale = Tale("read the meter")
    losing(tale)
    tale.step(("read_meter", "{}", "Error: missing abone"))
    tale.step(("read_meter", "{}", None))
    assert [miss.n for miss in tale.drops()[0].needs] == [2]
    tale.result("call-3", "Error: missing abone")
    assert [miss.n for miss in tale.drops()[0].needs] == [2, 3]
    tale.hold(facts={"abone": "A017x", "other": "stays here"})
    tale.step(("read_meter", "{}", "Error: missing abone"))
    assert [miss.n for miss in tale.drops()[0].needs] == [2, 3]


@pytest.mark.parametrize("note", [
    "valve_key = V-33; never water bed 13", "never water bed 13\n- valve_key: V-33", '{"valve_key": "V-33"}',
    "**valve_key**: `V-33`, bed: 13",
])  # fmt: skip
def test_what_a_note_says_as_name_and_value_is_needed_by_an_error_that_names_it(note: str) -> None:
    for error in ("missing field: valve_key", "no valve V-33 here"):
        tale = Tale("water the beds")
        tale.hold(shown=False, notes=note)
        tale.step(("open_valve", "{}", "fine"))
        tale.hold()
        tale.step(("open_valve", "{}", f"Error: {error}"))
        assert missed(tale) == [(2, "open_valve")], error


def test_words_of_a_note_that_are_no_pair_are_not_needed() -> None:
    tale = Tale("water the beds")
    tale.hold(shown=False, notes="always close the valve; path: /etc, id: 12, valve: it may be stuck, Error: none")
    tale.step(("open_valve", "{}", "fine"))
    tale.hold()
    tale.step(("open_valve", "{}", "Error: the valve is stuck, bad path, bad id"))
    assert len(tale.drops()) == 1 and missed(tale) == []


def test_a_summary_piece_that_left_is_needed_by_an_error_that_names_what_it_said() -> None:
    tale = Tale("water the beds")
    summary = tale.say("summary", "Done so far: all beds. valve_key: V-33")
    tale.step(("open_valve", "{}", "fine"))
    tale.take(summary)
    tale.step(("open_valve", "{}", "Error: missing field: valve_key"))
    assert missed(tale) == [(2, "open_valve")]


def test_a_failure_after_it_came_back_does_not_count() -> None:
    tale = Tale("read the meter")
    losing(tale)
    tale.step()
    tale.hold(facts={"abone": "A017x", "other": "stays here"})
    tale.step(("read_meter", "{}", "Error: missing abone"))
    assert missed(tale) == []
    assert tale.drops()[0].returned_at == 3


def test_a_failure_before_the_drop_does_not_count() -> None:
    tale = Tale("read the meter")
    tale.hold(facts={"abone": "A017x"})
    tale.step(("read_meter", "{}", "Error: missing abone"))
    tale.hold()
    tale.step()
    assert len(tale.drops()) == 1 and missed(tale) == []


def test_a_failure_in_another_lane_does_not_count() -> None:
    tale = Tale("read the meter")
    losing(tale)
    tale.step()
    main = tale.at
    tale.at = tale.draft.lane("sub", "subagent", spawned_by=("main", 1))
    tale.say("user", "a task")
    tale.step(("read_meter", "{}", "Error: missing abone"))
    tale.at = main
    assert len(tale.drops()) == 1 and missed(tale) == []


def test_a_veto_is_no_failure() -> None:
    tale = Tale("read the meter")
    losing(tale)
    tale.step(("read_meter", "{}", "denied: abone is not allowed"))
    assert missed(tale) == []


def test_a_result_that_comes_late_still_ties() -> None:
    tale = Tale("read the meter")
    losing(tale)
    tale.step(("read_meter", "{}", None))
    assert missed(tale) == [] and tale.lane().steps[1].pending == 1
    tale.result("call-2", "Error: missing abone")
    assert missed(tale) == [(2, "read_meter")] and tale.lane().steps[1].pending == 0
