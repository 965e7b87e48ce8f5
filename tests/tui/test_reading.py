"""What is written can be read: no word is cut without `…`, figures do not touch, what was opened is seen, and so on."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentmem.cli import main
from agentmem.inspect.telling.explain import explain_prompt
from agentmem.model import Lane, Run, RunInfo
from tests.tui.builders import calm, many, story
from tests.tui.demo import FAILED, RUN, Beside
from tests.tui.seen import Seen, inspecting, watching
from tests.tui.sources import RunsChanged
from tui.context import Context, View
from tui.index import build
from tui.widgets.bars import axis_for
from tui.widgets.steps import StepsPane
from tui.widgets.strip import ruler_line

SIZES = [(80, 24), (100, 30), (120, 40), (150, 45)]
HERE = Path(__file__).parents[2]
LETTERS = re.compile(r"[^\W\d_]{4,}")


@cache
def written() -> frozenset[str]:
    """Every word that the sources of the app know."""
    sources = [path for folder in ("tui", "agentmem") for path in (HERE / folder).rglob("*.py")]
    return frozenset(word for path in sources for word in LETTERS.findall(path.read_text(encoding="utf-8")))


def torn(rows: list[str], known: frozenset[str]) -> list[str]:
    """Words of the screen that nobody wrote, but for those beside `…`."""
    found = []
    for row in rows:
        for match in LETTERS.finditer(row):
            before, after = row[: match.start()].rstrip(" "), row[match.end() :].lstrip(" ")
            beside = row[match.end() : match.end() + 1] + row[max(0, match.start() - 1) : match.start()]
            if match.group() not in known and "…" not in (before[-1:], after[:1], *beside):
                found.append(f"{match.group()} in {row}")
    return found


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_no_word_of_any_screen_is_torn(tmp_path: Path, size: tuple[int, int]) -> None:
    """You should see whole words in every pane and over it, at the newest step and where something was lost."""
    Beside(tmp_path / "runs", clock=lambda: 1_760_000_000.0).run_to(FAILED)
    told = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "runs").iterdir())
    known = written() | set(LETTERS.findall(re.sub(r"\\[nt]", " ", told))) | set(LETTERS.findall(str(tmp_path)))
    async with watching([tmp_path / "runs"], size, until=RUN) as seen:
        await seen.read(FAILED + 1)
        for key in ("1", "2", "3", "4", "5", "6", "d", "3", "2", "equals_sign", "escape", "b", "3", "enter", "w"):
            await seen.press(key)
            await seen.pilot.pause(0.05)
            assert not torn(seen.rows, known), key
        for key in ("question_mark", "i", "R"):
            await seen.press(key)
            await seen.pilot.pause(0.05)
            assert not torn(seen.rows, known), key
            if key == "question_mark":
                await seen.press("pagedown")
                assert not torn(seen.rows, known)
            await seen.press("escape")


@pytest.mark.parametrize("width", [80, 100, 120, 150])
@pytest.mark.parametrize("steps", [31, 127, 300, 1098, 2773])
def test_the_numbers_of_the_axis_do_not_touch(width: int, steps: int) -> None:
    run = many(steps)
    index, lane = build(run), run.main.id
    for n in {1, 2, 11, 12, steps // 2, steps - 12, steps - 2, steps}:
        view = View(run, index, (lane, n), Context(index, width=width, lane=lane))
        axis = axis_for(width, steps)
        shown = ruler_line(view, axis).plain
        assert len(shown) <= width
        for match in re.finditer(r"\d+", shown):
            start = match.start() - axis.gutter
            bucket = axis.bucket_of(int(match.group()))
            assert bucket is not None, shown
            under = min(bucket * max(1, axis.cells), axis.room - len(match.group()))
            assert start == under, (match.group(), shown)
        assert re.search(rf"\b{n}\b", shown), shown


@pytest.mark.parametrize("width", [46, 60, 72, 80])
def test_a_gap_stands_apart_from_the_action(width: int) -> None:
    run = story()
    steps = list(run.main.steps)
    steps[3] = replace(steps[3], gap=2)
    run = replace(run, lanes=(Lane("main", "main", tuple(steps)),))
    pane = StepsPane()
    pane.show(run, ("main", 31), Context(build(run), width=width, lane="main"))
    line = pane.line(3, width)
    assert re.match(r" +4 +gap read ", line.plain) and len(line.plain) == len(pane.line(4, width).plain)


def losing() -> Run:
    from tests.tui.panes.builders import tell

    return tell()[0]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_what_a_boundary_took_is_seen_when_it_is_opened(size: tuple[int, int]) -> None:
    """You should see pieces under the row that Enter opened, though it was the last one in sight."""
    async with inspecting(losing(), size=size) as seen:
        await seen.press("b", "3")
        await seen.row("compacted", "30 pieces")
        await seen.press("enter")
        await seen.row("− call of 1: ls")
        assert sum(row.startswith(" " * 14 + "− ") for row in seen.rows) >= 3
        await seen.press("enter")
        await seen.until_gone("− call of 1: ls")
        assert "▌▼ compacted" in seen.text


async def test_a_piece_at_the_edge_of_the_prompt_shows_its_text_when_it_is_opened() -> None:
    """You should see the first rows of the text under the last row in sight."""
    async with inspecting(losing(), size=(80, 24)) as seen:
        await seen.press("x", "2")
        pane = seen.app.run_screen.panes["prompt"]
        lines = [pane.line(at, 80).plain for at in range(pane.line_count(80))]
        at = next(place for place, line in enumerate(lines) if "system" in line)
        pane.select(at)
        await seen.press("enter")
        await seen.row("Enter folds")
        long = pane.line_count(80)
        last = next(place for place in range(long - 1, at, -1) if pane.selectable(place, 80))
        pane.select(last)
        pane.top = last - pane.body_height + 1
        await seen.press("enter")
        await seen.pilot.pause(0.05)
        assert pane.line_count(80) > long and pane.top + pane.body_height >= last + 2


@pytest.mark.parametrize("key", ["i", "r", "down", "left", "4", "question_mark"])
async def test_a_notice_goes_when_the_reader_does_anything_else(key: str) -> None:
    """You should see that the base was marked, and after any other key no longer."""
    async with inspecting(story(), size=(120, 40)) as seen:
        await seen.press("m")
        await seen.until("Changes are against step 31 now.")
        await seen.press(key)
        await seen.until_gone("Changes are against step 31 now.")


def drawer(seen: Seen) -> int:
    return seen.app.run_screen.query_one("#drawer").size.height


async def test_a_drawer_with_little_to_say_leaves_its_rows_to_the_panes_above() -> None:
    """You should see three rows of drawer where nothing was lost, and the same at every step of the run."""
    async with inspecting(calm(9), size=(120, 40)) as seen:
        await seen.read(9)
        assert drawer(seen) == 3 and "No drops in 9 steps" in seen.text
        await seen.press("4")
        await seen.pilot.pause(0.05)
        assert drawer(seen) > 8
        await seen.press("3")
        await seen.pilot.pause(0.05)
        assert drawer(seen) == 3


async def test_a_drawer_stays_as_high_as_it_is_while_the_reader_scrubs() -> None:
    """You should see every row in its place from the last step to the first."""
    async with inspecting(losing(), size=(120, 40)) as seen:
        await seen.read(31)
        for pane in ("3", "5"):
            await seen.press(pane)
            await seen.pilot.pause(0.05)
            high = drawer(seen)
            for key in ("left", "shift+left", "home", "shift+right", "end"):
                await seen.press(key)
                assert drawer(seen) == high


async def test_a_stale_run_and_one_that_cannot_be_read_bear_different_marks() -> None:
    """You should see ◦ before the stale one and ! before the other, and help says what each means."""
    infos = (
        RunInfo("fix-parser", "/tmp/a.json", "agentmem", None, "live"),
        RunInfo("idle", "/tmp/b.json", "agentmem", None, "stale"),
        RunInfo("broken", "/tmp/c.json", "?", None, "stale", problem="no JSON"),
    )
    async with inspecting(story()) as seen:
        seen.source.play(RunsChanged(infos))
        await seen.press("R")
        await seen.row("◦ idle")
        await seen.row("! broken")
        await seen.press("escape", "question_mark")
        for _ in range(6):
            await seen.press("pagedown")
        await seen.until("stale: neither ended nor written to for a while")


async def test_a_prompt_has_as_many_segments_on_the_screen_as_in_the_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """You should see the number that `agentmem show` gives, those without a row among them, and `i` says which."""
    Beside(tmp_path / "runs", clock=lambda: 1_760_000_000.0).run_to(FAILED)
    assert main(["show", str(tmp_path / "runs"), "--step", "28", "--json"]) == 0
    pieces = json.loads(capsys.readouterr().out)["steps"][0]["prompt"]
    async with watching([tmp_path / "runs"], (120, 40), until=RUN) as seen:
        await seen.read(FAILED + 1)
        await seen.press("left", "left", "left")
        await seen.row("2 prompt", "step 28", f"{len(pieces)} segments")
        step = seen.app.run_screen.reader.step
        assert any(row.startswith(f"{len(pieces)} segments; ") for row in explain_prompt(step_run(seen), step))


def step_run(seen: Seen) -> Run:
    run = seen.app.run_screen.reader.run
    assert run is not None
    return run


async def test_the_open_step_is_counted_everywhere_and_named() -> None:
    """You should see nine steps in the header and in the sentence of the lost pane."""
    run = calm(9)
    steps = (*run.main.steps[:-1], replace(run.main.steps[-1], open=True, attempts=(), replies=(), results=()))
    async with inspecting(replace(run, lanes=(Lane("main", "main", steps),)), size=(120, 40)) as seen:
        await seen.until("step 9 of 9")
        await seen.until("No drops in 9 steps, 1 open.")


@pytest.mark.parametrize("size", SIZES)
async def test_a_notice_covers_its_row_to_the_edge(size: tuple[int, int]) -> None:
    async with inspecting(story(), size=size, until="fix-parser") as seen:
        await seen.press("home", "4", "c")
        row = await seen.row("No cycle before step 1.")
        assert row.strip() == "No cycle before step 1."
