"""What the checks share: runs of a few saves, and assertions that say what was expected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from agentmem.checkpoint.recorder import Recorder, record
from agentmem.checkpoint.store import Checkpoint, Store

Open = Callable[[], Store]
"""Opens the store: each call another view of the same place."""
Check = Callable[[Open], None]

RUN = "parser"
START = 1_700_000_000.0
"""When the first save of a run made by `saved` happens, in seconds since the epoch; then one each second."""


def expect(there: object, wanted: object, what: str) -> None:
    """Raises AssertionError saying what was expected, unless they are equal and of one type."""
    if there != wanted or type(there) is not type(wanted):
        raise AssertionError(f"{what}: expected {wanted!r}, found {there!r}")


def holds(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


@contextmanager
def refused(kind: type[BaseException] | tuple[type[BaseException], ...], what: str) -> Iterator[None]:
    """The block must raise that kind, with a message of one line."""
    try:
        yield
    except kind as error:
        holds(bool(str(error)) and "\n" not in str(error), f"{what}: the message is one line: {error!s:.80}")
        return
    raise AssertionError(f"{what}: nothing was raised")


def message(number: int, text: str = "") -> dict[str, Any]:
    return {"role": "assistant" if number % 2 else "user", "content": text or f"message {number}"}


def state(number: int) -> dict[str, Any]:
    return {"goal": "parse", "facts": {"port": str(number), "host": "db"}, "plan": ["a", "b"][: 1 + number % 2]}


def clock(start: float = START) -> Callable[[], float]:
    """One second later at every call."""
    now = [start - 1.0]

    def tick() -> float:
        now[0] += 1.0
        return now[0]

    return tick


def saved(store: Store, count: int = 3, run: str = RUN, **given: Any) -> Recorder:
    """A run of `count` saves more, each one message longer, a second apart."""
    made = record(run, store=store, clock=clock(), goal="parse it", **given)
    messages = list(made.messages) or [message(0)]
    for _ in range(count):
        number = made.step + 1
        messages.append(message(number))
        made.save(messages, state=state(number), notes=f"note {number}", usage={"input_tokens": number})
    return made


def whole(version: Checkpoint) -> dict[str, Any]:
    """All that a version says, without where it stands."""
    return {
        name: getattr(version, name)
        for name in (
            "step", "seq", "messages", "notes", "state", "run", "goal", "model", "system", "tools", "window", "usage",
            "drops", "attempts", "prompt", "status", "lane", "at",
        )
    }  # fmt: skip
