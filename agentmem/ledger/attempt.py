"""How a call and its result become an attempt: the one place, for the live ledger and for every reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentmem.ledger.answers.result import error_line, failure, result_key
from agentmem.ledger.answers.unfinished import still_runs
from agentmem.ledger.effect import command_in, effect_of
from agentmem.ledger.given import only_text
from agentmem.ledger.signature import canonical_of, parsed, signature_of, words
from agentmem.model import HEAD_CHARACTERS, Attempt, Outcome


def make_attempt(
    tool: str,
    arguments: str | Mapping[str, Any],
    result: str | None,
    *,
    n: int,
    step: int | None = None,
    index: int = 1,
    lane: str = "main",
    outcome: Outcome | None = None,
    error: str | None = None,
    call_id: str | None = None,
    started: float | None = None,
    ended: float | None = None,
    tokens: int | None = None,
) -> Attempt:
    """An attempt from what a reader or a loop knows of it. `result` None: no result yet.

    Without `outcome`, an `error` makes it an error; else a result that plainly is a failure does (`failure`); else any
    result is ok and none is unknown. The effect becomes `waits` where the whole result says that something still runs.
    Raises TypeError for a tool, result or error that is no text.
    """
    only_text(tool, "make_attempt: tool")
    for given, argument in ((result, "result"), (error, "error")):
        if given is not None:
            only_text(given, f"make_attempt: {argument}")
    value = parsed(arguments)
    shown = canonical_of(arguments, value)
    name = words(tool)
    does = effect_of(name, value)
    if outcome is None:
        line = error if error is not None else None if result is None else failure(result, reads=does == "reads")
        outcome = "error" if line is not None else "unknown" if result is None else "ok"
        error = line
    elif error is None and outcome == "error" and result:
        error = error_line(result)
    if does in ("reads", "unknown") and outcome in ("ok", "unknown") and result:
        if still_runs(name, command_in(name, value), result):
            does = "waits"
    known = result if result is not None else error
    return Attempt(
        lane=lane, n=n, step=n if step is None else step, index=index, tool=tool, arguments=shown, call_id=call_id,
        signature=signature_of(tool, shown, value), effect=does, outcome=outcome,
        result_key=None if known is None else result_key(known),
        result_head=None if known is None else known[:HEAD_CHARACTERS],
        error=error, started=started, ended=ended, tokens=tokens,
    )  # fmt: skip
