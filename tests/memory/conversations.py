"""Conversations in the OpenAI chat, the Responses and the Anthropic shape, drawn for properties."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Message = dict[str, Any]
TEXT = st.text("ab cdé漢", min_size=1, max_size=40)
RESULT = TEXT | st.integers(450, 1200).map("x".__mul__) | st.sampled_from(["Error: no such port", '{"error": "busy"}'])


@st.composite
def conversations(draw: st.DrawFn, turns: int = 9) -> list[Message]:
    """A system message (sometimes), the goal, then turns: texts, and calls with their results."""
    turned = draw(st.sampled_from([_chat, _blocks, _items]))
    messages: list[Message] = []
    if draw(st.booleans()):
        messages.append({"role": "system", "content": "You are careful."})
    messages.append({"role": "user", "content": "Read the meters: " + draw(TEXT)})
    unique = draw(st.booleans())
    for turn in range(draw(st.integers(0, turns))):
        match draw(st.sampled_from(["user", "assistant", "calls", "calls"])):
            case "user":
                messages.append({"role": "user", "content": draw(TEXT)})
            case "assistant":
                messages.append({"role": "assistant", "content": draw(TEXT)})
            case _:
                ids = [f"c{turn if unique else 0}-{i}" for i in range(draw(st.integers(1, 3)))]
                results = [draw(RESULT) for _ in ids]
                messages += turned(draw(TEXT), ids, results)
    return messages


def _chat(said: str, ids: list[str], results: list[str]) -> list[Message]:
    calls = [{"id": i, "type": "function", "function": {"name": "read", "arguments": '{"n": 1}'}} for i in ids]
    answers = [{"role": "tool", "tool_call_id": i, "content": r} for i, r in zip(ids, results, strict=True)]
    return [{"role": "assistant", "content": said, "tool_calls": calls}, *answers]


def _blocks(said: str, ids: list[str], results: list[str]) -> list[Message]:
    calls = [{"type": "tool_use", "id": i, "name": "read", "input": {"n": 1}} for i in ids]
    answers = [
        {
            "type": "tool_result",
            "tool_use_id": i,
            "content": r if len(r) % 2 else [{"type": "text", "text": r}],
            "is_error": "rror" in r,
        }
        for i, r in zip(ids, results, strict=True)
    ]
    return [
        {"role": "assistant", "content": [{"type": "text", "text": said}, *calls]},
        {"role": "user", "content": answers},
    ]


def _items(said: str, ids: list[str], results: list[str]) -> list[Message]:
    calls = [
        {"type": "function_call", "id": f"fc-{i}", "call_id": i, "name": "read", "arguments": '{"n": 1}'} for i in ids
    ]
    answers = [
        {
            "type": "function_call_output",
            "call_id": i,
            "output": r if len(r) % 2 else [{"type": "input_text", "text": r}],
        }
        for i, r in zip(ids, results, strict=True)
    ]
    told = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]}
    return [{"type": "reasoning", "summary": [{"type": "summary_text", "text": said[:8]}]}, *calls, *answers, told]
