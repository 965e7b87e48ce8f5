"""JSON that holds nothing of a run is refused in words, by the list as by opening it; NaN is never passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentmem.formats import Options
from agentmem.formats.plain.snapshot import FORMAT, peek
from agentmem.formats.source import Unreadable


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"step": NaN}', "no list of messages and no state in it"),
        ('{"name": "x", "step": "build"}', "no list of messages and no state in it"),
        ('{"messages": [{"role": "user", "content": NaN}]}', "NaN in place of what its messages say"),
        ('{"step": 1, "messages": -Infinity}', "messages is a number"),
    ],
)  # fmt: skip
def test_what_holds_nothing_of_a_run_is_refused_by_the_list_and_by_opening(
    tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(Unreadable, match=words):
        FORMAT.open(path, Options()).refresh()
    with pytest.raises(Unreadable, match=words):
        peek(path)


def test_nan_beside_what_can_be_read_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"step": 1, "messages": [{"role": "user", "content": "go"}, {"role": "user", "content": NaN}]}')
    reader = FORMAT.open(path, Options())
    reader.refresh()
    assert [problem.what for problem in reader.draft.problems] == ["NaN: no JSON, read as null"]
