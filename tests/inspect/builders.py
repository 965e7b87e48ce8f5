"""Drafts built by hand: a lane told step by step, with texts at hand instead of in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentmem.formats.draft import Call, Declared, LaneDraft, RunDraft
from agentmem.formats.fields import field_kind
from agentmem.inspect.assemble import Assembler
from agentmem.inspect.texts import Texts
from agentmem.model import Boundary, Drop, Field, Kind, Lane, Run, Step, Usage, Where
from agentmem.tape import Piece
from agentmem.tokens import chars4

NOW = 1_000_000.0
SOURCE = "history:book"


class Book:
    """A keeper and a reader at once: texts by number, so that whole texts are fetched as from a file."""

    def __init__(self) -> None:
        self.texts: list[str | None] = []

    def put(self, text: str | None) -> Where:
        self.texts.append(text)
        return Where(SOURCE, len(self.texts) - 1, 0)

    def message(self, path: str, key: int) -> bytes | None:
        return str(key).encode()

    def past(self, path: str) -> tuple[()]:
        return ()

    def begin(self, path: str) -> None:
        raise AssertionError("nothing here begins anew")

    def earlier(self, path: str) -> int:
        return 0

    def keep(self, path: str, version: object, new: Mapping[int, bytes]) -> None:
        raise AssertionError("nothing here is kept")

    def extract(self, raw: bytes, part: int) -> str | None:
        return self.texts[int(raw)]


class Tale:
    """A run told step by step."""

    def __init__(self, goal: str | None = None, *, declared: bool = False, window: int | None = None) -> None:
        self.book = Book()
        self.draft = RunDraft("/runs/tale.json", "tale", "tale", chars4, "chars4")
        self.draft.changed_at = NOW - 5
        self.draft.window = window
        self.at: LaneDraft = self.draft.main
        if goal is not None:
            self.draft.set_goal(goal, declared=declared)
            self.say("goal", goal)
        self._calls = 0
        self._own = 0
        self.assembler = Assembler(self.draft, Texts(self.book, self.book), clock=lambda: NOW)

    # -- the prompt -----------------------------------------------------------------------------------------------

    def piece(
        self, kind: Kind, text: str | None, *, call_id: str | None = None, field: str | None = None,
        tool: str | None = None, stub_of: int | None = None,
    ) -> Piece:  # fmt: skip
        return Piece(kind, text, self.book.put(text), call_id, field, tool, None, stub_of)

    def say(self, kind: Kind, text: str | None, **more: str | None) -> int:
        return self.at.append(self.piece(kind, text, **more))  # type: ignore[arg-type]  # names of texts only

    def take(self, *ids: int) -> None:
        """Take pieces out of the list, wherever they stand."""
        for ident in ids:
            self.at.splice(self.at.tape.live.index(ident), 1)

    def swap(self, ident: int, *pieces: Piece) -> tuple[int, ...]:
        """Put pieces in the place of one."""
        return self.at.splice(self.at.tape.live.index(ident), 1, pieces)

    # -- the state ------------------------------------------------------------------------------------------------

    def hold(self, *, shown: bool = True, **state: object) -> None:
        """The state as it is held from now on: names with `__` for a dot, lists as items. `shown`: its changed lines
        stand in the prompt as pieces of their own; what is no longer held leaves it."""
        fields: list[Field] = []
        of = self.at.tape.field_of
        carried = {name: ident for ident in self.at.tape.live if (name := of(ident)) is not None}
        for name, value in flat(state):
            segment = carried.get(name)
            text = f"{name}: {value[0]}"
            if shown and value[0] != "null":
                if segment is None:
                    segment = self.at.append(self.piece(field_kind(name), text, field=name))
                elif self.at.tape.segment(segment).head != text[:120]:
                    segment = self.swap(segment, self.piece(field_kind(name), text, field=name))[0]
            elif segment is not None:
                self.take(segment)
                segment = None
            fields.append(Field(name, value[0], chars4(value[0]), segment=segment, done=value[1]))
        for name, ident in carried.items():
            if ident in self.at.tape.live and name not in {field.name for field in fields}:
                self.take(ident)
        self.at.fields = tuple(fields)

    # -- steps ----------------------------------------------------------------------------------------------------

    def step(
        self, *calls: tuple[str, str, str | None], said: str | None = None, own: int | None = None,
        usage: int | None = None, gap: int = 0, model: str | None = None, failed: bool | None = None,
        at: float | None = None,
    ) -> None:  # fmt: skip
        """A model call: its answer and the results of its calls (tool, arguments, result; None: no result yet)."""
        self.at.close(own=own, usage=None if usage is None else Usage(usage), gap=gap, model=model, at=at)
        if said is not None or not calls:
            self.at.reply(self.piece("assistant", said or f"thought {len(self.at.steps)}"))
        waiting = []
        for tool, arguments, result in calls:
            self._calls += 1
            ident = f"call-{self._calls}"
            call = Call(tool, arguments, ident)
            self.at.reply(self.piece("call", f"{tool} {arguments}", call_id=ident, tool=tool), call)
            waiting.append((ident, result))
        for ident, result in waiting:
            if result is not None:
                self.result(ident, result, failed=failed)

    def result(self, ident: str, text: str, *, failed: bool | None = None) -> int:
        return self.at.answer(self.piece("result", text, call_id=ident), failed=failed)

    def declare(self, *drops: Declared) -> None:
        self.at.declared.extend(drops)

    def boundary(self, boundary: Boundary) -> None:
        self.at.boundary = boundary

    # -- what comes of it -----------------------------------------------------------------------------------------

    def run(self) -> Run:
        return self.assembler.run()

    def lane(self) -> Lane:
        return self.run().lane(self.at.id)

    def last(self) -> Step:
        return self.lane().steps[-1]

    def drops(self) -> list[Drop]:
        return [drop for step in self.lane().steps for drop in step.drops]

    def spared(self, n: int) -> dict[str, str]:
        self.run()
        return {item.name: item.why for item in self.assembler.spared(self.at.id, n)}


def flat(state: Mapping[str, object]) -> Sequence[tuple[str, tuple[str, bool | None]]]:
    """(name, (value, done)) of each field. An item of a list may be (text, done)."""
    out: list[tuple[str, tuple[str, bool | None]]] = []
    for key, value in state.items():
        name = key.replace("__", ".")
        if isinstance(value, list):
            for index, item in enumerate(value):
                done = None
                if isinstance(item, tuple):
                    item, done = item
                out.append((f"{name}[{index}]", (str(item), done)))
        elif isinstance(value, dict):
            out.extend((f"{name}.{inner}", (str(item), None)) for inner, item in value.items())
        else:
            out.append((name, ("null" if value is None else str(value), None)))
    return out


def told(run: Run) -> tuple[object, ...]:
    """Everything of a run as plain values, so that two can be compared."""
    return (
        run.goal, run.status, run.window, run.window_source, run.pending, len(run.gaps),
        tuple(
            (
                lane.id,
                tuple(
                    (
                        step.n, step.own, step.open, tuple(step.prompt.ids), step.tokens.prompt, step.goal,
                        step.tokens_after_goal, step.pending, step.gap, tuple(field.name for field in step.fields),
                        tuple((a.tool, a.signature, a.outcome, a.result_key, a.error, a.tokens) for a in step.attempts),
                        tuple(seg.id for seg in step.results), tuple(map(plain_drop, step.drops)),
                        None if step.boundary is None else (step.boundary.kind, step.boundary.recorded,
                                                            step.boundary.before, step.boundary.after),
                    )
                    for step in lane.steps
                ),
            )
            for lane in run.lanes
        ),
        tuple((c.lane, c.kind, c.period, c.steps, c.count, c.tokens, c.warned_at, c.ended_at) for c in run.cycles),
        tuple((w.lane, w.steps, w.tool, w.count, w.tokens) for w in run.waiting),
        tuple((s.lane, s.n, s.kept, tuple((x.kind, x.text) for x in s.lost), s.changed) for s in run.survivals),
    )  # fmt: skip


def plain_drop(drop: Drop) -> tuple[object, ...]:
    return (
        drop.n, drop.step, drop.what, drop.name, drop.kind, drop.cause, drop.recorded, drop.last_step,
        drop.returned_at, tuple((miss.n, miss.tool) for miss in drop.missed_by), drop.segment, drop.count, drop.stub,
        None if drop.still is None else (drop.still.why, drop.still.where, drop.still.segment, drop.still.part_of),
    )  # fmt: skip
