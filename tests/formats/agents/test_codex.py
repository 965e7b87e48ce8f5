"""What the reader makes of a rollout: prompts, usage, plans, and what leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.agents.codex import (
    IDENT,
    call,
    compacted,
    count,
    event,
    item,
    meta,
    plan,
    prompt,
    reader,
    record,
    result,
    run_of,
    said,
    thought,
    user,
    write,
)

OPEN = (meta(), user("<environment_context>\n<cwd>/srv/mill</cwd>\n</environment_context>"), user("Grind the corn."))
SUMMARY = "Another language model started to solve this problem and produced a summary.\nThe stones are dressed."


def test_a_step_is_one_response_and_its_prompt_is_what_stood_before(tmp_path: Path) -> None:
    made = reader(write(
        tmp_path, *OPEN, thought(), said("Two at once."), call("a", cmd="ls"), call("b", cmd="pwd"), count(100, 100),
        result("a", "mill.py"), result("b", "/srv/mill"), said("Done."), count(160, 260),
    ))  # fmt: skip
    lane = made.draft.main
    assert [len(step.calls) for step in lane.steps] == [2, 0]
    assert [kind for kind, _ in prompt(lane, 1)] == ["system", "system", "goal"]
    assert [kind for kind, _ in prompt(lane, 2)][3:] == ["thinking", "assistant", "call", "call", "result", "result"]
    assert made.draft.goal == "Grind the corn." and made.draft.id == IDENT
    assert made.draft.unknown == ("tool schemas",)
    assert not lane.open


def test_reported_tokens_are_those_of_the_last_call_and_repeats_count_once(tmp_path: Path) -> None:
    records = [*OPEN]
    total = 0
    for n, size in enumerate((22_217, 27_000, 27_500)):
        total += size
        records += [call(f"c{n}", cmd=f"ls {n}"), count(size, total), count(size, total), result(f"c{n}", "x")]
    draft = reader(write(tmp_path, *records)).draft
    assert [step.usage and step.usage.prompt for step in draft.main.steps] == [22_217, 27_000, 27_500]
    assert [step.usage and step.usage.cached for step in draft.main.steps] == [11_108, 13_500, 13_750]
    assert (draft.window, draft.window_source) == (258_400, "declared")


def test_reports_that_stand_before_their_items_go_to_the_call_that_follows(tmp_path: Path) -> None:
    draft = reader(write(
        tmp_path, *OPEN, count(100, 100), call("a", cmd="ls"), result("a", "x"), count(150, 250), said("Done."),
    )).draft  # fmt: skip
    assert [step.usage and step.usage.prompt for step in draft.main.steps] == [100, 150]


def test_a_report_without_figures_is_no_usage(tmp_path: Path) -> None:
    limits = event("token_count", info=None, rate_limits={"primary": {"used_percent": 1.0}})
    draft = reader(write(tmp_path, *OPEN, limits, said("Hello."), limits)).draft
    assert [step.usage for step in draft.main.steps] == [None]


def test_a_plan_that_no_compaction_carries_is_lost_and_nobody_recorded_it(tmp_path: Path) -> None:
    opened = run_of(
        tmp_path, *OPEN, plan("p", "Dress the stones", "Open the sluice gate", done=0), count(100, 100),
        result("p", "Plan updated"), call("a", cmd="ls"), count(150, 250), result("a", "x"),
        compacted(SUMMARY, [OPEN[2], user(SUMMARY)]), said("On it."), count(90, 340),
    )  # fmt: skip
    step = opened.run.main.steps[2]
    assert step.boundary is not None and (step.boundary.kind, step.boundary.recorded) == ("compaction", True)
    assert (step.boundary.before, step.boundary.after) == (150, 90)
    plans = [(drop.name, drop.text, drop.recorded) for drop in step.drops if drop.what == "plan"]
    assert plans == [("plan[1]", "Open the sluice gate", False)], "the summary says that the stones are dressed"
    assert all(drop.recorded for drop in step.drops if drop.what == "segment")
    assert step.goal == "present"


def test_a_plan_written_by_the_last_call_before_a_compaction_is_lost_as_well(tmp_path: Path) -> None:
    opened = run_of(
        tmp_path, *OPEN, plan("p", "Weigh every sack", "Open the sluice gate"), result("p", "Plan updated"),
        plan("q", "Weigh every sack", "Open the sluice gate", done=1), result("q", "Plan updated"),
        compacted(SUMMARY, [OPEN[2], user(SUMMARY)]), said("On it."),
    )  # fmt: skip
    lost = [drop.text for drop in opened.run.main.steps[2].drops if drop.alarming]
    assert lost == ["Open the sluice gate"], "what was done is no loss"


def test_an_encrypted_summary_cannot_be_checked(tmp_path: Path) -> None:
    sealed = {"type": "compaction", "encrypted_content": "gAAAA" * 20}
    opened = run_of(tmp_path, *OPEN, call("a", cmd="ls"), result("a", "x"), compacted("", [OPEN[2], sealed]), said("?"))
    step = opened.run.main.steps[1]
    assert step.boundary is not None and step.boundary.opaque and step.boundary.recorded
    assert [(s.kind, s.tokens) for s in step.prompt][-1] == ("summary", None)
    assert opened.run.survivals[0].lost == ()


def test_a_new_window_without_a_summary_is_not_opaque(tmp_path: Path) -> None:
    opened = run_of(tmp_path, *OPEN, call("a", cmd="ls"), result("a", "x"), compacted("", [OPEN[2]]), said("?"))
    boundary = opened.run.main.steps[1].boundary
    assert boundary is not None and not boundary.opaque and "without a summary" in boundary.why


def test_an_old_compaction_keeps_the_newest_user_messages_and_the_summary(tmp_path: Path) -> None:
    long = "corn " * 15_000
    opened = run_of(
        tmp_path, *OPEN, said("Which corn?"), user(long), said("That much?"), user("Yes."), said("Then."),
        compacted("The corn is weighed."), said("Now the stones."),
    )  # fmt: skip
    step = opened.run.main.steps[3]
    assert [segment.kind for segment in step.prompt] == ["system", "goal", "user", "user", "summary"]
    wide = run_of(
        tmp_path, *OPEN, said("Which corn?"), user(long + long), said("Then."), compacted("Weighed."), said("Now."),
    )  # fmt: skip
    assert wide.run.main.steps[2].goal == "missing", "a message of more than 20,000 tokens pushes the goal out"


def test_a_mark_of_a_compaction_alone_is_opaque_and_a_record_beside_it_wins(tmp_path: Path) -> None:
    opened = run_of(tmp_path, *OPEN, said("a"), user("b"), event("context_compacted"), said("c"))
    boundary = opened.run.main.steps[1].boundary
    assert boundary is not None and boundary.opaque
    opened = run_of(
        tmp_path, *OPEN, said("a"), user("b"), event("context_compacted"), compacted(SUMMARY, [user(SUMMARY)]),
        event("context_compacted"), said("c"),
    )  # fmt: skip
    boundary = opened.run.main.steps[1].boundary
    assert boundary is not None and not boundary.opaque
    assert opened.run.main.steps[1].goal == "missing"


def test_a_rollback_takes_the_last_turns_out(tmp_path: Path) -> None:
    opened = run_of(
        tmp_path, *OPEN, plan("p", "Dress the stones"), result("p", "ok"), said("Ready."),
        user("Sing."), plan("q", "Sing a song"), result("q", "ok"), said("La."), user("Louder."), said("LA."),
        event("thread_rolled_back", num_turns=2), user("Grind."), said("Ground."),
    )  # fmt: skip
    last = opened.run.main.steps[-1]
    assert [segment.head for segment in last.prompt][-2:] == ["Ready.", "Grind."]
    assert last.boundary is not None and (last.boundary.kind, last.boundary.recorded) == ("rewind", True)
    assert {drop.recorded for drop in last.drops if drop.what == "segment"} == {True}
    assert [field.value for field in last.fields] == ["Dress the stones"]


def test_a_rollback_takes_what_the_agent_put_before_the_turn_as_well_but_never_the_start(tmp_path: Path) -> None:
    words = {"type": "input_text", "text": "<model_switch>m</model_switch>"}
    switch = item("message", role="developer", content=[words])
    turns = [*OPEN, said("a1"), switch, user("two"), said("a2")]
    one = run_of(tmp_path, *turns, event("thread_rolled_back", num_turns=1), user("three"), said("a3"))
    assert [segment.head for segment in one.run.main.steps[-1].prompt][2:] == ["Grind the corn.", "a1", "three"]
    all_ = run_of(tmp_path, *turns, event("thread_rolled_back", num_turns=9), user("three"), said("a3"))
    assert [segment.kind for segment in all_.run.main.steps[-1].prompt] == ["system", "system", "user"]


def test_tokens_told_in_a_record_of_their_own_count_where_no_report_does(tmp_path: Path) -> None:
    def told(tokens: int) -> dict[str, object]:
        return record("token_usage_record", {"response_id": "r", "usage": {"input_tokens": tokens, "output_tokens": 2}})

    opened = run_of(
        tmp_path, *OPEN, call("a", cmd="ls"), told(100), result("a", "x"), said("Ground."), count(170, 270), told(999)
    )
    assert [step.usage and step.usage.prompt for step in opened.run.main.steps] == [100, 170]


def test_items_appended_in_one_record_are_items(tmp_path: Path) -> None:
    long = "corn " * 60
    items = [user("Grind.")["payload"], call("a", cmd="ls")["payload"], {"type": "trae_extra_info"},
             result("a", long)["payload"], said(long)["payload"]]  # fmt: skip
    opened = run_of(tmp_path, meta(), record("history_mutation", {"operation": "append", "items": items}))
    assert [len(step.attempts) for step in opened.run.main.steps] == [1, 0]
    assert opened.text(opened.run.main.steps[1].prompt[-1]) == long
    assert not opened.run.problems


def test_reasoning_of_earlier_turns_leaves_and_explains_a_small_fall_but_no_large_one(tmp_path: Path) -> None:
    def turns(after: int) -> tuple[str | None, list[tuple[str, int]]]:
        opened = run_of(
            tmp_path, *OPEN, thought(), call("a", cmd="ls"), count(10_000, 10_000, reasoning=900), result("a", "x"),
            thought(), said("Ground."), count(11_000, 21_000, reasoning=500), user("And sift it."), thought(),
            said("Sifted."), count(after, 21_000 + after, reasoning=5),
        )  # fmt: skip
        step = opened.run.main.steps[2]
        kind = step.boundary.kind if step.boundary else None
        return kind, [(drop.cause, drop.count) for drop in step.drops]

    assert turns(9_700) == ("prune", [("trimmed", 1)]), "the last reasoning was in no prompt"
    assert turns(5_000)[0] == "unexplained", "more went than the reasoning that was reported"


@pytest.mark.parametrize(("after", "kind"), [(19_603, "prune"), (9_000, "unexplained")])
def test_what_a_search_of_the_provider_brought_counts_once(tmp_path: Path, after: int, kind: str) -> None:
    search = item("web_search_call", id="ws", status="completed", action={"type": "search", "query": "corn"})
    opened = run_of(
        tmp_path, *OPEN, call("a", cmd="ls"), count(18_686, 18_686), result("a", "x"),
        thought(), search, thought(), call("b", cmd="ls"), count(23_414, 42_100), result("b", "x"),
        said("Ground."), count(after, 42_100 + after),
    )  # fmt: skip
    boundary = opened.run.main.steps[2].boundary
    assert len(opened.run.main.steps) == 3 and boundary is not None and boundary.kind == kind


def test_where_only_lifetime_totals_are_reported_a_call_is_what_they_grew_by(tmp_path: Path) -> None:
    def total(tokens: int) -> dict[str, object]:
        return event("token_count", info={"total_token_usage": {"input_tokens": tokens, "output_tokens": 5}})

    opened = run_of(
        tmp_path, *OPEN, call("a", cmd="ls"), total(100), result("a", "x"), call("b", cmd="ls"), total(250),
        total(250), result("b", "x"), said("Ground."), total(430),
    )  # fmt: skip
    assert [step.usage and step.usage.prompt for step in opened.run.main.steps] == [None, 150, 180]


def test_a_fall_of_usage_that_nothing_records_is_unexplained(tmp_path: Path) -> None:
    opened = run_of(
        tmp_path, *OPEN, call("a", cmd="ls"), count(40_000, 40_000), result("a", "x"), said("Ground."),
        count(20_000, 60_000),
    )  # fmt: skip
    boundary = opened.run.main.steps[1].boundary
    assert boundary is not None and (boundary.kind, boundary.recorded) == ("unexplained", False)


def test_a_goal_of_the_thread_is_declared_and_may_change(tmp_path: Path) -> None:
    def told(text: str) -> dict[str, object]:
        return event("thread_goal_updated", threadId=IDENT, goal={"objective": text, "status": "active"})

    opened = run_of(
        tmp_path, *OPEN, told("Grind the corn."), said("a"), user("b"), told("Grind the wheat instead."), said("c")
    )
    assert opened.run.goal == "Grind the corn." and opened.run.goal_declared
    assert [step.goal for step in opened.run.main.steps] == ["last", "changed"]
    held = [(field.name, field.value) for field in opened.run.main.steps[1].fields]
    assert held == [("goal", "Grind the wheat instead.")]


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("# Context from my IDE setup:\n\n- mill.py\n\n## My request for Codex:\nGrind the corn.\n", "Grind the corn."),
        ("Grind <fast_corn> only", "Grind <fast_corn> only"),
    ],
)
def test_the_goal_is_the_persons_own_words(tmp_path: Path, text: str, goal: str) -> None:
    agents = user("# AGENTS.md instructions for /srv/mill\n\nBe kind.")
    around = [agents, user("<user_instructions>x</user_instructions>")]
    assert reader(write(tmp_path, meta(), *around, user(text), said("Yes."))).draft.goal == goal


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ("Wall time: 1 seconds\nProcess exited with code 0\nOutput:\nError: none", "ok"),
        ("Process exited with code 2\nOutput:\nmake: *** [all] Error 2", "error"),
        ('{"output":"no such file","metadata":{"exit_code":1,"duration_seconds":0.1}}', "error"),
        ('{"output":"fine","metadata":{"exit_code":0,"duration_seconds":0.1}}', "ok"),
        ({"content": "no", "success": False}, "error"),
        ({"type": "input_text", "text": "mill.py"}, "ok"),
        ([{"type": "input_text", "text": "Script completed\nOutput:\n"}, {"type": "input_text", "text":
         '{"exit_code":2,"output":"command failed"}'}], "error"),
        ("apply_patch verification failed: Failed to find expected lines in mill.py", "error"),
        ("exec_command failed for `grind`: CreateProcess { message: \"No such file\" }", "error"),
    ],
)  # fmt: skip
def test_the_outcome_of_a_call_is_read_as_the_agent_words_it(tmp_path: Path, output: object, outcome: str) -> None:
    draft = reader(write(tmp_path, *OPEN, call("a", cmd="make"), result("a", output))).draft
    assert draft.main.steps[0].calls[0].outcome == outcome


def test_a_script_of_one_call_is_that_call_and_its_plan_is_the_plan(tmp_path: Path) -> None:
    one = item("custom_tool_call", name="exec", call_id="a", input='const r = await tools.exec_command({"cmd": "ls"});')
    script = "await tools.update_plan({plan: [{step: \"Open (the) 'gate'\", status: \"completed\"}, " \
             "{step: 'Weigh', status: 'pending'}]}); await tools.exec_command({cmd: 'ls'});"  # fmt: skip
    two = item("custom_tool_call", name="exec", call_id="b", input=script)
    done = [item("custom_tool_call_output", call_id=each, output="Script completed") for each in "ab"]
    draft = reader(write(tmp_path, *OPEN, one, done[0], two, done[1])).draft
    first, second = (step.calls[0] for step in draft.main.steps)
    assert (first.tool, first.arguments) == ("exec_command", '{"cmd":"ls"}')
    assert second.tool == "exec"
    held = [(field.name, field.value, field.done) for field in draft.main.fields]
    assert held == [("plan[0]", "Open (the) 'gate'", True), ("plan[1]", "Weigh", False)]


def test_a_call_without_a_result_is_pending_until_its_turn_is_over(tmp_path: Path) -> None:
    path = write(tmp_path, *OPEN, call("a", cmd="sleep 9"))
    assert reader(path).draft.main.pending == 1
    path = write(tmp_path, *OPEN, call("a", cmd="sleep 9"), event("turn_aborted", reason="interrupted"))
    draft = reader(path).draft
    assert draft.main.pending == 0 and draft.main.steps[0].calls[0].outcome == "unknown"
    path = write(tmp_path, *OPEN, call("a", cmd="sleep 9"), event("turn_aborted"), result("a", "Exit code: 1\nkilled"))
    assert reader(path).draft.main.steps[0].calls[0].outcome == "error", "its result came late"


def test_what_the_provider_answers_itself_waits_for_nothing(tmp_path: Path) -> None:
    search = item("web_search_call", id="ws", status="completed", action={"type": "search", "query": "corn"})
    draft = reader(write(tmp_path, *OPEN, search, said("Found."))).draft
    assert draft.main.pending == 0 and len(draft.main.steps) == 1


def test_long_output_costs_what_the_policy_lets_through(tmp_path: Path) -> None:
    context = record("turn_context", {"model": "gpt-5.3-codex", "truncation_policy": {"mode": "tokens", "limit": 100}})
    draft = reader(write(tmp_path, *OPEN, context, call("a", cmd="cat"), result("a", "x" * 4_000), said("."))).draft
    assert draft.main.tape.tokens[draft.main.steps[0].results[0]] == 100
    assert draft.model == "gpt-5.3-codex"


@pytest.mark.parametrize("limit", [-1, True, "100", None, 10**400])
def test_a_limit_that_is_none_limits_nothing(tmp_path: Path, limit: object) -> None:
    context = record("turn_context", {"model": "m", "truncation_policy": {"mode": "tokens", "limit": limit}})
    draft = reader(write(tmp_path, *OPEN, context, call("a", cmd="cat"), result("a", "word " * 800), said("."))).draft
    assert draft.main.tape.tokens[draft.main.steps[0].results[0]] >= 800


def test_whole_texts_are_found_again_in_every_kind_of_record(tmp_path: Path) -> None:
    long = "word " * 100
    sealed = user(SUMMARY + long)
    opened = run_of(
        tmp_path, meta(base_instructions={"text": long}), user(long + "goal"), said(long + "a"),
        user(long + "b"), call("c", text=long), result("c", [{"type": "input_text", "text": long}]), said("."),
        compacted(SUMMARY + long, [user(long + "goal"), sealed]), said("d"), user(long + "e"), said("."),
        compacted(long + "old"), said("f"),
    )  # fmt: skip
    seen = {segment.id: segment for step in opened.run.main.steps for segment in (*step.prompt, *step.replies)}
    assert len(seen) > 12
    for segment in seen.values():
        text = opened.text(segment)
        assert text is not None and len(text) == segment.characters, segment.head


def test_records_of_2025_without_payload_are_read(tmp_path: Path) -> None:
    old = [{"id": IDENT, "timestamp": "2025-07-01T08:00:00Z", "instructions": "Be exact.", "git": None},
           {"record_type": "state"}, user("Grind.")["payload"], said("Ground.")["payload"]]  # fmt: skip
    draft = reader(write(tmp_path, *old)).draft
    assert [step.n for step in draft.main.steps] == [1] and draft.goal == "Grind." and not draft.problems
