"""SWE-agent: prompts given whole, messages of the next step, histories; stubs in place of old results; attempts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentmem.formats.agents.swe_agent import peek
from agentmem.formats.agents.swe_agent.prompts import action_spans, tool_of
from agentmem.formats.draft import RunDraft
from agentmem.model import Run
from tests.conftest import ROOT
from tests.formats.agents.following import heads, opened, read
from tests.formats.agents.rewriting import dumped, maker


def held(tmp_path: Path, value: Any) -> tuple[RunDraft, Run]:
    path = tmp_path / "run.traj"
    path.write_bytes(dumped(value))
    return read(path).draft, opened(path).run


def test_the_real_file_with_messages_shows_what_the_processor_cut(real: Path) -> None:
    run = opened(real / "swe-agent" / "marshmallow-function_calling_replace_from_source.traj").run
    assert (len(run.main.steps), run.provenance, run.status) == (13, "reconstructed", "ended")
    drops = [(drop.step, drop.cause, drop.recorded) for step in run.main.steps for drop in step.drops]
    assert drops == [(step, "shortened", True) for step in range(7, 14)]
    assert run.goal is not None and run.goal.startswith("TimeDelta serialization precision")


def test_the_real_old_file_is_partial_and_finds_the_same_error_thrice(real: Path) -> None:
    run = opened(real / "swe-agent" / "pydicom-1458.traj").run
    assert (len(run.main.steps), run.provenance) == (12, "partial")
    assert "what a history processor cut" in run.unknown
    assert [(cycle.kind, cycle.steps) for cycle in run.cycles] == [("same-error", (6, 7, 8))]
    assert run.main.steps[-1].attempts[0].outcome == "ok", "its result stands in the trajectory"


def test_a_query_is_the_prompt_to_the_letter(tmp_path: Path) -> None:
    value = maker("swe_agent").run()
    path = tmp_path / "run.traj"
    path.write_bytes(dumped(value))
    source = opened(path)
    assert source.run.provenance == "exact"
    for step, given in zip(source.run.main.steps, value["trajectory"], strict=True):
        shown = "".join(source.text(segment) or "" for segment in step.prompt)
        sent = "".join(message["content"] for message in given["query"])
        assert "".join(shown.split()) == "".join(sent.split())


def test_old_results_become_stubs_and_the_file_says_so(tmp_path: Path) -> None:
    for shape in ("query", "messages"):
        _, run = held(tmp_path, maker("swe_agent").run(shape))
        drops = [(drop.step, drop.cause, drop.recorded) for step in run.main.steps for drop in step.drops]
        assert drops == [(5, "shortened", True), (6, "shortened", True), (7, "shortened", True), (8, "shortened", True)]


def test_something_that_left_a_query_without_a_stub_is_not_recorded(tmp_path: Path) -> None:
    value = maker("swe_agent").run()
    for step in value["trajectory"][4:]:
        del step["query"][2:4]
    _, run = held(tmp_path, value)
    unrecorded = [drop for drop in run.main.steps[4].drops if not drop.recorded]
    assert unrecorded, "an exact prompt shows it"


def test_the_open_step_of_a_run_that_goes_on_holds_the_last_answer_and_its_result(tmp_path: Path) -> None:
    value = maker("swe_agent").run(steps=3)
    value["info"].pop("exit_status", None)
    draft, run = held(tmp_path, value)
    assert run.main.steps[-1].open
    shown = heads(draft.main, 4)
    failed = "FAILED tests/test_chart.py::test_comma\n1 failed, 3 passed in 0.10s\n"
    assert shown[-2:] == ["python -m pytest -q", failed]


def test_attempts_are_lanes_beside_the_chosen_one(tmp_path: Path) -> None:
    make = maker("swe_agent")
    draft, run = held(tmp_path, make.retried())
    assert {lane.id: len(lane.steps) for lane in run.lanes} == {"main": 8, "attempt-1": 4}
    whole = make.retried()
    running = {"attempts": whole["attempts"], "info": {}}
    draft, run = held(tmp_path, running)
    assert {ident: len(lane.steps) for ident, lane in draft.lanes.items()} == {"main": 8, "attempt-1": 4}


@pytest.mark.parametrize("status", ["exit_cost", "exit_context", "submitted (exit_cost)"])
def test_why_a_run_ended_is_said(tmp_path: Path, status: str) -> None:
    draft, run = held(tmp_path, maker("swe_agent").run(steps=3, status=status))
    assert (run.status, draft.ended_as) == ("ended", status)
    assert draft.notice == (None if status.startswith("submitted") else f"ended: {status}")


def test_a_refused_edit_is_an_error(tmp_path: Path) -> None:
    for shape in ("query", "messages", "history"):
        draft, _ = held(tmp_path, maker("swe_agent").run(shape))
        assert [call.outcome for call in draft.main.steps[4].calls] == ["error"]
        assert all(call.answered for step in draft.main.steps for call in step.calls)


def test_a_native_call_of_a_history_keeps_its_arguments(tmp_path: Path) -> None:
    function = {"name": "str_replace_editor", "arguments": '{"command": "view", "path": "/a"}'}
    draft, _ = held(tmp_path, {"environment": "x", "trajectory": [{"action": "a", "observation": "b"}], "history": [
        {"role": "system", "content": "s"}, {"role": "user", "content": "do it"},
        {"role": "assistant", "content": "look", "action": "str_replace_editor view /a",
         "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
        {"role": "tool", "content": "a file", "tool_call_ids": ["c1"]},
    ], "info": {}})  # fmt: skip
    (call,) = draft.main.steps[0].calls
    assert (call.tool, call.arguments, call.outcome) == ("str_replace_editor", '{"command":"view","path":"/a"}', "ok")


def test_a_command_in_words_is_carved_out_with_its_fence() -> None:
    text = "I look.\n\n```\nls -F\n```\n"
    assert [(text[a:b], tool) for a, b, tool in action_spans(text, "ls -F\n")] == [
        ("I look.\n\n", None), ("```\nls -F\n```", "bash"),
    ]  # fmt: skip
    assert list(action_spans("no command", None)) == [(0, 10, None)]
    assert tool_of("open a.py 3")[0] == "open" and tool_of("pytest -q")[0] == "bash"


def test_a_row_of_the_list_is_made_of_both_ends(tmp_path: Path) -> None:
    make = maker("swe_agent")
    path = tmp_path / "run.traj"
    path.write_bytes(dumped(make.run()))
    info = peek(path)
    assert (info.goal, info.steps, info.status) == (make.ISSUE, 8, "ended")


@pytest.mark.parametrize("query", [[{}], [], None, "x"])
def test_a_step_that_no_prompt_is_told_of_loses_nothing(tmp_path: Path, query: object) -> None:
    value = json.loads((ROOT / "sample_runs" / "swe-agent" / "depth.traj").read_text())
    whole = len(value["trajectory"])
    value["trajectory"].append({"action": "", "thought": "Exit due to cost limit", "query": query})
    path = tmp_path / "a.traj"
    path.write_text(json.dumps(value))
    run = opened(path).run
    last = run.main.steps[-1]
    assert len(run.main.steps) == whole + 1 and (last.drops, last.boundary) == ((), None)
    assert len(last.prompt) > len(run.main.steps[-2].prompt)
    of_steps = [run.main.steps[0].prompt.provenance, last.prompt.provenance]
    assert (run.provenance, of_steps) == ("partial", ["exact", "partial"])
