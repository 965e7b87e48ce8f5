"""What a person comes to ask, each answered in under ten keys: the app, the worker and the demo's run, all real."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.demo import FAILED, RUN, Beside
from tests.tui.seen import watching

MOST_KEYS = 9
SIZES = [(80, 24), (120, 40)]
sizes = pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])


@pytest.fixture
def failed(tmp_path: Path) -> Path:
    """A folder with the demo's run just after the call that failed for want of the lost field."""
    Beside(tmp_path / "runs").run_to(FAILED)
    return tmp_path / "runs"


@sizes
async def test_first_launch_beside_a_running_agent(
    tmp_path: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """You should see without a key what runs, at which step, how full, and whether anything is wrong; it goes on by
    itself, two steps back it stays, and End brings you back to the newest step."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    agent = Beside(tmp_path / "runs")
    agent.run_to(9)
    async with watching([], size, until=RUN) as seen:
        await seen.until("● LIVE")
        await seen.until("10/10" if size[0] < 100 else "step 10 of 10")
        assert "✓ at end" in seen.header and "%" in seen.header and "▲" not in seen.header
        await seen.row("10 steps, 1 open", "no loop; nothing left unrecorded")
        agent.run_to(FAILED)
        await seen.until("31/31" if size[0] < 100 else "step 31 of 31")
        await seen.row("▲ order_id left at 29, nobody recorded it → replay_order failed at 30")
        assert seen.pressed == 0
        await seen.press("left", "left")
        await seen.until("○ PAUSED +2")
        agent.run_to(FAILED + 1)
        await seen.until("○ PAUSED +3")
        assert "29/32" in seen.header or "step 29 of 32" in seen.header
        await seen.press("end")
        await seen.until("● LIVE")
        assert seen.pressed <= MOST_KEYS


@sizes
async def test_why_did_the_last_step_fail(failed: Path, size: tuple[int, int]) -> None:
    """You should see the failed call, then the drop that it needed, where the lost thing last stood, and its birth."""
    async with watching([failed], size, until=RUN) as seen:
        await seen.read(FAILED + 1)
        await seen.press("x")
        await seen.until("30/31" if size[0] < 100 else "step 30 of 31")
        for step, words in (
            (29, "why, 1 of 3: fact order_id = A-1041 left at 29 and nobody recorded it → replay_order failed at 30"),
            (28, "why, 2 of 3: fact order_id = A-1041 last stood at 28"),
            (3, "why, 3 of 3: fact order_id = A-1041 came in at 3, verified by get_order @3"),
        ):
            await seen.press("w")
            await seen.until(f"{step}/31" if size[0] < 100 else f"step {step} of 31")
            await seen.said(words)
        assert seen.pressed <= MOST_KEYS


@sizes
async def test_when_was_the_order_id_lost(failed: Path, size: tuple[int, int]) -> None:
    """You should see at which step it went, how long it stood and where it was needed, typing no more than its name."""
    async with watching([failed], size, until=RUN) as seen:
        await seen.read(FAILED + 1)
        await seen.press("slash", "o", "tab")
        await seen.until("in the prompt 4-28, gone since 29, needed at 30")
        await seen.press("enter")
        await seen.until("28/31" if size[0] < 100 else "step 28 of 31")
        await seen.press("3")
        row = await seen.row("▲", "order_id = A-1041", "29", "28")
        assert "silent" in row
        assert seen.pressed <= MOST_KEYS


@sizes
async def test_is_it_looping(failed: Path, size: tuple[int, int]) -> None:
    """You should see one cycle with its period, tools, steps and cost, and that waiting for the job was none."""
    async with watching([failed], size, until=RUN) as seen:
        await seen.read(FAILED + 1)
        assert "↻1" in seen.header or "↻ 1 cycle" in seen.header
        await seen.press("c", "4")
        row = await seen.row("↻", "20", "25")
        assert "cycle" in row
        await seen.until("pytest")
        waits = await seen.row("z", "10", "13")
        assert "wait" in waits
        assert seen.pressed <= MOST_KEYS


@sizes
async def test_what_did_the_compaction_lose(failed: Path, size: tuple[int, int]) -> None:
    """You should see how much went, what survived by kind, and by name what did not: the rule among it."""
    async with watching([failed], size, until=RUN) as seen:
        await seen.read(FAILED + 1)
        await seen.press("b", "3")
        await seen.row("▼ compacted", "43 pieces", "16", "15")
        await seen.row("survived", "goal 1/1", "paths 3/7")
        await seen.row("lost", "paths", "tests/test_lexer.py")
        await seen.said("Never edit anything in tests/golden: the nightly job")
        await seen.until("constraint (by keyword)")
        assert seen.pressed <= MOST_KEYS
