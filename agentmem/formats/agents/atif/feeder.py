"""Puts the steps of one ATIF trajectory on a lane."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentmem.formats.agents.atif.steps import (
    got_of,
    parts_of,
    references,
    said_of,
    source_of,
    task_span,
    usage_of_step,
)
from agentmem.formats.draft import LaneDraft
from agentmem.formats.shared.rewriting import call_of, decoded, keep_only, mapping, piece_of, where_of
from agentmem.formats.shared.times import seconds
from agentmem.formats.usage import amount
from agentmem.formats.versions import Item
from agentmem.model import Boundary, Kind
from agentmem.tape import Piece

StepsOf = Callable[[LaneDraft, Mapping[str, Any]], tuple[str, list[Item]] | None]


class Feeder:
    """Puts steps on a lane, one after the other. `steps_of` makes the lane of a subagent that a step names and gives
    its name and steps; `count` is told of each step's source."""

    def __init__(self, lane: LaneDraft, steps_of: StepsOf, count: Callable[[str], None], *, owns: bool = False) -> None:
        self.lane = lane
        self.goal: str | None = None
        self.terminus = False
        """The agent keeps its first request through a compaction."""
        self._steps_of, self._count, self._owns = steps_of, count, owns
        self._kept: list[int] = []
        """Pieces that stand through a compaction: those at the start, for Terminus the first request too."""
        self._last: int | None = None
        self._missing = 0

    def prefix(self, piece: Piece) -> None:
        """What stands before the first step (tool schemas)."""
        self._kept.append(self.lane.append(piece))

    def feed(self, value: Mapping[str, Any], item: Item) -> None:
        """One step."""
        source = source_of(value)
        self._number(value.get("step_id"))
        if source == "agent" and not value.get("is_copied_context") and value.get("llm_call_count") != 0:
            self._answer(value, item)
        else:
            self._listen(value, item, source)
        self._count(source if source in ("agent", "user", "system") else f"?{source}")

    def carry_on(self, name: str, steps: list[Item]) -> None:
        """The run goes on in another file, which begins with copies of what was kept."""
        lane = self.lane
        values = [decoded(step) for step in steps]
        begin = next((i for i, value in enumerate(values) if not value.get("is_copied_context")), len(values))
        copied = [
            piece for value, item in zip(values[:begin], steps, strict=False) for piece in self._pieces(value, item)
        ]
        self._last = None
        tools = [self._again(ident) for ident in self._kept if lane.tape.segment(ident).kind == "tools"]
        lane.sync([*tools, *copied])
        lane.boundary = Boundary("compaction", True, None, None, f"continued in {name}")
        for value, item in zip(values[begin:], steps[begin:], strict=True):
            self.feed(value, item)

    def _again(self, ident: int) -> Piece:
        """A piece that stands in the list, to be told apart by its key."""
        seg = self.lane.tape.segment(ident)
        return Piece(seg.kind, seg.head, seg.where, seg.call_id, seg.field, seg.tool, seg.tokens, None, seg.key)

    # -- one step -------------------------------------------------------------------------------------------------

    def _number(self, own: object) -> None:
        if not isinstance(own, int) or isinstance(own, bool):
            return
        if self._last is not None and own > self._last + 1:
            self._missing += own - self._last - 1
        self._last = own

    def _answer(self, value: Mapping[str, Any], item: Item) -> None:
        lane, at = self.lane, seconds(value.get("timestamp"))
        own, model = value.get("step_id"), value.get("model_name")
        lane.close(
            own=own if self._owns and isinstance(own, int) else None, at=at, usage=usage_of_step(value),
            # Without a number of its own the first step stands behind none.
            gap=self._missing if self._owns or lane.steps else 0, model=model if isinstance(model, str) else None,
        )  # fmt: skip
        self._missing = 0
        said, results = said_of(value), got_of(value)
        for number, part in enumerate(said):
            lane.reply(piece_of(item, number, part), call_of(part), stays=part.kind != "thinking")
        for number, part in enumerate(results, len(said)):
            piece = piece_of(item, number, part)
            if part.kind == "image":
                lane.append(piece)
            else:
                lane.answer(piece, at=at)
        for call in lane.steps[-1].calls if results else ():
            call.answered = True  # Calls of one batch share one output, which is tied to the first.
        lane.answered = not lane.steps[-1].calls and not results
        self._spawned(value)

    def _listen(self, value: Mapping[str, Any], item: Item, source: str) -> None:
        lane = self.lane
        managed = mapping(mapping(value.get("extra")).get("context_management"))
        if managed:
            self._compacted(value, managed)
            return
        pieces = self._pieces(value, item)
        if source == "user" and lane.boundary is None and lane.steps and any(p.kind == "summary" for p in pieces):
            keep_only(lane, self._kept)
            why = "a summary stands in the place of older messages"
            lane.boundary = Boundary("compaction", True, None, None, why)
        for piece in pieces:
            ident = lane.answer(piece) if piece.kind == "result" else lane.append(piece)
            if not lane.steps and (piece.kind == "system" or (self.terminus and piece.kind in ("user", "goal"))):
                self._kept.append(ident)
        self._spawned(value)

    def _spawned(self, value: Mapping[str, Any]) -> list[tuple[str, list[Item]]]:
        found = (self._steps_of(self.lane, reference) for reference in references(value))
        return [one for one in found if one is not None]

    def _compacted(self, value: Mapping[str, Any], managed: Mapping[str, Any]) -> None:
        """A system step that says that the context was compacted. What comes next replaces what stood before."""
        lane = self.lane
        sort, before = managed.get("type"), amount(managed.get("tokens_before"))
        why = f"context_management: {sort}" if isinstance(sort, str) else "context_management"
        lane.boundary = Boundary("compaction", True, before, None, why)
        spawned = self._spawned(value)
        if managed.get("boundary", "replace") != "replace":
            return
        keep_only(lane, self._kept)
        for name, steps in spawned if self.terminus else ():
            if name.endswith("questions"):  # What the next agent was told and asked stands before the handoff.
                for step in steps:
                    for piece in self._pieces(decoded(step), step):
                        lane.append(piece)

    def _pieces(self, value: Mapping[str, Any], item: Item) -> list[Piece]:
        """What a step brings into the prompt."""
        out: list[Piece] = []
        source = source_of(value)
        for number, part in enumerate(parts_of(value)):
            if part.kind == "thinking" and source == "agent":
                continue
            start, end = task_span(part.text or "")
            asked = (part.text or "")[start:end].strip()
            if source == "user" and part.kind == "user" and part.text and self.goal in (None, asked):
                self.goal = asked or None
                kinds: tuple[tuple[int, int, Kind], ...] = (
                    (0, start, "user"), (start, end, "goal"), (end, len(part.text), "user"),
                )  # fmt: skip
                for a, b, kind in kinds:
                    if part.text[a:b].strip():
                        span = None if b - a == len(part.text) else (a, b)
                        out.append(Piece(kind, part.text[a:b], where_of(item, number, span)))
            else:
                out.append(piece_of(item, number, part))
        return out
