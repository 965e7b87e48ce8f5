"""Loops, and detectors that are wrong: rows of the cases, each from a file."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from agentmem.inspect.telling.verdict import verdict
from agentmem.model import Run
from tests.cases.written import Message, call, each, list_of, log, open_file, request, result, said, turn, user


def calls(path: Path, *made: tuple[str, str, str]) -> Run:
    """A run of calls: (tool, argument, result), each a step."""
    messages: list[Message] = [user("find the order id of the customer in Izmir")]
    for number, (tool, argument, answer) in enumerate(made, 1):
        messages += turn(number, tool, answer, q=argument)
    return list_of(path, messages)


LOOKUP, SEARCH = ("lookup", "izmir", "no rows"), ("search", "izmir", "0 hits")


def test_a_ping_pong_of_two_calls_is_a_cycle_of_period_2_at_call_5_that_names_both(tmp_path: Path) -> None:
    run = calls(tmp_path / "run.json", *(LOOKUP, SEARCH) * 3)
    (cycle,) = run.cycles
    assert (cycle.kind, cycle.period, cycle.warned_at) == ("cycle", 2, 5)
    assert sorted(cycle.tools) == ["lookup", "search"] and cycle.steps == (1, 2, 3, 4, 5, 6)
    assert "lookup" in verdict(run).text and "search" in verdict(run).text


def test_polling_a_long_process_is_waiting_however_often_and_never_a_loop(tmp_path: Path) -> None:
    messages: list[Message] = [user("build the image")]
    for number in range(1, 9):
        messages += turn(number, "bash", "still running", command="")
    messages += turn(9, "bash", "exit code: 0", command="")
    run = list_of(tmp_path / "run.json", messages)
    assert run.cycles == ()
    (wait,) = run.waiting
    assert (wait.tool, wait.count) == ("bash", 9) and wait.steps[:8] == (1, 2, 3, 4, 5, 6, 7, 8)


def test_forty_identical_polls_are_waiting_with_what_the_repetition_cost(tmp_path: Path) -> None:
    messages: list[Message] = [user("watch the job")]
    lines = []
    usage = {"input_tokens": 12, "cache_read_input_tokens": 187_000, "cache_creation_input_tokens": 0,
             "output_tokens": 9}  # fmt: skip
    for number in range(1, 41):
        ask = call(f"c{number}", "process", action="log", id="X")
        lines.append(request(messages, ask, usage))
        messages = [*messages, ask, result(f"c{number}", "no new output")]
    lines.append(request(messages, said("it hangs"), usage))
    run = open_file(log(tmp_path / "calls.jsonl", lines)).run
    assert run.cycles == ()
    (wait,) = run.waiting
    assert wait.count == 40
    assert wait.tokens == 40 * 187_012


VETOES = [
    "blocked by guard: this call was repeated too often", "[BLOCKED] repeated call", '{"error": "blocked by guard"}',
    '{"status": "denied", "reason": "repeated"}', "Error: tool call was rejected by the user",
    "Loop guard: try another way",
    "Permission to use search has been denied.", "The user doesn't want to proceed with this tool use.",
]  # fmt: skip


@pytest.mark.parametrize("answer", VETOES)
def test_a_guard_that_vetoes_one_of_a_pair_is_no_progress_and_makes_no_second_finding(
    tmp_path: Path, answer: str
) -> None:
    veto = ("search", "izmir", answer)
    run = calls(tmp_path / "run.json", *(LOOKUP, SEARCH) * 8, veto, *[LOOKUP] * 8)
    assert each(run)[16].attempts[0].outcome == "denied"
    (cycle,) = run.cycles
    assert (cycle.period, cycle.ended_at) == (2, None)
    assert cycle.steps[0] == 1 and cycle.steps[-1] == 25


def test_a_result_that_differs_by_the_clock_only_is_the_same_result(tmp_path: Path) -> None:
    made = [("status", "job", f"checked at 2026-03-01 12:00:0{n}, took 1.{n}s: queue empty") for n in range(6)]
    run = calls(tmp_path / "run.json", *made)
    (cycle,) = run.cycles
    assert (cycle.kind, cycle.warned_at) == ("repeat", 3)


def test_a_result_that_differs_by_its_progress_is_another_result(tmp_path: Path) -> None:
    run = calls(tmp_path / "run.json", *[("status", "job", f"{n}0%") for n in range(1, 7)])
    assert run.cycles == ()


def test_a_result_that_differs_by_process_id_and_uuid_only_is_the_same_result(tmp_path: Path) -> None:
    made = [("start", "x", f"pid {n}00: session 0a1b2c3{n}-1111-2222-3333-444455556666 refused") for n in range(4)]
    run = calls(tmp_path / "run.json", *made)
    assert [cycle.kind for cycle in run.cycles] == ["repeat"]


def test_pictures_that_differ_are_progress(tmp_path: Path) -> None:
    messages: list[Message] = [user("wait for the page to load")]
    for number in range(1, 6):
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + chr(64 + number) * 4000}}
        messages += [call(f"c{number}", "render", page="x"), {**result(f"c{number}", ""), "content": [picture]}]
    assert list_of(tmp_path / "run.json", messages).cycles == ()


def test_compactions_that_free_nothing_each_show_what_they_freed(tmp_path: Path) -> None:
    sizes = [98_000, 97_600, 98_100, 97_700]
    lines = []
    for number, size in enumerate(sizes):
        summary = "Progress so far: " + "step done, " * 2**number
        lines.append(request([user("sort the archive"), user(summary)], said(f"a{number}"), {"prompt_tokens": size}))
    run = open_file(log(tmp_path / "calls.jsonl", lines)).run
    edges = [(step.boundary.kind, step.boundary.before, step.boundary.after) for step in each(run) if step.boundary]
    assert edges == [("compaction", a, b) for a, b in pairwise(sizes)]


def test_a_store_without_results_cannot_tell_loops_and_says_so(tmp_path: Path) -> None:
    messages: list[Message] = [user("look")]
    for number in range(1, 7):
        messages.append(call(f"c{number}", "read", path="a"))
    run = list_of(tmp_path / "run.json", messages)
    assert run.cycles == ()
    assert all(attempt.outcome == "unknown" for step in each(run) for attempt in step.attempts)


@pytest.mark.parametrize(
    "answer", ["bash: /etc/x: Permission denied", "Error: blocked port 8841", "requests: 3 denied, 4 allowed", "error"]
)
def test_an_error_of_the_world_is_no_veto(tmp_path: Path, answer: str) -> None:
    (step, *_) = each(calls(tmp_path / "run.json", ("search", "izmir", answer)))
    assert step.attempts[0].outcome != "denied"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("12 passed, 0 failed", "ok"), ("Found 0 errors in 3 files", "ok"), ("2 failed, 10 passed", "error"),
        ("exit code: 1", "error"), ("exit code: 0", "ok"), ('{"exit_code": 2, "stdout": ""}', "error"),
        ("read 3 errors.log files", "ok"), ("FAILED tests/a.py::b", "error"), ("", "ok"),
    ],
)  # fmt: skip
def test_an_outcome_is_told_by_what_the_result_says(tmp_path: Path, answer: str, outcome: str) -> None:
    (step, *_) = each(calls(tmp_path / "run.json", ("bash", "x", answer)))
    assert step.attempts[0].outcome == outcome
