"""Which run a command reads, how it is named when that fails, and what is said of several lanes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentmem.cli import show
from agentmem.inspect.history import HistoryStore, store_path
from agentmem.inspect.open import open_run
from tests.formats.helpers import call, result, user
from tests.formats.trims.loops import Round, last, run
from tests.postgres import Server

from .test_commands import Command, command  # noqa: F401 - a fixture

SECRETS = ("s3cret", "hunter2")
COMMANDS = (
    ("show",), ("drops",), ("lost",), ("ledger",), ("line",), ("diff", "--from", "1", "--to", "2"), ("lifeline", "x"),
)  # fmt: skip
CLOSED = "127.0.0.1:1/db"
"""Nobody listens there."""


def told(command: Command, *words: str) -> str:  # noqa: F811 - the fixture
    """All that a command says, on either way out; nothing of a password may be in it."""
    code, out, err = command.all(*words)
    assert not [secret for secret in SECRETS if secret in out + err], words
    assert "internal error" not in err and (code == 0 or err.count("\n") == 1)
    return out + err


def words_of(name: tuple[str, ...], target: str) -> tuple[str, ...]:
    return (name[0], target, *name[1:])


@pytest.mark.parametrize("name", COMMANDS, ids=lambda name: name[0])
@pytest.mark.parametrize("more", [(), ("--run", "nope"), ("--json",), ("--no-history", "--lane", "x")])
@pytest.mark.parametrize("address", [f"postgresql://u:s3cret@{CLOSED}", f"postgres://{CLOSED}?password=hunter2"])
def test_a_server_that_is_not_there_is_said_without_the_password(
    command: Command, name: tuple[str, ...], more: tuple[str, ...], address: str  # noqa: F811 - the fixture
) -> None:  # fmt: skip
    pytest.importorskip("psycopg", reason="needs the postgres extra")
    assert "cannot be reached" in told(command, *words_of(name, address), *more)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:s3cret/x@h/db", "postgresql://u:1/s3cret@h/db", "postgresql://u:x@s3cret@h/db",
        "postgresql://u:a s3cret@h/db", "postgresql://u:%zzs3cret@h/db", "postgresql://h/db?pasword=hunter2",
        "postgresql://h/db?password=a&hunter2=1", "postgresql://u:s3cret@h:port/db",
    ],
)  # fmt: skip
def test_of_an_address_that_cannot_be_parsed_nothing_is_quoted(command: Command, address: str) -> None:  # noqa: F811 - likewise
    pytest.importorskip("psycopg", reason="needs the postgres extra")
    for name in COMMANDS:
        for more in ((), ("--run", "nope")):
            assert "is no address of a database" in told(command, *words_of(name, address), *more)


@pytest.mark.parametrize(
    "words",
    [
        ("show", "mysql://root:s3cret@h/db"), ("show", "postgresql:/u:s3cret@h/db"),
        ("drops", "host=h password=hunter2"), ("show", "x", "--window", "postgresql://u:s3cret@h/db"), ("line", "x", "postgresql://u:s3cret@h/db"),
        ("show", "x", "--counter=postgresql://u:s3cret@h/db"), ("postgresql://u:s3cret@h/db",),
        ("show", "x", "--foo=postgresql://u:a b s3cret@h/db"), ("lost", "postgresql://u:s3cret@h/*"),
    ],
)  # fmt: skip
def test_a_password_that_stands_anywhere_in_the_arguments_is_not_repeated(
    command: Command, words: tuple[str, ...]  # noqa: F811 - likewise
) -> None:  # fmt: skip
    assert told(command, *words)


def test_what_a_server_holds_is_told_without_the_password(command: Command) -> None:  # noqa: F811 - likewise
    server = Server()
    try:
        server.start()
        address = server.database()
        user_and, rest = address.split("@", 1)
        secret = f"{user_and}:s3cret@{rest}"
        from agentmem.checkpoint.recorder import record

        for run_id in ("one", "two"):
            run = record(run_id, store=address, goal="go")
            for n in (1, 2):
                run.save([user("go"), call("a"), result("a", f"ok {n}")])
            run.finish()
        for name in COMMANDS:
            shown = told(command, *words_of(name, secret))
            assert name[0] in ("show", "line") or "holds 2 runs; choose one with --run" in shown
            assert "no run nope; there are" in told(command, *words_of(name, secret), "--run", "nope")
            told(command, *words_of(name, secret), "--run", "one", "--json")
        assert {run["id"] for run in command.json("show", secret)["runs"]} == {"one", "two"}
        told(command, "history", "--json")
    finally:
        server.remove()


def test_with_a_name_of_a_run_the_reason_is_said_that_is_said_without(command: Command, tmp_path: Path) -> None:  # noqa: F811 - likewise
    broken = tmp_path / "broken.json"
    for content, reason in ((b"hello there", "format not recognised"), (b"", "empty")):
        broken.write_bytes(content)
        for more in ((), ("--run", "nope")):
            said = command.refused("drops", broken, *more)
            assert reason in said and "no run" not in said
    cut, odd = json.dumps({"step": 1, "messages": [user("go")], "notes": ""})[:-20], '{"step": 1, "messages": [1, "x"]}'
    for text, reason in ((cut, "half written"), (odd, "message")):
        broken.write_text(text, encoding="utf-8")
        without = command.refused("drops", broken)
        assert command.refused("drops", broken, "--run", "nope") == without and reason in without
    listed = tmp_path / "listed.jsonl"
    listed.write_text('{"messages": [{"parts": []}]}\n' * 3, encoding="utf-8")
    without = command.refused("drops", listed)
    assert command.refused("drops", listed, "--run", "nope") == without and "none understood" in without


def test_runs_that_can_be_read_are_named_and_the_others_are_not(command: Command, tmp_path: Path) -> None:  # noqa: F811 - likewise
    (tmp_path / "a.json").write_text(json.dumps([user("go"), call("a"), result("a", "ok")]), encoding="utf-8")
    (tmp_path / "b.json").write_text("", encoding="utf-8")
    assert command.refused("drops", tmp_path, "--run", "nope").endswith("no run nope; there are a\n")


def test_all_is_taken_by_every_command_and_told_in_words(
    command: Command, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch  # noqa: F811 - likewise
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert "~agents" not in command.refused("line", "--all") + command.refused("lost", "--all")
    project = home / ".claude" / "projects" / "-elsewhere"
    project.mkdir(parents=True)
    for name in ("one", "two"):
        lines = [
            {"type": "user", "uuid": f"{name}-1", "parentUuid": None, "sessionId": name, "cwd": "/elsewhere",
             "timestamp": "2026-01-01T00:00:00Z", "message": {"role": "user", "content": "go"}},
            {"type": "assistant", "uuid": f"{name}-2", "parentUuid": f"{name}-1", "sessionId": name,
             "cwd": "/elsewhere", "timestamp": "2026-01-01T00:00:01Z",
             "message": {"role": "assistant", "id": "m1", "content": [{"type": "text", "text": "done"}]}},
        ]  # fmt: skip
        (project / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert "goal" in command.text("line", "--all")
    assert "what known agents keep holds 2 runs; choose one" in command.refused("lost", "--all")
    assert "what known agents keep: no run nope" in command.refused("line", "--all", "--run", "nope")


def test_a_list_counts_the_steps_that_the_commands_count(command: Command, tmp_path: Path) -> None:  # noqa: F811 - likewise
    messages: list[object] = [user("go")]
    for n in range(3):
        messages += [call(f"c{n}"), result(f"c{n}", f"ok {n}")]
    for name in ("a", "b"):
        document = {"step": 221, "messages": messages, "notes": ""}
        (tmp_path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    assert {run["steps"] for run in command.json("show", tmp_path)["runs"]} == {3}
    assert len([step for step in command.json("show", tmp_path, "--run", "a")["steps"] if not step["open"]]) == 3


def test_the_list_says_of_a_list_that_slid_what_show_says_or_that_it_is_not_known(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch  # noqa: F811 - likewise
) -> None:
    saves = [save.version for save in run([Round()] * 12, last(6), at="save")]
    seen, keeper = tmp_path / "seen.json", HistoryStore(store_path())
    (tmp_path / "late.json").write_text(json.dumps(saves[-1]), encoding="utf-8")
    seen.write_text(json.dumps(saves[0]), encoding="utf-8")
    source = open_run(str(seen), keeper=keeper)
    for save in saves[1:]:
        seen.write_text(json.dumps(save), encoding="utf-8")
        source.refresh()
    keeper.close()
    for words in ((), ("--no-history",)):
        listed = {row["id"]: row["steps"] for row in command.json("show", tmp_path, *words)["runs"]}
        for name, steps in listed.items():
            shown = command.json("show", tmp_path, "--run", name, *words)["steps"]
            assert steps == sum(not step["open"] for step in shown)
        assert listed == {"seen": 3 if words else 12, "late": 3}
    monkeypatch.setattr(show, "COUNT_SECONDS", 0.0)
    assert {row["steps"] for row in command.json("show", tmp_path)["runs"]} == {None}
    assert [row.split()[3] for row in command.text("show", tmp_path).splitlines()[1:]] == ["?", "?"]


def test_where_each_lane_counts_its_steps_the_ledger_names_the_lane(command: Command, real: Path) -> None:  # noqa: F811 - likewise
    rows = command.text("ledger", real / "claude-code" / "fe5e1c67-big-sidechain.jsonl").splitlines()
    assert [row for row in rows if row.startswith("↻ repeat") and " of general-purpose: " in row]
    assert all(" of " in row for row in rows if row.startswith(("↻", "z")))
    (head,) = [row for row in rows if row.split() == ["lane", "step", "tool", "arguments", "outcome", "result"]]
    assert rows[rows.index(head) + 1].startswith("main ")
    one = command.text("ledger", real / "claude-code" / "fe5e1c67-big-sidechain.jsonl", "--lane", "main")
    assert "lane" not in one.splitlines()[2].split()[:1]
