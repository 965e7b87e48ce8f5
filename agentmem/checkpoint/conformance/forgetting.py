"""Retention: old saves go, the newest stays whole, and a run that is being recorded goes on."""

from __future__ import annotations

from agentmem.checkpoint.conformance.share import RUN, START, Check, Open, expect, message, refused, saved, whole
from agentmem.checkpoint.recorder import record
from agentmem.checkpoint.store import MissingError


def old_saves_are_forgotten_and_the_others_stay_as_they_were(open_: Open) -> None:
    saved(open_(), 6)
    before = [whole(version) for version in open_().history(RUN)]
    newest = whole(open_().load(RUN))
    expect(open_().prune(RUN, keep=3), 3, "how many saves are gone")
    expect([whole(version) for version in open_().history(RUN)], before[3:], "versions that stay")
    expect(whole(open_().load(RUN)), newest, "the newest version")
    expect(open_().load(RUN, step=4).messages, [message(n) for n in range(5)], "messages of the oldest that stays")
    with refused(MissingError, "a step that was forgotten"):
        open_().load(RUN, step=3)


def saves_before_a_moment_are_forgotten(open_: Open) -> None:
    saved(open_(), 4)
    expect(open_().prune(RUN, before=START + 2), 2, "how many saves are gone")
    expect([version.step for version in open_().history(RUN)], [3, 4], "steps that stay")
    expect(open_().prune(RUN, before=START + 999), 1, "how many are gone when all are old")
    expect([version.step for version in open_().history(RUN)], [4], "the newest always stays")
    expect(open_().prune(RUN, keep=1), 0, "how many are gone when one is left")


def a_run_that_is_being_recorded_goes_on_after_pruning(open_: Open) -> None:
    run = saved(open_(), 5)
    open_().prune(RUN, keep=1)
    run.save([*run.messages, message(8)], state={"x": 1})
    run.save([*run.messages, message(9)])
    expect([version.step for version in open_().history(RUN)], [5, 6, 7], "steps")
    expect(open_().load(RUN).messages, [*[message(n) for n in range(6)], message(8), message(9)], "messages")
    again = record(RUN, store=open_())
    again.save([*again.messages, message(10)])
    expect(open_().load(RUN).seq, 8, "the number of the next save is no old one")


def exact_prompts_survive_pruning(open_: Open) -> None:
    run = record(RUN, store=open_())
    for number in range(1, 7):
        prompt = [message(n) for n in range(number)] if number in (1, 2, 4, 5) else None
        run.save([message(n) for n in range(number + 1)], prompt=prompt)
    before = [whole(version) for version in open_().history(RUN)]
    expect(open_().prune(RUN, keep=4), 2, "how many saves are gone")
    expect([whole(version) for version in open_().history(RUN)], before[2:], "versions that stay")
    open_().prune(RUN, keep=1)
    left = [whole(version) for version in open_().history(RUN)]
    expect(left, before[-len(left) :], "versions that stay")
    run.save([message(n) for n in range(8)], prompt=[message(n) for n in range(7)])
    expect(list(open_().history(RUN))[-1].prompt, [message(n) for n in range(7)], "the prompt of the next save")


def a_run_can_be_removed(open_: Open) -> None:
    saved(open_(), 2, "gone")
    saved(open_(), 2, "stays")
    open_().remove("gone")
    expect(open_().runs(), ["stays"], "runs that stay")
    with refused(MissingError, "loading a run that was removed"):
        open_().load("gone")
    with refused(MissingError, "removing it again"):
        open_().remove("gone")
    saved(open_(), 1, "gone")
    expect(open_().load("gone").seq, 1, "a new run of that name")


def what_cannot_be_pruned_is_refused(open_: Open) -> None:
    saved(open_(), 2)
    with refused(ValueError, "pruning without saying what"):
        open_().prune(RUN)
    with refused(ValueError, "keeping no save"):
        open_().prune(RUN, keep=0)
    with refused(MissingError, "pruning a run that is not there"):
        open_().prune("none", keep=1)
    expect(len(list(open_().history(RUN))), 2, "saves after refused pruning")


FORGETTING: tuple[Check, ...] = (
    old_saves_are_forgotten_and_the_others_stay_as_they_were, saves_before_a_moment_are_forgotten,
    a_run_that_is_being_recorded_goes_on_after_pruning, exact_prompts_survive_pruning, a_run_can_be_removed,
    what_cannot_be_pruned_is_refused,
)  # fmt: skip
