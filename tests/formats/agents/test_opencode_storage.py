"""opencode's older storage: read as its database is, followed file by file, found by folder; nothing that is half there
is lost or put in the wrong place."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from agentmem.cli import main
from agentmem.formats import NotYet, Options, Unreadable, recognise
from agentmem.formats.agents.opencode.storage import FORMAT
from agentmem.formats.reader import Reader
from agentmem.inspect.discover import EVERYWHERE, find
from tests.formats.agents.following import every_text_is_whole, heads, picture, read, reader_of, run_of

ID = "ses_00000001seeds"
Files = Any


@pytest.fixture
def files(maker: Any, tmp_path: Path) -> Files:
    return maker.Files(tmp_path / "data #1" / "storage")


def asked(files: Files, text: str = "go") -> tuple[str, str]:
    session = files.session("title")
    return session, files.user(session, text)


def place(files: Files, ident: str) -> Path:
    return Path(files.places[ident])


def looked(files: Files, session: str) -> Reader:
    return read(place(files, session))


def aged(path: Path, seconds: float = 60) -> None:
    """Nobody has written that file for so long."""
    os.utime(path, (time.time() - seconds,) * 2)


def steps_of(reader: Reader) -> list[Any]:
    return [lane["steps"] for lane in picture(reader.draft)["lanes"].values()]


def test_the_tree_is_read_as_the_database_of_the_same_session_is(root: Path) -> None:
    tree = read(next((root / "sample_runs" / "opencode-storage").glob(f"session/*/{ID}.json")))
    database = read(root / "sample_runs" / "opencode" / "opencode.db", ID)
    ours, theirs = picture(tree.draft), picture(database.draft)
    assert {**ours, "id": theirs["id"]} == theirs
    assert not tree.draft.problems and tree.draft.notice is None
    steps = run_of(tree).main.steps
    assert [(step.n, step.boundary.kind) for step in steps if step.boundary] == [(5, "prune"), (7, "compaction")]
    child = run_of(tree).lanes[1]
    assert (child.kind, child.spawned_by, len(child.steps)) == ("subagent", ("main", 3), 1)


@pytest.mark.parametrize("in_place", [False, True])
def test_read_while_it_was_written_a_session_is_the_same_as_read_whole(
    maker: Any, tmp_path: Path, in_place: bool
) -> None:
    root = tmp_path / "storage"
    reader: list[Reader] = []

    class Watched(maker.Files):  # type: ignore[misc]  # a class of a script beside the tests
        def tick(self) -> int:
            main_file = self.places.get(ID)
            if main_file is not None and main_file.exists():
                if not reader:
                    reader.append(reader_of(main_file))
                try:
                    reader[0].refresh()
                except NotYet:
                    assert not list(root.glob("message/*/*"))
            return int(super().tick())

    Watched.in_place = in_place
    assert maker.fill(Watched(root)) == ID
    reader[0].refresh()
    grown, whole = picture(reader[0].draft), picture(read(next(root.glob(f"session/*/{ID}.json"))).draft)
    assert [lane["from"] for lane in grown["lanes"].values()] == [lane["from"] for lane in whole["lanes"].values()]
    for name, lane in whole["lanes"].items():
        assert grown["lanes"][name]["now"] == lane["now"]
        for seen, expected in zip(grown["lanes"][name]["steps"], lane["steps"], strict=True):
            assert seen["prompt"] == expected["prompt"]
            assert (seen["usage"], seen["calls"]) == (expected["usage"], expected["calls"])


@pytest.mark.parametrize("in_place", [False, True])
def test_parts_that_stream_are_updated_in_place(files: Files, in_place: bool) -> None:
    files.in_place = in_place
    session, parent = asked(files)
    answer = files.begin(session, parent)
    part = files.part(session, answer, type="text", text="loo")
    reader = looked(files, session)
    lane = reader.draft.main
    assert not reader.refresh()
    for text in ("look", "pool", "look, and see"):  # one of them as long as the one before
        files.update("part", part, text=text)
        assert reader.refresh()
        assert [lane.tape.segment(ident).head for ident in lane.steps[0].replies] == [text]
    call = files.tool(session, answer, "bash", "fine", code=0, command="ls")
    files.end(answer, 4000, "tool-calls")
    assert reader.refresh()
    assert (lane.pending, lane.steps[0].usage and lane.steps[0].usage.prompt) == (0, 4000)
    assert heads(lane, 2) == ["go", "look, and see", 'bash {"command":"ls"}', "fine"]
    assert run_of(reader).main.steps[0].attempts[0].outcome == "ok" and call
    assert not reader.refresh()


def test_a_file_that_is_half_written_is_waited_for_and_what_follows_it_too(files: Files) -> None:
    session, parent = asked(files)
    reader = looked(files, session)
    said = files.part(session, parent, type="text", text="and this")
    whole = place(files, said).read_bytes()
    place(files, said).write_bytes(whole[:20])
    answer = files.begin(session, parent)
    files.part(session, answer, type="text", text="yes")
    reader.refresh()
    assert run_of(reader).notice == "being written"
    assert not reader.draft.main.steps and not reader.draft.problems
    place(files, said).write_bytes(whole)
    assert reader.refresh() and run_of(reader).notice is None
    assert heads(reader.draft.main, 1) == ["go", "and this"]
    info = place(files, answer).read_bytes()
    place(files, answer).write_bytes(b"")
    reader.refresh()
    assert run_of(reader).notice == "being written" and len(reader.draft.main.steps) == 1
    place(files, answer).write_bytes(info)
    assert reader.refresh() and run_of(reader).notice is None


def test_no_message_is_taken_in_before_one_that_is_half_written(files: Files) -> None:
    session, parent = asked(files)
    reader = looked(files, session)
    half = files.user(session, "second")
    whole = place(files, half).read_bytes()
    place(files, half).write_bytes(whole[:40])
    files.end(files.begin(session, half), 300)
    reader.refresh()
    assert (run_of(reader).notice, reader.draft.main.steps) == ("being written", [])
    place(files, half).write_bytes(whole)
    assert reader.refresh() and parent
    assert heads(reader.draft.main, 1) == ["go", "second"]


def test_a_second_write_in_the_same_tick_of_the_clock_is_seen(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentmem.formats.agents.opencode.tree._TICK_NS", 10**12)
    files.in_place = True
    session, parent = asked(files)
    part = files.part(session, files.begin(session, parent), type="text", text="look")
    reader = looked(files, session)
    status = place(files, part).stat()
    files.update("part", part, text="pool")
    os.utime(place(files, part), ns=(status.st_atime_ns, status.st_mtime_ns))
    assert reader.refresh()
    assert [reader.draft.main.tape.segment(ident).head for ident in reader.draft.main.steps[0].replies] == ["pool"]
    assert not reader.refresh()


def test_a_file_that_nobody_finishes_is_a_problem_once_and_none_when_it_is_mended(files: Files) -> None:
    session, parent = asked(files)
    answer = files.begin(session, parent)
    broken, empty = (files.part(session, answer, type="text", text=text) for text in ("one", "two"))
    files.part(session, answer, type="text", text="three")
    whole = place(files, broken).read_bytes()
    place(files, broken).write_bytes(whole[:30])
    place(files, empty).write_bytes(b"")
    for part in (broken, empty):
        aged(place(files, part))
    reader = looked(files, session)
    assert [one.head for one in run_of(reader).main.steps[0].replies] == ["three"]
    told = {problem.where: problem.what for problem in reader.draft.problems}
    assert set(told) == {f"part/{answer}/{broken}.json", f"part/{answer}/{empty}.json"}
    assert told[f"part/{answer}/{empty}.json"] == "empty" and "not JSON" in told[f"part/{answer}/{broken}.json"]
    reader.refresh()
    assert len(reader.draft.problems) == 2
    place(files, broken).write_bytes(whole)
    assert reader.refresh() and [problem.what for problem in reader.draft.problems] == ["empty"]


def test_a_message_that_comes_late_stands_where_its_id_says(files: Files) -> None:
    session, parent = asked(files, "first")
    late = place(files, parent).rename(place(files, parent).with_suffix(".away"))
    files.end(files.begin(session, files.user(session, "second")), 300)
    reader = looked(files, session)
    assert heads(reader.draft.main, 1) == ["second"]
    late.rename(place(files, parent))
    assert reader.refresh()
    assert heads(reader.draft.main, 1) == ["first", "second"] and reader.draft.goal == "first"


def test_a_session_appears_before_its_first_message_and_may_go_away(files: Files) -> None:
    session = files.session("title")
    reader = reader_of(place(files, session))
    with pytest.raises(NotYet, match="no message yet"):
        reader.refresh()
    files.user(session, "go")
    assert reader.refresh() and heads(reader.draft.main, 1) == ["go"]
    place(files, session).unlink()
    assert reader.refresh() and reader.draft.notice == "file gone"
    assert not reader.refresh() and heads(reader.draft.main, 1) == ["go"]
    with pytest.raises(Unreadable, match="no such file"):
        FORMAT.open(place(files, session), Options()).refresh()


def test_a_result_that_is_cleared_far_back_is_seen(files: Files) -> None:
    session, parent = asked(files)
    first = files.begin(session, parent)
    big = files.tool(session, first, "read", "line of text\n" * 90, filePath="a")
    files.end(first, 900, "tool-calls")
    for _ in range(400):
        files.end(files.begin(session, parent), 900)
    reader = looked(files, session)
    files.prune(big)
    for _ in range(3):  # so many messages are looked at in turn
        reader.refresh()
    files.begin(session, files.user(session, "on"))
    reader.refresh()
    step = run_of(reader).main.steps[401]
    assert step.boundary is not None and step.boundary.kind == "prune"
    assert step.prompt[2].head == "[Old tool result content cleared]"


def test_the_summary_of_older_versions_begins_the_prompt(files: Files) -> None:
    session = files.session("title")
    files.user(session, "the first request")
    old = {"role": "assistant", "modelID": "m"}
    answer = files.message(session, **old)
    files.part(session, answer, type="text", text="one")
    files.update("message", answer, time={"created": files.now, "completed": files.tick()})
    summary = files.message(session, **old, summary=True)
    files.part(session, summary, type="text", text="the sum")
    reader = looked(files, session)
    assert heads(reader.draft.main, 3) == ["the first request", "one", "the sum"]  # not finished: nothing is cut yet
    files.update("message", summary, time={"created": files.now, "completed": files.tick()})
    files.user(session, "go on")
    last = files.message(session, **old)
    files.part(session, last, type="text", text="two")
    assert reader.refresh()
    step = run_of(reader).main.steps[2]
    assert [piece.head for piece in step.prompt] == ["the sum", "go on"]
    assert step.boundary is not None and (step.boundary.kind, step.boundary.recorded) == ("compaction", True)
    assert reader.draft.goal == "the first request" and step.goal == "missing"


def test_what_is_undone_leaves_the_prompt_and_deleted_messages_and_parts_too(files: Files) -> None:
    session, parent = asked(files)
    files.end(files.begin(session, parent), 400)
    wrong = files.user(session, "wrong")
    reader = looked(files, session)
    held = files.read(session)
    files.write(place(files, session), {**held, "revert": {"messageID": wrong}})
    assert reader.refresh()
    assert heads(reader.draft.main, 2) == ["go"]
    files.write(place(files, session), held)
    files.remove(wrong)
    last = files.begin(session, files.user(session, "right"))
    gone = files.part(session, last, type="text", text="no")
    reader.refresh()
    step = run_of(reader).main.steps[1]
    assert ([one.head for one in step.prompt], step.boundary and step.boundary.kind) == (["go", "right"], "rewind")
    files.remove(gone)
    files.part(session, last, type="text", text="yes")
    assert reader.refresh() and heads(reader.draft.main, 3) == ["go", "right", "yes"]


def test_the_todo_list_beside_the_session_is_the_plan(files: Files) -> None:
    session, parent = asked(files)
    reader = looked(files, session)
    files.todo(session, [{"content": "dig", "status": "completed"}, {"content": "sow", "status": "pending"}])
    assert reader.refresh()
    assert [(one.name, one.value, one.done) for one in reader.draft.main.fields] == [
        ("plan[0]", "dig", True), ("plan[1]", "sow", False),
    ]  # fmt: skip
    assert not reader.refresh() and parent


def test_a_subagent_that_begins_while_it_is_followed_is_a_lane(files: Files) -> None:
    session, parent = asked(files)
    files.end(files.begin(session, parent), 400, "tool-calls")
    files.begin(session, parent)
    reader = looked(files, session)
    child = files.session("a search", session)
    files.user(child, "search")
    grandchild = files.session("a search in the search", child)
    files.end(files.begin(grandchild, files.user(grandchild, "deeper")), 100)
    assert reader.refresh()
    lanes = reader.draft.lanes
    assert (lanes[child].kind, lanes[child].spawned_by, heads(lanes[child], 1)) == ("subagent", ("main", 2), ["search"])
    assert len(lanes[grandchild].steps) == 1
    files.end(files.begin(child, parent), 100)
    assert reader.refresh() and len(lanes[child].steps) == 1 and not reader.refresh()


@pytest.mark.parametrize("data", [
    "not json", "[]", "3", "null", '{"type": "tool"}', '{"type": "tool", "state": []}', '{"type": "hologram"}', "{}",
    '{"type": "text"}', '{"type": "tool", "state": {"status": "completed", "output": 3, "time": 4}}', "", "\x00",
])  # fmt: skip
def test_a_file_of_any_shape_stops_nothing(files: Files, data: str) -> None:
    session, parent = asked(files)
    answer = files.begin(session, parent)
    files.part(session, answer, type="text", text="done")
    for odd in (f"part/{answer}/prt_0.json", f"message/{session}/msg_99999999.json", f"todo/{session}.json",
                "session/odd/ses_0.json", f"session/{files.places[session].parent.name}/ses_0.json"):  # fmt: skip
        path = files.root / odd
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(data)
        aged(path)
    run = run_of(looked(files, session))
    assert "done" in [reply.head for reply in run.main.steps[0].replies]
    assert list(FORMAT.tree(files.root)) if FORMAT.tree is not None else False


def test_hostile_text_reaches_no_terminal(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "the \x1b]0;owned\x07\x1b[2J\u202e\u2066\u200b\x85 seeds"
    session, parent = asked(files, hostile)
    answer = files.begin(session, parent)
    files.tool(session, answer, hostile, hostile, command=hostile)
    (files.root / "todo").mkdir()
    (files.root / "todo" / f"{session}.json").write_text(hostile)
    aged(files.root / "todo" / f"{session}.json")
    for command in ("show", "drops"):
        assert main([command, str(place(files, session))]) in (0, 1)
        said = capsys.readouterr()
        assert not set(said.out + said.err) & set("\x1b\x07\u202e\u2066\u200b\x85")


def test_every_text_can_be_fetched_from_its_own_file(root: Path) -> None:
    sample = next((root / "sample_runs" / "opencode-storage").glob(f"session/*/{ID}.json"))
    assert every_text_is_whole(sample) == every_text_is_whole(root / "sample_runs" / "opencode" / "opencode.db", ID)


def test_sessions_are_listed_by_folder_and_found_by_their_own(root: Path, home: Path) -> None:
    data = home / "data" / "opencode"
    shutil.copytree(root / "sample_runs" / "opencode-storage", data / "storage")
    first = next((data / "storage").glob(f"session/*/{ID}.json"))
    known = recognise(first)
    assert known is FORMAT and FORMAT.places is not None
    assert list(FORMAT.places(Path("/srv/seeds"))) == [first]
    assert list(FORMAT.places(Path("/srv/mill"))) == []
    for target in (str(data / "storage"), EVERYWHERE):
        (row,) = find([target])
        assert (row.path, row.id, row.format, row.problem) == (str(first), ID, "opencode-storage", None)
        assert row.goal == "Sort the seed catalogue by year of harvest. Never change packets.json."
        assert row.model == "claude-sonnet-4-5"


def test_a_session_that_the_database_took_over_is_listed_once(root: Path, home: Path) -> None:
    data = home / "data" / "opencode"
    shutil.copytree(root / "sample_runs" / "opencode-storage", data / "storage")
    shutil.copy(root / "sample_runs" / "opencode" / "opencode.db", data / "opencode.db")
    assert [row.format for row in find([EVERYWHERE])] == ["opencode"]
    with sqlite3.connect(data / "opencode.db") as connection:
        connection.execute("DELETE FROM session")
    connection.close()
    assert {row.format for row in find([EVERYWHERE])} == {"opencode-storage"}


@pytest.mark.parametrize("value", [
    {"id": "msg_1", "sessionID": "ses_1"}, {"info": {"id": "ses_1"}, "messages": []}, {"id": "ses_1"}, {"id": 3},
    {"id": "ses_1", "projectID": "p", "messages": []},
])  # fmt: skip
def test_other_objects_are_no_session(tmp_path: Path, value: object) -> None:
    path = tmp_path / "ses_1.json"
    path.write_text(json.dumps(value))
    assert not FORMAT.recognise(path, path.read_bytes())
