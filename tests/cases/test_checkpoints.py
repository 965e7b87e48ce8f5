"""Checkpoints and resume: rows of the cases, each from files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentmem.cli import main
from agentmem.formats.source import NotYet
from agentmem.inspect.open import open_run
from tests.cases.written import (
    Message,
    drops,
    each,
    log,
    open_file,
    request,
    said,
    save,
    turn,
    user,
    versions,
)

GOAL = "ship the parcel of order 8841 to Izmir"


def test_a_folder_with_damaged_checkpoints_lists_all_of_them_each_with_its_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = {"step": 2, "messages": [user(GOAL), said("one"), user("go on"), said("two")], "notes": "n"}
    (tmp_path / "a.json").write_text("")
    (tmp_path / "b.json").write_text('{"step":1,"messages":[{"role":"user","content":"x"}]}st":3}')
    save(tmp_path / "c.json", good)
    (tmp_path / "d.json").write_text(json.dumps(good)[:60])
    assert main(["show", str(tmp_path), "--json", "--no-history"]) == 0
    rows = {Path(row["path"]).name: row for row in json.loads(capsys.readouterr().out)["runs"]}
    assert set(rows) == {"a.json", "b.json", "c.json", "d.json"}
    assert rows["a.json"]["problem"] and "empty" in rows["a.json"]["problem"]
    assert [rows[name]["problem"] for name in ("b.json", "c.json", "d.json")] == [
        "trailing junk at byte 53: first value used", None, "half written or cut at byte 60",
    ]  # fmt: skip
    assert main(["show", str(tmp_path), "--no-history"]) == 0
    listed = capsys.readouterr().out
    assert "half written or cut at byte 60" in listed and "trailing junk at byte 53" in listed
    assert main(["show", str(tmp_path / "d.json"), "--no-history"]) == 2
    assert "half written or cut" in capsys.readouterr().err
    whole = open_run(str(tmp_path / "c.json")).run
    assert len(each(whole)) == 2
    junk = open_run(str(tmp_path / "b.json")).run
    assert [(problem.where, "first object was used" in problem.what) for problem in junk.problems] == [
        ("byte 53", True),
    ]  # fmt: skip


def test_a_cut_line_in_the_middle_costs_that_line_only_and_shifts_no_number(tmp_path: Path) -> None:
    messages: list[Message] = [user(GOAL)]
    lines = []
    for number in range(1, 10):
        lines.append(json.dumps({"step": number, **request(messages, said(f"answer {number}"))}))
        messages = [*messages, said(f"answer {number}"), user(f"go on {number}")]
    lines[3] = lines[3][: len(lines[3]) // 2]
    path = tmp_path / "calls.jsonl"
    path.write_text("\n".join(lines) + "\n")
    run = open_run(str(path)).run
    assert len(each(run)) == 8
    assert [problem.where for problem in run.problems] == ["line 4"]
    fifth = [segment.where.line for step in each(run)[3:4] for segment in step.replies if segment.where]
    assert fifth == [5]


def state(**held: Any) -> dict[str, Any]:
    return {"goal": GOAL, **held}


def test_a_value_that_turns_null_at_a_save_is_a_class_of_its_own(tmp_path: Path) -> None:
    first = {"step": 1, "messages": [user(GOAL), said("a")], "state": state(phase="query_ready")}
    second = {"step": 2, "messages": [*first["messages"], user("b"), said("c")], "state": state(phase=None)}  # type: ignore[misc]  # a list where a mapping is declared
    (drop,) = drops(versions(tmp_path / "run.json", first, second).run)
    assert (drop.name, drop.cause, drop.recorded, drop.step) == ("phase", "nulled", False, 2)
    assert drop.text == "query_ready"


def test_a_field_that_the_next_save_no_longer_has_is_told_with_where_it_last_stood(tmp_path: Path) -> None:
    body = [user(GOAL), *turn(1, "lookup", "found it")]
    first = {"step": 1, "messages": body, "state": state(facts={"order_code": "TR-5512", "city": "Izmir"})}
    second = {
        "step": 2, "messages": [*body, *turn(2, "weigh", "3 kg")], "state": state(facts={"city": "Izmir"}),
    }  # fmt: skip
    (drop,) = drops(versions(tmp_path / "run.json", first, second).run)
    assert (drop.what, drop.name, drop.step, drop.last_step, drop.cause, drop.recorded) == (
        "field", "facts.order_code", 2, 1, "silent", False,
    )  # fmt: skip


def test_two_hundred_whole_checkpoints_share_their_messages(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    messages: list[Message] = [user(GOAL)]
    source = open_file(path, {"step": 0, "messages": messages})
    for number in range(1, 201):
        messages = [*messages, *turn(number, "read", f"row {number}", row=number)]
        save(path, {"step": number, "messages": messages})
        source.refresh()
    run = source.run
    steps = each(run)
    assert len(steps) == 200 and not drops(run) and run.gaps == ()
    ids: set[int] = set()
    for step in steps:
        ids.update(segment.id for segment in step.prompt)
    assert len(ids) <= 2 * 200 + 1, "one piece a message, whatever the number of checkpoints that hold it"


def test_versions_that_were_missed_are_a_gap_and_their_steps_are_not_guessed(tmp_path: Path) -> None:
    def body(number: int) -> dict[str, Any]:
        window = [part for n in range(max(1, number - 2), number + 1) for part in turn(n, "read", f"row {n}", row=n)]
        return {"step": number, "messages": [user(GOAL), *window]}

    run = versions(tmp_path / "run.json", body(3), body(4), body(9)).run
    assert [(gap.after, gap.before, gap.missing) for gap in run.gaps] == [(4, 7, 2)]
    assert [step.number for step in each(run)] == [1, 2, 3, 4, 7, 8, 9]


@pytest.mark.parametrize("step", ["7", 7.0])
def test_a_step_number_as_text_is_a_number(tmp_path: Path, step: object) -> None:
    run = open_file(tmp_path / "run.json", {"step": step, "messages": [user(GOAL), said("a")]}).run
    assert each(run)[-1].own == 7 and run.problems == ()


def test_a_step_that_is_no_number_is_told_and_the_rest_is_shown(tmp_path: Path) -> None:
    run = open_file(tmp_path / "run.json", {"step": "seven", "messages": [user(GOAL), said("a")]}).run
    assert len(each(run)) == 1 and "is no whole number" in run.problems[0].what


def test_a_step_that_goes_backwards_is_shown_and_nothing_is_lost(tmp_path: Path) -> None:
    bodies = [
        {"step": number, "messages": [user(GOAL), *[part for n in range(1, size + 1) for part in
                                                    turn(n, "read", f"row {n}", row=n)]]}
        for number, size in ((3, 3), (2, 2), (4, 4))
    ]  # fmt: skip
    run = versions(tmp_path / "run.json", *bodies).run
    assert {attempt.arguments for step in each(run) for attempt in step.attempts} >= {
        f'{{"row":{n}}}' for n in (1, 2, 3, 4)
    }
    assert main(["show", str(log(tmp_path / "x.jsonl", [request([user("a")], said("b"))])), "--no-history"]) == 0


@pytest.mark.parametrize(
    ("spoil", "badge"),
    [
        (lambda data: data[: len(data) // 2], "half written or cut at byte {half}"),
        (lambda data: data + b"\0" * 40 + b"\n", None),
        (lambda data: data.replace(b"ship", b"sh\0\0p", 1), "2 NUL bytes at byte {place}"),
    ],
    ids=["cut", "NUL bytes behind it", "NUL bytes inside"],
)
@pytest.mark.parametrize("size", [10, 30_000])
def test_a_row_of_the_list_says_what_is_wrong_with_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spoil: Callable[[bytes], bytes], badge: str | None, size: int
) -> None:
    body = {"step": 2, "goal": GOAL, "messages": [user(GOAL), said("x" * size), user("go on"), said("y" * 20)]}
    path = save(tmp_path / "a.json", body)
    save(tmp_path / "b.json", body)
    data = path.read_bytes()
    path.write_bytes(spoil(data))
    assert main(["show", str(tmp_path), "--json", "--no-history"]) == 0
    rows = {Path(row["path"]).name: row["problem"] for row in json.loads(capsys.readouterr().out)["runs"]}
    wanted = badge and badge.format(half=len(data) // 2, place=data.index(b"ship") + 2)
    assert rows == {"a.json": wanted, "b.json": None}


def test_the_end_of_a_long_file_is_looked_at_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = {"step": 2, "messages": [user(GOAL), said("x" * 300_000)]}
    path = save(tmp_path / "a.json", body)
    save(tmp_path / "b.json", body)
    path.write_bytes(path.read_bytes()[:200_000])
    assert main(["show", str(tmp_path), "--json", "--no-history"]) == 0
    rows = {Path(row["path"]).name: row["problem"] for row in json.loads(capsys.readouterr().out)["runs"]}
    assert rows == {"a.json": "half written or cut at byte 200000", "b.json": None}


def test_of_a_checkpoint_that_stays_cut_the_whole_messages_are_shown_and_what_is_wrong_is_said(tmp_path: Path) -> None:
    body = {"step": 3, "messages": [user(GOAL), said("one"), user("go on"), said("two"), user("more"), said("three")]}
    path = save(tmp_path / "run.json", body)
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"three") + 2])
    with pytest.raises(NotYet):
        open_run(str(path))  # it may be in the middle of a write
    os.utime(path, (1_700_000_000, 1_700_000_000))
    source = open_run(str(path))
    assert [step.replies[0].head for step in each(source.run)] == ["one", "two"]
    assert [problem.what for problem in source.run.problems] == ["half written or cut; 5 whole records read"]
    path.write_bytes(data)
    assert source.refresh()
    assert [step.replies[0].head for step in each(source.run)] == ["one", "two", "three"] and not source.run.problems


@pytest.mark.parametrize("size", [12, 13, 14])
def test_a_file_that_ends_in_the_middle_of_a_word_is_said_to_be_cut(tmp_path: Path, size: int) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(b'{"messages":true}'[:size])
    with pytest.raises(NotYet, match="half written or cut"):
        open_run(str(path))
