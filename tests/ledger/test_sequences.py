"""The rule's table of sequences, each to its line, and the loops that people reported."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.ledger import Detector, make_attempt
from agentmem.model import Attempt

from .build import at, call, edit, feed, read, test_run

TOOLS = ("read_file", "bash", "edit_file", "run_tests", "A", "do_it")


def named(tool: str, name: str) -> Attempt:
    return call(tool, f"result {name}", "ok", command=f"cat {name}", path=name)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_same_call_with_the_same_result_is_a_repeat_at_the_third(tool: str) -> None:
    detector, first = feed([named(tool, "a")] * 5)
    assert first == 3
    (cycle,) = detector.cycles
    assert (cycle.kind, cycle.period, cycle.steps, cycle.count) == ("repeat", 1, (1, 2, 3, 4, 5), 5)
    assert (cycle.warned_at, cycle.ended_at, cycle.tokens) == (3, None, 500)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("period", [2, 3, 4, 5, 6])
def test_a_pattern_is_named_at_twice_its_period_and_one(tool: str, period: int) -> None:
    names = [chr(97 + i) for i in range(period)]
    detector, first = feed([named(tool, name) for name in names * 4])
    assert first == 2 * period + 1
    (cycle,) = detector.cycles
    assert (cycle.kind, cycle.period, cycle.count) == ("cycle", period, 4)
    assert cycle.steps == tuple(range(1, 4 * period + 1))
    assert len(cycle.tools) == len(cycle.signatures) == period
    assert cycle.tokens == 400 * period


def test_a_fix_and_the_fix_that_takes_it_back_are_found_at_the_second_reversal() -> None:
    fixes = [edit("a - b", "a + b"), edit("a + b", "a - b")]
    tests = [test_run("FAILED with X: expected four not three"), test_run("FAILED with Y: expected five not two")]
    sequence = [fixes[0], tests[0], fixes[1], tests[1]] * 4
    detector, first = feed(sequence[:8])
    assert first == 5
    assert [(c.kind, c.steps, c.count) for c in detector.cycles] == [("undo", (1, 3, 5, 7), 3)]
    detector, first = feed(sequence)
    (cycle,) = detector.cycles
    assert (cycle.kind, cycle.period, cycle.warned_at) == ("cycle", 4, 5)
    assert cycle.steps == tuple(range(1, 17))


def test_a_fix_without_readable_edits_is_found_by_its_pattern_at_eleven_at_the_latest() -> None:
    names = [("fix", "1"), ("test", "X"), ("fix", "2"), ("test", "Y")] * 3
    run = [
        call("apply", "done", "ok", what=b) if a == "fix" else test_run(f"FAILED {b} in a long line") for a, b in names
    ]
    detector, first = feed(run)
    assert first is not None and first <= 11
    assert [c.kind for c in detector.cycles] == ["cycle"]


@pytest.mark.parametrize("name", ["thought", "reasoning", "description", "summary", "explanation"])
def test_the_wording_of_a_thought_makes_no_other_call(name: str) -> None:
    run = [call("bash", "1 failed", command="pytest", **{name: f"try {i} now"}) for i in range(3)]
    assert feed(run)[1] == 3
    assert feed([call("run_tests", "1 failed", **{name: f"try {i}"}) for i in range(3)])[1] == 3


def test_a_result_that_differs_only_by_the_clock_is_the_same() -> None:
    detector, first = feed([call("check_status", f"at 12:00:0{i} state idle", id=1) for i in range(6)])
    assert first == 3 and detector.cycles[0].count == 6


def test_the_key_order_of_the_arguments_makes_no_other_call() -> None:
    texts = ['{"a":1,"b":2}', '{"b": 2, "a": 1}', '{"b":2,"a":1}']
    run = [make_attempt("save", text, "boom", n=1, outcome="error") for text in texts]
    detector, first = feed(run)
    assert first == 3 and detector.cycles[0].kind == "repeat"


def test_the_same_error_whatever_the_arguments_is_found_at_the_third() -> None:
    run = [call("query", f"connection to '{h}' refused by the server", "error", host=h) for h in ("alpha", "beta", "c")]
    detector, first = feed(run)
    assert first == 3
    assert [(c.kind, c.count, c.steps) for c in detector.cycles] == [("same-error", 3, (1, 2, 3))]


def test_a_failing_test_between_reads_of_different_files_is_found_at_its_third_failure() -> None:
    detector, first = feed([test_run(), read("a"), read("b"), test_run(), read("c"), test_run()])
    assert first == 6 and detector.cycles[0].steps == (1, 4, 6)


def test_a_warned_repeat_that_comes_back_is_a_relapse_and_counts_on() -> None:
    a = named("run_tests", "x")
    detector, _ = feed([a, a, a, read("1"), read("2"), read("3"), read("4"), a, a])
    repeat, relapse = detector.cycles
    assert (repeat.kind, repeat.count, repeat.ended_at) == ("repeat", 3, 4)
    assert (relapse.kind, relapse.count, relapse.warned_at, relapse.ended_at) == ("relapse", 5, 8, None)
    assert relapse.steps == (1, 2, 3, 8, 9)


def test_a_new_change_clears_the_warning_and_a_known_one_does_not() -> None:
    t = test_run()
    new = [t, t, t, edit("a", "b"), t]
    assert [c.kind for c in feed(new)[0].cycles] == ["repeat"]
    known = [edit("a", "b"), t, t, t, edit("a", "b"), t]
    assert [c.kind for c in feed(known)[0].cycles] == ["repeat", "relapse"]


def test_polling_whose_result_changes_is_progress() -> None:
    assert feed([call("check_build", f"{i}0 %", id=4) for i in range(1, 10)])[1] is None
    assert feed([call("bash", f"{i}0 %", command="cat progress.txt") for i in range(1, 10)])[1] is None


def test_waiting_for_still_running_is_waiting_with_its_cost() -> None:
    detector, first = feed([call("job", "still running", id=7)] * 10)
    assert first is None
    (waiting,) = detector.waiting
    assert (waiting.count, waiting.tool, waiting.tokens, waiting.steps) == (10, "job", 1000, tuple(range(1, 11)))


def test_new_edits_before_the_same_failure_are_no_loop() -> None:
    run = [x for i in range(8) for x in (edit(f"v{i}", f"v{i + 1}"), test_run())]
    assert feed(run)[1] is None


def test_reading_different_files_is_no_loop() -> None:
    assert feed([read(f"f{i}.py") for i in range(20)])[1] is None
    assert (
        feed([call("read_file", "error: not found, no such file here", "error", path=f"f{i}") for i in range(20)])[1]
        is None
    )


def test_git_status_between_new_edits_is_no_loop() -> None:
    status = call("bash", "nothing to commit", "ok", command="git status")
    run = [x for i in range(8) for x in (call("bash", "", "ok", command=f"sed -i s/{i}/x/ f.py"), status)]
    assert feed(run)[1] is None


def test_grep_move_edit_over_eight_files_is_no_loop() -> None:
    run = []
    for i in range(8):
        run += [
            call("bash", "1 match", "ok", command=f"grep -n old f{i}.py"),
            call("bash", "", "ok", command=f"mv f{i}.py src/f{i}.py"),
            edit("old", "new", f"src/f{i}.py"),
        ]
    assert feed(run)[1] is None


def test_an_alternation_with_unique_call_ids_is_one_cycle_naming_both() -> None:
    run = [call(tool, f"{tool} says no", "ok", q="x") for tool in ("lookup", "search") * 3]
    detector, first = feed(run)
    assert first == 5
    (cycle,) = detector.cycles
    assert (cycle.period, cycle.count, cycle.tools) == (2, 3, ("lookup", "search"))


def test_polls_of_a_long_process_are_waiting_and_its_end_is_not() -> None:
    polls = [call("execute_bash", "[still running]", "ok", command="") for _ in range(8)]
    detector, first = feed([*polls, call("execute_bash", "done, exit 0", "ok", command="")])
    assert first is None and detector.waiting[0].count == 9
    logs = [call("process", "no new output", "ok", action="log", id="X") for _ in range(40)]
    assert feed(logs)[0].waiting[0].tokens == 4000


def test_a_guards_veto_breaks_no_pattern_and_resets_nothing() -> None:
    a, b = named("lookup", "a"), named("search", "b")
    veto = call("search", "blocked by guard", "denied", command="cat b", path="b")
    detector, first = feed([a, b] * 8 + [veto] + [a] * 8)
    assert first == 5
    (cycle,) = detector.cycles
    assert cycle.kind == "cycle" and cycle.ended_at is None and cycle.steps[-1] == 25 and 17 not in cycle.steps
    assert feed([a, veto, a, veto, a])[1] == 5


def test_equal_calls_inside_one_step_are_no_repeat() -> None:
    detector = Detector()
    for n in (1, 2, 3):
        for index in range(1, 6):
            detector.feed(at(named("read_file", "a"), n, index))
        assert bool(detector.cycles) is (n == 3)
    assert detector.cycles[0].steps == (1, 2, 3) and detector.cycles[0].tokens == 300


def test_one_error_of_parallel_calls_is_told_once() -> None:
    detector = Detector()
    for index in range(1, 6):
        detector.feed(at(call("query", "permission denied for this database", "error", t=index), 1, index))
    assert not detector.cycles


def test_a_cycle_absorbs_the_repeats_of_its_members() -> None:
    a, b, c = named("run_tests", "a"), read("b"), read("c")
    detector, _ = feed([a, read("1"), a, read("2"), a, b, c, a, b, c, a, b, c, a])
    (cycle,) = detector.cycles
    assert (cycle.kind, cycle.period, cycle.warned_at) == ("cycle", 3, 5)
    assert set(cycle.steps) >= {1, 3, 5, 14}


def test_a_broken_cycle_that_comes_back_is_one_relapse() -> None:
    a, b = named("read_file", "a"), named("read_file", "b")
    detector, _ = feed([a, b, a, b, a, b, read("c"), read("d"), a, b, a, b])
    cycle, relapse = detector.cycles
    assert (cycle.kind, cycle.ended_at, cycle.count) == ("cycle", 7, 3)
    assert (relapse.kind, relapse.period, relapse.count, relapse.warned_at) == ("relapse", 2, 5, 9)


def test_trying_one_approach_after_another_and_taking_each_back_is_no_undo_loop() -> None:
    run = []
    for i in range(5):
        run += [edit("base", f"try {i}"), test_run(), edit(f"try {i}", "base")]
    assert feed(run)[1] is None


def test_a_file_that_returns_to_an_earlier_content_twice_is_an_undo() -> None:
    def write(text: str) -> Attempt:
        return call("write_file", "written", "ok", file_path="a.py", content=text)

    detector, first = feed([write("1"), read("x"), write("2"), read("y"), write("1"), read("z"), write("2")])
    assert first == 7 and [c.kind for c in detector.cycles] == ["undo"]


def test_sed_there_and_back_is_an_undo() -> None:
    there, back = (call("bash", "", "ok", command=f"sed -i 's/{a}/{b}/' f.py") for a, b in (("x", "y"), ("y", "x")))
    assert feed([there, read("1"), back, read("2"), there])[1] == 5


def test_failed_edits_are_no_undo() -> None:
    run = [edit("a", "b"), edit("b", "a", outcome="error"), edit("a", "b", outcome="error", result="no")]
    assert feed(run)[1] is None


def test_an_attempt_without_result_is_held_back_until_it_is_known() -> None:
    detector = Detector()
    a, b = named("read_file", "a"), named("read_file", "b")
    pending = make_attempt("read_file", a.arguments, None, n=1)
    detector.feed(at(a, 1))
    detector.feed(at(a, 2))
    detector.feed(at(pending, 3))
    detector.feed(at(b, 3, 2))
    assert detector.held == 2 and not detector.cycles
    detector.feed(at(a, 3))
    assert detector.held == 0 and detector.cycles[0].steps == (1, 2, 3)
    for n in range(4, 30):
        detector.feed(at(pending, n))
    assert detector.held == 26 and detector.cycles[0].count == 3


def test_tokens_of_a_step_that_is_not_known_leave_the_sum_unknown() -> None:
    detector = Detector()
    for n in (1, 2, 3):
        detector.feed(at(named("read_file", "a"), n, step=n * 10, tokens=None if n == 2 else 5))
    assert detector.cycles[0].tokens is None and detector.cycles[0].steps == (10, 20, 30)


def test_a_new_change_ends_what_turned() -> None:
    t = test_run()
    detector, _ = feed([t, t, t, edit("a", "b")])
    assert detector.cycles[0].ended_at == 4


changes = st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=30, unique=True)


@given(changes, st.lists(st.integers(0, 3), max_size=90))
@settings(max_examples=60, deadline=None)
def test_always_new_successful_changes_before_a_failing_test_stay_silent(texts: list[str], noise: list[int]) -> None:
    run: list[Attempt] = []
    for i, text in enumerate(texts):
        run.append(call("write_file", "ok", "ok", path=f"f{i}.py", content=text))
        run.extend(read(f"n{i}.{j}") for j in range(noise[i] if i < len(noise) else 0))
        run.append(test_run())
    assert feed(run)[1] is None


@given(st.lists(st.integers(0, 3), max_size=60))
@settings(max_examples=60, deadline=None)
def test_steps_grow_and_feeding_again_gives_the_same(places: list[int]) -> None:
    tools = [named("read_file", "a"), named("edit_file", "b"), test_run(), call("job", "still running")]
    run = [tools[place] for place in places]
    one, two = feed(run)[0], feed(run)[0]
    assert [(c.kind, c.steps, c.count) for c in one.cycles] == [(c.kind, c.steps, c.count) for c in two.cycles]
    for cycle in one.cycles:
        assert list(cycle.steps) == sorted(set(cycle.steps)) and cycle.warned_at in cycle.steps
        assert cycle.tokens == 100 * len(cycle.steps)
    assert sum(w.count for w in one.waiting) <= places.count(3)


@given(st.text(), st.text(), st.text(), st.sampled_from(["ok", "error", "denied", "unknown", None]))
@settings(max_examples=150, deadline=None)
def test_no_text_breaks_the_detector(tool: str, arguments: str, result: str, outcome: str | None) -> None:
    detector = Detector()
    for n in range(1, 4):
        detector.feed(make_attempt(tool, arguments, result, n=n, outcome=outcome))  # type: ignore[arg-type]  # sampled
    assert len(detector.cycles) <= 1
    json.dumps([c.detail for c in detector.cycles])
