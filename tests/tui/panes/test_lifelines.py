"""The lifelines pane: one row a thing on the timeline's axis, pins last, details and legend below."""

from __future__ import annotations

import pytest

from agentmem.model import Field, Lifeline
from tui.widgets.bars import axis_for
from tui.widgets.panes.lifelines import LEGEND, details, legend, lifeline_row, ranges

from .builders import GOAL, drop, story
from .shown import text

ORDER = Lifeline("facts.order_id", "main", 4, "━" * 25 + "▲✗·", ((4, 28),), (), (30,), (), (29,))


def test_a_row_stands_on_the_axis_of_the_timeline() -> None:
    axis = axis_for(150, 31)
    row = lifeline_row(ORDER, axis, 150, 29, None, False)
    wide = axis.cells
    assert row.plain[axis.gutter + 3 * wide] == "━" and row.plain[axis.gutter + 2 * wide] == " "
    assert row.plain[axis.gutter + 28 * wide] == "▲" and row.plain[axis.gutter + 29 * wide] == "✗"
    assert row.plain[: axis.gutter].strip() == "order_id"


def test_many_steps_in_one_cell_show_the_worst_of_them() -> None:
    line = Lifeline("facts.x", "main", 1, "━" * 500 + "▲" + "·" * 499)
    assert lifeline_row(line, axis_for(80, 1000), 80, None, None, False).plain.count("▲") == 1


def test_a_pin_is_named_as_one() -> None:
    assert lifeline_row(Lifeline("8443", "main", 1, "━━"), axis_for(80, 2), 80, None, None, True).plain.startswith(
        ' pin "8443"'
    )


def test_details_say_value_verifier_presence_loss_and_need() -> None:
    held = Field("facts.order_id", "A-1041", 9, "get_order", 3)
    said = "".join(span.text for span in details(ORDER, held, (story().main.steps[28].drops[0],)))
    assert said == (
        "order_id = A-1041   9 tokens   verified by get_order @3   in the prompt 4-28   ▲ silent at 29"
        "   ✗ needed at 30 by replay_order"
    )


def test_details_of_a_thing_that_was_only_said_by_the_model() -> None:
    said = "".join(span.text for span in details(Lifeline("8841", "main", 1, "··", said=(2,)), None, ()))
    assert said == "8841   in no prompt   said by the model at 2, not in the prompt"


def test_many_ranges_are_counted() -> None:
    assert ranges(((1, 3), (5, 5), (7, 9), (11, 12))) == "1-3, 5, 7-9 and 1 more"


def test_the_legend_has_every_glyph_at_any_width() -> None:
    for width in (40, 60, 80, 150):
        shown = text(legend(width))
        assert all(glyph in shown and word in shown for glyph, word, _ in LEGEND)
        assert all(len(line.plain) == width for line in legend(width))


def test_a_lost_value_is_still_told() -> None:
    lost = drop(5, "facts.port", what="field", kind="fact", text="8841", tokens=2, recorded=False, cause="silent")
    said = "".join(span.text for span in details(Lifeline("facts.port", "main", 1, "━━▲"), None, (lost,)))
    assert said.startswith("port = 8841   2 tokens")


@pytest.mark.parametrize("width", [44, 60, 78, 118])
def test_a_long_value_gives_way_to_where_it_stood(width: int) -> None:
    held = Field("goal", GOAL, 16, "the user", 1)
    spans = details(Lifeline("goal", "main", 1, "━" * 31, ((1, 31),)), held, (), width)
    said = "".join(span.text for span in spans)
    assert len(said) <= width and said.startswith("goal") and said.rstrip().endswith("in the prompt 1-31")
    value = said.partition(" = ")[2].partition("   ")[0]
    assert value in ("", GOAL) or (value.endswith("…") and GOAL.startswith(value[:-1]))


def test_steps_that_are_not_named_are_counted() -> None:
    spans = details(Lifeline("x", "main", 1, "▲" * 9, alarms=(1, 3, 5, 7, 9)), None, ())
    assert "silent at 1, 3, 5 and 2 more" in "".join(span.text for span in spans)


def test_the_last_error_has_the_name_that_it_has_in_the_other_panes() -> None:
    line = lifeline_row(Lifeline("last_error", "main", 1, "━━"), axis_for(80, 2), 80, None, None, False)
    assert line.plain.startswith(" failure ")
