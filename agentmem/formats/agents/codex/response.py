"""Where a model call begins and ends in a rollout, and which report of tokens is its own.

The items of one response stand together; what is not the model's ends it, and so does a report of tokens. Reports stand
behind the items of their call; in files of 2025 before them. Which it is shows at the first one. Of the two figures of
a report `last_token_usage` is the call, its input with what was cached; `total_token_usage` is the lifetime of the
thread and never a context size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from agentmem.formats.agents.codex import history
from agentmem.formats.agents.codex.held import Held
from agentmem.formats.agents.codex.records.items import call_of
from agentmem.formats.agents.codex.records.lines import Place
from agentmem.formats.draft import Call, LaneDraft, RunDraft, StepDraft
from agentmem.formats.messages import Part
from agentmem.formats.usage import OPENAI, amount
from agentmem.model import Usage
from agentmem.tape import Piece

_KEYS = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens",
         "reasoning_output_tokens", "total_tokens")  # fmt: skip


class Counts:
    """Tells reports of calls from those that are only said again. `window` is the newest one reported."""

    def __init__(self) -> None:
        self.window: int | None = None
        self.estimate: int | None = None
        """What the agent itself estimates for its prompt after a compaction."""
        self._seen: dict[str, int | None] | None = None

    def take(self, payload: Mapping[str, Any], place: Place) -> Usage | None:
        """The usage of a call that no report told before; None for a repeat, an estimate, or limits alone."""
        info = payload.get("info")
        if not isinstance(info, Mapping):
            return None
        self.window = amount(info.get("model_context_window")) or self.window
        last, total = _figures(info.get("last_token_usage")), _figures(info.get("total_token_usage"))
        if last is not None and not last["input_tokens"]:
            self.estimate = last["total_tokens"] or None
            return None
        known = total or last
        if known is None or known == self._seen:
            return None
        before, self._seen = self._seen, known
        rule = OPENAI
        if last is None:
            last, rule = _difference(before, known), f"{OPENAI}; the growth of the lifetime total"
        if last is None:
            return None
        return Usage(
            last["input_tokens"], last["cached_input_tokens"], last["cache_write_input_tokens"],
            last["output_tokens"], last["reasoning_output_tokens"], None, rule, f"line {place.line}",
        )  # fmt: skip


def _figures(value: object) -> dict[str, int | None] | None:
    """The figures of a report; None if it has none of the prompt and none of the whole."""
    if not isinstance(value, Mapping):
        return None
    found = {key: amount(value.get(key)) for key in _KEYS}
    return None if found["input_tokens"] is None and not found["total_tokens"] else found


def _difference(before: dict[str, int | None] | None, now: dict[str, int | None]) -> dict[str, int | None] | None:
    """The call between two lifetime totals; None where the one before is not known or was larger."""
    if before is None:
        return None
    was, is_ = before["input_tokens"], now["input_tokens"]
    if was is None or is_ is None or is_ <= was:
        return None
    out: dict[str, int | None] = {}
    for key in _KEYS:
        a, b = before[key], now[key]
        out[key] = b - a if a is not None and b is not None and b >= a else None
    return out


ABORTED = "the turn was aborted"


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

    def reply(self, piece: Piece, part: Part, at: float | None, *, served: bool = False, status: object = None) -> int:
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

    def interrupt(self) -> None:
        """Calls of the last step that have no result get none; one that comes late still counts."""
        for call in self._lane.steps[-1].calls if self._lane.steps else ():
            if not call.answered:
                call.answered, call.error = True, ABORTED
                self._lane.touch(self._lane.steps[-1])

    def one(self, usage: object, place: Place, *, copied: bool) -> None:
        """A record of the tokens of one response, where no report told them."""
        last = self._lane.steps[-1] if self._lane.steps else None
        found = _figures(usage)
        if found is None or last is None or last.usage is not None or copied or self._compacted:
            return
        last.usage = Usage(
            found["input_tokens"], found["cached_input_tokens"], found["cache_write_input_tokens"],
            found["output_tokens"], found["reasoning_output_tokens"], None, OPENAI, f"line {place.line}",
        )  # fmt: skip
        self._lane.touch(last)
        self._explain(last)

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
        """The known cause of a fall of reported tokens, where there is one."""
        if step.boundary is None and step.usage is not None:
            step.boundary = history.explain(self._lane.steps, step)
