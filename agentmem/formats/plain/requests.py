"""A log of requests, one line a call: what was really sent and what came back. The exact case.

A line is an object with the request under `request` (or `body`, `kwargs`, `input`) and the answer under `response` (or
`completion`, `output`); OpenAI chat, OpenAI Responses and Anthropic bodies. Responses that are chained by
`previous_response_id` hold only the new items: their prompt is the concatenation along the chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from agentmem.formats.draft import Call, LaneDraft, RunDraft
from agentmem.formats.loose import decode, encode
from agentmem.formats.messages import Message, split
from agentmem.formats.plain.envelope import prefix_pieces, unknown_parts
from agentmem.formats.reader import Format, Options
from agentmem.formats.source import AppendFile, Record, Unreadable
from agentmem.formats.usage import usage_of
from agentmem.formats.versions import PARTS, Item, MessageList
from agentmem.model import Boundary, Provenance, Where
from agentmem.tape import Piece
from agentmem.tokens import counter

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


def seconds(value: object) -> float | None:
    """A time stamp in seconds since the epoch: a number (milliseconds too), or ISO 8601."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) / 1000 if value > 1e11 else float(value)
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp()
        except (ValueError, OverflowError):
            return None
    return None


class RequestsReader:
    """Follows one log."""

    def __init__(self, path: Path, options: Options) -> None:
        self._file = AppendFile(path)
        self._path = str(path)
        self._options = options
        self._fresh(None)

    def _fresh(self, notice: str | None) -> None:
        self.draft = RunDraft(
            self._path, "requests", Path(self._path).name.removesuffix(".jsonl"), counter(self._options.counter),
            self._options.counter,
        )  # fmt: skip
        self.draft.provenance = "exact"
        self.draft.notice = notice
        self._list = MessageList(self.draft.main)
        self._lane: LaneDraft = self.draft.main
        self._responses: dict[str, tuple[LaneDraft, int]] = {}
        self._branches = 0

    def watched(self) -> Iterable[Path]:
        return (Path(self._path).parent,)

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

    def refresh(self) -> bool:
        change = self._file.change()
        if change == "same":
            return False
        if change == "gone":
            if not self.draft.main.steps:
                raise Unreadable(f"{self._path}: no such file")
            changed = self.draft.notice != "file gone"
            self.draft.notice = "file gone"
            return changed
        if change == "replaced":
            self._file.rewind()
            self._fresh("file replaced, read again")
        elif self.draft.notice == "file gone":
            self.draft.notice = None
        for record in self._file.records():
            self._record(record)
        self.draft.changed_at = self._file.changed_at
        return True

    def _record(self, record: Record) -> None:
        where = f"line {record.line}"
        data = record.data.strip(b"\0 \t\r").removeprefix(b"\xef\xbb\xbf")
        if not data:
            if record.data.strip(b" \t\r"):
                self.draft.problem(where, f"{len(record.data)} NUL bytes")
            return
        try:
            line = decode(data)
        except ValueError as error:
            self.draft.problem(where, f"not JSON: {error}")
            return
        request, response = _parts(line) if isinstance(line, dict) else (None, None)
        if request is None:
            self.draft.problem(where, "no request in it")
            return
        self._call(line, request, response, record)

    def _call(
        self, line: Mapping[str, Any], request: Mapping[str, Any], response: Mapping[str, Any] | None, record: Record
    ) -> None:
        draft = self.draft
        chained = request.get("previous_response_id")
        provenance: Provenance | None = None
        messages = request_messages(request)
        if isinstance(chained, str):
            provenance = "partial" if request.get("truncation") == "auto" else "reconstructed"
            self._along(chained, messages, request, record)
        else:
            self._list.prefix(self._prefix(request, record))
            self._list.update(list(self._items(messages, record)), stays=False)
            self._lane = draft.main
        lane = self._lane
        opaque = next((m for m in (split(x) for x in messages if isinstance(x, Mapping)) if m.opaque), None)
        if opaque is not None and lane.boundary is None and self._list.first_change and lane is draft.main:
            lane.boundary = Boundary("compaction", True, None, None, "an encrypted compaction item", True)
        usage = usage_of((response or {}).get("usage", line.get("usage")), f"line {record.line}")
        model = request.get("model") or (response or {}).get("model")
        draft.model = model if isinstance(model, str) else draft.model
        step = lane.close(at=seconds(line.get("ts", line.get("at", line.get("timestamp")))), usage=usage,
                          model=draft.model, provenance=provenance)  # fmt: skip
        for index, reply in enumerate(reply_messages(response or {})):
            self._reply(lane, split(reply), record, index, stays=bool(chained) or "previous_response_id" in request)
        if not reply_messages(response or {}):
            lane.answered = False
        if isinstance((response or {}).get("id"), str):
            self._responses[(response or {})["id"]] = (lane, step.n)
        draft.set_goal(self._list.goal_text, declared=False)
        known = any(kind in ("system", "tools") for kind in ("system",)) and bool(draft.unknown == ())
        draft.unknown = () if known or not chained else unknown_parts(True, True)
        if provenance == "partial":
            draft.provenance = "partial"
            draft.unknown = ("what the server cut (truncation: auto)",)
        elif provenance == "reconstructed" and draft.provenance == "exact":
            draft.provenance = "reconstructed"

    def _items(self, messages: list[Any], record: Record) -> Iterable[Item]:
        for index, message in enumerate(messages):
            data = encode(message)
            yield Item(data, self._path, record.offset, len(record.data), record.line, index * PARTS)

    def _prefix(self, request: Mapping[str, Any], record: Record) -> list[Piece]:
        pieces = prefix_pieces(request, None)
        for number, piece in enumerate(pieces):
            piece.where = Where(
                self._path, record.offset, len(record.data), _PREFIX * PARTS + number, None, record.line
            )
        return pieces

    def _reply(self, lane: LaneDraft, message: Message, record: Record, index: int, *, stays: bool) -> None:
        for number, part in enumerate(message.parts):
            where = Where(
                self._path, record.offset, len(record.data), (_REPLY + index) * PARTS + number, None, record.line
            )
            piece = Piece(part.kind, part.text, where, part.call_id, None, part.tool, part.tokens)
            call = Call(part.tool, part.arguments or "", part.call_id) if part.kind == "call" and part.tool else None
            lane.reply(piece, call, stays=stays)

    def _along(self, chained: str, messages: list[Any], request: Mapping[str, Any], record: Record) -> None:
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
                    self._path, record.offset, len(record.data), index * PARTS + number, None, record.line
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
    return named or (bool(newline) and b'"model"' in first and b'"response"' in first)


FORMAT = Format("requests", "logs of requests, a line a call", recognise, RequestsReader)
