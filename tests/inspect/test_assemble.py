"""The run as a whole: steps, the open one, numbers, status, window, and growing without starting again."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from agentmem.formats import Options, recognise
from agentmem.inspect.assemble import Assembler
from agentmem.inspect.assemble.window_table import entry_of, window_of
from agentmem.inspect.compare.survive import survival
from agentmem.inspect.open import open_run
from agentmem.inspect.texts import Texts
from agentmem.ledger import make_attempt
from agentmem.model import Boundary, Run, Survival
from agentmem.tape import PromptView

from .builders import NOW, Tale, told
from .test_pieces import EDITS, play

SAMPLE = Path(__file__).parents[2] / "sample_runs" / "pi" / "2026-03-20T09-46-40-000Z_tides.jsonl"


def test_steps_before_the_change_are_the_same_objects() -> None:
    tale = Tale("look")
    for _ in range(5):
        tale.step(("look", "{}", "fine"))
    before = tale.lane().steps
    tale.step(("look", '{"a":1}', "fine"))
    after = tale.lane().steps
    assert all(one is two for one, two in zip(before[:5], after, strict=False))
    assert tale.at.changed_from == 6


def test_a_run_that_did_not_change_is_made_of_the_same_lanes() -> None:
    tale = Tale("look")
    tale.step(("look", "{}", "fine"))
    assert tale.run().main is tale.run().main


def test_only_status_and_notice_are_looked_at_when_nothing_was_touched() -> None:
    tale = Tale("look")
    tale.step(said="done")
    before = tale.run()
    tale.draft.changed_at, tale.draft.notice = NOW - 1000, "file gone"
    after = tale.assembler.run(changed=False)
    assert after.lanes is before.lanes and (after.status, after.notice) == ("stale", "file gone")
    assert (before.status, before.notice) == ("live", None)


def test_the_text_of_a_result_is_let_go_once_its_key_is_known() -> None:
    tale = Tale("look")
    tale.step(("look", "{}", "fine " * 100))
    (attempt,) = tale.lane().steps[0].attempts
    call = tale.at.steps[0].calls[0]
    assert call.result is None and call.result_key == attempt.result_key is not None
    assert attempt.result_head == ("fine " * 100)[:120]
    tale.at.touch(tale.at.steps[0])
    assert tale.lane().steps[0].attempts[0].result_key == attempt.result_key


@pytest.mark.parametrize("said", ["fine", "Error: no such row", "still running, 3 of 9 done"])
def test_the_text_of_a_long_result_is_let_go_at_once_and_makes_the_same_attempt(said: str) -> None:
    tale = Tale("look")
    text = f"{said}\n" + "row " * 200
    tale.step(("bash", '{"command":"tail -f log"}', text))
    (call,) = tale.at.steps[0].calls
    assert (call.result, call.taken is None) == (None, False)
    (attempt,) = tale.lane().steps[0].attempts
    whole = make_attempt(
        "bash", call.arguments, text, n=1, outcome=call.outcome, error=call.error, call_id=call.call_id,
        tokens=tale.lane().steps[0].tokens.prompt,
    )  # fmt: skip
    assert (structs.asdict(attempt), call.taken is None) == (structs.asdict(whole), True)
    tale.result("call-1", "a later one")
    tale.at.touch(tale.at.steps[0])
    assert structs.asdict(tale.lane().steps[0].attempts[0]) == structs.asdict(whole)


def test_the_open_step_holds_what_stands_and_takes_the_next_number() -> None:
    tale = Tale("look")
    tale.step(("look", "{}", "fine"), own=4)
    step = tale.last()
    assert step.open and (step.n, step.own, step.number) == (2, 5, 5)
    assert [segment.kind for segment in step.prompt] == ["goal", "call", "result"]


def test_a_list_that_ends_in_an_answer_or_a_finished_run_has_no_open_step() -> None:
    tale = Tale("look")
    tale.step(said="done")
    assert not tale.last().open
    tale.say("user", "more")
    assert tale.last().open
    tale.draft.finished = True
    assert not tale.last().open and tale.run().status == "ended"


def test_the_open_step_does_not_change_under_the_one_who_holds_it() -> None:
    tale = Tale("look")
    tale.step(("look", "{}", None))
    held = tale.last().prompt
    before = list(held.ids)
    tale.result("call-1", "fine")
    tale.step()
    tale.say("user", "more")
    assert list(held.ids) == before


def test_status_is_told_by_the_time_of_the_last_change() -> None:
    tale = Tale("look")
    tale.step(said="done")
    assert tale.run().status == "live"
    tale.draft.changed_at = NOW - 1000
    assert tale.run().status == "stale"
    tale.draft.changed_at = None
    assert tale.run().status == "unknown"


def test_a_pending_call_keeps_a_run_live_and_is_named() -> None:
    tale = Tale("look")
    tale.draft.changed_at = NOW - 500
    tale.step(("pytest", "{}", None), at=NOW - 500)
    run = tale.run()
    assert run.status == "live" and run.pending == ("pytest", NOW - 500)
    tale.draft.changed_at = NOW - 700
    run = tale.run()
    assert run.status == "stale" and run.pending == ("pytest", NOW - 500)
    tale.result("call-1", "fine")
    tale.draft.changed_at = NOW - 3
    assert tale.run().pending == ("model", NOW - 3)


def test_an_agent_that_nobody_waits_for_is_stale_after_two_minutes_and_no_model_is_named() -> None:
    tale = Tale("look")
    tale.step(("pytest", "{}", "fine"))
    tale.draft.changed_at = NOW - 110
    run = tale.run()
    assert run.status == "live" and run.pending == ("model", NOW - 110)
    tale.draft.changed_at = NOW - 130
    assert (tale.run().status, tale.run().pending) == ("stale", None)


@pytest.mark.parametrize("notice", ["file gone", "no such file", "a folder", "run removed"])
def test_a_file_that_is_gone_or_a_folder_now_is_not_live(notice: str) -> None:
    tale = Tale("look")
    tale.step(("pytest", "{}", None))
    assert tale.run().status == "live"
    tale.draft.notice = notice
    run = tale.run()
    assert (run.status, run.pending, run.notice) == ("stale", None, notice)
    tale.draft.finished = True
    assert tale.run().status == "ended"


def test_the_window_comes_from_the_file_then_the_model_then_the_person() -> None:
    tale = Tale("look", window=1234)
    assert (tale.run().window, tale.run().window_source) == (1234, "declared")
    tale.draft.window, tale.draft.model = None, "claude-sonnet-4-5-20250929"
    assert (tale.run().window, tale.run().window_source) == (200_000, "model")
    tale.draft.model = "my-own-model"
    assert (tale.run().window, tale.run().window_source) == (None, "unknown")
    given = Assembler(tale.draft, Texts(tale.book, tale.book), window=77).run()
    assert (given.window, given.window_source) == (77, "given")


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4o-mini-2024-07-18", 128_000), ("gpt-4", 8_192), ("gpt-4.1-nano", 1_047_576), ("openai/o3-mini", 200_000),
        ("us.anthropic.claude-opus-4-1-20250805-v1:0", 200_000), ("claude-sonnet-4-5[1m]", 1_000_000),
        ("gemini-2.5-pro", 1_048_576), ("gpt-45", None), ("gpt-5.9", None),
        ("claude-opus-5-5", 1_000_000), ("gpt-5.4-2026-03-05", 1_050_000), ("gpt-5-codex", 400_000),
        ("", None), (None, None), ("gpt-4-0125-preview", 128_000),
        ("llama", None),
    ],
)  # fmt: skip
def test_the_longest_known_prefix_of_a_model_tells_its_window(model: str | None, window: int | None) -> None:
    assert window_of(model) == window
    entry = entry_of(model)
    assert entry is None or entry[1]


def test_a_cycle_of_a_lane_costs_the_prompts_of_its_steps() -> None:
    tale = Tale("look")
    for _ in range(4):
        tale.step(("look", "{}", "the same"), usage=100)
    (cycle,) = tale.run().cycles
    assert (cycle.kind, cycle.steps, cycle.tokens) == ("repeat", (1, 2, 3, 4), 400)


def test_usage_that_comes_late_is_counted_in_the_cycle() -> None:
    tale = Tale("look")
    for _ in range(4):
        tale.step(("look", "{}", "the same"), usage=100)
    tale.run()
    from agentmem.model import Usage

    tale.at.steps[1].usage = Usage(150)
    tale.at.touch(tale.at.steps[1])
    assert tale.run().cycles[0].tokens == 450
    assert tale.lane().steps[1].attempts[0].tokens == 150


@given(EDITS, st.integers(1, 4))
def test_growing_gives_the_same_run_as_starting_again(edits: list[tuple[object, ...]], every: int) -> None:
    growing, once = Tale("walk through all of it"), Tale("walk through all of it")
    for place, edit in enumerate(edits):
        for tale in (growing, once):
            play(tale, edit)
        if place % every == 0:
            growing.run()
    assert told(growing.run()) == told(once.run())


@given(st.lists(st.sampled_from(["call", "two", "answer", "late", "look"]), max_size=25))
def test_results_that_come_in_any_order_give_the_same_run(moves: list[str]) -> None:
    growing, once = Tale("walk through all of it"), Tale("walk through all of it")
    waiting: list[str] = []
    made = 0
    for move in moves:
        if move in ("call", "two"):
            calls = [("look", '{"a":1}', None)] * (2 if move == "two" else 1)
            for tale in (growing, once):
                tale.step(*calls)
            for _ in calls:
                made += 1
                waiting.append(f"call-{made}")
        elif move in ("answer", "late") and waiting:
            ident = waiting.pop(0 if move == "late" else -1)
            for tale in (growing, once):
                tale.result(ident, "Error: the same thing failed again and again")
        elif move == "look":
            growing.run()
    assert told(growing.run()) == told(once.run())


def assembled(path: Path) -> Run:
    known = recognise(path)
    assert known is not None
    reader = known.open(path, Options())
    reader.refresh()
    return Assembler(reader.draft, Texts(reader)).run()


RULE = "Never modify the table ledger_archive"


def first_without(run: Run, text: str) -> int | None:
    seen = False
    for step in run.main.steps:
        stands = any(segment.head is not None and text in segment.head for segment in step.prompt)
        if seen and not stands:
            return step.number
        seen = seen or stands
    return None


def test_the_chat_log_loses_its_rule_at_13_in_one_row_a_step(real: Path) -> None:
    run = assembled(real / "plain-openai-chat" / "requests.jsonl")
    assert first_without(run, RULE) == 13
    rows = {step.n: step.drops for step in run.main.steps}
    assert [len(rows[n]) for n in range(1, 13)] == [0] * 12
    assert rows[13][0].head is not None and RULE in rows[13][0].head
    assert all(len(rows[n]) == 1 and not rows[n][0].recorded for n in range(13, 31))
    assert run.cycles[0].steps == (22, 23, 24, 25)


def test_the_responses_log_loses_its_rule_at_the_opaque_compaction(real: Path) -> None:
    run = assembled(real / "plain-openai-responses" / "requests.jsonl")
    assert first_without(run, RULE) == 16
    step = run.main.steps[15]
    assert step.boundary is not None and (step.boundary.kind, step.boundary.opaque) == ("compaction", True)
    assert all(drop.recorded and drop.cause == "compacted" for drop in step.drops)
    assert step.goal == "present"


def test_the_chain_that_the_server_cut_has_an_unexplained_fall(real: Path) -> None:
    run = assembled(real / "plain-openai-responses" / "chain.requests.jsonl")
    assert len(run.main.steps) == 30
    kinds = {step.n: step.boundary.kind for step in run.main.steps if step.boundary is not None}
    assert kinds == {16: "unexplained"}


def test_what_came_through_is_found_when_it_is_looked_at_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []

    def finding(*given: Any, **more: Any) -> Survival:
        found.append(given[1])
        return survival(*given, **more)

    monkeypatch.setattr("agentmem.inspect.assemble.lane.survival", finding)
    tale = Tale("look at src/a.py")
    lost = tale.say("user", "look at src/b.py too")
    tale.step(("look", "{}", "fine"))
    tale.take(lost)
    tale.boundary(Boundary("compaction", True, 100, 10))
    tale.step(("look", "{}", "fine"))
    run = tale.run()
    assert (len(run.survivals), found) == (1, [])
    (first,) = run.survivals
    assert first is run.survivals[0] is tale.run().survivals[-1:][0] and found == [2]


def test_a_run_that_is_let_go_of_is_freed_without_a_search_for_garbage() -> None:
    opened = open_run(str(SAMPLE))
    assert list(opened.run.survivals)
    prompt = opened.run.main.steps[0].prompt
    assert isinstance(prompt, PromptView)
    held: list[weakref.ref[Any]] = [weakref.ref(prompt.tape), weakref.ref(opened)]
    gc.disable()
    try:
        del prompt, opened
        assert [one() for one in held] == [None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize("on", [True, False])
def test_opening_a_run_leaves_the_collector_as_it_was(on: bool) -> None:
    if not on:
        gc.disable()
    try:
        open_run(str(SAMPLE)).refresh()
        assert gc.isenabled() is on
    finally:
        gc.enable()
