"""mini-swe-agent: the linear history, commands in words and native, what was cut of an output, how a run ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentmem.formats.agents.mini_swe_agent import elided, peek, places, task_span
from agentmem.formats.draft import RunDraft
from tests.formats.agents.following import heads, opened, read
from tests.formats.agents.rewriting import dumped, maker


def held(tmp_path: Path, value: Any) -> RunDraft:
    path = tmp_path / "run.traj.json"
    path.write_bytes(dumped(value))
    return read(path).draft


@pytest.mark.parametrize(
    ("file", "steps", "attempts", "ended", "cycle"),
    [
        ("gen-v1-loop", 11, 10, "Submitted", (2, [2, 3, 4, 6, 7])),
        ("gen-v2-loop", 15, 15, "Submitted", (2, [3, 4, 5, 6, 7, 8, 9])),
        ("gen-v2-limits", 2, 2, "LimitsExceeded", None),
        ("gen-v2-loop-truncated", 7, 7, "Submitted", (2, [3, 4, 5, 6, 7])),
        ("v2-github_issue", 10, 10, "Submitted", None),
        ("v2-local", 2, 2, "Submitted", None),
    ],
)
def test_the_real_files_give_their_figures(
    real: Path, file: str, steps: int, attempts: int, ended: str, cycle: tuple[int, list[int]] | None
) -> None:
    path = real / "mini-swe-agent" / f"{file}.traj.json"
    run, draft = opened(path).run, read(path).draft
    assert (len(run.main.steps), sum(len(step.attempts) for step in run.main.steps)) == (steps, attempts)
    assert (run.status, draft.ended_as) == ("ended", ended)
    assert [(found.period, list(found.steps)) for found in run.cycles] == ([cycle] if cycle else [])
    assert all(drop.recorded for step in run.main.steps for drop in step.drops)


def test_the_half_of_a_real_file_gives_its_whole_records_and_says_so(real: Path) -> None:
    draft = read(real / "mini-swe-agent" / "gen-v2-loop-truncated.traj.json").draft
    assert draft.notice == "being written"
    assert [problem.what for problem in draft.problems] == ["half written or cut; 16 whole records read"]


def test_what_was_cut_of_a_real_output_is_known_to_the_character(real: Path) -> None:
    source = opened(real / "mini-swe-agent" / "gen-v2-loop.traj.json")
    (drop,) = [drop for step in source.run.main.steps for drop in step.drops]
    assert (drop.step, drop.last_step, drop.cause, drop.recorded) == (11, 10, "shortened", True)
    assert drop.segment is not None
    text = source.text(source.segment("main", drop.segment))
    whole = "".join(f"{number}\n" for number in range(1, 6001))
    assert text == whole[5000:-5000] and len(text) == 18_893


def test_commands_in_words_are_calls_and_the_next_text_is_their_result(tmp_path: Path) -> None:
    draft = held(tmp_path, maker("mini_swe_agent").v1())
    calls = [call for step in draft.main.steps for call in step.calls]
    assert len(draft.main.steps) == 14 and len(calls) == 13
    assert draft.main.steps[2].calls == [], "no block, no call"
    assert (calls[0].tool, calls[0].arguments) == ("bash", '{"command":"ls -la"}')
    outcomes = [call.outcome for call in calls]
    assert outcomes == ["ok", "ok", *["error", "ok"] * 3, "ok", "error", "ok", "ok", "ok"]


def test_both_versions_of_one_run_go_in_the_same_circle(tmp_path: Path) -> None:
    make = maker("mini_swe_agent")
    circles = []
    for value in (make.v1(), make.v2()):
        path = tmp_path / "run.traj.json"
        path.write_bytes(dumped(value))
        circles.append([(found.kind, found.period, found.count) for found in opened(path).run.cycles])
    assert circles == [[("cycle", 2, 3)], [("cycle", 2, 3)]]


def test_the_goal_is_what_stands_in_the_place_of_the_task(tmp_path: Path) -> None:
    make = maker("mini_swe_agent")
    draft = held(tmp_path, make.v2())
    assert draft.goal == make.TASK and not draft.goal_declared
    assert heads(draft.main, 1)[2] == make.TASK
    kinds = [draft.main.tape.segment(ident).kind for ident in draft.main.tape.ids(1)]
    assert kinds == ["system", "user", "goal", "user"]


@pytest.mark.parametrize(
    ("text", "template", "task"),
    [
        ("Solve: the thing\nNow.", "Solve: {{task}}\nNow.", "the thing"),
        ("Solve: the thing", "Solve: {{ task }}", "the thing"),
        ("<pr_description>\nthe thing\n</pr_description>\n", "{{other}}", "the thing"),
        ("Please solve this issue: the thing\n\nYou can execute bash commands and", "", "the thing"),
        ("the thing", "", "the thing"),
        ("the thing", "A {{task}} B", "the thing"),
    ],
)
def test_the_task_is_found_by_the_template_or_by_its_known_words(text: str, template: str, task: str) -> None:
    start, end = task_span(text, template)
    assert text[start:end] == task


@pytest.mark.parametrize("size", [10_000, 10_001, 10_777, 25_000])
def test_the_characters_that_were_cut_are_exactly_those_between_the_ends(size: int) -> None:
    raw = ("ab\n" * size)[:size]
    content = maker("mini_swe_agent").observation(0, raw)
    span = elided({"content": content, "extra": {"raw_output": raw}})
    assert span == (5000, size - 5000)


def test_a_cut_whose_raw_output_is_not_there_is_told_without_its_text(tmp_path: Path) -> None:
    path = tmp_path / "run.traj.json"
    path.write_bytes(dumped(maker("mini_swe_agent").v1()))
    (drop,) = [drop for step in opened(path).run.main.steps for drop in step.drops]
    assert (drop.name, drop.head, drop.tokens, drop.recorded) == ("output of bash, 11,167 characters", None, None, True)


def test_a_raw_output_that_does_not_fit_is_not_guessed_at() -> None:
    content = maker("mini_swe_agent").observation(0, "x" * 12_000)
    assert elided({"content": content, "extra": {"raw_output": "y" * 12_000}}) is None
    assert elided({"content": content, "extra": {"raw_output": None}}) is None


ENDINGS = ["LimitsExceeded", "TimeExceeded", "RepeatedFormatError", "ContextWindowExceededError"]


@pytest.mark.parametrize("status", ENDINGS)
def test_why_a_run_ended_is_said(tmp_path: Path, status: str) -> None:
    draft = held(tmp_path, maker("mini_swe_agent").v2(calls=4, status=status))
    assert (draft.finished, draft.ended_as, draft.notice) == (True, status, f"ended: {status}")
    assert len(draft.main.steps) == 4, "the last message is no model call"


def test_a_run_without_an_end_is_open(tmp_path: Path) -> None:
    draft = held(tmp_path, maker("mini_swe_agent").v2(calls=4))
    assert not draft.finished and draft.main.open and draft.main.pending == 0


def test_usage_is_that_of_the_raw_answer(tmp_path: Path) -> None:
    draft = held(tmp_path, maker("mini_swe_agent").v2())
    usage = [step.usage.prompt for step in draft.main.steps if step.usage and step.usage.prompt]
    assert len(usage) == 13 and usage == sorted(usage)
    assert draft.unknown == ("tool schemas",)


def test_the_responses_variant_is_read(tmp_path: Path) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command": "ls"}'}
    draft = held(tmp_path, {"info": {"mini_version": "2.4"}, "trajectory_format": "mini-swe-agent-1.1", "messages": [
        {"role": "system", "content": "s"}, {"role": "user", "content": "do it"},
        {"object": "response", "output": [{"type": "reasoning", "summary": [{"text": "hm"}]}, call],
         "extra": {"actions": [{"command": "ls"}]}},
        {"type": "function_call_output", "call_id": "c1", "output": "a b", "extra": {"returncode": 2}},
    ]})  # fmt: skip
    (step,) = draft.main.steps
    assert [(call.tool, call.outcome) for call in step.calls] == [("bash", "error")]
    kinds = [draft.main.tape.segment(ident).kind for ident in draft.main.tape.live]
    assert kinds == ["system", "goal", "thinking", "call", "error"]


def test_a_list_alone_is_known_by_its_blocks(tmp_path: Path) -> None:
    draft = held(tmp_path, [
        {"role": "system", "content": "s"}, {"role": "user", "content": "do it"},
        {"role": "assistant", "content": "now\n\n```mswea_bash_command\nls\n```"},
        {"role": "user", "content": "<returncode>1</returncode>\n<output>\n</output>"},
    ])  # fmt: skip
    assert (draft.format, [call.outcome for call in draft.main.steps[0].calls]) == ("mini-swe-agent", ["error"])


def test_a_role_that_nobody_knows_is_counted_and_kept(tmp_path: Path) -> None:
    value = maker("mini_swe_agent").v2(calls=2)
    value["messages"].insert(3, {"role": "oracle", "content": "beware"})
    draft = held(tmp_path, value)
    assert "beware" in " ".join(str(head) for head in heads(draft.main, 2))
    assert any("1 unknown: oracle x1" in problem.what for problem in draft.problems)


def test_a_row_of_the_list_needs_no_whole_file(tmp_path: Path, home: Path) -> None:
    make = maker("mini_swe_agent")
    path = tmp_path / "run.traj.json"
    path.write_bytes(dumped(make.v2()))
    info = peek(path)
    assert (info.goal, info.steps, info.status, info.model) == (make.TASK, 13, "ended", "gpt-5-mini")
    last = home / "config" / "mini-swe-agent" / "last_mini_run.traj.json"
    last.parent.mkdir(parents=True)
    last.write_bytes(dumped(make.v2()))
    assert list(places(Path("/home/mira/tides"))) == [last]
    assert list(places(tmp_path)) == [path]
