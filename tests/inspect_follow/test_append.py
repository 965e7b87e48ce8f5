"""Append files that are followed: whole records only, each once, whatever the writer does to the file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentmem
from agentmem.formats.source import AppendFile, slice_of
from agentmem.inspect import open as opening
from agentmem.inspect.open import open_run
from tests.inspect_follow.following import Following, closed, content, messages, request

LOG = b"".join(request(number) for number in range(1, 6))


def all_records(file: AppendFile) -> list[bytes]:
    return [record.data for record in file.records()]


def test_a_log_written_byte_by_byte_gives_each_record_once_and_none_before_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.touch()
    file = AppendFile(path)
    seen: list[bytes] = []
    text = b'{"a": 1}\n{"b": [2, {"c": "}"}]}\n\n{"d": 3}'
    with path.open("ab", buffering=0) as out:
        for number, byte in enumerate(text, 1):
            out.write(bytes([byte]))
            file.change()
            fresh = all_records(file)
            assert len(fresh) <= 1
            seen += fresh
            assert b"\n".join(seen) == b"\n".join(one for one in text[:number].split(b"\n") if one in seen)
    assert seen == [b'{"a": 1}', b'{"b": [2, {"c": "}"}]}', b'{"d": 3}']


@given(st.lists(st.integers(0, len(LOG)), max_size=12), st.booleans())
def test_following_in_random_cuts_gives_the_same_run_as_opening_it_at_the_end(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], ended: bool
) -> None:
    folder = tmp_path_factory.mktemp("cuts")
    path, whole = folder / "log.jsonl", LOG if ended else LOG[:-1]
    ends = sorted({len(request(1)), *(min(cut, len(whole)) for cut in cuts), len(whole)})
    ends = [end for end in ends if end >= len(request(1))]
    path.write_bytes(whole[: ends[0]])
    followed = open_run(str(path))
    for start, end in pairwise(ends):
        with path.open("ab") as out:
            out.write(whole[start:end])
        followed.refresh()
    at_the_end = open_run(str(path)).run
    assert content(followed.run) == content(at_the_end)
    assert closed(at_the_end) == 5
    lines = [[seg.where.line for step in run.main.steps for seg in step.replies if seg.where]
             for run in (followed.run, at_the_end)]  # fmt: skip
    assert lines[0] == lines[1] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", ["fix-parser", "lab-state", "cycle-of-three", "water-120-G12"])
def test_our_own_ledger_followed_in_cuts_gives_the_same_run(root: Path, tmp_path: Path, name: str) -> None:
    whole = (root / "sample_runs" / f"{name}.steps.jsonl").read_bytes()
    shutil.copy(root / "sample_runs" / f"{name}.json", tmp_path)
    path = tmp_path / f"{name}.steps.jsonl"
    first = whole.index(b"\n") + 1
    path.write_bytes(whole[:first])
    followed = open_run(str(tmp_path / f"{name}.json"))
    for end in range(first, len(whole), 1 + len(whole) // 23):
        path.write_bytes(whole[:end])
        followed.refresh()
    path.write_bytes(whole)
    followed.refresh()
    assert content(followed.run) == content(open_run(str(tmp_path / f"{name}.json")).run)


def test_a_long_file_read_in_slices_gives_the_same_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "NEARLY_SECONDS", 0.0)  # as of a file that is much longer
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(request(number) for number in range(1, 40)))
    whole = open_run(str(path)).run
    file = AppendFile(path)
    with slice_of(0) as given_time:
        first = all_records(file)
    assert len(first) == 1 and given_time.behind == {str(path): (len(first[0]) + 1, path.stat().st_size)}
    assert file.change() == "grown" and len(all_records(file)) == 38 and file.change() == "same"

    sliced = open_run(str(path))
    with path.open("ab") as out:
        out.write(b"".join(request(number) for number in range(40, 60)))
    looks = 0
    while sliced.refresh(0):
        looks += 1
    assert looks == 20 and sliced.behind is None
    assert content(sliced.run)[:60] != content(whole)
    assert content(sliced.run) == content(open_run(str(path)).run)


def test_a_line_longer_than_what_is_read_at_once_comes_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    long = b'{"a": "' + b"x" * 9_000_000 + b'"}'
    path.write_bytes(b'{"first": 1}\n' + long + b"\n" + b'{"last": 1}\n')
    assert [len(one) for one in all_records(AppendFile(path))] == [12, len(long), 11]


def _truncated(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _replaced(path: Path, data: bytes) -> None:
    half = path.with_name("half")
    half.write_bytes(data)
    os.replace(half, path)


@pytest.mark.parametrize("write", [_truncated, _replaced])
def test_a_log_that_begins_anew_is_a_new_generation_without_a_stale_tail(
    tmp_path: Path, write: Callable[[Path, bytes], None]
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(request(number) for number in range(1, 9)))
    with Following(path) as seen:
        seen.until(lambda s: s.steps == 8)
        other = b"".join(request(number) for number in (1, 2)).replace(b"shelves", b"lamps!!")
        write(path, other)
        seen.until(lambda s: s.steps == 2)
        assert seen.run is not None and seen.run.goal == "Count the lamps!!."
        assert "replaced" in (seen.run.notice or "")
        with path.open("ab") as out:
            out.write(request(3))
        seen.until(lambda s: s.steps == 3)


def test_after_a_rotation_the_new_file_is_followed_and_the_old_one_can_be_chosen(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(request(1) + request(2))
    with Following(tmp_path) as seen:
        seen.until(lambda s: s.steps == 2)
        os.rename(path, tmp_path / "log.jsonl.1")
        path.write_bytes(request(1))
        seen.until(lambda s: s.steps == 1)
        with path.open("ab") as out:
            out.write(b"".join(request(number) for number in (2, 3)))
        seen.until(lambda s: s.steps == 3)
        seen.until(lambda s: {Path(info.path).name for info in s.infos} == {"log.jsonl", "log.jsonl.1"})
        seen.watch.choose(f"{tmp_path / 'log.jsonl.1'}#log.jsonl.1")
        seen.until(lambda s: s.run is not None and s.run.path.endswith(".1") and s.steps == 2)


def test_a_log_that_is_deleted_says_so_keeps_its_run_and_goes_on_when_it_is_back(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(request(1) + request(2))
    with Following(path) as seen:
        seen.until(lambda s: s.steps == 2)
        path.unlink()
        seen.until(lambda s: s.run is not None and s.run.notice == "file gone")
        assert seen.steps == 2
        path.write_bytes(request(1))
        seen.until(lambda s: s.steps == 1 and s.run is not None and s.run.notice != "file gone")
        seen.until(lambda s: s.trouble == "")


def test_the_ledger_of_our_own_run_is_followed(tmp_path: Path) -> None:
    run = agentmem.record("mine", folder=tmp_path, goal="Write it down.")
    run.save(messages(1), state={"fact": "1"})
    with Following(tmp_path) as seen:
        for number in range(2, 12):
            run.save(messages(number), state={"fact": str(number)})
        seen.until(lambda s: s.steps == 11)
        run.finish("done")
        seen.until(lambda s: s.run is not None and s.run.status == "ended")
