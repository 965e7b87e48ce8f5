"""What a reader builds: a run in the making. Lanes of steps over a tape; `agentmem.inspect` turns it into values.

A reader uses three verbs of a lane: `append` (something new stands in the prompt), `splice` or `sync` (the list was
edited), `close` (a model call: the list as it stands was its prompt). `answer` brings the result of a call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from agentmem.formats.loose import is_utf8
from agentmem.formats.outcome import judge
from agentmem.ledger import make_attempt
from agentmem.model import (
    UNSIZED,
    Attempt,
    Begun,
    Boundary,
    Cause,
    Field,
    Gap,
    Kind,
    LaneKind,
    Outcome,
    Problem,
    Provenance,
    TokenCounter,
    Tokens,
    Unsure,
    Usage,
    Where,
    WindowSource,
)
from agentmem.tape import Piece, Tape, cut_later, reopened
from agentmem.tokens import Quick

_UNSEEN = Tokens(None, None, None)
_LONG_RESULT = 400
"""Characters; shorter results are held until the inspector looks."""


class Call(msgspec.Struct, eq=False):
    """One tool call in the making; outcome and result come later."""

    tool: str
    arguments: str
    call_id: str | None = None
    started: float | None = None
    outcome: Outcome = "unknown"
    result: str | None = None
    """Whole text of the result, until the inspector has taken its key; then dropped."""
    answered: bool = False
    error: str | None = None
    ended: float | None = None
    result_key: str | None = None
    result_head: str | None = None
    taken: Attempt | None = None
    """What was made of a long result whose text is no longer held, until the inspector has put it in its place."""

    def take(self) -> None:
        """Make an attempt of the result, its place aside, and let go of the text: a file is never held whole."""
        self.taken = make_attempt(self.tool, self.arguments, self.result, n=0, outcome=self.outcome, error=self.error)
        self.result = None


class Declared(msgspec.Struct, eq=False):
    """A drop that the file itself records."""

    name: str
    cause: Cause
    what: Literal["segment", "field", "plan"] = "segment"
    segment: int | None = None
    text: str | None = None
    tokens: int | None = None
    kind: Kind = "other"
    record: str = ""
    """Who recorded it and where, in words."""
    stub: int | None = None
    others: tuple[int, ...] = ()
    """More pieces that went with `segment`: all of them are one row."""


class StepDraft(msgspec.Struct, eq=False):
    n: int
    own: int | None = None
    at: float | None = None
    usage: Usage | None = None
    boundary: Boundary | None = None
    replies: list[int] = msgspec.field(default_factory=list)
    calls: list[Call] = msgspec.field(default_factory=list)
    results: list[int] = msgspec.field(default_factory=list)
    fields: tuple[Field, ...] = ()
    declared: list[Declared] = msgspec.field(default_factory=list)
    notes: str | None = None
    parent: tuple[str, int] | None = None
    gap: int = 0
    """Steps known to be missing before this one."""
    tokens: Tokens = msgspec.field(default_factory=lambda: Tokens(0, 0, 0))
    provenance: Provenance | None = None
    """Where it differs from the run's."""
    model: str | None = None
    unsure: Unsure | None = None

    @property
    def size(self) -> Tokens:
        """Its tokens, unknown where older messages stood in it that were never seen."""
        return _UNSEEN if self.unsure in UNSIZED else self.tokens


class LaneDraft:
    """One lane. `changed_from` is the index of the first step changed since the inspector last looked."""

    def __init__(
        self, ident: str, count: TokenCounter, kind: LaneKind = "main", *,
        spawned_by: tuple[str, int] | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        self.id = ident
        self.kind: LaneKind = kind
        self.spawned_by = spawned_by
        self.name = name
        self.tape = Tape(count)
        self.steps: list[StepDraft] = []
        self.changed_from = 0
        self.boundary: Boundary | None = None
        """A boundary seen since the last close: it belongs to the next step."""
        self.declared: list[Declared] = []
        """Drops recorded since the last close: they belong to the next step."""
        self.fields: tuple[Field, ...] = ()
        """The state as it is held now; a step keeps what was held when it was closed."""
        self.notes: str | None = None
        self.parent: tuple[str, int] | None = spawned_by if kind == "branch" else None
        self.answered = False
        """The list ends in an assistant message without a call: there is no open step."""
        self.coming: list[int] = []
        """Pieces that came since the last call and are not in the list, because the next prompt will be given whole
        (answers and results beside captured requests): the open step holds them."""
        self.tail = 0
        """So many pieces at the end of the list are rendered anew for each prompt: what comes stands before them."""
        self.ids_given: dict[str, int] = {}
        self._calls: dict[str, list[tuple[int, Call]]] = {}
        """By id, in order: those without a result, else the last one. Ids may be given again."""

    # -- the prompt -----------------------------------------------------------------------------------------------

    def append(self, piece: Piece) -> int:
        """Something new stands at the end of the prompt. Returns its id."""
        self.answered = False
        self._touch(len(self.steps))
        return self.tape.append(piece)

    def splice(self, position: int, gone: int, new: Iterable[int | Piece] = ()) -> tuple[int, ...]:
        self._touch(len(self.steps))
        return self.tape.splice(position, gone, new)

    def sync(self, pieces: Sequence[Piece]) -> None:
        """The whole list as it stands now; common pieces keep their ids."""
        self.answered = False
        self._touch(len(self.steps))
        self.tape.sync(pieces)

    def cut_later(self, steps: Iterable[StepDraft]) -> None:
        """What was cut before the calls of these steps was cut right behind them, as is known by now."""
        late = {step.n: step for step in steps}
        self.tape, tokens = cut_later(self.tape, late)
        for n, step in reversed(late.items()):
            step.tokens = tokens[n]
            if step.boundary is None:
                continue
            if n == len(self.steps):
                self.boundary = self.boundary or step.boundary
            else:
                self.steps[n].boundary = self.steps[n].boundary or step.boundary
            step.boundary = None
        self._touch(0)

    def reopen(self) -> None:
        """The last step, of which no answer is known, was none: its prompt is still open."""
        step = self.steps.pop()
        self.tape = reopened(self.tape)
        self.boundary, self.declared = self.boundary or step.boundary, [*step.declared, *self.declared]
        self._touch(0)

    # -- steps ----------------------------------------------------------------------------------------------------

    def close(
        self, *, own: int | None = None, at: float | None = None, usage: Usage | None = None, gap: int = 0,
        model: str | None = None, provenance: Provenance | None = None,
    ) -> StepDraft:  # fmt: skip
        """A model call: its prompt is the list as it stands. Replies follow by `reply`, results by `answer`."""
        tokens = self.tape.sums()
        n = self.tape.close()
        parent = (self.id, n - 1) if n > 1 else self.parent
        step = StepDraft(
            n, own, at, usage, self.boundary, declared=self.declared, fields=self.fields, notes=self.notes,
            parent=parent, gap=gap, tokens=tokens, provenance=provenance, model=model,
        )  # fmt: skip
        self.boundary, self.declared, self.coming, self.tail = None, [], [], 0
        self.steps.append(step)
        self._touch(n - 1)
        self.answered = False
        return step

    def reply(
        self, piece: Piece, call: Call | None = None, *, stays: bool = True, step: StepDraft | None = None
    ) -> int:
        """A piece of the answer of the last step. `stays`: it stands in the prompt from now on (a transcript); False:
        the next prompt will be given whole (a request log). `step`: an earlier step, of whose answer a line came late.
        Raises IndexError before the first step."""
        step = step or self.steps[-1]
        ident = self.tape.append(piece) if stays else self.tape.add(piece)
        step.replies.append(ident)
        if call is not None:
            step.calls.append(call)
            if call.call_id is not None:
                self._remember(call.call_id, step.n - 1, call)
        self.answered = not step.calls
        self._touch(step.n - 1)
        return ident

    def answer(
        self, piece: Piece, *, failed: bool | None = None, at: float | None = None, stays: bool = True,
        outcome: Outcome | None = None, error: str | None = None, again: bool = False,
    ) -> int:  # fmt: skip
        """A result. It is tied by `piece.call_id` to the nearest call of that id that waits for one (ids may be given
        again), else to the oldest call of the last step without one.
        `failed` is what the format says; None: judged by the text. The first result of a call counts, a later one (a
        stub of it) is only a piece; `again`: the later one counts (updated in place). Returns the piece's id."""
        self.answered = False
        place = self._place(piece.call_id)
        if place is None and self.steps:
            waiting = [call for call in self.steps[-1].calls if not call.answered]
            if waiting and (piece.call_id is None or waiting[0].call_id is None):
                place = (len(self.steps) - 1, waiting[0])
        if place is None:
            return self.append(piece) if stays else self.tape.add(piece)
        index, call = place
        verdict, line = judge(piece.text, failed) if outcome is None else (outcome, error)
        piece.tool = piece.tool or call.tool
        if verdict == "error" and piece.kind == "result":
            piece = Piece(
                "error", piece.text, piece.where, piece.call_id, piece.field, piece.tool, piece.tokens, piece.stub_of
            )
        if call.answered and not again:
            return self.append(piece) if stays else self.tape.add(piece)
        call.answered, call.outcome, call.error = True, verdict, line or error
        call.result, call.ended = piece.text, at
        call.result_key = call.taken = None
        if piece.text is not None and len(piece.text) > _LONG_RESULT:
            call.take()
        ident = self.tape.append(piece) if stays else self.tape.add(piece)
        self.steps[index].results.append(ident)
        self._touch(index)
        return ident

    def comes(self, ident: int) -> None:
        """A piece that does not stand in the list (`stays` False) will be in the next prompt."""
        self.coming.append(ident)
        self._touch(len(self.steps))

    def call_of(self, call_id: str) -> Call | None:
        """The call of that id that a result would be tied to now: the nearest that waits for one, else the last one;
        None if none was made in this lane."""
        place = self._place(call_id)
        return place[1] if place else None

    def _remember(self, call_id: str, index: int, call: Call) -> None:
        known = self._calls.setdefault(call_id, [])
        if known and known[-1][1].answered:
            known.pop()
        known.append((index, call))

    def _place(self, call_id: str | None) -> tuple[int, Call] | None:
        """(index of its step, the call) for a result of that id: of the newest step with a call of that id that waits,
        the oldest one; the last call where none waits."""
        known = self._calls.get(call_id) if call_id else None
        if not known:
            return None
        if len(known) == 1:
            return known[0]
        waiting = [place for place in known if not place[1].answered]
        last = known[-1]
        known[:] = waiting or [last]
        return next((place for place in waiting if place[0] == waiting[-1][0]), last)

    @property
    def open(self) -> bool:
        """Whether the list as it stands is a prompt that the next call will see (the run's own end aside)."""
        return bool(self.tape.live) and not self.answered

    @property
    def pending(self) -> int:
        """Calls of the last step without a result."""
        return sum(not call.answered for call in self.steps[-1].calls) if self.steps else 0

    def touch(self, step: StepDraft) -> None:
        """Something of that step was changed (usage that came late)."""
        self._touch(step.n - 1)

    def _touch(self, index: int) -> None:
        if index < self.changed_from:
            self.changed_from = index


class RunDraft:
    """A run in the making."""

    def __init__(self, path: str, format_name: str, ident: str, count: TokenCounter, counter: str) -> None:
        self.path = path
        self.format = format_name
        self.id = ident
        self.count = count
        self._counter = counter
        self.provenance: Provenance = "reconstructed"
        self.goal: str | None = None
        self.goal_declared = False
        self.goal_unknown = False
        """The list starts with an orphan result or was cut: the first user text need not be the goal."""
        self.window: int | None = None
        self.window_source: WindowSource = "unknown"
        self.model: str | None = None
        self.agent: str | None = None
        self.lanes: dict[str, LaneDraft] = {}
        self.problems: list[Problem] = []
        self.gaps: list[Gap] = []
        self.finished = False
        """The run itself says that it is over."""
        self.ended_as: str | None = None
        """How it says that it ended, in its own word."""
        self.synthetic = False
        self.results_known = True
        self.unknown: tuple[str, ...] = ()
        """What is not in the file, in words: `system prompt`, `tool schemas`."""
        self.past_unknown = False
        """Only one version of a list was seen, which does not tell what was left out before it was saved."""
        self.changed_at: float | None = None
        self.notice: str | None = None
        self.earlier = 0
        """How many runs are known to have stood in the file before this one."""
        self.began: tuple[Where, ...] = ()
        """In a file that grows: where this run begins, and before it those between the first one and it."""
        self.begun: tuple[Begun, ...] = ()
        """Guarded calls without an outcome; `in_doubt` of one that the run went on without."""
        self.counts: dict[str, int] = {}
        """Records by type; `?NAME` for types that were not understood."""
        self._garbled: set[str] = set()
        self._said: Problem | None = None
        self.lane("main")

    def lane(self, ident: str, kind: LaneKind = "main", **more: object) -> LaneDraft:
        """The lane of that id, made if there is none."""
        lane = self.lanes.get(ident)
        if lane is None:
            lane = self.lanes[ident] = LaneDraft(ident, self.count, kind, **more)  # type: ignore[arg-type]  # passed on
        return lane

    @property
    def main(self) -> LaneDraft:
        return self.lanes["main"]

    @property
    def counter(self) -> str:
        """Name of the counter that its figures are of."""
        return self.count.name if isinstance(self.count, Quick) else self._counter

    def problem(self, where: str, what: str) -> None:
        """Shown, never swallowed; at most 1,000 are kept, then counted in the last one."""
        if len(self.problems) < 1000:
            self.problems.append(Problem(where, what))

    def see(self, data: bytes, where: str, what: str = "lines") -> None:
        """A record is read, in whose place bytes that are no UTF-8 are replaced: one problem says in how many of them,
        since what was replaced may make two equal records differ, or different ones equal. `where` tells it apart."""
        if is_utf8(data) or where in self._garbled:
            return
        self._garbled.add(where)
        number = len(self._garbled)
        said = self._said
        counted = f"{number} {what if number > 1 else what.removesuffix('s')} with bytes that are no UTF-8"
        self._said = Problem(where if number == 1 else self.id, f"{counted}, each shown as U+FFFD")
        if said is not None and said in self.problems:
            self.problems[self.problems.index(said)] = self._said
        else:
            self.problems.append(self._said)

    def set_goal(self, text: str | None, *, declared: bool) -> None:
        """The first declared goal wins over a guessed one."""
        if text and (self.goal is None or (declared and not self.goal_declared)):
            self.goal, self.goal_declared = text, declared


def whole(where: Where, part: int) -> Where:
    """The same record, another piece of it."""
    return Where(where.source, where.offset, where.length, part, None, where.line)
