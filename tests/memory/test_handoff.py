"""Handoff: a clean state that carries only what was distilled."""

from __future__ import annotations

import pytest

from agentmem.memory.handoff import handoff
from agentmem.memory.state import State


def ended() -> State:
    state = State("Read the meters", plan=["find", "read"], step=2, budget_steps=9)
    state.verify("port", "8080", "curl", 2)
    state.verify("city", "İzmir", "map", 3)
    state.fail("timeout")
    state.spend(0.2, calls=4)
    return state


def test_only_what_is_picked_comes_along_and_the_rest_is_told() -> None:
    done = handoff(ended(), "Bill the readings", ["port"], plan=["bill"])
    assert done.state.render() == (
        'Verified facts:\n{\n  "port": "8080"\n}\n\nDone: nothing yet\nRemaining: bill\n\n'
        "GOAL (unchanged): Bill the readings"
    )
    assert (done.state.verified["port"].by, done.state.verified["port"].step) == ("curl", 2)
    assert (done.state.attempts, done.state.spent_usd, done.state.budget_steps) == (0, 0.0, 9)
    assert [(d.name, d.kind) for d in done.drops] == [
        ("facts.city", "fact"), ("plan[0]", "plan"), ("plan[1]", "plan"), ("last_error", "error"), ("goal", "goal")
    ]  # fmt: skip
    assert all(drop.recorded and drop.cause == "removed" for drop in done.drops)


def test_a_distilled_fact_is_verified_by_a_checker_or_stays_a_claim() -> None:
    told = handoff(ended(), "Next", lambda state: {"port": "8080", "meters": "12 read"})
    assert dict(told.state.facts) == {"port": "8080"}
    assert [entry["text"] for entry in told.state.log] == ["meters: 12 read"]
    checked = handoff(ended(), "Next", lambda state: {"meters": "12 read"}, by="count")
    assert checked.state.verified["meters"].by == "count"


def test_a_changed_value_does_not_keep_the_seal_of_the_old_one() -> None:
    assert dict(handoff(ended(), "Next", lambda state: {"port": "9090"}).state.facts) == {}


def test_too_many_facts_and_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="2 facts are more than 1"):
        handoff(ended(), "Next", ["port", "city"], most=1)
    with pytest.raises(KeyError, match="there are port, city"):
        handoff(ended(), "Next", ["prot"])


def test_a_fact_that_is_called_like_a_plan_item_or_the_failure_hides_no_drop() -> None:
    ended = State("old", plan=["read"], last_error="timeout")
    ended.verify("plan[0]", "read", "checker")
    ended.verify("last_error", "timeout", "checker")
    gone = {drop.name for drop in handoff(ended, "new", ["plan[0]", "last_error"]).drops}
    assert gone == {"goal", "plan[0]", "last_error"}
