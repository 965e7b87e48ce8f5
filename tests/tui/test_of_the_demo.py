"""The demo's run, read from its files: what the panes say of it is what the files hold, and the cursor is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentmem.checkpoint.recorder import record
from agentmem.inspect.open import open_run
from agentmem.model import Run
from tests.formats.helpers import call, result, user
from tests.tui.demo import ALL, RUN, Beside
from tests.tui.panes.shown import context_of, row_with, sheet_lines, sheet_of
from tests.tui.seen import Seen, watching
from tui.index import build
from tui.widgets.panes.losses import losses, made_by

SIZES = [(61, 16), (80, 24), (100, 30), (120, 40), (150, 45)]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    Beside(folder).run_to(ALL)
    return folder


def told(folder: Path) -> Run:
    return open_run(str(folder / f"{RUN}.json")).run


def cursor_rows(seen: Seen) -> list[str]:
    """Rows of the pane that has the keys that stand under its cursor."""
    pane = seen.app.run_screen.pane
    rows = [row[pane.region.x :] for row in seen.rows[pane.region.y : pane.region.bottom]]
    return [row for row in rows if row.startswith("▌")]


# -- the plan in the prompt -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "words"),
    [(29, "done 4 of 6, next: run the whole suite"), (32, "done 5 of 6, next: replay the sample order")],
)
def test_the_plan_of_a_prompt_is_told_as_the_prompt_said_it_and_not_as_the_step_left_it(
    demo: Path, step: int, words: str
) -> None:
    run = told(demo)
    assert row_with(sheet_lines(sheet_of(run, step, context_of(run)), 120), " plan ").plain.count(words) == 1


@pytest.mark.parametrize(
    ("rendered", "words"),
    [
        ("- done: look\n- done: find it\n- open: mend it", "done 2 of 3, next: mend it"),
        ("- [x] look\n- [x] find it\n- [ ] mend it", "3 items"),
        ("Done: look; find it; mend it\nRemaining: nothing", "done 3 of 3"),
        ("1. look\n2. find it\n3. mend it", "3 items"),
    ],
)
def test_a_plan_is_counted_by_the_words_around_it_or_not_at_all(tmp_path: Path, rendered: str, words: str) -> None:
    plan = [{"title": title, "status": "done"} for title in ("look", "find it", "mend it")]
    with record(RUN, goal="g", folder=tmp_path) as run:
        run.save([user("go"), call("a"), result("a", "x")], state={"plan": plan}, prompt=[user("go"), user(rendered)])
        run.save([user("go"), call("a"), result("a", "x"), call("b"), result("b", "y")], state={"plan": plan},
                 prompt=[user("go"), user(rendered)])  # fmt: skip
    found = told(tmp_path)
    line = row_with(sheet_lines(sheet_of(found, 2, context_of(found)), 120), "plan").plain
    assert f" {words} " in line


# -- the scale of the bars --------------------------------------------------------------------------------------------


def test_the_bars_forget_an_open_step_that_was_called_with_less(tmp_path: Path) -> None:
    """Behind step 15 the next call would see 30,000 tokens; it is made after a compaction, with 614."""
    agent = Beside(tmp_path)
    agent.run_to(15)
    followed = open_run(str(tmp_path / f"{RUN}.json"))
    before = build(followed.run)
    agent.run_to(20)
    followed.refresh()
    grown, fresh = build(followed.run, before)["main"], build(told(tmp_path))["main"]
    assert before["main"].largest_trace > 30_000 and fresh.largest_trace < 20_000
    assert (grown.largest_trace, grown.largest_state) == (fresh.largest_trace, fresh.largest_state)


# -- the cursor of the lost pane --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_the_cursor_of_the_lost_pane_is_on_its_first_row_and_stays_in_view_at_another_size(
    demo: Path, size: tuple[int, int]
) -> None:
    """You should see one row under the cursor, that of the silent loss, at every size."""
    async with watching([demo], size=size, until=" 32") as seen:
        await seen.read(ALL)
        await seen.press("3")
        for other in ((61, 16), (80, 24), size):
            rows = cursor_rows(seen)
            assert len(rows) == 1 and "order_id" in rows[0]
            await seen.pilot.resize_terminal(*other)
            await seen.pilot.pause()
        await seen.press("down")
        assert len(cursor_rows(seen)) == 1 and "order_id" not in cursor_rows(seen)[0]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_rows_that_come_in_above_leave_the_cursor_in_view(tmp_path: Path, size: tuple[int, int]) -> None:
    """You should see the cursor on the newest row, and once you chose one, on that."""
    agent = Beside(tmp_path)
    agent.run_to(3)
    async with watching([tmp_path], size=size, until=RUN) as seen:
        await seen.press("3")
        agent.run_to(16)
        await seen.row("compacted")
        assert "compacted" in cursor_rows(seen)[0]
        agent.run_to(19)
        await seen.row("removed")
        assert "removed" in cursor_rows(seen)[0]
        await seen.press("down")
        chosen = cursor_rows(seen)
        assert len(chosen) == 1 and "removed" not in chosen[0]
        agent.run_to(ALL)
        await seen.row("order_id", "29")
        await seen.pilot.pause()
        now = cursor_rows(seen)
        assert len(now) == 1 and now[0][1:20] == chosen[0][1:20]


# -- the record of a boundary -----------------------------------------------------------------------------------------


def test_the_record_of_a_compaction_is_that_of_its_summary(demo: Path) -> None:
    run = told(demo)
    loss = next(one for one in losses(run, context_of(run).index["main"]) if one.sort == "boundary")
    place = made_by(run, loss)
    assert place is not None
    piece = next(one for one in run.main.steps[loss.n - 1].prompt if one.id == place[1])
    assert loss.step == 16 and piece.where is not None and piece.where.line == 16


async def test_r_on_a_compaction_opens_the_line_of_the_compaction(demo: Path) -> None:
    """You should see line 16 of the ledger."""
    async with watching([demo], size=(120, 40), until=" 32") as seen:
        await seen.read(ALL)
        await seen.press("3")
        while "compacted" not in cursor_rows(seen)[0]:
            await seen.press("down")
        await seen.press("r")
        await seen.until(f"{RUN}.steps.jsonl, line 16")


# -- a comparison -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_a_comparison_always_says_what_it_compares(demo: Path, size: tuple[int, int]) -> None:
    """You should see the base while it is set, and which steps are compared."""
    async with watching([demo], size=size, until=" 32") as seen:
        await seen.read(ALL)
        await seen.press("g", "2", "0", "enter", "m")
        assert any(row.startswith(" marks base 20 ") for row in seen.rows)
        await seen.press("end", "equals_sign")
        await seen.until("step 32 against 20")
        await seen.press("equals_sign", "g", "2", "0", "enter", "m")
        assert "base 20" not in seen.text


async def test_the_words_of_an_opened_piece_stay_whole(demo: Path) -> None:
    """You should see every word of the summary, none of them on two rows."""
    async with watching([demo], size=(100, 30), until=" 32") as seen:
        await seen.read(ALL)
        await seen.press("g", "1", "6", "enter", "equals_sign")
        await seen.press("2", "pagedown", "pagedown", "pagedown", "pagedown")
        await seen.until("still fails.")
        pane = seen.app.run_screen.pane
        shown = " ".join(row[pane.region.x :].strip(" ▌▎") for row in seen.rows)
        assert "still fails. The lint job 7 is done, 0 warnings. Lines of docs/grammar.md say that a quoted" in shown
        assert "field may hold commas and that a quote inside is doubled. Next: make the lexer skip commas" in shown


async def test_i_explains_the_figures_of_this_step(demo: Path) -> None:
    """You should see the tokens and the percent of the header, and no others."""
    async with watching([demo], size=(120, 40), until=" 32") as seen:
        await seen.read(ALL)
        figure = next(word for word in seen.header.split() if word.startswith("≈"))
        percent = next(word for word in seen.header.split() if word.endswith("%"))
        await seen.press("i")
        await seen.until(f"{figure} {percent}: tokens of this step's prompt")
        assert "61k" not in seen.text and "PAUSED +" not in seen.text and "34s" not in seen.text
