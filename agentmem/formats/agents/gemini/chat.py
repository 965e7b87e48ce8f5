"""One Gemini chat on its lane: records come, are replaced by id, are listed anew by a checkpoint, are rewound.

A checkpoint gives the whole history as it is from then on: what the list before had and the new one has not is
exactly what was dropped, and a result with another text is one that was masked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from agentmem.formats.agents.gemini.parts import Bit, bits_of, call_id, display, plan_of, usage_of
from agentmem.formats.draft import Call, LaneDraft, RunDraft
from agentmem.formats.shared.times import seconds
from agentmem.formats.usage import merged
from agentmem.model import Boundary, Field, Where
from agentmem.pattern import pattern
from agentmem.tape import Piece

Place = Callable[[int], Where]
"""Number of a piece in its record -> where its text stands."""
_COMMAND = pattern(r"\s*/[a-z][\w:-]*(?:\s|\Z)")
_GONE = "rewind"


class _Record(msgspec.Struct, eq=False):
    id: str
    bits: list[int] = msgspec.field(default_factory=list)
    """Keys of its pieces, in order, of those that stay."""
    pieces: list[int] = msgspec.field(default_factory=list)
    """Their ids in the tape."""
    step: int | None = None
    """Index of the step that it is."""
    asks: bool = False
    """It is the first request: its text is the goal."""


class Chat:
    """The records of one chat, as they stand, and the lane that they make."""

    def __init__(self, draft: RunDraft, lane: LaneDraft) -> None:
        self.draft, self.lane = draft, lane
        self._records: list[_Record] = []
        self._by_id: dict[str, _Record] = {}
        self._plan: list[tuple[str, bool]] = []
        self._plan_call: str | None = None
        self.agents: dict[str, int] = {}
        """Subagent -> number of the step that called it."""

    # -- records --------------------------------------------------------------------------------------------------

    def record(self, record: Mapping[str, Any], place: Place, label: str, ident: str) -> None:
        """A record at the end, or another version of one that stands."""
        known = self._by_id.get(ident)
        if known is not None:
            self._replace(known, record, place, label)
        else:
            self._add(ident, record, place, label)

    def _add(self, ident: str, record: Mapping[str, Any], place: Place, label: str) -> None:
        known = _Record(ident)
        self._records.append(known)
        self._by_id[ident] = known
        lane = self.lane
        if record.get("type") == "gemini":
            model = record.get("model")
            self.draft.model = model if isinstance(model, str) else self.draft.model
            usage = usage_of(record, label)
            lane.close(at=seconds(record.get("timestamp")), usage=usage, model=self.draft.model)
            known.step = len(lane.steps) - 1
        elif record.get("type") == "user" and self.draft.goal is None and lane.kind == "main":
            text = display(record)
            if text is not None and not _COMMAND.match(text):
                self.draft.set_goal(text, declared=False)
                known.asks = True
        self._put(known, 0, bits_of(record), place, record)
        self._planned(record)

    def _put(self, known: _Record, first: int, bits: Sequence[Bit], place: Place, record: Mapping[str, Any]) -> None:
        """Bring in the pieces from `first` on, in the place where the record stands."""
        position = self._position(known) + len(known.pieces)
        ids = []
        for number, bit in enumerate(bits):
            if number >= first:
                ident = self._piece(known, bit, place(number), seconds(record.get("timestamp")))
                if ident is not None and bit.stays:
                    ids.append(ident)
                    known.pieces.append(ident)
                    known.bits.append(bit.key)
        if position == len(self.lane.tape.live):
            answered = self.lane.answered
            self.lane.splice(position, 0, ids)
            self.lane.answered = answered and known.step is not None
        else:
            self.lane.splice(position, 0, ids)

    def _piece(self, known: _Record, bit: Bit, where: Where, at: float | None) -> int | None:
        lane, part = self.lane, bit.part
        kind = "goal" if known.asks and part.kind == "user" else part.kind
        piece = Piece(kind, part.text, where, part.call_id, None, part.tool, part.tokens)
        if part.kind == "result":
            failed = None if bit.outcome is None else bit.outcome == "error"
            denied = "denied" if bit.outcome == "denied" else None
            error = "cancelled" if denied else None
            return lane.answer(piece, failed=failed, at=at, stays=False, outcome=denied, error=error)  # type: ignore[arg-type]  # one literal
        current = known.step is not None and known.step == len(lane.steps) - 1
        if current or (part.kind == "error" and lane.steps):
            call = None
            if part.kind == "call" and part.tool is not None and lane.call_of(part.call_id or "") is None:
                call = Call(part.tool, part.arguments or "", part.call_id, started=at)
            return lane.reply(piece, call, stays=False)
        if not bit.stays:
            return None
        lane.answered = False
        return lane.tape.add(piece)

    def _replace(self, known: _Record, record: Mapping[str, Any], place: Place, label: str) -> bool:
        """Another version of a record that stands. Returns whether something that stood there was changed."""
        bits = bits_of(record)
        staying = [bit.key for bit in bits if bit.stays]
        same = 0
        while same < min(len(staying), len(known.bits)) and staying[same] == known.bits[same]:
            same += 1
        changed = same < len(known.bits)
        if known.step is not None:
            step = self.lane.steps[known.step]
            usage = merged(step.usage, usage_of(record, label))
            if usage != step.usage:
                step.usage = usage
                self.lane.touch(step)
        if same == len(staying) and not changed:
            return False
        if changed:
            self.lane.splice(self._position(known) + same, len(known.pieces) - same)
            del known.pieces[same:], known.bits[same:]
        first = next(
            (n for n, bit in enumerate(bits) if bit.stays and sum(one.stays for one in bits[:n]) == same), len(bits)
        )
        self._put(known, first, bits, place, record)
        self._planned(record)
        return changed

    def _position(self, known: _Record) -> int:
        total = 0
        for record in reversed(self._records):
            total += len(record.pieces)
            if record is known:
                break
        return len(self.lane.tape.live) - total

    # -- what leaves ----------------------------------------------------------------------------------------------

    def listed(
        self, records: Sequence[tuple[str, Mapping[str, Any], Place]], label: str, *, recorded: bool = True
    ) -> bool:
        """The whole history as it is from now on. Returns whether it differs from the one before."""
        wanted = {ident for ident, _, _ in records}
        gone = [known for known in self._records if known.id not in wanted]
        fresh = not self._records
        self._remove(gone)
        masked = summarised = False
        last = -1
        for ident, record, place in records:
            known = self._by_id.get(ident)
            if known is not None:
                masked |= self._replace(known, record, place, label)
                last = self._records.index(known)
                continue
            bits = bits_of(record)
            summarised |= any(bit.part.kind == "summary" for bit in bits)
            if fresh or (last == len(self._records) - 1 and (record.get("tokens") or not recorded)):
                self._add(ident, record, place, label)
            else:
                self._insert(last + 1, ident, bits, place)
            last += 1
        if (gone or masked or summarised) and not fresh and recorded:
            kind = "compaction" if summarised else "trim" if gone else "prune"
            what = [f"{len(gone)} records gone"] if gone else []
            what += ["results masked"] if masked else []
            why = f"history checkpoint, {label}: {', '.join(what) or 'a summary came'}"
            self.lane.boundary = Boundary(kind, True, None, None, why)  # type: ignore[arg-type]  # literals
        if gone or masked:
            self._fields()
        return bool(gone or masked or summarised or fresh)

    def _insert(self, index: int, ident: str, bits: Sequence[Bit], place: Place) -> None:
        """A record that no model call made (a summary and its acknowledgement)."""
        known = _Record(ident)
        self._records.insert(index, known)
        self._by_id[ident] = known
        position = self._position(known)
        pieces = []
        for number, bit in enumerate(bits):
            if bit.stays:
                part = bit.part
                pieces.append(Piece(part.kind, part.text, place(number), part.call_id, None, part.tool, part.tokens))
                known.bits.append(bit.key)
        known.pieces = list(self.lane.splice(position, 0, pieces))

    def _remove(self, gone: Sequence[_Record]) -> None:
        for known in reversed(gone):
            if known.pieces:
                self.lane.splice(self._position(known), len(known.pieces))
            self._records.remove(known)
            del self._by_id[known.id]

    def rewind(self, ident: str, label: str) -> None:
        """The record of that id and all later ones are taken back; an unknown id takes back all."""
        known = self._by_id.get(ident)
        first = self._records.index(known) if known is not None else 0
        gone = self._records[first:]
        self._remove(gone)
        why = f"rewind record, {label}: {len(gone)} records taken back"
        self.lane.boundary = Boundary("rewind", True, None, None, why)
        self.lane.answered = False
        self._fields()

    # -- the plan -------------------------------------------------------------------------------------------------

    def _planned(self, record: Mapping[str, Any]) -> None:
        calls = record.get("toolCalls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping) and isinstance(call.get("agentId"), str):
                self.agents.setdefault(call["agentId"], len(self.lane.steps))
        found = plan_of(record)
        if found is not None:
            self._plan, self._plan_call = found
            self._fields()

    def _fields(self) -> None:
        """The plan and the call that carries it, while that stands in the prompt."""
        tape = self.lane.tape
        carrier = None
        if self._plan_call is not None:
            for ident in reversed(tape.live):
                segment = tape.segment(ident)
                if segment.kind == "call" and segment.call_id == self._plan_call:
                    carrier = ident
                    break
        self.lane.fields = tuple(
            Field(f"plan[{index}]", title, self.draft.count(title), None, None, carrier, done)
            for index, (title, done) in enumerate(self._plan)
        )


__all__ = ["Chat", "Place", "call_id"]
