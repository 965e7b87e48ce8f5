"""The lost pane: named, unrecorded first, with cause, last step and consequence; boundaries by kind."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentmem.inspect.open import open_run
from agentmem.inspect.telling.left import cause_word
from agentmem.inspect.telling.lost_block import lost_block
from agentmem.model import Boundary, Gap, Lane, Lost, Run, Still, Survival
from agentmem.safe import name
from tests.formats.helpers import said, user
from tui.messages import ToStep
from tui.theme import Palette
from tui.widgets.line import Line, Span, fit
from tui.widgets.panes.columns import cut, wrap_words
from tui.widgets.panes.losses import losses, unfolded
from tui.widgets.panes.lost import LostPane
from tui.widgets.panes.lost_rows import BoundaryTarget, FoldTarget, height, loss_lines
from tui.widgets.panes.state import StatePane
from tui.widgets.rows import strip_of

from .builders import Teller, drop, plain_run, sliding_run, story
from .shown import context_of, index_of, pane_lines, row_with, sheet_lines, sheet_of, text

COLOURS = Palette({"background": "#000000", "foreground": "#ffffff"})


def shown(run: Run, width: int = 150) -> tuple[LostPane, list[Line]]:
    pane = LostPane()
    pane.show(run, ("main", len(run.main.steps)), context_of(run, width))
    return pane, pane_lines(pane, width)


def test_unrecorded_losses_stand_on_top_with_the_call_that_missed_them() -> None:
    _, lines = shown(story())
    assert lines[0].plain.split() == ["cause", "what", "tokens", "at", "last", "in", "came", "back", "record"]
    assert lines[1].plain.split() == [
        "▲",
        "silent",
        "fact",
        "order_id",
        "=",
        "A-1041",
        "9",
        "29",
        "28",
        "no",
        "nobody",
        "recorded",
        "it",
    ]
    assert lines[1].fill == lines[2].fill == "error-muted"
    assert lines[2].plain.strip() == "└ needed at 30 by replay_order   ✗ missing field: order_id"


def test_the_others_follow_newest_first() -> None:
    _, lines = shown(story())
    causes = [line.plain[3:14].strip() for line in lines[4:] if line.plain[3:14].strip()]
    assert causes == ["shortened", "removed", "compacted"]


@pytest.mark.parametrize("width", [80, 100])
def test_below_110_columns_record_and_return_are_the_second_line(width: int) -> None:
    _, lines = shown(story(), width)
    assert "record" not in lines[0].plain
    assert lines[2].plain.strip() == "└ nobody recorded it; it has not come back"
    assert lines[3].plain.strip().startswith("└ needed at 30 by replay_order")


def test_a_boundary_says_what_survived_by_kind_what_was_lost_and_what_changed() -> None:
    _, lines = shown(story())
    whole = text(lines)
    assert "30 pieces, 26.9k → 8.9k" in whole and "2 of 30" in whole
    assert "goal 1/1   identifiers 3/3   paths 5/6   numbers 4/7" in whole
    assert "path docs/grammar.md   numbers 8443 512 0.25   constraint (by keyword) never edit tests/golden" in whole
    assert "8814 → 8841" in whole


@pytest.mark.parametrize("width", [80, 120, 150])
def test_enter_lists_what_a_boundary_took_and_folds_it_again(width: int) -> None:
    pane, lines = shown(story(), width)
    row = row_with(lines, "compacted")
    assert isinstance(row.target, BoundaryTarget) and "Enter opens" in text(lines)
    pane.selected = lines.index(row) - 1
    before = pane.line_count(width)
    assert pane.open_target(row.target) and pane.line_count(width) == before + 30
    assert "Enter folds" in text(pane_lines(pane, width))
    piece = pane.line(pane.line_count(width) - 1, width)
    assert isinstance(piece.target, ToStep) and piece.target.n == 16 and not pane.open_target(piece.target)
    assert pane.open_target(row.target) and pane.line_count(width) == before
    assert pane.open_target(row.target) and pane.back() and pane.line_count(width) == before


def test_an_opaque_summary_says_that_it_cannot_be_checked() -> None:
    run = story()
    boundary = Boundary("compaction", True, 100, 10, opaque=True)
    steps = list(run.main.steps)
    steps[15] = replace(steps[15], boundary=boundary)
    run = replace(run, lanes=(Lane("main", "main", tuple(steps)),),
                  survivals=(Survival("main", 16, 16, boundary, {}, (), ()),))  # fmt: skip
    _, lines = shown(run)
    assert "cannot be checked: the summary is encrypted or missing" in text(lines) and "survived" not in text(lines)


def test_an_unexplained_shrink_without_pieces_has_a_row_of_its_own() -> None:
    run = plain_run(3)
    steps = list(run.main.steps)
    steps[2] = replace(steps[2], boundary=Boundary("unexplained", False, 61_000, 20_000))
    _, lines = shown(replace(run, lanes=(Lane("main", "main", tuple(steps)),)))
    row = row_with(lines, "unexplained")
    assert "61.0k → 20.0k" in row.plain and "41.0k" in row.plain and "nobody recorded it" in row.plain


def test_no_drops_is_said_only_where_the_file_can_tell() -> None:
    exact = replace(plain_run(3), provenance="exact")
    assert text(shown(exact)[1]).strip() == "No drops in 3 steps."
    rebuilt = text(shown(replace(plain_run(3), past_unknown=True))[1])
    assert "cannot be told" in rebuilt
    partial = text(shown(replace(plain_run(3), provenance="partial"))[1]).strip()
    assert partial.startswith("Unknown: what the model saw is not in this file.") and "No drops" not in partial


def test_sentences_that_a_boundary_lost_stand_one_a_row_and_one_alone_is_whole() -> None:
    run = story()
    survival = run.survivals[0]
    said = [f"Never touch table {n}, whatever the ticket says about it." for n in range(4)]
    rules = tuple(Lost("constraints", sentence, 9) for sentence in said)
    several = text(shown(replace(run, survivals=(replace(survival, lost=rules),)), 80)[1])
    assert "constraints (by keyword) Never touch table 0" in several and "  Never touch table 1" in several
    assert "+2" in several
    one = shown(replace(run, survivals=(replace(survival, lost=rules[:1]),)), 80)[1]
    assert "Never touch table 0, whatever the ticket says about it." in " ".join(text(one).split())


def test_steps_that_were_not_seen_are_said_to_be_unknown() -> None:
    run = replace(plain_run(3), gaps=(Gap("main", 2, 6, 3),))
    assert "3 steps not seen between 2 and 6" in text(shown(run)[1])


def test_the_badge_counts_silent_losses_as_the_header_does() -> None:
    pane, _ = shown(story())
    assert "".join(span.text for span in pane.badge()) == " ▲1 −3"
    narrow, _ = shown(story(), 80)
    assert "".join(span.text for span in narrow.badge()) == " ▲1"
    sliding, _ = shown(sliding_run(30, alarm=8))
    assert "".join(span.text for span in sliding.badge()) == " ▲1 ·24"


@pytest.mark.parametrize(("width", "rows"), [(80, 2), (150, 1)])
def test_a_window_that_slides_is_one_row_that_enter_opens_and_closes(width: int, rows: int) -> None:
    pane, lines = shown(sliding_run(240, since=12), width)
    assert len(lines) == 1 + rows
    assert lines[1].plain.startswith(" · trimmed?   steps 12-240: 458 pieces, 2 a step")
    assert "nobody recorded it; Enter opens" in text(lines)
    pane.selected = 0
    assert isinstance(lines[1].target, FoldTarget) and pane.open_target(lines[1].target)
    opened = pane_lines(pane, width)
    assert len(opened) == 1 + rows + 229
    assert opened[1 + rows].plain.split()[:6] == ["·", "read", "file229.py", "and", "1", "more"]
    assert [line.target.n for line in opened[1 + rows :] if isinstance(line.target, ToStep)] == [*range(240, 11, -1)]
    assert pane.open_target(lines[1].target) and pane.line_count(width) == rows


def test_escape_closes_a_fold_and_the_cursor_goes_to_its_row() -> None:
    pane, lines = shown(sliding_run(30, alarm=8), 150)
    row = next(place for place, line in enumerate(lines[1:]) if isinstance(line.target, FoldTarget))
    pane.selected = row
    pane.open_target(lines[1 + row].target)
    pane.selected = row + 5
    assert pane.back() and pane.selected == row and not pane.back()


def test_what_alarms_is_not_in_the_row_of_a_window_that_slides() -> None:
    _, lines = shown(sliding_run(30, alarm=8))
    assert "facts.port" in lines[1].plain or "port" in lines[1].plain
    assert row_with(lines, "steps 6-30: 50 pieces, 2 a step").plain.startswith(" · ")


def test_a_loss_that_is_told_only_for_its_consequence_says_why_it_was_none() -> None:
    lost = replace(story().main.steps[28].drops[0], still=Still("its value still stood in the goal"))
    steps = list(story().main.steps)
    steps[28] = replace(steps[28], drops=(lost,))
    for width in (80, 150):
        _, lines = shown(replace(story(), lanes=(Lane("main", "main", tuple(steps)),)), width)
        assert "nobody recorded it; its value still stood" in text(lines)


def test_copying_gives_a_block_to_paste_back() -> None:
    pane, _ = shown(story())
    block = pane.copy_block() or ""
    assert "fact order_id = A-1041" in block and "never edit tests/golden" in block and "docs/grammar.md" in block


@given(
    st.sampled_from([60, 80, 100, 110, 120, 150]),
    st.booleans(), st.booleans(), st.text(max_size=20) | st.none(), st.integers(3, 9) | st.none(),
)  # fmt: skip
def test_the_height_that_is_counted_is_the_height_that_is_drawn(
    width: int, recorded: bool, missed: bool, record: str | None, returned: int | None
) -> None:
    t = Teller()
    t.place(t.piece("user", "hello"))
    t.close()
    lost = drop(2, "facts.x", what="field", kind="fact", recorded=recorded, record=record or None, returned=returned,
                cause="removed" if recorded else "silent")  # fmt: skip
    if missed:
        lost = replace(lost, missed_by=story().main.steps[28].drops[0].missed_by)
    t.close(drops=(lost,))
    run = replace(plain_run(1), lanes=(Lane("main", "main", tuple(t.steps)),))
    for shown_run in (run, sliding_run(12, alarm=7)):
        index = index_of(shown_run)["main"]
        opened = {fold.ident for fold in index.folds}
        for loss in unfolded(losses(shown_run, index), opened):
            assert len(loss_lines(loss, width, width)) == height(loss, width, width)


def test_what_the_state_still_holds_is_called_the_same_in_every_place(tmp_path: Path) -> None:
    """A fact whose message left with most of the list, which nobody recorded: no silent loss, and not gone."""
    state = {"goal": "ship the parcel", "facts": {"order_id": "A-1041"}}
    held = [user("ship the parcel"), user("order_id = A-1041")]
    lines = []
    for step in range(1, 8):
        held = [user("go on, as before")] if step == 6 else held
        held = [*held, said(f"step {step} is being thought about"), user(f"observation {step}: nothing new at all")]
        lines.append(json.dumps({"step": step, "messages": held, "state": state}))
    path = tmp_path / "held.jsonl"
    path.write_text("\n".join(lines) + "\n")
    run = open_run(str(path)).run
    fact = next(drop for drop in run.main.steps[5].drops if drop.name == "facts.order_id")
    word = cause_word(fact)
    assert fact.alarming and not fact.recorded and fact.cause != "silent" and word == f"{fact.cause}?"
    for width in (80, 150):
        _, rows = shown(run, width)
        at = next(place for place, row in enumerate(rows) if "order_id = A-1041" in row.plain)
        assert f"▲ {word} " in rows[at].plain
        assert "nobody recorded it; the state still holds it" in text(rows[at : at + 2])
    for n, since in ((6, "here"), (7, "since 6")):
        ghost = row_with(sheet_lines(sheet_of(run, n, context_of(run)), 90, 60), "order_id = A-1041")
        assert ghost.plain.rstrip().endswith(f"{word} {since}, held")
    pane = StatePane()
    pane.show(run, ("main", 7), context_of(run))
    assert [line.plain.split() for line in pane_lines(pane, 90) if "order_id" in line.plain] == [
        ["▲", "order_id", "A-1041", "2", word, "since", "6"]
    ]
    assert "- fact order_id = A-1041 (out of the prompt since step 6, the state still holds it)" in lost_block(run)


@given(st.text(st.sampled_from("ab …一\t"), min_size=1, max_size=40), st.integers(2, 12), st.integers(2, 12))
def test_what_is_cut_again_bears_one_mark(outside: str, first: int, then: int) -> None:
    """Wherever texts are cut: in a column, at the edge of a row, in a wrapped goal, in the commands, in the ledger."""
    marks = 1 + max(len(run) for run in re.split("[^…]+", outside))
    for once in (fit(outside, first), cut(outside, first), name(outside, first), wrap_words(outside, first, 1)[0]):
        for twice in (fit(once, then), cut(once, then), name(once, then), *wrap_words(once, then, 1)):
            assert "…" * max(2, marks) not in twice
        line = Line((Span(" "), Span(once), Span("tail")))
        assert "…" * max(2, marks) not in strip_of(line, then + 1, COLOURS).text
