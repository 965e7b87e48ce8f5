"""Saved chats of Gemini CLI: what `/chat save` writes, older bare lists, and what stands beside a change of files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from agentmem.formats.agents.gemini.checkpoint import FORMAT
from agentmem.inspect.discover import EVERYWHERE, find
from tests.formats.agents.following import cuts, every_text_is_whole, heads, picture, read, run_of


def sample(root: Path) -> Path:
    return root / "sample_runs" / "gemini-saved" / "checkpoint-ducks.json"


@pytest.fixture
def history(root: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(sample(root).read_text())["history"]
    return found


def test_the_contents_make_calls_and_what_the_agent_sent_first_is_not_the_goal(root: Path) -> None:
    run = run_of(read(sample(root)))
    steps = run.main.steps
    assert run.goal == "Count the ducks of both ponds. Never write to ponds/."
    assert [piece.kind for piece in steps[1].prompt] == ["other", "goal", "assistant", "call", "result"]
    assert [[one.outcome for one in step.attempts] for step in steps] == [["ok"], ["error"], []]
    assert (run.id, run.status) == ("ducks", "ended")
    assert every_text_is_whole(sample(root)) == 8


def test_every_shape_of_it_gives_the_same_calls(root: Path, tmp_path: Path, history: list[dict[str, Any]]) -> None:
    expected = picture(read(sample(root)).draft)["lanes"]
    screen = [{"type": "user", "text": "Count", "id": 1}]
    change = {"history": screen, "clientHistory": history, "toolCall": {"name": "write_file"}, "commitHash": "ab"}
    for value in (history, {"history": history}, {"clientHistory": history, "history": screen}, change):
        path = tmp_path / "checkpoint-a.json"
        path.write_text(json.dumps(value))
        assert picture(read(path).draft)["lanes"] == expected


def test_the_todo_list_of_a_call_is_the_plan(tmp_path: Path, history: list[dict[str, Any]]) -> None:
    todos = [{"description": "Go north", "status": "completed"}, {"content": "Go south", "status": "pending"}]
    written = {"role": "model", "parts": [{"functionCall": {"name": "write_todos", "args": {"todos": todos}}}]}
    path = tmp_path / "checkpoint-a.json"
    path.write_text(json.dumps({"history": [*history[:2], written, *history[2:]]}))
    step = run_of(read(path)).main.steps[1]
    assert [(field.name, field.value, field.done) for field in step.fields] == [
        ("plan[0]", "Go north", True), ("plan[1]", "Go south", False),
    ]  # fmt: skip
    assert {field.segment for field in step.fields} == {piece.id for piece in step.prompt if piece.kind == "call"}


def test_saved_again_under_its_name_it_is_read_anew(tmp_path: Path, history: list[dict[str, Any]]) -> None:
    path = tmp_path / "checkpoint-my%20ducks.json"
    path.write_text(json.dumps({"history": history[:4]}))
    reader = read(path)
    assert (len(reader.draft.main.steps), reader.draft.id) == (1, "my ducks")
    path.write_text(json.dumps({"history": history})[:-40])
    assert not reader.refresh() or reader.draft.notice == "being written"
    path.write_text(json.dumps({"history": history}))
    assert reader.refresh() and len(reader.draft.main.steps) == 3
    path.write_text(json.dumps({"history": [history[1], {"role": "model", "parts": [{"text": "Two."}]}]}))
    assert reader.refresh() and heads(reader.draft.main, 2)[-1] == "Two."


def test_cut_anywhere_it_opens_with_its_whole_contents(root: Path, tmp_path: Path) -> None:
    data = sample(root).read_bytes()
    opened = [draft for _, draft in cuts(tmp_path / "checkpoint-c.json", data, 100) if not isinstance(draft, str)]
    steps = [len(draft.main.steps) for draft in opened]
    assert len(opened) > 70 and steps == sorted(steps) and steps[-1] >= 2


@pytest.mark.parametrize("content", [
    3, None, {}, {"role": "model"}, {"role": "model", "parts": 3}, {"role": 4, "parts": [None]},
    {"role": "user", "parts": [{"functionResponse": {"response": 3}}]}, {"role": "user", "parts": "text"},
    {"role": "model", "parts": [{"functionCall": {"name": "todo_write", "args": {"todos": 3}}}]},
])  # fmt: skip
def test_a_content_of_any_shape_stops_nothing(tmp_path: Path, history: list[dict[str, Any]], content: Any) -> None:
    path = tmp_path / "checkpoint-a.json"
    path.write_text(json.dumps({"history": [*history[:4], content, *history[4:]]}))
    run = run_of(read(path))
    assert "Only the northern pond has a file." in [one.head for step in run.main.steps for one in step.replies]


@pytest.mark.parametrize("value", [
    [{"role": "user", "content": "x"}], {"history": [{"role": "user", "content": "parts"}]}, {"history": []}, {},
    {"messages": [{"role": "user", "parts": []}]},
])  # fmt: skip
def test_other_lists_are_none(tmp_path: Path, value: object) -> None:
    path = tmp_path / "checkpoint-a.json"
    path.write_text(json.dumps(value))
    assert not FORMAT.recognise(path, path.read_bytes())


def test_saved_chats_are_found_by_their_folder(root: Path, home: Path) -> None:
    project = home / ".gemini" / "tmp" / "ponds"
    project.mkdir(parents=True)
    (project / ".project_root").write_text("/srv/ponds\n")
    path = project / "checkpoint-ducks.json"
    shutil.copy(sample(root), path)
    assert FORMAT.places is not None
    assert list(FORMAT.places(Path("/srv/ponds"))) == [path] and list(FORMAT.places(Path("/srv/pond"))) == []
    (row,) = find([EVERYWHERE])
    assert (row.id, row.format, row.goal) == (
        "ducks", "gemini-checkpoint", "Count the ducks of both ponds. Never write to ponds/.",
    )  # fmt: skip
