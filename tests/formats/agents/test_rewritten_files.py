"""What all readers of files written whole share: they are followed as they are written, cut, spoiled, moved."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentmem.formats import NotYet, Options, Unreadable, formats, recognise
from agentmem.formats.draft import RunDraft
from tests.conftest import ROOT
from tests.formats.agents.following import cuts, every_text_is_whole, picture, read, reader_of, run_of
from tests.formats.agents.rewriting import WRITERS, dumped, follow, maker, spoiled

HISTORY = "api_conversation_history.json"


def _mini() -> list[Any]:
    make = maker("mini_swe_agent")
    return [make.v2(calls=calls) for calls in range(1, len(make.COMMANDS) + 1)]


def _swe(shape: str) -> Callable[[], list[Any]]:
    def versions() -> list[Any]:
        make = maker("swe_agent")
        return [make.run(shape, steps) for steps in range(1, len(make.STEPS) + 1)]

    return versions


def _atif() -> list[Any]:
    whole = maker("atif").compacted().value()
    return [{**whole, "steps": whole["steps"][:count]} for count in range(1, len(whole["steps"]) + 1)]


def _cline_sdk() -> list[Any]:
    whole = maker("cline").session()[0]
    return [{**whole, "messages": whole["messages"][:count]} for count in range(1, len(whole["messages"]) + 1)]


def _cline() -> list[Any]:
    history = maker("cline").task()[0]
    return [history[:count] for count in range(1, len(history) + 1)]


def _roo() -> list[Any]:
    plain = [{key: value for key, value in message.items() if key not in ("condenseParent", "truncationParent")}
             for message in maker("roo").task()[0] if not message.get("isTruncationMarker")]  # fmt: skip
    return [plain[:count] for count in range(1, len(plain) + 1)]


FORMATS: dict[str, tuple[str, Callable[[], list[Any]]]] = {
    "mini-swe-agent": ("run.traj.json", _mini),
    "swe-agent 1.1": ("run.traj", _swe("query")),
    "swe-agent 1.0": ("run.traj", _swe("messages")),
    "swe-agent 0.x": ("run.traj", _swe("history")),
    "atif": ("trajectory.json", _atif),
    "cline-sdk": ("one.messages.json", _cline_sdk),
    "cline": (HISTORY, _cline),
    "roo": (HISTORY, _roo),
}
each = pytest.mark.parametrize("name", FORMATS)


def _placed(folder: Path, name: str) -> tuple[Path, list[Any]]:
    file, versions = FORMATS[name]
    if name == "roo":
        (folder / "history_item.json").write_text("{}")
    return folder / file, versions()


@each
@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_a_run_is_followed_while_it_is_written(tmp_path: Path, name: str, write: Any) -> None:
    path, versions = _placed(tmp_path, name)
    reader = follow(path, versions, write)
    assert reader.draft.main.steps
    assert not reader.refresh()


@each
def test_versions_that_were_missed_are_caught_up(tmp_path: Path, name: str) -> None:
    path, versions = _placed(tmp_path, name)
    reader = follow(path, [versions[0], versions[len(versions) // 2], versions[-1]], WRITERS[0])
    assert reader.draft.main.steps


@each
def test_a_file_cut_anywhere_opens_with_its_whole_records(tmp_path: Path, name: str) -> None:
    path, versions = _placed(tmp_path, name)
    data = dumped(versions[-1])
    path.write_bytes(data)
    whole = read(path).draft
    opened = 0
    for place, found in cuts(path, data, 200):
        if isinstance(found, str):
            continue
        opened += 1
        assert len(found.main.steps) <= len(whole.main.steps), place
        if found.main.steps:
            assert set(_first(found)) <= set(_first(whole)), place
        assert any("half written or cut" in problem.what for problem in found.problems), place
    assert opened > 150


def _first(draft: RunDraft) -> list[int]:
    tape = draft.main.tape
    return [tape.keys[ident] for ident in tape.ids(1)]


@each
def test_spoiled_records_never_raise(tmp_path: Path, name: str) -> None:
    path, versions = _placed(tmp_path, name)
    for seed in range(60):
        path.write_bytes(dumped(spoiled(versions[-1], seed)))
        known = recognise(path)
        if known is None:
            continue
        reader = reader_of(path)
        try:
            reader.refresh()
        except (NotYet, Unreadable):
            continue
        run_of(reader)


@each
def test_every_text_is_found_again_after_the_file_has_moved_on(tmp_path: Path, name: str) -> None:
    path, versions = _placed(tmp_path, name)
    follow(path, versions[-3:], WRITERS[1])
    assert every_text_is_whole(path) > 3
    reader = reader_of(path)
    path.write_bytes(dumped(versions[-2]))
    reader.refresh()
    path.write_bytes(b"\n\n" + json.dumps(versions[-1]).encode())
    reader.refresh()
    tape = reader.draft.main.tape
    for ident in tape.live:
        where = tape.segment(ident).where
        assert where is not None
        with open(where.source, "rb") as file:
            file.seek(where.offset)
            text = reader.extract(file.read(where.length), where.part)
        assert text is not None
        head = text if where.span is None else text[slice(*where.span)]
        assert head[:120] == tape.segment(ident).head


@each
def test_a_file_that_is_gone_keeps_what_was_seen(tmp_path: Path, name: str) -> None:
    path, versions = _placed(tmp_path, name)
    path.write_bytes(dumped(versions[-1]))
    reader = read(path)
    before = picture(reader.draft)
    path.unlink()
    assert reader.refresh() and reader.draft.notice == "no such file"
    assert picture(reader.draft) == before


@each
def test_a_past_that_was_rewritten_is_read_again_and_said(tmp_path: Path, name: str) -> None:
    path, versions = _placed(tmp_path, name)
    path.write_bytes(dumped(versions[-1]))
    reader = read(path)
    path.write_bytes(dumped(versions[len(versions) // 2]))
    assert reader.refresh()
    assert reader.draft.notice == "history rewritten, read again"


@each
@pytest.mark.parametrize("junk", [b"", b"\n\n", b"\0" * 300, b"{", b"[", b'"', b"\xff\xfe", b"7"])
def test_what_is_no_run_says_so_in_one_line(tmp_path: Path, name: str, junk: bytes) -> None:
    path, _ = _placed(tmp_path, name)
    path.write_bytes(junk)
    known = next(one for one in formats() if one.name == name.split()[0])
    with pytest.raises((NotYet, Unreadable)) as caught:
        known.open(path, Options()).refresh()
    assert str(path.name) in str(caught.value) and "\n" not in str(caught.value)


@each
def test_nul_bytes_a_mark_of_order_and_junk_behind_are_survived(tmp_path: Path, name: str) -> None:
    path, versions = _placed(tmp_path, name)
    path.write_bytes(dumped(versions[-1]))
    plain = picture(read(path).draft)
    path.write_bytes(b"\xef\xbb\xbf\0\0" + dumped(versions[-1]) + b'{"more": 1}')
    reader = read(path)
    assert any("trailing junk" in problem.what for problem in reader.draft.problems)
    reader.draft.problems.clear()
    assert picture(reader.draft) == {**plain, "problems": []}


@pytest.mark.parametrize("name", ["mini_swe_agent", "swe_agent", "atif", "cline", "roo"])
def test_the_samples_are_made_again_to_the_byte(tmp_path: Path, name: str) -> None:
    maker(name).make(tmp_path)
    made = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert made
    for path in made:
        assert path.read_bytes() == (ROOT / "sample_runs" / path.relative_to(tmp_path)).read_bytes()


@pytest.mark.parametrize(
    "sample", ["mini-swe-agent/tides.traj.json", "mini-swe-agent/tides-v1.traj.json", "swe-agent/depth.traj",
               "swe-agent/depth-1.0.traj", "swe-agent/depth-0.7.traj", "swe-agent/depth-retried.traj",
               "harbor-job/berths__a1", "harbor-job/berths__b2", "cline-session", "cline-task", "roo-task"],
)  # fmt: skip
def test_every_piece_of_a_sample_can_be_looked_at(tmp_path: Path, sample: str) -> None:
    source = ROOT / "sample_runs" / sample
    target = tmp_path / source.name
    shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    assert every_text_is_whole(target) > 3
