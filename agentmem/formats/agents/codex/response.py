"""Where a model call begins and ends in a rollout, and which report of tokens is its own.

The items of one response stand together; what is not the model's ends it, and so does a report of tokens. Reports stand
behind the items of their call; in files of 2025 before them. Which it is shows at the first one. Of the two figures of
a report `last_token_usage` is the call, its input with what was cached; `total_token_usage` is the lifetime of the
thread and never a context size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentmem.formats.agents.codex import history
from agentmem.formats.agents.codex.held import Held
from agentmem.formats.agents.codex.records.items import call_of
from agentmem.formats.agents.codex.records.lines import Place
from agentmem.formats.draft import Call, LaneDraft, RunDraft, StepDraft
from agentmem.formats.messages import Part
from agentmem.formats.usage import OPENAI
from agentmem.model import Usage
from agentmem.tape import Piece

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


class Response:
    """The model calls of one lane."""

    def __init__(self, draft: RunDraft, lane: LaneDraft) -> None:
        self._lane = lane
        self.held = Held(draft.count)
        self.model: str | None = None
        self._counts = Counts()
        self._open = False
        self._only_thoughts = True
        self._before = False
        """Reports stand before the items of their call."""
        self._waiting: Usage | None = None
        self._compacted = False
        """The prompt was compacted and no call was made since: a report now is that of the compaction itself."""

    @property
    def window(self) -> int | None:
        return self._counts.window

    def end(self, *, forget: bool = False) -> None:
        """The response is over. `forget`: a report that waits was of a call that leaves nothing in the prompt."""
        self._open = False
        if forget:
            self._waiting = None
            self._compacted = True

    def reply(
        self, piece: Piece, part: Part, at: float | None, *, served: bool = False, status: object = None
    ) -> int:
        """A piece of an answer; opens a step if none is open."""
        lane = self._lane
        if not self._open:
            step = lane.close(at=at, usage=self._waiting, model=self.model)
            self._waiting, self._open, self._only_thoughts, self._compacted = None, True, True, False
            self._explain(step)
        if piece.kind != "thinking":
            self._only_thoughts = False
        call = None
        if part.kind == "call" and part.tool is not None:
            tool, arguments = call_of(part)
            call = Call(tool, arguments, part.call_id, at)
            if served:
                call.answered, call.outcome = True, "ok" if status in ("completed", None) else "unknown"
        return lane.reply(piece, call)

    def count(self, payload: Mapping[str, Any], place: Place, *, copied: bool) -> None:
        """A report of tokens."""
        lane = self._lane
        usage = self._counts.take(payload, place)
        boundary = lane.boundary
        if self._counts.estimate is not None:
            if boundary is not None and boundary.kind == "compaction" and "estimates" not in boundary.why:
                why = f"{boundary.why}; the agent estimates {self._counts.estimate:,} tokens after it"
                lane.boundary = replace(boundary, why=why)
            self._counts.estimate = None
        if usage is None or copied:
            return
        last = lane.steps[-1] if lane.steps else None
        if last is None or self._before and last.usage is not None:
            self._before, self._waiting = True, usage
        elif last.usage is None and not self._compacted:
            self._before = False
            last.usage = usage
            lane.touch(last)
            self._explain(last)
        if not self._only_thoughts:
            self._open = False

    def _explain(self, step: StepDraft) -> None:
        """The known cause of a fall at the first call of a turn."""
        if step.boundary is None and step.usage is not None:
            if any(item.record.startswith(history.NOT_AGAIN) for item in step.declared):
                step.boundary = history.explain(self._lane.steps, step)
