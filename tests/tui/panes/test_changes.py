"""The change view: what is new, what left, what became shorter; everything else folded."""

from __future__ import annotations

from msgspec.structs import replace

from tui.widgets.prompt.pane import PromptPane

from .builders import plain_run, story, tell
from .shown import context_of, pane_lines, row_with, sheet_lines, sheet_of, text


def test_what_is_unchanged_is_one_row_with_its_count_and_tokens() -> None:
    run = story()
    shown = sheet_lines(sheet_of(run, 30, context_of(run, changes=True)), 80)
    assert shown[0].plain.split()[:3] == ["29", "same", "9.0k"] and "system to result" in shown[0].plain


def test_added_pieces_have_a_plus_and_show_their_first_lines_when_the_text_is_there() -> None:
    run, teller = tell()
    shown = sheet_lines(sheet_of(run, 30, context_of(run, 80, teller, changes=True)), 80)
    added = [line for line in shown if line.plain[1] == "+"]
    assert [line.plain[3:9] for line in added] == ["call  ", "result"]
    assert "more lines, Enter opens" in text(shown)
    heads = sheet_lines(sheet_of(run, 30, context_of(run, 80, changes=True)), 80)
    assert "more lines" not in text(heads) and len(heads) < len(shown)


def test_the_texts_that_the_view_wants_are_asked_for() -> None:
    run = story()
    asked: list[int] = []
    context = context_of(run, changes=True)
    context.texts._ask = lambda lane, idents: asked.extend(idents)
    sheet_of(run, 30, context)
    added = set(run.main.steps[29].prompt.ids) - set(run.main.steps[28].prompt.ids)
    assert set(asked) <= added and len(asked) == 2


def test_what_left_is_struck_through_with_its_cause() -> None:
    run = story()
    shown = sheet_lines(sheet_of(run, 16, context_of(run, changes=True)), 80)
    gone = [line for line in shown if line.plain[1] == "−"]
    assert len(gone) == 28 and all(line.plain.rstrip().endswith("compacted") for line in gone)
    assert all(any(span.strike for span in line.spans) for line in gone)


def test_a_silent_loss_has_its_consequence_under_it() -> None:
    run = story()
    shown = sheet_lines(sheet_of(run, 30, context_of(run, changes=True)), 80)
    ghost = shown.index(row_with(shown, "▲"))
    assert shown[ghost + 1].plain.strip() == "last in 28, recorded by nobody; replay_order needs it"


def test_a_silent_loss_is_told_once_at_its_own_step() -> None:
    run = story()
    shown = sheet_lines(sheet_of(run, 29, context_of(run, changes=True)), 80)
    assert sum("A-1041" in line.plain for line in shown) == 1


def test_a_changed_field_shows_what_it_was_before() -> None:
    run = story()
    shown = sheet_lines(sheet_of(run, 30, context_of(run, changes=True)), 80)
    now = row_with(shown, "done 4 of 6")
    assert now.plain[1] == "~"
    assert shown[shown.index(now) + 1].plain.rstrip().endswith("before")


def test_a_shortened_piece_shows_what_went() -> None:
    run, teller = tell()
    shown = sheet_lines(sheet_of(run, 26, context_of(run, 80, teller, changes=True)), 80)
    assert row_with(shown, "shortened").plain[1] == "~"
    went = row_with(shown, "tokens went")
    assert "1.6k tokens went, 55 lines: " in went.plain


def test_against_another_base_the_title_names_it() -> None:
    run = story()
    sheet = sheet_of(run, 30, context_of(run, changes=True, base=("main", 20)))
    left, right = sheet.heading()
    assert "".join(span.text for span in left) == "step 30 against 20"
    counts = "".join(span.text for span in right)
    assert counts.startswith("▲1  +") and "tokens" in counts
    back = sheet_of(run, 16, context_of(run, changes=True, base=("main", 15)))
    assert "−" in "".join(span.text for span in back.heading()[1]).split("  ")[-1]


def test_the_first_step_is_all_new() -> None:
    run = plain_run(2)
    shown = sheet_lines(sheet_of(run, 1, context_of(run, changes=True)), 80)
    assert [line.plain[1] for line in shown] == ["+"]


def test_a_step_without_a_change_says_so() -> None:
    run = plain_run(1)
    same = replace(run.main.steps[0], n=2, parent=("main", 1))
    run = replace(run, lanes=(replace(run.main, steps=(run.main.steps[0], same)),))
    pane = PromptPane()
    pane.show(run, ("main", 2), context_of(run, 120, changes=True))
    assert "1 same" in text(pane_lines(pane, 77))
