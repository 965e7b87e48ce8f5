"""A run in the making (`RunDraft`) -> the immutable `Run` that every screen and command shows, anew as it grows."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from agentmem.formats.draft import LaneDraft, RunDraft
from agentmem.formats.reader import LIVE_SECONDS
from agentmem.inspect.assemble.lane import LaneAssembly, Setting
from agentmem.inspect.assemble.survivals import Later, Survivals
from agentmem.inspect.assemble.window_table import window_of
from agentmem.inspect.compare.row import Spared
from agentmem.inspect.telling.pulse import GONE, UNREADABLE, standing
from agentmem.inspect.texts import Texts
from agentmem.model import Begun, Cycle, Gap, Lane, Run, RunStatus, Waiting, WindowSource, hides_text
from agentmem.tape import Tape

PENDING_SECONDS = 600.0
"""A call without a result keeps a run live for so long."""
WAITED_SECONDS = 86_400.0
"""For so long a call without a result is still named as what the agent waits for."""

FIXED_PARTS = ("system prompt", "tool schemas")
"""Names in `RunDraft.unknown` of what is `fixed`."""


class Assembler:
    """Turns one draft into `Run` values. `window`: given by the person, used where neither file nor model tells."""

    def __init__(
        self, draft: RunDraft, texts: Texts, *, window: int | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._draft, self._texts, self._given, self._clock = draft, texts, window, clock
        self._lanes: dict[str, LaneAssembly] = {}
        self._run: Run | None = None

    def run(self, changed: bool = True) -> Run:
        """The run as it stands. Freezes only what the reader touched since the last call. `changed` False: the reader
        says that nothing was touched, and only status and notices may differ."""
        draft = self._draft
        if not changed and self._run is not None:
            status = self._status()
            self._run = replace(
                self._run, status=status, notice=draft.notice, changed_at=draft.changed_at,
                pending=self._pending(status), problems=tuple(draft.problems),
            )  # fmt: skip
            self._run = replace(self._run, begun=self._begun(self._run))
            return self._run
        window, source = self._window()
        setting = Setting(
            draft.goal, draft.goal_declared, draft.goal_unknown, window, draft.provenance, draft.synthetic,
            any(part in draft.unknown for part in FIXED_PARTS), hides_text(draft.unknown),
        )  # fmt: skip
        lanes: list[Lane] = []
        cycles: list[Cycle] = []
        waiting: list[Waiting] = []
        survivals: list[Later] = []
        for ident, lane in draft.lanes.items():
            assembly = self._lanes.get(ident)
            if assembly is None:
                assembly = self._lanes[ident] = LaneAssembly(lane, self._texts, draft.count, partial(_tape_of, draft))
            lanes.append(assembly.lane(setting, draft.finished))
            cycles.extend(assembly.cycles)
            waiting.extend(assembly.waiting)
            survivals.extend(assembly.survivals)
        unknown_goal = draft.goal_unknown and not draft.goal_declared
        status = self._status()
        self._run = Run(
            draft.id, draft.path, draft.format, draft.provenance, None if unknown_goal else draft.goal,
            draft.goal_declared, tuple(lanes), self._gaps(), tuple(draft.problems), status, draft.counter, window,
            source, draft.model, tuple(cycles), tuple(waiting), Survivals(survivals), draft.synthetic, draft.changed_at,
            self._pending(status), draft.notice, draft.results_known, draft.unknown, draft.past_unknown,
            earlier=draft.earlier, ended_as=draft.ended_as if status == "ended" else None,
        )  # fmt: skip
        if draft.begun:
            self._run = replace(self._run, begun=self._begun(self._run))
        return self._run

    def spared(self, lane: str, n: int) -> tuple[Spared, ...]:
        """What left at that step and is no drop, and why not."""
        assembly = self._lanes.get(lane)
        return assembly.spared.get(n - 1, ()) if assembly is not None else ()

    def _window(self) -> tuple[int | None, WindowSource]:
        draft = self._draft
        if draft.window is not None:
            return draft.window, "declared" if draft.window_source == "unknown" else draft.window_source
        known = window_of(draft.model)
        if known is not None:
            return known, "model"
        return (self._given, "given") if self._given is not None else (None, "unknown")

    def _gaps(self) -> tuple[Gap, ...]:
        """Gaps that the reader tells, and those of steps that say how many are missing before them."""
        draft = self._draft
        told = {(gap.lane, gap.before) for gap in draft.gaps}
        out = list(draft.gaps)
        for lane in draft.lanes.values():
            for index in self._lanes[lane.id].gaps:
                step = lane.steps[index]
                number = self._lanes[lane.id].number
                before = number(index)
                if (lane.id, before) not in told:
                    after = number(index - 1) if index > 0 else before - step.gap - 1
                    out.append(Gap(lane.id, after, before, step.gap, "not in what was seen"))
        return tuple(out)

    def _status(self) -> RunStatus:
        draft = self._draft
        if draft.finished:
            return "ended"
        if draft.notice in GONE or (draft.notice or "").startswith(UNREADABLE):
            return "stale"
        if draft.changed_at is None:
            return "unknown"
        pending = any(lane.pending for lane in draft.lanes.values()) or self._under_way() is not None
        return "live" if self._age(draft.changed_at) <= (PENDING_SECONDS if pending else LIVE_SECONDS) else "stale"

    def _begun(self, run: Run) -> tuple[Begun, ...]:
        """Guarded calls without an outcome: in doubt too where the run is no longer live, or unusually quiet."""
        silent = standing(run, self._clock()).word != "live"
        return tuple(replace(call, in_doubt=call.in_doubt or silent) for call in self._draft.begun)

    def _under_way(self) -> Begun | None:
        """The guarded call that the run waits for, if it has not gone on without it."""
        return next((call for call in self._draft.begun if not call.in_doubt), None)

    def _age(self, changed_at: float) -> float:
        return self._clock() - changed_at

    def _pending(self, status: RunStatus) -> tuple[str, float | None] | None:
        """What a run waits for: the first call without a result (that of a quiet run too), else of a live run the model
        if it is its turn."""
        draft = self._draft
        if status not in ("live", "stale") or draft.notice in GONE:
            return None
        lane: LaneDraft = draft.main
        if status == "stale" and (draft.changed_at is None or self._age(draft.changed_at) > WAITED_SECONDS):
            return None
        if lane.steps:
            for call in lane.steps[-1].calls:
                if not call.answered:
                    return call.tool, call.started if call.started is not None else lane.steps[-1].at
        if status == "stale":
            return None
        guarded = self._under_way()
        if guarded is not None:
            return guarded.tool, guarded.started
        if not lane.open:
            return None
        ended = [call.ended for call in lane.steps[-1].calls if call.ended is not None] if lane.steps else []
        return "model", max(ended) if ended else self._draft.changed_at


def _tape_of(draft: RunDraft, lane: str) -> Tape | None:
    found = draft.lanes.get(lane)
    return found.tape if found is not None else None
