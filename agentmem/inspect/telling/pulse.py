"""How a run stands as far as its files tell: live, quiet, stale, ended, not readable or gone. Pure.

A killed writer leaves no mark, and none of the writers that are read holds a lock or tells its process while it waits
for the model. So what is told is when the run was last written, and whether that is long for this run.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from agentmem.model import Begun, Run, RunInfo

Word = Literal["live", "quiet", "stale", "ended", "unreadable", "gone", "unknown"]

GONE = frozenset({"file gone", "no such file", "a folder", "not a regular file", "run removed", "no runs in it"})
"""Notices after which nothing can come any more: such a run is not live."""
NO_PERMISSION = "no permission"
CUT = "half written or cut"
UNREADABLE = ("not readable", NO_PERMISSION)
"""How notices begin of a file that cannot be read as it stands: what is shown is the last good state."""
READ_ANEW = ("read again", "a new run in the same file")
"""How notices end of a file that was read from its beginning: what is shown is what it holds now."""
BEING_WRITTEN = "being written"
"""How the notice begins of a file that is half written just now."""
LOOKED_BACK = 50
"""So many of the last pauses between steps are compared with."""
SEVERAL = 2.0
"""A pause so many times as long as the longest of them is unusual."""
LEAST_SECONDS, UNTOLD_SECONDS, MOST_SECONDS = 10.0, 30.0, 120.0
"""The silence that is unusual is never less than the first nor more than the last; the second where the pauses of the
run are not known."""


class Standing(msgspec.Struct, frozen=True):
    word: Word
    seconds: float | None = None
    """Since the last write; None if that is not known."""


def standing(run: Run, now: float | None) -> Standing:
    """How it stands at that time (seconds since the epoch; None: no clock is asked, and nothing is called quiet)."""
    since = None if now is None or run.changed_at is None else max(0.0, now - run.changed_at)
    if run.notice in GONE:
        return Standing("gone", since)
    if run.notice is not None and run.notice.startswith(UNREADABLE):
        return Standing("unreadable", since)
    writing = run.notice is not None and run.notice.startswith(BEING_WRITTEN)
    if run.status == "live" and since is not None and since > quiet_after(run) and not writing:
        return Standing("quiet", since)
    return Standing(run.status, since)


def quiet_after(run: Run) -> float:
    """Seconds without a write that are unusual for this run: twice the longest of the last 50 pauses between its steps.
    Pauses of more than two minutes are left out, since a run that was resumed later has one."""
    steps = run.main.steps[-LOOKED_BACK - 1 :] if run.lanes else ()
    times = [step.at for step in steps if step.at is not None]
    pauses = [later - earlier for earlier, later in pairwise(times) if 0 <= later - earlier <= MOST_SECONDS]
    if not pauses:
        return UNTOLD_SECONDS
    return min(max(LEAST_SECONDS, SEVERAL * max(pauses)), MOST_SECONDS)


def trouble(row: RunInfo) -> str | None:
    """What is wrong with a row of the list of runs, as it is shown; None: nothing is. Outside text stands raw in it."""
    if row.problem is None:
        return row.damage
    return f"{'not readable' if row.problem.startswith((NO_PERMISSION, CUT)) else 'not a run'}: {row.problem}"


def earlier_said(run: Run) -> str:
    """Where the runs are that stood in the file before this one. Outside text stands raw in it."""
    one = run.earlier == 1
    return (f"{run.earlier} earlier run{'' if one else 's'} stood in this file: `agentmem history {run.path}` "
            f"lists {'it' if one else 'them'}, --show N writes one out.")  # fmt: skip


def begun_line(call: Begun) -> str:
    """A guarded call without an outcome: `send_mail at step 12, begun 2026-11-30T06:59:28Z, attempt 1, key am_...: {}`.
    Outside text stands raw in it."""
    at = datetime.fromtimestamp(call.started, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return f"{call.tool} at step {call.step}, begun {at}, attempt {call.attempt}, key {call.key}: {call.arguments}"


def age(seconds: float) -> str:
    """`14s`, `2m`, `3h`, `4d`."""
    whole = max(0, int(seconds))
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if whole >= size:
            return f"{whole // size}{unit}"
    return f"{whole}s"


def said(run: Run, now: float) -> str:
    """In words for the commands: `live`, `quiet, last write 34s ago`, `ended`."""
    found = standing(run, now)
    if found.word not in ("quiet", "stale") or found.seconds is None:
        return found.word if found.word != "unreadable" else "not readable"
    return f"{found.word}, last write {age(found.seconds)} ago"
