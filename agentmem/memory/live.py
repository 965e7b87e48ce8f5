"""A live client: any OpenAI-compatible endpoint, through the `openai` package of the `live` extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from agentmem import safe
from agentmem.memory.messages import Message
from agentmem.memory.recall.embeddings import MissingExtra
from agentmem.model import Usage


class LiveError(Exception):
    """The endpoint gave no reply; the message says which endpoint and why, in one line."""


class OpenAIClient:
    """Messages -> reply, for `agentmem.memory.agent.Agent`. Timeouts and retries are the package's own."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        retries: int = 2,
        **options: Any,
    ) -> None:
        """Without `base_url` and `api_key` the package reads OPENAI_BASE_URL and OPENAI_API_KEY.

        `options` go into every request (temperature, max_tokens, ...). Raises MissingExtra if the package is not
        installed, LiveError without a key.
        """
        try:
            self._package: Any = import_module("openai")
        except ImportError:
            raise MissingExtra(
                "a live client needs the package openai: pip install 'agentmem-inspector[live]'"
            ) from None
        try:
            self._client = self._package.OpenAI(
                base_url=base_url, api_key=api_key, timeout=timeout, max_retries=retries
            )
        except self._package.OpenAIError as error:
            raise LiveError(f"openai: {_one_line(error)}") from None
        self.model = model
        self.options = options
        self.usage: Usage | None = None
        """What the endpoint reported for the newest call; None if it reported nothing."""

    def __call__(self, messages: list[Message]) -> str:
        """The text of the reply. Raises LiveError if the endpoint refuses, cannot be reached or says nothing."""
        self.usage = None
        try:
            answer = self._client.chat.completions.create(model=self.model, messages=messages, **self.options)
        except self._package.OpenAIError as error:
            raise LiveError(f"{self._client.base_url}: {_one_line(error)}") from error
        if answer.usage is not None:
            cached = getattr(answer.usage.prompt_tokens_details, "cached_tokens", None)
            self.usage = Usage(
                prompt=answer.usage.prompt_tokens, cached=cached, output=answer.usage.completion_tokens,
                rule="prompt_tokens (cached included)", source=self.model,
            )  # fmt: skip
        text = answer.choices[0].message.content if answer.choices else None
        if not isinstance(text, str):
            raise LiveError(f"{self._client.base_url}: the reply has no text")
        return text

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()


def _one_line(error: Exception) -> str:
    return safe.line(f"{type(error).__name__}: {error}")[:500]
