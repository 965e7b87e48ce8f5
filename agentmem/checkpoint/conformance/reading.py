"""Reads by step, by run and by time, and the list of runs."""

from __future__ import annotations

from agentmem.checkpoint.conformance.share import RUN, START, Check, Open, clock, expect, message, refused, saved, whole
from agentmem.checkpoint.recorder import record
from agentmem.checkpoint.store import MissingError, RunRow


def every_version_is_there_oldest_first(open_: Open) -> None:
    saved(open_(), 4)
    found = list(open_().history(RUN))
    expect([version.step for version in found], [1, 2, 3, 4], "steps")
    expect([len(version.messages) for version in found], [2, 3, 4, 5], "messages")
    expect([version.notes for version in found], [f"note {n}" for n in range(1, 5)], "notes")
    expect([version.at for version in found], [START + n for n in range(4)], "times, to the last digit")
    expect(whole(open_().load(RUN)) | {"at": None}, whole(found[-1]) | {"at": None}, "the newest version")


def a_version_is_found_by_its_step(open_: Open) -> None:
    run = saved(open_(), 3)
    run.save([*run.messages, message(9)], step=2)
    for step, seq in ((1, 1), (2, 4), (3, 3)):
        found = open_().load(RUN, step=step)
        expect((found.step, found.seq), (step, seq), f"the last save of step {step}")
    expect(open_().load(RUN, step=3).messages, [message(n) for n in range(4)], "messages of step 3")
    with refused(MissingError, "a step that is not there"):
        open_().load(RUN, step=99)


def a_version_is_found_by_its_time(open_: Open) -> None:
    saved(open_(), 3)
    for at, step in ((START, 1), (START + 0.5, 1), (START + 1.0, 2), (START + 99, 3)):
        expect(open_().load(RUN, at=at).step, step, f"the step {at - START} s after the first")
    with refused(MissingError, "a moment before the first save"):
        open_().load(RUN, at=START - 1)
    found = [version.step for version in open_().history(RUN, since=START + 1, until=START + 1.5)]
    expect(found, [2], "steps of a span of time")
    expect([version.step for version in open_().history(RUN, since=START + 1)], [2, 3], "steps since a moment")
    expect([version.step for version in open_().history(RUN, until=START)], [1], "steps until a moment")


def an_earlier_generation_is_found(open_: Open) -> None:
    saved(open_(), 3)
    expect([open_().load(RUN, generation).step for generation in (0, -1, -2)], [3, 2, 1], "steps of generations")
    with refused(MissingError, "a generation before the first"):
        open_().load(RUN, -3)
    with refused(ValueError, "a generation to come"):
        open_().load(RUN, 1)


def the_order_of_saves_is_their_number_and_not_the_clock(open_: Open) -> None:
    saved(open_(), 2)
    run = record(RUN, store=open_(), clock=clock(START - 3600))
    run.save([*run.messages, message(9)])
    expect((open_().load(RUN).step, open_().load(RUN).at), (3, START - 3600), "the newest after the clock went back")
    expect([version.step for version in open_().history(RUN)], [1, 2, 3], "the order of all versions")


def the_list_has_a_row_a_run_the_newest_first(open_: Open) -> None:
    store = open_()
    saved(store, 2, "old").finish("done")
    new = record("new", store=store, clock=clock(START + 100))
    new.save([message(0)])
    rows = open_().listing()
    expect(
        rows,
        [RunRow(run="new", step=1, seq=1, at=START + 100, status="live"),
         RunRow(run="old", step=2, seq=3, at=START + 2, status="done", goal="parse it")],
        "rows",
    )  # fmt: skip
    expect([row.run for row in open_().listing(status="live")], ["new"], "rows of a status")
    expect([row.run for row in open_().listing(since=START + 50)], ["new"], "rows since a moment")
    expect(open_().listing(status="none"), [], "rows of a status that no run has")


def what_is_looked_for_is_a_value_and_no_pattern(open_: Open) -> None:
    saved(open_(), 1)
    for text in ("' OR 1=1 --", "%", "pars%", "PARSER", "parser' --", "?", ":run", "%s"):
        with refused(MissingError, f"loading run {text!r}"):
            open_().load(text)
        expect(open_().listing(status=text), [], f"rows of status {text!r}")


READING: tuple[Check, ...] = (
    every_version_is_there_oldest_first, a_version_is_found_by_its_step, a_version_is_found_by_its_time,
    an_earlier_generation_is_found, the_order_of_saves_is_their_number_and_not_the_clock,
    the_list_has_a_row_a_run_the_newest_first, what_is_looked_for_is_a_value_and_no_pattern,
)  # fmt: skip
