"""Chats of Qwen Code, a relative of Gemini CLI: JSON lines that hang together by `parentUuid`, with contents as sent.

The prompt of a call is what stands on the way from the first record to it. A compression gives the whole list as it is
from then on, and what was asked just before it follows; a rewind hangs what comes to an earlier record; what a model
thought is not sent again after the next request. Subagents write files of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from agentmem.formats.agents.gemini.contents import asked, is_command, parts_of, plan_in
from agentmem.formats.draft import Call, Declared, LaneDraft
from agentmem.formats.loose import decode
from agentmem.formats.messages import Part
from agentmem.formats.shared.lines import LineReader
from agentmem.formats.shared.standing import stand
from agentmem.formats.shared.times import seconds
from agentmem.formats.source import AppendFile, Record, Unreadable, read_at
from agentmem.formats.usage import amount
from agentmem.model import KINDS, Boundary, Field, Usage, Where
from agentmem.tape import Piece, content_key

_CONTENT = 4096
_SUMMARY = 1 << 24
"""The ordinal of a piece in a compression: so many for each of its contents, from 1, and this on top for a summary."""
_RULE = "promptTokenCount, cached included"
_SORTS = frozenset({"user", "assistant", "tool_result", "system"})
_ASIDE = frozenset({"realtime_message", "code_mode_tool_result"})
"""Records whose content is not sent."""
_THINKING = KINDS.index("thinking")
_STRIPPED = "thoughts are not sent again after the next request: a known rule of the agent"


class _Node(msgspec.Struct, eq=False):
    parent: str | None
    pieces: tuple[int, ...] = ()
    whole: bool = False
    """What stands before it is not sent any more."""
    asks: bool = False
    """It came to the model: a request or a result."""


class _Lane:
    """One chain of records with its lane."""

    def __init__(self, reader: QwenReader, lane: LaneDraft, source: str) -> None:
        self._reader, self.lane, self._source = reader, lane, source
        self._nodes: dict[str, _Node] = {}
        self._tip: str | None = None
        self._stripped: set[int] = set()
        self._plan: list[tuple[str, bool]] = []
        self._plan_piece: int | None = None
        self.calls: dict[str, int] = {}
        """Call -> number of its step."""

    def take(self, value: Mapping[str, Any], record: Record) -> str | None:
        """Take in one record. Returns its type if that is not known."""
        ident, sort = value.get("uuid"), value.get("type")
        if not isinstance(ident, str) or not isinstance(sort, str):
            return f"type {sort!r}"
        if sort not in _SORTS:
            self._pass(ident, value)
            return sort
        if ident in self._nodes:
            return None  # the first record of an id counts, as for the agent itself
        node = self._hang(ident, value, record)
        subtype = value.get("subtype")
        message = None if isinstance(subtype, str) and subtype in _ASIDE else value.get("message")
        if sort == "assistant":
            self._answered(node, value, message, record)
        elif sort == "system":
            self._system(node, value, record)
        else:
            self._came(node, value, message, record)
        return None

    def _pass(self, ident: str, value: Mapping[str, Any]) -> None:
        """A record of a type that is not known brings nothing, but others may hang to it."""
        parent = value.get("parentUuid")
        if ident not in self._nodes and isinstance(parent, str) and parent in self._nodes:
            self._nodes[ident] = _Node(parent)
            self._tip = ident if parent == self._tip else self._tip

    def _hang(self, ident: str, value: Mapping[str, Any], record: Record) -> _Node:
        """Find the record's place in the chain; where that is not the end, the prompt goes back."""
        given = value.get("parentUuid")
        parent = given if isinstance(given, str) else None
        if parent is not None and parent not in self._nodes:
            if not self._reader.damaged:
                what = f"parent {parent:.40} is not in the file: a record was lost"
                self._reader.draft.problem(f"line {record.line}", what)
            parent = self._tip
        elif parent != self._tip:
            before = len(self.lane.tape.live)
            if stand(self.lane, self._path(parent)):
                gone = before - len(self.lane.tape.live)
                why = f"the chat goes on from an earlier record, line {record.line}: {gone} pieces taken back"
                self.lane.boundary = Boundary("rewind", True, None, None, why)
                self.lane.answered = False
                self._fields()
        node = self._nodes[ident] = _Node(parent)
        self._tip = ident
        return node

    def _path(self, leaf: str | None) -> list[int]:
        """Pieces that are sent after that record."""
        path: list[tuple[int, ...]] = []
        node = self._nodes.get(leaf) if leaf is not None else None
        while node is not None:
            path.append(node.pieces)
            node = self._nodes.get(node.parent) if node.parent is not None and not node.whole else None
        return [ident for pieces in reversed(path) for ident in pieces if ident not in self._stripped]

    # -- what records bring ---------------------------------------------------------------------------------------

    def _where(self, record: Record, part: int) -> Where:
        return Where(self._source, record.offset, len(record.data), part, None, record.line)

    def _answered(self, node: _Node, value: Mapping[str, Any], message: object, record: Record) -> None:
        lane, draft = self.lane, self._reader.draft
        at = seconds(value.get("timestamp"))
        model = value.get("model")
        name = model if isinstance(model, str) and model else None
        if lane is draft.main:
            draft.model = name or draft.model
            window = amount(value.get("contextWindowSize"))
            if window:
                draft.window, draft.window_source = window, "declared"
        lane.close(at=at, usage=usage_of(value.get("usageMetadata"), f"line {record.line}"), model=name)
        ids = []
        for number, part in enumerate(parts_of(message)):
            piece = Piece(part.kind, part.text, self._where(record, number), part.call_id, None, part.tool, part.tokens)
            call = None
            if part.kind == "call" and part.tool is not None:
                call = Call(part.tool, part.arguments or "", part.call_id, started=at)
                self.calls.setdefault(part.call_id or "", len(lane.steps))
            ids.append(lane.reply(piece, call))
            if part.kind == "call" and call is not None:
                plan = plan_in(message)
                if plan is not None and call.tool in ("todo_write", "write_todos"):
                    self._plan, self._plan_piece = plan, ids[-1]
                    self._fields()
        node.pieces = tuple(ids)

    def _came(self, node: _Node, value: Mapping[str, Any], message: object, record: Record) -> None:
        lane, draft = self.lane, self._reader.draft
        parts = parts_of(message)
        first = asked(parts) if draft.goal is None and lane is draft.main and value.get("subtype") is None else None
        if first is not None:
            draft.set_goal(parts[first].text, declared=False)
            parts[first].kind = "goal"
        if value.get("type") == "user" and value.get("subtype") in (None, "cron"):
            self._strip()
        told = value.get("toolCallResult")
        status = told.get("status") if isinstance(told, Mapping) else None
        at = seconds(value.get("timestamp"))
        ids = []
        for number, part in enumerate(parts):
            piece = Piece(part.kind, part.text, self._where(record, number), part.call_id, None, part.tool, part.tokens)
            if part.kind != "result":
                ids.append(lane.append(piece))
            elif status == "cancelled":
                ids.append(lane.answer(piece, at=at, outcome="denied", error="cancelled"))
            else:
                failed = True if status == "error" else False if status == "success" else part.failed
                ids.append(lane.answer(piece, at=at, failed=failed))
        node.pieces, node.asks = tuple(ids), True

    def _strip(self) -> None:
        """A new request: what the model thought before it leaves the prompt."""
        tape = self.lane.tape
        gone = [ident for ident in tape.live if tape.kinds[ident] == _THINKING]
        if not gone:
            return
        self._stripped.update(gone)
        stand(self.lane, [ident for ident in tape.live if ident not in self._stripped])
        sent = [ident for ident in gone if tape.born[ident]]
        if sent:
            name = f"thoughts of {len(sent)} answer{'s' * (len(sent) != 1)}"
            self.lane.declared.append(
                Declared(name, "trimmed", segment=sent[0], kind="thinking", record=_STRIPPED, others=tuple(sent[1:]))
            )

    def _system(self, node: _Node, value: Mapping[str, Any], record: Record) -> None:
        payload = value.get("systemPayload")
        given: Mapping[str, Any] = payload if isinstance(payload, Mapping) else {}
        if value.get("subtype") == "chat_compression":
            info = given.get("info")
            told: Mapping[str, Any] = info if isinstance(info, Mapping) else {}
            if isinstance(given.get("compressedHistory"), list):
                self._listed(node, given["compressedHistory"], record)
                before, after = (amount(told.get(name)) for name in ("originalTokenCount", "newTokenCount"))
                why = f"chat_compression record, line {record.line}"
                self.lane.boundary = Boundary("compaction", True, before, after, why)
        elif isinstance(given.get("history"), list) and not self.lane.steps:
            self._listed(node, given["history"], record)  # with what a subagent was begun

    def _listed(self, node: _Node, contents: list[Any], record: Record) -> None:
        """The whole list as it is from now on; what stands already keeps its piece, and what came last, to be sent with
        the next call, follows."""
        lane = self.lane
        waiting = self._waiting(node)
        standing: dict[int, list[int]] = {}
        for ident in reversed(lane.tape.live):
            standing.setdefault(lane.tape.keys[ident], []).append(ident)
        ids: list[int] = []
        summed = not lane.tape.live
        for index, content in enumerate(contents, 1):
            parts, base = parts_of(content), index * _CONTENT
            if not summed and parts and parts[0].kind in ("user", "summary", "goal"):
                # The first text from outside that did not stand before is the summary.
                if not any(standing.get(key) for part in parts for key in _keys(part)):
                    parts, base, summed = parts_of(content, summary=True), base + _SUMMARY, True
            for number, part in enumerate(parts):
                same = next((held for key in _keys(part) if (held := standing.get(key))), None)
                if same:
                    ids.append(same.pop())
                    continue
                where = self._where(record, base + number)
                piece = Piece(part.kind, part.text, where, part.call_id, None, part.tool, part.tokens)
                ids.append(lane.tape.add(piece))
        ids += [ident for ident in waiting if ident not in ids]
        stand(lane, ids)
        lane.answered = False
        node.pieces, node.whole = tuple(ids), True
        self._fields()

    def _waiting(self, node: _Node) -> list[int]:
        """What came to the model since its last answer."""
        found: list[tuple[int, ...]] = []
        before = self._nodes.get(node.parent) if node.parent is not None else None
        while before is not None and not before.whole and (before.asks or not before.pieces):
            found.append(before.pieces)
            before = self._nodes.get(before.parent) if before.parent is not None else None
        heads = [(ident, self.lane.tape.segment(ident).head) for pieces in reversed(found) for ident in pieces]
        return [ident for ident, head in heads if not is_command(head or "")]

    def _fields(self) -> None:
        """The plan, and the call that carries it while that stands in the prompt."""
        carrier = self._plan_piece if self._plan_piece in self.lane.tape.live else None
        count = self._reader.draft.count
        self.lane.fields = tuple(
            Field(f"plan[{place}]", title, count(title), None, None, carrier, done)
            for place, (title, done) in enumerate(self._plan)
        )


class QwenReader(LineReader):
    """Follows one chat, with the files of its subagents as lanes."""

    name = "qwen-code"
    starts = (b'{"uuid":"', b'{"uuid": "')

    def begin(self) -> None:
        self.draft.unknown = ("system prompt", "tool schemas")
        self.draft.agent = "Qwen Code"
        self._main = _Lane(self, self.draft.main, self.path)
        self._subs: dict[str, tuple[AppendFile, _Lane, str]] = {}
        """Subagent -> (its file, its chain, the call that began it)."""
        self._named = False

    @property
    def _folder(self) -> Path:
        """Where the files of its subagents stand."""
        path = Path(self.path)
        return path.parent.parent / "subagents" / path.name.removesuffix(".jsonl")

    def watched(self) -> Iterable[Path]:
        return (Path(self.path).parent, self._folder)

    def refresh(self) -> bool:
        """Read what is new, of the chat and of its subagents."""
        changed = super().refresh()
        return self._subagents() or changed

    def take(self, value: dict[str, Any], record: Record) -> str | None:
        if not self._named and isinstance(value.get("sessionId"), str) and value["sessionId"]:
            self.draft.id, self._named = value["sessionId"], True
        return self._counted(self._main, value, record)

    def _counted(self, lane: _Lane, value: dict[str, Any], record: Record) -> str | None:
        unknown = lane.take(value, record)
        if unknown is None:
            sort = str(value.get("subtype") or value.get("type"))
            self.draft.counts[sort] = self.draft.counts.get(sort, 0) + 1
        return unknown

    def _subagents(self) -> bool:
        changed = False
        for path in sorted(self._folder.glob("agent-*.jsonl")):
            ident = path.name.removesuffix(".jsonl").removeprefix("agent-")
            if ident not in self._subs:
                meta = meta_of(path)
                kind, n = meta.get("agentType"), len(self.draft.main.steps)
                name = kind if isinstance(kind, str) and kind else None
                lane = self.draft.lane(ident, "subagent", spawned_by=("main", n) if n else None, name=name)
                self._subs[ident] = (AppendFile(path), _Lane(self, lane, str(path)), str(meta.get("toolUseId")))
            file, taken, call = self._subs[ident]
            if call in self._main.calls:  # it may be read before the call that names it
                taken.lane.spawned_by = ("main", self._main.calls[call])
            change = file.change()
            if change == "replaced":
                return self.read_again("a subagent's chat was replaced, read again")
            if change != "grown":
                continue
            for value, part in self.beside(file, path.name):
                self._counted(taken, value, part)
            changed = True
        return changed

    def extract(self, raw: bytes, part: int) -> str | None:
        try:
            value = decode(raw)
        except ValueError:
            return None
        summary, part = part >= _SUMMARY, part % _SUMMARY
        index, number = divmod(part, _CONTENT)
        content = value.get("message") if isinstance(value, dict) else None
        if index and isinstance(value, dict):
            payload = value.get("systemPayload")
            given = payload if isinstance(payload, dict) else {}
            listed = given.get("compressedHistory", given.get("history"))
            content = listed[index - 1] if isinstance(listed, list) and index <= len(listed) else None
        parts = parts_of(content, summary=summary)
        return parts[number].text if number < len(parts) else None


def _keys(part: Part) -> list[int]:
    """Keys of the pieces that this part may stand as: a request may be the goal, a result an error."""
    kinds = {"user": (part.kind, "goal"), "result": (part.kind, "error")}.get(part.kind, (part.kind,))
    return [content_key(kind, part.text) for kind in kinds] if part.text is not None else []


def meta_of(path: Path) -> Mapping[str, Any]:
    """What stands beside a subagent's file; empty if there is nothing or it cannot be read."""
    try:
        found = decode(read_at(path.with_suffix(".meta.json"), 0, 65536))
    except (Unreadable, ValueError):
        return {}
    return found if isinstance(found, Mapping) else {}


def usage_of(value: object, source: str) -> Usage | None:
    """Usage as the API counts it: the prompt with its cached part."""
    if not isinstance(value, Mapping):
        return None
    prompt, cached, output, thoughts = (
        amount(value.get(name))
        for name in ("promptTokenCount", "cachedContentTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
    )
    return Usage(prompt, cached, None, output, thoughts, None, _RULE, source) if prompt or output else None
