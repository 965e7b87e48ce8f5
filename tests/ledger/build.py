"""Attempts for the tests, written as short sequences."""

from __future__ import annotations

import json
from collections.abc import Iterable

from msgspec import structs

from agentmem.ledger import Detector, make_attempt
from agentmem.model import Attempt, Outcome


def call(tool: str, result: str | None, outcome: Outcome | None = None, /, **arguments: object) -> Attempt:
    """An attempt whose step is set when it is fed."""
    return make_attempt(tool, json.dumps(arguments), result, n=1, outcome=outcome)


def feed(attempts: Iterable[Attempt], detector: Detector | None = None) -> tuple[Detector, int | None]:
    """Feeds one attempt a step; the detector and the step of the first finding."""
    detector = Detector() if detector is None else detector
    first = None
    for n, attempt in enumerate(attempts, 1):
        detector.feed(at(attempt, n))
        if detector.cycles and first is None:
            first = n
    return detector, first


def at(attempt: Attempt, n: int, index: int = 1, step: int | None = None, tokens: int | None = 100) -> Attempt:
    return structs.replace(
        attempt, n=n, step=n if step is None else step, index=index, tokens=tokens if index == 1 else None
    )


def read(name: str, result: str = "text") -> Attempt:
    return call("read_file", f"{result} of {name}", path=name)


def test_run(result: str = "FAILED test_add: assert 3 == 4 in calc", outcome: Outcome = "error") -> Attempt:
    return call("bash", result, outcome, command="pytest -q")


test_run.__test__ = False  # type: ignore[attr-defined]  # a helper, not a test


def edit(old: str, new: str, path: str = "calc.py", result: str = "edited", outcome: Outcome = "ok") -> Attempt:
    return call("str_replace", result, outcome, path=path, old_str=old, new_str=new)
