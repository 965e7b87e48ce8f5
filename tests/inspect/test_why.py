"""Why: from an error to the drop that it needed, to the last step where it stood, to where it was born."""

from __future__ import annotations

from msgspec.structs import replace

from agentmem.inspect.telling.verdict import verdict
from agentmem.inspect.telling.why import explains, why
from agentmem.model import Lane, Run
from tests.tui import builders as tales
from tests.tui.panes.builders import attempt, plain_run, story

from .builders import Tale


def test_from_an_error_three_links_lead_to_the_birth_of_what_it_needed() -> None:
    run = story()
    links = why(run, ("main", 30))
    assert [link.cursor for link in links] == [("main", 29), ("main", 28), ("main", 4)]
    assert links[0].sentence == (
        "fact order_id = A-1041 left at 29 and nobody recorded it → replay_order failed at 30: missing field: order_id"
    )
    assert links[1].sentence.startswith("fact order_id = A-1041 last stood at 28, piece ")
    assert links[2].sentence == "fact order_id = A-1041 came in at 4, verified by get_order @3"
    assert all(link.segment in run.main.steps[link.n - 1].prompt.ids for link in links[1:])


def test_behind_the_error_and_at_the_drop_the_chain_is_the_same() -> None:
    run = story()
    assert [link.sentence for link in why(run, ("main", 31))] == [link.sentence for link in why(run, ("main", 29))]


def test_an_error_that_no_drop_explains_says_so() -> None:
    (link,) = why(story(), ("main", 24))
    assert link.n == 24 and link.sentence.endswith("no drop before it is tied to this error")


def test_where_the_prompt_is_not_in_the_file_it_cannot_tell() -> None:
    run = plain_run(2)
    step = run.main.steps[1]
    failed = attempt(2, "read", "x", "error", error="no such file")
    prompt = step.prompt.tape.view(2, None, "partial")  # type: ignore[attr-defined]  # a view of a tape, by the builder
    run = with_steps(run, (run.main.steps[0], replace(step, attempts=(failed,), prompt=prompt)))
    assert "cannot tell why" in why(run, ("main", 2))[0].sentence


def test_a_calm_run_has_nothing_to_explain() -> None:
    (link,) = why(plain_run(3), ("main", 3))
    assert link.sentence == "nothing to explain: no call failed and nothing was lost unrecorded up to step 3"


def test_a_lane_without_steps_and_a_cursor_beyond_the_end_are_answered() -> None:
    run = plain_run(2)
    assert why(run, ("main", 99))[0].n == 2
    assert "no steps" in why(with_steps(run, ()), ("main", 1))[0].sentence


def test_numbers_are_the_ones_that_the_file_gives() -> None:
    run = story()
    steps = tuple(replace(step, own=step.n + 100, drops=tuple(
        replace(d, step=d.n + 100, last_step=d.last_step + 100) for d in step.drops
    )) for step in run.main.steps)  # fmt: skip
    links = why(with_steps(run, steps), ("main", 30))
    assert "left at 129" in links[0].sentence and "last stood at 128" in links[1].sentence
    assert "came in at 104" in links[2].sentence and links[2].n == 4


def with_steps(run: Run, steps: tuple) -> Run:  # type: ignore[type-arg]  # steps of the model
    return replace(run, lanes=(Lane("main", "main", steps),))


def test_a_later_failure_that_names_the_lost_field_finds_the_drop_that_an_earlier_one_is_tied_to() -> None:
    tale = Tale("read the meter")
    tale.hold(facts={"abone": "A017x"})
    tale.step(("read_meter", '{"abone":"A017x"}', "onceki 120"))
    tale.hold()
    tale.step(("read_meter", "{}", "Error: missing abone"))
    tale.step(("other_tool", "{}", "Error: disk full"))
    tale.step(("read_meter", "{}", "Error: missing abone, again"))
    links = why(tale.run(), ("main", 4))
    assert links[0].n == 2 and links[0].sentence.endswith("read_meter failed at 4: Error: missing abone, again")
    assert [link.n for link in why(tale.run(), ("main", 2))] == [link.n for link in links]
    (link,) = why(tale.run(), ("main", 3))
    assert link.sentence.endswith("no drop before it is tied to this error")


def test_a_failure_goes_to_the_drop_that_it_is_tied_to_before_one_that_it_needed_as_well() -> None:
    tale = Tale("read the meter")
    tale.hold(facts={"abone": "A017x", "sayac": "S-99"})
    tale.step(("read_meter", "{}", "onceki 120"))
    tale.hold(facts={"abone": "A017x"})
    tale.step()
    tale.hold()
    tale.step(("read_meter", "{}", "Error: missing abone"))
    tale.step(("read_meter", "{}", "Error: missing abone and sayac"))
    assert why(tale.run(), ("main", 4))[0].sentence.startswith("fact sayac = S-99 left at 2")


def test_where_the_step_did_not_fail_the_chain_is_that_of_the_verdict_wherever_it_is() -> None:
    run = story()
    assert why(run, ("main", 8))[0].sentence == why(run, ("main", 30))[0].sentence
    calmly = replace(run, lanes=(plain_run(3).main, replace(run.main, id="sub", kind="subagent")), cycles=())
    steps = tuple(
        replace(step, lane="sub", drops=tuple(replace(drop, lane="sub") for drop in step.drops))
        for step in run.main.steps
    )
    calmly = replace(calmly, lanes=(calmly.main, Lane("sub", "subagent", steps)))
    assert why(calmly, ("main", 3))[0].cursor == ("sub", 29)


def test_a_circle_is_explained_by_where_it_was_certain_and_where_it_began() -> None:
    certain, began = why(tales.story(28), ("main", 28))
    assert certain.n == 24 and certain.sentence.endswith("certain at 24, over at 26")
    assert began.n == 20 and began.sentence.startswith("the circle began at 20 with pytest ")


def test_the_verdict_is_explained_at_every_step_but_those_with_a_failure_of_their_own() -> None:
    run = story()
    told = {n: explains(run, ("main", n), verdict(run)) for n in range(1, 32)}
    assert [n for n, one in told.items() if not one] == [5, 9, 18, 20, 22, 24]
    quiet = plain_run(3)
    assert not explains(quiet, ("main", 3), verdict(quiet))
