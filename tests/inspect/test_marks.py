"""One mark for one thing: what a step and a drop bear, on the screen and in the commands."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agentmem.cli.drops import rows as drop_rows
from agentmem.cli.show import rows
from agentmem.inspect.telling.marks import GLYPHS, WORDS, Numbers, drop_glyph, mark_of, overlay, shown
from agentmem.model import Boundary, Cause
from tests.tui.panes.builders import drop, plain_run, sliding_run, story
from tests.tui.panes.shown import index_of
from tui.index import GLYPHS as DRAWN
from tui.index import glyphs


@pytest.mark.parametrize(
    ("cause", "recorded", "glyph"),
    [
        ("trimmed", True, "−"), ("trimmed", False, "·"), ("silent", False, "·"), ("compacted", True, "−"),
        ("summarised", True, "−"), ("shortened", True, "~"), ("shortened", False, "~"), ("replaced", True, "~"),
        ("rewritten", True, "~"), ("removed", True, "−"),
    ],
)  # fmt: skip
def test_a_drop_bears_one_mark_wherever_it_is_listed(cause: Cause, recorded: bool, glyph: str) -> None:
    lost = drop(2, "result of 1", cause=cause, recorded=recorded)
    step = replace(plain_run(2).main.steps[1], drops=(lost,))
    assert drop_glyph(lost) == glyph == shown(mark_of(step))


def test_a_field_that_nobody_recorded_alarms_whatever_its_cause() -> None:
    lost = drop(2, "facts.port", what="field", kind="fact", cause="shortened", recorded=False)
    assert drop_glyph(lost) == "▲"


def test_at_a_boundary_what_merely_left_has_no_mark_of_its_own() -> None:
    step = replace(plain_run(2).main.steps[1], boundary=Boundary("condensation", True, 9, 3))
    left = drop(2, "a", cause="summarised"), drop(2, "b", cause="trimmed", recorded=False)
    assert shown(mark_of(replace(step, drops=left))) == "▼"
    assert shown(mark_of(replace(step, drops=(*left, drop(2, "c", cause="shortened"))))) == "▼~"
    resumed = replace(step, boundary=Boundary("resume", True, 9, 9), drops=left)
    assert shown(mark_of(resumed)) == "−·"


@pytest.mark.parametrize("run", [story(), sliding_run(30, alarm=9)], ids=["story", "sliding"])
def test_the_rows_of_show_bear_the_marks_of_the_timeline(run: object) -> None:
    assert not isinstance(run, str)
    index = index_of(run)["main"]  # type: ignore[arg-type]  # both are runs
    printed = rows(run, index.lane)  # type: ignore[arg-type]  # likewise
    body = printed[printed.index("") + 2 :]
    column = printed[printed.index("") + 1].index("mark")
    for step, row in zip(index.steps, body, strict=True):
        drawn = "".join(glyph for glyph, _ in glyphs(index.mask(step.n)))
        letter = index.letters.get(step.n, "")
        assert row[column : column + 5].split(" ")[0] == drawn.replace("↻", f"↻{letter}")


def test_the_rows_of_drops_bear_the_marks_of_the_pane() -> None:
    run = story()
    assert [row[0] for row in drop_rows(run, run.lanes, ()) if row.lstrip() == row != ""] == ["▲", "~", "−", "▼"]


def test_every_mark_is_drawn_and_has_words() -> None:
    assert list(DRAWN) == list(GLYPHS) == list(WORDS) == sorted(GLYPHS, reverse=True)
    assert {bit: glyph for bit, (glyph, _) in DRAWN.items()} == dict(GLYPHS)


def test_cycles_and_waits_lie_over_the_marks_of_the_steps() -> None:
    run = story()
    masks = bytearray(map(mark_of, run.main.steps))
    letters = overlay(run, "main", masks, Numbers(run.main.steps))
    assert shown(masks[19], letters[20]) == "↻A✗" and shown(masks[9]) == "z" and letters[21] == "B"
