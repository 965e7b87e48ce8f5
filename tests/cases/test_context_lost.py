"""Context silently lost: rows of the cases that people who run agents reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentmem.inspect.telling.verdict import verdict
from tests.cases.written import (
    Message,
    call,
    drops,
    each,
    list_of,
    log,
    open_file,
    request,
    result,
    said,
    system,
    turn,
    user,
    versions,
)

GOAL = "Migrate the billing service to the new ledger without losing invoice INV-8841"
PLAN = [
    {"content": "read the old schema", "status": "completed"}, {"content": "copy the rows", "status": "in_progress"},
]  # fmt: skip


def kept_tail(steps: int, keep: int) -> list[dict[str, Any]]:
    """A loop that keeps the system message and the last few, and restores plan and step after every cut."""
    messages: list[Message] = [system("You migrate services."), user(GOAL)]
    out = []
    for number in range(1, steps + 1):
        messages = [*messages, *turn(number, "read", f"rows {number}", table=f"t{number}")]
        if len(messages) > keep + 1:
            rest = messages[-keep:]
            messages = [messages[0], user("Plan: read the old schema (done); copy the rows"), *rest[rest[0]["role"] ==
                        "tool" :]]  # fmt: skip
        out.append({"step": number, "messages": messages, "state": {"plan": PLAN, "place": "copy the rows"}})
    return out


def test_the_plan_is_restored_after_the_cut_and_the_task_is_not_so_the_goal_is_missing_since_that_step(
    tmp_path: Path,
) -> None:
    run = versions(tmp_path / "run.json", *kept_tail(30, 10)).run
    steps = run.main.steps
    assert run.goal == GOAL
    first = next(step.number for step in steps if step.goal == "missing")
    assert all(step.goal == "missing" for step in steps if step.number >= first)
    assert all(step.goal in ("present", "last") for step in steps if step.number < first - 1)
    cut = next(step for step in steps if step.number == first - 1)
    assert (cut.goal, cut.unsure) == ("unknown", "cut"), "that its call no longer saw it cannot be told"
    plan = [field for field in steps[-1].fields if field.name.startswith("plan")]
    assert len(plan) == 2 and any(field.segment is not None for field in plan)
    told = verdict(run).text
    assert told == f"the goal is not in the prompt since {cut.number}", "the step at which its loss is told"


def test_a_rule_that_only_a_summary_states_is_never_shown_as_verified(tmp_path: Path) -> None:
    summary = "Progress so far: the rows were copied. Constraint: never publish."
    body = {
        "step": 3, "messages": [system("s"), user(summary), said("understood")],
        "state": {"goal": GOAL, "facts": {"constraint": "never publish"}},
    }  # fmt: skip
    run = open_file(tmp_path / "run.json", body).run
    (fact,) = [field for field in run.main.steps[-1].fields if field.name == "facts.constraint"]
    assert (fact.verified_by, fact.verified_at) == (None, None)
    assert {"summary", "fact"} <= {segment.kind for segment in run.main.steps[-1].prompt}


def cut_by_count() -> tuple[list[Message], list[Message]]:
    whole = [
        system("You are careful. GOAL: " + GOAL), user("begin"), call("c1", "read", path="a"),
        result("c1", "text of a"),
        user("and then?"), said("one"), user("go on"), said("two"),
    ]  # fmt: skip
    return whole, whole[3:]


def test_a_cut_by_count_takes_the_system_prompt_and_the_call_of_a_result_and_both_are_told(tmp_path: Path) -> None:
    whole, tail = cut_by_count()
    run = versions(tmp_path / "run.json", whole, [*tail, user("next"), said("three")]).run
    gone = drops(run)
    lost = {drop.kind for drop in gone}
    assert "system" in lost and all(not drop.recorded for drop in gone)
    last = each(run)[-1]
    kinds = [segment.kind for segment in last.prompt]
    assert "call" not in kinds and kinds[0] == "result"
    orphan = last.prompt[0]
    assert orphan.call_id == "c1"


def test_a_list_that_starts_with_an_orphan_result_does_not_tell_the_goal(tmp_path: Path) -> None:
    _, tail = cut_by_count()
    run = list_of(tmp_path / "run.json", tail)
    assert run.goal is None
    assert {step.goal for step in run.main.steps} == {"unknown"}


def test_a_call_without_its_result_stays_in_the_prompt_and_is_pending(tmp_path: Path) -> None:
    run = list_of(tmp_path / "run.json", [user(GOAL), call("c1", "read", path="a"), user("and?"), said("well")])
    assert run.main.steps[0].pending == 1
    assert run.main.steps[0].attempts[0].outcome == "unknown"
    assert [segment.kind for segment in run.main.steps[1].prompt] == ["goal", "call", "user"]


def test_what_was_sent_and_what_the_server_counted_stand_side_by_side_and_are_never_mixed(tmp_path: Path) -> None:
    long = "word " * 52_480
    line = request([system(GOAL), user(long)], said("ok"), {"prompt_tokens": 32_770, "completion_tokens": 3})
    run = open_file(log(tmp_path / "calls.jsonl", [line])).run
    (step,) = each(run)
    assert step.usage is not None and step.usage.prompt == 32_770
    assert step.tokens.prompt is not None and step.tokens.prompt > 65_000


def test_reported_tokens_that_fall_while_nothing_is_recorded_are_a_boundary_that_nobody_explains(
    tmp_path: Path,
) -> None:
    messages = [system(GOAL), user("word " * 1000)]
    lines = [
        request(messages, said("a"), {"prompt_tokens": 65_530}),
        request([*messages, said("a"), user("more")], said("b"), {"prompt_tokens": 32_770}),
    ]
    run = open_file(log(tmp_path / "calls.jsonl", lines)).run
    edge = each(run)[1].boundary
    assert edge is not None
    assert (edge.kind, edge.recorded, edge.before, edge.after) == ("unexplained", False, 65_530, 32_770)
    assert "nobody recorded why" in verdict(run).text


def test_tool_calls_taken_out_of_the_past_are_drops_though_the_narration_stays(tmp_path: Path) -> None:
    narrated = {**call("c1", "open_pr", title="fix"), "content": "I opened the PR"}
    whole = [user(GOAL), narrated, result("c1", "PR 12 opened"), user("good"), said("thanks")]
    stripped = [user(GOAL), said("I opened the PR"), user("good"), said("thanks"), user("more"), said("another PR")]
    run = versions(tmp_path / "run.json", whole, stripped).run
    gone = drops(run)
    names = " ".join(drop.name for drop in gone)
    assert "call" in names and "result" in names and {drop.step for drop in gone} == {3}
    assert all(not drop.recorded for drop in gone)
    assert [segment.head for segment in run.main.steps[2].prompt if segment.kind == "assistant"] == [
        "I opened the PR", "thanks",
    ]  # fmt: skip
