"""Messages of a Cline session -> pieces and calls on a lane."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentmem.formats.draft import LaneDraft
from agentmem.formats.messages import Message, compact_json, split
from agentmem.formats.shared.rewriting import call_of, mapping, piece_of, where_of
from agentmem.formats.shared.times import seconds
from agentmem.formats.usage import ANTHROPIC, OPENAI, amount, money_of
from agentmem.formats.versions import Item
from agentmem.model import Boundary, Kind, Usage
from agentmem.pattern import pattern
from agentmem.tape import Piece

_NOTICE = "<SYSTEM_NOTICE>"
_INPUT = pattern(r"<user_input\b[^>]*>(.*?)</user_input>", re.DOTALL)
_GOAL = pattern(r"## Goal\s*\n(.+?)(?=\n## |\Z)", re.DOTALL)


class Feeder:
    """Puts messages on a lane."""

    def __init__(self, lane: LaneDraft) -> None:
        self.lane = lane
        self.goal: str | None = None
        self.orphaned = False
        """The first message is a summary: what the run was asked at first is not in the file."""
        self.model: str | None = None

    def feed(self, value: Mapping[str, Any], item: Item) -> None:
        lane, message, at = self.lane, split_record(value), seconds(value.get("ts"))
        preserved = mapping(value.get("metadata")).get("compaction") == "preserved"
        if message.role == "assistant" and preserved:  # An earlier answer that a compaction kept: no new call.
            for number, part in enumerate(message.parts):
                lane.append(piece_of(item, number, part))
            return
        if message.role == "assistant":
            model = mapping(value.get("modelInfo")).get("id")
            self.model = model if isinstance(model, str) else self.model
            lane.close(at=at, usage=usage_of_metrics(value.get("metrics")), model=self.model)
            for number, part in enumerate(message.parts):
                call = call_of(part)
                if call is not None:
                    call.started = at
                lane.reply(piece_of(item, number, part), call, stays=part.kind != "thinking")
            return
        if message.compaction and lane.boundary is None:
            lane.boundary = boundary_of([value], "a summary stands in the place of older messages")
        for number, part in enumerate(message.parts):
            if part.kind == "summary" and self.goal is None and part.text:
                found = _GOAL.search(part.text)
                self.goal = found.group(1).strip() if found else None
                self.orphaned = self.orphaned or not lane.steps
            if part.kind == "user" and part.text and self.goal is None and not self.orphaned:
                self._ask(part.text, number, item)
            elif part.kind in ("result", "error"):
                lane.answer(piece_of(item, number, part), failed=part.failed, at=at)
            else:
                lane.append(piece_of(item, number, part))

    def _ask(self, text: str, number: int, item: Item) -> None:
        found = _INPUT.search(text)
        start, end = found.span(1) if found else (0, len(text))
        if not text[start:end].strip():
            start, end = 0, len(text)
        self.goal = text[start:end]
        for a, b in ((0, start), (start, end), (end, len(text))):
            if text[a:b].strip():
                span = None if b - a == len(text) else (a, b)
                kind: Kind = "goal" if (a, b) == (start, end) else "user"
                self.lane.append(Piece(kind, text[a:b], where_of(item, number, span)))

    def same_goal(self, pieces: list[Piece]) -> None:
        """The first request, kept by a compaction, is the goal there too."""
        for index, piece in enumerate(pieces):
            if piece.kind == "user" and piece.text == self.goal and self.goal is not None:
                pieces[index] = Piece("goal", piece.text, piece.where)


def split_record(value: Mapping[str, Any]) -> Message:
    """The pieces of one message. A file that the person gave is text; a notice of a compaction is a summary."""
    content = value.get("content")
    kind = mapping(value.get("metadata")).get("kind")
    blocks = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping) and block.get("type") == "file" and isinstance(block.get("content"), str):
            block = {"type": "text", "text": block["content"]}
        blocks.append(_with_text(block))
    message = split({**value, "content": blocks} if isinstance(content, list) else value)
    for part in message.parts:
        told = part.text is not None and (part.text.startswith(_NOTICE) or kind == "compaction_summary")
        if part.kind == "user" and told:
            part.kind = "summary"
        elif part.kind == "result":
            part.failed = True if part.failed else _failed(part.text)
    message.compaction = any(part.kind == "summary" for part in message.parts)
    return message


def _with_text(block: object) -> object:
    """A result that is a list of objects (query, result, success) is text: its JSON."""
    content = block.get("content") if isinstance(block, Mapping) else None
    if not isinstance(block, Mapping) or not isinstance(content, list):
        return block
    told = any(isinstance(one, Mapping) and "type" not in one for one in content)
    return {**block, "content": compact_json(content)} if told else block


def _failed(text: str | None) -> bool | None:
    """Results of its tools say `success`, one or several."""
    if text is None or not text.startswith(("[{", "{")):
        return None
    told = re.findall(r'"success"\s*:\s*(true|false)', text[-4000:])
    return None if not told else "false" in told


def boundary_of(values: list[Mapping[str, Any]], why: str) -> Boundary:
    """What the messages of a compaction say of it."""
    for value in values:
        told = mapping(value.get("metadata"))
        if told.get("kind") == "compaction_summary":
            return Boundary("compaction", True, amount(told.get("tokensBefore")), None, f"agentic {why}")
        if told.get("kind") == "compaction":
            removed = amount(told.get("messagesRemoved"))
            return Boundary(
                "compaction", True, None, None, f"basic {why}" + (f", {removed} removed" if removed is not None else "")
            )
    return Boundary("compaction", True, None, None, why)


def usage_of_metrics(metrics: object) -> Usage | None:
    """Metrics of one call. Input includes what was cached, unless more was cached than came in."""
    if not isinstance(metrics, Mapping):
        return None
    given, read = amount(metrics.get("inputTokens")), amount(metrics.get("cacheReadTokens"))
    wrote, money = amount(metrics.get("cacheWriteTokens")), money_of(metrics.get("cost"))
    outside = given is not None and (read or 0) > given
    prompt = None if given is None else given + (read or 0) + (wrote or 0) if outside else given
    return Usage(
        prompt, read, wrote, amount(metrics.get("outputTokens")), None, money, ANTHROPIC if outside else OPENAI,
        "metrics",
    )  # fmt: skip
