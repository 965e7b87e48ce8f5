"""Reported tokens of a rollout: one `token_count` closes one model call. Of its two figures `last_token_usage` is the
call, its input with what was cached; `total_token_usage` is the lifetime of the thread and never a context size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentmem.formats.agents.codex.lines import Place
from agentmem.formats.usage import OPENAI
from agentmem.model import Usage

_KEYS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens", "total_tokens")


def number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


class Counts:
    """Tells reports of calls from those that are only said again. `window` is the newest one reported."""

    def __init__(self) -> None:
        self.window: int | None = None
        self.estimate: int | None = None
        """What the agent itself estimates for its prompt after a compaction."""
        self._seen: tuple[object, ...] | None = None

    def take(self, payload: Mapping[str, Any], place: Place) -> Usage | None:
        """The usage of a call that no report told before; None for a repeat, an estimate, or limits alone."""
        info = payload.get("info")
        if not isinstance(info, Mapping):
            return None
        self.window = number(info.get("model_context_window")) or self.window
        last, total = info.get("last_token_usage"), info.get("total_token_usage")
        if not isinstance(last, Mapping):
            return None
        if not number(last.get("input_tokens")):
            self.estimate = number(last.get("total_tokens")) or None
            return None
        known = total if isinstance(total, Mapping) else last
        key = tuple(known.get(name) for name in _KEYS)
        if key == self._seen:
            return None
        self._seen = key
        return Usage(
            number(last.get("input_tokens")), number(last.get("cached_input_tokens")),
            number(last.get("cache_write_input_tokens")), number(last.get("output_tokens")),
            number(last.get("reasoning_output_tokens")), None, OPENAI, f"line {place.line}",
        )  # fmt: skip
