"""A run looks the same in the inspector whichever of our stores it is kept in, and is followed alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentmem.cli import shapes
from agentmem.inspect.open import Opened, SeveralRuns, open_run
from agentmem.inspect.watch import TextReady
from agentmem.model import Run
from tests.formats.helpers import call, result, user
from tests.inspect_follow.following import Following, content
from tests.stores.agents import Place, database, opened, work

__all__ = ["database"]


def told(source: Opened) -> str:
    """All that `show --json` says of the run, and every whole text, without the place."""
    run = source.run
    lane = run.main
    steps = [shapes.step_whole(step, source.text, lambda drop: drop.head) for step in lane.steps]
    body = {**shapes.run(run), "steps": steps, "path": None}
    text = json.dumps(body, indent=1)
    lines = [line for line in text.split("\n") if not any(f'"{k}":' in line for k in ("source", "offset", "line"))]
    return "\n".join(line for line in lines if '"length"' not in line)


@pytest.mark.parametrize("exact", [False, True], ids=["reconstructed", "exact"])
def test_every_value_and_every_whole_text_is_the_same(database: Place, tmp_path: Path, exact: bool) -> None:
    (tmp_path / "runs").mkdir()
    for place in (str(tmp_path / "runs"), database):
        work(place, exact=exact).finish("done")
    files, here = open_run(str(tmp_path / "runs")), open_run(database)
    assert content(here.run) == content(files.run)
    assert told(here) == told(files)
    assert here.run.status == files.run.status == "ended"
    assert len(here.run.main.steps) > 6 and any(step.drops for step in here.run.main.steps)


def test_several_runs_are_listed_and_one_is_chosen(database: Place) -> None:
    work(database, "one")
    work(database, "two", steps=2).finish("failed")
    with pytest.raises(SeveralRuns, match="holds 2 runs; choose one with --run: ") as several:
        open_run(database)
    rows = {row.id: row for row in several.value.runs}
    assert (rows["one"].goal, rows["one"].status, rows["one"].steps) == ("find the leak", "stale", 8)
    assert (rows["two"].status, rows["two"].format, rows["two"].steps) == ("ended", "agentmem", 3)
    assert open_run(database, "two").run.id == "two"
    assert open_run(database, "on").run.main.steps[0].own == 1, "the start of an id will do"


def test_a_run_is_followed_save_by_save_without_reading_it_again(database: Place) -> None:
    run = work(database, steps=3)
    source = open_run(database)
    seen = [source.run]
    messages = list(run.messages)
    for number in range(10, 14):
        messages += [user("more"), call(f"c{number}", "dig", host="x"), result(f"c{number}", f"answer {number}")]
        run.save(messages)
        while not source.refresh():
            pass
        seen.append(source.run)
    assert [len(one.main.steps) for one in seen] == sorted({len(one.main.steps) for one in seen})
    assert content(source.run) == content(open_run(database).run)
    assert source.refresh() is False


def test_what_is_pruned_stays_in_view_and_a_new_look_begins_later(database: Place) -> None:
    run = work(database, steps=6)
    source = open_run(database)
    before = content(source.run)
    assert run.store.prune("r", keep=2) > 0
    source.refresh()
    assert content(source.run) == before and source.run.notice is None
    run.save([*run.messages, user("go on")])
    while not source.refresh():
        pass
    assert source.run.main.steps[0].own == 1
    assert open_run(database).run.main.steps[0].own != 1


def test_a_run_that_is_removed_stays_in_view_and_one_begun_anew_is_read_again(database: Place) -> None:
    run = work(database, steps=3)
    source = open_run(database)
    shown = content(source.run)
    run.store.remove("r")
    while not source.refresh():
        pass
    assert source.run.notice == "run removed" and content(source.run) == shown
    work(database, steps=5, start=1.8e9)
    while not source.refresh():
        pass
    assert source.run.notice == "run replaced, read again"
    assert content(source.run) == content(open_run(database).run)


def test_the_app_is_told_of_saves_of_runs_that_appear_and_of_whole_texts(database: Place) -> None:
    work(database, "one", steps=2)
    with Following(database) as seen:
        seen.until(lambda s: s.run is not None and s.run.id == "one")
        later = work(database, "two", steps=2)
        seen.until(lambda s: {info.id for info in s.infos} == {"one", "two"})
        one = opened(database, "one")
        messages = [*one.messages, call("c9", "dig", host="z"), result("c9", "found it " + "y" * 500)]
        one.save(messages)
        steps = seen.steps
        seen.until(lambda s: s.run is not None and _holds(s.run, "found it"))
        assert seen.steps >= steps
        run = seen.run
        assert run is not None
        ident = next(seg.id for seg in run.main.steps[-1].prompt if (seg.head or "").startswith("found it"))
        seen.watch.ask_text("main", [ident])
        seen.until(lambda s: s.answers(TextReady))
        assert seen.answers(TextReady)[0].text == "found it " + "y" * 500
        later.save([*later.messages, user("more of two")])
        seen.watch.choose("two")
        seen.until(lambda s: s.run is not None and s.run.id == "two" and _holds(s.run, "more of two"))
        assert seen.trouble == ""


def _holds(run: Run, text: str) -> bool:
    return any((seg.head or "").startswith(text) for seg in run.main.steps[-1].prompt)
