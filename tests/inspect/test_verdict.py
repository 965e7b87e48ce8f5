"""The one sentence: the worst thing with its consequence, calm if there is none, "cannot tell" if it cannot be told."""

from __future__ import annotations

from msgspec.structs import replace

from agentmem.inspect.telling.status_line import status_line
from agentmem.inspect.telling.verdict import NOTHING_LEFT, verdict
from agentmem.model import Gap, Lane, Run
from tests.tui.builders import calm, many, story


def with_drop(run: Run, **changes: object) -> Run:
    """The story with its silent drop changed."""
    steps = list(run.main.steps)
    drop = replace(steps[28].drops[0], **changes)
    steps[28] = replace(steps[28], drops=(drop,))
    return replace(run, lanes=(replace(run.main, steps=tuple(steps)),))


def test_a_silent_loss_that_a_call_missed_comes_first_with_its_consequence() -> None:
    found = verdict(story())
    assert found.sentence == "▲ order_id left at 29, nobody recorded it → replay_order failed at 30"
    assert (found.level, found.lane, found.n) == ("alarm", "main", 29)


def test_a_loss_that_came_back_says_so() -> None:
    found = verdict(with_drop(story(), returned_at=31))
    assert found.sentence.endswith("replay_order failed at 30; back at 31")


def test_a_silent_loss_that_nothing_missed_says_that() -> None:
    assert verdict(story(29)).text == "order_id left at 29, nobody recorded it; not missed yet"


def test_a_missing_goal_is_named_with_its_step() -> None:
    run = calm(5)
    steps = tuple(replace(step, goal="missing") if step.n >= 4 else step for step in run.main.steps)
    found = verdict(replace(run, lanes=(replace(run.main, steps=steps),)))
    assert found.sentence == "✗ the goal is not in the prompt since 4" and found.level == "alarm"


def test_a_turning_cycle_is_named_with_its_cost_and_an_old_one_as_over() -> None:
    assert verdict(story(25)).sentence == "↻ pytest, read in a circle since 20, 3 times, 94.4k tokens"
    assert verdict(story(28)).text.endswith("over at 26")


def test_a_calm_run_counts_its_calls() -> None:
    found = verdict(calm(5))
    assert found.sentence == "5 steps, 5 distinct calls, no loop; nothing left unrecorded" and found.level == "calm"


def test_what_cannot_be_told_is_never_called_calm() -> None:
    assert verdict(replace(many(5), provenance="partial")).text.startswith("cannot tell: what the model saw")
    assert "cannot tell loops" in verdict(replace(many(5), results_known=False)).text
    assert verdict(replace(many(5), lanes=())).level == "unknown"


def test_a_finding_in_another_lane_names_the_lane() -> None:
    run, other = calm(5), story()
    steps = tuple(
        replace(step, lane="sub", drops=tuple(replace(drop, lane="sub") for drop in step.drops))
        for step in other.main.steps
    )
    both = replace(run, lanes=(run.main, Lane("sub", "subagent", steps, ("main", 2), "scout")))
    assert verdict(both).sentence.endswith("replay_order failed at 30 (lane scout)")


def test_the_status_line_fits_its_width_and_keeps_the_alarm_longest() -> None:
    assert status_line(story()) == "≈21k/32k 64% · goal ✓ · ▲ order_id lost @29 · ↻1"
    for width in range(24, 80):
        line = status_line(story(), width)
        assert len(line) <= width and "▲ order_id lost @29" in line


def test_the_status_line_of_a_run_without_steps_says_so() -> None:
    assert status_line(replace(story(), lanes=())) == "no steps yet"


def message(**changes: object) -> Run:
    """A calm run in which a message left at step 3."""
    run = calm(5)
    drop = replace(story().main.steps[28].drops[0], n=3, step=3, last_step=2, what="segment", kind="result",
                   name="result of read", cause="silent", recorded=False, missed_by=())  # fmt: skip
    steps = list(run.main.steps)
    steps[2] = replace(steps[2], drops=(replace(drop, **changes),))
    return replace(run, lanes=(replace(run.main, steps=tuple(steps)),))


def test_messages_that_nobody_recorded_are_counted_in_the_calm_sentence_and_are_no_alarm() -> None:
    found = verdict(message(count=4))
    assert found.level == "calm" and found.text.endswith("no loop; 4 pieces left, nobody recorded it")
    assert verdict(message()).text.endswith("no loop; 1 piece left, nobody recorded it")
    assert verdict(message(count=2, cause="trimmed")).text.endswith("; 2 pieces were trimmed, nobody recorded it")
    assert verdict(message(recorded=True)).text.endswith("no loop; nothing left unrecorded")


def test_a_system_prompt_that_left_is_an_alarm_and_one_that_was_replaced_is_none() -> None:
    assert verdict(message(kind="system", name="system prompt")).level == "alarm"
    assert verdict(message(kind="system", name="system prompt", cause="replaced")).level == "calm"


def test_one_step_and_one_call_are_told_in_the_singular() -> None:
    run = calm(5)
    one = replace(run, lanes=(replace(run.main, steps=run.main.steps[:1]),))
    assert verdict(one).text.startswith("1 step, 1 distinct call, no loop")


def test_one_version_of_a_list_cannot_tell_what_was_left_out_before() -> None:
    found = verdict(replace(calm(5), past_unknown=True))
    assert found.sentence == (
        "? cannot tell what was left out before this file was written; 5 steps, 5 distinct calls, no loop"
    )
    assert found.level == "unknown"
    assert verdict(replace(story(), past_unknown=True)).level == "alarm"


def test_the_status_line_counts_what_is_gone_as_the_verdict_does() -> None:
    run = with_drop(story(), missed_by=(), needed_by=())
    steps = list(run.main.steps)
    lost = steps[28].drops[0]
    back = replace(lost, n=5, step=5, last_step=4, name="facts.back", returned_at=7)
    other = replace(lost, n=6, step=6, last_step=5, name="facts.other")
    steps[4], steps[5] = replace(steps[4], drops=(back,)), replace(steps[5], drops=(other,))
    run = replace(run, lanes=(replace(run.main, steps=tuple(steps)),))
    assert "order_id left at 29, nobody recorded it (+1)" in verdict(run).sentence
    assert "▲ order_id lost @29 +1" in status_line(run, 200)
    missed = replace(other, missed_by=story().main.steps[28].drops[0].missed_by)
    steps[5] = replace(steps[5], drops=(missed,))
    run = replace(run, lanes=(replace(run.main, steps=tuple(steps)),))
    assert verdict(run).sentence.startswith("▲ other left at 6") and "▲ other lost @6 +1" in status_line(run, 200)


def test_a_cycle_that_nothing_broke_goes_to_the_end_of_a_run_that_is_over() -> None:
    assert verdict(replace(story(25), status="ended")).text == (
        "pytest, read in a circle 20-25, 3 times, 94.4k tokens; until the end"
    )
    assert verdict(replace(story(25), status="stale")).text.endswith("; until the last step")


def test_the_circle_of_a_subagent_turns_only_while_its_call_waits() -> None:
    run = story(25)
    steps = tuple(replace(step, lane="sub") for step in run.main.steps)
    cycles = tuple(replace(cycle, lane="sub") for cycle in run.cycles)
    for pending, words in ((1, "in a circle since 20"), (0, "until the last step")):
        main = tuple(replace(step, pending=pending) for step in calm(5).main.steps)
        lanes = (replace(run.main, steps=main), Lane("sub", "subagent", steps, ("main", 3)))
        assert words in verdict(replace(run, lanes=lanes, cycles=cycles)).text


def test_behind_a_gap_nothing_is_said_to_have_been_recorded() -> None:
    base = calm()
    run = replace(base, gaps=(Gap("main", 0, 36, 35),))
    told = verdict(run)
    assert told.level == "unknown" and "steps 1 to 35 were not seen" in told.sentence
    assert NOTHING_LEFT in verdict(base).sentence and NOTHING_LEFT not in told.sentence
