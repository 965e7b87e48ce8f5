"""Damaged, odd and foreign lines cost only themselves, and any tree of lines is read alike whole and in pieces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.formats import Unreadable
from agentmem.formats.agents.claude_code.records import Entry
from agentmem.formats.agents.claude_code.records import read as read_line
from agentmem.formats.draft import RunDraft
from agentmem.formats.source import Record
from agentmem.inspect.texts import Texts
from tests.formats.agents.claude import GOAL, IDENT, heads, picture, read, run_of, session


def damaged(folder: Path, *middle: bytes) -> RunDraft:
    work = session()
    work.user(GOAL)
    head = work.text().encode()
    work.lines.clear()
    work.answer("Yes.")
    path = folder / f"{IDENT}.jsonl"
    path.write_bytes(head + b"".join(middle) + work.text().encode())
    return read(path).draft


@pytest.mark.parametrize(
    ("middle", "what"),
    [
        (b'["x"]\n', "not a record"),
        (b"null\n", "not a record"),
        (b'{"type": "user", "uu\n', "not a record"),
        (b"\0" * 900 + b"\n", "900 NUL bytes"),
        (b"[" * 100_000 + b"\n", "nested too deep"),
        (b'{"type":"user","uuid":"n1","message":null}\n', "without a message"),
        (b'{"type":"user","uuid":"n1","message":7}\n', "without a message"),
        (b'{"type":"item_completed","x":1}\n', "item_completed x1"),
        (b'{"type":5}\n', "no type x1"),
    ],
    ids=["list", "null", "torn", "nul", "deep", "no message", "number", "unknown", "odd type"],
)
def test_damage_costs_only_itself_and_is_told(tmp_path: Path, middle: bytes, what: str) -> None:
    draft = damaged(tmp_path, middle)
    assert len(draft.main.steps) == 1 and heads(draft.main, 1)[0] == GOAL[:40]
    assert any(what in problem.what for problem in draft.problems), draft.problems


@pytest.mark.parametrize(
    "odd",
    [
        {"message": "only text"},
        {"message": {"content": "a \ud800 surrogate"}},
        {"message": {"content": [None, 3, "text", {"type": "text"}, {"type": "tool_result", "content": {"a": 1}}]}},
        {"message": {"content": {"a": 1}}, "toolUseResult": [1], "timestamp": "yesterday", "isMeta": "no"},
        {"message": {"content": "x"}, "parentUuid": 5, "sessionId": None, "requestId": {}},
        {"type": "assistant", "message": {"id": 7, "content": "x", "usage": {"input_tokens": "many"}}},
        {"type": "system", "subtype": "compact_boundary", "compactMetadata": "no"},
        {"type": "system", "subtype": "compact_boundary",
         "compactMetadata": {"preservedSegment": {"headUuid": 1, "tailUuid": []}, "preTokens": -4}},
        {"type": "system", "subtype": "microcompact_boundary", "microcompactMetadata": {"compactedToolIds": [1, None]}},
        {"type": "attachment", "attachment": [1, 2]},
        {"type": "content-replacement", "replacements": {"a": 1}},
    ],
)  # fmt: skip
def test_odd_fields_are_read_as_far_as_they_go(tmp_path: Path, odd: dict[str, Any]) -> None:
    line = {"type": "user", "uuid": "odd-1", "parentUuid": None, **odd}
    draft = damaged(tmp_path, json.dumps(line).encode() + b"\n")
    assert draft.main.steps


def test_two_records_on_one_line_are_both_read(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.user("Use metres.")
    first, second = work.text().encode().splitlines()
    draft = damaged(tmp_path, second + second.replace(b"Use metres.", b"Use feet...") + b"\n")
    assert any("more than one record" in problem.what for problem in draft.problems)
    path = tmp_path / "glued.jsonl"
    path.write_bytes(first + second + b"\n")
    reader = read(path)
    assert heads(reader.draft.main, 1) == [GOAL[:40], "Use metres."]
    assert Texts(reader).text(reader.draft.main, 1) == "Use metres."


def test_a_record_behind_half_of_another_is_found(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    whole = {"parentUuid": work.head, "type": "attachment", "uuid": "u-x", "attachment": {"content": "Still here."}}
    draft = damaged(tmp_path, work.text().encode()[:90] + json.dumps(whole, separators=(",", ":")).encode() + b"\n")
    assert heads(draft.main, 1) == [GOAL[:40], "Still here."]
    assert any("broken record" in problem.what for problem in draft.problems)


@given(st.binary(max_size=300))
def test_no_bytes_make_a_line_fail(data: bytes) -> None:
    for found in read_line(Record(data.replace(b"\n", b""), 0, 1), "x"):
        assert isinstance(found, str | Entry)


SHAPES = st.tuples(st.integers(0, 8), st.one_of(st.none(), st.integers(0, 8)), st.sampled_from("uastx"))


@given(st.lists(SHAPES, max_size=14))
def test_any_tree_of_lines_is_read_the_same_whole_and_in_pieces(
    tmp_path_factory: pytest.TempPathFactory, shape: list[tuple[int, int | None, str]]
) -> None:
    path = tmp_path_factory.mktemp("tree") / f"{IDENT}.jsonl"
    lines: list[bytes] = []
    for ident, parent, sort in shape:
        up = None if parent is None else f"n{parent}"
        line: dict[str, Any] = {"uuid": f"n{ident}", "parentUuid": up, "sessionId": "s"}
        content = f"text {len(lines)}"
        if sort == "u":
            line |= {"type": "user", "message": {"content": content}}
        elif sort == "a":
            line |= {"type": "assistant", "message": {"id": f"m{len(lines)}", "content": content}}
        elif sort == "s":
            line |= {"type": "system", "subtype": "compact_boundary", "parentUuid": None}
        elif sort == "t":
            line |= {"type": "user", "isSidechain": True, "message": {"content": content}}
        else:
            line |= {"type": "attachment", "attachment": {"type": "file", "content": content}}
        lines.append(json.dumps(line).encode() + b"\n")
    path.write_bytes(b"".join(lines[:1]))
    reader = read(path)
    for line_ in lines[1:]:
        with path.open("ab") as file:
            file.write(line_)
        reader.refresh()
    run_of(reader)
    assert picture(reader.draft) == picture(read(path).draft)


def test_a_file_of_which_nothing_is_understood_says_so(tmp_path: Path) -> None:
    path = tmp_path / f"{IDENT}.jsonl"
    path.write_text('{"type":"brand_new","sessionId":"s"}\n{"type":"brand_new"}\n')
    with pytest.raises(Unreadable, match="format not recognised: 2 records, 0 understood, 2 unknown: brand_new x2"):
        read(path)
