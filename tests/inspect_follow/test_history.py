"""The history of overwritten files: it survives a restart and damage, stays private and small, and is ours alone."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.checkpoint.recorder import record
from agentmem.cli import main as command
from agentmem.formats.reader import Version
from agentmem.inspect.history import HistoryStore, store_path
from agentmem.inspect.open import Opened, open_run
from agentmem.inspect.telling.pulse import earlier_said
from agentmem.inspect.telling.verdict import verdict
from tests.inspect_follow.following import Following, checkpoint, closed, content, dump, messages, put


def shifted(steps: int, keep: int = 2) -> dict[str, object]:
    """A checkpoint whose author sends only the last calls: what left is in no later version."""
    return checkpoint(steps, messages=[messages(0)[0], *messages(steps)[1:][-2 * keep :]])


def opened(path: Path, store: HistoryStore) -> Opened:
    return open_run(str(path), keeper=store)


def watched(path: Path, versions: list[dict[str, object]]) -> None:
    """Let the app see these versions of a file, each of them."""
    put(path, versions[0])
    with Following(path, history=True) as seen:
        for version in versions:
            put(path, version)
            seen.until(lambda s, v=version: s.run is not None and s.run.main.steps[-2].own == v["step"])  # type: ignore[misc]  # bound now


def test_versions_seen_before_a_restart_can_be_scrubbed_back_to(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    watched(path, [shifted(step) for step in range(1, 9)])
    with Following(path, history=True) as seen:
        seen.until(lambda s: s.steps == 8)
        assert seen.run is not None
        assert [step.own for step in seen.run.main.steps if not step.open] == list(range(1, 9))
        second = seen.run.main.steps[1]
        assert [seg.head for seg in second.prompt if seg.kind == "result"] == ["7 pieces on 1"]
        put(path, shifted(9))
        seen.until(lambda s: s.steps == 9)
    assert closed(open_run(str(path)).run) == 2, "the file itself holds no more"


def test_one_version_that_was_looked_at_often_tells_nothing_of_what_was_before_it(tmp_path: Path) -> None:
    path, place = tmp_path / "run.json", tmp_path / "history.db"
    for notes in ("", "", "read on"):
        put(path, checkpoint(9, notes=notes))
        for read_only in (False, True):
            with closing(HistoryStore(place, read_only=read_only)) as store:
                run = opened(path, store).run
                assert run.past_unknown and "before this file was written" in verdict(run).text
    put(path, checkpoint(10))
    with closing(HistoryStore(place)) as store:
        assert not opened(path, store).run.past_unknown


def test_commands_read_the_history_and_do_not_write_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.json"
    watched(path, [shifted(step) for step in range(1, 6)])
    before = store_path().read_bytes()
    put(path, shifted(6))
    assert command(["show", str(path), "--json"]) == 0
    assert len([step for step in json.loads(capsys.readouterr().out)["steps"] if not step["open"]]) == 6
    assert command(["show", str(path), "--json", "--no-history"]) == 0
    assert len([step for step in json.loads(capsys.readouterr().out)["steps"] if not step["open"]]) == 2
    assert store_path().read_bytes() == before
    with closing(sqlite3.connect(store_path())) as db:
        assert db.execute("SELECT count(*) FROM version").fetchone() == (5,)


def test_the_history_command_lists_and_clears(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.json"
    assert command(["history"]) == 0 and "nothing is kept" in capsys.readouterr().out
    watched(path, [shifted(step) for step in range(1, 4)])
    assert command(["history", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["files"][0]
    assert (row["path"], row["versions"]) == (str(path), 3) and row["bytes"] > 0
    (store_path().parent / "history.damaged-1.db").write_text("secrets")
    assert command(["history", "--clear"]) == 0
    capsys.readouterr()
    assert command(["history"]) == 0 and "nothing is kept" in capsys.readouterr().out
    assert b"pieces on" not in b"".join(file.read_bytes() for file in store_path().parent.iterdir())


def test_after_a_clear_a_running_inspector_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    put(path, shifted(1))
    with Following(path, history=True) as seen:
        seen.until(lambda s: s.steps == 1)
        HistoryStore.clear(store_path())
        put(path, shifted(2))
        seen.until(lambda s: s.steps == 2)
        put(path, shifted(3))
        seen.until(lambda s: s.steps == 3)
    rows = HistoryStore.listing(store_path())
    assert [(row.path, row.versions) for row in rows] == [(str(path), 2)]


def test_nothing_is_written_beside_the_users_files_and_the_store_is_private(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    os.umask(0)
    try:
        watched(path, [shifted(step) for step in range(1, 4)])
        with closing(sqlite3.connect(store_path())) as db:
            db.execute("BEGIN IMMEDIATE")
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in store_path().parent.iterdir()}
    finally:
        os.umask(0o022)
    assert os.listdir(tmp_path) == ["run.json"]
    assert set(modes.values()) == {0o600} and "history.db" in modes
    assert stat.S_IMODE(store_path().parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", [b"this is no database " * 300, b"SQLite format 3\0" + b"\xff" * 9000])
def test_a_damaged_store_is_moved_aside_and_following_goes_on(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "run.json"
    watched(path, [shifted(1)])
    store_path().write_bytes(damage)
    Path(f"{store_path()}-wal").write_bytes(b"stale")
    put(path, shifted(2))
    with Following(path, history=True) as seen:
        seen.until(lambda s: s.steps == 2 and "damaged" in s.trouble)
        put(path, shifted(3))
        seen.until(lambda s: s.steps == 3)
    aside = sorted(store_path().parent.glob("history.damaged-*.db"))
    assert len(aside) == 1 and aside[0].read_bytes() == damage
    assert [row.versions for row in HistoryStore.listing(store_path())] == [2]


def test_damage_that_is_found_while_at_work_is_moved_aside_too(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    dump(path, shifted(3))
    place = tmp_path / "state" / "h.db"
    store = HistoryStore(place)
    run = opened(path, store)
    assert store.notice is None and closed(run.run) == 2
    store.close()
    data = bytearray(place.read_bytes())
    for page in range(4096, len(data), 4096):
        data[page : page + 2000] = os.urandom(2000)
    place.write_bytes(data)
    damaged = HistoryStore(place)
    again = opened(path, damaged)
    assert closed(again.run) == 2 and damaged.notice and "damaged" in damaged.notice
    assert len(list(place.parent.glob("h.damaged-*.db"))) == 1
    damaged.close()


def test_a_store_that_cannot_be_written_leaves_following_to_memory(tmp_path: Path) -> None:
    place = tmp_path / "state"
    place.write_text("a file where a folder should be")
    store = HistoryStore(place / "h.db")
    assert store.notice is not None and store.notice.startswith("history is not kept")
    path = tmp_path / "run.json"
    dump(path, shifted(2))
    run = opened(path, store)
    put(path, shifted(5))
    assert run.refresh() and closed(run.run) == 4
    first = run.run.main.steps[0].prompt[0]
    assert run.text(first) == "Count the shelves."


def test_above_the_limit_the_files_seen_longest_ago_leave(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path / "h.db", limit=60_000)
    for number in range(6):
        store.keep(f"/{number}.json", Version(float(number), (number,), b"{}"), {number: bytes(20_000)})
    kept = {row.path for row in HistoryStore.listing(tmp_path / "h.db")}
    assert kept == {"/4.json", "/5.json"} or kept == {"/3.json", "/4.json", "/5.json"}
    store.close()
    assert (tmp_path / "h.db").stat().st_size < 160_000


def test_one_file_that_is_too_big_alone_is_kept_no_further_and_said(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path / "h.db", limit=10_000)
    store.keep("/a", Version(1.0, (1,), b"{}"), {1: bytes(20_000)})
    store.keep("/a", Version(2.0, (1, 2), b"{}"), {2: b"two"})
    assert store.notice is not None and "full" in store.notice
    assert store.message("/a", 1) == bytes(20_000) and store.message("/a", 2) == b"two"
    assert [row.versions for row in HistoryStore.listing(tmp_path / "h.db")] == [1]
    store.close()


VERSIONS = st.lists(
    st.tuples(st.lists(st.integers(1, 9), max_size=8), st.sampled_from([b"{}", b'{"step":1}'])), max_size=12
)


def given_back(store: HistoryStore, path: str) -> list[tuple[tuple[int, ...], bytes]]:
    before: tuple[int, ...] = ()
    out = []
    for version in store.past(path):
        assert version.messages[: version.stands] == before[: version.stands]
        before = version.messages
        out.append((version.messages, version.rest))
    return out


@given(VERSIONS, st.lists(st.booleans(), min_size=12, max_size=12))
def test_what_is_kept_comes_back_in_order_whichever_of_two_inspectors_kept_it(
    tmp_path_factory: pytest.TempPathFactory, versions: list[tuple[list[int], bytes]], turns: list[bool]
) -> None:
    place = tmp_path_factory.mktemp("store") / "h.db"
    first = HistoryStore(place)
    first.keep("/a", Version(0.0, (), b"begin"), {})
    second = HistoryStore(place)
    assert given_back(second, "/a") == [((), b"begin")]
    expected: list[tuple[tuple[int, ...], bytes]] = [((), b"begin")]
    for number, ((keys, rest), turn) in enumerate(zip(versions, turns, strict=False), 1):
        entry = (tuple(keys), rest)
        (first if turn else second).keep(
            "/a", Version(float(number), *entry), {key: b"%d" % key for key in keys}
        )
        if entry != expected[-1]:
            expected.append(entry)
    first.close()
    second.close()
    store = HistoryStore(place)
    assert given_back(store, "/a") == expected
    assert all(store.message("/a", key) == b"%d" % key for keys, _ in expected for key in keys)
    store.close()


def test_a_long_history_is_put_together_message_by_message_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, place = tmp_path / "run.json", tmp_path / "h.db"
    dump(path, checkpoint(1))
    store = HistoryStore(place)
    live = opened(path, store)
    for step in range(2, 121):
        put(path, checkpoint(step))
        live.refresh()
    store.close()
    asked = 0
    real = HistoryStore.message

    def counting(self: HistoryStore, where: str, key: int) -> bytes | None:
        nonlocal asked
        asked += 1
        return real(self, where, key)

    monkeypatch.setattr(HistoryStore, "message", counting)
    store = HistoryStore(place)
    again = opened(path, store)
    assert content(again.run) == content(live.run)
    assert asked < 10 * 120, "not each message for each version"
    store.close()


def test_a_run_that_began_anew_in_the_same_file_is_so_after_a_restart(tmp_path: Path) -> None:
    path, place = tmp_path / "run.json", tmp_path / "h.db"
    dump(path, {**checkpoint(4), "goal": "Count the shelves."})
    store = HistoryStore(place)
    live = opened(path, store)
    for step in (1, 2, 3):
        put(path, {**checkpoint(step), "goal": "Count the lamps."})
        live.refresh()
    store.close()
    store = HistoryStore(place)
    assert content(opened(path, store).run) == content(live.run)
    assert live.run.goal == "Count the lamps." and closed(live.run) == 3
    store.close()


def test_a_version_that_cannot_be_unpacked_is_damage_and_no_crash(tmp_path: Path) -> None:
    path, place = tmp_path / "run.json", tmp_path / "h.db"
    dump(path, checkpoint(1, state={"facts": {"port": "5432" * 40}}))
    store = HistoryStore(place)
    live = opened(path, store)
    put(path, checkpoint(2, state={"facts": {"port": "5432" * 40}}))
    live.refresh()
    store.close()
    with closing(sqlite3.connect(place)) as db:
        packed = db.execute("SELECT rest FROM version WHERE number=1").fetchone()[0]
        assert packed.startswith(b"\x01") and len(packed) < 60
        db.execute("UPDATE version SET rest=? WHERE number=1", (packed[:5] + b"????",))
        db.commit()
    store = HistoryStore(place)
    assert closed(opened(path, store).run) == 2
    assert store.notice is not None and "damaged" in store.notice
    store.close()


def test_a_list_that_only_lost_messages_is_a_version_of_its_own(tmp_path: Path) -> None:
    path, place = tmp_path / "run.json", tmp_path / "h.db"
    put(path, messages(3))
    store = HistoryStore(place)
    live = opened(path, store)
    put(path, messages(3)[:1] + messages(3)[3:])
    live.refresh()
    put(path, messages(3)[:1] + messages(4)[3:])
    live.refresh()
    store.close()
    store = HistoryStore(place)
    assert [len(version.messages) for version in store.past(str(path))] == [7, 5, 7]
    assert content(opened(path, store).run) == content(live.run)
    store.close()


def test_the_run_before_a_restart_is_listed_and_can_be_opened(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """With what left between its versions, which the file itself never held."""
    path, before = tmp_path / "run.json", tmp_path / "before.jsonl"
    watched(path, [shifted(step) for step in range(1, 9)])
    old = content(open_run(str(path), keeper=HistoryStore(store_path(), read_only=True)).run)
    with Following(path, history=True) as seen:
        seen.until(lambda s: s.steps == 8)
        put(path, shifted(1))
        seen.until(lambda s: s.run is not None and s.run.earlier == 1)
    with Following(path, history=True) as again:
        again.until(lambda s: s.run is not None and s.run.earlier == 1)
        run = again.run
    assert run is not None and str(path) in earlier_said(run)
    assert command(["history"]) == 0 and b"2 runs" in capsysbinary.readouterr().out
    assert command(["history", str(path)]) == 0
    rows = capsysbinary.readouterr().out.splitlines()
    assert rows[0].startswith(b"1  before it") and b"8 versions" in rows[0]
    assert rows[1].startswith(b"2  stands there now")
    assert command(["history", str(path), "--show", "1"]) == 0
    before.write_bytes(capsysbinary.readouterr().out)
    assert content(open_run(str(before)).run) == old
    assert command(["history", str(path), "--show", "3"]) == 2
    assert b"no run 3" in capsysbinary.readouterr().err


def test_an_earlier_run_that_nobody_kept_is_not_promised(tmp_path: Path) -> None:
    """Where the store cannot be written, `agentmem history` would list nothing; a command that only reads it lists the
    run before."""
    path, no_folder = tmp_path / "run.json", tmp_path / "file"
    no_folder.write_text("in the way")
    for place, promised in ((no_folder / "h.db", 0), (tmp_path / "h.db", 1)):
        put(path, shifted(8))
        store = HistoryStore(place)
        live = opened(path, store)
        put(path, shifted(1))
        live.refresh()
        assert live.run.earlier == promised and len(live.run.main.steps) < 8
        store.close()
    put(path, shifted(8))
    watched(path, [shifted(8)])
    put(path, shifted(1))
    assert open_run(str(path), keeper=HistoryStore(store_path(), read_only=True)).run.earlier == 1


@pytest.mark.parametrize("name", ["run.steps.jsonl", "loop.jsonl"])
def test_the_run_before_a_restart_in_a_file_that_grows(
    name: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Our own ledger, and a log of checkpoints: the part of the file that holds it, as it stands there."""
    path = tmp_path / name
    for turn in (1, 2):
        if name == "loop.jsonl":
            with open(path, "a") as log:
                log.writelines(json.dumps(shifted(step)) + "\n" for step in range(1, 6 + turn))
        else:
            run = record("run", folder=tmp_path, resume=False)
            for step in range(1, 6 + turn):
                run.save(messages=messages(step))
            run.finish("done")
        if turn == 1:
            old, alone = path.read_bytes(), content(open_run(str(path)).run)
    assert open_run(str(path)).run.earlier == 1
    target = path if name == "loop.jsonl" else tmp_path / "run.json"
    assert command(["history", str(target), "--json"]) == 0
    runs = json.loads(capsysbinary.readouterr().out)["runs"]
    assert [(run["number"], run["now"]) for run in runs] == [(1, False), (2, True)]
    assert command(["history", str(target), "--show", "1"]) == 0
    shown = capsysbinary.readouterr().out
    assert shown == old
    kept = tmp_path / "before" / name
    kept.parent.mkdir()
    kept.write_bytes(shown)
    assert content(open_run(str(kept)).run) == alone
