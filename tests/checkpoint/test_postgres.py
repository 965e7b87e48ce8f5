"""The Postgres store: what a person can ask it, servers that go away, who may do what, commits that come late."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from agentmem.checkpoint.guard import InDoubt, ResultNotRecorded
from agentmem.checkpoint.postgres import Listener, MissingExtra, PostgresStore, Unreachable, shown
from agentmem.checkpoint.recorder import history, load, record
from agentmem.checkpoint.store import CheckpointError, ConflictError, DamagedError, NewerSchemaError, SaveError
from tests.checkpoint.helpers import message
from tests.postgres import Server


def some(store: PostgresStore | str, count: int = 3, run_id: str = "parser") -> Any:
    run = record(run_id, store=store, goal="parse it")
    messages = list(run.messages)
    for _ in range(count):
        messages.append(message(len(messages)))
        run.save(messages, state={"order_id": f"A{run.step + 1}", "note": "nul \0 and \\u0000"})
    return run


def ask(address: str, sql: str, values: object = ()) -> list[tuple[Any, ...]]:
    with psycopg.connect(address, autocommit=True) as connection:
        done = connection.execute(sql, values)  # type: ignore[call-overload]  # SQL of these tests
        found: list[tuple[Any, ...]] = done.fetchall() if done.description else []
        return found


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server that a test may stop."""
    server = Server()
    server.start()
    yield server
    server.remove()


def test_the_state_of_every_step_is_asked_for_with_plain_sql(database: str) -> None:
    some(database)
    rows = ask(
        database,
        "select step, status, goal, state->>'order_id', state->>'note', at > now() - interval '1 hour' "
        "from agentmem.steps where run_id = 'parser' order by seq",
    )
    assert rows == [(n, "live", "parse it", f"A{n}", "nul \ufffd and \\u0000", True) for n in (1, 2, 3)]
    assert ask(database, "select run_id, step, seq, state->>'order_id' from agentmem.runs") == [("parser", 3, 3, "A3")]
    assert ask(database, "select line->'add'->0->>'content' from agentmem.steps where seq = 2") == [("message 1",)]
    assert load("parser", store=database).state == {"order_id": "A3", "note": "nul \0 and \\u0000"}, "exactly"


def test_a_line_that_was_changed_is_never_loaded(database: str) -> None:
    some(database)
    ask(database, "update agentmem.steps set line = replace(line::text, 'message 2', 'massage 2')::json where seq = 3")
    with pytest.raises(DamagedError, match=r"save 3: damaged: checksum mismatch.*good to step 2") as told:
        load("parser", store=database)
    assert "\n" not in str(told.value)


def test_a_newer_store_and_a_table_of_something_else_are_refused_and_left_alone(database: str) -> None:
    some(database, 1)
    ask(database, "comment on table agentmem.steps is 'agentmem store of runs, version 7'")
    with pytest.raises(NewerSchemaError, match="version 7 is newer"):
        record("other", store=database).save([message(0)])
    ask(database, "drop schema agentmem cascade")
    ask(database, "create schema agentmem")
    ask(database, "create table agentmem.steps(a int)")
    with pytest.raises(CheckpointError, match="a table of something else; nothing was changed"):
        record("other", store=PostgresStore(database)).save([message(0)])
    assert ask(database, "select count(*) from pg_tables where schemaname = 'agentmem'") == [(1,)]


def test_several_processes_may_make_the_tables_at_once(database: str) -> None:
    wrong: list[BaseException] = []

    def work(number: int) -> None:
        try:
            some(PostgresStore(database), 2, f"run{number}")
        except BaseException as error:  # noqa: BLE001  # told in the test's thread
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and PostgresStore(database).runs() == ["run0", "run1", "run2", "run3"]


# -- servers that go away ---------------------------------------------------------------------------------------------


def test_a_server_that_is_down_at_the_start_is_said_at_once_and_without_the_password() -> None:
    address = "postgresql://agent:s3cret@127.0.0.1:1/runs?connect_timeout=1"
    with pytest.raises(Unreachable, match=r"^postgresql://agent@127\.0\.0\.1:1/runs: cannot be reached: ") as told:
        record("parser", store=address)
    assert "s3cret" not in str(told.value) and "\n" not in str(told.value) and "refused" in str(told.value)


@pytest.mark.parametrize("address", ["postgresql://u:s3cret@h:port/x", "postgresql://u:s3cret@h/?x=s3cret", "postgres://["])
def test_what_is_no_address_is_said_without_the_password(address: str) -> None:
    with pytest.raises(CheckpointError, match=r"is no address|cannot be reached") as told:
        record("parser", store=address)
    assert "s3cret" not in str(told.value) and "\n" not in str(told.value)


def test_an_address_is_shown_with_who_where_and_what_alone() -> None:
    assert shown("postgres://me:pw@db.example:5433/runs?sslmode=require") == "postgresql://me@db.example:5433/runs"
    assert shown("postgresql://me@/runs?host=/tmp/x&password=pw") == "postgresql://me@/runs at /tmp/x"


def test_a_restart_in_the_middle_loses_no_step_and_doubles_none(own_server: Server) -> None:
    address = own_server.database()
    store = PostgresStore(address)
    run = some(store, 2)
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            own_server.start()

    store._link._sleep = sleep
    for how in (signal.SIGINT, signal.SIGQUIT):
        own_server.stop(how)
        pauses.clear()
        run.save([*run.messages, message(9)])
        assert pauses[:3] == [0.05, 0.1, 0.2], "growing pauses"
    assert [version.seq for version in history("parser", store=address)] == [1, 2, 3, 4]


def test_a_server_that_stays_away_is_an_error_in_the_end_and_the_run_goes_on_later(own_server: Server) -> None:
    address = own_server.database()
    run = some(PostgresStore(address, retry=0.3), 1)
    own_server.stop()
    with pytest.raises(CheckpointError, match="cannot be reached"):
        run.save([*run.messages, message(5)])
    own_server.start()
    run.save([*run.messages, message(5)])
    assert [version.step for version in history("parser", store=address)] == [1, 2]


class Lost:
    """Loses the connection of a store at one moment: after a statement was committed, before its answer came."""

    def __init__(self, store: PostgresStore, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
        self.times = 0
        real = psycopg.Connection.execute

        def execute(connection: psycopg.Connection[Any], query: Any, *rest: Any, **more: Any) -> Any:
            done = real(connection, query, *rest, **more)
            if word in str(query) and not self.times and store._link.connection is connection:
                self.times += 1
                if "calls" in word:
                    real(connection, "commit")
                connection.close()
                raise psycopg.OperationalError("server closed the connection unexpectedly")
            return done

        monkeypatch.setattr(psycopg.Connection, "execute", execute)


def test_a_save_whose_answer_was_lost_is_stored_once(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = PostgresStore(database)
    run = some(store, 1)
    lost = Lost(store, monkeypatch, "with newest as")
    run.save([*run.messages, message(5)])
    assert lost.times == 1
    run.save([*run.messages, message(6)])
    assert [version.seq for version in history("parser", store=database)] == [1, 2, 3]


def test_an_intent_whose_answer_was_lost_is_one_attempt(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = PostgresStore(database)
    run = some(store, 1)
    for word in ("insert into agentmem.calls", "update agentmem.calls"):
        lost = Lost(store, monkeypatch, word)
        with run.guard.call("send", {"n": word}) as call:
            call.result = "ok"
        assert lost.times == 1
        monkeypatch.undo()
    assert [(call.attempt, call.outcome) for call in store.calls("parser")] == [(1, "ok"), (1, "ok")]


def test_a_save_that_is_never_answered_is_no_save_of_another(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = PostgresStore(database, retry=0)
    run = some(store, 1)
    Lost(store, monkeypatch, "with newest as")
    with pytest.raises(Unreachable):
        run.save([*run.messages, message(5)])
    assert run.save([*run.messages, message(5)]) == 2, "the same step is saved again"
    assert [(version.seq, version.step) for version in history("parser", store=database)] == [(1, 1), (2, 2), (3, 2)]


def test_a_result_that_is_never_answered_is_given_and_not_lost(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = PostgresStore(database, retry=0)
    guard = some(store, 1).guard
    Lost(store, monkeypatch, "update agentmem.calls")
    with pytest.raises(ResultNotRecorded) as told, guard.call("send", {}) as call:
        call.result = "sent"
    assert told.value.result == "sent" and "cannot be reached" in str(told.value)
    with guard.call("send", {}) as call:
        assert call.done and call.result == "sent"
    assert [(one.attempt, one.outcome) for one in store.calls("parser")] == [(1, "ok")]


def test_a_restart_between_intent_and_result_makes_no_second_call(own_server: Server) -> None:
    address = own_server.database()
    run = some(PostgresStore(address), 1)
    sent = []
    with run.guard.call("send", {"to": "sam"}) as call:
        own_server.stop(signal.SIGQUIT)
        sent.append("sam")
        call.result = "sent"
        own_server.start()
    again = record("parser", store=address)
    with again.guard.call("send", {"to": "sam"}) as call:
        assert call.done and call.result == "sent"
    assert len(sent) == 1
    other = record("parser", store=address)
    with pytest.raises(SystemExit), other.guard.call("pay", {}):
        raise SystemExit
    with pytest.raises(InDoubt), record("parser", store=address).guard.call("pay", {}):
        pytest.fail("it was made again")


# -- who may do what --------------------------------------------------------------------------------------------------


def as_role(database: str, name: str, *grants: str) -> str:
    """The address of a new role with these grants."""
    ask(database, f"drop role if exists {name}")
    ask(database, f"create role {name} login")
    for grant in grants:
        ask(database, f"grant {grant} to {name}")
    return database.replace("postgres@", f"{name}@")


@pytest.fixture
def roles(database: str) -> Iterator[str]:
    yield database
    for name in ("looker", "writer", "stranger"):
        if ask(database, "select 1 from pg_roles where rolname = %s", [name]):
            ask(database, f"drop owned by {name}")
            ask(database, f"drop role {name}")


def test_a_role_that_may_only_read_can_load_and_listen_but_not_save(roles: str) -> None:
    some(roles, 2)
    address = as_role(roles, "looker", "usage on schema agentmem", "select on all tables in schema agentmem")
    assert load("parser", store=address).step == 2
    listener = Listener(address)
    assert listener.wait(1.0) is None, "the first time: look at everything"
    some(roles, 1)
    assert listener.wait(5.0) == {"parser"}
    listener.close()
    with pytest.raises(SaveError, match=r"step 3 was not saved: permission denied .*; what was saved before stands"):
        record("other", store=address).save([message(0)], step=3)


def test_a_role_that_may_write_but_not_make_tables_can_save(roles: str) -> None:
    PostgresStore(roles).prepare()
    address = as_role(
        roles, "writer", "usage on schema agentmem",
        "select, insert, update, delete on all tables in schema agentmem",
    )  # fmt: skip
    run = some(address, 2)
    with run.guard.call("send", {}) as call:
        call.result = 1
    assert load("parser", store=roles).step == 2


def test_a_role_without_any_right_is_told_what_is_missing(roles: str) -> None:
    some(roles, 1)
    address = as_role(roles, "stranger")
    with pytest.raises(CheckpointError, match="permission denied for schema agentmem"):
        load("parser", store=address)
    ask(roles, "drop schema agentmem cascade")
    with pytest.raises(SaveError, match="permission denied for database"):
        record("parser", store=address).save([message(0)])


def test_sessions_have_time_limits_keep_what_they_acknowledge_and_are_left_in_no_transaction(database: str) -> None:
    ask(database, f"alter database {conninfo_to_dict(database)['dbname']} set synchronous_commit = off")
    store = PostgresStore(database)
    run = some(store, 2)
    with run.guard.call("send", {}) as call:
        states = ask(
            database, "select state from pg_stat_activity where application_name = 'agentmem' and datname = "
            "current_database()",
        )  # fmt: skip
        assert states == [("idle",)]
        call.result = 1
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "synchronous_commit")
    limits = [store._rows("select current_setting(?)", [name])[0][0] for name in names]
    assert limits == ["30s", "10s", "10s", "on"]
    store.prune("parser", keep=1)
    assert ask(database, "select count(*) from pg_stat_activity where starts_with(state, 'idle in')") == [(0,)]


# -- commits that come late -------------------------------------------------------------------------------------------


def test_saves_of_a_run_become_visible_in_the_order_of_their_numbers_however_late_others_commit(database: str) -> None:
    slow, fast = some(database, 1, "slow"), some(database, 1, "fast")
    reader = PostgresStore(database)
    seen = {"slow": 1, "fast": 1}

    def look() -> dict[str, list[int]]:
        """As a follower does: what is after the newest save that was seen, run by run."""
        found = {}
        for run, seq in seen.items():
            rows = reader._rows("select seq from agentmem.steps where run_id = ? and seq > ? order by seq", [run, seq])
            found[run] = [row[0] for row in rows]
            seen[run] = max([seq, *found[run]])
        return found

    held = slow.store._link._connected()
    with held.transaction():  # the save of `slow` is written, and commits long after others
        slow.save([*slow.messages, message(5)])
        for _ in range(3):
            fast.save([*fast.messages, message(6)])
        assert look() == {"slow": [], "fast": [2, 3, 4]}
        other = record("slow", store=PostgresStore(database))
        conflicts: list[bool] = []

        def save() -> None:
            with pytest.raises(ConflictError):
                other.save([message(7)])
            conflicts.append(True)

        waiting = threading.Thread(target=save)
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive(), "the next save of that run waits for the one before it"
        assert look() == {"slow": [], "fast": []}
    waiting.join()
    assert conflicts == [True]
    assert look()["slow"] == [2], "it is found although newer saves of other runs were seen before it"
    slow.save([*slow.messages, message(8)])
    assert look() == {"slow": [3], "fast": []}


def test_a_listener_says_to_look_at_everything_after_the_connection_was_lost(own_server: Server) -> None:
    address = own_server.database()
    run = some(PostgresStore(address), 1)
    listener = Listener(address)
    assert listener.wait(1.0) is None and listener.trouble is None
    own_server.stop()
    assert listener.wait(0.05) == set()
    trouble = str(listener.trouble)
    assert "terminating connection" in trouble or "closed the connection" in trouble, trouble
    own_server.start()
    run.save([*run.messages, message(3)])
    until = datetime.now(UTC) + timedelta(seconds=20)
    while (told := listener.wait(0.2)) == set():
        assert datetime.now(UTC) < until
    assert told is None
    run.save([*run.messages, message(4)])
    assert listener.wait(5.0) == {"parser"}
    listener.close()


def test_a_notification_holds_ids_alone_and_fits_whatever_the_run_is_called(database: str) -> None:
    name = "görev:" * 160
    PostgresStore(database).prepare()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("listen agentmem")
        record(name, store=database).save([message(0, "a secret")])
        (told,) = connection.notifies(timeout=5, stop_after=1)
    assert told.payload == f"{name}:1"


def test_without_the_extra_it_says_how_to_install_it() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from agentmem.checkpoint.recorder import record\n"
        "try: record('x', store='postgresql://h/d')\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Postgres needs psycopg: pip install 'agentmem-inspector[postgres]'\n"
    assert issubclass(MissingExtra, CheckpointError)
