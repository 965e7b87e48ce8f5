"""The live client against a server of our own on this machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from agentmem.memory.agent import Agent
from agentmem.memory.live import LiveError, OpenAIClient
from agentmem.memory.recall.embeddings import MissingExtra

ANSWER = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "small",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello Sam"}}],
    "usage": {
        "prompt_tokens": 12,
        "completion_tokens": 3,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 4},
    },
}


class Endpoint(ThreadingHTTPServer):
    """Answers every request with `status` and `answer`, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.answer: dict[str, Any] = dict(ANSWER)
        self.asked: list[tuple[str, dict[str, Any], str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body, self.headers["Authorization"]))
        data = json.dumps(self.server.answer).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    pytest.importorskip("openai", reason="needs the live extra")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Endpoint()
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_agent_speaks_to_any_compatible_endpoint(endpoint: Endpoint) -> None:
    client = OpenAIClient("small", base_url=endpoint.url, api_key="k", temperature=0)
    agent = Agent(client, system="Be brief.")
    assert agent.say("I am Sam, şehir İzmir") == "Hello Sam"
    path, body, key = endpoint.asked[0]
    assert (path, key) == ("/v1/chat/completions", "Bearer k")
    assert body == {
        "model": "small",
        "temperature": 0,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "I am Sam, şehir İzmir"},
        ],
    }
    assert client.usage is not None
    assert (client.usage.prompt, client.usage.cached, client.usage.output) == (12, 4, 3)
    client.close()


def test_what_the_endpoint_does_not_report_is_unknown(endpoint: Endpoint) -> None:
    del endpoint.answer["usage"]
    client = OpenAIClient("small", base_url=endpoint.url, api_key="k")
    client([{"role": "user", "content": "hi"}])
    assert client.usage is None
    client.close()


@pytest.mark.parametrize(
    ("status", "answer", "word"),
    [(401, {"error": {"message": "bad key\x1b[2J"}}, "bad key"), (200, {**ANSWER, "choices": []}, "no text"),
     (400, {"error": {"message": "prompt\ntoo long"}}, "too long")],
)  # fmt: skip
def test_a_refusal_is_one_safe_line_that_names_the_endpoint(
    endpoint: Endpoint, status: int, answer: dict[str, Any], word: str
) -> None:
    endpoint.status, endpoint.answer = status, answer
    client = OpenAIClient("small", base_url=endpoint.url, api_key="k", retries=0)
    agent = Agent(client)
    with pytest.raises(LiveError, match=word) as caught:
        agent.say("hi")
    assert endpoint.url in str(caught.value)
    assert "\n" not in str(caught.value) and "\x1b" not in str(caught.value)
    assert (agent.turn, len(agent.memory)) == (0, 0)
    client.close()


def test_an_endpoint_that_is_not_there_is_said(endpoint: Endpoint) -> None:
    url = endpoint.url
    endpoint.server_close()
    client = OpenAIClient("small", base_url=url, api_key="k", retries=0, timeout=2)
    with pytest.raises(LiveError, match=url):
        client([{"role": "user", "content": "hi"}])
    client.close()


def test_without_a_key_or_without_the_package_it_says_what_to_do(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(LiveError, match="OPENAI_API_KEY"):
        OpenAIClient("small")
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtra, match=r"pip install 'agentmem-inspector\[live\]'"):
        OpenAIClient("small")
