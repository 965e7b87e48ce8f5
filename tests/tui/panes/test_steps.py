"""The steps pane: state and trace on the scale of the total, or plainly as counted."""

from __future__ import annotations

from msgspec.structs import replace

from agentmem.model import Lane, Run, Usage
from tui.widgets.line import Line
from tui.widgets.panes.columns import step_at
from tui.widgets.prompt.sheet import Opening, Sheet
from tui.widgets.steps import StepsPane

from .builders import plain_run, story
from .shown import context_of, pane_lines


def reported(run: Run, factor: float, upto: int = 10**6) -> Run:
    """The run with a provider's report of that many times what was counted, for its first steps."""
    steps = tuple(
        replace(step, usage=Usage(round((step.tokens.prompt or 0) * factor))) if step.n <= upto else step
        for step in run.main.steps
    )
    return replace(run, lanes=(Lane("main", "main", steps),))


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
