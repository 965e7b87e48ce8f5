"""The SQLite store: what a person can ask it, what may stand in its place, damage, a full disk, a fork."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import sys
import threading
from pathlib import Path
from random import Random

import pytest

from agentmem.checkpoint.recorder import history, load, record
from agentmem.checkpoint.sqlite import APPLICATION, SqliteStore
from agentmem.checkpoint.store import CheckpointError, ConflictError, DamagedError, NewerSchemaError, SaveError
from tests.checkpoint.helpers import as_nobody, message, names, open_folder, posix


def some(path: Path, count: int = 3) -> SqliteStore:
    store = SqliteStore(path)
    run = record("parser", store=store, goal="parse it")
    messages = list(run.messages)
    for _ in range(count):
        messages.append(message(len(messages)))
        run.save(messages, state={"order_id": f"A{run.step + 1}", "facts": {"port": run.step + 1}})
    return store


def test_the_state_of_every_step_is_asked_for_with_plain_sql(tmp_path: Path) -> None:
    some(tmp_path / "runs.db")
    record("other", store=tmp_path / "runs.db").save([message(0)])
    db = sqlite3.connect(tmp_path / "runs.db")
    rows = db.execute(
        "select step, status, goal, json_extract(state, '$.order_id'), json_extract(state, '$.facts.port') "
        "from steps where run_id = 'parser' order by step"
    ).fetchall()
    assert rows == [(n, "live", "parse it", f"A{n}", n) for n in (1, 2, 3)]
    newest = db.execute("select run_id, step, status, goal, state from runs order by run_id").fetchall()
    assert newest == [
        ("other", 1, "live", None, None),
        ("parser", 3, "live", "parse it", '{"order_id":"A3","facts":{"port":3}}'),
    ]
    lately = db.execute("select count(*) from steps where at > datetime('now', '-1 hour')").fetchone()
    assert lately == (4,)
    said = db.execute("select json_extract(line, '$.add[0].content') from steps where step = 2").fetchone()
    assert said == ("message 1",)
    db.close()


@posix
@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_its_files_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    old = os.umask(umask)
    try:
        store = some(tmp_path / "a" / "runs.db")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a").iterdir()} == {0o600}
    store.close()


def test_the_head_of_the_file_says_whose_it_is_while_all_else_is_in_the_log(tmp_path: Path) -> None:
    store = some(tmp_path / "runs.db")
    head = (tmp_path / "runs.db").read_bytes()
    assert int.from_bytes(head[68:72], "big") == APPLICATION and int.from_bytes(head[60:64], "big") == 1
    assert names(tmp_path) == ["runs.db", "runs.db-shm", "runs.db-wal"]
    assert store.load("parser").step == 3
    store.close()
    assert names(tmp_path) == ["runs.db"]


def test_looking_makes_no_file(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "deep" / "runs.db")
    assert store.runs() == [] and store.resume("parser").checkpoint is None and store.calls("parser") == []
    assert names(tmp_path) == []


def test_an_empty_file_becomes_a_store_and_one_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    path.touch()
    store = some(path, 1)
    for name in names(tmp_path):
        (tmp_path / name).unlink()
    assert store.runs() == []
    run = record("parser", store=store)
    run.save([message(0)])
    assert load("parser", store=path).step == 1


def test_other_databases_and_newer_ones_are_refused_and_left_alone(tmp_path: Path) -> None:
    junk, other, newer = tmp_path / "junk.db", tmp_path / "other.db", tmp_path / "newer.db"
    junk.write_bytes(b"no database at all, but long enough to be taken for one " * 40)
    with sqlite3.connect(other) as db:
        db.execute("create table runs(a)")
    with sqlite3.connect(newer) as db:
        db.execute("create table runs(a)")
        db.execute(f"pragma application_id = {APPLICATION}")
        db.execute("pragma user_version = 9")
    before = [path.read_bytes() for path in (junk, other, newer)]
    for path, kind, words in (
        (junk, DamagedError, "not a database"), (other, CheckpointError, "not one of runs"),
        (newer, NewerSchemaError, "version 9 is newer"),
    ):  # fmt: skip
        with pytest.raises(kind, match=rf"{path.name}: .*{words}"):
            record("parser", store=path).save([message(0)])
        with pytest.raises(kind, match=words):
            load("parser", store=path)
    assert [path.read_bytes() for path in (junk, other, newer)] == before
    assert names(tmp_path) == ["junk.db", "newer.db", "other.db"]


@posix
@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_what_is_no_file_is_said_and_never_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "runs.db"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match=f"runs.db: is a .*{kind}"):
        record("parser", store=path).save([message(0)])


def test_a_line_that_was_changed_is_never_loaded_and_what_is_good_is_offered(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    some(path, 4).close()
    db = sqlite3.connect(path)
    random = Random(5)
    for seq in (4, 2):
        (line,) = db.execute("select line from steps where seq = ?", (seq,)).fetchone()
        at = random.randrange(len(line))
        wrong = line[:at] + chr(ord(line[at]) ^ 1) + line[at + 1 :]
        db.execute("update steps set line = ? where seq = ?", (wrong, seq))
        db.commit()
        with pytest.raises(DamagedError, match=rf"run 'parser': save {seq}: damaged: .*rebuild=True") as told:
            load("parser", store=path)
        assert f"It is good to step {seq - 1}" in str(told.value) and "\n" not in str(told.value)
    assert load("parser", store=path, step=1).state == {"order_id": "A1", "facts": {"port": 1}}
    with pytest.raises(DamagedError, match=r"save 2: damaged: .*rebuild=True gives the 1 that can"):
        next(history("parser", store=path))
    found = list(history("parser", store=path, rebuild=True))
    assert [version.step for version in found] == [1] and found[0].damaged == 2
    with pytest.raises(DamagedError):
        record("parser", store=path)
    run = record("parser", store=path, rebuild=True)
    assert run.step == 1
    run.save([*run.messages, message(9)])
    assert load("parser", store=path).seq == 5 and load("parser", store=path).messages[-1] == message(9)
    db.close()


def test_a_row_that_was_deleted_is_missed(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    some(path, 4).close()
    with sqlite3.connect(path) as db:
        db.execute("delete from steps where seq = 2")
    with pytest.raises(DamagedError, match=r"save 3 does not follow save 1.*good to step 1"):
        load("parser", store=path)


def test_a_full_disk_leaves_what_was_saved_and_the_next_save_works(tmp_path: Path) -> None:
    store = some(tmp_path / "runs.db")
    run = record("parser", store=store)
    assert store._db is not None
    pages = store._db.execute("pragma page_count").fetchone()[0]
    store._db.execute(f"pragma max_page_count = {pages}")
    with pytest.raises(SaveError, match=r"runs\.db: database or disk is full; step 4 was not saved") as told:
        run.save([*run.messages, message(9, "x" * 200_000)])
    assert told.value.errno == errno.ENOSPC and "\n" not in str(told.value)
    assert load("parser", store=tmp_path / "runs.db").step == 3
    store._db.execute("pragma max_page_count = 1000000")
    assert run.save([*run.messages, message(9, "x" * 200_000)]) == 4
    assert load("parser", store=tmp_path / "runs.db").messages[-1] == message(9, "x" * 200_000)


@posix
def test_a_folder_that_cannot_be_written_is_said_and_the_agent_goes_on() -> None:
    with open_folder() as folder:
        folder.chmod(0o555)

        def work() -> None:
            run = record("parser", store=folder / "runs.db")
            with pytest.raises(SaveError, match=r"runs\.db.*Permission denied") as told:
                run.save([message(0)], state={"a": 1})
            assert told.value.errno == errno.EACCES

        as_nobody(work)
        folder.chmod(0o777)


@posix
def test_a_forked_process_has_a_connection_of_its_own(tmp_path: Path) -> None:
    store = some(tmp_path / "runs.db", 1)

    def work() -> None:
        run = record("child", store=store)
        for number in range(5):
            run.save([message(number)])

    as_nobody_or_self(work)
    run = record("parser", store=store)
    run.save([*run.messages, message(5)])
    assert store.runs() == ["child", "parser"] and load("child", store=store).seq == 5


def as_nobody_or_self(work: object) -> None:
    """In a child, with the rights of this process."""
    child = os.fork()
    if child == 0:  # pragma: no cover - in the child
        code = 1
        try:
            work()  # type: ignore[operator]  # a function
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def test_bytes_grow_with_the_steps_and_not_with_their_square(tmp_path: Path) -> None:
    sizes = []
    store = SqliteStore(tmp_path / "runs.db")
    run = record("parser", store=store)
    messages = []
    for number in range(1, 601):
        messages.append(message(number, f"{number} " * 40))
        run.save(messages, state={"step": number, "facts": {f"f{number % 12}": str(number)}})
        if number in (300, 600):
            assert store._db is not None
            store._db.execute("pragma wal_checkpoint(truncate)")
            sizes.append((tmp_path / "runs.db").stat().st_size)
    assert sizes[1] < 2.3 * sizes[0]


def test_an_address_that_is_no_store_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a store is a file that ends in \.db"):
        record("parser", store="runs.txt")


def test_many_who_make_the_file_at_the_same_moment_all_have_it(tmp_path: Path) -> None:
    """Nobody may take the half-made file of another for a stranger's, nor give up while another turns its log on."""
    wrong: list[Exception] = []

    def first(path: Path, name: str, ready: threading.Barrier) -> None:
        ready.wait()
        try:
            record(name, store=SqliteStore(path)).save([message(0)])
        except Exception as error:  # noqa: BLE001  # told in the thread that checks
            wrong.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for turn in range(40):
            path, ready = tmp_path / f"{turn}.db", threading.Barrier(3)
            threads = [threading.Thread(target=first, args=(path, f"run-{number}", ready)) for number in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert wrong == []
            assert sorted(SqliteStore(path).runs()) == ["run-0", "run-1", "run-2"]
    finally:
        sys.setswitchinterval(before)


def test_a_number_of_more_than_64_bits_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    some(path)
    run = record("parser", store=path)
    with pytest.raises(ValueError, match="step: a number of 71 bits"):
        run.save([message(0)], step=2**70)
    with pytest.raises(ValueError, match="step: a number of 71 bits"):
        load("parser", store=path, step=2**70)
    assert run.save([message(0)]) == 4


@posix
def test_a_file_that_was_replaced_beside_a_live_run_is_seen_before_a_save_goes_into_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    run = record("parser", store=SqliteStore(path))
    run.save([message(0)])
    some(tmp_path / "other.db").close()
    for ending in ("-wal", "-shm"):
        (tmp_path / f"runs.db{ending}").unlink()
    (tmp_path / "other.db").replace(path)
    with pytest.raises(ConflictError):
        run.save([message(0), message(1)])
    assert load("parser", store=path).step == 3
