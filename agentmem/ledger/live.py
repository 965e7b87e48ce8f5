"""The ledger that an agent keeps while it runs: each attempt is answered with continue, warn or stop."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from agentmem import safe
from agentmem.ledger.attempt import make_attempt
from agentmem.ledger.detect import MATCHES, Detector
from agentmem.ledger.given import Told, only_kind, only_text, told
from agentmem.ledger.group import Group
from agentmem.ledger.signature import canonical_arguments, fold
from agentmem.ledger.state import BadLedger, dump, load, prune
from agentmem.model import Attempt, CycleKind
from agentmem.safe import cut_mark

ENTRIES = 10
VERSION = 1
_TOOL = 24
_ARGUMENTS = 48
_RESULT = 48
_STEPS_NAMED = 8
_TOOLS_NAMED = 6
_CIRCLE = 200
_ARGUMENT_KINDS = (str, Mapping, list, tuple, type(None))
"""A list: by position; None: a call without arguments."""
Action = Literal["continue", "warn", "stop"]


class Verdict(msgspec.Struct, frozen=True):
    """What the ledger says to an attempt."""

    action: Action
    """`continue`: nothing to say, or honest waiting. `warn`: it goes in circles, said for the first time.
    `stop`: it goes on after the warning, or came back."""
    escalate: bool = False
    """True with `stop`: hand over to a person."""
    reason: str = ""
    """One line: kind, period, steps and tools; empty if there is nothing to say."""
    kind: CycleKind | None = None
    period: int | None = None
    steps: tuple[int, ...] = ()


def _cut(text: str, limit: int) -> str:
    text = fold(text)
    return text if len(text) <= limit else cut_mark(text[: limit - 1])


def _storable(
    tool: str, arguments: str | Mapping[str, Any], result: Told | None, error: Told | None
) -> tuple[str, str | Mapping[str, Any], str | None, str | None]:
    """As texts without lone surrogates, that no checkpoint can hold: parts of all four stand in what `to_dict` gives.
    Raises TypeError naming the argument that cannot be one."""
    only_text(tool, "record: tool")
    only_kind(arguments, _ARGUMENT_KINDS, "record: arguments", "a mapping or its JSON text")
    if isinstance(result, BaseException) and error is None:
        result, error = None, result
    if error is not None:  # a flag or a code is no text of an error: False and 0 would count as failures
        only_kind(error, (str, BaseException, Mapping), "record: error", "the error's text or the exception")
    shown = arguments if isinstance(arguments, str) else canonical_arguments(arguments)
    clean = safe.encodable(shown)
    return (
        safe.encodable(tool), arguments if clean == shown else clean,
        None if result is None else safe.encodable(told(result, "record: result")),
        None if error is None else safe.encodable(told(error, "record: error")),
    )  # fmt: skip


def _steps(steps: tuple[int, ...]) -> str:
    shown = [str(step) for step in steps]
    if len(shown) > _STEPS_NAMED:
        shown = [*shown[:3], "…", *shown[-4:]]
    return ("step " if len(steps) == 1 else "steps ") + ", ".join(shown)


def describe(group: Group) -> str:
    """One line on a group: kind, period, steps, tools."""
    several = list(dict.fromkeys(group.tools))
    tools = ", ".join(_cut(tool, _TOOL) for tool in several[:_TOOLS_NAMED])
    tools += f" and {len(several) - _TOOLS_NAMED} more" if len(several) > _TOOLS_NAMED else ""
    again = "the same attempt with the same result" if group.period == 1 else (
        f"the same {group.period} attempts with the same results, each"
    )  # fmt: skip
    what = {
        "repeat": f"{again}, {group.count} times",
        "cycle": f"cycle of period {group.period}, {group.count} times round, same results",
        "same-error": f"the same error {group.count} times whatever the arguments",
        "undo": f"{_cut(group.detail, 80)}, {group.count} times",
        "relapse": f"relapse: {group.detail}, period {group.period}, {group.count} times",
    }[group.kind]
    return f"{what}: {_steps(group.steps)} ({tools})"


class Ledger:
    """Records attempts and says whether to go on. Bounded, whatever the run's length.

    - `continue`: the attempt is part of nothing, or is a poll.
    - `warn`: a repeat, cycle, same error or undo is found at this attempt for the first time.
    - `stop` and escalate: the attempt goes on with something warned about, turns a warned repeat into a cycle, or
      brings it back after others (relapse). A new successful change clears the warning: then it is `continue` again.
    With `matches=2` (strict) the second equal failure stops at once; the rest stays as it is.
    """

    def __init__(self, *, matches: int = MATCHES) -> None:
        """Raises ValueError if `matches` is neither 2 nor 3."""
        if matches not in (2, MATCHES):
            raise ValueError(f"matches is {matches}: 3 (the rule) or 2 (strict)")
        self.matches = matches
        self._detector = Detector(failures=matches)
        self._entries: deque[tuple[int, str, str, str, str]] = deque(maxlen=ENTRIES)
        self._step = 0
        self._index = 0

    def record(
        self,
        tool: str,
        arguments: str | Mapping[str, Any],
        result: Told | None,
        *,
        error: Told | None = None,
        step: int | None = None,
        denied: bool = False,
    ) -> Verdict:
        """Takes one attempt in, in order, and judges it.

        `result`: what the tool gave, a text or a JSON value, or the exception that it raised, which is an error.
        `error`: the error's text, object or exception if the call failed; None leaves it to what the result plainly
        says. `step`: number of the model call; calls with the same number are parallel; without it every attempt is a
        step. `denied`: a guard refused the call. `result` None and no error: no result, which is written down and not
        judged. Raises TypeError naming the argument that is none of these.
        """
        tool, arguments, text, failed = _storable(tool, arguments, result, error)
        if step is not None and (not isinstance(step, int) or isinstance(step, bool)):
            raise TypeError(f"record: step is a whole number, not {type(step).__name__}")
        number = self._step + 1 if step is None else step
        self._index = self._index + 1 if number == self._step else 1
        self._step = number
        attempt = make_attempt(
            tool, arguments, text, n=number, index=self._index, error=failed, outcome="denied" if denied else None,
        )  # fmt: skip
        said = attempt.error or attempt.result_head or ("" if text is not None else "no result")
        shown = (_cut(tool, _TOOL), _cut(attempt.arguments[:400], _ARGUMENTS), attempt.outcome, _cut(said, _RESULT))
        self._entries.append((number, *shown))
        if attempt.outcome == "unknown" and attempt.result_key is None:
            return Verdict("continue")
        self._detector.feed(attempt)
        verdict = self._verdict(attempt)
        prune(self._detector)
        return verdict

    def record_code(
        self, code: str, outcome: Told | None, *, error: Told | None = None, step: int | None = None
    ) -> Verdict:
        """Takes an approach in that is code: its comments, blank lines and white space are no part of its signature."""
        return self.record("code", {"code": only_text(code, "record_code: code")}, outcome, error=error, step=step)

    def _verdict(self, attempt: Attempt) -> Verdict:
        group = self._detector.touched
        if group is None:
            polls = self._detector.polling.get(attempt.tool)
            waits = polls is not None and polls.count > 1 and polls.places[-1][1] == self._step
            waits = waits and polls is not None and attempt.signature in polls.asked
            return Verdict("continue", reason=f"waiting, {polls.count} polls" if waits and polls is not None else "")
        strict = self.matches < MATCHES and group.kind == "repeat" and group.hits < MATCHES
        first = self._detector.fresh and not strict
        reason = describe(group) if first else f"{describe(group)}. Stop and escalate."
        return Verdict(
            "warn" if first else "stop", escalate=not first, reason=reason, kind=group.kind, period=group.period,
            steps=group.steps,
        )  # fmt: skip

    def render(self) -> str:
        """The last 10 attempts, one a line, and what goes in circles now.

        At most 2,000 characters; empty before the first attempt.
        """
        if not self._entries:
            return ""
        lines = ["Attempts (newest last):"]
        for step, tool, arguments, outcome, said in self._entries:
            lines.append(f"- {step}. {tool} {arguments} -> {outcome}" + (f": {said}" if said else ""))
        turning = [group for group in self._detector.groups if group.ended_at is None]
        told = (_cut(describe(group), _CIRCLE) for group in turning[-2:])
        lines.extend(f"Going in circles: {one}. Do something else." for one in told)
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; bounded (see `agentmem.ledger.state`)."""
        return {
            "version": VERSION, "matches": self.matches, "step": self._step, "index": self._index,
            "entries": [list(entry) for entry in self._entries], "detector": dump(self._detector),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Ledger:
        """The ledger that `to_dict` gave. Raises ValueError with one line that names the part that is wrong."""
        if not isinstance(saved, Mapping):
            raise BadLedger(f"saved ledger: an object was expected, not {type(saved).__name__}")
        if saved.get("version") != VERSION:
            raise BadLedger(f"saved ledger: version {_cut(repr(saved.get('version')), 40)} is not {VERSION}")
        matches, step, index, entries = (saved.get(name) for name in ("matches", "step", "index", "entries"))
        if matches not in (2, MATCHES) or not isinstance(step, int) or not isinstance(index, int):
            raise BadLedger("saved ledger: matches, step or index is wrong")
        ledger = cls(matches=int(matches))
        ledger._step, ledger._index = step, index
        if not isinstance(entries, list):
            raise BadLedger("saved ledger, entries: a list was expected")
        for entry in entries:
            if not isinstance(entry, list) or len(entry) != 5 or not isinstance(entry[0], int):
                raise BadLedger("saved ledger, entries: a list of 5 was expected")
            number, tool, arguments, outcome, said = entry
            if not all(isinstance(text, str) for text in (tool, arguments, outcome, said)):
                raise BadLedger("saved ledger, entries: texts were expected")
            shown = (_cut(tool, _TOOL), _cut(arguments, _ARGUMENTS), _cut(outcome, _TOOL), _cut(said, _RESULT))
            ledger._entries.append((number, *shown))
        load(ledger._detector, saved.get("detector"))
        return ledger
