"""A run in one line of at most 80 cells: for a status bar (`agentmem line`) and the terminal's title. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.inspect.measure import estimate, is_rough
from agentmem.inspect.telling.circles import together
from agentmem.inspect.telling.verdict import short_name
from agentmem.safe import name

if TYPE_CHECKING:
    from agentmem.model import Run

_GOAL = {"last": "goal ✓", "present": "goal ✓", "buried": "goal ! buried", "missing": "goal ✗", "changed": "goal ~",
         "unknown": "goal ?"}  # fmt: skip

_KEY = 12
"""So many characters of a key are told; the whole one is in `agentmem show`."""


def short_tokens(tokens: int) -> str:
    """`412`, `8.9k`, `61k`, `1.2M`: three characters of figure at most."""
    if tokens < 1000:
        return str(tokens)
    if tokens < 999_500:
        return f"{tokens / 1000:.1f}k" if tokens < 9_950 else f"{tokens / 1000:.0f}k"
    return f"{tokens / 1_000_000:.1f}M"


def status_line(run: Run, width: int = 80) -> str:
    """`61k/200k 31% · goal ✓ · ▲ abone lost @29 · ↻1`; what does not fit is left out, the alarm
    last; a call in doubt is named with tool, step and the head of its key as far as there is room."""
    if not run.lanes or not run.main.steps:
        return "no steps yet"
    step = run.main.steps[-1]
    size, source = estimate(run.main.steps, len(run.main.steps) - 1)
    sign = "≈" if is_rough(step, source, run.counter) else ""
    figure = "? tokens" if size is None else f"{sign}{short_tokens(size)}"
    if size is not None and run.window:
        figure += f"/{short_tokens(run.window)} {round(100 * size / run.window)}%"
    alarm, circles = _alarm(run), f"↻{len(together(run.cycles))}" if run.cycles else ""
    ended = "ended" if run.status == "ended" else ""
    doubts = _doubts(run)
    shown = [figure, _GOAL[step.goal], doubts[0], alarm, circles, ended]

    def fits() -> bool:
        return len(" · ".join(filter(None, shown))) <= width

    # What says least goes first; the key gives way before anything else does, tool and step after all that is no alarm.
    for place, instead in ((2, doubts[1]), (5, ""), (4, ""), (0, ""), (1, ""), (2, doubts[2])):
        if fits():
            break
        shown[place] = instead
    return " · ".join(filter(None, shown))[:width]


def _doubts(run: Run) -> tuple[str, str, str]:
    """The newest call in doubt, ever shorter: with its key, without, only how many there are."""
    if not run.doubts:
        return "", "", ""
    call = run.doubts[-1]
    more = f" +{len(run.doubts) - 1}" if len(run.doubts) > 1 else ""
    called = f"? {name(call.tool, 20)} @{call.step}"
    key = name(call.key, _KEY)
    return f"{called} key {key} in doubt{more}", f"{called} in doubt{more}", f"?{len(run.doubts)} in doubt"


def _alarm(run: Run) -> str:
    """The loss that the verdict names, and how many more are gone; of those that came back only where none is gone."""
    silent = [drop for lane in run.lanes for one in lane.steps for drop in one.drops if drop.alarming]
    gone = [drop for drop in silent if drop.returned_at is None]
    if not silent:
        return ""
    told = gone or silent
    missed = [drop for drop in told if drop.missed_by]
    newest = (missed or told)[-1]
    more = f" +{len(told) - 1}" if len(told) > 1 else ""
    return f"▲ {name(short_name(newest), 20)} {'lost' if gone else 'was lost'} @{newest.step}{more}"
