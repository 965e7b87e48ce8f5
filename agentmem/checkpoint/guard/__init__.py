"""Calls that cannot be undone: recorded before they are made and right after, and never repeated blindly.

    guard = run.guard

    @guard.irreversible
    def send_mail(to: str, text: str, *, idempotency_key: str = "") -> str: ...

    for doubt in guard.in_doubt:                     # on resume: calls that were started and nothing more is known of
        if input(doubt.question) == "y":
            guard.happened(doubt.key, "sent")
        else:
            guard.did_not_happen(doubt.key)

A call whose result is recorded is not made again: the recorded result is given. A call that raised is a failed attempt;
made again it is the next attempt with the same key. A call that was started and not recorded is *in doubt*: it, and any
other call of that tool, raises `InDoubt` until somebody says what came of it. At least once is what anyone can promise;
what is promised here is that the doubt is seen.

The key of a call is made of the run, its newest save, the tool, the arguments, and which of the equal calls since that
save it is: in one process, a second equal call is another call, and is made. Another process that goes on from the same
save counts from the first again. Where the model's id of the call is given (`send_mail.for_call(call_id)`), the key is
made of that: one id is one call of the run, however often it is asked for.
"""

from agentmem.checkpoint.guard.calls import Guard, Guarded
from agentmem.checkpoint.guard.doubt import NOT_DONE, Doubt, InDoubt, ResultNotKept, ResultNotRecorded
from agentmem.checkpoint.guard.tool import Tool

__all__ = ["NOT_DONE", "Doubt", "Guard", "Guarded", "InDoubt", "ResultNotKept", "ResultNotRecorded", "Tool"]
