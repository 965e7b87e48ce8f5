"""The contract of the headless twin, key by key, on files that a stranger wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentmem.cli import main
from tests.cases.written import Message, log, request, result, said, save, system, turn, user

GOAL = "repair the export of the billing service"
Document = Callable[..., dict[str, Any]]


@pytest.fixture
def document(capfd: pytest.CaptureFixture[str]) -> Document:
    def one(*arguments: object) -> dict[str, Any]:
        capfd.readouterr()
        code = main([str(argument) for argument in arguments] + ["--json", "--no-history"])
        out, err = capfd.readouterr()
        assert (code, err) == (0, "") and out.count("\n") == 1
        loaded: dict[str, Any] = json.loads(out)
        assert loaded["schema"] == f"agentmem.{NAMES.get(str(arguments[0]), arguments[0])}/1"
        return loaded

    return one


NAMES = {"show": "run"}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A request log: a fact told, compacted away with most of the list, missed; two calls in a circle at the end."""
    messages: list[Message] = [system("You repair services."), user(GOAL), user("The port is 8841, case INC_4471.")]
    lines = []

    def go(number: int, tool: str, answer: str, size: int, **arguments: Any) -> None:
        nonlocal messages
        made = turn(number, tool, answer, **arguments)
        lines.append({"ts": f"2026-03-01T10:{number:02}:00Z", **request(messages, made[0], {"prompt_tokens": size})})
        messages = [*messages, *made]

    for number in range(1, 6):
        go(number, "read", f"row {number} of src/app/main.py", 1000 + number, file=f"src/app/m{number}.py")
    messages = [messages[0], user("Progress so far: files were read, the port is 8814."), *messages[-2:]]
    go(6, "connect", "Error: port 8841 is required", 300)
    for number in range(7, 13):
        go(number, ("look", "seek")[number % 2], "nothing", 300 + number, q="x")
    return log(tmp_path / "calls.jsonl", lines)


def test_show_has_every_key_of_the_run_and_of_a_step(document: Document, run: Path) -> None:
    body = document("show", run)
    assert set(body) >= {"id", "path", "format", "provenance", "goal", "window", "counter", "steps", "problems"}
    assert (body["goal"], body["provenance"], body["counter"]) == (GOAL, "exact", "chars4")
    assert body["window"] == {"tokens": None, "source": "unknown"}
    wanted = {
        "n", "at", "lane", "open", "prompt_tokens", "reported_tokens", "state_tokens", "trace_tokens", "fixed_tokens",
        "segments", "goal", "tokens_after_goal", "attempts", "boundary", "drops",
    }  # fmt: skip
    assert all(wanted <= set(step) for step in body["steps"])
    first = body["steps"][0]
    assert (first["at"], first["reported_tokens"], first["lane"]) == ("2026-03-01T10:01:00Z", 1001, "main")
    assert set(first["attempts"][0]) >= {"tool", "arguments", "signature", "outcome", "result_key"}


def test_show_tells_the_goal_of_each_step_and_the_boundary_where_it_was_lost(document: Document, run: Path) -> None:
    steps = document("show", run)["steps"]
    assert [step["goal"] for step in steps[:5]] == ["present"] * 5
    assert {step["goal"] for step in steps[5:]} == {"missing"}
    edge = steps[5]["boundary"]
    assert (edge["kind"], edge["recorded"], edge["before"], edge["after"]) == ("compaction", True, 1005, 300)


def test_show_step_has_prompt_state_replies_and_drops_whole(document: Document, run: Path) -> None:
    (step,) = document("show", run, "--step", 6)["steps"]
    assert [one["kind"] for one in step["prompt"]] == ["system", "summary", "call", "result"]
    assert all(set(one) >= {"kind", "text", "tokens", "key", "where"} for one in step["prompt"])
    assert step["prompt"][1]["text"] == "Progress so far: files were read, the port is 8814."
    assert step["state"] == [] and [one["kind"] for one in step["replies"]] == ["call"]
    assert isinstance(step["drops"], list) and step["drops"][0]["cause"] == "compacted"


def test_drops_names_each_with_cause_and_record_and_what_came_through(document: Document, run: Path) -> None:
    body = document("drops", run)
    wanted = {"step", "what", "name", "text", "tokens", "cause", "recorded", "last_step", "returned_at", "missed_by"}
    assert body["drops"] and all(wanted <= set(drop) and "lane" in drop for drop in body["drops"])
    (edge,) = body["boundaries"]
    assert set(edge) >= {"step", "kind", "recorded", "before", "after", "survival", "lost", "changed", "opaque"}
    kinds = {"goal", "constraints", "decisions", "paths", "commands", "numbers", "identifiers"}
    assert set(edge["survival"]) == kinds
    assert all(isinstance(kept, int) and kept <= total for kept, total in edge["survival"].values())
    assert edge["survival"]["goal"] == [0, 1] and edge["lost"][0] == GOAL
    assert "INC_4471" in edge["lost"] and {"from": "8841", "to": "8814"} in edge["changed"]


def test_lost_is_a_block_in_the_order_of_importance(document: Document, run: Path) -> None:
    (edge,) = document("lost", run, "--last")["boundaries"]
    assert all(set(one) >= {"kind", "text", "tokens"} for one in edge["lost"]) and edge["lane"] == "main"
    order = ["goal", "identifiers", "paths", "numbers", "commands", "constraints", "decisions", "prose"]
    kinds = [one["kind"] for one in edge["lost"]]
    assert kinds == sorted(kinds, key=order.index) and kinds[0] == "goal"


def test_diff_tells_added_gone_shortened_and_how_much_stays(document: Document, run: Path) -> None:
    body = document("diff", run, "--from", 5, "--to", 6)
    assert (body["from"], body["to"], body["lane"]) == (5, 6, "main")
    assert body["added"][0]["kind"] == "summary" and len(body["gone"]) > 5
    assert body["shortened"] == [] and body["kept"] >= 1 and body["kept_tokens"] > 0


def test_ledger_tells_attempts_cycles_and_waiting(document: Document, run: Path) -> None:
    body = document("ledger", run)
    assert set(body["attempts"][0]) >= {"step", "tool", "arguments", "signature", "outcome", "result_key"}
    (cycle,) = body["cycles"]
    assert set(cycle) >= {"kind", "period", "steps", "count", "tools", "tokens", "warned_at"}
    assert (cycle["kind"], cycle["period"], cycle["warned_at"]) == ("cycle", 2, 11)
    assert cycle["steps"] == [7, 8, 9, 10, 11] and sorted(cycle["tools"]) == ["look", "seek"]
    assert cycle["tokens"] == sum(range(307, 312)) and body["waiting"] == []


def test_lifeline_tells_where_a_text_stood_and_when_it_was_needed(document: Document, run: Path) -> None:
    body = document("lifeline", run, "8841")
    assert body["text"] == "8841" and body["steps"] >= 12
    assert body["present"][0] == [1, 5]
    assert body["needed"] == [6] and body["changed"] == [{"step": 6, "to": "8814"}]


def test_line_is_one_line_of_eighty_cells(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["line", str(run)]) == 0
    out, _ = capfd.readouterr()
    assert out.count("\n") == 1 and 0 < len(out.strip()) <= 80


def test_a_folder_of_several_runs_is_listed_and_asked_for_by_the_other_commands(
    tmp_path: Path, document: Document, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        save(tmp_path / f"{name}.json", {"step": 1, "messages": [user(GOAL), said("a")]})
    capfd.readouterr()
    assert main(["show", str(tmp_path), "--json", "--no-history"]) == 0
    body = json.loads(capfd.readouterr().out)
    assert body["schema"] == "agentmem.runs/1"
    assert all(set(row) >= {"id", "path", "format", "steps", "at", "goal", "status"} for row in body["runs"])
    assert document("show", tmp_path, "--run", "two")["id"] == "two"
    for command in ("drops", "lost", "ledger", "diff"):
        more = ["--from", "1", "--to", "1"] if command == "diff" else []
        assert main([command, str(tmp_path), *more]) == 2
        out, err = capfd.readouterr()
        assert out == "" and err.count("\n") == 1 and "one" in err and "two" in err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["show", "RUN", "--step", "99"], "no step 99"), (["show", "RUN", "--lane", "x"], "x"),
        (["diff", "RUN", "--from", "1", "--to", "77"], "77"), (["show", "RUN", "--window", "-3"], "window"),
        (["show", "RUN", "--counter", "guess"], "guess"), (["lifeline", "RUN", ""], "empty"),
        (["show", "RUN", "--nonsense"], "nonsense"), (["frobnicate"], "frobnicate"),
    ],
)  # fmt: skip
def test_a_usage_error_is_one_line_and_exit_code_2(
    run: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], word: str
) -> None:
    assert main([str(run) if argument == "RUN" else argument for argument in arguments]) == 2
    out, err = capfd.readouterr()
    assert out == "" and err.count("\n") == 1 and word in err


def test_step_numbers_are_the_files_own_and_the_open_step_follows(tmp_path: Path, document: Document) -> None:
    messages = [user(GOAL), *turn(1, "read", "1"), *turn(2, "a", "b")]
    path = save(tmp_path / "run.json", {"step": 41, "messages": messages})
    steps = document("show", path)["steps"]
    assert [(step["n"], step["own"], step["open"]) for step in steps] == [(1, 40, False), (2, 41, False), (3, 42, True)]
    (one,) = document("show", path, "--step", 41)["steps"]
    assert one["attempts"][0]["tool"] == "a"
    assert document("ledger", path)["attempts"][1]["step"] == 41


def test_a_store_of_states_says_that_it_is_synthetic(tmp_path: Path, document: Document) -> None:
    path = save(tmp_path / "run.json", {"step": 1, "state": {"goal": GOAL, "port": "8841"}})
    body = document("show", path)
    assert body["synthetic"] is True and [step["open"] for step in body["steps"]] == [False]


def test_unknown_is_null_and_never_zero(tmp_path: Path, document: Document) -> None:
    path = save(tmp_path / "run.json", [user(GOAL), said("a"), result("zz", "orphan"), said("b")])
    step = document("show", path)["steps"][0]
    assert step["fixed_tokens"] is None and step["reported_tokens"] is None and step["at"] is None
    assert step["prompt_tokens"] == step["state_tokens"] + step["trace_tokens"]
