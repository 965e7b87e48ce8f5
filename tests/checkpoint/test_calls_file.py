"""The file of calls is read on from where it was read last, and anew where it is another file."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentmem.checkpoint import durable
from agentmem.checkpoint.files import FileStore
from agentmem.checkpoint.ledger_line import Call
from agentmem.checkpoint.store import ConflictError


def call(key: str, outcome: str = "started") -> Call:
    ended = None if outcome == "started" else 2.0
    return Call(key=key, attempt=1, tool="send", arguments={"to": "sam"}, started=1.0, ended=ended, outcome=outcome)  # type: ignore[arg-type]  # one of three words


def begun(store: FileStore, *keys: str) -> None:
    for key in keys:
        store.begin("r", call(key))


def test_a_call_reads_what_is_new_and_not_all_that_was_ever_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileStore(tmp_path)
    begun(store, *map(str, range(50)))
    sizes = []
    real = durable.read

    def read(path: Path, start: int = 0) -> tuple[bytes, durable.Identity]:
        found = real(path, start)
        sizes.append(len(found[0]))
        return found

    monkeypatch.setattr(durable, "read", read)
    begun(store, "50", "51")
    store.end("r", call("50", "ok"))
    line = len((tmp_path / "r.calls.jsonl").read_bytes().split(b"\n")[0]) + 20
    assert sizes and max(sizes) <= 2 * line
    assert [one.key for one in store.calls("r")] == [str(n) for n in range(52)]
    assert [one.outcome for one in store.calls("r")[-2:]] == ["ok", "started"]


def test_what_another_process_adds_is_seen(tmp_path: Path) -> None:
    here, there = FileStore(tmp_path), FileStore(tmp_path)
    begun(here, "a")
    begun(there, "b")
    there.end("r", call("a", "ok"))
    assert [(one.key, one.outcome) for one in here.calls("r")] == [("a", "ok"), ("b", "started")]
    with pytest.raises(ConflictError, match="was begun before"):
        begun(here, "b")
    with pytest.raises(ConflictError, match="ended before"):
        here.end("r", call("a", "ok"))


def test_a_run_that_was_removed_and_begun_again_elsewhere_has_none_of_its_old_calls(tmp_path: Path) -> None:
    store, other = FileStore(tmp_path), FileStore(tmp_path)
    begun(store, "a", "b")
    path = tmp_path / "r.calls.jsonl"
    old = path.read_bytes()
    other.remove("r")
    assert store.calls("r") == []
    begun(other, "c", "d", "e")
    path.write_bytes(old)
    assert [one.key for one in store.calls("r")] == ["a", "b"]
    path.write_bytes(b"")  # the same file with other lines, and longer than it was
    begun(FileStore(tmp_path), "c", "d", "e")
    assert [one.key for one in store.calls("r")] == ["c", "d", "e"]
    begun(store, "a")
    assert [one.key for one in FileStore(tmp_path).calls("r")] == ["c", "d", "e", "a"]
