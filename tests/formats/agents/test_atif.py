"""ATIF: steps with their results, compactions told and untold, continuations, subagents, a job's folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from agentmem.formats import formats
from agentmem.formats.agents.atif import peek, places, runs
from agentmem.formats.draft import RunDraft
from agentmem.inspect.open import SeveralRuns, open_run
from tests.conftest import ROOT
from tests.formats.agents.following import heads, opened, read
from tests.formats.agents.rewriting import dumped, maker

JOB = ROOT / "sample_runs" / "harbor-job"


def held(tmp_path: Path, steps: list[Any], **more: Any) -> RunDraft:
    agent = {"name": "vibe", "version": "1", "model_name": "m"}
    path = tmp_path / "trajectory.json"
    path.write_bytes(dumped({"schema_version": "ATIF-v1.7", "session_id": "s", "agent": agent, "steps": steps, **more}))
    return read(path).draft


def said(number: int, text: str, **more: Any) -> dict[str, Any]:
    return {"step_id": number, "source": "agent", "message": text, **more}


def asked(number: int, text: str, source: str = "user", **more: Any) -> dict[str, Any]:
    return {"step_id": number, "source": source, "message": text, **more}


def test_a_recorded_compaction_keeps_the_first_request_and_hands_over(tmp_path: Path) -> None:
    make = maker("atif")
    draft = read(JOB / "berths__a1" / "agent" / "trajectory.json").draft
    assert draft.goal == make.TASK
    assert [step.own for step in draft.main.steps] == [2, 3, 4, 5, 6, 7, 10, 11, 12]
    (cut,) = [step for step in draft.main.steps if step.boundary is not None]
    assert cut.boundary is not None and (cut.own, cut.boundary.kind, cut.boundary.recorded) == (10, "compaction", True)
    after = heads(draft.main, cut.n)
    assert after[1] == make.TASK and str(after[3]).startswith("You are picking up work")
    assert str(after[-1]).startswith("Here are the answers")


def test_the_drops_of_a_recorded_compaction_are_recorded_and_the_goal_stands() -> None:
    run = opened(JOB / "berths__a1" / "agent" / "trajectory.json").run
    drops = [drop for step in run.main.steps for drop in step.drops]
    assert drops and all(drop.recorded and drop.cause == "compacted" for drop in drops)
    assert {step.goal for step in run.main.steps} == {"present"}
    assert [(cycle.period, cycle.count) for cycle in run.cycles] == [(1, 3)]


def test_a_subagent_is_a_lane_that_the_compaction_spawned() -> None:
    draft = read(JOB / "berths__a1" / "agent" / "trajectory.json").draft
    lane = draft.lanes["berths-summarization-1-questions"]
    assert (lane.kind, lane.spawned_by, len(lane.steps)) == ("subagent", ("main", 6), 1)


def test_a_run_goes_on_in_its_second_file(tmp_path: Path) -> None:
    draft = read(JOB / "berths__b2" / "agent" / "trajectory.json").draft
    assert len(draft.main.steps) == 9 and not draft.problems
    cut = draft.main.steps[6]
    assert cut.boundary is not None and cut.boundary.why == "continued in trajectory.cont-1.json"
    assert all(step.own is None for step in draft.main.steps), "the numbers begin again, so that n is shown"
    source = opened(JOB / "berths__b2" / "agent" / "trajectory.json")
    assert all(drop.recorded for step in source.run.main.steps for drop in step.drops)


def test_a_continuation_that_comes_later_is_taken_in(tmp_path: Path) -> None:
    folder = tmp_path / "agent"
    shutil.copytree(JOB / "berths__b2" / "agent", folder)
    second = (folder / "trajectory.cont-1.json").read_bytes()
    (folder / "trajectory.cont-1.json").unlink()
    reader = read(folder / "trajectory.json")
    assert len(reader.draft.main.steps) == 6 and "no such file" in reader.draft.problems[0].what
    value = json.loads(second)
    for count in range(3, len(value["steps"]) + 1):
        (folder / "trajectory.cont-1.json").write_bytes(dumped({**value, "steps": value["steps"][:count]}))
        assert reader.refresh()
        assert len(reader.draft.main.steps) == 6 + count - 2 and not reader.draft.problems
    assert not reader.refresh()


@pytest.mark.parametrize("name", ["../secret.json", "/etc/passwd", "a/b.json", ""])
def test_a_continuation_never_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.json").write_text('{"steps": [{"source": "agent", "message": "secret"}]}')
    inner = tmp_path / "agent"
    inner.mkdir()
    draft = held(inner, [asked(1, "go"), said(2, "yes")], continued_trajectory_ref=name)
    assert len(draft.main.steps) == 1
    assert bool(draft.problems) == bool(name)


def test_a_continuation_that_names_itself_ends(tmp_path: Path) -> None:
    draft = held(tmp_path, [asked(1, "go"), said(2, "yes")], continued_trajectory_ref="trajectory.json")
    assert len(draft.main.steps) == 2


def test_a_summary_that_a_converter_left_is_a_compaction(tmp_path: Path) -> None:
    told = "This session is being continued from a previous conversation that ran out of context. We read a.py."
    steps = [asked(1, "you are x", "system"), asked(2, "fix a.py"), said(3, "reading"), asked(4, told), said(5, "on")]
    draft = held(tmp_path, steps)
    assert heads(draft.main, 2) == ["you are x", told]
    boundary = draft.main.steps[1].boundary
    assert boundary is not None and (boundary.kind, boundary.recorded) == ("compaction", True)


def test_usage_of_several_calls_in_one_step_is_no_size_of_a_prompt(tmp_path: Path) -> None:
    metrics = {"prompt_tokens": 900, "cached_tokens": 300, "completion_tokens": 5, "cost_usd": 0.5}
    draft = held(tmp_path, [
        asked(1, "go"), said(2, "one", metrics=metrics), said(3, "more", metrics=metrics, llm_call_count=3),
        said(4, "by rule", llm_call_count=0),
    ])  # fmt: skip
    usage = [step.usage for step in draft.main.steps]
    assert [one and (one.prompt, one.cached, one.output, one.cost) for one in usage] == [
        (900, 300, 5, 0.5), (None, 300, 5, 0.5),
    ]  # fmt: skip


def test_results_are_tied_to_their_calls_and_a_shared_one_to_the_first(tmp_path: Path) -> None:
    calls = [{"tool_call_id": f"c{n}", "function_name": "run", "arguments": {"n": n}} for n in (1, 2)]
    one = [{"type": "text", "text": "one"}]
    own = [{"source_call_id": "c2", "content": "Error: two"}, {"source_call_id": "c1", "content": one}]
    draft = held(tmp_path, [
        asked(1, "go"), said(2, "", tool_calls=calls, observation={"results": own}),
        said(3, "", tool_calls=calls, observation={"results": [{"content": "both"}]}), said(4, "", tool_calls=calls),
    ])  # fmt: skip
    first, second, third = draft.main.steps
    assert [(call.outcome, call.result) for call in first.calls] == [("ok", "one"), ("error", "Error: two")]
    assert [call.answered for call in second.calls] == [True, True] and second.calls[0].result == "both"
    assert draft.main.pending == 2 and third.calls


def test_embedded_subagents_tools_and_reasoning(tmp_path: Path) -> None:
    child = {"trajectory_id": "t-2", "steps": [asked(1, "look for x"), said(2, "found x")]}
    calls = [{"tool_call_id": "c", "function_name": "task", "arguments": {}}]
    result = {"source_call_id": "c", "content": "found x", "subagent_trajectory_ref": [{"trajectory_id": "t-2"}]}
    call = said(2, "ask", reasoning_content="hm", tool_calls=calls, observation={"results": [result]})
    draft = held(tmp_path, [asked(1, "go"), call, said(3, "done")], subagent_trajectories=[child])
    assert {ident: len(lane.steps) for ident, lane in draft.lanes.items()} == {"main": 2, "t-2": 1}
    assert draft.lanes["t-2"].spawned_by == ("main", 1)
    assert "hm" not in heads(draft.main, 2), "what was thought is not sent again"
    assert draft.unknown == ("system prompt", "tool schemas")


def test_tool_definitions_stand_in_every_prompt(tmp_path: Path) -> None:
    path = tmp_path / "trajectory.json"
    agent = {"name": "terminus-2", "version": "1", "tool_definitions": [{"name": "run", "description": "d" * 200}]}
    steps = [asked(1, "go"), {"message": "yes", "metrics": {}, "model_name": "m"}]
    path.write_bytes(dumped({"schema_version": "1.5", "agent": agent, "steps": steps}))
    source = opened(path)
    assert source.run.unknown == ("system prompt",)
    tools = source.run.main.steps[0].prompt[0]
    assert tools.kind == "tools" and "d" * 200 in (source.text(tools) or "")


def test_steps_that_are_missing_are_a_gap(tmp_path: Path) -> None:
    draft = held(tmp_path, [asked(1, "go"), said(2, "a"), said(6, "b")])
    assert [step.gap for step in draft.main.steps] == [0, 3]


def test_a_jobs_folder_lists_its_trials(tmp_path: Path) -> None:
    with pytest.raises(SeveralRuns):
        open_run(str(JOB))
    assert {info.id for info in runs(JOB)} == {"berths__a1", "berths__b2"}
    assert open_run(str(JOB), "berths__a1").run.status == "ended"
    assert peek(JOB / "berths__a1" / "agent" / "trajectory.json").goal == maker("atif").TASK
    shutil.copytree(JOB, tmp_path / "jobs" / "today")
    assert len(list(places(tmp_path))) == 2


def test_an_exception_that_ended_a_trial_is_said(tmp_path: Path) -> None:
    shutil.copytree(JOB / "berths__b2", tmp_path / "one")
    path = tmp_path / "one" / "agent" / "trajectory.json"
    reader = read(path)
    assert not reader.draft.finished
    result = {"finished_at": "2026-04-02T09:00:00", "exception_info": {"exception_type": "AgentTimeoutError"}}
    (tmp_path / "one" / "result.json").write_text(json.dumps(result))
    assert path.parent.parent in set(reader.watched())
    reader.refresh()
    assert (reader.draft.ended_as, reader.draft.notice) == ("AgentTimeoutError", "ended: AgentTimeoutError")


def test_it_is_asked_before_the_plain_shapes() -> None:
    names = [known.name for known in formats()]
    assert names.index("atif") < names.index("messages")


def test_subagents_that_begin_one_another_are_followed_so_far_and_no_further(tmp_path: Path) -> None:
    def agent(number: int) -> dict[str, Any]:
        result = {"content": "r", "subagent_trajectory_ref": [{"trajectory_id": f"t{number + 1}"}]}
        steps = [asked(1, "go"), said(2, "so", observation={"results": [result]})]
        return {"trajectory_id": f"t{number}", "agent": {"name": "x"}, "steps": steps}

    draft = held(tmp_path, agent(-1)["steps"], subagent_trajectories=[agent(number) for number in range(400)])
    assert len(draft.main.steps) == 1 and len(draft.lanes) == 17
    assert [problem.what for problem in draft.problems] == ["a subagent below 16 others, not followed"]


def test_a_hole_in_numbers_that_are_not_the_steps_own_is_none_before_the_first(tmp_path: Path) -> None:
    held(tmp_path, [asked(-1, "go"), said(4, "so"), said(7, "then")])
    gaps = opened(tmp_path / "trajectory.json").run.gaps
    assert [(gap.after, gap.before, gap.missing) for gap in gaps] == [(1, 2, 2)]
