"""Where a loop cuts its list, before the call or behind the answer: what is shown as known is what the call saw."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentmem.formats.draft import LaneDraft
from agentmem.formats.messages import split
from tests.formats.helpers import again, opened
from tests.formats.loops import Cut, Message, Round, Saved, last, run, summarised

ROUNDS = st.lists(st.builds(Round, st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=14)
CUTS = st.one_of(
    st.builds(last, st.integers(2, 9)), st.builds(last, st.integers(4, 9), st.just(2)),
    st.builds(summarised, st.integers(6, 9), st.integers(1, 3)),
)  # fmt: skip
PLACES = ("start", "call", "answer", "save", "never")


def followed(saves: Sequence[Saved], folder: Path) -> LaneDraft:
    """The lane of a file that was looked at after each save."""
    path = folder / "run.json"
    reader = opened(path, saves[0].version)
    for save in saves[1:]:
        again(reader, path, save.version)
    return reader.draft.main


def texts(messages: Sequence[Message]) -> list[str | None]:
    return [part.text for message in messages for part in split(message).parts]


def shown(lane: LaneDraft, n: int) -> list[str | None]:
    return [lane.tape.segment(ident).head for ident in lane.tape.ids(n)]


@settings(max_examples=6000, deadline=None)
@given(ROUNDS, CUTS, st.sampled_from(PLACES), st.booleans())
def test_whatever_the_loop_what_is_shown_as_known_is_what_the_call_saw(
    rounds: list[Round], cut: Cut, at: str, behind_results: bool
) -> None:
    saves = list(run(rounds, cut, at=at, behind_results=behind_results))
    assume(saves[0].version["messages"][: len(saves[0].sent)] == saves[0].sent)  # one version alone tells no cut
    with tempfile.TemporaryDirectory() as folder:
        lane = followed(saves, Path(folder))
    by_number = {step.own or step.n: step for step in lane.steps}
    for number, save in enumerate(saves, 1):
        step = by_number.get(number)
        if step is not None and step.unsure is None:
            assert shown(lane, step.n) == texts(save.sent)
    assert all(step.size.prompt is None for step in lane.steps if step.unsure == "unseen")
