"""File events that do not come, or are refused: the poll goes on alone, and says so where it knows."""

from __future__ import annotations

import errno
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentmem.inspect.watch import follow, loop
from agentmem.inspect.watch.follow import Events, Follower, Poll
from tests.inspect_follow.following import Following, checkpoint, dump, put


def silent(*folders: str, stop_event: threading.Event, **options: Any) -> Iterator[set[tuple[Any, str]]]:
    """A watcher that never fires."""
    while not stop_event.wait(0.05):
        yield set()


class Refusing:
    """A watcher that raises, as often as it is asked."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.asked = 0

    def __call__(self, *folders: str, **options: Any) -> Iterator[set[tuple[Any, str]]]:
        self.asked += 1
        raise self.error


def test_a_watcher_that_never_fires_is_made_good_by_the_poll(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    dump(path, checkpoint(1))
    with Following(tmp_path, watcher=silent) as seen:
        seen.until(lambda s: s.steps == 1)
        put(path, checkpoint(2))
        seen.until(lambda s: s.steps == 2)
        dump(tmp_path / "later.json", checkpoint(3))
        seen.until(lambda s: {info.id for info in s.infos} == {"run", "later"})
        assert seen.trouble == ""


@pytest.mark.parametrize(
    "error",
    [OSError(errno.EMFILE, "Too many open files"), OSError(errno.ENOSPC, "OS file watch limit reached."),
     RuntimeError("no watch")],
    ids=["instances", "watches", "other"],
)  # fmt: skip
def test_events_that_are_refused_are_said_in_one_line_and_polling_goes_on(tmp_path: Path, error: Exception) -> None:
    path = tmp_path / "run.json"
    dump(path, checkpoint(1))
    with Following(path, watcher=Refusing(error)) as seen:
        seen.until(lambda s: s.steps == 1 and "polling" in s.trouble)
        assert "\n" not in seen.trouble
        put(path, checkpoint(2))
        seen.until(lambda s: s.steps == 2)


def test_a_folder_that_goes_while_the_watch_is_set_up_is_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    dump(path, checkpoint(1))
    with Following(path, watcher=Refusing(FileNotFoundError("gone"))) as seen:
        seen.until(lambda s: s.steps == 1)
        put(path, checkpoint(2))
        seen.until(lambda s: s.steps == 2)
        assert seen.trouble == ""


def test_events_are_asked_for_again_and_the_word_goes_when_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "REFUSED_SECONDS", 0.1)
    monkeypatch.setattr(loop, "LOOK_SECONDS", 0.1)
    attempts = []

    def late(*folders: str, **options: Any) -> Iterator[set[tuple[Any, str]]]:
        attempts.append(folders)
        if len(attempts) < 3:
            raise OSError(errno.EMFILE, "Too many open files")
        yield from silent(*folders, **options)

    path = tmp_path / "run.json"
    dump(path, checkpoint(1))
    with Following(path, watcher=late) as seen:
        seen.until(lambda s: "polling" in s.trouble)
        seen.until(lambda s: s.trouble == "")
    assert len(attempts) == 3


def test_a_folder_that_was_deleted_and_made_again_is_watched_again(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    asked: list[tuple[str, ...]] = []

    def noting(*folders: str, **options: Any) -> Iterator[set[tuple[Any, str]]]:
        asked.append(folders)
        return silent(*folders, **options)

    events = Events(lambda paths: None, lambda why: None, noting)
    runs.mkdir()
    events.plan([runs])
    events.plan([runs])
    shutil.rmtree(runs)
    (tmp_path / "in between").mkdir()
    runs.mkdir()
    events.plan([runs])
    events.close()
    for thread in threading.enumerate():
        if thread.name == "agentmem-events":
            thread.join(5)
    assert asked == [(str(runs),), (str(runs),)]


def test_real_events_wake_the_follower(tmp_path: Path) -> None:
    follower = Follower()
    follower.plan([tmp_path], [])
    path = tmp_path / "new.json"
    seen: set[str] = set()
    for number in range(400):
        path.write_text(str(number))
        seen |= follower.next(0.05)[0]
        if seen:
            break
    follower.close()
    assert seen == {str(path)}


def test_the_poll_looks_at_the_first_files_in_every_round_and_at_all_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "POLLED_AT_ONCE", 3)
    paths = [str(tmp_path / f"{number}.json") for number in range(10)]
    poll = Poll()
    poll.watch(paths)
    assert poll.round(0.0) == set()
    for path in paths:
        Path(path).write_text("{}")
    first = poll.round(1.0)
    assert paths[0] in first and len(first) < 7
    rest: set[str] = set()
    for turn in range(4):
        rest |= poll.round(2.0 + turn)
    assert first | rest == set(paths) and not first & rest


def test_a_log_that_grows_is_looked_at_between_the_rounds_while_it_does(tmp_path: Path) -> None:
    poll = Poll()
    log, other = tmp_path / "log.jsonl", tmp_path / "other.json"
    for path in (log, other):
        path.write_text("{}\n")
    poll.watch([str(log), str(other)])
    poll.eager = str(log)
    assert poll.round(100.0) == set() and poll.wait(100.01) > follow.EAGER_POLL
    log.write_text("{}\n{}\n")
    assert poll.round(102.0) == {str(log)} and poll.wait(102.0) < 2 * follow.EAGER_POLL
    for path in (log, other):
        path.write_text("{}\n" * 3)
    assert poll.round(102.02) == {str(log)}
    assert poll.round(102.2) == {str(other)}


def test_the_poll_slows_down_when_nothing_moves_and_is_fast_again_when_it_does(tmp_path: Path) -> None:
    poll = Poll()
    path = tmp_path / "a.json"
    poll.watch([str(path)])
    assert poll.interval(100.0) == follow.SLOW_POLL
    path.write_text("{}")
    assert poll.round(100.0) == {str(path)}
    assert poll.interval(101.0) == follow.FAST_POLL and poll.interval(106.0) == follow.SLOW_POLL
