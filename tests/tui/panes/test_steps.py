"""The steps pane: state and trace on the scale of the total, or plainly as counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from agentmem.model import Lane, Run, Usage
from tests.cases.written import versions
from tests.formats.trims.loops import Round, last
from tests.formats.trims.loops import run as loop
from tui.widgets.line import Line
from tui.widgets.panes.columns import step_at
from tui.widgets.prompt.sheet import Opening, Sheet
from tui.widgets.steps import StepsPane, action_spans

from .builders import plain_run, story
from .shown import context_of, pane_lines


def reported(run: Run, factor: float, upto: int = 10**6) -> Run:
    """The run with a provider's report of that many times what was counted, for its first steps."""
    steps = tuple(
        replace(step, usage=Usage(round((step.tokens.prompt or 0) * factor))) if step.n <= upto else step
        for step in run.main.steps
    )
    return replace(run, lanes=(Lane("main", "main", steps),))


@pytest.mark.parametrize(
    ("cells", "words"),
    [(40, "replay fixtures/app-2.4.tar.gz"), (24, "replay …/app-2.4.tar.gz"), (22, "replay …app-2.4.tar.gz"),
     (18, "replay app-2.4.ta…"), (12, "replay app-…")],
)  # fmt: skip
def test_a_path_is_cut_at_one_end_for_the_file_is_what_one_looks_for(cells: int, words: str) -> None:
    step = next(step for step in plain_run().main.steps if step.attempts)
    call = replace(step.attempts[0], tool="replay", arguments='{"path":"fixtures/app-2.4.tar.gz"}')
    spans = action_spans(replace(step, attempts=(call,), open=False), cells, False)
    said = "".join(span.text for span in spans)
    assert said.rstrip() == words and cell_len(said) == cells


def shown(run: Run, width: int = 80) -> tuple[StepsPane, list[Line]]:
    pane = StepsPane()
    pane.show(run, ("main", len(run.main.steps)), context_of(run, width))
    return pane, pane_lines(pane, width)


def cell(pane: StepsPane) -> str:
    return "".join(span.text for span in pane.heading(80)[1])


def test_the_bars_stand_on_the_scale_of_the_total_that_was_reported() -> None:
    counted, lines = shown(story())
    double, rows = shown(reported(story(), 2))
    assert cell(counted) == "1 cell = ≈606" and cell(double) == "1 cell = ≈1.2k"
    assert [line.spans[-5:-2] for line in rows[1:]] == [line.spans[-5:-2] for line in lines[1:]]
    assert "state and trace" not in rows[0].plain and "counted" not in rows[0].plain


def test_a_step_that_was_not_reported_has_bars_on_the_scale_of_those_that_were() -> None:
    half, _ = shown(reported(story(), 2, upto=20))
    whole, _ = shown(reported(story(), 2))
    assert half._lane is not None and whole._lane is not None
    assert half._lane.parts(31).trace == whole._lane.parts(31).trace


def test_where_parts_of_the_prompt_are_not_in_the_file_the_bars_say_that_they_are_counted() -> None:
    pane, lines = shown(reported(plain_run(3, unknown=("system prompt",)), 5))
    assert "trace, counted" in lines[0].plain and cell(pane).startswith("bars counted, 1 cell = ")
    assert any("the bars are as counted" in row for row in pane.explain())


def test_i_says_how_the_bars_were_scaled() -> None:
    pane, _ = shown(reported(story(), 2))
    size, parts = reported(story(), 2).main.steps[-1].usage, pane._lane.parts(31) if pane._lane else None
    assert size is not None and parts is not None and size.prompt == parts.prompt
    assert any("scaled so that they sum to the total" in row for row in pane.explain())


def test_the_prompt_says_what_its_segments_sum_to_beside_what_was_reported() -> None:
    run = reported(story(), 2)
    step = step_at(run, "main", 30)
    assert step is not None
    _, right = Sheet(run, step, context_of(run, 80), Opening()).heading()
    said = "".join(span.text for span in right)
    assert "counted" in said and said.endswith(" reported")
    _, right = Sheet(story(), story().main.steps[29], context_of(story(), 80), Opening()).heading()
    assert "counted" not in "".join(span.text for span in right)


def test_i_says_from_what_a_prompt_that_was_not_reported_is_estimated() -> None:
    run = reported(story(), 2, upto=29)
    pane, _ = shown(run)
    pane.selected = 29
    size = run.main.steps[29].tokens.prompt
    assert any(row.startswith(f"{size:,} counted, times 2.00: step 29 was reported ") for row in pane.explain())


def test_the_prompts_of_a_slid_list_that_were_never_seen_are_unknown_and_not_empty(tmp_path: Path) -> None:
    saves = list(loop([Round()] * 40, last(6), at="call"))
    run = versions(tmp_path / "run.json", saves[30].version, saves[31].version).run
    _, lines = shown(run)
    totals = {row.plain.split()[0]: row.plain.split()[-1] for row in lines[1:]}
    assert [totals[number] for number in ("28", "29", "30")] == ["?"] * 3 and int(totals["31"].removeprefix("≈")) > 0
    index = context_of(run, 80).index.lanes["main"]
    assert [index.size(n) for n in (1, 2, 3)] == [None] * 3 and index.sign(4, "o200k") == "≈"
    sheet = Sheet(run, run.main.steps[0], context_of(run, 80), Opening())
    assert "? segments" in "".join(span.text for span in sheet.heading()[1])
    sheet.make(80, 30)
    rows = [sheet.line(place, 80).plain for place in range(sheet.count)]
    assert any("older messages, never seen" in row for row in rows)
    assert any("nothing of the prompt of step 28 was seen" in row for row in rows)


def test_a_size_that_may_be_another_bears_its_sign() -> None:
    """You should see ≈ before the total of a step of which it is not known whether a cut came before its call."""
    run = plain_run()
    first, *others = run.main.steps
    unsure = replace(run, lanes=(replace(run.main, steps=(replace(first, unsure="cut"), *others)),))
    for value, sign in ((run, False), (unsure, True)):
        row = shown(value)[1][1].plain
        assert row.split()[0] == "1" and (f"≈{first.tokens.prompt}" in row) is sign
