"""The decisions on what exactly counts, one by one, each from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentmem.inspect.open import open_run
from tests.cases.written import (
    Message,
    call,
    drops,
    each,
    list_of,
    log,
    open_file,
    piece,
    request,
    result,
    said,
    save,
    system,
    turn,
    user,
    versions,
)

GOAL = "count the water meters of the district of Konak"


def test_step_a_list_has_one_step_a_model_call_with_its_results_behind_it(tmp_path: Path) -> None:
    run = list_of(tmp_path / "run.json", [system("s"), user(GOAL), *turn(1, "read", "12"), said("twelve")])
    first, second = each(run)
    assert [segment.kind for segment in first.prompt] == ["system", "goal"]
    assert [segment.kind for segment in first.results] == ["result"]
    assert [segment.kind for segment in second.prompt] == ["system", "goal", "call", "result"]


def test_step_several_calls_of_one_message_are_one_step(tmp_path: Path) -> None:
    both = call("a", "read", n=1)
    both["tool_calls"] += call("b", "read", n=2)["tool_calls"]
    run = list_of(tmp_path / "run.json", [user(GOAL), both, result("b", "two"), result("a", "one"), said("done")])
    (first, _) = each(run)
    assert [(attempt.call_id, attempt.result_head) for attempt in first.attempts] == [("a", "one"), ("b", "two")]


def test_step_all_items_of_one_response_are_one_step(tmp_path: Path) -> None:
    items: list[Message] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": GOAL}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "I read"}]},
        {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "read", "arguments": '{"n":2}'},
        {"type": "function_call_output", "call_id": "a", "output": "one"},
        {"type": "function_call_output", "call_id": "b", "output": "two"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
    ]
    run = list_of(tmp_path / "items.json", items)
    assert [len(step.attempts) for step in each(run)] == [2, 0]


def test_step_one_version_gives_all_steps_and_later_versions_are_merged_into_them(tmp_path: Path) -> None:
    whole = [user(GOAL), *turn(1, "read", "1"), *turn(2, "read", "2", n=2)]
    once = list_of(tmp_path / "once.json", whole)
    twice = versions(tmp_path / "twice.json", whole[:3], whole).run
    assert [step.tokens.prompt for step in once.main.steps] == [step.tokens.prompt for step in twice.main.steps]
    assert len(each(once)) == 2


def test_step_a_store_of_states_only_has_one_a_version_and_one_piece_a_field(tmp_path: Path) -> None:
    bodies = [{"step": n, "state": {"goal": GOAL, "count": n}} for n in (1, 2)]
    run = versions(tmp_path / "run.json", *bodies, bodies[1] | {"notes": "n"}).run
    assert run.synthetic and len(run.main.steps) == 3 and not any(step.open for step in run.main.steps)
    assert sorted(segment.head or "" for segment in run.main.steps[1].prompt) == ["count: 2", f"goal: {GOAL}"]


def test_number_the_files_own_number_is_shown_and_a_hole_is_a_gap(tmp_path: Path) -> None:
    def body(step: int, *texts: str) -> dict[str, Any]:
        return {"step": step, "messages": [user(GOAL), *[part for t in texts for part in (said(t), user(f"on {t}"))]]}

    run = versions(tmp_path / "run.json", body(40, "a"), body(41, "a", "b")).run
    assert [(step.n, step.own) for step in each(run)] == [(1, 40), (2, 41)]
    assert [(gap.after, gap.before, gap.missing) for gap in run.gaps] == [(0, 40, 39)]


def test_open_step_carries_the_next_number_and_what_stands_so_far(tmp_path: Path) -> None:
    run = list_of(tmp_path / "run.json", [user(GOAL), *turn(1, "read", "12")])
    last = run.main.steps[-1]
    assert (last.open, last.n, [segment.kind for segment in last.prompt]) == (True, 2, ["goal", "call", "result"])


@pytest.mark.parametrize(
    ("messages", "status", "open_"),
    [
        ([user(GOAL)], None, True),
        ([user(GOAL), said("done")], None, False),
        ([user(GOAL), call("c", "read")], None, True),
        ([user(GOAL), *turn(1, "read", "1")], "done", False),
    ],
)  # fmt: skip
def test_open_step_exists_until_the_run_says_it_is_over_or_the_model_has_the_last_word(
    tmp_path: Path, messages: list[Message], status: str | None, open_: bool
) -> None:
    body: dict[str, Any] = {"step": 1, "messages": messages}
    if status:
        body["status"] = status
    run = open_file(tmp_path / "run.json", body).run
    assert any(step.open for step in run.main.steps) is open_


def test_same_piece_one_lost_copy_of_two_is_no_drop(tmp_path: Path) -> None:
    twice = [user(GOAL), user("the port is 8841"), said("ok"), user("the port is 8841"), said("ok again")]
    run = versions(tmp_path / "run.json", twice, [twice[0], *twice[2:], user("next"), said("end")]).run
    assert drops(run) == []


def test_opened_late_calls_before_the_first_version_are_rebuilt(tmp_path: Path) -> None:
    run = list_of(tmp_path / "run.json", [user(GOAL), *turn(1, "read", "1"), *turn(2, "read", "2", n=2)])
    assert run.provenance == "reconstructed"
    assert {step.prompt.provenance for step in run.main.steps} == {"reconstructed"}


def test_state_in_the_prompt_is_a_span_of_its_kind_and_is_counted_once(tmp_path: Path) -> None:
    text = "You work for the city. port: 8841 is the door. Be brief."
    body = {"step": 1, "messages": [system(text), user("go"), said("a")], "state": {"goal": GOAL, "facts":
            {"port": "8841", "host": "db-main"}}}  # fmt: skip
    step = open_file(tmp_path / "run.json", body).run.main.steps[0]
    by_name = {field.name: field for field in step.fields}
    assert by_name["facts.port"].segment is not None and by_name["facts.host"].segment is None
    carried = piece(step, "fact")
    assert carried.id == by_name["facts.port"].segment and carried.head == "port: 8841"
    assert step.tokens.prompt == sum(segment.tokens or 0 for segment in step.prompt)


@pytest.mark.parametrize(("value", "text", "held"), [
    ("8841", "port 8841!", True), ("8841", "port 88410", False), ("abc", "abc", False), ("12", "port: 12", True),
])  # fmt: skip
def test_state_in_the_prompt_needs_the_rendered_line_or_four_characters_as_whole_words(
    tmp_path: Path, value: str, text: str, held: bool
) -> None:
    body = {"step": 1, "messages": [user(text), said("a")], "state": {"goal": GOAL, "port": value}}
    step = open_file(tmp_path / "run.json", body).run.main.steps[0]
    (field,) = [field for field in step.fields if field.name == "port"]
    assert (field.segment is not None) is held


def test_field_names_are_one_level_and_deeper_values_are_canonical_json(tmp_path: Path) -> None:
    held = {"goal": GOAL, "facts": {"port": 8841, "deep": {"b": 1, "a": [2]}}, "plan": ["x"], "empty": None,
            "todo": [{"title": "y", "done": True}]}  # fmt: skip
    step = open_file(tmp_path / "run.json", {"step": 1, "messages": [user("a"), said("b")], "state": held}).run.main
    fields = {field.name: (field.value, field.done) for field in step.steps[0].fields}
    assert fields["facts.port"] == ("8841", None)
    assert fields["facts.deep"] == ('{"a":[2],"b":1}', None)
    assert fields["plan[0]"][0] == "x" and fields["todo[0]"] == ("y", True)


def test_tokens_state_trace_and_fixed_sum_to_the_prompt(tmp_path: Path) -> None:
    lines = [request([system("s" * 40), user("Progress so far: half."), user(GOAL)], said("ok"), tools=[{"name": "t"}])]
    (step,) = each(open_run(str(log(tmp_path / "calls.jsonl", lines))).run)
    assert step.tokens.state and step.tokens.fixed
    assert step.tokens.prompt == step.tokens.state + (step.tokens.trace or 0) + step.tokens.fixed


PREAMBLES = (
    "This session is being continued from a previous conversation that ran out of context.",
    "Another language model started to solve this problem and produced a summary.",
    "<state_snapshot><overall_goal>x</overall_goal></state_snapshot>",
    "Context summary: x", "Progress so far: x",
)  # fmt: skip


@pytest.mark.parametrize("preamble", PREAMBLES)
def test_goal_is_the_first_user_text_that_is_no_compaction_preamble(tmp_path: Path, preamble: str) -> None:
    run = list_of(tmp_path / "run.json", [system("s"), user(preamble), user(GOAL), said("ok")])
    assert (run.goal, run.goal_declared) == (GOAL, False)
    assert [segment.kind for segment in run.main.steps[0].prompt] == ["system", "summary", "goal"]


@pytest.mark.parametrize("preamble", PREAMBLES)
def test_a_preamble_in_place_of_older_messages_is_a_recorded_compaction(tmp_path: Path, preamble: str) -> None:
    whole = [user(GOAL), *[part for n in range(6) for part in turn(n, "read", f"row {n}", n=n)]]
    run = versions(tmp_path / "run.json", whole, [whole[0], user(preamble), *whole[-2:], *turn(9, "end", "e")]).run
    edges = [step.boundary for step in run.main.steps if step.boundary is not None]
    assert [(edge.kind, edge.recorded) for edge in edges] == [("compaction", True)]
    assert all(drop.recorded and drop.cause == "compacted" for drop in drops(run))


def test_a_compaction_block_is_a_recorded_compaction_and_an_empty_one_is_opaque(tmp_path: Path) -> None:
    whole = [user(GOAL), *[part for n in range(6) for part in turn(n, "read", f"row {n}", n=n)]]
    for name, content in (("told", "Rows 0 to 3 were read."), ("sealed", None)):
        block = {"role": "assistant", "content": [{"type": "compaction", "content": content}]}
        lines = [
            request(whole, said("a"), {"prompt_tokens": 900}),
            request([block, user("go on")], said("b"), {"prompt_tokens": 200}),
        ]
        run = open_run(str(log(tmp_path / f"{name}.jsonl", lines))).run
        edge = each(run)[1].boundary
        assert edge is not None and (edge.kind, edge.recorded, edge.opaque) == ("compaction", True, content is None)
        assert (edge.before, edge.after) == (900, 200)
        assert each(run)[1].goal == "missing"


def test_goal_only_a_declared_one_can_change(tmp_path: Path) -> None:
    def body(step: int, goal: str) -> dict[str, Any]:
        return {"step": step, "goal": goal, "messages": [user(f"Your goal: {goal}"), *turn(1, "a", "b"),
                                                         *(turn(2, "a", "c") if step > 1 else [])]}  # fmt: skip

    run = versions(tmp_path / "declared.json", body(1, GOAL), body(2, "paint the fence green")).run
    assert run.goal_declared and [step.goal for step in each(run)][-1] == "changed"
    guessed = versions(
        tmp_path / "guessed.json", [user(GOAL), said("a")], [user("paint the fence"), said("a"), user("b"), said("c")]
    ).run
    assert "changed" not in {step.goal for step in guessed.main.steps}


def test_provenance_a_captured_request_is_exact(tmp_path: Path) -> None:
    run = open_run(str(log(tmp_path / "calls.jsonl", [request([system("s"), user(GOAL)], said("a"))]))).run
    assert run.provenance == "exact" and each(run)[0].prompt.provenance == "exact"


def test_recorded_a_stub_in_its_place_is_a_record(tmp_path: Path) -> None:
    whole = [user(GOAL), *turn(1, "read", "row " * 400), said("seen"), user("on"), said("fine")]
    stub = [whole[0], whole[1], result("c1", "row row …[trimmed, re-run the tool if needed]"), *whole[3:], user("more"),
            said("end")]  # fmt: skip
    (drop,) = drops(versions(tmp_path / "run.json", whole, stub).run)
    assert (drop.cause, drop.recorded, drop.kind) == ("shortened", True, "result") and drop.stub is not None


def test_recorded_a_removal_without_a_word_is_not(tmp_path: Path) -> None:
    whole = [user(GOAL), *turn(1, "read", "row 1"), user("keep 8841 in mind"), said("seen"), user("on"), said("fine")]
    (drop,) = drops(versions(tmp_path / "run.json", whole, [*whole[:3], *whole[4:], user("more"), said("end")]).run)
    assert (drop.kind, drop.recorded, drop.cause, drop.head) == ("user", False, "silent", "keep 8841 in mind")


def test_an_unrecorded_sliding_window_over_messages_is_one_row_a_step(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    messages: list[Message] = []
    source = None
    for number in range(1, 21):
        messages = [*messages, *turn(number, "read", f"row {number}", n=number)]
        body = {"step": number, "messages": [system("s"), user(GOAL), *messages[-8:]]}
        if source is None:
            source = open_file(path, body)
        else:
            save(path, body)
            source.refresh()
    assert source is not None
    rows = [list(step.drops) for step in source.run.main.steps]
    assert all(len(row) <= 1 for row in rows) and sum(map(len, rows)) >= 14
    assert all(drop.cause == "trimmed" and not drop.recorded and not drop.alarming for row in rows for drop in row)


def needing(path: Path, *calls: tuple[str, dict[str, Any], str]) -> list[tuple[str, list[int]]]:
    """(name, steps that missed it) of the drops of a run in which `abone` is lost at step 2."""
    bodies = []
    messages: list[Message] = [user("read the meters")]
    for number, (tool, arguments, answer) in enumerate(calls, 1):
        messages = [*messages, *turn(number, tool, answer, **arguments)]
        facts = {"abone": "TR-5512", "city": "Izmir"} if number == 1 else {"city": "Izmir"}
        state = {"goal": GOAL, "facts": facts}
        bodies.append({"step": number, "messages": [messages[0], *messages[-2:]], "state": state})
    run = versions(path, *bodies).run
    return [(d.name, [miss.step for miss in d.missed_by]) for d in drops(run) if d.what == "field"]


def test_failure_is_tied_to_a_drop_if_the_call_had_the_argument_lacks_it_and_errs(tmp_path: Path) -> None:
    lost = needing(
        tmp_path / "run.json", ("oku", {"abone": "TR-5512"}, "ok"), ("bekle_x", {"a": 1}, "ok"),
        ("oku", {"abone": None}, '{"error": "argument missing"}'), ("oku", {}, '{"error": "argument missing"}'),
    )  # fmt: skip
    assert lost == [("facts.abone", [3])]


def test_failure_lacking_alone_never_counts(tmp_path: Path) -> None:
    lost = needing(
        tmp_path / "run.json", ("oku", {"abone": "TR-5512"}, "ok"), ("x", {"a": 1}, "ok"), ("oku", {"abone": ""}, "ok"),
    )  # fmt: skip
    assert lost == [("facts.abone", [])]


@pytest.mark.parametrize(
    ("error", "tied"),
    [
        ("Error: abone is required", True), ("Error: no subscriber TR-5512", True), ("Error: abonelik missing", False),
        ("Error: something broke", False),
    ],
)  # fmt: skip
def test_failure_is_tied_if_the_error_names_the_field_or_its_value_as_a_whole_word(
    tmp_path: Path, error: str, tied: bool
) -> None:
    lost = needing(tmp_path / "run.json", ("a", {"q": 1}, "ok"), ("b", {"q": 2}, "ok"), ("c", {"q": 3}, error))
    assert lost == [("facts.abone", [3] if tied else [])]


@pytest.mark.parametrize("name", ["id", "name", "path", "file", "type", "step"])
def test_failure_names_that_stand_in_every_error_tie_nothing(tmp_path: Path, name: str) -> None:
    bodies = [
        {"step": n, "messages": [user("go"), *turn(n, "t", "ok" if n < 3 else f"Error: {name} is bad", q=n)],
         "state": {"goal": GOAL, "facts": {name: "k7"} if n == 1 else {}}}
        for n in (1, 2, 3)
    ]  # fmt: skip
    assert all(not drop.missed_by for drop in drops(versions(tmp_path / "run.json", *bodies).run))


def test_windows_come_from_the_file_else_from_the_model_else_from_the_person_else_unknown(tmp_path: Path) -> None:
    body: dict[str, Any] = {"step": 1, "messages": [user(GOAL), said("a")]}
    plain = save(tmp_path / "plain.json", body)
    assert (open_run(str(plain)).run.window, open_run(str(plain)).run.window_source) == (None, "unknown")
    given = open_run(str(plain), window=5000).run
    assert (given.window, given.window_source) == (5000, "given")
    declared = open_run(str(save(tmp_path / "d.json", body | {"window": 9000})), window=5000).run
    assert (declared.window, declared.window_source) == (9000, "declared")
    known = open_run(str(save(tmp_path / "m.json", body | {"model": "gpt-4o"})), window=5000).run
    assert (known.window, known.window_source) == (128_000, "model")
