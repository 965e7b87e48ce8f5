"""Calls that look alike (ids that are given again, the same words, the same results) never make a step vanish."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentmem.checkpoint.recorder import record
from agentmem.formats.draft import Call, LaneDraft
from agentmem.formats.plain.own import OwnReader
from agentmem.formats.reader import Options
from agentmem.formats.versions import Item, MessageList
from agentmem.tape import Piece
from agentmem.tokens import chars4
from tests.formats.helpers import again, call, opened, result, said, user

Message = dict[str, Any]


def pairs(count: int, ident: str = "call_0", first: int = 1) -> list[Message]:
    """Calls of one id with results of their own."""
    found: list[Message] = []
    for number in range(first, first + count):
        found += [call(ident, path=f"f{number}"), result(ident, f"text {number}")]
    return found


def same(count: int) -> list[Message]:
    """One failure, again and again."""
    return [call("call_0", path="f"), result("call_0", "Error: no such file")] * count


def body(step: int, messages: list[Message]) -> dict[str, Any]:
    return {"step": step, "messages": messages, "notes": ""}


def outcomes(lane: LaneDraft) -> list[list[str]]:
    return [[made.outcome for made in step.calls] for step in lane.steps]


def test_a_bare_list_of_three_equal_failures_is_three_steps(tmp_path: Path) -> None:
    lane = opened(tmp_path / "a.json", [user("go"), *same(3)]).draft.main
    assert outcomes(lane) == [["error"]] * 3


def test_calls_that_all_have_one_id_are_a_step_each_with_their_own_result(tmp_path: Path) -> None:
    lane = opened(tmp_path / "a.json", [user("go"), *pairs(4)]).draft.main
    assert [[made.result for made in step.calls] for step in lane.steps] == [[f"text {n}"] for n in range(1, 5)]


def test_ids_that_restart_after_a_resume_are_new_steps(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    messages = [user("go"), *pairs(1, "call_1"), *pairs(1, "call_2", 2)]
    reader = opened(path, body(2, messages))
    resumed = [*messages, user("go on"), *pairs(1, "call_1", 3), *pairs(1, "call_2", 4)]
    again(reader, path, body(4, resumed))
    assert [step.own for step in reader.draft.main.steps] == [1, 2, 3, 4]
    assert outcomes(reader.draft.main) == [["ok"]] * 4


def test_after_a_compaction_calls_of_ids_known_before_are_new_steps(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, body(3, [user("go"), *pairs(3)]))
    again(reader, path, body(5, [user("a summary of three steps"), *pairs(2, first=4)]))
    assert [step.own for step in reader.draft.main.steps] == [1, 2, 3, 4, 5]


def test_an_answer_that_was_only_written_anew_is_no_new_step(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, body(3, [user("go"), *pairs(3)]))
    anew = [{**message, "seen": True} for message in [user("go"), *pairs(3)]]
    again(reader, path, body(4, [*anew, *pairs(1, first=4)]))
    assert [step.own for step in reader.draft.main.steps] == [1, 2, 3, 4]


def test_the_same_failure_under_a_window_that_slides_is_a_step_a_save(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, body(1, [user("go"), *same(1)]))
    for step in range(2, 9):
        again(reader, path, body(step, [user("go"), *same(min(step, 3))]))
    assert [step.own for step in reader.draft.main.steps] == list(range(1, 9))
    assert outcomes(reader.draft.main) == [["error"]] * 8
    assert not reader.draft.gaps


def test_a_count_that_says_more_than_was_seen_is_a_gap_where_no_message_is_repeated(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, body(3, [user("go"), *pairs(3)]))
    again(reader, path, body(9, [user("go"), *pairs(1, first=3), *pairs(2, first=8)]))
    assert [step.own for step in reader.draft.main.steps] == [1, 2, 3, 8, 9]
    assert [(gap.after, gap.before) for gap in reader.draft.gaps] == [(3, 8)]


def test_a_result_goes_to_the_nearest_call_of_its_id_that_waits() -> None:
    lane = LaneDraft("main", chars4)
    made = []
    for number in range(3):
        lane.close()
        made.append(Call("read", str(number), "x"))
        lane.reply(Piece("call", f"read {number}", call_id="x"), made[-1])
        if number != 1:
            lane.answer(Piece("result", f"out {number}", call_id="x"))
    assert [one.result for one in made] == ["out 0", None, "out 2"]
    lane.answer(Piece("result", "late", call_id="x"))
    assert [one.result for one in made] == ["out 0", "late", "out 2"]


def test_calls_of_one_id_in_one_step_are_answered_in_their_order() -> None:
    lane = LaneDraft("main", chars4)
    lane.close()
    made = [Call("read", str(number), "x") for number in range(3)]
    for one in made:
        lane.reply(Piece("call", one.arguments, call_id="x"), one)
    for number in range(3):
        lane.answer(Piece("result", f"out {number}", call_id="x"))
    assert [one.result for one in made] == ["out 0", "out 1", "out 2"]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=12))
def test_a_list_that_only_grows_has_a_step_for_every_answer_whatever_its_ids(calls: list[tuple[int, int]]) -> None:
    messages, lists = [user("go")], MessageList(LaneDraft("main", chars4))
    for ident, number in calls:
        messages += [call(f"call_{ident}", n=number), result(f"call_{ident}", "ok")]
        lists.update([Item(json.dumps(message).encode(), "x", 0, 0) for message in messages])
    assert len(lists.lane.steps) == len(calls)
    assert all(made.answered for step in lists.lane.steps for made in step.calls)


def test_our_own_ledger_of_equal_calls_has_a_step_and_a_call_a_save(tmp_path: Path) -> None:
    messages: list[Message] = [user("go")]
    with record("a", folder=tmp_path) as run:
        for _ in range(4):
            prompt = list(messages)
            messages += same(1)
            run.save(messages, prompt=prompt)
        messages.append(said("done"))
        run.save(messages, prompt=messages[:-1])
    reader = OwnReader(tmp_path / "a.json", Options())
    reader.refresh()
    assert outcomes(reader.draft.main) == [["error"]] * 4 + [[]]
    assert len(reader.draft.main.steps[-1].replies) == 1
