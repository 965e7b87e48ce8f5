"""Every version that was saved is rebuilt from the ledger exactly, whatever was done to the lists and the state."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentmem.checkpoint.delta.state import StateMemo, applied, names
from agentmem.checkpoint.recorder import history, load, record
from agentmem.checkpoint.store import CheckpointError
from tests.checkpoint.test_values import exactly, keys, values
from tests.formats.agents.following import opened

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where a save waits for no disk, so that many can be tried."""
texts = st.sampled_from(["a", "b", "long " * 20, ""])
one_message = st.one_of(
    texts.map(lambda text: {"role": "user", "content": text}),
    st.sampled_from([1, 1.0, True, 0, False, None]).map(lambda value: {"role": "tool", "content": value}),
)
lists = st.lists(one_message, max_size=6)
states = st.dictionaries(st.sampled_from(["goal", "facts", "plan", "a.b", "c[0]", "\\"]) | keys, values, max_size=4)


@given(st.lists(st.tuples(lists, st.none() | states, st.none() | lists, st.booleans()), min_size=1, max_size=6))
def test_all_versions_come_back_exactly(saves: list[tuple[list[Any], Any, Any, bool]]) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        run = record("r", folder=folder)
        kept = []
        for messages, state, prompt, reopen in saves:
            if reopen:
                run = record("r", folder=folder)
            run.save(messages, state=state, prompt=prompt)
            now = load("r", folder)
            assert now.source == "checkpoint" and exactly(now.messages) == exactly(messages)
            kept.append(exactly([messages, run.state, prompt]))
        found = [exactly([one.messages, one.state, one.prompt]) for one in history("r", folder)]
        assert found == kept
        last = load("r", folder, rebuild=True)
        assert exactly([last.messages, last.state]) == exactly([saves[-1][0], run.state])


@given(st.lists(states, min_size=1, max_size=5))
@example([{"facts": {}}, {"facts": {"x": 1}}, {"facts": {}}, {}, {"facts": {"x": 1, "y": 2}}])
@example([{"facts": {"x": 1, "y": 2}}, {"facts": {"y": 2, "x": 1}}])
@example([{"plan": ["a", "b"]}, {"plan": ["b"]}, {"plan": []}, {"plan": "done"}, {"plan": ["c"]}])
@example([{"a": {"b": 1}}, {"a.b": 1}, {"a": {"": 1}}, {"a": [1]}])
def test_states_follow_from_their_edits_with_their_keys_in_order(all_states: list[dict[str, Any]]) -> None:
    memo = StateMemo()
    held: dict[str, Any] | None = None
    for state in all_states:
        edit = memo.edit(state)
        if edit is None:
            assert exactly(held) == exactly(state)
            continue
        edit = json.loads(json.dumps(edit))
        held = applied(held, edit.get("set", {}), edit.get("unset", []), edit.get("full", False))
        assert exactly(held) == exactly(state)
        memo.advance(state)
        assert memo.edit(state) is None


def test_names_are_of_one_level() -> None:
    state = {"goal": "g", "facts": {"port": "1", "deep": {"x": [1]}}, "plan": ["a", {"do": "b"}], "none": [], "a.b": 1}
    assert names(state) == {
        "goal": "g", "facts.port": "1", "facts.deep": {"x": [1]}, "plan[0]": "a", "plan[1]": {"do": "b"}, "none": [],
        r"a\.b": 1,
    }  # fmt: skip


def test_a_field_that_vanishes_is_unset_and_one_that_changes_is_set() -> None:
    memo = StateMemo()
    memo.advance({"goal": "g", "facts": {"port": "1", "host": "h"}, "plan": ["a", "b"]})
    edit = memo.edit({"goal": "g", "facts": {"host": "i"}, "plan": ["a"]})
    assert edit == {"set": {"facts.host": "i"}, "unset": ["facts.port", "plan[1]"]}


def test_the_first_fact_is_no_loss_of_the_empty_list_of_facts() -> None:
    memo = StateMemo()
    memo.advance({"facts": {}, "plan": []})
    assert memo.edit({"facts": {"x": 1}, "plan": ["a"]}) == {"set": {"facts.x": 1, "plan[0]": "a"}}


def test_who_verified_a_fact_is_told_when_it_is_new_or_changes() -> None:
    memo = StateMemo()
    first = {"facts": {"a": "1"}, "verified": {"a": {"by": "t", "step": 1}}}
    assert (memo.edit(first) or {})["verified"] == {"facts.a": {"by": "t", "step": 1}}
    memo.advance(first)
    second = {"facts": {"a": "1", "b": "2"}, "verified": {"a": {"by": "t", "step": 1}, "b": {"by": "u", "step": 2}}}
    edit = memo.edit(second)
    assert edit is not None and edit["verified"] == {"facts.b": {"by": "u", "step": 2}}


def test_the_ledger_grows_by_what_is_new(tmp_path: Path) -> None:
    run = record("r", folder=tmp_path)
    messages: list[dict[str, Any]] = []
    for index in range(120):
        messages.append({"role": "user", "content": f"{index} " + "x" * 500})
        state = {"goal": "g" * 300, "facts": {str(index % 3): "v"}}
        run.save(messages, prompt=messages, state=state, tools=["t" * 900])
    lines = (tmp_path / "r.steps.jsonl").read_bytes().splitlines()
    assert max(len(line) for line in lines[1:]) < 1500
    checkpoint = (tmp_path / "r.json").stat().st_size
    assert sum(map(len, lines)) < 2.6 * checkpoint, "the exact prompt doubles it, no more"


def test_lanes_of_one_run_are_shown_apart_and_a_subagent_that_begins_anew_ends_no_run(tmp_path: Path) -> None:
    for turn in range(3):
        main = record("r", folder=tmp_path, goal="the goal")
        main.save([*main.messages, *said(f"main {turn}")])
        sub = record("r", folder=tmp_path, lane="sub", goal="a part of it")
        sub.save([*sub.messages, *said(f"sub {turn}")])
        sub.finish("done")
    main = record("r", folder=tmp_path)
    main.save([*main.messages, *said("main 3")])
    assert [m["content"] for m in main.messages if m["role"] == "assistant"] == [f"main {n}" for n in range(4)]
    shown = opened(tmp_path / "r.json")
    lanes = {lane.id: [step.own for step in lane.steps] for lane in shown.run.lanes}
    assert lanes == {"main": [1, 2, 3, 4], "sub": [1, 1, 1]}
    assert (shown.run.goal, shown.run.problems, shown.run.gaps) == ("the goal", (), ())
    assert not [drop for step in shown.run.main.steps for drop in step.drops]


def said(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"go on to {text}"}, {"role": "assistant", "content": text}]


def test_a_file_of_a_stranger_is_not_replaced_by_the_conversation_of_a_subagent(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(held := '{"step": 2, "messages": [{"role": "user", "content": "x"}], "notes": null}')
    with pytest.raises(CheckpointError, match=r"r\.json: holds nothing but lane 'main', which"):
        record("r", folder=tmp_path, lane="sub")
    assert path.read_text() == held and record("r", folder=tmp_path).step == 2
