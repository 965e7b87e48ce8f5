"""The state pane: what is held, what changed since the step before, what is not in the prompt."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agentmem.model import Field, Lane, Run
from tui.widgets.panes.state import StatePane

from .builders import Teller, plain_run, story
from .shown import context_of, pane_lines, row_with, text


def shown(run: Run, n: int, width: int = 80) -> str:
    pane = StatePane()
    pane.show(run, ("main", n), context_of(run, width))
    return text(pane_lines(pane, width))


def run_of(*states: tuple[Field, ...], synthetic: bool = False) -> Run:
    t = Teller()
    t.place(t.piece("user", "hello"))
    for fields in states:
        t.fields = {field.name: field for field in fields}
        t.close()
    return replace(plain_run(1), lanes=(Lane("main", "main", tuple(t.steps)),), synthetic=synthetic)


def fact(name: str, value: str, segment: int | None = 0, **more: object) -> Field:
    return Field(f"facts.{name}", value, 3, segment=segment, **more)  # type: ignore[arg-type]  # fields of Field by name


@pytest.mark.parametrize("width", [80, 150])
def test_goal_facts_failure_and_budget_are_shown(width: int) -> None:
    said = shown(story(), 31, width)
    assert "Make the order parser accept quoted commas; every test passes." in said
    assert "✓ read @4" in said and "replay_order: missing field: order_id   new" in said
    assert "31 of 40" in said


def test_a_fact_that_left_unrecorded_stands_struck_through() -> None:
    run = story()
    pane = StatePane()
    pane.show(run, ("main", 31), context_of(run))
    row = row_with(pane_lines(pane, 80), "▲ order_id")
    assert "silent since 29" in row.plain and row.fill == "error-muted"
    assert [span.text for span in row.spans if span.strike] == ["A-1041"]
    assert "▲" not in shown(run, 28)


def test_a_recorded_removal_is_shown_at_its_step_only() -> None:
    assert "− failing" in shown(story(), 19) and "failing" not in shown(story(), 20)


def test_plan_items_are_done_next_and_not_yet() -> None:
    items = [("find", True), ("fix", False), ("test", False)]
    fields = tuple(Field(f"plan[{n}]", name, 1, segment=0, done=done) for n, (name, done) in enumerate(items))
    said = shown(run_of(fields), 1)
    assert "1 of 3 done" in said and "✓ find" in said and "→ fix" in said and "· test" in said


def test_a_finished_item_that_is_open_again_is_said_to_go_backwards() -> None:
    done = Field("plan[0]", "find", 1, segment=0, done=True)
    said = shown(run_of((done,), (replace(done, done=False),)), 2)
    assert "was done, open again" in said
    assert "just done" in shown(run_of((replace(done, done=False),), (done,)), 2)


def test_a_counter_that_went_down_is_said() -> None:
    limit = Field("budget_steps", "20", 1)
    said = shown(run_of((Field("attempts", "9", 1), limit), (Field("attempts", "4", 1), limit)), 2)
    assert "went back from 9" in said and "4 of 20" in said


def test_new_and_changed_facts_are_marked_with_what_they_were() -> None:
    said = shown(run_of((fact("port", "8841"),), (fact("port", "8814"), fact("host", "db1"))), 2)
    assert "~ port" in said and "was 8841" in said and "+ host" in said


def test_what_is_held_but_not_in_the_prompt_says_so() -> None:
    fields = (fact("port", "8841", None),)
    assert "not in the prompt" in shown(run_of(fields, fields), 2)
    assert "─ port" in shown(run_of(fields, fields), 2)
    assert "not in the prompt" not in shown(run_of(fields, fields, synthetic=True), 2)
    unseen = shown(replace(run_of(fields, fields), unknown=("system prompt",)), 2)
    assert "not in the prompt" not in unseen and "place unknown" in unseen


def test_a_fact_without_a_verifier_says_so() -> None:
    assert "no verifier" in shown(run_of((fact("port", "8841"),)), 1)


def test_without_any_state_it_says_what_to_do() -> None:
    assert shown(plain_run(2), 2).strip() == "No state in this run. Press / and p to follow a text."


def test_budgets_that_are_used_up_say_so_and_unreadable_ones_stay_text() -> None:
    spent, limit = Field("spent_usd", "1.20", 1), Field("budget_spend_usd", "1.0", 1)
    assert "$1.20 of $1.00  used up" in shown(run_of((spent, limit)), 1)
    assert "$free" in shown(run_of((replace(spent, value="free"), limit)), 1)
