"""Rollouts as they are found: cut, glued, torn, with NULs, with fields of other types; and the real files."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.formats import NotYet, Options, Unreadable
from agentmem.formats.agents.codex.records.items import item_parts
from agentmem.formats.agents.codex.rollout import RolloutReader, extract
from agentmem.inspect.assemble import Assembler
from agentmem.inspect.open import open_run
from agentmem.inspect.texts import Texts
from tests.formats.agents.codex import (
    NAME,
    call,
    compacted,
    count,
    event,
    item,
    lines,
    meta,
    reader,
    record,
    result,
    run_of,
    said,
    user,
    write,
)

TURN = (user("Grind the corn."), call("a", cmd="ls"), count(100, 100), result("a", "mill.py"), said("Ground."))
FIGURES = {
    "codex_053_rate_limit.jsonl": (0, 258_400, None, 0),
    "fixture-small.jsonl": (9, 258_400, 16_341, 5),
    "polylogue-functions_exec_multiple.jsonl": (1, None, None, 0),
    "traex-rollout_subagent.jsonl": (4, 272_000, None, 0),
}
"""Real file -> steps, window, reported tokens of the first step that has some, compactions."""


def whole_records(data: bytes) -> int:
    return sum(1 for line in data.split(b"\n")[:-1] if line)


def test_cut_anywhere_a_rollout_opens_with_its_whole_records(root: Path, tmp_path: Path) -> None:
    data = next((root / "sample_runs" / "codex").glob("rollout-2026-03-02T09-00-00-*.jsonl")).read_bytes()
    cut_everywhere(data, tmp_path / NAME, 200)


def cut_everywhere(data: bytes, path: Path, places: int) -> None:
    chance = random.Random(19)
    first = data.index(b"\n") + 1
    for place in sorted(chance.randrange(first, len(data)) for _ in range(places)):
        path.write_bytes(data[:place])
        draft = reader(path).draft
        read = sum(draft.counts.values())
        assert whole_records(data[:place]) <= read <= whole_records(data[:place]) + 1
        path.unlink()


def test_a_damaged_line_costs_only_itself(tmp_path: Path) -> None:
    data = lines(meta(), *TURN).split(b"\n")
    torn, whole = data[2][:60], data[2]
    odd = [b"", b"\0" * 200, b"\0" * 300 + whole, torn, b'["x"]', b"null", b"3", b'"x"', b'{"message":null}', b"{}"]
    path = tmp_path / NAME
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join([*data[:2], *odd, *data[3:]]))
    draft = reader(path).draft
    assert [len(step.calls) for step in draft.main.steps] == [1, 0]
    said_ = {problem.where: problem.what for problem in draft.problems}
    assert said_["line 4"] == "200 NUL bytes" and said_["line 5"] == "300 NUL bytes"
    assert said_["line 6"].startswith("not JSON")
    assert [said_[f"line {n}"] for n in (7, 8, 9, 10)] == [
        f"not an object but {name}" for name in ("list", "NoneType", "int", "str")
    ]
    assert said_["file"] == "8 records, 6 understood, 2 unknown: no type x2"


def test_glued_records_and_a_whole_one_behind_a_torn_one_are_found(tmp_path: Path) -> None:
    made = lines(meta(), *TURN).split(b"\n")
    path = tmp_path / NAME
    path.write_bytes(b"\n".join([made[0], made[1] + made[2], made[3], made[4][:70] + made[4], made[5], b""]))
    opened = open_run(str(path))
    assert len(opened.run.main.steps) == 2 and opened.run.goal == "Grind the corn."
    assert [problem.what for problem in opened.run.problems] == [
        "2 records found in a damaged line", "1 record found in a damaged line"
    ]  # fmt: skip
    for segment in opened.run.main.steps[1].prompt:
        assert segment.where is not None
        data = path.read_bytes()[segment.where.offset : segment.where.offset + segment.where.length]
        assert extract(data, segment.where.part) == segment.head


def test_odd_text_is_kept(tmp_path: Path) -> None:
    path = write(tmp_path, meta(), *TURN)
    odd = lines(user("a\u2028b\u0085c \x1b]0;x\x07 [/red] SURROGATE"), said("long " * 300_000))
    path.write_bytes(path.read_bytes() + odd.replace(b"a\xe2", b"a\xff\xe2").replace(b"SURROGATE", b"\\ud800"))
    opened = open_run(str(path))
    heads = [segment.head for segment in opened.run.main.steps[-1].prompt]
    assert heads[-1] is not None and "[/red]" in heads[-1]
    reply = opened.run.main.steps[-1].replies[0]
    assert reply.characters == 1_500_000 and len(opened.text(reply) or "") == 1_500_000


ODD: tuple[Any, ...] = (None, 3, -1, True, 1.5, "x", [], ["x", None, {"type": 3}], {}, {"text": 3}, {"type": ["x"]})


@pytest.mark.parametrize("value", ODD, ids=lambda value: json.dumps(value))
def test_a_field_of_another_type_is_no_reason_to_stop(tmp_path: Path, value: Any) -> None:
    records = [
        record("session_meta", value),
        record("session_meta", {"id": value, "source": value, "base_instructions": value}),
        record("turn_context", {"model": value, "truncation_policy": value}),
        record("turn_context", {"truncation_policy": {"mode": value, "limit": value}}),
        record("response_item", value), record(value, value), item("message", role=value, content=value),
        item("message", role="user", content=value), item("message", role="assistant", content=value),
        item("reasoning", summary=value, content=value),
        item("function_call", name=value, arguments=value, call_id=value),
        item("function_call_output", call_id=value, output=value), item("custom_tool_call", name="exec", input=value),
        call("p", "update_plan", plan=value), call("q", "update_plan", plan=[value, {"step": value}]),
        item("agent_message", content=value), item("tool_search_output", tools=value),
        item("compaction", content=value),
        record("compacted", value), record("compacted", {"message": value, "replacement_history": value}),
        record("compacted", {"message": "x", "replacement_history": [value, {"type": "message", "content": value}]}),
        record("event_msg", value), event("token_count", info=value),
        event("token_count", info={"total_token_usage": value, "last_token_usage": value}),
        event("token_count", info={"last_token_usage": {"input_tokens": 5}, "model_context_window": value}),
        event("token_count", info={"last_token_usage": {"input_tokens": value, "output_tokens": value}}),
        event("thread_rolled_back", num_turns=value), event("thread_goal_updated", goal=value),
        event("thread_goal_updated", goal={"objective": value}), event("item_completed", item=value),
        event("item_completed", item={"type": "AgentMessage", "content": value}),
        event("item_completed", item={"type": "CommandExecution", "command": value, "exit_code": value}),
        event("error", error=value), event("error", message=value),
        event("collab_agent_spawn_end", new_thread_id=value),
        event("task_started", turn_id=value, model_context_window=value), event("exec_command_end", exit_code=value),
        event("mcp_tool_call_end", invocation=value, result=value), event("patch_apply_end", changes=value),
        {"timestamp": value, "type": "response_item", "payload": {"type": "message", "role": "user", "content": "x"}},
        event("task_complete"),
    ]  # fmt: skip
    opened = run_of(tmp_path, meta(), *TURN, *records, said("Still here."))
    assert opened.run.main.steps[-1].replies[0].head == "Still here."
    for step in opened.run.main.steps:
        for segment in step.prompt:
            opened.text(segment)


BLOCK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "x", "message", "user", "exec"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["type", "role", "content", "text", "output", "name", "arguments", "input", "call_id"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(item=st.dictionaries(st.sampled_from(["type", "role", "content", "output", "input", "name", "summary"]), BLOCK))
def test_parts_of_any_item_are_found_and_are_the_same_again(item: dict[str, Any]) -> None:
    first, second = item_parts(item), item_parts(item)
    assert [(part.kind, part.text) for part in first] == [(part.kind, part.text) for part in second]


def test_an_arguments_text_that_nests_too_deep_is_text(tmp_path: Path) -> None:
    deep = "[" * 5_000
    path = write(tmp_path, meta(), user("x"), item("function_call", name="update_plan", arguments=deep, call_id="a"))
    worse = b'{"type":"response_item","payload":' + deep.encode() + b"}\n"
    path.write_bytes(path.read_bytes() + worse + lines(said("y")))
    draft = reader(path).draft
    assert draft.main.steps[0].calls[0].arguments == deep
    assert [problem.where for problem in draft.problems] == ["line 4"]


def test_a_compaction_of_many_megabytes_is_one_record(tmp_path: Path) -> None:
    kept = [user(f"Sack {n}: " + "corn " * 4_000) for n in range(200)]
    opened = run_of(tmp_path, meta(), *TURN, compacted("", kept), said("All here."))
    assert len(opened.run.main.steps[-1].prompt) == 201
    assert opened.text(opened.run.main.steps[-1].prompt[150]) == kept[149]["payload"]["content"][0]["text"]


@pytest.mark.parametrize("name", FIGURES)
def test_the_real_files_give_their_figures(real: Path, name: str) -> None:
    path = real / "codex" / name
    if not path.is_file():
        pytest.skip(f"{name} is not there")
    opened = open_run(str(path))
    run = opened.run
    steps = [step for step in run.main.steps if not step.open]
    reported = next((step.usage.prompt for step in steps if step.usage), None)
    boundaries = [step.boundary for step in run.main.steps if step.boundary]
    compactions = [one for one in boundaries if one.kind == "compaction"]
    assert (len(steps), run.window) == FIGURES[name][:2]
    if FIGURES[name][2] is not None:
        assert reported == FIGURES[name][2]
    assert len(compactions) == FIGURES[name][3] and all(one.recorded for one in boundaries)
    assert not [drop for step in run.main.steps for drop in step.drops if not drop.recorded]
    for step in run.main.steps:
        for segment in (*step.prompt, *step.replies):
            text = opened.text(segment)
            assert text is None if segment.head is None else text is not None and len(text) == segment.characters


@pytest.mark.parametrize("name", FIGURES)
def test_the_real_files_open_cut_and_grow_to_the_same(real: Path, tmp_path: Path, name: str) -> None:
    source = real / "codex" / name
    if not source.is_file():
        pytest.skip(f"{name} is not there")
    data = source.read_bytes()
    path = tmp_path / NAME
    cut_everywhere(data, path, 40)
    made = RolloutReader(path, Options())
    chance = random.Random(3)
    assembler: Assembler | None = None
    for start, end in _cuts(data, chance):
        with path.open("ab") as file:
            file.write(data[start:end])
        try:
            made.refresh()
        except (NotYet, Unreadable):
            continue
        assembler = assembler or Assembler(made.draft, Texts(made))
        assembler.run()
    os.utime(path, (1.0, 1.0))
    made.refresh()
    assert assembler is not None
    live, whole = assembler.run(), open_run(str(source)).run
    assert [(s.n, len(s.prompt), len(s.drops)) for s in live.main.steps] == [
        (s.n, len(s.prompt), len(s.drops)) for s in whole.main.steps
    ]


def _cuts(data: bytes, chance: random.Random) -> list[tuple[int, int]]:
    cuts = sorted({chance.randrange(1, len(data)) for _ in range(30)})
    return list(zip([0, *cuts], [*cuts, len(data)], strict=True))
