"""The water-meter experiment: what a window over state and trace costs a scripted agent, to the last digit.

`run` plays the 24 tasks under one window and seed offset; `published_rows` and `published_table` give the published
combinations. Nothing is looked up: every figure is computed from `water_meter.json` and the rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from agentmem.experiments.experiment.simulate import check_window, simulate
from agentmem.experiments.experiment.world import tasks
from agentmem.experiments.text import table

WINDOWS: tuple[int | None, ...] = (None, 260, 200, 150, 120)
"""The published windows in pieces; None is unlimited."""
SEED_OFFSETS = (0, 1)
PROFILE_TASK = "G15"


@dataclass(frozen=True, slots=True)
class Row:
    """The 24 tasks under one window and seed offset."""

    window: int | None
    """In pieces, over state and trace together; None is unlimited."""
    seed_offset: int
    """Added to the seed of the agent's draws; the world and the tasks stay."""
    correct: int
    """Tasks whose answer is right."""
    tasks: int
    tool_errors: int
    steps: int
    """Calls, and the ending steps that call nothing."""
    total_tokens: int
    """State and trace carried by all calls, in pieces."""
    tokens_per_call: float
    """Rounded to one decimal."""
    fits: float
    """Calls before the first drop, or all calls if none; mean over the tasks, rounded to two decimals."""
    dropped: int
    dropped_by_field: dict[str, int]
    """In the order of first drops."""

    def to_dict(self) -> dict[str, object]:
        """A row of `agentmem experiment --json`."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One call of one task: what it carried."""

    step: int
    tool: str
    fields: int
    """Fields of the state."""
    state: int
    """Pieces of the state; likewise trace, and total of both."""
    trace: int
    total: int

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def run(window: int | None = None, seed_offset: int = 0) -> Row:
    """All 24 tasks under a window in pieces, None for unlimited. Raises ValueError for a negative window."""
    traces = [simulate(name, window, seed_offset) for name in tasks()]
    calls = [call for trace in traces for call in trace.calls]
    total = sum(call.total for call in calls)
    by_field = Counter(name for call in calls for name, _ in call.dropped)
    return Row(
        window=window,
        seed_offset=seed_offset,
        correct=sum(trace.correct for trace in traces),
        tasks=len(traces),
        tool_errors=sum(call.error is not None for call in calls),
        steps=sum(trace.steps for trace in traces),
        total_tokens=total,
        tokens_per_call=round(total / len(calls), 1),
        fits=round(sum(trace.fits for trace in traces) / len(traces), 2),
        dropped=by_field.total(),
        dropped_by_field=dict(by_field),
    )


def profile(task: str = PROFILE_TASK, window: int | None = None, seed_offset: int = 0) -> list[ProfileRow]:
    """One task, call by call. Raises ValueError for an unknown task or a negative window."""
    return [
        ProfileRow(call.n, call.tool, len(call.held), call.state, call.trace, call.total)
        for call in simulate(task, window, seed_offset).calls
    ]


def published_rows() -> list[Row]:
    """The published windows, each with both seed offsets."""
    return [run(window, offset) for window in WINDOWS for offset in SEED_OFFSETS]


def published_table() -> str:
    """The published table, the profile of one task and what was dropped by field, as text."""
    rows = published_rows()
    return "\n\n".join((rows_table(rows), profile_table(PROFILE_TASK), dropped_table(rows)))


def document(rows: Sequence[Row], profile: Sequence[ProfileRow] | None = None) -> dict[str, object]:
    """The JSON document of `agentmem experiment`."""
    found: dict[str, object] = {"schema": "agentmem.experiment/1", "rows": [row.to_dict() for row in rows]}
    if profile is not None:
        found["profile"] = [row.to_dict() for row in profile]
    return found


def rows_table(rows: Sequence[Row]) -> str:
    """One line a row."""
    head = ("window", "seed", "correct", "errors", "steps", "tokens", "a call", "fits", "dropped")
    return table(head, [_cells(row) for row in rows])


def _cells(row: Row) -> tuple[str, ...]:
    return (
        window_text(row.window),
        f"{row.seed_offset:+d}",
        f"{row.correct}/{row.tasks}",
        str(row.tool_errors),
        str(row.steps),
        str(row.total_tokens),
        f"{row.tokens_per_call:.1f}",
        f"{row.fits:.2f}",
        str(row.dropped),
    )


def profile_table(task: str, window: int | None = None, seed_offset: int = 0) -> str:
    """One line a call of the task, under a line that names task, kind and window."""
    head = ("step", "tool", "fields", "state", "trace", "total")
    lines = [
        (str(row.step), row.tool, str(row.fields), str(row.state), str(row.trace), str(row.total))
        for row in profile(task, window, seed_offset)
    ]
    kind = tasks()[task].kind
    title = f"{task} ({kind}), window {window_text(window)}, seed {seed_offset:+d}"
    return f"{title}\n{table(head, lines, left=(1,))}"


def dropped_table(rows: Sequence[Row]) -> str:
    """How often each field was dropped: one line a field in the order of first drops, one column a row with drops."""
    hit = [row for row in rows if row.dropped]
    if not hit:
        return "nothing was dropped"
    head = ("dropped", *(f"{window_text(row.window)}{row.seed_offset:+d}" for row in hit))
    names = dict.fromkeys(name for row in hit for name in row.dropped_by_field)
    return table(head, [(name, *(str(row.dropped_by_field.get(name, "-")) for row in hit)) for name in names])


def window_text(window: int | None) -> str:
    return "unlimited" if window is None else str(window)


def parse_window(text: str) -> int | None:
    """A window as typed: a number of tokens or `unlimited`. Raises ValueError that says so."""
    if text == "unlimited":
        return None
    if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) <= 18):
        raise ValueError(f"window {text!r}: not a number of tokens, and not `unlimited`")
    check_window(int(text))
    return int(text)
