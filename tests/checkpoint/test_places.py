"""What may stand in the place of our files, and who may read them."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

import agentmem
from agentmem.checkpoint.files import FileStore
from agentmem.checkpoint.recorder import history, load, record
from agentmem.checkpoint.store import CheckpointError, SaveError
from tests.checkpoint.helpers import as_nobody, message, names, open_folder, posix, some_steps


@posix
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_files_and_folders_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    old = os.umask(umask)
    try:
        some_steps(tmp_path / "a" / "runs")
    finally:
        os.umask(old)
    folders = (tmp_path / "a", tmp_path / "a" / "runs")
    assert [stat.S_IMODE(path.stat().st_mode) for path in folders] == [0o700, 0o700]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders[1].iterdir()} == {0o600}


@posix
def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "runs").symlink_to(tmp_path / "real")
    run = record("r", folder=tmp_path / "runs")
    with pytest.raises(CheckpointError, match="runs: is a symbolic link"):
        run.save([message(0)])
    assert names(tmp_path / "real") == []


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("x")
    with pytest.raises(CheckpointError, match="runs"):
        record("r", folder=tmp_path / "runs").save([message(0)])
    assert (tmp_path / "runs").read_text() == "x"


@posix
@pytest.mark.parametrize("name", ["r.json", "r.steps.jsonl", ".r.lock"])
@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_what_is_no_file_is_said_and_never_waited_for(tmp_path: Path, name: str, kind: str) -> None:
    run = some_steps(tmp_path, run_id="r")
    target = tmp_path / name
    target.unlink()
    if kind == "folder":
        target.mkdir()
    elif kind == "pipe":
        os.mkfifo(target)
    else:
        (tmp_path / "elsewhere").write_bytes(b"untouched")
        target.symlink_to(tmp_path / "elsewhere")
    word = {"folder": "folder|directory", "pipe": "pipe|device", "link": "link"}[kind]
    with pytest.raises(CheckpointError, match=f"(?i){name.lstrip('.')}.*({word})"):
        run.save([message(0)])
    if name != ".r.lock" and kind != "link":
        for call in (lambda: load("r", tmp_path), lambda: record("r", folder=tmp_path)):
            with pytest.raises(CheckpointError, match=f"{name}: (is a|cannot be read)"):
                call()
    if kind == "link":
        assert (tmp_path / "elsewhere").read_bytes() == b"untouched"
    assert not [left for left in names(tmp_path) if left.endswith(".tmp")]


@posix
def test_a_folder_without_permission_is_said_at_the_save_and_the_run_lives_on() -> None:
    with open_folder() as folder:
        runs = folder / "runs"

        def work() -> None:
            run = some_steps(runs)
            before = (runs / "parser.json").read_bytes()
            runs.chmod(0o500)
            messages = [*run.messages, message(9)]
            with pytest.raises(SaveError, match=r"step 4 was not saved safely: Permission denied") as told:
                run.save(messages, state={"x": 1})
            assert told.value.errno == 13 and not told.value.stored
            assert (runs / "parser.json").read_bytes() == before
            assert record("parser", folder=runs).step == 3, "opening needs no writing"
            runs.chmod(0o700)
            assert run.save(messages, state={"x": 1}) == 4
            assert load("parser", runs).state == {"x": 1}

        as_nobody(work)


@posix
def test_a_folder_that_cannot_be_made_is_said_at_the_save() -> None:
    with open_folder() as folder:

        def work() -> None:
            folder_of_root = Path("/proc/nothing") if os.getuid() == 0 else folder / "closed" / "runs"
            run = record("r", folder=folder_of_root)
            with pytest.raises(SaveError, match="was not saved safely"):
                run.save([message(0)])

        (folder / "closed").mkdir(0o755)
        as_nobody(work)


@posix
def test_a_checkpoint_that_may_not_be_read_is_said() -> None:
    with open_folder() as folder:
        some_steps(folder)
        as_nobody(lambda: _refused(folder))


def _refused(folder: Path) -> None:
    if os.getuid() == 0:
        return
    for call in (lambda: load("parser", folder), lambda: list(history("parser", folder))):
        with pytest.raises(CheckpointError, match=r"parser\.json: cannot be read: Permission denied"):
            call()


def test_a_folder_is_a_store_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    record("r", store="kept").save([message(0)])
    assert load("r", tmp_path / "kept").step == 1 and load("r", store=tmp_path / "kept").step == 1
    assert [version.step for version in history("r", store="kept")] == [1]
    (tmp_path / "my.runs").mkdir()
    record("r", store="my.runs").save([message(0)])
    assert agentmem.FileStore("my.runs").runs() == ["r"]
    for mistyped in ("", "runs.txt", "mysql://host/db"):
        with pytest.raises(ValueError, match="a store is a file that ends in"):
            record("r", store=mistyped)
    assert names(tmp_path) == ["kept", "my.runs"]


@pytest.mark.parametrize("window", [0, -5])
def test_a_window_of_no_tokens_is_refused_and_what_was_saved_stands(tmp_path: Path, window: int) -> None:
    run = some_steps(tmp_path, 1)
    with pytest.raises(ValueError, match="window is"):
        run.save([message(0)], window=window)
    assert load("parser", tmp_path).step == 1


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -1e18, "1", None])
def test_a_clock_that_gives_no_moment_is_refused_before_anything_is_written(tmp_path: Path, wrong: Any) -> None:
    run = record("r", folder=tmp_path / "runs", clock=lambda: wrong)
    with pytest.raises(ValueError, match="clock is"):
        run.save([message(0)])
    done: list[str] = []
    with pytest.raises(ValueError, match="clock is"), run.guard.call("send", {}):
        done.append("sent")
    assert not done and not (tmp_path / "runs").exists()


@posix
def test_a_list_of_runs_that_cannot_be_read_is_no_empty_list(tmp_path: Path) -> None:
    assert FileStore(tmp_path / "none").runs() == [] and FileStore(tmp_path / "none").listing() == []
    (tmp_path / "file").write_text("x")
    store = FileStore(tmp_path / "file")
    for ask in (store.runs, store.listing, lambda: store.remove("r"), lambda: store.prune("r", keep=1)):
        with pytest.raises(CheckpointError, match=r"file.*: cannot be read: Not a directory"):
            ask()
    with open_folder() as folder:
        (folder / "closed").mkdir(0o700)
        as_nobody(lambda: _closed(FileStore(folder / "closed")))


def _closed(store: FileStore) -> None:
    if os.getuid() != 0:
        for ask in (store.runs, store.listing, lambda: store.remove("r")):
            with pytest.raises(CheckpointError, match=r"closed.*: cannot be read: Permission denied"):
                ask()
