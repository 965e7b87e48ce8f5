"""How a run stands: live, unusually quiet, stale, not readable, gone; and which guarded calls are in doubt."""

from __future__ import annotations

import itertools

import pytest
from msgspec.structs import replace

from agentmem.inspect.telling.pulse import Standing, begun_line, quiet_after, said, standing
from agentmem.inspect.telling.status_line import status_line
from agentmem.inspect.telling.verdict import verdict
from agentmem.model import Begun, Run, RunStatus
from tests.tui.builders import story

WROTE = 2_000_000_000.0


def written(*pauses: float, status: RunStatus = "live", notice: str | None = None) -> Run:
    """A run whose steps came after these pauses (seconds), written last at WROTE."""
    run = story()
    times = list(itertools.accumulate(pauses, initial=WROTE - sum(pauses)))
    steps = tuple(replace(step, at=at) for step, at in zip(run.main.steps, times, strict=False))
    lanes = (replace(run.main, steps=steps),)
    return replace(run, lanes=lanes, status=status, changed_at=WROTE, notice=notice)


@pytest.mark.parametrize(
    ("pauses", "seconds"),
    [
        ((20.0, 30.0, 25.0), 60.0),
        ((1.0, 2.0), 10.0),
        ((100.0, 90.0), 120.0),
        ((5.0, 40_000.0, 8.0), 16.0),
        ((), 30.0),
    ],
    ids=["twice the longest", "never under 10 s", "never over 2 min", "a night is no pause", "unknown"],
)
def test_a_silence_is_unusual_by_the_runs_own_pauses(pauses: tuple[float, ...], seconds: float) -> None:
    run = written(*pauses)
    assert quiet_after(run) == seconds
    assert standing(run, WROTE + seconds).word == "live"
    assert standing(run, WROTE + seconds + 1) == Standing("quiet", seconds + 1)


def test_without_a_clock_nothing_is_called_quiet() -> None:
    assert standing(written(1.0), None) == Standing("live", None)


@pytest.mark.parametrize(
    ("status", "notice", "word"),
    [
        ("live", "not readable: half written or cut", "unreadable"), ("stale", "file gone", "gone"),
        ("live", "being written", "live"), ("stale", None, "stale"), ("ended", None, "ended"),
        ("live", "history rewritten", "quiet"),
    ],
)  # fmt: skip
def test_a_run_stands_in_one_way(status: RunStatus, notice: str | None, word: str) -> None:
    assert standing(written(1.0, status=status, notice=notice), WROTE + 60).word == word


def test_the_commands_say_when_a_quiet_run_was_written_last() -> None:
    assert said(written(1.0), WROTE + 34) == "quiet, last write 34s ago"
    assert said(written(1.0, status="stale"), WROTE + 7300) == "stale, last write 2h ago"
    assert said(written(1.0), WROTE + 3) == "live"


def test_a_call_in_doubt_is_the_worst_thing_in_a_run_and_names_tool_step_and_key() -> None:
    call = Begun("main", 31, "send_mail", '{"to":"ann"}', "am_17", 2, 1_790_000_000.0, True)
    run = replace(story(), begun=(call,))
    found = verdict(run)
    assert (found.level, found.lane, found.n) == ("alarm", "main", 31)
    assert found.sentence == "? 1 call in doubt: send_mail at step 31, key am_17"
    assert begun_line(call) == (
        'send_mail at step 31, begun 2026-09-21T14:13:20Z, attempt 2, key am_17: {"to":"ann"}'
    )
    assert " · ? send_mail @31 key am_17 in doubt · ▲" in status_line(run, 200)
    assert status_line(run) == "≈21k/32k 64% · goal ✓ · ? send_mail @31 in doubt · ▲ order_id lost @29 · ↻1"
    two = replace(run, begun=(replace(call, tool="x" * 90, key="am_" + "0" * 32), call))
    assert " · ? send_mail @31 in doubt +1 · ▲ order_id lost @29" in status_line(two)
    for width in range(34, 80):
        line = status_line(two, width)
        assert len(line) <= width and "in doubt" in line and "▲ order_id lost @29" in line
    under_way = replace(run, begun=(replace(call, in_doubt=False),))
    assert "doubt" not in verdict(under_way).sentence
