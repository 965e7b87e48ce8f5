"""A log of requests, one line a call: what was really sent and what came back. The exact case.

A line is an object with the request under `request` (or `body`, `kwargs`, `input`) and the answer under `response` (or
`completion`, `output`); OpenAI chat, OpenAI Responses and Anthropic bodies. Responses that are chained by
`previous_response_id` hold only the new items: their prompt is the concatenation along the chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from agentmem.formats.draft import Call, LaneDraft
from agentmem.formats.loose import decode, encode
from agentmem.formats.messages import Message, split
from agentmem.formats.plain.envelope import prefix_pieces
from agentmem.formats.reader import Format
from agentmem.formats.shared.lines import LineReader
from agentmem.formats.shared.times import seconds
from agentmem.formats.source import Record
from agentmem.formats.usage import usage_of
from agentmem.formats.versions import PARTS, Listed, MessageList
from agentmem.model import Provenance, Where
from agentmem.tape import Piece

REQUEST_KEYS = ("request", "body", "kwargs", "input")
RESPONSE_KEYS = ("response", "completion", "output", "result")
_REPLY = 1_000_000
"""Ordinals of reply messages begin here, times PARTS."""
_PREFIX = 2_000_000


def _parts(line: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
    request = next((line[key] for key in REQUEST_KEYS if isinstance(line.get(key), Mapping)), None)
    response = next((line[key] for key in RESPONSE_KEYS if isinstance(line.get(key), Mapping)), None)
    if request is None and (isinstance(line.get("messages"), list) or isinstance(line.get("input"), list)):
        request = line
    return request, response


def request_messages(request: Mapping[str, Any]) -> list[Any]:
    """The list that was sent."""
    for key in ("messages", "input"):
        value = request.get(key)
        if isinstance(value, list):
            return value
        if isinstance(value, str):
            return [{"role": "user", "content": value}]
    return []


def reply_messages(response: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages or items that came back: the first choice, the output items, or an Anthropic message."""
    choices = response.get("choices")
    if isinstance(choices, list):
        for choice in choices:
            if isinstance(choice, Mapping) and isinstance(choice.get("message"), Mapping):
                return [choice["message"]]
        return []
    output = response.get("output")
    if isinstance(output, list):
        return [item for item in output if isinstance(item, Mapping)]
    if isinstance(response.get("content"), list | str) and response.get("role", "assistant") == "assistant":
        return [{"role": "assistant", "content": response["content"]}]
    message = response.get("message")
    return [message] if isinstance(message, Mapping) else []


class _Call(msgspec.Struct):
    """One line, opened no further than needed: the messages stay bytes."""

    line: dict[str, Any]
    """What stands beside the request and the answer."""
    request: dict[str, Any]
    """Without its messages."""
    messages: Sequence[bytes | msgspec.Raw]
    response: Mapping[str, Any]


def _opened(data: bytes) -> _Call | None:
    """The call of a line; None if there is no request in it. Raises ValueError for what is no JSON."""
    try:
        return _opened_strictly(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _opened_loosely(data)


def _opened_strictly(data: bytes) -> _Call | None:
    """As `_opened`. Raises DecodeError also for what only the tolerant parser takes, at any depth."""
    top = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    name = next((key for key in REQUEST_KEYS if key in top and _starts(top[key], b"{")), None)
    body = top if name is None else msgspec.json.decode(top[name], type=dict[str, msgspec.Raw])
    messages: Sequence[bytes | msgspec.Raw] | None = None
    for key in ("messages", "input"):
        raw = body.get(key)
        if raw is not None and _starts(raw, b"["):
            messages = msgspec.json.decode(raw, type=list[msgspec.Raw])
        elif raw is not None and _starts(raw, b'"'):
            messages = [encode({"role": "user", "content": decode(bytes(raw))})]
        if messages is not None:
            body = {other: value for other, value in body.items() if other != key}
            break
    if name is None and messages is None:
        return None
    answer = next((key for key in RESPONSE_KEYS if key in top and key != name and _starts(top[key], b"{")), None)
    response = decode(bytes(top[answer])) if answer is not None else {}
    line = {key: decode(bytes(value)) for key, value in top.items() if key not in (name, answer, "messages", "input")}
    request = line if name is None else {key: decode(bytes(value)) for key, value in body.items()}
    return _Call(line, request, messages or [], response)


def _starts(raw: msgspec.Raw, first: bytes) -> bool:
    return bytes(memoryview(raw)[:1]) == first


def _opened_loosely(data: bytes) -> _Call | None:
    line = decode(data)
    request, response = _parts(line) if isinstance(line, dict) else (None, None)
    if request is None:
        return None
    messages = [encode(message) for message in request_messages(request)]
    return _Call(line, dict(request), messages, response or {})


class RequestsReader(LineReader):
    """Follows one log."""

    name: ClassVar[str] = "requests"

    def begin(self) -> None:
        self.draft.provenance = "exact"
        self._list = MessageList(self.draft.main)
        self._lane: LaneDraft = self.draft.main
        self._responses: dict[str, tuple[LaneDraft, int]] = {}
        self._branches = 0

    def extract(self, raw: bytes, part: int) -> str | None:
        line = decode(raw)
        request, response = _parts(line)
        index, number = divmod(part, PARTS)
        if index >= _PREFIX:
            pieces = prefix_pieces(request or {}, None)
            return pieces[number].text if number < len(pieces) else None
        found: list[Any] = request_messages(request or {})
        if index >= _REPLY:
            found, index = list(reply_messages(response or {})), index - _REPLY
        parts = split(found[index]).parts if index < len(found) and isinstance(found[index], Mapping) else []
        return parts[number].text if number < len(parts) else None

    def _line(self, record: Record) -> None:
        """A line that is whole is opened no further than needed; any other is taken apart."""
        try:
            call = _opened(record.data)
        except ValueError:
            super()._line(record)
            return
        last = self._last
        same = last is not None and record.data == last.data
        if call is None or (same and self.is_again(record, {**call.line, "response": call.response})):
            super()._line(record)
        else:
            self._learn(record)
            self._understood += 1
            self._call(call, record)

    def take(self, value: dict[str, Any], record: Record) -> str | None:
        call = _opened(record.data)
        if call is None:
            self.draft.problem(f"line {record.line}", "no request in it")
            return "an object without a request"
        self._call(call, record)
        return None

    def _call(self, call: _Call, record: Record) -> None:
        draft, request, response = self.draft, call.request, call.response
        chained = request.get("previous_response_id")
        provenance: Provenance | None = None
        if isinstance(chained, str):
            provenance = "partial" if request.get("truncation") == "auto" else "reconstructed"
            self._along(chained, [decode(bytes(data)) for data in call.messages], record)
        else:
            self._list.prefix(self._prefix(request, record))
            items = Listed(call.messages, self.path, record.offset, len(record.data), record.line)
            self._list.update(items, stays=False)
            self._lane = draft.main
        lane = self._lane
        usage = usage_of(response.get("usage", call.line.get("usage")), f"line {record.line}")
        model = request.get("model") or response.get("model")
        draft.model = model if isinstance(model, str) else draft.model
        at = seconds(call.line.get("ts", call.line.get("at", call.line.get("timestamp"))))
        step = lane.close(at=at, usage=usage, model=draft.model, provenance=provenance)
        replies = reply_messages(response)
        for index, reply in enumerate(replies):
            self._reply(lane, split(reply), record, index, stays="previous_response_id" in request)
        if not replies:
            lane.answered = False
        if isinstance(response.get("id"), str):
            self._responses[response["id"]] = (lane, step.n)
        draft.set_goal(self._list.goal_text, declared=False)
        if provenance == "partial":
            draft.provenance = "partial"
            draft.unknown = ("what the server cut (truncation: auto)",)
        elif provenance == "reconstructed" and draft.provenance == "exact":
            draft.provenance = "reconstructed"

    def _prefix(self, request: Mapping[str, Any], record: Record) -> list[Piece]:
        pieces = prefix_pieces(request, None)
        for number, piece in enumerate(pieces):
            piece.where = Where(
                self.path, record.offset, len(record.data), _PREFIX * PARTS + number, None, record.line
            )
        return pieces

    def _reply(self, lane: LaneDraft, message: Message, record: Record, index: int, *, stays: bool) -> None:
        for number, part in enumerate(message.parts):
            where = Where(
                self.path, record.offset, len(record.data), (_REPLY + index) * PARTS + number, None, record.line
            )
            piece = Piece(part.kind, part.text, where, part.call_id, None, part.tool, part.tokens)
            call = Call(part.tool, part.arguments or "", part.call_id) if part.kind == "call" and part.tool else None
            ident = lane.reply(piece, call, stays=stays)
            if not stays:
                lane.comes(ident)

    def _along(self, chained: str, messages: list[Any], record: Record) -> None:
        """The prompt goes on from an earlier response; from an older one than the last, in a lane of its own."""
        lane, n = self._responses.get(chained, (self._lane, len(self._lane.steps)))
        if chained not in self._responses:
            self.draft.problem(f"line {record.line}", f"previous_response_id {chained:.60} is not in this log")
        if n != len(lane.steps):
            self._branches += 1
            branch = self.draft.lane(f"branch-{self._branches}", "branch", spawned_by=(lane.id, n))
            branch.tape.adopt(lane.tape, [*lane.tape.ids(n), *lane.steps[n - 1].replies])
            lane = branch
        self._lane = lane
        for index, message in enumerate(messages):
            split_message = split(message) if isinstance(message, Mapping) else Message("other", [])
            for number, part in enumerate(split_message.parts):
                where = Where(
                    self.path, record.offset, len(record.data), index * PARTS + number, None, record.line
                )
                piece = Piece(part.kind, part.text, where, part.call_id, None, part.tool, part.tokens)
                if part.kind in ("result", "error"):
                    lane.answer(piece, failed=part.failed)
                else:
                    lane.append(piece)


def recognise(path: Path, head: bytes) -> bool:
    """JSON lines whose first object holds a request with a list of messages."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0 \t\r\n")
    if not text.startswith(b"{"):
        return False
    first, newline, _ = text.partition(b"\n")
    start = first[:4096]
    if b'"messages"' not in first and b'"input"' not in first:
        return False
    named = any(b'"' + key.encode() + b'":' in start.replace(b" ", b"") for key in ("request", "body", "kwargs"))
    return named or (bool(newline) and (_answered(first) or _asked(first)))


def _answered(line: bytes) -> bool:
    return b'"model"' in line and b'"response"' in line


def _asked(line: bytes) -> bool:
    """Whether a line holds what was sent and what it cost, though not the answer: its usage is of this very list."""
    if b'"usage"' not in line:
        return False
    try:
        value = decode(line)
    except ValueError:
        return False
    if not isinstance(value, dict) or "step" in value or not isinstance(value.get("usage"), dict):
        return False
    sent = request_messages(value)
    last = sent[-1] if sent else None
    return isinstance(last, dict) and last.get("role") == "user"


FORMAT = Format("requests", "logs of requests, a line a call", recognise, RequestsReader)
