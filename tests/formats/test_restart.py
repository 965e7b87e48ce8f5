"""A new run in the same file is told apart from what goes back within one run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentmem.formats.reader import Reader
from agentmem.inspect.history import HistoryStore
from agentmem.inspect.open import open_run
from agentmem.inspect.telling.explain import explain_header
from tests.formats.helpers import again, call, opened, result, said, user
from tests.inspect_follow.following import closed, content, dump

NEW_RUN = "a new run in the same file"


def loop(steps: int, first: int = 1, word: str = "look", **more: Any) -> dict[str, Any]:
    """A checkpoint of so many steps, each with a note of its own; the list begins with the call of step `first`."""
    held = [user("Count the sheep in field 12.")]
    for number in range(first, steps + 1):
        held += [call(f"{word}{number}", n=number), result(f"{word}{number}", f"sheep {number}")]
    notes = {f"n{number}": f"sheep number {number}" for number in range(1, steps + 1)}
    return {"step": steps, "messages": held, "notes": notes, **more}


def own(reader: Reader) -> list[int | None]:
    return [step.own for step in reader.draft.main.steps]


@pytest.mark.parametrize(
    ("last", "version"),
    [(9, loop(1)), (9, loop(0)), (9, loop(1, word="see")), (40, loop(2)), (9, loop(6, word="see"))],
    ids=["from 1", "before its first call", "other calls", "seen late", "seen late with other calls"],
)  # fmt: skip
def test_a_count_that_begins_again_is_a_new_run(tmp_path: Path, last: int, version: dict[str, Any]) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, loop(last))
    again(reader, path, version)
    assert own(reader) == list(range(1, version["step"] + 1))
    assert (reader.draft.notice, reader.draft.problems, reader.draft.gaps) == (NEW_RUN, [], [])
    again(reader, path, loop(version["step"] + 1, word="see" if "see1" in str(version) else "look"))
    assert own(reader) == list(range(1, version["step"] + 2))


def test_a_new_run_inherits_no_loss_no_fall_and_no_circle(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    dump(path, loop(5))
    source = open_run(str(path))
    for step in (1, 2, 3):
        dump(path, loop(step))
        assert source.refresh()
    run = source.run
    assert [step.own for step in run.main.steps if not step.open] == [1, 2, 3]
    assert not run.cycles and not any(step.drops or step.boundary for step in run.main.steps)


@pytest.mark.parametrize(
    "version",
    [loop(7), loop(7, first=6), loop(8, first=9), {**loop(7), "messages": [*loop(7)["messages"], said("anew")]}],
    ids=["back to 7", "back to 7 with a short list", "cut", "back to 7 and on"],
)  # fmt: skip
def test_what_goes_back_within_a_run_is_no_new_run(tmp_path: Path, version: dict[str, Any]) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, loop(9))
    again(reader, path, version)
    assert len(own(reader)) >= 9 and reader.draft.notice is None
    lane = reader.draft.main
    assert set(lane.tape.ids(9)) - set(lane.tape.live), "what was taken back has left"


def test_a_step_that_counts_within_a_turn_begins_no_run(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, loop(3))
    again(reader, path, {**loop(4), "step": 1})
    again(reader, path, {**loop(5, first=3), "step": 2})
    assert len(own(reader)) == 5 and reader.draft.notice is None
    assert any("goes backwards: 1 after 3" in problem.what for problem in reader.draft.problems)


def test_a_compaction_under_the_next_number_begins_no_run(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, loop(9))
    short = [user("Summary: nine fields"), call("x"), result("x", "y")]
    again(reader, path, {"step": 10, "messages": short, "notes": ""})
    assert len(own(reader)) == 10 and own(reader)[-1] == 10


def test_a_file_that_was_deleted_and_made_again_holds_a_new_run(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, loop(9))
    path.unlink()
    reader.refresh()
    again(reader, path, loop(5))
    assert own(reader) == [1, 2, 3, 4, 5] and reader.draft.notice == NEW_RUN


def test_a_bare_list_that_was_deleted_and_made_again_is_a_new_run(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, loop(4)["messages"])
    path.unlink()
    reader.refresh()
    again(reader, path, loop(2, word="see")["messages"])
    assert len(own(reader)) == 2


def test_another_run_id_is_a_new_run_whatever_its_step(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, loop(3, run_id="one"))
    again(reader, path, loop(5, word="see", run_id="two"))
    assert own(reader) == [1, 2, 3, 4, 5] and reader.draft.id == "two"


def test_a_gap_stays_a_gap_where_the_count_goes_back(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    reader = opened(path, loop(5, first=3))
    for step in (20, 21, 22):
        again(reader, path, loop(step, first=step - 2))
    back = loop(19, first=17)
    for version in (back, {**back, "step": 20, "messages": [*back["messages"], *loop(1, word="see")["messages"][1:]]}):
        again(reader, path, version)
    assert [(step.n, step.gap) for step in reader.draft.main.steps if step.gap] == [(1, 2), (4, 12)]
    again(reader, path, loop(30, first=28, word="late"))
    assert [(step.n, step.gap) for step in reader.draft.main.steps if step.gap] == [(1, 2), (4, 12), (13, 7)]


def test_versions_of_a_new_run_are_kept_apart_from_those_before(tmp_path: Path) -> None:
    path, place = tmp_path / "a.json", tmp_path / "h.db"
    store = HistoryStore(place)
    dump(path, loop(9))
    live = open_run(str(path), keeper=store)
    for step in (1, 2, 3):
        dump(path, loop(step))
        live.refresh()
    store.close()
    store = HistoryStore(place)
    assert [len(version.messages) for version in store.past(str(path))] == [3, 5, 7]
    assert content(open_run(str(path), keeper=store).run) == content(live.run)
    store.close()
    (row,) = HistoryStore.listing(place)
    assert row.versions == 4, "of one file one row"


def test_a_run_that_began_while_nobody_looked_is_a_new_run(tmp_path: Path) -> None:
    path, place = tmp_path / "a.json", tmp_path / "h.db"
    dump(path, loop(9))
    store = HistoryStore(place)
    open_run(str(path), keeper=store)
    store.close()
    dump(path, loop(6))
    store = HistoryStore(place)
    run = open_run(str(path), keeper=store).run
    assert closed(run) == 6 and not any(step.drops for step in run.main.steps)
    store.close()


def test_of_two_inspectors_the_second_joins_the_run_that_the_first_saw_begin(tmp_path: Path) -> None:
    path, place = tmp_path / "a.json", tmp_path / "h.db"
    stores = [HistoryStore(place), HistoryStore(place)]
    dump(path, loop(9))
    sources = [open_run(str(path), keeper=store) for store in stores]
    for step in (1, 2, 3):
        dump(path, loop(step))
        for source in sources:
            source.refresh()
    for store in stores:
        store.close()
    store = HistoryStore(place)
    assert [len(version.messages) for version in store.past(str(path))] == [3, 5, 7]
    store.close()


def test_of_a_new_run_it_is_not_said_that_what_is_shown_was_read_before(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    dump(path, loop(9))
    source = open_run(str(path))
    dump(path, loop(1))
    source.refresh()
    said_of_it = explain_header(source.run, source.run.main.steps[0])
    assert any(line.endswith("what stands here was read since") for line in said_of_it)
