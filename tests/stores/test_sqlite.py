"""An SQLite store is only ever read: nothing beside it, the writer never held up; and what no store is, is said."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentmem.checkpoint.sqlite import APPLICATION, SqliteStore
from agentmem.formats.source import NotYet, Unreadable
from agentmem.inspect.discover import NoRuns
from agentmem.inspect.open import open_run
from tests.checkpoint.helpers import as_nobody, open_folder, posix
from tests.formats.helpers import user
from tests.inspect_follow.following import content
from tests.stores.agents import opened, until_equal, work


def listing(folder: Path) -> dict[str, tuple[bytes, int]]:
    # The time of a `-shm` is that of the last reader's lock: memory that is shared, no content.
    return {
        path.name: (path.read_bytes(), 0 if path.name.endswith("-shm") else path.stat().st_mtime_ns)
        for path in folder.iterdir()
    }


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "being written"])
def test_looking_changes_and_makes_nothing(tmp_path: Path, closed: bool) -> None:
    path = tmp_path / "runs.db"
    run = work(str(path))
    if closed:
        assert isinstance(run.store, SqliteStore)
        run.store.close()
    before = listing(tmp_path)
    source = open_run(str(path))
    assert source.run.main.steps and source.refresh() in (True, False)
    after = listing(tmp_path)
    for name in ("runs.db", "runs.db-wal"):
        assert after.get(name) == before.get(name)
    assert after.keys() == before.keys()


def test_a_store_whose_writer_was_killed_is_read_with_what_is_in_its_log_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    code = (
        "import os, sys; from agentmem.checkpoint.recorder import record\n"
        "run = record('r', store=sys.argv[1])\n"
        "for n in range(5): run.save([{'role': 'user', 'content': f'message {m}'} for m in range(n + 1)])\n"
        "os.kill(os.getpid(), 9)"
    )
    root = Path(__file__).parent.parent.parent
    subprocess.run([sys.executable, "-c", code, str(path)], env={**os.environ, "PYTHONPATH": str(root)}, check=False)
    (tmp_path / "runs.db-shm").unlink()
    before = listing(tmp_path)
    assert "runs.db-wal" in before
    run = open_run(str(path)).run
    assert len(run.main.steps[-1].prompt) == 5
    assert listing(tmp_path) == before


@posix
def test_another_user_who_may_only_read_sees_it() -> None:
    with open_folder() as folder:
        path = folder / "runs.db"
        run = work(str(path))
        assert isinstance(run.store, SqliteStore)
        shown = content(open_run(str(path)).run)
        run.store.close()
        path.chmod(0o644)
        folder.chmod(0o755)

        def look() -> None:
            assert content(open_run(str(path)).run) == shown

        as_nobody(look)


def test_a_locked_store_keeps_the_last_good_view_says_busy_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentmem.formats.shared.sqlite._BUSY_SECONDS", 0.05)
    path = tmp_path / "runs.db"
    run = work(str(path), steps=2)
    source = open_run(str(path))
    shown = content(source.run)
    assert isinstance(run.store, SqliteStore)
    run.store.close()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("pragma journal_mode = delete")
    holder.execute("begin exclusive")
    holder.execute("update runs set step = step")
    while not source.refresh():
        pass
    assert source.run.notice == "busy"
    assert content(source.run) == shown
    with pytest.raises(NotYet, match=r"runs\.db: busy"):
        open_run(str(path))
    holder.execute("rollback")
    holder.close()
    again = opened(str(path))
    again.save([*again.messages, user("go on")])
    until_equal(source, str(path))
    assert source.run.notice is None


def test_following_does_not_hold_up_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    run = work(str(path), steps=2)
    source = open_run(str(path))
    messages: list[Any] = list(run.messages)
    for number in range(40):
        messages.append(user(f"more {number}"))
        run.save(messages)  # raises if it had to wait too long
        source.refresh()
    assert isinstance(run.store, SqliteStore) and run.store._db is not None
    held, _, left = run.store._db.execute("pragma wal_checkpoint(truncate)").fetchone()
    assert (held, left) == (0, 0), "no reader holds the log"


def test_a_line_that_was_changed_is_a_problem_and_the_others_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    work(str(path), steps=6)
    with sqlite3.connect(path) as db:
        db.execute("update steps set line = replace(line, 'answer 3', 'answer 4') where seq = 4")
        db.execute("update steps set line = replace(line, 'no route 3', 'no route 4') where seq = 3")
    run = open_run(str(path)).run
    problems = [(one.where, one.what) for one in run.problems]
    assert ("save 3", problems[0][1]) == problems[0] and problems[0][1].startswith("damaged: checksum mismatch")
    assert any("1 saves are missing before it" in what or "1 save" in what for _, what in problems)
    assert [step.own for step in run.main.steps] == [1, 2], "what stands on the changed lines is not known"


def _half(path: Path) -> None:
    work(str(path)).store.close()  # type: ignore[attr-defined]  # the SQLite store
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2 // 4096 * 4096])


def _newer(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("create table steps(a)")
        db.execute(f"pragma application_id = {APPLICATION}")
        db.execute("pragma user_version = 5")


def _other(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("create table customers(a)")


def _empty_store(path: Path) -> None:
    store = SqliteStore(path)
    try:
        store.prune("r", keep=1)
    finally:
        store.close()  # else whenever its last reference goes, which changes the files beside it


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.write_bytes(b""), "empty"),
        (lambda path: path.write_bytes(bytes(range(256)) * 40), "no SQLite database"),
        (lambda path: path.write_bytes(b"name;value\n" * 400), "a text, no SQLite database"),
        (_half, "half a database, [0-9,]+ of [0-9,]+ bytes"),
        (lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(40)), "half a database, 56 bytes"),
        (_newer, "version 5 is newer"),
        (_other, r"a database of no known format \(tables: customers\)"),
        (_empty_store, "no runs in it"),
    ],
    ids=["0 bytes", "junk", "text", "half", "its start", "newer", "other", "no runs"],
)
def test_what_is_no_store_with_runs_is_said_in_one_clear_line(tmp_path: Path, make: Any, words: str) -> None:
    path = tmp_path / "runs.db"
    try:
        make(path)
    except OSError:
        pass  # there is no run to prune: the empty store is made
    before = listing(tmp_path)
    with pytest.raises((Unreadable, NotYet, NoRuns), match=rf"runs\.db: {words}") as told:
        open_run(str(path))
    assert "\n" not in str(told.value)
    assert listing(tmp_path) == before


@pytest.mark.parametrize("value", ["x", b"\xff", "", 1.5, float("inf")])
@pytest.mark.parametrize("column", ["steps.step", "steps.at", "runs.step", "runs.at"])
def test_a_column_of_another_type_hides_no_run(tmp_path: Path, column: str, value: object) -> None:
    path = tmp_path / "runs.db"
    work(str(path), "r")
    work(str(path), "other")
    whole = len(open_run(str(path), "r").run.main.steps)
    table, _, name = column.partition(".")
    with sqlite3.connect(path) as connection:
        connection.execute(f"update {table} set {name} = ? where run_id = 'r'", (value,))
    connection.close()
    assert len(open_run(str(path), "r").run.main.steps) == whole
    assert len(open_run(str(path), "other").run.main.steps) == whole
