"""The values: one small vocabulary that every reader produces and every pane draws.

All values are frozen and slotted and compare by identity, so that handing one to the screen costs nothing.
Texts are raw here; they are made safe for a terminal at the door (`agentmem.safe`).
None means unknown, everywhere; it is never replaced by zero or by an empty text.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal[
    "system", "tools", "goal", "plan", "fact", "note", "recall", "summary", "user", "assistant",
    "thinking", "call", "result", "image", "error", "other",
]  # fmt: skip
KINDS: tuple[Kind, ...] = Kind.__args__  # type: ignore[attr-defined]  # the tuple of a Literal has no typed accessor

STATE_KINDS: frozenset[str] = frozenset({"goal", "plan", "fact", "note", "recall", "summary"})
FIXED_KINDS: frozenset[str] = frozenset({"system", "tools"})

Provenance = Literal["exact", "reconstructed", "partial"]
Outcome = Literal["ok", "error", "denied", "unknown"]
Effect = Literal["changes", "reads", "waits", "unknown"]
Cause = Literal[
    "trimmed", "compacted", "summarised", "shortened", "replaced", "removed", "rewritten", "undeclared",
    "nulled", "silent",
]  # fmt: skip
GoalStatus = Literal["missing", "changed", "buried", "last", "present", "unknown"]
BoundaryKind = Literal[
    "compaction", "condensation", "trim", "prune", "rewind", "fork", "rewrite", "resume", "unexplained",
]  # fmt: skip
CycleKind = Literal["repeat", "cycle", "same-error", "undo", "relapse"]
RunStatus = Literal["live", "ended", "stale", "unknown"]
LaneKind = Literal["main", "subagent", "branch"]
WindowSource = Literal["declared", "model", "given", "unknown"]

HEAD_CHARACTERS = 120
FRAME = ""
"""`Segment.field` of the words between the fields of a rendered state (headings): no field, and never a drop."""


@dataclass(frozen=True, slots=True, eq=False)
class Where:
    """Where the whole text of a piece stands: bytes `offset .. offset+length` of `source`, piece `part` in it."""

    source: str
    """A file path, or `sqlite:PATH?table=...` style address of a row; read through `agentmem.formats.texts`."""
    offset: int
    length: int
    part: int = 0
    """Ordinal of the piece among the pieces that the record is split into."""
    span: tuple[int, int] | None = None
    """Code points of the part's text, if the piece is carved out of it."""
    line: int | None = None
    """Line of the file, from 1, where the record begins, if known."""


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """One occurrence of a piece in a prompt."""

    id: int
    kind: Kind
    head: str | None
    """The first 120 characters; None if the text is unknown (system prompt not in the file)."""
    tokens: int | None
    key: int
    """Hash of kind and whole text: equal keys are the same content."""
    where: Where | None = None
    call_id: str | None = None
    stub_of: int | None = None
    """Id of the piece that this one stands for, if it is a stub or a summary."""
    field: str | None = None
    """Name of the field of the state that this piece carries; FRAME: the words around the fields."""
    tool: str | None = None
    """Name of the tool, for a call, its result and its error."""
    characters: int | None = None
    """Length of the whole text in code points."""


class Prompt(Sequence[Segment]):
    """What the model saw at one step, in order. Segments are made when looked at (`agentmem.tape.PromptView`)."""

    __slots__ = ("limit", "provenance")
    limit: int | None
    provenance: Provenance

    @property
    @abstractmethod
    def ids(self) -> Sequence[int]:
        """Ids of the segments, without making them."""


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One field of the state that the agent holds."""

    name: str
    """One level: `goal`, `facts.port`, `plan[2]`."""
    value: str
    """Text as it is; anything else as canonical JSON."""
    tokens: int
    verified_by: str | None = None
    verified_at: int | None = None
    """Step number (`own` where the file has one)."""
    segment: int | None = None
    """Id of the prompt's segment that carries it; None: held in the state, not in the prompt."""
    done: bool | None = None
    """For a plan item: finished or not."""


@dataclass(frozen=True, slots=True, eq=False)
class Miss:
    """A later failure that needed what was dropped."""

    lane: str
    n: int
    step: int
    tool: str
    error: str


@dataclass(frozen=True, slots=True, eq=False)
class Drop:
    """Something that stood in the prompt or state of the parent step and does not stand in this one."""

    lane: str
    n: int
    step: int
    """`own` number where the file has one, else n; likewise last_step, returned_at."""
    what: Literal["segment", "field", "plan"]
    name: str
    kind: Kind
    head: str | None
    tokens: int | None
    cause: Cause
    recorded: bool
    last_step: int
    returned_at: int | None = None
    missed_by: tuple[Miss, ...] = ()
    segment: int | None = None
    """Id of the piece, to fetch its whole text; None for a field that was held but in no prompt."""
    text: str | None = None
    """Whole text where it is at hand (fields); else fetch the segment."""
    count: int = 1
    """How many pieces this row stands for (a sliding window is one grouped row a step)."""
    record: str | None = None
    """Who recorded it and where, in words."""
    stub: int | None = None
    """Id of the stub or summary that stands in its place."""

    @property
    def alarming(self) -> bool:
        """▲: an unrecorded drop of a field, fact, plan item or the goal."""
        return not self.recorded and (self.what != "segment" or self.kind in STATE_KINDS)


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """One tool call with what came of it."""

    lane: str
    n: int
    step: int
    index: int
    """Place among the calls of its step, from 1."""
    tool: str
    arguments: str
    """Canonical JSON, or the text as given where it is no JSON."""
    call_id: str | None
    signature: str
    effect: Effect
    outcome: Outcome
    result_key: str | None
    """Hash of the masked result; None while unknown."""
    result_head: str | None = None
    error: str | None = None
    """The error line, if the outcome is error or denied."""
    started: float | None = None
    """Seconds since the epoch; likewise ended."""
    ended: float | None = None
    tokens: int | None = None
    """Prompt tokens of the step that made it (once per step, on its first attempt)."""


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """What the provider reported for one call, in tokens."""

    prompt: int | None
    """The whole prompt, cached parts included, whatever the shape."""
    cached: int | None = None
    created: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cost: float | None = None
    rule: str = ""
    """How `prompt` was computed from the record, in words."""
    source: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Boundary:
    """A place where the prompt was cut, compacted, rewound or rewritten."""

    kind: BoundaryKind
    recorded: bool
    before: int | None
    after: int | None
    why: str = ""
    opaque: bool = False
    """The summary is encrypted or missing: what survived cannot be checked."""


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """Counted tokens of a prompt by origin; the three sum to the prompt. None: unknown, nothing of it is in the file."""

    state: int | None
    trace: int | None
    fixed: int | None
    unknown: int = 0
    """How many pieces could not be counted (system prompt not in the file, encrypted content)."""

    @property
    def prompt(self) -> int | None:
        """The part that is known; None if nothing is."""
        known = [part for part in (self.state, self.trace, self.fixed) if part is not None]
        return sum(known) if known else None


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One model call: what it saw, what it answered, what came back."""

    lane: str
    n: int
    """From 1 in each lane."""
    own: int | None
    """The file's own number, where it gives increasing integers."""
    at: float | None
    """Seconds since the epoch."""
    open: bool
    parent: tuple[str, int] | None
    prompt: Prompt
    fields: tuple[Field, ...]
    replies: tuple[Segment, ...]
    attempts: tuple[Attempt, ...]
    results: tuple[Segment, ...]
    drops: tuple[Drop, ...]
    tokens: Tokens
    usage: Usage | None
    boundary: Boundary | None
    goal: GoalStatus
    tokens_after_goal: int | None
    pending: int = 0
    """Calls of this step that have no result yet."""
    gap: int = 0
    """Steps known to be missing between the step before and this one."""
    notes: str | None = None

    @property
    def number(self) -> int:
        """What the screen shows and `--step` takes."""
        return self.n if self.own is None else self.own


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    id: str
    kind: LaneKind
    steps: tuple[Step, ...]
    spawned_by: tuple[str, int] | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Cycle:
    """Going in circles: the ledger's finding over attempts."""

    lane: str
    kind: CycleKind
    period: int
    steps: tuple[int, ...]
    """Numbers of all steps in it, in order, as far as it has grown."""
    count: int
    """How often it has come round (for a repeat: equal attempts)."""
    tools: tuple[str, ...]
    """One entry a member of the period, in order."""
    signatures: tuple[str, ...]
    tokens: int | None
    """Prompt tokens spent on its steps."""
    warned_at: int
    ended_at: int | None = None
    """The step whose attempt broke it; None while it turns."""
    detail: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """Polls while something runs: told apart from a loop, with what it costs."""

    lane: str
    steps: tuple[int, ...]
    tool: str
    count: int
    tokens: int | None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Lost:
    """One thing that a boundary lost."""

    kind: Literal["goal", "identifiers", "paths", "numbers", "commands", "constraints", "decisions", "prose"]
    text: str
    tokens: int


@dataclass(frozen=True, slots=True, eq=False)
class Survival:
    """What came through a boundary, by kind."""

    lane: str
    n: int
    step: int
    boundary: Boundary
    kept: dict[str, tuple[int, int]]
    """kind -> (kept, total)"""
    lost: tuple[Lost, ...]
    """In the order lost goal, identifiers, paths, numbers, then prose."""
    changed: tuple[tuple[str, str], ...]
    """(from, to): came out of the summary changed by a character or two."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    where: str
    what: str


@dataclass(frozen=True, slots=True, eq=False)
class Gap:
    """Steps that are missing: own numbers `first..last` are not in what was seen."""

    lane: str
    after: int
    before: int
    missing: int
    why: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    rule: str
    name: str
    severity: Literal["error", "warning", "info"]
    lane: str
    step: int
    message: str
    evidence: tuple[tuple[int, str, str], ...] = ()
    """(step, where, text)"""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
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
    survivals: tuple[Survival, ...] = ()
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

    @property
    def main(self) -> Lane:
        return self.lanes[0]

    def lane(self, lane_id: str) -> Lane:
        """Raises KeyError with the ids that there are."""
        for lane in self.lanes:
            if lane.id == lane_id:
                return lane
        raise KeyError(f"no lane {lane_id}; there are {', '.join(lane.id for lane in self.lanes)}")


@dataclass(frozen=True, slots=True, eq=False)
class RunInfo:
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


TokenCounter = Callable[[str], int]
Cursor = tuple[str, int]
"""(lane id, n), everywhere."""


@dataclass(frozen=True, slots=True, eq=False)
class Lifeline:
    """Where one thing stood, step by step, in one lane."""

    name: str
    lane: str
    first: int
    """n of the first level."""
    levels: str
    """One glyph a step: `━` in the prompt, `◆` changed, `╌` shortened, `─` held in the state but not in the prompt,
    `·` gone, `▲` gone and nobody recorded it, `✗` needed while not in the prompt, space: not yet there."""
    present: tuple[tuple[int, int], ...] = ()
    """(first, last) step numbers."""
    changed: tuple[tuple[int, str], ...] = ()
    needed: tuple[int, ...] = ()
    said: tuple[int, ...] = ()
    """Steps whose reply says it although it is not in the prompt."""
    alarms: tuple[int, ...] = field(default=())
