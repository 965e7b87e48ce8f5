"""A run with a bit of everything, recorded into any store."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentmem.checkpoint.recorder import Recorder, record
from agentmem.inspect.open import Opened, open_run
from agentmem.memory.state import State
from tests import postgres
from tests.formats.helpers import call, result, said, user
from tests.inspect_follow.following import content

Place = str
"""What the inspector is given: a folder, a file, an address."""


def ticking(start: float) -> Callable[[], float]:
    """A clock that goes a second further at every look."""
    numbers = itertools.count()
    return lambda: start + next(numbers)


def opened(place: Place, run: str = "r", **given: Any) -> Recorder:
    """The run, as an agent opens it."""
    if Path(place).is_dir():
        return record(run, folder=place, **given)
    return record(run, store=place, **given)


def work(place: Place, run: str = "r", *, exact: bool = False, steps: int = 7, start: float = 1.7e9) -> Recorder:
    """A run with calls, errors, a trim, a field that vanishes, notes, usage and a declared drop."""
    made = opened(place, run, goal="find the leak", clock=ticking(start))
    state = State("find the leak", ["look", "mend"])
    messages: list[dict[str, Any]] = [user("find the leak")]
    for number in range(1, steps + 1):
        state.verify(f"host{number % 3}", f"db{number}.local", by="dig", step=number)
        prompt = [*messages[-4:], user(state.render())]
        text = f"Error: no route {number}" if number % 3 == 0 else f"answer {number} " + "x" * (number * 40)
        messages += [call(f"c{number}", "dig", host=f"db{number % 4}"), result(f"c{number}", text)]
        held: dict[str, Any] = state.to_dict()
        if number == 5:
            held["facts"].pop("host1")
            messages = [messages[0], *messages[5:]]
        made.save(
            messages, state=held, notes=f"note {number}", prompt=prompt if exact else None, model="m-1", window=8000,
            system="You look.", tools=[{"name": "dig"}], usage={"input_tokens": 100 * number, "output_tokens": 5},
            drops=["plan[0]"] if number == 4 else None,
        )  # fmt: skip
    messages.append(said("it is mended"))
    made.save(messages, state=state.to_dict())
    return made


def until_equal(source: Opened, place: Place) -> None:
    """Looks again until what is followed is what a new look sees."""
    wanted = content(open_run(place, source.run.id).run)
    until = time.monotonic() + 20
    while content(source.run) != wanted or source.run.notice is not None:
        source.refresh()
        assert time.monotonic() < until, (source.run.notice, content(source.run), wanted)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """An empty place in a database."""
    yield str(tmp_path / "runs.db") if request.param == "sqlite" else postgres.server().database()
