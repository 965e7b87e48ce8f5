"""What Claude Code keeps beside a session, its todo list and its tasks in files, is the plan that no line tells of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentmem.inspect.open import open_run
from tests.formats.agents.claude import GOAL, IDENT, read, save, session


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """The agent's own folder."""
    (tmp_path / "projects" / "-srv-tides").mkdir(parents=True)
    return tmp_path


def place(base: Path) -> Path:
    return base / "projects" / "-srv-tides"


def todos(base: Path, *items: tuple[str, str]) -> Path:
    path = base / "todos" / f"{IDENT}-agent-{IDENT}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps([{"content": text, "status": status, "activeForm": text} for text, status in items]))
    return path


def task(base: Path, ident: str, subject: str, status: str = "pending") -> Path:
    path = base / "tasks" / IDENT / f"{ident}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    value = {"id": ident, "subject": subject, "description": "", "status": status, "blocks": [], "blockedBy": []}
    path.write_text(json.dumps(value))
    return path


def fields(reader: Any) -> list[tuple[str, str, bool | None]]:
    return [(field.name, field.value, field.done) for field in reader.draft.main.fields]


def test_a_plan_of_which_no_line_tells_is_held_and_stands_in_no_prompt(base: Path) -> None:
    work = session()
    work.user(GOAL)
    work.answer("Begun.")
    todos(base, ("Heysham", "completed"), ("Silloth", "pending"))
    task(base, "2", "Write to the harbour master")
    run = open_run(str(save(work, place(base)))).run
    held = [
        (field.name, field.value, field.done, field.segment)
        for field in read(save(work, place(base))).draft.main.fields
    ]
    assert held == [
        ("plan[0]", "Heysham", True, None), ("plan[1]", "Silloth", False, None),
        ("tasks[2]", "Write to the harbour master", False, None),
    ]  # fmt: skip
    assert not [drop for step in run.main.steps for drop in step.drops]


def test_files_that_change_while_the_session_is_followed_are_read_again(base: Path) -> None:
    work = session()
    work.user(GOAL)
    reader = read(save(work, place(base)))
    assert fields(reader) == [] and not reader.refresh()
    one = task(base, "1", "Heysham")
    assert reader.refresh() and fields(reader) == [("tasks[1]", "Heysham", False)]
    assert not reader.refresh()
    task(base, "1", "Heysham", "completed")
    task(base, "2", "Silloth")
    assert reader.refresh() and fields(reader) == [("tasks[1]", "Heysham", True), ("tasks[2]", "Silloth", False)]
    one.write_text('{"id": "1", "sub')
    assert not reader.refresh()
    one.write_text(json.dumps({"id": "1", "subject": "Heysham and Barrow", "status": "pending"}))
    assert reader.refresh() and fields(reader)[0] == ("tasks[1]", "Heysham and Barrow", False)
    one.unlink()
    assert not reader.refresh() and len(fields(reader)) == 2
    assert {base / "todos", base / "tasks" / IDENT} & set(reader.watched()) == {base / "tasks" / IDENT}


def test_what_the_lines_tell_of_the_list_counts_more_than_the_file(base: Path) -> None:
    work = session()
    work.user(GOAL)
    work.does("", "TodoWrite", "ok", todos=[{"content": "Heysham", "status": "pending", "activeForm": "x"}])
    todos(base, ("Something else", "pending"))
    assert fields(read(save(work, place(base)))) == [("plan[0]", "Heysham", False)]


@pytest.mark.parametrize("data", ["", "{}", "3", "[3, null, {}]", "{", '{"id": 1}', "\x00", '[{"content": 4}]'])
def test_a_file_of_any_shape_stops_nothing(base: Path, data: str) -> None:
    work = session()
    work.user(GOAL)
    todos(base).write_text(data)
    task(base, "1", "x").write_text(data)
    assert fields(read(save(work, place(base)))) == []
