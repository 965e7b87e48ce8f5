"""Calls with a side effect: what began is known before, what came of it right after, each once."""

from __future__ import annotations

import threading
from typing import Any

from agentmem.checkpoint.conformance.share import RUN, Check, Open, expect, refused, saved
from agentmem.checkpoint.ledger_line import Call
from agentmem.checkpoint.store import ConflictError


def _call(key: str = "k1", attempt: int = 1, **more: Any) -> Call:
    return Call(**{"key": key, "attempt": attempt, "tool": "send", "arguments": {"to": "sam"}, "started": 5.5, **more})


def a_call_is_known_before_it_ends(open_: Open) -> None:
    expect(open_().calls(RUN), [], "calls of a run that made none")
    open_().begin(RUN, _call())
    expect(open_().calls(RUN), [_call()], "a call that began")
    done = _call(outcome="ok", result={"id": 7}, ended=6.5)
    open_().end(RUN, done)
    expect(open_().calls(RUN), [done], "a call that ended")


def calls_come_back_exactly_and_in_order(open_: Open) -> None:
    odd: list[Any] = [None, 1.0, 2**70, "nul \0", "\u2028", [], {"x": [True]}, "x" * 50_000]
    given = [
        _call(f"k{number}", arguments={"v": value, "b": 1, "a": 2}, call_id="c\0", seq=3, step=2, lane="sub")
        for number, value in enumerate(odd)
    ]
    for call in given:
        open_().begin(RUN, call)
    expect(open_().calls(RUN), given, "calls that began")
    ended = [
        _call(one.key, arguments=one.arguments, call_id="c\0", seq=3, step=2, lane="sub", outcome="error", error="x\0y",
              ended=9.25, result=one.arguments)
        for one in given
    ]  # fmt: skip
    for call in reversed(ended):
        open_().end(RUN, call)
    expect([repr(call) for call in open_().calls(RUN)], [repr(call) for call in ended], "calls that ended, in order")


def an_attempt_begins_once_and_ends_once(open_: Open) -> None:
    open_().begin(RUN, _call())
    with refused(ConflictError, "beginning the same attempt again"):
        open_().begin(RUN, _call(started=8.0))
    with refused(ConflictError, "ending an attempt that did not begin"):
        open_().end(RUN, _call(attempt=2, outcome="ok", ended=9.0))
    open_().end(RUN, _call(outcome="error", error="no", ended=9.0))
    with refused(ConflictError, "ending it again"):
        open_().end(RUN, _call(outcome="ok", ended=10.0))
    open_().begin(RUN, _call(attempt=2))
    expect([(call.attempt, call.outcome) for call in open_().calls(RUN)], [(1, "error"), (2, "started")], "attempts")


def of_those_who_begin_an_attempt_at_once_one_succeeds(open_: Open) -> None:
    won: list[int] = []
    lost: list[int] = []

    def work(number: int) -> None:
        try:
            open_().begin(RUN, _call(started=float(number)))
            won.append(number)
        except ConflictError:
            lost.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect((len(won), len(lost)), (1, 3), "who began the attempt, and who did not")
    expect([call.started for call in open_().calls(RUN)], [float(won[0])], "the attempt that stands")


def calls_and_saves_do_not_disturb_each_other(open_: Open) -> None:
    run = saved(open_(), 1)
    open_().begin(RUN, _call())
    run.save(run.messages)
    open_().end(RUN, _call(outcome="ok", ended=9.0))
    run.save(run.messages)
    expect((open_().load(RUN).seq, len(open_().calls(RUN)), open_().calls("other")), (3, 1, []), "saves and calls")
    open_().remove(RUN)
    expect(open_().calls(RUN), [], "calls of a run that was removed")


CALLS: tuple[Check, ...] = (
    a_call_is_known_before_it_ends, calls_come_back_exactly_and_in_order, an_attempt_begins_once_and_ends_once,
    of_those_who_begin_an_attempt_at_once_one_succeeds, calls_and_saves_do_not_disturb_each_other,
)  # fmt: skip
