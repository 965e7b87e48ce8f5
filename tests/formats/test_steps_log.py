"""JSON lines of a plain loop: a checkpoint a line, or a message a line, followed as they grow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentmem.formats import Unreadable, recognise
from agentmem.inspect.open import open_run
from tests.formats.helpers import call, heads, opened, result, said, user


def versions(count: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [user("count the shelves")]
    found = []
    for step in range(1, count + 1):
        messages = [*messages, call(f"c{step}", n=step), result(f"c{step}", f"text {step}")]
        found.append({"step": step, "messages": messages, "notes": f"note {step}"})
    return found


def lines(path: Path, values: list[Any]) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def test_a_checkpoint_a_line_gives_every_step_with_its_notes(tmp_path: Path) -> None:
    draft = opened(lines(tmp_path / "a.jsonl", versions(3))).draft
    assert [(step.own, step.notes) for step in draft.main.steps] == [(1, "note 1"), (2, "note 2"), (3, "note 3")]
    assert heads(draft.main, 2) == ["count the shelves", 'read {"n":1}', "text 1"]
    assert (draft.format, draft.goal, draft.problems) == ("checkpoint", "count the shelves", [])


def test_a_trim_between_two_lines_is_seen(tmp_path: Path) -> None:
    values = versions(4)
    values[3]["messages"] = [values[3]["messages"][0], *values[3]["messages"][3:]]
    lane = opened(lines(tmp_path / "a.jsonl", values)).draft.main
    assert [lane.tape.segment(ident).head for ident in lane.tape.left(4)] == ['read {"n":1}', "text 1"]


def test_a_message_a_line_is_a_list_that_grows(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", [user("go"), call("call_0"), result("call_0", "Error: no"), call("call_0")])
    reader = opened(path)
    assert [[made.outcome for made in step.calls] for step in reader.draft.main.steps] == [["error"], ["unknown"]]
    with path.open("a") as file:
        file.write(json.dumps(result("call_0", "ok")) + "\n" + json.dumps(said("done")) + "\n")
    assert reader.refresh()
    assert [[made.outcome for made in step.calls] for step in reader.draft.main.steps] == [["error"], ["ok"], []]
    assert not reader.draft.main.open


def test_a_log_of_one_line_is_followed_past_it(tmp_path: Path) -> None:
    values = versions(3)
    path = lines(tmp_path / "a.jsonl", values[:1])
    reader = opened(path)
    for count in (2, 3):
        lines(path, values[:count])
        reader.refresh()
    assert [step.own for step in reader.draft.main.steps] == [1, 2, 3]
    assert not reader.draft.problems


def test_lines_that_are_damaged_or_say_nothing_are_problems_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    good = [json.dumps(value) for value in versions(2)]
    path.write_text("\n".join([good[0], "not json", '{"step": 7, "messages": [1, 2]}', '{"other": 1}', good[1], ""]))
    draft = opened(path).draft
    assert [step.own for step in draft.main.steps] == [1, 2]
    wheres = [problem.where for problem in draft.problems]
    unknown = "2 unknown: an object without messages x1, a list without a message x1"
    assert wheres[:2] == ["line 2", "line 3"] and unknown in draft.problems[-1].what


def test_whole_texts_are_found_again_in_their_line(tmp_path: Path) -> None:
    long = "a long result " * 40
    values = versions(2)
    values[1]["messages"][-1]["content"] = long
    for name, written in (("a", values), ("b", values[1]["messages"])):
        opened_run = open_run(str(lines(tmp_path / f"{name}.jsonl", written)))
        step = opened_run.run.main.steps[-1]
        assert opened_run.text(step.prompt[len(step.prompt) - 1]) == long


def test_a_log_of_requests_and_a_json_file_stay_what_they_are(tmp_path: Path) -> None:
    request = {"request": {"model": "m", "messages": [user("x")]}, "response": {"choices": []}}
    known = recognise(lines(tmp_path / "a.jsonl", [request, request]))
    assert known is not None and known.name == "requests"
    path = tmp_path / "a.json"
    path.write_text(json.dumps(versions(1)[0]))
    known = recognise(path)
    assert known is not None and known.open.__name__ == "SnapshotReader"
    assert recognise(lines(tmp_path / "b.jsonl", [{"a": 1}, {"b": 2}])) is None


def test_a_first_line_longer_than_what_is_looked_at_is_recognised(tmp_path: Path) -> None:
    value = {"step": 1, "messages": [user("x" * 200_000), said("ok")], "notes": ""}
    assert [step.own for step in opened(lines(tmp_path / "a.jsonl", [value])).draft.main.steps] == [1]


def test_lines_of_which_none_holds_a_message_are_no_run(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [{"step": n, "messages": [{"kind": "request", "parts": []}], "notes": None} for n in range(3)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(Unreadable, match="format not recognised: 3 records, none understood: a list without a message"):
        open_run(str(path))


def test_half_a_line_before_a_whole_one_gives_no_message_of_the_half(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [json.dumps({"step": n, "messages": [user("go"), said("a")] * n}).encode() for n in range(1, 4)]
    path.write_bytes(lines[0] + b"\n" + lines[1][: len(lines[1]) * 3 // 4] + lines[2] + b"\n")
    run = open_run(str(path)).run
    assert [step.replies[0].head for step in run.main.steps if not step.open] == ["a"] * 3
    assert [problem.what for problem in run.problems][:1] == ["half a record, then 1 whole"]
