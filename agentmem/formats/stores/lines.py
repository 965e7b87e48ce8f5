"""What our own lines say, wherever they stand: decoded lines in, a run in the making out.

The reader of our files and those of our databases share it; each says where a line stands and reads its bytes again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import xxhash

from agentmem.checkpoint.delta.state import applied
from agentmem.checkpoint.ledger_line import DamagedLine, Line
from agentmem.formats.draft import Call, LaneDraft, RunDraft, StepDraft
from agentmem.formats.fields import Finder, field_kind, flatten
from agentmem.formats.messages import Message, arguments_text, call_text, split
from agentmem.formats.outcome import judge
from agentmem.formats.plain.envelope import apply_goal, prefix_pieces, unknown_parts
from agentmem.formats.said import Region, content_keys
from agentmem.formats.stores.declared import declared
from agentmem.formats.stores.place import PREFIX, PROMPT, Place, extract
from agentmem.formats.stores.texts import HeldTexts
from agentmem.formats.usage import usage_of
from agentmem.formats.versions import PARTS, Item, MessageList
from agentmem.model import Field, Gap, Where
from agentmem.tape import Piece


class _LaneState:
    """What one lane of the run holds between lines."""

    def __init__(self, lane: LaneDraft) -> None:
        self.lane = lane
        self.messages = MessageList(lane)
        self.prompt: MessageList | None = None
        self.finder = Finder(lane.tape)
        self.state: dict[str, Any] = {}
        self.system: Any = None
        self.tools: Any = None
        self.notes: Any = None
        self.last_step: int | None = None
        self.keys: list[int] = []
        """Hashes of the messages of the last save, where exact prompts are given."""
        self.contents: list[tuple[int, int]] = []
        """And their `content_keys`."""
        self.kept: Counter[int] = Counter()
        """How often each of `keys` stands there, kept as it changes: a long list is not counted for each save."""
        self.sent: Counter[int] = Counter()
        """Likewise of the messages of the last exact prompt."""
        self.joins: bool | None = None
        """Whether answers and results stood in the exact prompt behind them, once or more; None: not seen yet."""


class OwnLines:
    """Builds the draft of one run from its lines, in order."""

    def __init__(self, draft: RunDraft, fetch: Callable[[Where], bytes | None]) -> None:
        """`fetch` reads the bytes of a line again; None if they are gone."""
        self.draft = draft
        self._fetch = fetch
        self._lanes: dict[str, _LaneState] = {}
        self._seq: int | None = None
        """Of the last save that was put in."""
        self._last = 0
        self.lost = False
        """The newest saves stand on one that is lost: what they hold is not known, up to the next whole one."""
        self._exact = True
        self._texts = HeldTexts()

    @property
    def begun(self) -> bool:
        """Whether there was a line yet."""
        return bool(self._lanes)

    @property
    def seq(self) -> int:
        """Number of the newest save; 0 before the first."""
        return self._last

    @property
    def exact(self) -> bool:
        """Whether exact prompts were given with the saves."""
        return any(held.prompt is not None for held in self._lanes.values())

    def say_status(self, status: str | None) -> None:
        """Take in whether the run goes on, from a save that says so."""
        if status is not None:
            self.draft.finished = status != "live"
            self.draft.ended_as = status if self.draft.finished else None

    def begins_anew(self, line: Line) -> bool:
        """Whether another run begins with that line: it needs none before it and the count starts again. That of a
        subagent starts again within the run."""
        held = self._lanes.get(line.lane)
        alone = line.lane == "main" or len(self._lanes) == 1
        return line.whole and alone and held is not None and held.last_step is not None and line.step <= 1

    def add(self, line: Line, place: Place) -> None:
        """The next line. One that stands behind a later save, or is there twice, is left out, as loading does."""
        if self._seq is not None and line.seq <= self._seq and not line.whole:
            what = "once more" if line.seq == self._seq else f"behind save {self._seq}"
            self.draft.problem(place.shown, f"save {line.seq} {what}, left out")
            return
        self._last = max(self._last, line.seq)
        missing = line.seq - (self._seq or 0) - 1
        if missing > 0 and not line.whole:
            if not self.lost:
                what = f"{missing} saves are missing before it: what stands on them is not known"
                self.draft.problem(place.shown, what)
            self.lost = True
        else:
            self._seq = line.seq
        draft = self.draft
        held = self._lanes.get(line.lane)
        if held is None:
            lane = draft.main if line.lane == "main" else draft.lane(line.lane, "subagent")
            held = self._lanes[line.lane] = _LaneState(lane)
        if line.run and line.lane == "main":
            draft.id = line.run
        if line.goal is not None and (line.lane == "main" or "main" not in self._lanes):
            draft.set_goal(line.goal, declared=True)
        if line.window is not None:
            draft.window, draft.window_source = line.window, "declared"
        draft.model = line.model or draft.model
        self.say_status(line.status)
        if self.lost and not line.whole and self._seq != line.seq:
            held.lane.answered = True  # the list as it stands is no prompt that the next call will see
            return
        if line.status is not None and not line.add and line.state is None and line.prompt is None:
            if line.step == held.last_step:
                return
        if line.state is not None:
            self._apply_state(held, line, place)
        fields = self._fields(held, line)
        if line.system is not None or line.whole:
            held.system = line.system
        if line.tools is not None or line.whole:
            held.tools = line.tools
        steps = self._steps(held, line, place, fields)
        self.lost = False
        self._finish_steps(held, line, place, fields, steps)

    def _apply_state(self, held: _LaneState, line: Line, place: Place) -> None:
        edit = line.state
        assert edit is not None
        try:
            held.state = applied(held.state, edit.set, edit.unset, edit.full)
        except ValueError as error:
            self.draft.problem(place.shown, f"state: {error}")

    def _fields(self, held: _LaneState, line: Line) -> tuple[Field, ...]:
        state = dict(held.state)
        if self.draft.goal_declared and "goal" not in state and self.draft.goal:
            state = {"goal": self.draft.goal, **state}
        if line.notes is not None or line.whole:
            held.notes = line.notes
        if held.notes and "notes" not in state:
            state["notes"] = held.notes
        return flatten(state, self.draft.count)

    def _steps(
        self, held: _LaneState, line: Line, place: Place, fields: tuple[Field, ...]
    ) -> list[StepDraft]:
        lane = held.lane
        before = len(lane.steps)
        lane.declared.extend(declared(line.drops))
        prefix = self._prefix(held, line, place)

        def on_step(step: StepDraft, _: int = 0) -> None:
            source = held.prompt or held.messages
            step.fields = held.finder.assign(fields, lambda ident: self._text_of(lane, source, ident))

        if line.prompt is not None:
            self._exact_call(held, line, place, fields, prefix)
            on_step(lane.steps[-1])
            return lane.steps[before:]
        self._exact = False
        held.messages.prefix(prefix)
        if not line.add and not held.messages.seen and fields and not lane.steps or self.draft.synthetic:
            self._synthetic(held, line, fields)
            return lane.steps[before:]
        known = _with_earlier(fields, lane.fields)
        items = self._items(line.add, place, 0)
        if self.lost:
            # The answers of the saves that are lost stand in the list, but not which of them was whose.
            sent = _sent(line.add)
            held.messages.update(items[:sent], fields=known, stays=False)
        held.messages.update(items, keep=line.keep, fields=known, on_step=on_step)
        return lane.steps[before:]

    def _exact_call(
        self, held: _LaneState, line: Line, place: Place, fields: tuple[Field, ...], prefix: list[Piece]
    ) -> None:
        assert line.prompt is not None
        lane = held.lane
        if held.prompt is None:
            held.prompt = MessageList(lane)
            lane.splice(0, len(lane.tape.live))
        held.prompt.prefix(prefix)
        items = self._items(line.prompt.add, place, PROMPT)
        seen = held.prompt.seen
        keep = min(line.prompt.keep, len(seen))
        held.sent.subtract(seen[keep:])
        held.prompt.update(items, keep=keep, fields=_with_earlier(fields, lane.fields), stays=False)
        held.sent.update(seen[keep:])
        if lane.coming and not held.joins:
            held.joins = any(lane.tape.has_key(lane.tape.keys[ident]) for ident in lane.coming)
        lane.close(provenance="exact")
        self._replies(held, line, place)
        rendered = next((back for back, key in enumerate(reversed(seen)) if held.kept[key] > 0), 0)
        lane.tail = held.prompt.pieces_of_last(rendered)

    def _replies(self, held: _LaneState, line: Line, place: Place) -> None:
        """What the messages hold that neither the list before nor the prompt held: the answer and its results."""
        lane = held.lane
        assert held.prompt is not None
        before, rewritten = Counter(held.keys[line.keep :]), Region(held.contents[line.keep :])
        first = not held.keys
        keys = [xxhash.xxh3_64_intdigest(msgspec.json.encode(message)) for message in line.add]
        messages = [split(raw) if isinstance(raw, Mapping) else Message("other", []) for raw in line.add]
        held.kept.subtract(before)
        sent = Counter({key: held.sent[key] - held.kept[key] for key in keys})
        held.kept.update(keys)
        held.keys[line.keep :] = keys
        held.contents[line.keep :] = [content_keys(message) for message in messages]
        fresh = []
        behind = len(held.prompt.seen)
        if before and held.keys[:behind] == held.prompt.seen:
            # What was sent stands first in the list: all that is added behind it came after, also where an answer says
            # what an earlier one said, which was put back in another form.
            start, sent, rewritten = max(0, behind - line.keep), Counter(), Region([])
            fresh = list(zip(range(start, len(keys)), keys[start:], messages[start:], strict=True))
            keys, messages = [], []
        for index, (key, message) in enumerate(zip(keys, messages, strict=True)):
            if before[key] > 0:
                before[key] -= 1
                sent[key] -= 1
                rewritten.holds(content_keys(message))
            else:
                fresh.append((index, key, message))
        # What stood in the list from the start and was not sent is no answer to this call: the last one is.
        begins = _sent(line.add) if first else next((index for index, _, one in fresh if one.role == "assistant"), 0)
        for index, key, message in fresh:
            if sent[key] > 0:
                # It was added after the save before, and sent.
                sent[key] -= 1
                continue
            if rewritten.holds(content_keys(message)):
                continue
            for number, part in enumerate(message.parts):
                where = Where(
                    place.source, place.offset, place.length, index * PARTS + number, None, place.line
                )
                piece = Piece(part.kind, part.text, where, part.call_id, None, part.tool, part.tokens)
                ident = None
                if message.role == "assistant":
                    call = Call(part.tool, part.arguments or "", part.call_id) if part.tool else None
                    ident = lane.reply(piece, call, stays=False)
                elif part.kind in ("result", "error"):
                    known = lane.call_of(part.call_id) if part.call_id else None
                    if known is None or not known.answered:
                        ident = lane.answer(piece, failed=part.failed, stays=False)
                elif index >= begins and held.joins is not False:
                    ident, lane.answered = lane.tape.add(piece), False
                if ident is not None and index >= begins and held.joins is not False:
                    lane.comes(ident)

    def _synthetic(self, held: _LaneState, line: Line, fields: tuple[Field, ...]) -> None:
        """A run of states only: a step is one save, its prompt one segment `name: value` a field."""
        lane = held.lane
        self.draft.synthetic = True
        lane.sync([Piece(field_kind(f.name), f"{f.name}: {f.value}", None, field=f.name) for f in fields])
        carried = {lane.tape.field_of(ident): ident for ident in lane.tape.live}
        lane.fields = tuple(
            Field(f.name, f.value, f.tokens, f.verified_by, f.verified_at, carried.get(f.name), f.done) for f in fields
        )
        lane.close()
        lane.answered = True

    def _finish_steps(
        self, held: _LaneState, line: Line, place: Place, fields: tuple[Field, ...], steps: list[StepDraft]
    ) -> None:
        draft, lane = self.draft, held.lane
        notes = held.notes if not held.notes or isinstance(held.notes, str) else arguments_text(held.notes)
        lane.notes = notes
        for offset, step in enumerate(reversed(steps)):
            step.own = line.step - offset
        if steps:
            missing = (steps[0].own or 0) - held.last_step - 1 if held.last_step is not None else 0
            if missing > 0:
                first = steps[0].own or 0
                steps[0].gap = missing
                draft.gaps.append(Gap(lane.id, first - missing - 1, first, missing, "saves that are not in the ledger"))
            held.last_step = line.step
            last = steps[-1]
            last.at, last.notes = line.at, notes
            last.usage = usage_of(line.usage, place.shown)
            last.model = draft.model
            self._attempts(lane, last, line)
        elif lane.steps and lane.steps[-1].own == line.step:
            lane.steps[-1].notes = notes
            lane.touch(lane.steps[-1])
        if not draft.synthetic:
            source = held.prompt or held.messages
            lane.fields = held.finder.assign(fields, lambda ident: self._text_of(lane, source, ident))
        apply_goal(draft, fields, held.messages.goal_text, held.messages.starts_orphaned)
        draft.provenance = "exact" if self._exact else "reconstructed"
        system = bool(held.system) or any(kind == 0 for kind in lane.tape.kinds[:4])
        draft.unknown = () if self._exact else unknown_parts(system, held.tools is not None)

    def _attempts(self, lane: LaneDraft, step: StepDraft, line: Line) -> None:
        """Attempts that the author gave, for a loop whose messages hold no calls."""
        if step.calls or not line.attempts:
            return
        for given in line.attempts:
            if not isinstance(given, Mapping):
                continue
            tool = str(given.get("tool") or given.get("name") or "?")
            arguments = arguments_text(given.get("arguments", given.get("args")))
            call = Call(tool, arguments, None)
            lane.reply(Piece("call", call_text(tool, arguments), None, tool=tool), call, stays=False)
            result = given.get("result", given.get("error"))
            if result is None and "outcome" not in given:
                continue
            text = result if isinstance(result, str) else arguments_text(result)
            outcome, error = judge(text, True if given.get("error") else None)
            if given.get("outcome") in ("ok", "error", "denied", "unknown"):
                outcome = given["outcome"]
            lane.answer(Piece("result", text, None, tool=tool), outcome=outcome, error=error, stays=False)

    # -- pieces ---------------------------------------------------------------------------------------------------

    def _items(self, messages: list[Any], place: Place, first: int) -> list[Item]:
        return [
            Item(
                msgspec.json.encode(message), place.source, place.offset, place.length, place.line,
                (first + index) * PARTS,
            )
            for index, message in enumerate(messages)
        ]  # fmt: skip

    def _prefix(self, held: _LaneState, line: Line, place: Place) -> list[Piece]:
        pieces = prefix_pieces({"system": held.system, "tools": held.tools}, None)
        if line.system is not None or line.tools is not None:
            given = prefix_pieces({"system": line.system, "tools": line.tools}, None)
            places = {piece.key: number for number, piece in enumerate(given)}
            for piece in pieces:
                if piece.key in places:
                    piece.where = Where(
                        place.source, place.offset, place.length,
                        PREFIX * PARTS + places[piece.key], None, place.line,
                    )  # fmt: skip
        return pieces

    def _text_of(self, lane: LaneDraft, source: MessageList, ident: int) -> str | None:
        recent = source.recent_text(ident)
        if recent is not None:
            return recent
        where = lane.tape.segment(ident).where
        known = self._texts.get(lane.id, ident)
        if where is None or known is not None:
            return known
        try:
            raw = self._fetch(where)
            text = None if raw is None else extract(raw, where.part)
        except DamagedLine:
            return None
        if text is not None:
            text = text[where.span[0] : where.span[1]] if where.span else text
            self._texts.put(lane.id, ident, text)
        return text


def _sent(messages: list[Any]) -> int:
    """How many messages stood before the last answer."""
    said = [isinstance(raw, Mapping) and split(raw).role == "assistant" for raw in messages]
    end = next((place + 1 for place in range(len(said) - 1, -1, -1) if said[place]), len(said))
    start = end
    while start and said[start - 1] and (start == end or "role" not in messages[start - 1]):
        start -= 1
    return start


def _with_earlier(fields: tuple[Field, ...], before: tuple[Field, ...]) -> tuple[Field, ...]:
    """The state after the step, and what it held before it: the prompt was rendered from the earlier one."""
    known = {(field.name, field.value) for field in fields}
    return (*fields, *(field for field in before if (field.name, field.value) not in known))
