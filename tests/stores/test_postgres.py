"""A Postgres store as one sees it who may only look: rights, limits, restarts, passwords."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agentmem.checkpoint.postgres import PostgresStore
from agentmem.checkpoint.postgres.schema import trusted
from agentmem.cli import main as command
from agentmem.formats.source import Unreadable
from agentmem.formats.stores.postgres import PostgresRuns
from agentmem.inspect.discover import find
from agentmem.inspect.open import open_run
from agentmem.model import Run
from tests import postgres
from tests.formats.helpers import said, user
from tests.inspect_follow.following import Following, content
from tests.postgres import Server
from tests.stores.agents import opened, until_equal, work


def ask(address: str, sql: str, values: Any = None) -> list[tuple[Any, ...]]:
    with psycopg.connect(address, autocommit=True) as connection:
        done = connection.execute(trusted(sql), values)
        found: list[tuple[Any, ...]] = done.fetchall() if done.description else []
        return found


@pytest.fixture
def database() -> str:
    return postgres.server().database()


@pytest.fixture
def looker(database: str) -> Iterator[str]:
    """The address for a role that may only read the tables of the store."""
    PostgresStore(database).prepare()
    name = f"looker_{database.rpartition('@/')[2].partition('?')[0]}"
    for sql in (
        f"create role {name} login", f"grant usage on schema agentmem to {name}",
        f"grant select on all tables in schema agentmem to {name}",
    ):  # fmt: skip
        ask(database, sql)
    yield database.replace("postgres@", f"{name}@")
    ask(database, f"drop owned by {name}")
    ask(database, f"drop role {name}")


def last(run: Run | None) -> str | None:
    """The piece that stands last in the newest prompt."""
    return run.main.steps[-1].prompt[-1].head if run is not None else None


def ended(name: str) -> Callable[[Following], bool]:
    return lambda seen: seen.run is not None and seen.run.id == name and seen.run.status == "ended"


def test_a_role_that_may_only_select_is_enough_to_look_and_to_follow(database: str, looker: str) -> None:
    work(database)
    assert content(open_run(looker).run) == content(open_run(database).run)
    with Following(looker) as seen:
        seen.until(lambda s: s.run is not None)
        run = opened(database)
        run.save([*run.messages, user("told by the server")])
        seen.until(lambda s: last(s.run) == "told by the server")
        assert seen.trouble == ""


def test_sessions_that_look_can_change_nothing_have_limits_and_hold_no_transaction(database: str) -> None:
    work(database)
    store = PostgresRuns(database)
    assert store.first() == "r"
    limits = {"default_transaction_read_only": "on", "statement_timeout": "2s", "lock_timeout": "200ms",
              "idle_in_transaction_session_timeout": "5s"}  # fmt: skip
    assert {name: store._ask("select current_setting(%s)", [name])[0][0] for name in limits} == limits
    for sql in ("delete from agentmem.steps", "create table x(a int)", "select nextval('agentmem.calls_id_seq')"):
        with pytest.raises(Unreadable, match="read-only"):
            store._ask(sql, [])
    states = ask(database, "select distinct state from pg_stat_activity where application_name = 'agentmem'")
    assert states == [("idle",)]
    ask(database, "set lock_timeout = '2s'; alter table agentmem.steps add column more text")
    assert store.first() == "r"


def test_a_lock_on_the_tables_is_said_and_the_view_stays(database: str) -> None:
    run = work(database, steps=2)
    source = open_run(database)
    shown = content(source.run)
    with psycopg.connect(database) as holder:
        holder.execute("lock table agentmem.steps in access exclusive mode")
        while not source.refresh():
            pass
        assert "lock timeout" in str(source.run.notice) and content(source.run) == shown
    run.save([*run.messages, user("go on")])
    until_equal(source, database)
    assert source.run.notice is None


@pytest.mark.parametrize(
    ("address", "words"),
    [("postgresql://u:s3cret@127.0.0.1:1/d", r"postgresql://u@127\.0\.0\.1:1/d: cannot be reached: .*refused"),
     ("postgresql://u:s3cret@[::1", r"postgresql://\.\.\.: is no address of a database"),
     ("postgres://u:s3cret@h:x/d", r"cannot be reached|is no address")],
)  # fmt: skip
def test_what_cannot_be_reached_is_one_line_without_the_password(
    address: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["show", address]) == 2
    out, err = capsys.readouterr()
    assert re.search(words, err), err
    assert out == "" and err.count("\n") == 1 and "s3cret" not in err


def test_a_database_without_a_store_and_one_that_may_not_be_read_are_told_apart(database: str) -> None:
    with pytest.raises(Unreadable, match=r"/t\d+ at .*: no store of runs in it"):
        open_run(database)
    PostgresStore(database).prepare()
    with pytest.raises(Unreadable, match="no runs in it"):
        open_run(database)
    ask(database, "create role blind login")
    try:
        with pytest.raises(Unreadable, match=r"role blind may not read agentmem\.steps: grant usage"):
            open_run(database.replace("postgres@", "blind@"))
    finally:
        ask(database, "drop role blind")
    ask(database, "comment on table agentmem.steps is 'agentmem store of runs, version 12'")
    with pytest.raises(Unreadable, match="version 12 is newer"):
        open_run(database)


def test_no_password_is_in_any_value_that_is_shown(database: str) -> None:
    work(database)
    address = database.replace("postgres@", "postgres:s3cret@")
    source = open_run(address)
    shown = [row.path for row in find([address])] + [source.run.path]
    shown += [seg.where.source for step in source.run.main.steps for seg in step.prompt if seg.where]
    assert shown and not [text for text in shown if "s3cret" in text]
    segment = source.run.main.steps[-1].prompt[-1]
    assert source.raw(segment) is not None, "it is read again by the address as it was given"


def test_a_restart_while_following_is_said_and_no_step_is_missing() -> None:
    server = Server()
    server.start()
    try:
        address = server.database()
        run = work(address, steps=2)
        assert isinstance(run.store, PostgresStore)
        with Following(address) as seen:
            seen.until(lambda s: s.run is not None)
            shown = seen.steps
            server.stop()
            seen.until(lambda s: s.trouble or (s.run is not None and s.run.notice))
            assert seen.steps == shown, "the view stays"
            server.start()
            for number in range(3):
                run.save([*run.messages, user(f"after {number}")])
            seen.until(lambda s: last(s.run) == "after 2")
            seen.until(lambda s: s.trouble == "")
            assert seen.run is not None and seen.run.notice is None
            assert content(seen.run) == content(open_run(address).run)
    finally:
        server.remove()


def test_a_save_that_commits_late_is_found_after_newer_ones_of_other_runs(database: str) -> None:
    slow, fast = work(database, "slow", steps=2), work(database, "fast", steps=2)
    one, two = open_run(database, "slow"), open_run(database, "fast")
    assert isinstance(slow.store, PostgresStore)
    held = slow.store._link._connected()
    before = content(one.run)
    with held.transaction():
        slow.save([*slow.messages, user("late")])
        fast.save([*fast.messages, user("early")])
        assert two.refresh() and not one.refresh()
        assert content(one.run) == before
    while not one.refresh():
        pass
    assert (one.run.main.steps[-1].prompt[-1].head, two.run.main.steps[-1].prompt[-1].head) == ("late", "early")


def test_many_agents_that_save_at_once_are_followed_to_the_last_step(database: str) -> None:
    PostgresStore(database).prepare()
    wrong: list[BaseException] = []

    def agent(name: str) -> None:
        try:
            run = opened(database, name)
            for number in range(12):
                run.save([*run.messages, said(f"{name} {number}")])
            run.finish("done")
        except BaseException as error:  # noqa: BLE001  # told in the test's thread
            wrong.append(error)

    names = [f"agent{number}" for number in range(5)]
    threads = [threading.Thread(target=agent, args=(name,)) for name in names]
    with Following(database) as seen:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        seen.until(lambda s: {info.id for info in s.infos if info.status == "ended"} == set(names))
        for name in names:
            seen.watch.choose(name)
            seen.until(ended(name))
            assert seen.run is not None
            heads = [step.replies[-1].head for step in seen.run.main.steps]
            assert heads == [f"{name} {number}" for number in range(12)]


def test_the_command_lists_runs_and_shows_one(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    work(database, "one")
    work(database, "two")
    assert command(["show", database, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["schema"] == "agentmem.runs/1" and {row["id"] for row in listed["runs"]} == {"one", "two"}
    assert command(["show", database, "--run", "one", "--step", "2", "--json"]) == 0
    step = json.loads(capsys.readouterr().out)["steps"][0]
    assert any(piece["text"] for piece in step["prompt"])
    assert command(["ledger", database]) == 2, "which of the two"


def test_looking_at_files_does_not_load_the_driver(tmp_path: Path) -> None:
    work(str(tmp_path / "runs.db"))
    code = (
        "import sys; from agentmem.inspect.open import open_run; open_run(sys.argv[1]); "
        "print([name for name in ('psycopg', 'agentmem.checkpoint.postgres') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "runs.db")], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
