"""What fires as silent, and everything that must not."""

from __future__ import annotations

import pytest

from agentmem.formats.draft import Declared
from agentmem.model import Boundary

from .builders import Tale


def fact_lost(tale: Tale, facts: dict[str, str] | None = None) -> None:
    """A step that holds an order id, and one that does not."""
    tale.hold(facts={"order_id": "ORD-8841", "region": "north"})
    tale.step(("look", "{}", "fine"))
    tale.hold(facts=facts or {"region": "north"})
    tale.step(("look", "{}", "fine"))


def test_a_fact_that_vanishes_with_no_record_is_silent() -> None:
    tale = Tale("ship the order")
    fact_lost(tale)
    (drop,) = tale.drops()
    assert (drop.name, drop.what, drop.cause, drop.recorded, drop.n, drop.last_step) == (
        "facts.order_id", "field", "silent", False, 2, 1,
    )  # fmt: skip
    assert drop.alarming and drop.text == "ORD-8841" and drop.count == 1 and drop.segment is not None


def test_the_same_name_with_another_value_is_a_change() -> None:
    tale = Tale("ship the order")
    fact_lost(tale, facts={"order_id": "ORD-9000", "region": "north"})
    assert tale.drops() == []
    assert "another value" in tale.spared(2)["facts.order_id"]


def test_a_cleared_error_counter_or_clock_is_no_drop() -> None:
    tale = Tale("ship the order")
    tale.hold(last_error="KeyError: port", retry_count=3, updated_at="2025-11-02T10:11:12Z", elapsed="12:30:01")
    tale.step()
    tale.hold()
    tale.step()
    assert tale.drops() == []
    assert len(tale.spared(2)) == 4


@pytest.mark.parametrize(("name", "value"), [
    ("lastError", "KeyError: port"), ("retryCount", "3"), ("updatedAt", "2025-11-02T10:11:12Z"), ("elapsed", "12.5 s"),
    ("progress", "3/10"), ("progress", "40 %"), ("attempts", "2 of 5"),
])  # fmt: skip
def test_errors_counters_and_clocks_are_known_by_their_words_however_they_are_written(name: str, value: str) -> None:
    tale = Tale("ship the order")
    tale.hold(shown=True, **{name: value})
    tale.step()
    tale.hold()
    tale.step()
    assert tale.drops() == []


@pytest.mark.parametrize("now", [{"port": "12"}, {"server": {"port": "12"}}, {"server": {"port": "9000"}}])
def test_a_name_that_moves_to_another_level_is_carried_on(now: dict[str, object]) -> None:
    tale = Tale("ship the order")
    tale.hold(facts={"port": "12"})
    tale.step()
    tale.hold(shown=True, **now)
    tale.step()
    assert tale.drops() == []


def test_a_name_that_many_things_have_is_not_carried_on_by_another_thing() -> None:
    tale = Tale("ship the order")
    tale.hold(order={"id": "A-1047"})
    tale.step()
    tale.hold(shop={"id": "S-22"})
    tale.step()
    assert [drop.name for drop in tale.drops()] == ["order.id"]


def test_a_plan_advances_by_a_place_in_any_writing() -> None:
    tale = Tale("ship the order")
    tale.hold(plan=["read the config", "write the file"], currentStep=0)
    tale.step()
    tale.hold(plan=["write the file"], currentStep=1)
    tale.step()
    assert tale.drops() == []


def test_a_field_that_only_sounds_like_a_counter_but_holds_words_is_lost() -> None:
    tale = Tale("ship the order")
    tale.hold(progress="half of the invoices are checked")
    tale.step()
    tale.hold()
    tale.step()
    assert [drop.cause for drop in tale.drops()] == ["silent"]


def test_a_plan_item_gone_after_it_was_done_is_no_drop() -> None:
    tale = Tale("ship the order")
    tale.hold(plan=[("read the config", True), ("write the file", False)])
    tale.step()
    tale.hold(plan=[("write the file", False)])
    tale.step()
    assert tale.drops() == []
    assert tale.spared(2)["plan[0]"] == "it was done"


def test_a_plan_item_gone_when_the_plan_advanced_past_it_is_no_drop() -> None:
    tale = Tale("ship the order")
    tale.hold(plan=["read the config", "write the file"], step=0)
    tale.step()
    tale.hold(plan=["write the file"], step=1)
    tale.step()
    assert tale.drops() == []


def test_a_plan_item_that_was_not_done_is_lost() -> None:
    tale = Tale("ship the order")
    tale.hold(plan=[("read the config", False), ("write the file", False)])
    tale.step()
    tale.hold(plan=[("write the file", False)])
    tale.step()
    (drop,) = tale.drops()
    assert (drop.what, drop.kind, drop.cause, drop.alarming) == ("plan", "plan", "silent", True)


def test_a_plan_written_anew_says_so_and_does_not_alarm() -> None:
    tale = Tale("ship the order")
    tale.hold(plan=[("alpha beta gamma", False)])
    tale.step()
    tale.hold(plan=[("entirely different words", False)])
    tale.step()
    (drop,) = tale.drops()
    assert drop.cause == "replaced" and not drop.alarming


@pytest.mark.parametrize("now", [
    ["the gate is green", "lunch is at noon"],  # it left and one was put at the end
    ["the gate is green"],
])  # fmt: skip
def test_a_note_that_left_a_list_which_grew_at_its_end_is_lost(now: list[str]) -> None:
    tale = Tale("ship the order")
    tale.hold(notes=["host db_main listens on 5433", "the gate is green"])
    tale.step()
    tale.hold(notes=now)
    tale.step()
    assert [(drop.text, drop.cause, drop.alarming) for drop in tale.drops()] == [
        ("host db_main listens on 5433", "silent", True)
    ]


@pytest.mark.parametrize("now", [["lunch is at noon", "the gate is green"], ["lunch is at noon"]])
def test_a_note_in_whose_place_another_stands_is_replaced(now: list[str]) -> None:
    tale = Tale("ship the order")
    tale.hold(notes=["host db_main listens on 5433", "the gate is green"])
    tale.step()
    tale.hold(notes=now)
    tale.step()
    assert "replaced" in {drop.cause for drop in tale.drops()} and not any(drop.alarming for drop in tale.drops())


def test_a_note_reworded_with_most_of_its_words_is_no_drop() -> None:
    tale = Tale("ship the order")
    tale.hold(notes=["the customer wants blue boxes by friday"])
    tale.step()
    tale.hold(notes=["by friday the customer wants boxes, blue"])
    tale.step()
    assert tale.drops() == []
    assert tale.spared(2)["notes[0]"] == "it was worded anew"


def test_an_item_reworded_with_all_its_identifiers_is_no_drop() -> None:
    tale = Tale("ship the order")
    tale.hold(notes=["remember that host db_main listens on 5433"])
    tale.step()
    tale.hold(notes=["db_main: 5433"])
    tale.step()
    assert tale.drops() == []


def test_a_note_reworded_without_its_identifier_and_words_is_lost() -> None:
    tale = Tale("ship the order")
    tale.hold(notes=["remember that host db_main listens on 5433", "second"])
    tale.step()
    tale.hold(notes=["second"])
    tale.step()
    assert [drop.cause for drop in tale.drops()] == ["silent"]


def test_a_value_that_stands_elsewhere_in_the_prompt_has_moved() -> None:
    tale = Tale("ship the order")
    tale.say("user", "Please look after ORD-8841, it is late. " + "More words follow here. " * 20)
    fact_lost(tale)
    assert tale.drops() == []
    assert tale.spared(2)["facts.order_id"] == "its value stands elsewhere"


def test_a_value_that_stands_only_as_part_of_a_word_has_not_moved() -> None:
    tale = Tale("ship the order")
    tale.say("user", "Please look after ORD-88412, it is late.")
    fact_lost(tale)
    assert [drop.cause for drop in tale.drops()] == ["silent"]


def test_the_arguments_of_an_old_call_do_not_hide_a_loss() -> None:
    tale = Tale("ship the order")
    tale.hold(facts={"order_id": "ORD-8841"})
    tale.step(("track", '{"order":"ORD-8841"}', "on its way"))
    tale.hold()
    tale.step()
    assert [drop.cause for drop in tale.drops()] == ["silent"]


def test_a_value_of_three_characters_never_counts_as_moved() -> None:
    tale = Tale("ship the order")
    tale.say("user", "the gate is B17 today")
    tale.hold(facts={"gate": "B17"})
    tale.step()
    tale.hold()
    tale.step()
    assert [drop.name for drop in tale.drops()] == ["facts.gate"]


def test_a_renamed_field_has_moved() -> None:
    tale = Tale("ship the order")
    fact_lost(tale, facts={"order": "ORD-8841", "region": "north"})
    assert tale.drops() == []


def test_a_call_that_forgets_it_by_name_removes_it_on_record() -> None:
    tale = Tale("ship the order")
    tale.hold(facts={"order_id": "ORD-8841"})
    tale.step(("forget_fact", '{"name":"order_id"}', "done"))
    tale.hold()
    tale.step()
    (drop,) = tale.drops()
    assert drop.cause == "removed" and drop.recorded and not drop.alarming


def test_a_call_that_forgets_something_else_does_not() -> None:
    tale = Tale("ship the order")
    tale.hold(facts={"order_id": "ORD-8841"})
    tale.step(("forget_fact", '{"name":"region"}', "done"))
    tale.hold()
    tale.step()
    assert [drop.cause for drop in tale.drops()] == ["silent"]


def test_the_step_after_a_gap_is_unknown_and_not_silent() -> None:
    tale = Tale("ship the order")
    tale.hold(facts={"order_id": "ORD-8841"})
    message = tale.say("user", "an old message")
    tale.step(own=1)
    tale.hold()
    tale.take(message)
    tale.step(own=7, gap=5)
    assert tale.drops() == []
    assert set(tale.spared(2).values()) == {"steps are missing before this one: unknown"}
    (gap,) = tale.run().gaps
    assert (gap.after, gap.before, gap.missing) == (1, 7, 5)


def test_a_new_run_in_the_same_file_loses_nothing() -> None:
    tale = Tale()
    tale.hold(goal="count the meters", facts={"order_id": "ORD-8841"})
    tale.step(own=9)
    tale.hold(goal="paint the fence")
    tale.step(own=1)
    assert [drop for drop in tale.drops() if drop.cause == "silent"] == []
    assert "a new run begins here" in tale.spared(2).values()


def test_the_same_goal_with_a_count_that_goes_back_is_no_new_run() -> None:
    tale = Tale()
    tale.hold(goal="count the meters", facts={"order_id": "ORD-8841"})
    tale.step(own=9)
    tale.hold(goal="count the meters")
    tale.step(own=1)
    assert [drop.name for drop in tale.drops()] == ["facts.order_id"]


def test_a_declared_drop_is_recorded_and_keeps_its_cause() -> None:
    tale = Tale("ship the order")
    tale.hold(facts={"order_id": "ORD-8841"})
    tale.step()
    tale.declare(Declared("facts.order_id", "trimmed", "field", record="drop oldest, line 3"))
    tale.hold()
    tale.step()
    (drop,) = tale.drops()
    assert (drop.cause, drop.recorded, drop.record) == ("trimmed", True, "drop oldest, line 3")


def test_a_declared_drop_may_name_the_field_without_its_path() -> None:
    tale = Tale("ship the order")
    tale.hold(facts={"order_id": "ORD-8841"})
    tale.step()
    tale.declare(Declared("order_id", "trimmed", "field"))
    tale.hold()
    tale.step()
    assert [(drop.name, drop.recorded) for drop in tale.drops()] == [("facts.order_id", True)]


def test_a_field_that_becomes_null_is_nulled() -> None:
    tale = Tale("ship the order")
    tale.hold(phase="query_ready")
    tale.step()
    tale.hold(phase=None)
    tale.step()
    (drop,) = tale.drops()
    assert (drop.cause, drop.recorded, drop.alarming) == ("nulled", False, True)


def test_an_undeclared_field_is_what_the_reader_declares() -> None:
    tale = Tale("ship the order")
    tale.step()
    tale.declare(Declared("verified_fact", "undeclared", "field", text="order id 8841", kind="fact", record="node n"))
    tale.step()
    (drop,) = tale.drops()
    assert (drop.name, drop.cause, drop.what) == ("verified_fact", "undeclared", "field")


def test_a_state_field_lost_at_a_compaction_of_messages_is_still_silent() -> None:
    tale = Tale("ship the order")
    old = [tale.say("user", f"message {number}") for number in range(8)]
    tale.hold(shown=False, facts={"rollback_snapshot": "snap-77A1"})
    tale.step()
    tale.take(*old)
    tale.boundary(Boundary("compaction", True, None, None, "a compact record"))
    tale.hold()
    tale.step()
    causes = {drop.name: drop.cause for drop in tale.drops()}
    assert causes["facts.rollback_snapshot"] == "silent" and causes["user message"] == "compacted"


def test_a_field_held_but_no_longer_in_the_prompt_left_it() -> None:
    tale = Tale("ship the order")
    tale.hold(facts={"order_id": "ORD-8841"})
    tale.step()
    tale.hold(shown=False, facts={"order_id": "ORD-8841"})
    tale.step()
    (drop,) = tale.drops()
    assert (drop.name, drop.cause) == ("facts.order_id", "silent")
    assert tale.last().fields[0].segment is None
    tale.hold(facts={"order_id": "ORD-8841"})
    tale.step()
    (drop,) = tale.drops()
    assert drop.returned_at == 3
