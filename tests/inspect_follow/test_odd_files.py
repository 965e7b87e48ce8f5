"""What a path may turn into: folder, FIFO, loop of links, forbidden. It is said, nothing hangs, and it recovers."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from agentmem.formats.source import NotYet
from agentmem.inspect.discover import find
from agentmem.inspect.open import SeveralRuns, open_run
from agentmem.inspect.telling.pulse import trouble
from tests.inspect_follow.following import Following, checkpoint, dump, request

NOBODY = 65534


def folder(path: Path) -> None:
    path.mkdir()


def fifo(path: Path) -> None:
    os.mkfifo(path)


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink()


ODD = [(folder, "a folder"), (fifo, "not a regular file"), (loop, "a loop of symbolic links")]


@pytest.mark.parametrize(("make", "word"), ODD)
@pytest.mark.parametrize("name", ["run.json", "log.jsonl"])
def test_a_followed_file_that_becomes_something_else_is_labelled_and_recovers(
    tmp_path: Path, make: Callable[[Path], None], word: str, name: str
) -> None:
    path = tmp_path / name

    def write(steps: int) -> None:
        if name.endswith("l"):
            path.write_bytes(b"".join(request(number) for number in range(1, steps + 1)))
        else:
            dump(path, checkpoint(steps))

    write(3)
    with Following(path) as seen:
        seen.until(lambda s: s.steps == 3)
        path.unlink()
        make(path)
        seen.until(lambda s: word in s.trouble or (s.run is not None and word in (s.run.notice or "")))
        assert seen.steps == 3, "the last good run stands"
        remove(path)
        write(4)
        seen.until(lambda s: s.steps == 4 and s.trouble == "")


@pytest.mark.parametrize(("make", "word"), ODD)
def test_what_is_no_file_at_first_is_labelled_and_followed_once_it_is_one(
    tmp_path: Path, make: Callable[[Path], None], word: str
) -> None:
    path = tmp_path / "run.json"
    make(path)
    with Following(path) as seen:
        seen.until(lambda s: (word if make is not folder else "no run of a known format") in s.trouble)
        remove(path)
        dump(path, checkpoint(2))
        seen.until(lambda s: s.steps == 2 and s.trouble == "")


def test_a_folder_with_odd_entries_gives_its_runs(tmp_path: Path) -> None:
    dump(tmp_path / "good.json", checkpoint(2))
    fifo(tmp_path / "fifo.json")
    loop(tmp_path / "loop.json")
    folder(tmp_path / "folder.json")
    (tmp_path / "dangling.json").symlink_to("nowhere.json")
    assert [Path(row.path).name for row in find([str(tmp_path)])] == ["good.json"]
    with Following(tmp_path) as seen:
        seen.until(lambda s: s.steps == 2)
        assert [info.id for info in seen.infos or find([str(tmp_path)])] == ["good"]


def test_a_link_out_of_the_folder_is_not_followed_also_when_it_comes_later(tmp_path: Path) -> None:
    outside, runs = tmp_path / "outside", tmp_path / "runs"
    outside.mkdir()
    runs.mkdir()
    dump(outside / "secret.json", checkpoint(5))
    dump(runs / "mine.json", checkpoint(1))
    (runs / "inside.json").symlink_to("mine.json")
    (runs / "early.json").symlink_to(outside / "secret.json")
    with Following(runs) as seen:
        seen.until(lambda s: s.steps == 1)
        (runs / "late.json").symlink_to(outside / "secret.json")
        dump(runs / "other.json", checkpoint(2))
        seen.until(lambda s: any(Path(info.path).name == "other.json" for info in s.infos))
        assert not {"late.json", "early.json"} & {Path(info.path).name for info in seen.infos}


FORBIDDEN = """
import difflib, os, sys, threading
import watchfiles
from agentmem.inspect.open import open_run
from agentmem.inspect.watch import Watch, Trouble, RunChanged
open_run(sys.argv[1])  # the sources may stand where nobody may enter: all of them are read before
os.setgid({0}); os.setuid({0})
stop = threading.Event()
def emit(event):
    if isinstance(event, Trouble) and event.text:
        print(event.text, flush=True)
    if isinstance(event, RunChanged):
        print("run of", len(event.run.main.steps), flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
Watch([sys.argv[2]], history=False).run(emit, stop)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become nobody")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_no_permission_is_said_and_recovers(root: Path, what: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        runs = Path(name) / "runs"
        runs.mkdir()
        dump(runs / "run.json", checkpoint(3))
        shut = runs if what == "folder" else runs / "run.json"
        shut.chmod(0)
        with subprocess.Popen(
            [sys.executable, "-c", FORBIDDEN.format(NOBODY), str(root / "sample_runs" / "plain.json"), str(shut)],
            cwd=root, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ) as child:  # fmt: skip
            assert child.stdout is not None and child.stdin is not None
            assert "no permission" in child.stdout.readline()
            shut.chmod(0o755 if what == "folder" else 0o644)
            assert child.stdout.readline() == "run of 4\n"
            child.stdin.close()


ROWS = """
import difflib, os, sys, threading
import watchfiles
from agentmem.inspect.open import open_run
from agentmem.inspect.telling.pulse import trouble
from agentmem.inspect.watch import Watch, RunChanged, RunsChanged, Trouble
import agentmem.inspect.telling.marks
# The sources may stand where nobody may enter: all of them are read before.
open_run(sys.argv[1]); open_run(sys.argv[3])
os.setgid({0}); os.setuid({0})
stop = threading.Event()
def emit(event):
    if isinstance(event, RunsChanged):
        print("rows", sorted((info.id, trouble(info)) for info in event.infos), flush=True)
    if isinstance(event, RunChanged):
        print("notice", event.run.id, event.run.notice, flush=True)
    if isinstance(event, Trouble):
        print("trouble", event.text, flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
Watch([sys.argv[2]], history=False).run(emit, stop)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become nobody")
def test_files_of_a_folder_that_may_not_be_read_have_a_row_and_are_read_once_they_may(root: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        runs = Path(name) / "runs"
        runs.mkdir()
        dump(runs / "run.json", checkpoint(3))
        dump(runs / "shut.json", checkpoint(2))
        (runs / "log.jsonl").write_bytes(request(1))
        os.utime(runs / "log.jsonl", (1, 1))
        (runs / "shut.json").chmod(0)
        with subprocess.Popen(
            [sys.executable, "-c", ROWS.format(NOBODY), str(root / "sample_runs" / "plain.json"), str(runs),
             str(runs / "log.jsonl")],
            cwd=root, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ) as child:  # fmt: skip
            assert child.stdout is not None and child.stdin is not None

            def until(*words: str) -> None:
                told = []
                for line in child.stdout or ():
                    told.append(line)
                    if all(word in line for word in words):
                        return
                raise AssertionError(f"{words} did not come: {told}")

            forbidden = "not readable: no permission"
            until("rows", f"('shut.json', '{forbidden}')", "('run', None)")
            (runs / "shut.json").chmod(0o644)
            until("rows", "('shut', None)", "('run', None)")
            (runs / "run.json").chmod(0)
            until("notice run", f"{forbidden}, last good version step 3")
            until("rows", f"('run', '{forbidden}')")
            (runs / "run.json").chmod(0o644)
            until("notice run None")
            until("rows", "('run', None)")
            child.stdin.close()


def test_a_file_that_holds_nothing_whole_is_a_row_of_its_own_in_one_word(tmp_path: Path) -> None:
    for name in ("one.json", "two.json"):
        dump(tmp_path / name, checkpoint(2))
    (tmp_path / "half.json").write_text('{"step":1,"messages":')
    rows = {row.id: trouble(row) for row in find([str(tmp_path)])}
    assert rows == {"one": None, "two": None, "half.json": "not readable: half written or cut at byte 21"}
    with pytest.raises(NotYet, match="half written or cut at byte 21"):
        open_run(str(tmp_path / "half.json"))


def test_a_run_that_is_half_written_just_now_is_not_passed_over_for_another(tmp_path: Path) -> None:
    dump(tmp_path / "one.json", checkpoint(2))
    (tmp_path / "half.json").write_text('{"step":1,"messages":')
    with pytest.raises(SeveralRuns):
        open_run(str(tmp_path))
