"""Sessions of opencode: rows updated in place, clearing, compactions, undo, subagents; the export; a live writer."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentmem.formats import NotYet, Unreadable, recognise
from agentmem.formats.agents.opencode.database import FORMAT
from agentmem.formats.reader import Reader
from tests.formats.agents.following import cuts, every_text_is_whole, heads, picture, read, run_of

ID = "ses_00000001seeds"
Store = Any


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data #1" / "opencode.db"


@pytest.fixture
def store(maker: Any, path: Path) -> Iterator[Store]:
    """A live writer with a database in WAL mode, as opencode keeps it."""
    path.parent.mkdir()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.executescript(maker.TABLES)
    yield maker.Store(connection)
    connection.close()


def asked(store: Store, text: str = "go") -> tuple[str, str]:
    session = store.session("title")
    return session, store.user(session, text)


def looked(path: Path, session: str) -> Reader:
    return read(path, session)


def test_parts_that_stream_are_updated_in_place(store: Store, path: Path) -> None:
    session, parent = asked(store)
    answer = store.begin(session, parent)
    part = store.part(session, answer, type="text", text="loo")
    reader = looked(path, session)
    lane = reader.draft.main
    assert [lane.tape.segment(ident).head for ident in lane.steps[0].replies] == ["loo"]
    store.update("part", part, text="look, and see")
    call = store.part(
        session, answer, type="tool", tool="bash", callID="c", state={"status": "running", "input": {"a": 1}}
    )
    assert reader.refresh()
    assert [lane.tape.segment(ident).head for ident in lane.steps[0].replies] == ["look, and see", 'bash {"a":1}']
    assert (lane.pending, lane.steps[0].usage) == (1, None)
    state = {"status": "completed", "input": {"a": 1}, "output": "fine", "metadata": {"exit": 0}}
    store.update("part", call, state=state)
    store.end(answer, 4000, "tool-calls")
    assert reader.refresh()
    assert (lane.pending, lane.steps[0].usage and lane.steps[0].usage.prompt) == (0, 4000)
    assert heads(lane, 2) == ["go", "look, and see", 'bash {"a":1}', "fine"]
    assert not reader.refresh()


def test_read_while_it_was_written_a_session_is_the_same_as_read_whole(maker: Any, path: Path) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.executescript(maker.TABLES)
    reader: list[Reader] = []

    class Watched(maker.Store):  # type: ignore[misc]  # a class of a script beside the tests
        def tick(self) -> int:
            if self.count > 1 and not reader:
                known = recognise(path)
                assert known is not None
                reader.append(known.open(path, maker_options(ID)))
            if reader:
                try:
                    reader[0].refresh()
                except NotYet:
                    pass  # no message yet
            return int(super().tick())

    assert maker.fill(Watched(connection)) == ID
    reader[0].refresh()
    grown, whole = picture(reader[0].draft), picture(read(path, ID).draft)
    assert grown["lanes"]["main"]["now"] == whole["lanes"]["main"]["now"]
    for seen, expected in zip(grown["lanes"]["main"]["steps"], whole["lanes"]["main"]["steps"], strict=True):
        assert seen["prompt"] == expected["prompt"]
        assert (seen["usage"], seen["calls"]) == (expected["usage"], expected["calls"])
    connection.close()


def maker_options(session: str) -> Any:
    from agentmem.formats import Options

    return Options(run_id=session)


def test_a_cleared_result_is_a_stub_from_then_on_and_stays_whole_in_the_store(store: Store, path: Path) -> None:
    session, parent = asked(store)
    first = store.begin(session, parent)
    big = store.tool(session, first, "read", "line of text\n" * 90, filePath="a")
    store.end(first, 900, "tool-calls")
    store.end(store.begin(session, parent), 900)
    store.prune(big)
    third = store.begin(session, store.user(session, "on"))
    store.part(session, third, type="text", text="done")
    store.end(third, 300)
    run = run_of(looked(path, session))
    assert [step.boundary and step.boundary.kind for step in run.main.steps] == [None, None, "prune"]
    assert [(drop.cause, drop.recorded) for drop in run.main.steps[2].drops] == [("shortened", True)]
    assert run.main.steps[2].prompt[2].head == "[Old tool result content cleared]"
    assert every_text_is_whole(path, session) >= 6


def test_a_compaction_keeps_its_tail_behind_the_summary(store: Store, path: Path, maker: Any) -> None:
    session, parent = asked(store, "the first request")
    first = store.begin(session, parent)
    store.part(session, first, type="text", text="one")
    store.end(first, 900)
    kept = store.user(session, "second request")
    marker = store.message(session, role="user")
    store.part(session, marker, type="compaction", auto=True, tail_start_id=kept)
    summary = store.begin(session, marker, summary=True)
    store.part(session, summary, type="text", text="the sum")
    reader = looked(path, session)
    assert len(reader.draft.main.tape.live) == 5  # not finished: nothing is cut yet
    store.end(summary, 950)
    last = store.begin(session, store.user(session, "Continue", synthetic=True))
    store.part(session, last, type="text", text="two")
    store.end(last, 300)
    reader.refresh()
    lane = reader.draft.main
    assert heads(lane, 3) == ["What did we do so far?", "the sum", "second request", "Continue"]
    assert lane.steps[2].boundary is not None and lane.steps[2].boundary.kind == "compaction"


def test_an_answer_that_failed_is_shown_and_not_sent(store: Store, path: Path) -> None:
    session, parent = asked(store)
    store.part(
        session,
        store.begin(session, parent, error={"name": "APIError", "data": {"message": "busy"}}),
        type="text",
        text="ha",
    )
    done = store.begin(session, parent)
    store.part(session, done, type="text", text="yes")
    store.end(done, 400)
    lane = looked(path, session).draft.main
    assert heads(lane, 2) == ["go"]
    assert [lane.tape.segment(ident).head for ident in lane.steps[0].replies] == ["ha", "APIError: busy"]


def test_what_is_undone_leaves_the_prompt_and_deleted_messages_too(store: Store, path: Path) -> None:
    session, parent = asked(store)
    store.end(store.begin(session, parent), 400)
    wrong = store.user(session, "wrong")
    reader = looked(path, session)
    revert = json.dumps({"messageID": wrong})
    store.connection.execute("UPDATE session SET revert=?, time_updated=?", (revert, store.tick()))
    assert reader.refresh()
    assert heads(reader.draft.main, 2) == ["go"]
    store.connection.execute("UPDATE session SET revert=NULL")
    store.connection.execute("DELETE FROM message WHERE id=?", (wrong,))
    last = store.begin(session, store.user(session, "right"))
    store.part(session, last, type="text", text="yes")
    reader.refresh()
    step = run_of(reader).main.steps[1]
    assert ([one.head for one in step.prompt], step.boundary and step.boundary.kind) == (["go", "right"], "rewind")


def test_the_writer_is_never_held_up_and_nothing_is_made_beside_its_file(store: Store, path: Path) -> None:
    session, parent = asked(store)
    store.part(session, store.begin(session, parent), type="text", text="x")
    before = sorted(one.name for one in path.parent.iterdir())
    reader = looked(path, session)
    store.connection.execute("BEGIN IMMEDIATE")
    store.user(session, "more")
    reader.refresh()
    store.connection.execute("COMMIT")
    assert reader.refresh()
    assert "more" in heads(reader.draft.main, 2)
    assert sorted(one.name for one in path.parent.iterdir()) == before


def test_a_database_at_rest_is_left_as_it_is(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "opencode.db"
    copy.write_bytes((root / "sample_runs" / "opencode" / "opencode.db").read_bytes())
    connection = sqlite3.connect(copy)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.close()
    data = copy.read_bytes()
    run_of(read(copy, ID))
    assert [one.name for one in tmp_path.iterdir()] == ["opencode.db"]
    assert copy.read_bytes() == data


def test_the_wal_of_a_writer_that_was_killed_is_read_and_kept(store: Store, path: Path, tmp_path: Path) -> None:
    session, parent = asked(store, "only in the log")
    store.part(session, store.begin(session, parent), type="text", text="x")
    dead = tmp_path / "dead"
    dead.mkdir()
    for ending in ("", "-wal"):
        (dead / f"opencode.db{ending}").write_bytes(Path(f"{path}{ending}").read_bytes())
    held = {one.name: one.read_bytes() for one in dead.iterdir()}
    assert looked(dead / "opencode.db", session).draft.goal == "only in the log"
    assert {one.name: one.read_bytes() for one in dead.iterdir()} == held


@pytest.mark.parametrize("data", [
    "not json", "[]", "3",
    '{"type": "tool"}', '{"type": "tool", "state": []}', '{"type": "hologram"}', "{}", '{"type": "text"}',
    '{"type": "tool", "state": {"status": "completed", "output": 3, "metadata": [], "time": 4}}', "", "\x00",
])  # fmt: skip
def test_a_part_of_any_shape_stops_nothing(store: Store, path: Path, data: str) -> None:
    session, parent = asked(store)
    answer = store.begin(session, parent)
    row = ("prt_odd", answer, session, 1, 1, data)
    store.connection.execute("INSERT INTO part VALUES (?,?,?,?,?,?)", row)
    store.part(session, answer, type="text", text="done")
    run = run_of(looked(path, session))
    assert "done" in [reply.head for reply in run.main.steps[0].replies]


def test_a_database_that_is_damaged_is_told_in_one_line(root: Path, tmp_path: Path) -> None:
    data = (root / "sample_runs" / "opencode" / "opencode.db").read_bytes()
    path = tmp_path / "opencode.db"
    for damaged in (data[:5000], data[:4096] + b"\xff" * (len(data) - 4096)):
        path.write_bytes(damaged)
        known = recognise(path)
        if known is not None and known.name == "opencode":
            with pytest.raises((Unreadable, NotYet), match=r"opencode\.db: "):
                read(path, ID)


def test_the_samples_tell_what_was_lost(root: Path) -> None:
    folder = root / "sample_runs" / "opencode"
    run, export = run_of(read(folder / "opencode.db", ID)), run_of(read(folder / "export.json"))
    steps = run.main.steps
    assert [(step.n, step.boundary.kind) for step in steps if step.boundary] == [(5, "prune"), (7, "compaction")]
    assert {drop.name for drop in steps[6].drops if drop.what == "plan"} == {"plan[0]", "plan[1]"}
    assert (steps[6].goal, len(steps), run.main.steps[4].attempts[0].outcome) == ("present", 9, "denied")
    child = run.lanes[1]
    assert (child.kind, child.spawned_by, len(child.steps)) == ("subagent", ("main", 3), 1)
    for ours, theirs in zip(steps, export.main.steps, strict=True):
        assert [one.key for one in ours.prompt] == [one.key for one in theirs.prompt]
    assert every_text_is_whole(folder / "opencode.db", ID) == every_text_is_whole(folder / "export.json") + 3


def test_cut_anywhere_an_export_opens_with_its_whole_messages(root: Path, tmp_path: Path) -> None:
    data = (root / "sample_runs" / "opencode" / "export.json").read_bytes()
    opened = [draft for _, draft in cuts(tmp_path / "e.json", data, 200) if not isinstance(draft, str)]
    steps = [len(draft.main.steps) for draft in opened]
    assert len(opened) > 180 and steps == sorted(steps) and steps[-1] >= 8


def test_sessions_are_listed_by_database_and_found_by_folder(root: Path, home: Path) -> None:
    place = home / "data" / "opencode"
    place.mkdir(parents=True)
    path = place / "opencode.db"
    path.write_bytes((root / "sample_runs" / "opencode" / "opencode.db").read_bytes())
    assert FORMAT.places is not None and FORMAT.runs is not None
    assert list(FORMAT.places(Path("/srv/seeds"))) == [path]
    assert list(FORMAT.places(Path("/srv/mill"))) == []
    rows = list(FORMAT.runs(path))
    assert [(row.id, row.steps, row.goal) for row in rows] == [(ID, 9, "Sort the seed catalogue")]


@pytest.mark.parametrize("when", ["soon", b"\xff", "", 1.5, float("inf")])
@pytest.mark.parametrize("table", ["message", "part"])
def test_a_time_of_any_type_stops_nothing_and_another_one_tells_of_a_change(
    store: Store, path: Path, table: str, when: object
) -> None:
    session, parent = asked(store)
    answer = store.begin(session, parent)
    part = store.part(session, answer, type="text", text="look")
    reader = looked(path, session)
    connection = sqlite3.connect(path, isolation_level=None)
    data = {"message": answer, "part": part}
    connection.execute(f"UPDATE {table} SET time_updated=? WHERE id=?", (when, data[table]))
    connection.close()
    reader.refresh()
    assert len(reader.draft.main.steps) == 1 and reader.draft.notice is None
    assert len(looked(path, session).draft.main.steps) == 1
