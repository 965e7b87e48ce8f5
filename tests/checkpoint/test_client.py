"""A wrapped client records what was sent and what came back, and is otherwise the client it was."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentmem.checkpoint.client import NotRecorded, wrap
from agentmem.checkpoint.recorder import history, load, record
from agentmem.checkpoint.store import ConflictError
from tests.formats.agents.following import opened

CHAT = {
    "id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-test-1",
    "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": None, "tool_calls": [
        {"id": "t1", "type": "function", "function": {"name": "run", "arguments": "{}"}}]}}],
    "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
}  # fmt: skip
RESPONSE = {
    "id": "r1", "object": "response", "created_at": 1, "model": "gpt-test-1", "status": "completed",
    "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    "output": [{"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [
        {"type": "output_text", "text": "hello", "annotations": []}]}],
    "usage": {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6,
              "input_tokens_details": {"cached_tokens": 2}, "output_tokens_details": {"reasoning_tokens": 0}},
}  # fmt: skip
MESSAGE = {
    "id": "m1", "type": "message", "role": "assistant", "model": "claude-test-1", "stop_reason": "end_turn",
    "stop_sequence": None, "content": [{"type": "text", "text": "hello"}],
    "usage": {"input_tokens": 5, "output_tokens": 1, "cache_read_input_tokens": 100},
}  # fmt: skip
ANSWERS = {"/chat/completions": CHAT, "/responses": RESPONSE, "/v1/messages": MESSAGE}
ASKED: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]
TOOLS: list[dict[str, Any]] = [{"type": "function", "function": {"name": "run", "parameters": {"type": "object"}}}]


class Provider(BaseHTTPRequestHandler):
    """Answers as the real services do, for the paths above; a request with `stream` gets two events."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = ANSWERS[self.path]
        if asked.get("stream"):
            chunk = {
                "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [{"index": 0, "delta": {"content": "he"}, "finish_reason": None}],
            }  # fmt: skip
            body = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()
            kind = "text/event-stream"
        else:
            body, kind = json.dumps(answer).encode(), "application/json"
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        return


@contextmanager
def provider() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_chat_client_records_request_reply_usage_model_and_tools(tmp_path: Path) -> None:
    openai = pytest.importorskip("openai")
    run = record("r", folder=tmp_path)
    with provider() as url, run.wrap(openai.OpenAI(api_key="k", base_url=url)) as client:
        messages = list(ASKED)
        reply = client.chat.completions.create(model="gpt-test", messages=messages, tools=TOOLS)
        assert reply.choices[0].message.tool_calls[0].function.name == "run"
        messages.append(reply.choices[0].message)  # the client's own object, as loops do
        messages.append({"role": "tool", "tool_call_id": "t1", "content": "done"})
        client.with_options(timeout=5).chat.completions.create(model="gpt-test", messages=messages, tools=TOOLS)
        assert client.api_key == "k"
    first, second = history("r", tmp_path)
    call = CHAT["choices"][0]["message"]["tool_calls"]  # type: ignore[index]  # a nested literal
    assert first.prompt == ASKED and first.messages[1]["tool_calls"] == call
    assert (first.model, first.tools) == ("gpt-test-1", TOOLS)
    assert first.usage["prompt_tokens"] == 11
    assert len(second.prompt or []) == 3 and len(second.messages) == 4
    lines = [json.loads(line) for line in (tmp_path / "r.steps.jsonl").read_bytes().splitlines()]
    assert lines[1]["keep"] == 2 and lines[1]["prompt"]["keep"] == 1 and "tools" not in lines[1]
    assert run.problems == []


def test_an_async_chat_client_is_recorded_too(tmp_path: Path) -> None:
    openai = pytest.importorskip("openai")

    async def work(url: str) -> None:
        async with wrap(openai.AsyncOpenAI(api_key="k", base_url=url), run) as client:
            reply = await client.chat.completions.create(model="gpt-test", messages=ASKED)
            assert reply.model == "gpt-test-1"

    run = record("r", folder=tmp_path)
    with provider() as url:
        asyncio.run(work(url))
    assert load("r", tmp_path).messages[0] == ASKED[0] and run.step == 1


def test_the_responses_interface_is_recorded_and_is_exact_only_if_all_was_sent(tmp_path: Path) -> None:
    openai = pytest.importorskip("openai")
    run = record("r", folder=tmp_path)
    with provider() as url, run.wrap(openai.OpenAI(api_key="k", base_url=url)) as client:
        client.responses.create(model="gpt-test", input="hi", instructions="be brief")
        client.responses.create(model="gpt-test", input="more", previous_response_id="r1")
    first, second = history("r", tmp_path)
    assert (first.prompt, first.system) == ([{"role": "user", "content": "hi"}], "be brief")
    assert first.messages[1]["content"][0]["text"] == "hello"
    assert first.usage["input_tokens_details"]["cached_tokens"] == 2
    assert second.prompt is None


def test_a_messages_client_is_recorded_with_its_system_prompt(tmp_path: Path) -> None:
    anthropic = pytest.importorskip("anthropic")
    run = record("r", folder=tmp_path)
    with provider() as url, run.wrap(anthropic.Anthropic(api_key="k", base_url=url)) as client:
        client.messages.create(model="claude-test", max_tokens=10, messages=ASKED, system="be brief")
    only = load("r", tmp_path, rebuild=True)
    assert (only.prompt, only.system, only.model) == (ASKED, "be brief", "claude-test-1")
    assert only.messages[1]["content"] == [{"type": "text", "text": "hello"}]
    assert only.usage["cache_read_input_tokens"] == 100


def test_a_streamed_reply_passes_untouched_and_the_run_says_that_it_is_not_recorded(tmp_path: Path) -> None:
    openai = pytest.importorskip("openai")
    run = record("r", folder=tmp_path)
    with provider() as url, run.wrap(openai.OpenAI(api_key="k", base_url=url)) as client:
        with pytest.warns(NotRecorded, match="streamed"):
            stream = client.chat.completions.create(model="gpt-test", messages=ASKED, stream=True)
        assert isinstance(stream, openai.Stream)
        assert [chunk.choices[0].delta.content for chunk in stream] == ["he"]
        with pytest.warns(NotRecorded, match="with_raw_response"):
            _ = client.chat.completions.with_raw_response
    now = load("r", tmp_path, rebuild=True)
    assert (now.messages, now.prompt, now.usage) == (ASKED, ASKED, None)
    assert len(run.problems) == 2


def fake(reply: Any) -> Any:
    """A client of nobody's make, of the chat shape."""
    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=lambda **request: reply)), other=3)


def test_a_client_of_any_make_is_recorded_by_its_shape(tmp_path: Path) -> None:
    message = SimpleNamespace(role="assistant", content="ok", refusal=None)
    reply = SimpleNamespace(choices=[SimpleNamespace(message=message)], usage=None, model=None)
    run = record("r", folder=tmp_path)
    client = run.wrap(fake(reply))
    assert client.chat.completions.create(model="m", messages=ASKED) is reply and client.other == 3
    now = load("r", tmp_path)
    assert now.messages[1]["content"] == "ok" and now.model == "m" and now.usage is None


def test_state_and_notes_come_with_the_next_call(tmp_path: Path) -> None:
    run = record("r", folder=tmp_path)
    client = run.wrap(fake({"choices": [{"message": {"content": "ok"}}]}))
    run.update(state={"goal": "g"}, notes="n")
    client.chat.completions.create(model="m", messages=ASKED)
    assert (load("r", tmp_path).state, load("r", tmp_path).notes) == ({"goal": "g"}, "n")


def test_a_call_that_cannot_be_recorded_still_answers_and_says_so(tmp_path: Path) -> None:
    run, other = record("r", folder=tmp_path), record("r", folder=tmp_path)
    other.save(ASKED)
    client = run.wrap(fake({"choices": []}))
    with pytest.warns(NotRecorded, match="was saved by another"):
        assert client.chat.completions.create(model="m", messages=ASKED) == {"choices": []}
    assert "was saved by another" in run.problems[0]
    with pytest.raises(ConflictError):
        run.save(ASKED)


def test_an_error_of_the_provider_passes_and_nothing_is_recorded(tmp_path: Path) -> None:
    def create(**request: Any) -> Any:
        raise RuntimeError("overloaded")

    run = record("r", folder=tmp_path)
    client = run.wrap(SimpleNamespace(messages=SimpleNamespace(create=create)))
    with pytest.raises(RuntimeError, match="overloaded"):
        client.messages.create(messages=ASKED)
    assert run.step == 0 and run.problems == []


def test_what_is_no_client_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="dict has no chat"):
        record("r", folder=tmp_path).wrap({})


def test_messages_that_can_be_gone_through_only_once_reach_the_provider(tmp_path: Path) -> None:
    def create(**request: Any) -> Any:
        return {"choices": [{"message": {"content": str(len(list(request["messages"])))}}]}

    run = record("r", folder=tmp_path)
    client = run.wrap(SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create))))
    reply = client.chat.completions.create(messages=iter(ASKED))
    assert reply["choices"][0]["message"]["content"] == "1"
    assert load("r", tmp_path).messages[0] == ASKED[0]


def test_a_reply_of_an_odd_shape_is_given_all_the_same(tmp_path: Path) -> None:
    turning = SimpleNamespace(content="hi")
    turning.me = turning
    run = record("r", folder=tmp_path)
    for reply in ({"choices": [{"message": turning}]}, {"choices": {"a": 1}}):
        client = run.wrap(fake(reply))
        with pytest.warns(NotRecorded, match="a call was not recorded: (RecursionError|KeyError)"):
            assert client.chat.completions.create(messages=ASKED) is reply
    with pytest.warns(NotRecorded, match="its messages are no list"):
        run.wrap(fake({})).chat.completions.create(messages=5)
    assert run.step == 0


SHAPES = {
    "chat": ({"choices": [{"message": {"content": "ok"}}]}, "messages", None),
    "responses": ({"output": []}, "input", "instructions"),
    "messages": ({"content": "ok"}, "messages", "system"),
}


def call(client: Any, shape: str, **request: Any) -> None:
    target = client.chat.completions if shape == "chat" else getattr(client, shape)
    target.create(model="m", **request)


def clients(shape: str) -> Any:
    reply = SHAPES[shape][0]
    return fake(reply) if shape == "chat" else SimpleNamespace(
        **{shape: SimpleNamespace(create=lambda **request: reply)}
    )  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_call_did_not_send_is_empty_and_not_what_the_call_before_sent(tmp_path: Path, shape: str) -> None:
    run = record("r", folder=tmp_path, goal="g")
    client, (_, given, system) = run.wrap(clients(shape)), SHAPES[shape]
    first = {"tools": TOOLS} | ({system: "be brief"} if system else {})
    call(client, shape, **{given: ASKED}, **first)
    call(client, shape, **{given: ASKED})
    call(client, shape, **{given: ASKED}, **dict.fromkeys(first))
    call(client, shape, **{given: ASKED}, **{name: object() for name in first})  # the "not given" mark of a client
    found = [(version.system, version.tools) for version in history("r", tmp_path)]
    assert found == [("be brief" if system else "", TOOLS), ("", []), ("", []), ("", [])]
    seen = opened(tmp_path / "r.json").run.main.steps
    kinds = [{segment.kind for segment in step.prompt} for step in seen[:4]]
    assert "tools" in kinds[0] and not any(kind & {"tools", "system"} for kind in kinds[1:])
    gone = [drop.kind for drop in seen[1].drops if drop.kind in ("system", "tools")]
    assert gone == (["system", "tools"] if system else ["tools"])


def test_whatever_form_tools_and_a_system_prompt_are_given_in_they_are_recorded(tmp_path: Path) -> None:
    run = record("r", folder=tmp_path)
    chat, messages = run.wrap(clients("chat")), run.wrap(clients("messages"))
    block = {"type": "text", "text": "be brief"}
    call(messages, "messages", messages=ASKED, system=(block,), tools=dict(enumerate(TOOLS)).values())
    call(messages, "messages", messages=ASKED, system=iter([block]), tools=iter(TOOLS))
    call(chat, "chat", messages=ASKED, functions=[TOOLS[0]["function"]])
    call(chat, "chat", messages=ASKED, extra_body={"tools": TOOLS})
    found = [(version.system, version.tools) for version in history("r", tmp_path)]
    assert found == [([block], TOOLS), ([block], TOOLS), ("", [TOOLS[0]["function"]]), ("", TOOLS)]
    assert run.problems == []


def test_a_prompt_that_the_provider_keeps_makes_a_call_no_exact_one(tmp_path: Path) -> None:
    run = record("r", folder=tmp_path)
    client = run.wrap(clients("responses"))
    call(client, "responses", input="hi", prompt={"id": "pmpt_1"})
    assert [version.prompt for version in history("r", tmp_path)] == [None]


def test_an_enumeration_in_a_reply_is_its_value(tmp_path: Path) -> None:
    class Role(Enum):
        ASSISTANT = "assistant"

    run = record("r", folder=tmp_path)
    message = SimpleNamespace(role=Role.ASSISTANT, content="ok")
    run.wrap(fake({"choices": [{"message": message}]})).chat.completions.create(messages=ASKED)
    assert load("r", tmp_path).messages[1] == {"role": "assistant", "content": "ok"}
