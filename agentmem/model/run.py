"""One run, whole, and a row of the list of runs."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agentmem.model.findings import Begun, Cycle, Gap, Problem, Survival, Waiting
from agentmem.model.kinds import Provenance, RunStatus, WindowSource
from agentmem.model.steps import Lane


def hides_text(unknown: Sequence[str]) -> bool:
    """Whether what is not in a file may say the goal or a field of the state; the schemas of tools say neither."""
    return any(part != "tool schemas" for part in unknown)


class Run(msgspec.Struct, frozen=True, eq=False):
    """One run, whole. A new value for every change; nothing in it is ever mutated."""

    id: str
    path: str
    format: str
    provenance: Provenance
    goal: str | None
    goal_declared: bool
    lanes: tuple[Lane, ...]
    gaps: tuple[Gap, ...]
    problems: tuple[Problem, ...]
    status: RunStatus
    counter: str
    window: int | None
    window_source: WindowSource
    model: str | None = None
    cycles: tuple[Cycle, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    survivals: Sequence[Survival] = ()
    """What came through each boundary, found when it is looked at (`inspect.assemble.survivals`)."""
    synthetic: bool = False
    """A store of states only: a step is one saved version."""
    changed_at: float | None = None
    """When the file last changed, seconds since the epoch."""
    pending: tuple[str, float | None] | None = None
    """What the agent waits for: (`model` or a tool's name, since)."""
    notice: str | None = None
    """What happened to the file, in words for the header: `being written`, `file gone`, `history rewritten`."""
    results_known: bool = True
    """False: the store keeps no results, so loops cannot be told."""
    unknown: tuple[str, ...] = ()
    """What is not in this file, in words: `system prompt`, `tool schemas`."""
    past_unknown: bool = False
    """Only one version of a list was seen, which does not tell what was left out before it was saved."""
    begun: tuple[Begun, ...] = ()
    """Guarded calls without an outcome, in the order of their beginning."""
    earlier: int = 0
    """How many runs are known to have stood in the file before this one; `agentmem history` has them."""
    ended_as: str | None = None
    """How an ended run says that it ended, in its own word: `done`, `aborted`, `failed: KeyError`; None: it says none.
    """

    @property
    def main(self) -> Lane:
        return self.lanes[0]

    @property
    def hidden(self) -> bool:
        """Whether a part of the prompt is not in the file that may say anything: what does not stand in the rest may
        stand there."""
        return hides_text(self.unknown)

    @property
    def doubts(self) -> tuple[Begun, ...]:
        """The guarded calls of which nobody knows whether they happened."""
        return tuple(call for call in self.begun if call.in_doubt)

    def lane(self, lane_id: str) -> Lane:
        """Raises KeyError with the ids that there are."""
        for lane in self.lanes:
            if lane.id == lane_id:
                return lane
        raise KeyError(f"no lane {lane_id}; there are {', '.join(lane.id for lane in self.lanes)}")


class RunInfo(msgspec.Struct, frozen=True, eq=False):
    """One row of the list of runs: what is known without reading a file whole."""

    id: str
    path: str
    format: str
    at: float | None
    status: RunStatus = "unknown"
    steps: int | None = None
    goal: str | None = None
    agent: str | None = None
    model: str | None = None
    problem: str | None = None
    """Why it is no run, in words."""
    damage: str | None = None
    """What is wrong with the file of a run, in words: `half written or cut at byte 60`."""
    tokens: int | None = None
    """Of its newest prompt, where they are known without reading it whole."""
    window: int | None = None
    silent: int | None = None
    """Losses that nobody recorded; None until the run was open."""
    cycles: int | None = None
    pending: bool = False
    """A call of it has not come back."""
