"""A save that is cut short at any place leaves the last acknowledged step or a newer one, whole."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agentmem.checkpoint.files import FileStore
from agentmem.checkpoint.recorder import Recorder, history, load, record
from agentmem.checkpoint.store import MissingError, SaveError
from tests.checkpoint.helpers import message, names, posix, some_steps

KILLS = int(os.environ.get("AGENTMEM_KILLS", "12"))
"""`AGENTMEM_KILLS=200 pytest tests/checkpoint/test_crash.py` for the long run."""
CHILD = Path(__file__).with_name("crash_child.py")
ROOT = CHILD.parent.parent.parent


def check_whole(folder: Path, acknowledged: int) -> int:
    """The step that stands there; everything about it must be of that step."""
    try:
        now = load("parser", folder)
    except MissingError:
        assert acknowledged == 0
        return 0
    assert now.step >= acknowledged, "an acknowledged step was lost"
    assert now.state is not None and now.state["number"] == now.step == int(now.notes)
    assert now.messages[-1]["content"].split()[0] == str(now.step)
    return now.step


def test_a_loop_killed_at_random_points_never_loses_an_acknowledged_step(tmp_path: Path) -> None:
    random = Random(7)
    acknowledged = 0
    for _ in range(KILLS):
        child = subprocess.Popen(
            [sys.executable, str(CHILD), str(tmp_path)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert child.stdout is not None
        assert int(child.stdout.readline().split()[1]) >= acknowledged
        time.sleep(random.random() * 0.03)
        child.kill()
        said = child.stdout.read().split(b"\n")[:-1]
        child.stdout.close()
        child.wait()
        acknowledged = check_whole(tmp_path, int(said[-1]) if said else acknowledged)
    if acknowledged:
        found = list(history("parser", tmp_path))
        assert [version.step for version in found] == list(range(1, acknowledged + 1))
        assert all(version.state and version.state["number"] == version.step for version in found)
    record("parser", folder=tmp_path)
    assert not [name for name in names(tmp_path) if name.endswith(".tmp")], "swept at the next start"


def test_a_kill_between_the_ledger_line_and_the_replace_is_rolled_forward(tmp_path: Path) -> None:
    run = some_steps(tmp_path)
    old = (tmp_path / "parser.json").read_bytes()
    run.save([*run.messages, message(9)], state={"x": 1})
    (tmp_path / "parser.json").write_bytes(old)
    (tmp_path / ".parser.123.abc.tmp").write_bytes(b"half a check")
    now = load("parser", tmp_path)
    assert (now.step, now.state, len(now.messages), now.source) == (4, {"x": 1}, 5, "checkpoint and ledger")
    again = record("parser", folder=tmp_path)
    assert again.step == 4 and ".parser.123.abc.tmp" not in names(tmp_path)
    again.save([*again.messages, message(10)])
    assert [version.seq for version in history("parser", tmp_path)] == [1, 2, 3, 4, 5]


def test_a_kill_before_the_first_replace_is_read_from_the_ledger(tmp_path: Path) -> None:
    some_steps(tmp_path, 1)
    os.unlink(tmp_path / "parser.json")
    assert (load("parser", tmp_path).step, load("parser", tmp_path).source) == (1, "ledger")
    assert some_steps(tmp_path, 1).step == 2


def test_only_this_runs_own_temporary_files_are_swept(tmp_path: Path) -> None:
    some_steps(tmp_path)
    for name in (".parser.1.a.tmp", ".parser.2.1.a.tmp", ".parser2.1.a.tmp", "parser.1.a.tmp", ".parser.x.a.tmp"):
        (tmp_path / name).write_bytes(b"")
    record("parser", folder=tmp_path)
    left = [name for name in names(tmp_path) if name.endswith(".tmp")]
    assert left == [".parser.2.1.a.tmp", ".parser.x.a.tmp", ".parser2.1.a.tmp", "parser.1.a.tmp"]


class Calls:
    """Watches the system calls of a save, and breaks the one whose turn it is."""

    NAMES = ("open", "writev", "fsync", "replace")

    def __init__(self, monkeypatch: pytest.MonkeyPatch, break_at: int = 0, number: int = errno.ENOSPC) -> None:
        self.made: list[tuple[str, str]] = []
        self._paths: dict[int, str] = {}
        self._break_at, self._number = break_at, number
        for name in self.NAMES:
            monkeypatch.setattr(os, name, self._watched(name, getattr(os, name)))

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(first: Any, *rest: Any, **named: Any) -> Any:
            path = self._paths.get(first, "") if isinstance(first, int) else str(first)
            self.made.append((name, os.path.basename(path)))
            if len(self.made) == self._break_at:
                if name == "writev":
                    os.write(first, b"half")
                raise OSError(self._number, os.strerror(self._number))
            result = real(first, *rest, **named)
            if name == "open":
                self._paths[result] = path
            return result

        return call


@posix
def test_one_save_writes_syncs_replaces_and_syncs_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = some_steps(tmp_path)
    calls = Calls(monkeypatch)
    run.save([message(0)])
    monkeypatch.undo()
    made = [(name, "tmp" if path.endswith(".tmp") else path) for name, path in calls.made]
    assert made == [
        ("open", ".parser.lock"),
        ("open", "tmp"),
        ("writev", "tmp"),
        ("fsync", "tmp"),
        ("open", "parser.steps.jsonl"),
        ("writev", "parser.steps.jsonl"),
        ("fsync", "parser.steps.jsonl"),
        ("replace", "tmp"),
        ("open", tmp_path.name),
        ("fsync", tmp_path.name),
    ]


@posix
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_full_disk_at_any_call_leaves_what_was_saved_and_the_next_save_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    at = 0
    broken = True
    while broken:
        at += 1
        run = some_steps(tmp_path, run_id=f"r{at}")
        before = (tmp_path / f"r{at}.json").read_bytes()
        with monkeypatch.context() as patch:
            calls = Calls(patch, at, number)
            broken = _fails(run, number, f"r{at}")
        if not broken:
            assert len(calls.made) < at
            break
        last = calls.made[at - 1]
        kept = load(f"r{at}", tmp_path)
        if last[1] == tmp_path.name:  # only the folder's sync came after the replace
            assert kept.step == 4
        else:
            assert (tmp_path / f"r{at}.json").read_bytes() == before and kept.step == 3 and kept.damaged == 0
        assert not [name for name in names(tmp_path) if name.endswith(".tmp")]
        assert run.save([*run.messages, message(10)]) in (4, 5)
        seqs = [version.seq for version in history(f"r{at}", tmp_path)]
        assert seqs == list(range(1, len(seqs) + 1))
        assert record(f"r{at}", folder=tmp_path).messages == run.messages
    assert at > 9


def _fails(run: Recorder, number: int, name: str) -> bool:
    try:
        run.save([*run.messages, message(9)])
    except SaveError as error:
        assert error.errno == number
        assert os.strerror(number) in str(error) and name in str(error) and "\n" not in str(error)
        return True
    return False


def test_a_ledger_that_ends_in_half_a_line_is_repaired_before_the_next_is_added(tmp_path: Path) -> None:
    some_steps(tmp_path)
    ledger = tmp_path / "parser.steps.jsonl"
    whole = ledger.read_bytes()
    half = b'{"v":1,"seq":4,"step":4,"add":[{"ro'
    ledger.write_bytes(whole + half)
    now = load("parser", tmp_path)
    assert (now.step, now.damaged) == (3, 1)
    assert "half a line, 35 bytes" in now.problems[0].what and "line 4" in now.problems[0].where
    run = record("parser", folder=tmp_path)
    assert any("half a line" in problem for problem in run.problems)
    assert ledger.read_bytes() == whole + half, "opening a run writes nothing"
    run.save([*run.messages, message(9)])
    lines = ledger.read_bytes().split(b"\n")
    assert lines[3] == half and json.loads(lines[4])["seq"] == 4
    found = list(history("parser", tmp_path))
    assert [version.step for version in found] == [1, 2, 3, 4] and found[-1].damaged == 0
    assert len(found[-1].messages) == 5


def test_a_last_line_that_only_lacks_its_newline_counts(tmp_path: Path) -> None:
    run = some_steps(tmp_path)
    old = (tmp_path / "parser.json").read_bytes()
    run.save([*run.messages, message(9)])
    (tmp_path / "parser.json").write_bytes(old)
    ledger = tmp_path / "parser.steps.jsonl"
    ledger.write_bytes(ledger.read_bytes()[:-1])
    assert load("parser", tmp_path).step == 4
    assert some_steps(tmp_path, 1).step == 5
    assert [version.seq for version in history("parser", tmp_path)] == [1, 2, 3, 4, 5]


@posix
def test_a_disk_that_is_full_at_the_first_save_leaves_nothing_in_the_way_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in range(1, 40):
        folder = tmp_path / str(at)
        run = record("r", folder=folder)
        with monkeypatch.context() as patch:
            Calls(patch, at)
            broken = _fails(run, errno.ENOSPC, "")
        assert run.save([message(0)]) == (1 if broken else 2)
        assert [version.messages for version in history("r", folder)][-1] == [message(0)]
        if not broken:
            break
    else:
        pytest.fail("the save made more system calls than were tried")


@posix
def test_a_ledger_that_was_deleted_and_cannot_be_begun_again_is_begun_whole_by_the_next_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = some_steps(tmp_path)
    (tmp_path / "parser.steps.jsonl").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", _full)
        with pytest.raises(SaveError):
            run.save([*run.messages, message(9)])
    assert "parser.steps.jsonl" not in names(tmp_path)
    run.save([*run.messages, message(9)])
    assert [len(version.messages) for version in history("parser", tmp_path)] == [5]


@posix
def test_pruning_that_fails_or_is_killed_leaves_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some_steps(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", _full)
        with pytest.raises(SaveError, match="was not pruned"):
            FileStore(tmp_path).prune("parser", keep=1)
    assert names(tmp_path) == [".parser.lock", "parser.json", "parser.steps.jsonl"]
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", _killed)
        patch.setattr(os, "unlink", _full)
        with pytest.raises(SystemExit):
            FileStore(tmp_path).prune("parser", keep=1)
    assert len(names(tmp_path)) == 4
    record("parser", folder=tmp_path)
    assert names(tmp_path) == [".parser.lock", "parser.json", "parser.steps.jsonl"]


def _full(*given: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _killed(*given: Any) -> None:
    raise SystemExit  # as a kill: nothing that is done on an error is done


def prompted(folder: Path, count: int) -> tuple[bytes, bytes]:
    """Saves with exact prompts, each a change of the one before. The checkpoint before the last, and the ledger."""
    run = record("parser", folder=folder)
    before = b""
    for number in range(1, count + 1):
        before = (folder / "parser.json").read_bytes() if number > 1 else b""
        run.save([message(n) for n in range(number + 1)], prompt=[message(n) for n in range(number)])
    return before, (folder / "parser.steps.jsonl").read_bytes()


def test_a_kill_before_the_replace_of_a_save_with_an_exact_prompt_is_rolled_forward(tmp_path: Path) -> None:
    before, _ = prompted(tmp_path, 4)
    (tmp_path / "parser.json").write_bytes(before)
    now = load("parser", tmp_path)
    assert (now.step, now.source) == (4, "checkpoint and ledger")
    assert now.prompt == [message(n) for n in range(4)] and len(now.messages) == 5
    run = record("parser", folder=tmp_path)
    run.save([message(0)], prompt=[message(n) for n in range(6)])
    assert [len(version.prompt or []) for version in history("parser", tmp_path)] == [1, 2, 3, 4, 6]


def test_an_exact_prompt_whose_beginning_cannot_be_read_is_unknown_and_hides_no_save(tmp_path: Path) -> None:
    before, ledger = prompted(tmp_path, 4)
    (tmp_path / "parser.json").write_bytes(before)
    lines = ledger.splitlines(True)
    for damaged in (0, 1, 2):
        wrong = [line.replace(b"message", b"massage") if n == damaged else line for n, line in enumerate(lines)]
        (tmp_path / "parser.steps.jsonl").write_bytes(b"".join(wrong))
        now = load("parser", tmp_path)
        assert (now.step, len(now.messages), now.prompt, now.damaged) == (4, 5, None, 1)
        assert record("parser", folder=tmp_path).step == 4


@posix
def test_a_save_can_be_tried_again_while_the_error_of_the_first_is_at_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = some_steps(tmp_path)
    with monkeypatch.context() as patch:
        Calls(patch, 3)
        with pytest.raises(SaveError) as held:
            run.save([*run.messages, message(9)])
    assert held.value.errno == errno.ENOSPC
    assert run.save([message(7)]) == 4, "the frames that the error keeps hold nothing up"
    assert load("parser", tmp_path).messages == [message(7)]


def test_half_a_line_of_a_call_that_cannot_be_cut_off_lets_no_call_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = some_steps(tmp_path)
    path = tmp_path / "parser.calls.jsonl"
    path.write_bytes(b'{"v":1,"half')
    with monkeypatch.context() as patch:
        patch.setattr(os, "truncate", _full)
        with pytest.raises(SaveError, match="was not recorded"), run.guard.call("send", {}):
            pytest.fail("it was made")
    assert path.read_bytes() == b'{"v":1,"half'
    with run.guard.call("send", {}) as call:
        call.result = "sent"
    assert [one.outcome for one in FileStore(tmp_path).calls("parser")] == ["ok"]
