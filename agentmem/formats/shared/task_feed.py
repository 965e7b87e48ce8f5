"""Messages of an editor's agent (Cline classic, Roo) -> pieces and calls on a lane, message by message.

The reader decides which messages stand in the prompt; each message remembers its pieces, so that it can be taken out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentmem.formats.draft import Call, LaneDraft, RunDraft, StepDraft
from agentmem.formats.loose import decode
from agentmem.formats.messages import Message, split
from agentmem.formats.shared.rewriting import call_of, piece_of, where_of
from agentmem.formats.shared.vscode_tasks import ENVIRONMENT, checklist, request_span, result_header, xml_calls
from agentmem.formats.versions import Item
from agentmem.model import FRAME, Kind, Usage
from agentmem.tape import Piece

_TAGS = 40
"""Fewer characters than this around a request are its tags."""
_PLAN_TOOLS = ("update_todo_list", "focus_chain")


class TaskFeed:
    """Puts messages on a lane. `pieces[i]` are the ids of message i that stand, or stood, in the prompt."""

    def __init__(self, draft: RunDraft, lane: LaneDraft) -> None:
        self.draft, self.lane = draft, lane
        self.goal: str | None = None
        self.pieces: list[list[int]] = []
        self.blocks: list[list[int]] = []
        """For each piece of a message, the ordinal of its part."""
        self._header: str | None = None

    def skip(self) -> None:
        """A message that is no piece of the prompt."""
        self.pieces.append([])
        self.blocks.append([])

    def answer(
        self, value: Mapping[str, Any], item: Item, at: float | None, usage: Usage | None, model: str | None
    ) -> StepDraft:
        """A model call with what was answered."""
        lane, message = self.lane, message_of(value)
        step = lane.close(at=at, usage=usage, model=model)
        ids: list[int] = []
        blocks: list[int] = []
        native = any(part.kind == "call" for part in message.parts)
        for number, part in enumerate(message.parts):
            if native or part.kind != "assistant" or not part.text:
                call = call_of(part)
                made = [(piece_of(item, number, part), call)]
            else:
                made = [
                    (_spoken(item, number, part.text, start, end, tool), Call(tool, arguments) if tool else None)
                    for start, end, tool, arguments in xml_calls(part.text)
                ]
            for piece, call in made:
                stays = piece.kind != "thinking"
                ident = lane.reply(piece, call, stays=stays)
                if stays:
                    ids.append(ident)
                    blocks.append(number)
                if call is not None:
                    call.started = at
                    self._plan(call)
        self.pieces.append(ids)
        self.blocks.append(blocks)
        self._header = None
        return step

    def hear(self, value: Mapping[str, Any], item: Item, at: float | None, *, summary: bool = False) -> None:
        """What comes to the model. `summary`: it stands for messages before it."""
        lane, message = self.lane, message_of(value)
        ids: list[int] = []
        blocks: list[int] = []
        for number, part in enumerate(message.parts):
            if part.kind in ("result", "error"):
                made = [lane.answer(piece_of(item, number, part), failed=part.failed, at=at)]
            elif summary and part.text and part.kind in ("user", "assistant", "summary"):
                made = [lane.append(Piece("summary", part.text, where_of(item, number)))]
            elif part.kind == "user" and part.text and message.role != "assistant":
                made = self._text(part.text, number, item, at)
            elif part.kind == "thinking":
                continue
            else:
                made = [lane.append(piece_of(item, number, part))]
            ids.extend(made)
            blocks.extend([number] * len(made))
        self.pieces.append(ids)
        self.blocks.append(blocks)

    def _text(self, text: str, number: int, item: Item, at: float | None) -> list[int]:
        lane = self.lane
        header, waiting = result_header(text), self._header
        self._header = None
        if header is not None and lane.pending:
            if not text[header[1] :].strip():
                self._header = header[0]
                return [lane.append(Piece("other", text, where_of(item, number)))]
            return [lane.answer(Piece("result", text, where_of(item, number), None, None, header[0]), at=at)]
        if waiting is not None and lane.pending and not text.lstrip().startswith(ENVIRONMENT):
            return [lane.answer(Piece("result", text, where_of(item, number), None, None, waiting), at=at)]
        if self.goal is None:
            span = request_span(text)
            if span is not None:
                self.goal = text[span[0] : span[1]]
                frame = FRAME if len(text) - (span[1] - span[0]) < _TAGS else None
                out = []
                for a, b in ((0, span[0]), span, (span[1], len(text))):
                    if text[a:b].strip():
                        place = where_of(item, number, None if b - a == len(text) else (a, b))
                        kind: Kind = "goal" if (a, b) == span else "user"
                        around = None if kind == "goal" else frame
                        out.append(lane.append(Piece(kind, text[a:b], place, field=around)))
                return out
        return [lane.append(Piece("user", text, where_of(item, number)))]

    def _plan(self, call: Call) -> None:
        """A checklist in a call is the plan that the agent holds from then on."""
        try:
            arguments = decode(call.arguments.encode("utf-8", "surrogatepass"))
        except ValueError:
            return
        if not isinstance(arguments, dict):
            return
        told = arguments.get("todos") if call.tool in _PLAN_TOOLS else arguments.get("task_progress")
        if isinstance(told, str):
            self.plan(told)

    def plan(self, text: str) -> None:
        fields = checklist(text, self.draft.count)
        if fields:
            self.lane.fields = fields


def hide_all(feed: TaskFeed, indices: set[int]) -> None:
    """Take the pieces of these messages out of the prompt, run by run."""
    gone = {ident for index in indices for ident in feed.pieces[index]}
    live = feed.lane.tape.live
    end = len(live)
    while end > 0:
        if live[end - 1] not in gone:
            end -= 1
            continue
        start = end
        while start > 0 and live[start - 1] in gone:
            start -= 1
        feed.lane.splice(start, end - start)
        end = start


def message_of(value: Mapping[str, Any]) -> Message:
    """The pieces of one message. Roo writes reasoning as blocks of its own kind."""
    content = value.get("content")
    if not isinstance(content, list):
        return split(value)
    blocks = [
        {"type": "thinking", "thinking": block.get("text")}
        if isinstance(block, Mapping) and block.get("type") == "reasoning" and isinstance(block.get("text"), str)
        else block
        for block in content
    ]
    return split({**value, "content": blocks})


def extract_part(raw: bytes, part: int) -> str | None:
    """Whole text of one part of a message."""
    value = decode(raw)
    parts = message_of(value).parts if isinstance(value, dict) else []
    return parts[part].text if part < len(parts) else None


def _spoken(item: Item, number: int, text: str, start: int, end: int, tool: str | None) -> Piece:
    span = None if end - start == len(text) else (start, end)
    return Piece("call" if tool else "assistant", text[start:end], where_of(item, number, span), tool=tool)
