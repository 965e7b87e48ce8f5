"""Every run id has one safe file name, and no two share one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.checkpoint.files import FileStore
from agentmem.checkpoint.names import file_name, run_id
from agentmem.checkpoint.recorder import history, load, record
from agentmem.checkpoint.store import CheckpointError
from tests.checkpoint.helpers import message, names

ENCODABLE = st.characters(exclude_categories=["Cs"])
HOSTILE = [
    "../../x", "a/b", ".", "..", "x" * 300, "CON", "con.txt", "nul", "a\0b", "a\nb", "\x1b[2J", "görev 1", "日本" * 100,
    "a%2Fb", "~x", "-rf", " x ", "C:\\x", "a:b", "x.", ".hidden", "lpt1", "a.json", "x.steps", "/etc/passwd",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_id_stays_in_the_folder_and_is_found_again(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "runs"
    record(name, folder=folder).save([message(0)])
    assert names(tmp_path) == ["runs"]
    assert len(names(folder)) == 3
    assert all(part.isascii() and part.isprintable() and len(part) < 200 for part in names(folder))
    assert FileStore(folder).load(name).run == name
    assert FileStore(folder).runs() == [name]
    assert load(name, folder).messages == [message(0)]


def test_an_empty_id_and_one_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        record("", folder=tmp_path)
    with pytest.raises(ValueError, match="surrogates not allowed"):
        record("a\udcff", folder=tmp_path)
    with pytest.raises(TypeError, match="not int"):
        record(3, folder=tmp_path)  # type: ignore[arg-type]  # a caller without types


@given(st.text(ENCODABLE, min_size=1), st.text(ENCODABLE, min_size=1))
def test_two_ids_never_share_a_name_and_the_name_leads_back(one: str, two: str) -> None:
    assert (file_name(one) == file_name(two)) == (one == two)
    name = file_name(one)
    assert run_id(name) == (None if "~" in name else one)
    assert name[0] != "." and name[-1] != "." and not set(name) & set('/\\:*?"<>| ')


@given(st.text(alphabet="aB%~./\0é", min_size=1, max_size=400))
def test_names_of_nasty_letters_are_short_and_lead_back(text: str) -> None:
    assert len(file_name(text)) <= 150
    assert run_id(file_name(text)) in (None, text)
    assert run_id("~") is None and run_id("a b") is None and run_id("%zz") is None


def test_an_id_that_looks_like_a_file_is_found_and_no_other_file_is_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("job.json", "job.steps.jsonl", "a/job.json"):
        record(name).save([message(1)])
        assert load(name).run == name and [version.run for version in history(name)] == [name]
    (tmp_path / "job.json").write_text('{"step": 9, "messages": [], "notes": "of a stranger"}')
    for ask in (load, history):
        with pytest.raises(CheckpointError, match=r"job\.json: is both a file and the id of a run in .*runs; give"):
            ask("job.json")
    assert load(Path("job.json")).notes == "of a stranger"
    assert load("runs/job.json.json").run == "job.json"
    assert load("job.json", store="runs").run == "job.json"
    (tmp_path / "other.json").write_text('{"step": 9, "messages": [], "notes": "a file"}')
    assert load("other.json").notes == "a file"
