"""Many runs, runs and folders that come later, no target, and which of them is shown."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from agentmem.checkpoint.recorder import record
from agentmem.inspect.discover import describe, find
from agentmem.inspect.watch import catalogue
from agentmem.inspect.watch.catalogue import Catalogue
from agentmem.model import RunInfo
from tests.inspect_follow.following import Following, checkpoint, dump, put, request


def test_a_thousand_files_are_listed_newest_first_and_the_newest_is_shown(tmp_path: Path) -> None:
    now = time.time()
    for number in range(1000):
        path = tmp_path / f"run-{number:04d}.json"
        path.write_text('{"step": 1, "messages": [{"role": "user", "content": "go"}, '
                        '{"role": "assistant", "content": "done"}], "notes": "n"}')  # fmt: skip
        os.utime(path, (now - number, now - number))
    with Following(tmp_path) as seen:
        seen.until(lambda s: s.run is not None and s.run.id == "run-0000")
        seen.until(lambda s: len(s.infos) == 1000)
        ages = [info.at or 0.0 for info in seen.infos]
        assert ages == sorted(ages, reverse=True)
        put(tmp_path / "run-0500.json", checkpoint(3))
        seen.until(lambda s: s.infos[0].id == "run-0500")
        assert seen.run is not None and seen.run.id == "run-0000", "who reads one run is not carried to another"


def test_of_many_files_only_those_that_are_new_or_changed_are_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described: list[str] = []

    def noting(path: Path) -> list[RunInfo]:
        described.append(path.name)
        return describe(path)

    monkeypatch.setattr(catalogue, "describe", noting)
    for number in range(20):
        dump(tmp_path / f"{number}.json", checkpoint(1))
    runs = Catalogue([str(tmp_path)])
    assert runs.look() is False and runs.waiting
    runs.work(60)
    assert sorted(described) == sorted(f"{number}.json" for number in range(20))
    described.clear()
    dump(tmp_path / "7.json", checkpoint(2))
    dump(tmp_path / "new.json", checkpoint(1))
    (tmp_path / "9.json").unlink()
    runs.look()
    runs.work(60)
    assert sorted(described) == ["7.json", "new.json"] and len(runs) == 20


def test_a_run_that_appears_later_is_listed_and_can_be_chosen(tmp_path: Path) -> None:
    dump(tmp_path / "first.json", checkpoint(1))
    with Following(tmp_path) as seen:
        seen.until(lambda s: s.run is not None)
        (tmp_path / "second.jsonl").write_bytes(request(1) + request(2))
        seen.until(lambda s: {info.id for info in s.infos} == {"first", "second"})
        seen.watch.choose("second")
        seen.until(lambda s: s.run is not None and s.run.id == "second" and s.steps == 2)
        (tmp_path / "first.json").unlink()
        seen.until(lambda s: {info.id for info in s.infos} == {"second"})


@pytest.mark.parametrize("target", ["runs", "deeper/runs", "runs/*.json", "runs/one.json"])
def test_a_target_that_does_not_exist_yet_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with Following(target) as seen:
        seen.until(lambda s: s.trouble)
        assert target in seen.trouble
        runs = tmp_path / ("deeper/runs" if target.startswith("deeper") else "runs")
        runs.mkdir(parents=True)
        dump(runs / "one.json", checkpoint(2))
        seen.until(lambda s: s.steps == 2 and s.trouble == "")


def test_without_a_target_the_runs_of_this_folder_are_found_also_when_they_come_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Following() as seen:
        seen.until(lambda s: "no runs in" in s.trouble and s.infos == ())
        (tmp_path / "runs").mkdir()
        dump(tmp_path / "runs" / "one.json", checkpoint(2))
        seen.until(lambda s: s.steps == 2 and s.trouble == "")


def test_one_wrong_target_among_several_is_said_and_the_others_are_followed(tmp_path: Path) -> None:
    dump(tmp_path / "good.json", checkpoint(2))
    with Following(tmp_path / "missing.json", tmp_path / "good.json") as seen:
        seen.until(lambda s: s.steps == 2)
        seen.until(lambda s: "missing.json: no such file or folder" in s.trouble)


def test_runs_of_one_id_in_two_files_are_told_apart_by_their_names(tmp_path: Path) -> None:
    for number, name in enumerate(("a", "b"), 1):
        (tmp_path / name).mkdir()
        dump(tmp_path / name / "run.json", checkpoint(number))
    with Following(tmp_path / "a", tmp_path / "b") as seen:
        seen.until(lambda s: len(s.infos) == 2 and s.run is not None)
        for number, name in ((1, "a"), (2, "b"), (1, "a")):
            seen.watch.choose(f"{tmp_path / name / 'run.json'}#run")
            seen.until(lambda s, n=number: s.steps == n)  # type: ignore[misc]  # a default argument binds the number now


def test_a_run_that_calls_itself_otherwise_than_its_file_is_found_by_both_names(tmp_path: Path) -> None:
    path = tmp_path / "latest.json"
    dump(path, {**checkpoint(1), "run_id": "invoice-7"})
    dump(tmp_path / "other.json", checkpoint(2))
    with Following(tmp_path) as seen:
        for wish in (f"{path}#latest", "other", f"{path}#invoice-7", "other", "invoice-7"):
            seen.until(lambda s: len(s.infos) == 2)
            seen.watch.choose(wish)
            wanted = "other" if wish == "other" else "invoice-7"
            seen.until(lambda s, w=wanted: s.run is not None and s.run.id == w)  # type: ignore[misc]  # as above
        seen.until(lambda s: {info.id for info in s.infos} == {"invoice-7", "other"})


def test_files_that_no_reader_knows_are_shown_only_where_there_is_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "junk.json").write_text("not json at all")
    with Following(tmp_path) as seen:
        seen.until(lambda s: [info.problem for info in s.infos] == ["format not recognised"])
        seen.until(lambda s: "format not recognised" in s.trouble)
        dump(tmp_path / "good.json", checkpoint(1))
        seen.until(lambda s: [info.id for info in s.infos] == ["good"])


def test_files_that_are_no_runs_are_listed_last_and_only_where_they_were_named(tmp_path: Path) -> None:
    dump(tmp_path / "run.json", checkpoint(2))
    (tmp_path / "package.json").write_text('{"name": "x", "step": "build"}')
    named = listed_by([str(tmp_path / "package.json"), str(tmp_path / "run.json")])
    assert [(row.id, row.problem) for row in named] == [
        ("run", None), ("package.json", "no list of messages and no state in it"),
    ]  # fmt: skip
    assert [row.id for row in listed_by([str(tmp_path)])] == ["run"]
    assert [row.id for row in find([str(tmp_path)])] == ["run"]


def listed_by(targets: list[str]) -> tuple[RunInfo, ...]:
    runs = Catalogue(targets)
    runs.look()
    runs.work(60)
    return runs.rows()


def test_a_save_of_one_run_in_a_database_does_not_make_the_others_look_written(tmp_path: Path) -> None:
    """The time of the file is that of one of its runs only."""
    path = str(tmp_path / "runs.db")
    old = record("old", store=path, clock=lambda: 1_000.0)
    old.save([{"role": "user", "content": "go"}])
    runs = Catalogue([path])
    runs.look()
    runs.work(60)
    record("new", store=path).save([{"role": "user", "content": "go"}])
    runs.changed({path})
    assert [(row.id, row.at, row.status) for row in runs.rows()][-1] == ("old", 1_000.0, "stale")


def test_the_status_of_the_open_run_is_its_own_and_the_list_agrees(tmp_path: Path) -> None:
    """A call that has run for minutes keeps the open run live; the list does not contradict it."""
    dump(tmp_path / "run.json", checkpoint(2))
    runs = Catalogue([str(tmp_path)])
    runs.look()
    runs.work(60)
    name = runs.names[0]
    runs.learn(name, status="live", at=time.time() - 300)
    assert [row.status for row in runs.rows()] == ["stale"]
    assert [row.status for row in runs.rows(name)] == ["live"]
