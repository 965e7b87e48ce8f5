"""The prompt pane: what the model saw, what it answered, what came back; ghosts, folds, the goal at the foot."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agentmem.model import Lane, Run
from agentmem.tape import Tape
from tui.messages import ToStep
from tui.widgets.prompt import stretches
from tui.widgets.prompt.draw import FoldTarget, PieceTarget
from tui.widgets.prompt.pane import PromptPane
from tui.widgets.prompt.plan import fold
from tui.widgets.prompt.seen import Seen
from tui.widgets.prompt.sheet import Opening
from tui.widgets.prompt.stretches import Total

from .builders import GOAL, Teller, plain_run, story, tell
from .shown import context_of, foot_lines, pane_lines, row_with, sheet_lines, sheet_of, text


def test_segments_stand_in_order_with_kind_tokens_and_first_line() -> None:
    run = story()
    shown = sheet_lines(sheet_of(run, 31, context_of(run)), 80, 60)
    assert shown[0].plain.startswith(" ▎ system      412  You fix parsers.")
    kinds = [line.plain[3:12].strip() for line in shown]
    assert kinds[:3] == ["system", "tools", "summary"]
    assert kinds[-5:] == ["fact", "fact", "fact", "plan", "failure"]


def test_the_fold_takes_the_middle_and_never_a_row_with_an_error_or_a_silent_loss() -> None:
    run = story()
    shown = sheet_lines(sheet_of(run, 31, context_of(run)), 77, 16)
    assert any(isinstance(line.target, FoldTarget) for line in shown)
    errors = sum(segment.kind == "error" and segment.field is None for segment in run.main.steps[-1].prompt)
    assert sum(line.plain[1] == "✗" for line in shown) == errors
    assert sum(line.plain[1] == "▲" for line in shown) == 1
    assert shown[0].plain[3:9] == "system" and "failure" in shown[-1].plain


def test_a_fold_says_how_many_pieces_tokens_and_steps_it_hides() -> None:
    run = plain_run(40)
    shown = sheet_lines(sheet_of(run, 40, context_of(run)), 80, 12)
    hidden = next(line for line in shown if isinstance(line.target, FoldTarget))
    assert len(shown) == 12
    whole = sheet_lines(sheet_of(run, 40, context_of(run), Opening(unfolded=True)), 80, 12)
    number = int(hidden.plain[3:12].split()[0])
    assert number == len(whole) - len(shown) + 1
    assert "steps 1 to 3" in hidden.plain and hidden.plain.rstrip().endswith("Enter opens")


def test_a_prompt_of_errors_alone_is_not_folded_away() -> None:
    t = Teller()
    idents = [t.place(t.piece("error", f"failed {n}")) for n in range(50)]
    step = t.close()
    assert fold([range(len(idents))], Seen(step.prompt), (step,), 10) == idents


def test_a_step_beside_looks_only_at_few_pieces_of_a_long_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    run = plain_run(10_000)
    context, looked = context_of(run), []

    def counted(tape: Tape, start: int, end: int) -> Total:
        looked.append(end - start)
        return count(tape, start, end)

    count = stretches._counted
    monkeypatch.setattr(stretches, "_counted", counted)
    sheet_lines(sheet_of(run, 10_000, context), 80, 20)
    assert sum(looked) > 19_000
    looked.clear()
    shown = sheet_lines(sheet_of(run, 9_999, context), 80, 20)
    assert sum(looked) <= 2 * stretches.BLOCK
    hidden = next(line for line in shown if isinstance(line.target, FoldTarget))
    assert int(hidden.plain[3:12].split()[0]) == len(run.main.steps[9_998].prompt) - len(shown) + 1 + 4


def test_a_silent_loss_stands_struck_through_in_its_place_until_it_comes_back() -> None:
    run = story()
    for n, note in ((29, "silent: gone here"), (30, "silent since 29"), (31, "silent since 29")):
        shown = sheet_lines(sheet_of(run, n, context_of(run)), 90, 60)
        ghost = row_with(shown, "order_id = A-1041")
        assert ghost.plain[1] == "▲" and ghost.plain.rstrip().endswith(note) and ghost.fill == "error-muted"
        assert any(span.strike for span in ghost.spans)
        assert ghost.target == ToStep("main", 29)
        place = shown.index(ghost)
        assert "facts.parser" in shown[place - 1].plain and "facts.lexer" in shown[place + 1].plain
    before = sheet_lines(sheet_of(run, 28, context_of(run)), 90, 60)
    assert row_with(before, "order_id = A-1041").plain[1] == "▎"


def test_a_loss_that_came_back_leaves_no_ghost() -> None:
    run = story()
    steps = list(run.main.steps)
    steps[28] = replace(steps[28], drops=(replace(steps[28].drops[0], returned_at=31),))
    back = replace(run, lanes=(Lane("main", "main", tuple(steps)),))
    assert "▲" in text(sheet_lines(sheet_of(back, 30, context_of(back)), 80, 60))
    assert "▲" not in text(sheet_lines(sheet_of(back, 31, context_of(back)), 80, 60))


def test_a_recorded_loss_stands_only_in_the_difference_of_its_step() -> None:
    run = story()
    assert "test_empty_row" not in text(sheet_lines(sheet_of(run, 20, context_of(run)), 80, 60))
    assert "test_empty_row" in text(sheet_lines(sheet_of(run, 19, context_of(run, changes=True)), 80, 60))


def test_on_an_alarm_row_the_note_gives_way_before_the_value() -> None:
    run = story()
    for width in range(40, 80):
        ghost = row_with(sheet_lines(sheet_of(run, 30, context_of(run)), width, 60), "▲")
        if "order_id = A-1041" not in ghost.plain:
            assert "silent" not in ghost.plain


def test_notes_say_who_verified_a_fact_and_which_member_of_a_cycle_a_result_is() -> None:
    run = story()
    shown = sheet_lines(sheet_of(run, 25, context_of(run)), 80, 60)
    assert row_with(shown, "facts.parser").plain.rstrip().endswith("✓ read @4")
    assert [line.plain.rstrip()[-7:] for line in shown if "↻ A" in line.plain] == ["↻ A @20", "↻ A @22", "↻ A @24"]


def test_the_goal_stands_whole_at_the_foot_with_what_the_model_then_did_under_it() -> None:
    run = story()
    foot = foot_lines(sheet_of(run, 30, context_of(run)), 60)
    assert set(foot[0].plain.strip()) == {"╌"}
    wrapped = " ".join(line.plain[20:].replace("✓ at end", "").strip() for line in foot[1:-1])
    assert wrapped == GOAL and foot[1].plain.rstrip().endswith("✓ at end")
    assert "replay_order" in foot[-1].plain and "✗ missing field" in foot[-1].plain
    now = foot_lines(sheet_of(run, 31, context_of(run)), 60)
    assert now[-1].plain.strip() == "→ not called yet: the next call sees this"


def test_a_long_goal_takes_three_rows_and_says_that_it_is_cut() -> None:
    run = replace(story(), goal="word " * 400)
    step = replace(run.main.steps[4], fields=())
    run = replace(run, lanes=(Lane("main", "main", (*run.main.steps[:4], step)),))
    foot = foot_lines(sheet_of(run, 5, context_of(run)), 80)
    assert len(foot) == 5 and foot[3].plain.rstrip().endswith("…")


def test_a_missing_goal_is_said_with_the_step_since_which_it_is_missing() -> None:
    run = story()
    steps = [replace(step, goal="missing" if step.n > 27 else "last") for step in run.main.steps]
    run = replace(run, lanes=(Lane("main", "main", tuple(steps)),))
    assert "✗ missing since 28" in text(foot_lines(sheet_of(run, 31, context_of(run)), 80))


def test_what_it_answered_and_what_came_back_follow_what_it_saw() -> None:
    run = story()
    shown = sheet_lines(sheet_of(run, 27, context_of(run)), 80, 60)
    words = [line.plain[3:12].strip() for line in shown]
    assert words[-4:] == ["answered", "call", "came back", "result"]
    assert "answered" not in text(sheet_lines(sheet_of(run, 31, context_of(run)), 80, 60))


def test_results_that_are_still_out_are_counted() -> None:
    run = story()
    step = replace(run.main.steps[-2], pending=2)
    run = replace(run, lanes=(Lane("main", "main", (*run.main.steps[:-2], step)),))
    assert "1 of 3 results in" in text(sheet_lines(sheet_of(run, 30, context_of(run)), 80, 60))


def test_parts_that_are_not_in_the_file_stand_there_as_unknown() -> None:
    run = plain_run(3, unknown=("system prompt", "tool schemas"))
    shown = sheet_lines(sheet_of(run, 2, context_of(run)), 80, 40)
    system, tools = shown[0], shown[1]
    assert "tool schemas: not in this file" in tools.plain and "?" in tools.plain[12:19]
    assert "unknown: not in this file" in system.plain and "?" in system.plain[12:19]
    assert " 0 " not in system.plain[:20]


def test_a_format_that_keeps_no_prompt_says_so_and_never_shows_an_empty_one() -> None:
    t = Teller()
    t.close()
    steps = tuple(t.steps)
    prompt = t.tape.view(1, None, "partial")
    run: Run = replace(_run_of(t), lanes=(Lane("main", "main", (replace(steps[0], prompt=prompt),)),))
    pane = PromptPane()
    pane.show(run, ("main", 1), context_of(run, 120))
    shown = pane_lines(pane, 77)
    assert "Unknown: this format keeps no prompt for step 1." in shown[0].plain and "?" in shown[0].plain[12:19]


def _run_of(t: Teller) -> Run:
    return replace(plain_run(1), lanes=(Lane("main", "main", tuple(t.steps)),))


def test_a_step_that_is_no_longer_there_does_not_break_the_view() -> None:
    run = story()
    pane = PromptPane()
    pane.show(run, ("main", 99), context_of(run, 120))
    assert "history was rewritten" in text(pane_lines(pane, 77))


def test_an_open_piece_shows_all_its_text_and_stays_open_at_other_steps() -> None:
    run, teller = tell()
    opening = Opening()
    context = context_of(run, 80, teller)
    result = run.main.steps[28].results[0]
    opening.keys.add(result.key)
    for n in (30, 31):
        shown = sheet_lines(sheet_of(run, n, context, opening), 80, 14)
        whole = [line.plain[3:].rstrip() for line in shown if line.target == PieceTarget(result.id)]
        assert whole[1:] == [row.rstrip() for row in teller.texts[result.id].split("\n")]


def test_the_whole_text_is_asked_for_once_it_is_open_and_the_head_waits_for_it() -> None:
    run, _ = tell()
    asked: list[int] = []
    context = context_of(run)
    context.texts._ask = lambda lane, idents: asked.extend(idents)
    result = run.main.steps[28].results[0]
    opening = Opening(keys={result.key})
    shown = sheet_lines(sheet_of(run, 30, context, opening), 80, 14)
    assert asked == [result.id] and "reading the whole text …" in text(shown)
    context.texts.put("main", result.id, None, "the bytes in the file have changed")
    assert "the bytes in the file have changed" in text(sheet_lines(sheet_of(run, 30, context, opening), 80, 14))


def test_the_title_says_reported_tokens_bare_and_estimated_ones_with_a_sign() -> None:
    run = story()
    left, right = sheet_of(run, 31, context_of(run)).heading()
    assert "".join(span.text for span in left) == "step 31 open"
    assert "".join(span.text for span in right) == "38 segments   ≈11.4k tokens"


def test_opening_the_fold_and_escape_folding_it_again() -> None:
    run = plain_run(40)
    pane = PromptPane()
    pane.show(run, ("main", 40), context_of(run, 120, changes=False))
    folded = pane.line_count(77)
    assert pane.open_target(FoldTarget()) and pane.line_count(77) > folded
    assert pane.back() and pane.line_count(77) == folded and not pane.back()


@pytest.mark.parametrize("width", [54, 77, 80])
def test_a_piece_in_the_fold_can_be_revealed(width: int) -> None:
    run = plain_run(40)
    pane = PromptPane()
    pane.show(run, ("main", 40), context_of(run, 120))
    ident = run.main.steps[39].prompt.ids[30]
    assert pane.reveal_segment(ident) and not pane.reveal_segment(10_000)
    assert pane.selected is not None and pane.line(pane.selected, 0).target == PieceTarget(ident)
