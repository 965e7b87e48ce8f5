"""Token numbers that mislead: rows of the cases, each from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentmem.cli import main
from agentmem.inspect.open import open_run
from agentmem.inspect.telling.explain import explain_piece, not_sent_again
from tests.cases.written import (
    Message,
    call,
    each,
    list_of,
    log,
    open_file,
    piece,
    request,
    result,
    said,
    system,
    told,
    user,
)

MEGABYTE = "data:image/png;base64," + "QUJD" * 250_000


def codex(path: Path, usages: list[tuple[int, int]], window: int) -> Path:
    """A rollout: each call with its last usage and the total of the whole session."""
    lines: list[Message] = [
        {"type": "session_meta", "payload": {"id": "0199a213-81c0-7800-8aa1-bbab2a035a53", "cwd": "/w",
                                             "originator": "codex_cli_rs", "cli_version": "0.104.0"}},
        {"type": "response_item", "payload": {"type": "message", "role": "user",
                                              "content": [{"type": "input_text", "text": "sort the files by size"}]}},
    ]  # fmt: skip
    for number, (last, total) in enumerate(usages, 1):
        lines += [
            {"type": "response_item", "payload": {"type": "function_call", "name": "shell", "call_id": f"c{number}",
                                                  "arguments": json.dumps({"command": ["ls", str(number)]})}},
            {"type": "event_msg", "payload": {"type": "token_count", "info": {
                "total_token_usage": {"input_tokens": total, "output_tokens": 10, "total_tokens": total + 10},
                "last_token_usage": {"input_tokens": last, "cached_input_tokens": 0, "output_tokens": 10,
                                     "total_tokens": last + 10},
                "model_context_window": window}}},
            {"type": "response_item", "payload": {"type": "function_call_output", "call_id": f"c{number}",
                                                  "output": f"file {number}"}},
        ]  # fmt: skip
    stamped = [{"timestamp": f"2026-03-01T10:00:{n:02}.000Z", **line} for n, line in enumerate(lines)]
    return log(path, stamped)


def test_a_lifetime_total_is_never_the_size_of_a_context(tmp_path: Path) -> None:
    last = [22_217, 27_012, 27_900, 28_400]
    usages = [(size, sum(last[: n + 1]) * 4) for n, size in enumerate(last)]
    run = open_run(str(codex(tmp_path / "rollout-2026-03-01T10-00-00-0199a213.jsonl", usages, 258_400))).run
    assert [step.usage.prompt for step in each(run) if step.usage is not None] == last
    assert (run.window, run.window_source) == (258_400, "declared")


@pytest.mark.parametrize("shape", ["chat", "anthropic"])
def test_arguments_of_calls_count(tmp_path: Path, shape: str) -> None:
    text = "x" * 40_000
    write = call("c1", "write", path="a", text=text)
    if shape == "anthropic":
        write = {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c1", "name": "write", "input": {"path": "a", "text": text}}]}  # fmt: skip
    run = list_of(tmp_path / "run.json", [user("write it"), write, result("c1", "written"), user("good")])
    call_piece = piece(run.main.steps[-1], "call")
    assert call_piece.tokens is not None and 10_000 <= call_piece.tokens <= 10_020
    assert run.main.steps[-1].tokens.trace is not None and run.main.steps[-1].tokens.trace > 10_000


def test_tool_schemas_that_are_not_in_the_file_are_unknown_not_zero(tmp_path: Path) -> None:
    run = list_of(tmp_path / "run.json", [user("look"), said("yes")])
    assert run.main.steps[0].tokens.fixed is None
    assert run.unknown == ("system prompt", "tool schemas")


def test_tool_schemas_that_were_sent_count_as_fixed(tmp_path: Path) -> None:
    tools = [
        {"type": "function", "function": {"name": f"tool_{n}", "description": "d" * 400, "parameters": {}}}
        for n in range(14)
    ]
    line = request([system("s" * 40), user("look")], said("yes"), tools=tools)
    run = open_file(log(tmp_path / "calls.jsonl", [line])).run
    step = each(run)[0]
    assert piece(step, "tools").tokens is not None
    assert step.tokens.fixed is not None and step.tokens.fixed > 14 * 100
    assert step.tokens.prompt == (step.tokens.state or 0) + (step.tokens.trace or 0) + step.tokens.fixed


PICTURES: dict[str, Message] = {
    "chat": {"type": "image_url", "image_url": {"url": MEGABYTE}},
    "responses": {"type": "input_image", "image_url": MEGABYTE},
    "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 250_000}},
}


@pytest.mark.parametrize("shape", PICTURES)
def test_a_picture_costs_a_flat_amount_and_its_payload_is_never_shown(tmp_path: Path, shape: str) -> None:
    source = open_file(tmp_path / "run.json", [
        {"role": "user", "content": [{"type": "text", "text": "what is this?"}, PICTURES[shape]]}, said("a cat"),
    ])  # fmt: skip
    step = source.run.main.steps[0]
    picture = piece(step, "image")
    assert picture.tokens is not None and picture.tokens < 2_000
    assert source.text(picture) == "image, 1.0 MB"
    assert step.tokens.prompt is not None and step.tokens.prompt < 2_000


@pytest.mark.parametrize("shape", PICTURES)
def test_a_picture_that_a_tool_returned_costs_the_same(tmp_path: Path, shape: str) -> None:
    answer: Message = {"role": "tool", "tool_call_id": "c1", "content": [PICTURES[shape]]}
    if shape == "anthropic":
        answer = {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": [PICTURES[shape]]}]}  # fmt: skip
    source = open_file(tmp_path / "run.json", [user("look"), call("c1", "shot"), answer, user("and?")])
    step = source.run.main.steps[-1]
    assert step.tokens.prompt is not None and 500 < step.tokens.prompt < 2_500
    assert all("QUJD" not in (text or "") for _, text in told(source, step))
    assert any("image, 1.0 MB" in (text or "") for _, text in told(source, step))


def test_a_picture_as_text_is_heavy_text(tmp_path: Path) -> None:
    source = open_file(tmp_path / "run.json", [user("look"), call("c1", "cat"), result("c1", MEGABYTE), user("and?")])
    heavy = piece(source.run.main.steps[-1], "result")
    assert heavy.tokens is not None and heavy.tokens > 250_000
    assert heavy.head is not None and len(heavy.head) == 120


REASONING: dict[str, Message] = {
    "langchain": {"type": "reasoning", "reasoning": "short", "extras": {"encrypted_content": "Q" * 4000}},
    "responses": {"type": "reasoning", "summary": [{"type": "summary_text", "text": "short"}],
                  "encrypted_content": "Q" * 4000},
    "anthropic": {"type": "thinking", "thinking": "short", "signature": "Q" * 4000},
    "redacted": {"type": "redacted_thinking", "data": "Q" * 4000},
    "unheard of": {"type": "cogitation", "note": "short", "signature": "Q" * 4000},
}  # fmt: skip


@pytest.mark.parametrize("shape", REASONING)
def test_ciphertext_and_signatures_are_no_text_and_cost_nothing_that_we_claim_to_know(
    tmp_path: Path, shape: str
) -> None:
    answer = {"role": "assistant", "content": [REASONING[shape], {"type": "text", "text": "yes"}]}
    source = open_file(tmp_path / "run.json", [user("is it?"), answer, user("sure?")])
    step = source.run.main.steps[-1]
    assert step.tokens.prompt is not None and step.tokens.prompt < 60
    assert all("QQQQ" not in (text or "") for _, text in told(source, step))
    kinds = [segment.kind for segment in step.prompt]
    assert ("thinking" in kinds) == (shape != "unheard of")


def gemini(path: Path) -> Path:
    """A chat in which the model thinks before each of two answers; Gemini CLI sends thoughts once and never again."""
    thought = {"subject": "Counting", "description": "the meters of Izmir"}
    lines: list[Message] = [
        {"sessionId": "s1", "projectHash": "p", "startTime": "2026-04-13T17:06:00Z", "kind": "main"},
        {"id": "u1", "timestamp": "2026-04-13T17:06:01Z", "type": "user", "content": "count them"},
        {"id": "g1", "timestamp": "2026-04-13T17:06:02Z", "type": "gemini", "content": "forty", "thoughts": [thought]},
        {"id": "u2", "timestamp": "2026-04-13T17:06:03Z", "type": "user", "content": "again"},
        {"id": "g2", "timestamp": "2026-04-13T17:06:04Z", "type": "gemini", "content": "forty-one",
         "thoughts": [thought]},
    ]  # fmt: skip
    return log(path, lines)


def test_thinking_that_no_later_call_was_sent_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = gemini(tmp_path / "session-2026-04-13T17-06-s1.jsonl")
    for step, known in ((1, True), (2, False)):
        assert main(["show", str(path), "--step", str(step), "--no-history"]) == 0
        assert ("thinking, not re-sent" in capsys.readouterr().out) == known, "of the last answer it is not known"
        assert main(["show", str(path), "--step", str(step), "--json", "--no-history"]) == 0
        (shown,) = json.loads(capsys.readouterr().out)["steps"]
        assert {one["kind"]: one["not_sent_again"] for one in shown["replies"]} == {
            "thinking": known, "assistant": False,
        }  # fmt: skip
    run = open_run(str(path)).run
    thinking = next(one for one in run.main.steps[0].replies if one.kind == "thinking")
    assert any("not re-sent" in line for line in explain_piece(run, run.main.steps[0], thinking))


def test_thinking_that_stands_in_the_next_request_is_not_marked(tmp_path: Path) -> None:
    answer = {"role": "assistant", "content": [REASONING["anthropic"], {"type": "text", "text": "yes"}]}
    run = open_file(tmp_path / "run.json", [user("is it?"), answer, user("sure?"), said("yes")]).run
    first = run.main.steps[0]
    assert not any(not_sent_again(run.main.steps, first, one) for one in first.replies)


def test_reported_reasoning_tokens_are_kept_apart(tmp_path: Path) -> None:
    usage: dict[str, Any] = {
        "prompt_tokens": 100, "completion_tokens": 50, "completion_tokens_details": {"reasoning_tokens": 40},
    }  # fmt: skip
    run = open_file(log(tmp_path / "calls.jsonl", [request([user("is it?")], said("yes"), usage)])).run
    found = each(run)[0].usage
    assert found is not None and (found.prompt, found.output, found.reasoning) == (100, 50, 40)


@pytest.mark.parametrize(
    ("character", "tokens"), [("a", 40), ("é", 40), ("漢", 127), ("の", 119), ("ネ", 119), ("한", 125), ("。", 127)]
)
def test_the_quick_estimate_goes_by_script_and_names_its_method(tmp_path: Path, character: str, tokens: int) -> None:
    source = open_run(str(log(tmp_path / "calls.jsonl", [request([user(character * 160)], said("a"))])))
    (step,) = each(source.run)
    assert step.tokens.prompt == tokens and step.usage is None
    assert source.run.counter == ("chars4" if tokens == 40 else "quick")
    for name, count in (("chars4", 40), ("words", 1)):
        other = open_run(str(tmp_path / "calls.jsonl"), counter=name).run
        assert (other.counter, each(other)[0].tokens.prompt) == (name, count)


@pytest.mark.parametrize(
    ("usage", "prompt"),
    [
        ({"prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 900}}, 1000),
        ({"input_tokens": 1000, "input_tokens_details": {"cached_tokens": 900}, "output_tokens": 1}, 1000),
        ({"input_tokens": 100, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 50,
          "output_tokens": 1}, 1050),
    ],
)  # fmt: skip
def test_the_usage_rule_follows_the_shape_of_the_record(tmp_path: Path, usage: Message, prompt: int) -> None:
    run = open_file(log(tmp_path / "calls.jsonl", [request([user("is it?")], said("yes"), usage)])).run
    found = each(run)[0].usage
    assert found is not None and found.prompt == prompt and found.rule
