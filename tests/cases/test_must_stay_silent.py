"""What must not fire as silent: each line of that list, from a plain checkpoint that is saved twice.

Every test has its counterpart in which the same field really is lost, so that silence is not blindness.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentmem.inspect.open import Opened
from agentmem.model import Drop
from tests.cases.written import Message, drops, said, turn, user, versions

GOAL = "repair the export of the billing service"
BEGUN = [user("begin"), *turn(1, "look", "seen")]


def saved(
    path: Path, before: dict[str, Any], after: dict[str, Any], more: list[Message] | None = None, step: int = 2,
    **changed: Any,
) -> Opened:  # fmt: skip
    messages = [*BEGUN, *(more if more is not None else turn(2, "look", "seen again"))]
    first = {"step": 1, "messages": BEGUN, "state": {"goal": GOAL, **before}}
    second = {"step": step, "messages": messages, "state": {"goal": GOAL, **after}, **changed}
    return versions(path / "run.json", first, second)


def alarms(source: Opened) -> list[Drop]:
    return [drop for drop in drops(source.run) if drop.alarming]


def test_a_field_that_is_gone_fires(tmp_path: Path) -> None:
    (drop,) = alarms(saved(tmp_path, {"facts": {"port": "8841", "host": "db1"}}, {"facts": {"host": "db1"}}))
    assert (drop.name, drop.cause, drop.text) == ("facts.port", "silent", "8841")


def test_the_same_name_with_another_value_is_a_change(tmp_path: Path) -> None:
    source = saved(tmp_path, {"facts": {"port": "8841"}}, {"facts": {"port": "9000"}})
    assert drops(source.run) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("last_error", "connection refused"), ("attempts", 4), ("retry_count", 2),
        ("started_at", "2026-03-01T10:00:00Z"),
        ("elapsed_seconds", 12.5), ("error", "no such table"), ("spent_usd", 0.25), ("turn", 7),
    ],
)  # fmt: skip
def test_errors_counters_and_clocks_that_are_cleared_stay_silent(tmp_path: Path, name: str, value: object) -> None:
    assert drops(saved(tmp_path, {name: value, "port": "8841"}, {"port": "8841"}).run) == []


def test_a_counter_by_name_only_is_a_field_like_any_other(tmp_path: Path) -> None:
    (drop,) = alarms(saved(tmp_path, {"account": "TR-77-31"}, {}))
    assert drop.name == "account"


def test_a_plan_item_that_was_done_and_is_gone_stays_silent(tmp_path: Path) -> None:
    items = [{"content": "read the schema", "status": "completed"}, {"content": "copy rows", "status": "pending"}]
    assert drops(saved(tmp_path, {"plan": items}, {"plan": items[1:]}).run) == []


def test_a_plan_item_that_was_open_and_is_gone_fires(tmp_path: Path) -> None:
    items = [{"content": "read the schema", "status": "completed"}, {"content": "copy rows", "status": "pending"}]
    (drop,) = alarms(saved(tmp_path, {"plan": items}, {"plan": items[:1]}))
    assert (drop.what, drop.text) == ("plan", "copy rows")


def test_a_plan_item_that_the_plan_has_advanced_past_stays_silent(tmp_path: Path) -> None:
    before = {"plan": ["read the schema", "copy rows", "check totals"], "step": 0}
    after = {"plan": ["copy rows", "check totals"], "step": 1}
    assert drops(saved(tmp_path, before, after).run) == []


@pytest.mark.parametrize(
    "now",
    [
        "The billing export writes rows twice when the job restarts at night",  # 60 % of the words
        "see src/export.py and ORD-8841 for why",  # all identifiers
    ],
)
def test_a_note_worded_anew_stays_silent(tmp_path: Path, now: str) -> None:
    was = "The export writes rows twice when the job restarts at night (src/export.py, ORD-8841)"
    assert drops(saved(tmp_path, {"notes": [was]}, {"notes": [now]}).run) == []


def test_a_note_that_is_replaced_by_another_matter_is_told_as_replaced(tmp_path: Path) -> None:
    was, now = "The export writes rows twice (src/export.py, ORD-8841)", "Lunch is at noon"
    (drop,) = drops(saved(tmp_path, {"notes": [was]}, {"notes": [now]}).run)
    assert drop.text == was and drop.cause == "replaced"


def test_a_value_that_stands_elsewhere_in_the_prompt_has_moved(tmp_path: Path) -> None:
    more = [user("The port is 8841, remember it"), said("yes")]
    assert drops(saved(tmp_path, {"facts": {"port": "8841"}}, {}, more).run) == []


def test_a_value_that_stands_in_another_field_has_moved(tmp_path: Path) -> None:
    assert drops(saved(tmp_path, {"facts": {"port": "8841"}}, {"config": {"db_port": "8841"}}).run) == []


def test_a_value_inside_a_longer_word_has_not_moved(tmp_path: Path) -> None:
    more = [user("The build is 188419"), said("yes")]
    assert [drop.name for drop in alarms(saved(tmp_path, {"facts": {"port": "8841"}}, {}, more))] == ["facts.port"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("forget", {"key": "port"}), ("delete_fact", {"name": "facts.port"}), ("memory", {"action": "x"}),
        ("update_state", {"port": None}),
    ],
)  # fmt: skip
def test_a_call_that_forgets_it_by_name_is_its_record(tmp_path: Path, tool: str, arguments: dict[str, Any]) -> None:
    source = saved(tmp_path, {"facts": {"port": "8841"}}, {}, turn(2, tool, "ok", **arguments))
    (drop,) = drops(source.run)
    assert (drop.cause, drop.recorded) == (("silent", False) if tool == "memory" else ("removed", True))


def test_a_call_that_failed_to_forget_it_is_no_record(tmp_path: Path) -> None:
    more = turn(2, "forget", "Error: no such store", key="port")
    (drop,) = drops(saved(tmp_path, {"facts": {"port": "8841"}}, {}, more).run)
    assert not drop.recorded


def test_after_a_gap_nothing_is_known(tmp_path: Path) -> None:
    rest = [part for number in range(2, 4) for part in turn(number, "look", f"view {number}", n=number)]
    source = saved(tmp_path, {"facts": {"port": "8841"}}, {}, rest[-2:], step=9)
    assert source.run.gaps and drops(source.run) == []


def test_a_new_run_in_the_same_file_starts_over(tmp_path: Path) -> None:
    first = {"step": 7, "messages": BEGUN, "state": {"goal": GOAL, "facts": {"port": "8841"}}}
    second = {
        "step": 1, "messages": [user("hello"), said("hi")], "state": {"goal": "water the plants on the terrace"},
    }  # fmt: skip
    source = versions(tmp_path / "run.json", first, second)
    assert drops(source.run) == [] and source.run.goal == "water the plants on the terrace"


def test_what_a_lost_field_looked_like_is_explained_where_it_is_no_drop(tmp_path: Path) -> None:
    from agentmem.inspect.telling.explain import not_drops

    source = saved(tmp_path, {"facts": {"port": "8841"}}, {"config": {"db_port": "8841"}})
    assert not_drops(source.run, source.run.main.steps[-1]) is not None
