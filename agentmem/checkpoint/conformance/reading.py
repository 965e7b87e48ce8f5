"""Reads by step, by run and by time, and the list of runs."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, cast

from msgspec.structs import replace

from agentmem.checkpoint.conformance.share import RUN, START, Check, Open, clock, expect, message, refused, saved, whole
from agentmem.checkpoint.recorder import record
from agentmem.checkpoint.store import Change, DamagedError, MissingError, RunRow, Store


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
    new.save([message(0)], state={"goal": "in the state"})
    expect(open_().listing()[0].goal, "in the state", "the goal of a run that was given none but in its state")


def what_is_looked_for_is_a_value_and_no_pattern(open_: Open) -> None:
    saved(open_(), 1)
    for text in ("' OR 1=1 --", "%", "pars%", "PARSER", "parser' --", "?", ":run", "%s"):
        with refused(MissingError, f"loading run {text!r}"):
            open_().load(text)
        expect(open_().listing(status=text), [], f"rows of status {text!r}")


class _Damaging:
    """The store, but the line of one save is stored with a letter of a message changed."""

    def __init__(self, store: Store, seq: int) -> None:
        self._store, self._seq = store, seq

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def commit(self, run: str, change: Change) -> None:
        if change.seq == self._seq:
            change = replace(change, line=change.line.replace(b"message", b"massage"))
        self._store.commit(run, change)


def what_stands_on_a_damaged_save_is_refused_and_the_rest_offered(open_: Open) -> None:
    saved(cast(Store, _Damaging(open_(), 3)), 5)
    expect(open_().load(RUN, step=2).messages, [message(n) for n in range(3)], "messages before the damage")
    for step in (3, 4):
        with refused(DamagedError, f"step {step}, which is damaged or stands on it"):
            open_().load(RUN, step=step)
        expect(open_().load(RUN, rebuild=True, step=step).step, 2, f"the newest before step {step} that can be had")
    with refused(DamagedError, "the generation before the newest"):
        open_().load(RUN, -1)
    with refused(DamagedError, "what stood at the time of save 4"):
        open_().load(RUN, at=START + 3)
    with refused(MissingError, "a step that was never saved"):
        open_().load(RUN, step=99)
    with refused(DamagedError, "the history, before its first version is given"):
        next(iter(open_().history(RUN)))
    expect([version.step for version in open_().history(RUN, rebuild=True)][:2], [1, 2], "what can be had of it")
    try:
        newest = open_().load(RUN)
    except DamagedError:
        return  # it keeps the newest nowhere else
    expect(newest.messages, [message(n) for n in range(6)], "messages of the newest, where it is kept whole")


def what_is_asked_for_is_a_number(open_: Open) -> None:
    saved(open_(), 2)
    for wrong in (math.nan, math.inf, -math.inf):
        with refused(ValueError, f"loading what stood at {wrong}"):
            open_().load(RUN, at=wrong)
        with refused(ValueError, f"the history since {wrong}"):
            list(open_().history(RUN, since=wrong))
        with refused(ValueError, f"pruning what is older than {wrong}"):
            open_().prune(RUN, before=wrong)
        with refused(ValueError, f"a clock that says {wrong}"):
            record(RUN, store=open_(), clock=partial(float, wrong)).save([message(0)])
    expect([version.step for version in open_().history(RUN)], [1, 2], "the steps after all that")


READING: tuple[Check, ...] = (
    every_version_is_there_oldest_first, a_version_is_found_by_its_step, a_version_is_found_by_its_time,
    an_earlier_generation_is_found, the_order_of_saves_is_their_number_and_not_the_clock,
    the_list_has_a_row_a_run_the_newest_first, what_is_looked_for_is_a_value_and_no_pattern,
    what_stands_on_a_damaged_save_is_refused_and_the_rest_offered, what_is_asked_for_is_a_number,
)  # fmt: skip
