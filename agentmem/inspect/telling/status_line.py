"""A run in one line of at most 80 cells: for a status bar (`agentmem line`) and the terminal's title. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.inspect.measure import NEAR_EXACT, estimate
from agentmem.inspect.telling.circles import together
from agentmem.inspect.telling.verdict import short_name
from agentmem.safe import name

if TYPE_CHECKING:
    from agentmem.model import Run

_GOAL = {"last": "goal ✓", "present": "goal ✓", "buried": "goal ! buried", "missing": "goal ✗", "changed": "goal ~",
         "unknown": "goal ?"}  # fmt: skip


def short_tokens(tokens: int) -> str:
    """`412`, `8.9k`, `61k`, `1.2M`: three characters of figure at most."""
    if tokens < 1000:
        return str(tokens)
    if tokens < 999_500:
        return f"{tokens / 1000:.1f}k" if tokens < 9_950 else f"{tokens / 1000:.0f}k"
    return f"{tokens / 1_000_000:.1f}M"


def status_line(run: Run, width: int = 80) -> str:
    """`61k/200k 31% · goal ✓ · ▲ abone lost @29 · ↻1`; what does not fit is left out from the end, the alarm last."""
    if not run.lanes or not run.main.steps:
        return "no steps yet"
    step = run.main.steps[-1]
    size, source = estimate(run.main.steps, len(run.main.steps) - 1)
    sign = "" if source == "reported" or (source == "counted" and run.counter in NEAR_EXACT) else "≈"
    figure = "? tokens" if size is None else f"{sign}{short_tokens(size)}"
    if size is not None and run.window:
        figure += f"/{short_tokens(run.window)} {round(100 * size / run.window)}%"
    parts = [figure, _GOAL[step.goal]]
    silent = [drop for lane in run.lanes for one in lane.steps for drop in one.drops if drop.alarming]
    alarm = ""
    if silent:
        newest = silent[-1]
        gone = "lost" if newest.returned_at is None else "was lost"
        more = f" +{len(silent) - 1}" if len(silent) > 1 else ""
        alarm = f"▲ {name(short_name(newest), 20)} {gone} @{newest.step}{more}"
        parts.append(alarm)
    if run.doubts:
        parts.append(f"?{len(run.doubts)} in doubt")
    if run.cycles:
        parts.append(f"↻{len(together(run.cycles))}")
    if run.status == "ended":
        parts.append("ended")
    while len(" · ".join(parts)) > width and len(parts) > 1:
        parts.pop(-1 if parts[-1] != alarm else 0)
    return " · ".join(parts)[:width]
