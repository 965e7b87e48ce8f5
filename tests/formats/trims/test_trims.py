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
from agentmem.model import UNSIZED
from tests.cases.written import versions
from tests.formats.helpers import again, call, opened, result, user
from tests.formats.trims.loops import Cut, Message, Round, Saved, last, run, summarised

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


@settings(max_examples=200, deadline=None)
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
    assert all(step.size.prompt is None for step in lane.steps if step.unsure in UNSIZED)


@settings(max_examples=200, deadline=None)
@given(ROUNDS, CUTS, st.sampled_from(PLACES), st.booleans(), st.sets(st.integers(0, 13), min_size=1))
def test_of_a_file_that_was_looked_at_now_and_then_too(
    rounds: list[Round], cut: Cut, at: str, behind_results: bool, looked: set[int]
) -> None:
    saves = list(run(rounds, cut, at=at, behind_results=behind_results))
    seen = [saves[place] for place in sorted(looked) if place < len(saves)]
    assume(seen)
    first = seen[0].version
    answers = sum(message["role"] == "assistant" for message in first["messages"])
    whole = first["messages"][: len(seen[0].sent)] == seen[0].sent and first["messages"][1]["role"] == "user"
    assume(answers + 1 < first["step"] or (first["step"] == 1 and whole))  # else one version tells no cut
    with tempfile.TemporaryDirectory() as folder:
        lane = followed(seen, Path(folder))
    for step in lane.steps:
        if step.unsure is None and step.own is not None:
            assert shown(lane, step.n) == texts(saves[step.own - 1].sent)


STEADY = [Round()] * 12
ENDED = [*STEADY, Round(calls=0)]
UNEVEN = [Round(asks=n % 3 == 1, calls=1 + n % 2) for n in range(12)]


@pytest.mark.parametrize("lines", [False, True], ids=["overwritten", "a line a save"])
@pytest.mark.parametrize("cut", [last(6), last(8, head=2)], ids=["last 6", "first 2 and last 6"])
@pytest.mark.parametrize(
    ("at", "rounds", "sure"),
    [
        ("save", ENDED, True), ("save", UNEVEN, True), ("start", UNEVEN, True), ("never", UNEVEN, True),
        ("save", STEADY, False), ("call", STEADY, False), ("call", UNEVEN, False), ("answer", UNEVEN, False),
    ],
)  # fmt: skip
def test_where_it_is_cut_is_known_as_soon_as_steps_that_differ_tell_it(
    at: str, rounds: list[Round], sure: bool, cut: Cut, lines: bool, tmp_path: Path
) -> None:
    saves = list(run(rounds, cut, at=at))
    if lines:
        path = tmp_path / "run.jsonl"
        path.write_text("".join(json.dumps(save.version) + "\n" for save in saves))
        lane = opened(path).draft.main
    else:
        lane = followed(saves, tmp_path)
    right = [shown(lane, step.n) == texts(save.sent) for step, save in zip(lane.steps, saves, strict=True)]
    assert {step.unsure for step in lane.steps} == ({None} if sure else {None, "cut"})
    assert all(right) or not sure
    for step, save in zip(lane.steps, saves, strict=True):
        assert set(shown(lane, step.n)) <= set(texts(save.sent)), "what is shown stood in it in any case"


def test_a_loop_that_cuts_when_it_saves_and_one_that_cuts_before_it_calls_may_write_the_same(tmp_path: Path) -> None:
    saving, calling = run(STEADY, last(6), at="save"), run(STEADY, last(4), at="call")
    assert [save.version for save in saving] == [save.version for save in calling]


def test_what_left_when_it_was_saved_is_lost_at_the_next_step_and_not_at_this_one(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    saves = [save.version for save in run(ENDED, last(6), at="save")]
    source = versions(path, *saves[:-1])
    unsure = {step.number: step.unsure for step in source.run.main.steps}
    assert unsure == {n: "cut" if 3 <= n <= 12 else None for n in range(1, 14)}
    before = source.run.main.steps
    assert [drop.step for step in before for drop in step.drops][:2] == [3, 3]
    path.write_text(json.dumps(saves[-1]))
    assert source.refresh()
    steps = source.run.main.steps
    assert {step.unsure for step in steps} == {None}
    assert [drop.step for step in steps for drop in step.drops][:2] == [4, 4]
    assert [len(step.prompt) for step in before[:5]] == [2, 4, 4, 4, 4]
    assert [len(step.prompt) for step in steps[:5]] == [2, 4, 6, 6, 6]
    assert [step.tokens.prompt for step in steps] == [sum(one.tokens or 0 for one in step.prompt) for step in steps]
    assert {attempt.n for step in steps for attempt in step.attempts} == set(range(1, 13))


def test_a_summary_is_told_at_the_step_that_saw_it(tmp_path: Path) -> None:
    def cut(messages: list[Message]) -> list[Message]:
        if len(messages) <= 8:
            return messages
        return [messages[0], user("Progress so far: counted."), *messages[-6:]]

    saves = [save.version for save in run(ENDED, cut, at="save")]
    told = [versions(tmp_path / f"{count}.json", *saves[:count]).run.main.steps for count in (12, 13)]
    edges = [[step.number for step in steps if step.boundary is not None] for steps in told]
    assert edges == [[4], [5]]


def test_what_was_told_and_then_is_denied_is_not_known(tmp_path: Path) -> None:
    saves = list(run([*ENDED, Round(calls=3), Round()], last(6), at="save"))
    body = dict(saves[-1].version)
    body["messages"] = body["messages"][-5:]
    lane = followed([*saves[:-1], Saved(body, [])], tmp_path)
    assert {step.unsure for step in lane.steps[2:]} == {"cut"}


def test_a_list_that_begins_with_its_answer_was_cut_behind_it(tmp_path: Path) -> None:
    saves = list(run([Round(), Round(), Round(calls=3), Round(), Round()], last(4), at="save"))
    lane = followed(saves, tmp_path)
    assert [step.unsure for step in lane.steps] == [None, None, "between", None, None], "what came in at 3 may be gone"
    for step, save in zip(lane.steps, saves, strict=True):
        assert step.unsure == "between" or shown(lane, step.n) == texts(save.sent)


@pytest.mark.parametrize("keep", [1, 2, 6, 7])
def test_steps_before_the_first_version_seen_of_a_slid_list_are_unknown_and_not_empty(
    keep: int, tmp_path: Path
) -> None:
    saves = list(run([Round()] * 40, last(keep), at="call"))
    source = versions(tmp_path / "run.json", saves[30].version, saves[31].version)
    sizes = {step.number: step.tokens.prompt for step in source.run.main.steps}
    known = [number for number, size in sizes.items() if size is not None]
    assert known == [31, 32, 33]
    assert all(step.unsure == "unseen" and step.goal == "unknown" for step in source.run.main.steps if step.number < 31)
    assert 0 not in sizes.values() and source.run.main.steps[-1].unsure is None


def test_steps_of_versions_that_were_missed_are_unknown(tmp_path: Path) -> None:
    saves = list(run([Round()] * 12, last(6), at="save"))
    steps = versions(tmp_path / "run.json", saves[1].version, saves[8].version, saves[9].version).run.main.steps
    assert [(step.number, step.unsure) for step in steps] == [
        (1, None), (2, None), (7, "between"), (8, "between"), (9, "cut"), (10, "cut"), (11, None)
    ]  # fmt: skip
    assert steps[2].tokens.prompt is None


def test_numbers_that_count_something_else_make_no_prompt_unknown(tmp_path: Path) -> None:
    saves = list(run([Round()] * 6, last(99), at="never"))
    bodies = [{**save.version, "step": 40} for save in saves[3:]]
    steps = versions(tmp_path / "run.json", *bodies).run.main.steps
    assert {step.unsure for step in steps} == {None} and None not in {step.tokens.prompt for step in steps}


def test_a_list_that_is_rendered_anew_for_each_call_is_what_that_call_saw(tmp_path: Path) -> None:
    def version(step: int) -> dict[str, object]:
        state = {"goal": "count the meters", "facts": {"street": f"street {step}", "found": f"{step * 117} meters"}}
        rendered = f"facts.street: street {step}\nfacts.found: {step * 117} meters\n\nGOAL: count the meters"
        messages = [{"role": "system", "content": "Count."}, user(rendered), call(f"c{step}"), result(f"c{step}", "x")]
        return {"step": step, "messages": messages, "state": state}

    steps = versions(tmp_path / "run.json", *map(version, range(1, 8))).run.main.steps
    assert {step.unsure for step in steps} == {None}
    assert ["facts.street: street 5" in (one.head or "") for one in steps[4].prompt].count(True) == 1
