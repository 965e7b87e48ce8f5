"""Pieces of messages, what belongs together, what must stay."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from agentmem.formats.messages import split
from agentmem.formats.outcome import judge
from agentmem.memory.messages import failed, goals, groups, last_failure, orphans, pieces, protected, tokens
from agentmem.tokens import chars4

from .conversations import Message, conversations

CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"b": 2, "a": 1}'}}
SHAPES: list[Message] = [
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "hello"},
    {"role": "user", "content": "Progress so far:\nnothing"},
    {"role": "user", "content": "<retrieved_memory>\nx"},
    {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image", "source": {"data": "A" * 4000}}]},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:" + "A" * 300_000}}]},
    {"role": "assistant", "content": "sure", "tool_calls": [CALL]},
    {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "c2"}]},
    {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "not json"}},
    {"role": "tool", "tool_call_id": "c1", "content": "8080"},
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "x"}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "read", "input": {"é": [1]}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": []}]},
    {"role": "user", "content": [{"type": "novelty", "x": 1}]},
    {"role": "user", "content": 3},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "sure"}]},
    {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
    {"type": "function_call", "id": "fc", "call_id": "c1", "name": "read", "arguments": '{"b": 2, "a": 1}'},
    {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "select 1"},
    {"type": "function_call_output", "call_id": "c1", "output": "8080"},
    {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "8080"}]},
    {"type": "local_shell_call", "call_id": "c1", "action": {"type": "exec", "command": ["ls"]}},
    {"type": "local_shell_call_output", "id": "c1", "output": "a b"},
    {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "look first"}]},
    {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gAAA"},
    {"type": "compaction", "encrypted_content": "gAAA"},
    {"type": "item_reference", "id": "msg_1"},
    {"role": "assistant", "content": None, "refusal": "no"},
    {"role": "assistant", "reasoning_content": "hm", "content": "sure"},
]


@pytest.mark.parametrize("message", SHAPES, ids=str)
def test_the_pieces_are_those_that_the_inspector_reads(message: Message) -> None:
    theirs = [(part.kind, part.text, part.call_id, part.tool, part.tokens) for part in split(message).parts]
    ours = [(piece.kind, piece.text, piece.call_id, piece.tool, piece.tokens) for piece in pieces(message)]
    assert ours == theirs


@pytest.mark.parametrize(
    "text",
    ["Error: no", "ok", "Traceback (most recent call last):\n  x", '{"hata": "abone yok"}', '{"error": null, "a": 1}',
     "ValueError: bad", "exit code: 2", "exit code: 0", "errors are rare", "{not json", "12 lines"],
)  # fmt: skip
@pytest.mark.parametrize("flag", [None, True, False])
def test_a_failure_is_what_the_inspector_calls_an_error(text: str, flag: bool | None) -> None:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": "t", "content": text}
    if flag is not None:
        block["is_error"] = flag
    expected = flag is True or judge(text, flag)[0] == "error"
    assert failed({"role": "user", "content": [block]}) == (expected if flag is not False else False)


def test_a_picture_costs_a_flat_estimate_and_a_call_costs_its_arguments() -> None:
    assert tokens(SHAPES[6], chars4) == 765
    assert tokens({"role": "assistant", "content": None, "tool_calls": [CALL]}, chars4) == chars4('read {"a":1,"b":2}')


def test_calls_and_all_that_stands_before_their_last_result_are_one_group() -> None:
    messages = [SHAPES[2], SHAPES[8], {"role": "tool", "tool_call_id": "c1", "content": "1"}, SHAPES[2],
                {"role": "tool", "tool_call_id": "c2", "content": "2"}, SHAPES[2]]  # fmt: skip
    assert groups(messages) == [range(0, 1), range(1, 5), range(5, 6)]


def test_an_id_used_again_belongs_to_the_nearest_call() -> None:
    turn = [{"role": "assistant", "tool_calls": [CALL]}, SHAPES[10]]
    assert groups([*turn, *turn]) == [range(0, 2), range(2, 4)]


def test_a_function_result_of_the_older_shape_stays_with_its_call() -> None:
    messages = [SHAPES[9], {"role": "function", "name": "f", "content": "3"}]
    assert groups(messages) == [range(0, 2)]


def test_orphans_of_either_kind_are_named() -> None:
    assert orphans([SHAPES[10], {"role": "assistant", "tool_calls": [{**CALL, "id": "c9"}]}]) == ("c1", "c9")


@given(conversations())
def test_the_groups_cover_the_list_in_order_and_part_no_pair(messages: list[Message]) -> None:
    bundles = groups(messages)
    assert [i for bundle in bundles for i in bundle] == list(range(len(messages)))
    assert all(orphans([messages[i] for i in bundle]) == () for bundle in bundles)


def test_what_is_protected_is_the_system_the_goal_and_the_newest_failure_with_its_call() -> None:
    def turn(ident: str, text: str) -> list[Message]:
        call = {**CALL, "id": ident}
        return [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": ident, "content": text}]

    messages = [SHAPES[0], SHAPES[3], SHAPES[2], *turn("a", "Error: 1"), *turn("b", "Error: 2"), *turn("c", "fine")]
    assert last_failure(messages) == 6
    assert goals(messages) == (2,)
    assert protected(messages) == {0, 2, 5, 6}


def test_the_newest_rendered_state_holds_the_goal_too() -> None:
    messages = [{"role": "user", "content": "go"}, {"role": "user", "content": "Done: a\n\nGOAL (unchanged): go"}] * 2
    assert goals(messages) == (0, 3)


class ClientCall:
    """A call as a provider's client hands it out."""

    def model_dump(self, **options: Any) -> dict[str, Any]:
        return {"id": "c1", "type": "function", "function": {"name": "run", "arguments": '{"x": 1}'}}


def test_a_call_that_is_a_clients_object_is_counted_and_stays_with_its_result() -> None:
    messages: list[Message] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [ClientCall()]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]
    assert [(piece.kind, piece.text) for piece in pieces(messages[1])] == [("call", 'run {"x":1}')]
    assert groups(messages) == [range(0, 1), range(1, 3)] and orphans(messages) == ()
