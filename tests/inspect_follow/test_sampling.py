"""Live runs that are not on the screen lose no version of their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentmem.formats.reader import KeptHere
from agentmem.inspect.history import HistoryStore, store_path
from agentmem.inspect.watch import sample
from agentmem.inspect.watch.sample import Sampler
from tests.inspect_follow.following import Following, checkpoint, messages, put, request


def shifted(steps: int) -> dict[str, object]:
    """A checkpoint whose author sends only the last two calls: what left is in no later version."""
    return checkpoint(steps, messages=[messages(0)[0], *messages(steps)[1:][-4:]])


def kept(path: Path) -> int:
    """How many versions of a file the store holds."""
    return sum(row.versions for row in HistoryStore.listing(store_path()) if row.path == str(path))


@pytest.mark.parametrize("history", [True, False])
@pytest.mark.parametrize("opened_before", [True, False])
def test_a_run_that_was_not_shown_has_no_hole_when_it_is(tmp_path: Path, history: bool, opened_before: bool) -> None:
    shown, other = tmp_path / "shown.json", tmp_path / "other.json"
    put(shown, shifted(1))
    with Following(tmp_path, history=history) as seen:
        seen.until(lambda s: s.run is not None and s.run.id == "shown")
        put(other, shifted(1))
        seen.until(lambda s: len(s.infos) == 2)
        if opened_before:
            seen.watch.choose("other")
            seen.until(lambda s: s.run is not None and s.run.id == "other")
            seen.watch.choose("shown")
            seen.until(lambda s: s.run is not None and s.run.id == "shown")
        for step in range(2, 9):
            reader = lambda: _steps_read(seen, other)  # noqa: E731 - read anew each time
            put(other, shifted(step))
            seen.until(lambda s, n=step, r=reader: r() >= n)  # type: ignore[misc]  # bound now
        assert seen.run is not None and seen.run.id == "shown", "what is shown stays"
        assert not history or kept(other) == 8
        seen.watch.choose("other")
        seen.until(lambda s: s.run is not None and s.run.id == "other" and s.steps == 8)
        assert seen.run is not None and not seen.run.gaps
        assert [step.own for step in seen.run.main.steps if not step.open] == list(range(1, 9))


def test_the_list_counts_the_steps_of_a_run_that_is_not_shown_once_they_were_read(tmp_path: Path) -> None:
    shown, other = tmp_path / "shown.json", tmp_path / "other.json"
    put(other, shifted(30))
    put(shown, shifted(1))
    with Following(shown, other) as seen:
        seen.until(lambda s: s.run is not None and s.run.id == "shown" and len(s.infos) == 2)

        def rows() -> dict[str, int | None]:
            return {info.id: info.steps for info in seen.infos}

        assert rows()["other"] is None, "the file's own number counts what its list no longer holds"
        put(other, shifted(31))
        seen.until(lambda s: rows()["other"] is not None)
        counted = rows()["other"]
        seen.watch.choose("other")
        seen.until(lambda s: s.run is not None and s.run.id == "other")
        assert counted == seen.steps and seen.steps < 31
        seen.until(lambda s: rows() == {"shown": 1, "other": counted})


def _steps_read(seen: Following, path: Path) -> int:
    """How many steps the reader of a file that is not shown has taken in."""
    watch = seen.watch
    reader = watch._sampler._readers.get(str(path)) or next(
        (one.reader for one in list(watch._open.values()) if one.run.path == str(path)), None
    )
    return 0 if reader is None else len(reader.draft.main.steps)


def test_what_keeps_its_own_past_is_not_read_beside_the_screen(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(request(1))
    sampler = Sampler(KeptHere(), "quick")
    sampler.note({str(log)})
    assert sampler.wait() is None


def test_only_files_of_the_targets_are_read_and_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.json"
    put(path, shifted(2))
    sampler = Sampler(KeptHere(), "quick")
    sampler.note({str(path)})
    sampler.work(lambda held: False, lambda held: None, None, 1.0)
    assert sampler.take(str(path)) is None
    monkeypatch.setattr(sample, "FORGET_SECONDS", 0.0)
    sampler._due = 0.0
    sampler.note({str(path)})
    sampler.work(lambda held: False, lambda held: None, None, 1.0)
    assert sampler.wait() is None


def test_of_many_files_those_that_changed_last_are_followed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "MOST", 3)
    sampler = Sampler(KeptHere(), "quick")
    paths = [tmp_path / f"{number}.json" for number in range(5)]
    for path in paths:
        put(path, shifted(2))
        sampler.note({str(path)})
        sampler._due = 0.0
        sampler.work(lambda held: True, lambda held: None, None, 1.0)
    assert [sampler.take(str(path)) is not None for path in paths] == [False, False, True, True, True]


def test_reading_takes_a_tenth_of_the_time_at_most(tmp_path: Path) -> None:
    sampler = Sampler(KeptHere(), "quick")
    path = tmp_path / "run.json"
    put(path, shifted(2))
    sampler.note({str(path)})
    sampler.work(lambda held: True, lambda held: None, None, 1.0)
    put(path, shifted(3))
    sampler.note({str(path)})
    waited = sampler.wait()
    assert waited is not None and waited > 0.0
    sampler.work(lambda held: True, lambda held: None, None, 1.0)
    reader = sampler.take(str(path))
    assert reader is not None and len(reader.draft.main.steps) == 2, "not before it is due"


def test_a_half_written_file_is_looked_at_again(tmp_path: Path) -> None:
    sampler = Sampler(KeptHere(), "quick")
    path = tmp_path / "run.json"
    path.write_text('{"step": 1, "messages": [{"role": "us')
    sampler.note({str(path)})
    sampler.work(lambda held: True, lambda held: None, None, 1.0)
    assert sampler.wait() is not None
    put(path, shifted(2))
    sampler._due = 0.0
    sampler.work(lambda held: True, lambda held: None, None, 1.0)
    assert sampler.take(str(path)) is not None and sampler.wait() is None
