"""One lane of a run in the making -> a `Lane` value. Only what changed is frozen again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from agentmem.formats.draft import LaneDraft, StepDraft
from agentmem.inspect.assemble.attempts import Attempts
from agentmem.inspect.assemble.survivals import Later
from agentmem.inspect.compare.boundary import boundary_of, reported
from agentmem.inspect.compare.goal import GoalWalk, goal_field, status
from agentmem.inspect.compare.needed import Watch
from agentmem.inspect.compare.pieces import compare
from agentmem.inspect.compare.row import Passage, Row, Spared
from agentmem.inspect.compare.survive import survival
from agentmem.inspect.texts import Texts
from agentmem.model import (
    KINDS,
    UNSIZED,
    Boundary,
    Cycle,
    Drop,
    Field,
    GoalStatus,
    Lane,
    Provenance,
    Step,
    TokenCounter,
    Tokens,
    Unsure,
    Waiting,
)
from agentmem.tape import Tape

_SURVIVED = frozenset({"compaction", "condensation", "trim", "prune", "rewrite", "resume", "unexplained"})
"""Likewise a rewind that nobody recorded: of one on record everybody knows what it took back."""


class Setting(msgspec.Struct, frozen=True):
    """What of the run the steps of a lane depend on; when it changes, all of them are frozen again."""

    goal: str | None
    declared: bool
    unknown: bool
    window: int | None
    provenance: Provenance
    synthetic: bool
    fixed_unknown: bool = False
    """System prompt or tool schemas are not in the file: no tokens of them means unknown, not zero."""
    hidden: bool = False
    """A part of the prompt that may say the goal is not in the file (`Run.hidden`)."""

    def shown(self, tokens: Tokens) -> Tokens:
        """The tokens of a prompt, unknown where they are."""
        if not self.fixed_unknown:
            return tokens
        if tokens.fixed:  # a part of it is known, another is not
            return Tokens(tokens.state, tokens.trace, tokens.fixed, tokens.unknown + 1)
        return Tokens(tokens.state, tokens.trace, None, tokens.unknown)


class LaneAssembly:
    """Keeps the frozen steps of one lane and what is needed to go on from them."""

    def __init__(
        self, lane: LaneDraft, texts: Texts, count: TokenCounter, tape_of: Callable[[str], Tape | None]
    ) -> None:
        self._lane, self._count, self._tape_of = lane, count, tape_of
        # Whatever it is handed to does not hold this assembly: a run that is let go of is freed without a search.
        self._text: Callable[[int], str | None] = partial(_text_of, texts, lane)
        self._steps: list[Step] = []
        self._rows: list[list[Row]] = []
        self.spared: dict[int, tuple[Spared, ...]] = {}
        """Index of a step -> what left there and is no drop."""
        self._waiting: dict[int, list[Row]] = {}
        """Index of a step -> what becomes a drop of it if a call fails for the lack of it."""
        self._survivals: dict[int, Later] = {}
        self._watch = Watch()
        self._attempts = Attempts(lane.id)
        self._setting: Setting | None = None
        self._known: str | None = None
        """The goal of this lane."""
        self._walk: GoalWalk | None = None
        self._tape = lane.tape
        self._signature: tuple[object, ...] | None = None
        self._value: Lane | None = None
        self._open: Step | None = None
        self.cycles: tuple[Cycle, ...] = ()
        self.waiting: tuple[Waiting, ...] = ()
        self._by_number: dict[int, int] = {}
        self.gaps: list[int] = []
        """Indices of the steps before which steps are missing."""

    @property
    def survivals(self) -> tuple[Later, ...]:
        return tuple(self._survivals[index] for index in sorted(self._survivals))

    def lane(self, setting: Setting, finished: bool) -> Lane:
        """The lane as it stands. `finished`: the run has said that it is over, so nothing is open."""
        lane, tape = self._lane, self._lane.tape
        first = min(lane.changed_from, len(lane.steps), len(self._steps))
        signature = (
            setting, finished, len(tape), len(tape.live), len(lane.steps), lane.answered, len(lane.declared),
            lane.fields, lane.boundary, len(tape.edits(tape.steps + 1)), lane.notes, len(lane.coming),
        )  # fmt: skip
        if self._value is not None and signature == self._signature and lane.changed_from >= len(lane.steps):
            return self._value
        goal = self._goal(setting)
        if setting != self._setting or self._walk is None or goal != self._known or tape is not self._tape:
            if self._walk is None or goal != self._known or tape is not self._tape:
                self._walk, self._known = GoalWalk(tape, goal, self._text), goal
                self._tape = tape
            self._setting = setting
            first = 0
        dirty = self._rewind(first)
        for index in range(first, len(lane.steps)):
            dirty |= self._freeze(index, lane.steps[index])
        self._attempts.truncate(len(lane.steps))
        self._attempts.feed(first)
        self.cycles = self._attempts.cycles(self._cost, first < len(lane.steps))
        self.waiting = self._attempts.waiting(self._cost)
        self._open = None
        if lane.open and not finished and not setting.synthetic:
            dirty |= self._freeze_open()
        for index in dirty:
            if index < len(self._steps):
                self._steps[index] = replace(self._steps[index], drops=self._drops(index))
        lane.changed_from = len(lane.steps)
        self._signature = signature
        steps = (*self._steps, self._open) if self._open is not None else tuple(self._steps)
        self._value = Lane(lane.id, lane.kind, steps, lane.spawned_by, lane.name)
        return self._value

    # -- what a step is made of -----------------------------------------------------------------------------------

    def _goal(self, setting: Setting) -> str | None:
        """The run's goal; of a subagent the task that it was given: its first user text."""
        if self._lane.kind != "subagent":
            return setting.goal
        if self._known is not None:
            return self._known
        tape = self._lane.tape
        for ident in tape.ids(1) if tape.steps else tape.live:
            if KINDS[tape.kinds[ident]] in ("goal", "user"):
                return self._text(ident)
        return None

    def number(self, index: int) -> int:
        """What the screen shows for a step: the file's own number, else n; for the open step one more than the last."""
        steps = self._lane.steps
        if index < len(steps):
            own = steps[index].own
            return index + 1 if own is None else own
        if steps and steps[-1].own is not None:
            return steps[-1].own + 1
        return index + 1

    def _cost(self, number: int) -> int | None:
        index = self._by_number.get(number)
        if index is None:
            return None
        step = self._lane.steps[index]
        return reported(step) or step.size.prompt

    def _rewind(self, index: int) -> set[int]:
        dirty = self._watch.rewind(index)
        for step in range(index, len(self._rows)):
            self.spared.pop(step, None)
            self._waiting.pop(step, None)
            self._survivals.pop(step, None)
        while self.gaps and self.gaps[-1] >= index:
            self.gaps.pop()
        del self._steps[index:], self._rows[index:]
        return dirty

    def _length(self, index: int) -> int:
        """How many pieces the prompt of a closed step has."""
        return self._lane.tape.length(index + 1)

    def _changes(self, index: int) -> tuple[Sequence[int], Sequence[int]]:
        """(pieces that left and stand nowhere, pieces that came) against the parent's prompt."""
        tape, n = self._lane.tape, index + 1
        if index > 0:
            return tape.left(n), tape.came(n)
        parent = self._lane.parent
        other = self._tape_of(parent[0]) if parent is not None else None
        if other is None or parent is None or parent[1] > other.steps + 1:
            return (), ()
        had = {other.keys[ident] for ident in other.ids(parent[1])}
        now = tape.ids(1)
        keys = {tape.keys[ident] for ident in now}
        stands = set(now)
        through = dict.fromkeys(ident for edit in tape.edits(1) for ident in edit.new)
        left = tuple(i for i in through if i not in stands and tape.keys[i] not in keys)
        return left, tuple(i for i in now if tape.keys[i] not in had)

    def _compare(
        self, index: int, draft: StepDraft | None, given: Boundary | None, fields: tuple[Field, ...], tokens: Tokens,
        size: int,
    ) -> tuple[Boundary | None, set[int]]:  # fmt: skip
        """Rows of the step into `self._rows`; (its boundary, indices of earlier steps whose rows changed)."""
        lane, setting, walk = self._lane, self._setting, self._walk
        assert setting is not None and walk is not None
        steps, tape = lane.steps, lane.tape
        left, came = self._changes(index)
        parent = steps[index - 1] if index > 0 else None
        before = parent.fields if parent is not None else ()
        declared = draft.declared if draft is not None else lane.declared
        gap = draft is not None and draft.gap > 0
        boundary = boundary_of(
            steps, index, given, tape, left, came, synthetic=setting.synthetic, gap=gap,
            counted=(parent.size.prompt if parent is not None else None, tokens.prompt),
            sizes=(self._length(index - 1) if index > 0 else 0, size),
        )  # fmt: skip
        changed = fields is not before
        dirty = self._watch.came(index, tape, came, fields, changed)
        rows: list[Row] = []
        if left or declared or (changed and before):
            calls = [call for step in (parent, draft) if step is not None for call in step.calls]
            passage = Passage(
                index, tape, tuple(left), tuple(came), tape.edits(index + 1), before, fields, declared, boundary, calls,
                self._text, gap, _restarted(parent, draft, before, fields), lambda: tape.ids(index + 1),
                self._watch.absent, given is not None,
                walk.at(index + 1).ident >= 0,
            )  # fmt: skip
            outcome = compare(passage)
            rows = outcome.rows
            if passage.restarted:
                self._watch.restart(index)
            if outcome.spared:
                self.spared[index] = tuple(outcome.spared)
            if outcome.waiting:
                self._waiting[index] = outcome.waiting
                self._watch.spare(outcome.waiting)
        self._rows.append(rows)
        if rows:
            self._watch.add(rows, self._text)
        if boundary is not None and index > 0 and (
            boundary.kind in _SURVIVED or (boundary.kind == "rewind" and not boundary.recorded)
        ):  # fmt: skip
            self._survive(index, boundary, left, came)
        return boundary, dirty

    def _survive(self, index: int, boundary: Boundary, left: Sequence[int], came: Sequence[int]) -> None:
        tape, walk = self._lane.tape, self._walk
        assert walk is not None
        lane, text, count = self._lane.id, self._text, self._count
        fresh, number, goal = set(came), self.number(index), self._known
        before, after = walk.at(index).ident >= 0, walk.at(index + 1).ident >= 0
        self._survivals[index] = Later(lambda: survival(
            lane, index + 1, number, boundary, tape, left=left,
            stay=[ident for ident in tape.ids(index + 1) if ident not in fresh], came=came, text=text,
            count=count, goal=goal, goal_before=before, goal_after=after,
        ))  # fmt: skip

    def _drops(self, index: int) -> tuple[Drop, ...]:
        rows = self._rows[index]
        if index in self._waiting:
            rows = [*rows, *(row for row in self._waiting[index] if row.misses)]
        if not rows:
            return ()
        last = self.number(index - 1) if index > 0 else self.number(0)
        return tuple(row.freeze(self._lane.id, self.number, last) for row in rows)

    def _spared(self, index: int) -> tuple[tuple[str, str], ...]:
        return tuple((item.name, item.why) for item in self.spared.get(index, ()))

    def _freeze(self, index: int, draft: StepDraft) -> set[int]:
        lane, setting = self._lane, self._setting
        assert setting is not None
        number = self.number(index)
        self._by_number[number] = index
        if draft.gap > 0:
            self.gaps.append(index)
        boundary, dirty = self._compare(
            index, draft, draft.boundary, draft.fields, draft.size, self._length(index)
        )
        attempts = self._attempts.of(draft, number, reported(draft) or draft.size.prompt)
        if attempts:
            dirty |= self._watch.failed(index, lane.id, number, draft.calls, self._text)
        prompt = lane.tape.view(index + 1, setting.window, draft.provenance or setting.provenance)
        goal, after = self._goal_status(index, self._length(index), draft.fields, draft.unsure)
        segment = lane.tape.segment
        self._steps.append(
            Step(
                lane.id, draft.n, draft.own, draft.at, False, draft.parent, prompt, draft.fields,
                tuple(map(segment, draft.replies)), attempts, tuple(map(segment, draft.results)), (),
                setting.shown(draft.size), draft.usage, boundary, goal, after,
                sum(not call.answered for call in draft.calls), draft.gap, draft.notes, self._spared(index),
                draft.unsure,
            )
        )  # fmt: skip
        if self._rows[index] or index in self._waiting:
            dirty.add(index)  # frozen with the others, when what needs them and what comes back is known
        else:
            dirty.discard(index)
        return dirty

    def _freeze_open(self) -> set[int]:
        lane, setting = self._lane, self._setting
        assert setting is not None
        index = len(lane.steps)
        place = len(lane.tape.live) - lane.tail
        tokens, length = setting.shown(lane.tape.sums(lane.coming)), len(lane.tape.live) + len(lane.coming)
        boundary, dirty = self._compare(index, None, lane.boundary, lane.fields, tokens, length)
        # No request was made yet: what is known of every call is no more than a rule for the one that comes.
        provenance = "reconstructed" if setting.provenance == "exact" else setting.provenance
        prompt = lane.tape.view(index + 1, setting.window, provenance, lane.coming, place)
        assert self._walk is not None
        behind = lane.coming if self._walk.at(index + 1).index < place else []
        more = sum(max(0, lane.tape.tokens[ident]) for ident in behind)
        goal, after = self._goal_status(index, len(lane.tape.live) + len(behind), lane.fields, more=more)
        own = self.number(index) if lane.steps and lane.steps[-1].own is not None else None
        parent = (lane.id, index) if index > 0 else lane.parent
        self._open = Step(
            lane.id, index + 1, own, None, True, parent, prompt, lane.fields, (), (), (), self._drops(index), tokens,
            None, boundary, goal, after, 0, 0, lane.notes, self._spared(index),
        )  # fmt: skip
        return dirty

    def _goal_status(
        self, index: int, length: int, fields: Sequence[Field], unsure: Unsure | None = None, more: int = 0
    ) -> tuple[GoalStatus, int | None]:
        setting, walk = self._setting, self._walk
        assert setting is not None and walk is not None
        if unsure in UNSIZED:  # where in it the goal stood is as unknown as what else did
            return "present" if walk.at(index + 1).ident >= 0 else "unknown", None
        if unsure == "cut" and index > 0 and walk.at(index).ident >= 0 > walk.at(index + 1).ident:
            return "unknown", None
        own = self._lane.kind == "subagent"
        return status(
            walk, index + 1, length, fields, declared=setting.declared and not own, unknown=setting.unknown and not own,
            synthetic=setting.synthetic, window=setting.window, expected=self._lane.kind == "branch",
            hidden=setting.hidden, more=more,
        )  # fmt: skip


def _text_of(texts: Texts, lane: LaneDraft, ident: int) -> str | None:
    return texts.text(lane.tape, ident)


def _restarted(
    parent: StepDraft | None, draft: StepDraft | None, before: Sequence[Field], after: Sequence[Field]
) -> bool:
    """Another run in the same file: the goal is another one and the count starts again."""
    if parent is None or draft is None or parent.own is None or draft.own is None or draft.own >= parent.own:
        return False
    was, now = goal_field(before), goal_field(after)
    return was is not None and now is not None and was.value != now.value
