"""Saving and resuming: what was acknowledged is there, exactly, for another process; two writers do not tear a run."""

from __future__ import annotations

import json
import threading
from typing import Any

from agentmem.checkpoint.conformance.share import RUN, Check, Open, expect, holds, message, refused, saved, state, whole
from agentmem.checkpoint.recorder import record
from agentmem.checkpoint.store import ConflictError, MissingError

ODD_RUNS = (
    "../../x", "a/b", ".", "..", "x" * 300, "CON", "a\nb", "\x1b[2J", "görev 1", "日本", "a%2Fb", " x ", "a:b", "'; --",
    "x.json", "%", "_", "\\",
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, 1.0, -0.0, 1e308, 5e-324, 0.1, 2**63, 2**70, -(2**70), 10**1000, "", "nul \0 in it",
    "\x1b]52;c;eA==\x07", "\u2028 \u202e \U0001f600 e\u0301", "a\r\nb\x85c", '{"a": [1]}', [], {}, [[]], [None],
    {"": ""}, {"a.b": 1, "a[0]": 2, "\\": 3, "\0": 4}, {"b": 1, "a": 2}, [1, 1.0, True], "x" * 100_000,
)  # fmt: skip


def an_empty_place_holds_no_run(open_: Open) -> None:
    expect(open_().runs(), [], "runs of an empty place")
    expect(open_().listing(), [], "the list of an empty place")
    with refused(MissingError, "loading from an empty place"):
        open_().load(RUN)
    with refused(MissingError, "the history of a run that is not there"):
        list(open_().history(RUN))
    expect(open_().resume(RUN).checkpoint, None, "resuming a run that is not there")
    expect(open_().runs(), [], "opening a run to record it makes none")


def what_was_saved_is_there_for_another_process(open_: Open) -> None:
    run = saved(open_(), 3)
    found = open_().load(RUN)
    expect(found.messages, [message(number) for number in range(4)], "messages")
    expect(found.state, state(3), "state")
    expect((found.step, found.seq, found.run, found.goal), (3, 3, RUN, "parse it"), "step, seq, run, goal")
    expect((found.notes, found.status, found.finished), ("note 3", "live", False), "notes and status")
    expect(found.usage, {"input_tokens": 3}, "usage")
    run.finish("done")
    expect((open_().load(RUN).status, open_().load(RUN).step), ("done", 3), "status after the end")


def everything_that_a_save_is_given_comes_back(open_: Open) -> None:
    run = record(RUN, store=open_())
    prompt = [{"role": "system", "content": "be brief"}, message(0)]
    run.save(
        [message(0)], state=state(1), notes={"a": [1]}, usage={"input_tokens": 5}, model="m-1", system="be brief",
        tools=[{"name": "ls"}], prompt=prompt, drops=[{"name": "facts.x", "cause": "trimmed"}],
        attempts=[{"tool": "ls", "outcome": "ok"}], window=8000, goal="other", step=7,
    )  # fmt: skip
    found = list(open_().history(RUN))[-1]
    expect((found.model, found.system, found.window, found.goal), ("m-1", "be brief", 8000, "other"), "model and more")
    expect((found.step, found.seq, found.tools), (7, 1, [{"name": "ls"}]), "step, seq, tools")
    expect((found.prompt, found.notes), (prompt, {"a": [1]}), "prompt and notes")
    expect(found.drops, [{"name": "facts.x", "cause": "trimmed"}], "drops")
    expect(found.attempts, [{"tool": "ls", "outcome": "ok"}], "attempts")


def odd_values_come_back_exactly(open_: Open) -> None:
    run = record(RUN, store=open_())
    given = {f"v{number}": value for number, value in enumerate(ODD_VALUES)}
    deep: Any = "deep"
    for _ in range(150):
        deep = [deep]
    run.save([{"role": "user", "content": value} for value in ODD_VALUES], state={**given, "deep": deep}, notes=given)
    found = open_().load(RUN)
    expect(json.dumps(found.state), json.dumps({**given, "deep": deep}), "state, types and order of keys included")
    expect(json.dumps([one["content"] for one in found.messages]), json.dumps(list(ODD_VALUES)), "messages")
    expect(json.dumps(found.notes), json.dumps(given), "notes")


def a_value_that_cannot_come_back_is_refused_and_changes_nothing(open_: Open) -> None:
    run = saved(open_(), 2)
    before = whole(open_().load(RUN))
    for value in (float("nan"), float("inf"), "\ud800", b"x", (1,), {1: 2}, object()):
        with refused(TypeError, f"saving {value!r}"):
            run.save(run.messages, state={"v": value})
    expect(whole(open_().load(RUN)), before, "the run after refused saves")
    expect(run.save(run.messages), 3, "the step of the next save")


def odd_run_ids_are_kept_apart_or_refused(open_: Open) -> None:
    kept = []
    for number, name in enumerate(ODD_RUNS):
        try:
            record(name, store=open_()).save([message(number)])
        except ValueError:
            continue  # refused: as good as kept apart
        kept.append((number, name))
    holds(len(kept) > len(ODD_RUNS) // 2, "most ids are taken as they are")
    for number, name in kept:
        expect(open_().load(name).messages, [message(number)], f"messages of run {name!r}")
    expect(open_().runs(), sorted(name for _, name in kept), "the ids of all runs")
    for wrong in ("", "a\ud800"):
        with refused(ValueError, f"run id {wrong!r}"):
            record(wrong, store=open_()).save([message(0)])


def a_run_goes_on_in_another_process(open_: Open) -> None:
    saved(open_(), 2)
    again = record(RUN, store=open_())
    expect((again.step, again.messages, again.state), (2, [message(n) for n in range(3)], state(2)), "what is resumed")
    saved(open_(), 2)
    found = open_().load(RUN)
    expect((found.step, found.seq, len(found.messages)), (4, 4, 5), "step, seq and messages after going on")
    expect([version.seq for version in open_().history(RUN)], [1, 2, 3, 4], "numbers of all saves")


def messages_may_be_cut_changed_and_replaced(open_: Open) -> None:
    run = record(RUN, store=open_())
    lists: list[list[dict[str, Any]]] = [
        [message(0), message(1), message(2)], [message(0), message(2)], [], [message(5)], [message(5), message(6)],
        [message(5, "new"), message(6)], [message(6), message(5, "new")],
    ]  # fmt: skip
    for given in lists:
        run.save(given)
    expect([version.messages for version in open_().history(RUN)], lists, "messages of every version")


def what_an_author_mutates_later_does_not_change_what_was_saved(open_: Open) -> None:
    run = record(RUN, store=open_())
    held: dict[str, Any] = {"facts": {"a": "1"}}
    messages = [message(0)]
    run.save(messages, state=held)
    held["facts"]["a"] = "2"
    messages[0]["content"] = "changed"
    expect(open_().load(RUN).state, {"facts": {"a": "1"}}, "state")
    expect(open_().load(RUN).messages, [message(0)], "messages")
    run.save(messages, state=held)
    expect([v.messages[0]["content"] for v in open_().history(RUN)], ["message 0", "changed"], "both versions")


def the_second_of_two_writers_gets_a_conflict(open_: Open) -> None:
    one = saved(open_(), 1)
    two = record(RUN, store=open_())
    one.save([*one.messages, message(7)])
    with refused(ConflictError, "saving a run that another saved"):
        two.save([*two.messages, message(8)])
    with refused(ConflictError, "saving it again"):
        two.save([*two.messages, message(8)])
    found = open_().load(RUN)
    expect((found.step, found.messages[-1]), (2, message(7)), "what stands")
    one.save([*one.messages, message(9)])
    expect(open_().load(RUN).step, 3, "the first writer goes on")
    again = record(RUN, store=open_())
    again.save([*again.messages, message(10)])
    expect(open_().load(RUN).step, 4, "who opens it again goes on")


def two_recorders_of_one_store_conflict_as_well(open_: Open) -> None:
    store = open_()
    one, two = record(RUN, store=store), record(RUN, store=store)
    one.save([message(0)])
    with refused(ConflictError, "saving a run that another recorder of the same store saved"):
        two.save([message(1)])
    expect(open_().load(RUN).messages, [message(0)], "what stands")


def writers_at_the_same_time_lose_no_acknowledged_save(open_: Open) -> None:
    done: list[int] = []
    wrong: list[BaseException] = []

    def work(number: int) -> None:
        try:
            saves = 0
            while saves < 5:
                try:
                    run = record(RUN, store=open_())
                    run.save([*run.messages, message(number, f"{number}:{saves}")])
                    saves += 1
                    done.append(number)
                except ConflictError:
                    continue  # another was faster: open it again
        except BaseException as error:  # noqa: BLE001  # told in the thread that checks
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(wrong, [], "errors of the writers")
    texts = [one["content"] for one in open_().load(RUN).messages]
    expect(sorted(texts), sorted(f"{number}:{save}" for number in range(3) for save in range(5)), "what was saved")
    expect([version.seq for version in open_().history(RUN)], list(range(1, 16)), "numbers of the saves")


def runs_do_not_touch_each_other(open_: Open) -> None:
    store = open_()
    one, two = record("one", store=store), record("two", store=store)
    one.save([message(1)])
    two.save([message(2)])
    one.save([message(1), message(3)])
    expect(open_().load("one").messages, [message(1), message(3)], "the first run")
    expect((open_().load("two").messages, open_().load("two").seq), ([message(2)], 1), "the second run")


def beginning_anew_keeps_what_was_before(open_: Open) -> None:
    saved(open_(), 2)
    run = record(RUN, store=open_(), resume=False)
    expect((run.step, run.messages, run.state), (0, [], None), "a run begun anew")
    run.save([message(9)])
    expect((open_().load(RUN).messages, open_().load(RUN).seq), ([message(9)], 3), "the newest version")
    expect([version.step for version in open_().history(RUN)], [1, 2, 1], "steps of all versions")


def a_run_that_ended_may_go_on(open_: Open) -> None:
    saved(open_(), 1).finish("failed: no port")
    run = record(RUN, store=open_())
    holds(run.resumed is not None and run.resumed.status == "failed: no port", "the status that it had come to")
    run.save([*run.messages, message(2)])
    expect(open_().load(RUN).status, "live", "its status")


def what_is_of_the_newest_step_alone_is_there_however_it_is_asked_for(open_: Open) -> None:
    run = saved(open_(), 2)
    prompt, drops, attempts = [message(0)], [{"name": "facts.x"}], [{"tool": "ls", "outcome": "ok"}]
    run.save(run.messages, prompt=prompt, drops=drops, attempts=attempts, usage={"input_tokens": 9})
    for when in ("after the save", "after the end of the run"):
        newest = open_().load(RUN)
        what = f"usage, prompt, drops and attempts {when}"
        expect((newest.usage, newest.prompt), ({"input_tokens": 9}, prompt), what)
        expect((newest.drops, newest.attempts), (drops, attempts), what)
        for other in (open_().load(RUN, step=3), open_().load(RUN, rebuild=True), list(open_().history(RUN))[-1]):
            expect(whole(other), whole(newest), f"the newest version, {when}, asked for in another way")
        if not run.finished:
            run.finish("failed")
    again = record(RUN, store=open_())
    again.save([message(0)])
    newest = open_().load(RUN)
    unknown = newest.usage, newest.prompt, newest.drops, newest.attempts
    expect(unknown, (None,) * 4, "what the next step was not given")


def a_lane_goes_on_from_its_own_newest_save(open_: Open) -> None:
    main = saved(open_(), 2)
    sub = record(RUN, store=open_(), lane="sub")
    expect((sub.step, sub.messages, sub.state, sub.notes), (0, [], None, None), "what a new lane begins with")
    sub.save([message(7)], state={"of": "sub"})
    with refused(ConflictError, "saving in one lane what was saved by another in between"):
        main.save([message(9)])
    main = record(RUN, store=open_())
    expect((main.step, main.messages), (2, [message(n) for n in range(3)]), "what the main lane goes on from")
    expect((main.state, main.notes), (state(2), "note 2"), "its state and notes")
    main.save([*main.messages, message(3)])
    sub = record(RUN, store=open_(), lane="sub")
    expect((sub.step, sub.messages, sub.state), (1, [message(7)], {"of": "sub"}), "what the other goes on from")
    sub.save([message(7), message(8)])
    sub.finish("done")
    open_().prune(RUN, keep=1)
    main = record(RUN, store=open_())
    expect(main.messages, [message(n) for n in range(4)], "messages of the main lane when the other is done")
    main.save(main.messages)
    newest = open_().load(RUN)
    expect((newest.lane, newest.step, newest.seq, newest.state), ("main", 4, 7, state(2)), "the newest version")
    expect((newest.goal, newest.status), ("parse it", "live"), "its goal and status")
    expect(whole(list(open_().history(RUN))[-1]), whole(newest), "the newest of all versions")


def a_step_that_not_every_store_can_hold_is_refused(open_: Open) -> None:
    run = saved(open_(), 1)
    for step in (2**63, -(2**63) - 1, 10**400):
        with refused(ValueError, "saving a step beyond 64 bits"):
            run.save(run.messages, step=step)
        with refused(ValueError, "loading a step beyond 64 bits"):
            open_().load(RUN, step=step)
    run.save(run.messages, step=2**63 - 1)
    expect(open_().load(RUN, step=2**63 - 1).seq, 2, "the save of the greatest step")
    with refused(ValueError, "a step that is counted beyond 64 bits"):
        run.save(run.messages)
    run.save(run.messages, step=-(2**63))
    expect(open_().load(RUN).step, -(2**63), "the least step")


SAVING: tuple[Check, ...] = (
    an_empty_place_holds_no_run, what_was_saved_is_there_for_another_process,
    everything_that_a_save_is_given_comes_back, odd_values_come_back_exactly,
    a_value_that_cannot_come_back_is_refused_and_changes_nothing,
    odd_run_ids_are_kept_apart_or_refused, a_run_goes_on_in_another_process, messages_may_be_cut_changed_and_replaced,
    what_an_author_mutates_later_does_not_change_what_was_saved, the_second_of_two_writers_gets_a_conflict,
    two_recorders_of_one_store_conflict_as_well, writers_at_the_same_time_lose_no_acknowledged_save,
    runs_do_not_touch_each_other, beginning_anew_keeps_what_was_before, a_run_that_ended_may_go_on,
    what_is_of_the_newest_step_alone_is_there_however_it_is_asked_for, a_lane_goes_on_from_its_own_newest_save,
    a_step_that_not_every_store_can_hold_is_refused,
)  # fmt: skip
