"""Odd files: rows of the cases and of the reliability list that a reader of files meets, seen through a command."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentmem.cli import main
from agentmem.formats.source import NotYet, Unreadable
from agentmem.inspect.open import NoRuns, open_run
from tests.cases.written import Message, each, list_of, log, open_file, request, said, save, user

ROUND = [user("count the meters of Izmir"), said("a"), user("go on"), said("b")]


def line(text: str, before: list[Message] | None = None) -> bytes:
    return json.dumps(request([*(before or []), user(text)], said(f"answer to {text}"))).encode() + b"\n"


def refused(capsys: pytest.CaptureFixture[str], path: Path) -> str:
    capsys.readouterr()
    assert main(["show", str(path), "--no-history"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "Traceback" not in err and path.name in err
    return err


def test_nul_blocks_and_lines_that_are_no_objects_are_counted_and_everything_else_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(
        b"\xef\xbb\xbf" + line("one").replace(b"\n", b"\r\n") + b'["x"]\n' + b"\0" * 9_000 + line("two")
        + b'null\n3\n"x"\n{"message":null}\n{"message":"str"}\n' + line("three") + b"\0" * 143_000 + b"\n"
    )  # fmt: skip
    run = open_run(str(path)).run
    assert [step.replies[0].head for step in each(run)] == ["answer to one", "answer to two", "answer to three"]
    places = [problem.where for problem in run.problems]
    assert {"line 2", "line 4", "line 5", "line 6", "line 7", "line 8"} <= set(places)
    assert any("NUL" in problem.what for problem in run.problems)


def test_a_character_cut_in_three_arrives_once_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(line("begin"))
    source = open_run(str(path))
    data = json.dumps(request([user("漢字")], said("ok")), ensure_ascii=False).encode() + b"\n"
    middle = data.index("漢".encode())
    for part in (data[: middle + 1], data[middle + 1 : middle + 2], data[middle + 2 :]):
        with path.open("ab") as file:
            file.write(part)
        source.refresh()
    steps = each(source.run)
    assert len(steps) == 2 and steps[1].prompt[0].head == "漢字" and source.run.problems == ()


def test_bytes_that_come_one_at_a_time_make_each_record_once(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(line("begin"))
    source = open_run(str(path))
    for byte in line("more") + line("most"):
        with path.open("ab") as file:
            file.write(bytes([byte]))
        source.refresh()
    heads = [step.replies[0].head for step in each(source.run)]
    assert heads == ["answer to begin", "answer to more", "answer to most"]


def test_a_file_replaced_deleted_and_made_again_keeps_the_view(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    source = open_file(path, ROUND)
    for number in range(2, 4):
        fresh = save(tmp_path / "tmp", [*ROUND, *[part for n in range(number) for part in (user(f"u{n}"), said("x"))]])
        os.replace(fresh, path)
        assert source.refresh()
    assert len(each(source.run)) == 5
    path.unlink()
    source.refresh()
    assert len(each(source.run)) == 5 and source.run.notice
    save(path, [*ROUND, *[part for n in range(4) for part in (user(f"u{n}"), said("x"))]])
    assert source.refresh()
    assert len(each(source.run)) == 6 and source.run.notice is None


def test_an_append_file_cut_to_nothing_and_written_anew_is_a_new_generation(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(line("one") + line("two"))
    source = open_run(str(path))
    path.write_bytes(b"")
    source.refresh()
    path.write_bytes(line("three"))
    source.refresh()
    assert [step.replies[0].head for step in each(source.run)] == ["answer to three"]
    assert source.run.notice and "replaced" in source.run.notice


def test_a_missing_file_is_refused_with_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(capsys, tmp_path / "none.json")


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "empty"), (b"\n\n \n", ""), (b'{"messages": [{"role": "us', ""), (b"not JSON at all", ""),
        (b"3", ""), (b'"text"', ""), (b"null", ""), (b"\0" * 500, ""), (b'{"colour": "blue"}', ""),
        (b"[" * 100_000, ""),
    ],
)  # fmt: skip
def test_a_file_that_is_none_of_ours_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, word: str
) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(content)
    assert word in refused(capsys, path)


MESSAGES_OF_ANY_TYPE: list[object] = [
    "text", 3, None, {"role": "user", "content": "x"}, [1, 2],
    [None, "x", 3, {"a": 1}, ["y"], user("hello"), said("hi")],
]  # fmt: skip


@pytest.mark.parametrize("messages", MESSAGES_OF_ANY_TYPE)
def test_messages_of_any_type_survive_beside_a_state(tmp_path: Path, messages: object) -> None:
    body = {"step": 4, "notes": "n", "state": {"port": "8443"}, "messages": messages}
    run = open_file(tmp_path / "run.json", body).run
    if not isinstance(messages, list):
        assert messages is None or run.problems
    elif {"a": 1} in messages:
        assert each(run)[0].replies[0].head == "hi"


@pytest.mark.parametrize("messages", MESSAGES_OF_ANY_TYPE)
def test_messages_of_any_type_alone_are_shown_or_refused_in_one_line(tmp_path: Path, messages: object) -> None:
    try:
        run = open_file(tmp_path / "run.json", {"step": 4, "notes": "n", "messages": messages}).run
    except Unreadable as refused:
        assert "run.json" in str(refused) and "\n" not in str(refused)
    else:
        assert messages is None or each(run)


CONTENTS: list[object] = [
    None, 3, True, {"text": "x"}, [], [None], [3], ["a", "b"], [{"type": None}], [{"type": "text", "text": 4}],
    [{"type": "tool_use"}], [{"type": "tool_result"}], [{"type": "image"}], [{"type": ["x"]}, {"type": {}}],
    [{"type": "tool_result", "content": [{"type": ["x"]}, {"type": {}}, 3, None]}], {"deep": {"er": []}},
]  # fmt: skip


@pytest.mark.parametrize("content", CONTENTS)
def test_content_of_any_type_survives(tmp_path: Path, content: object) -> None:
    for role in ("user", "assistant", "tool", "system", 5, None):
        run = list_of(tmp_path / "run.json", [user("begin"), {"role": role, "content": content}, said("done")])
        assert each(run)[-1].replies[-1].head == "done"


CALLS: list[object] = [
    3, "x", [None], [{}], [{"function": None}], [{"function": {"name": 3, "arguments": 4}}],
    [{"id": 7, "function": {"name": "a", "arguments": "not json"}}], [{"id": "c", "function": {"name": "a"}}],
]  # fmt: skip


@pytest.mark.parametrize("calls", CALLS)
def test_calls_of_any_type_survive(tmp_path: Path, calls: object) -> None:
    odd = {"role": "assistant", "content": None, "tool_calls": calls}
    run = list_of(tmp_path / "run.json", [user("begin"), odd, {"role": "tool", "content": "r"}, said("done")])
    assert each(run)[-1].replies[-1].head == "done"


NUMBERS = ["NaN", "Infinity", "-0.0", "1e400", str(2**64), "9" * 5_000, '"\\ud800"']


@pytest.mark.parametrize("number", NUMBERS)
def test_odd_numbers_and_surrogates_are_read_or_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: str
) -> None:
    path = tmp_path / "run.json"
    path.write_text(
        f'{{"step": 1, "state": {{"x": {number}, "port": 8841}}, "messages": '
        f'[{{"role": "user", "content": "go"}}, {{"role": "assistant", "content": "a"}}]}}'
    )
    code = main(["show", str(path), "--json", "--no-history"])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    if code == 0:
        json.loads(out)
    else:
        assert code == 2 and err.count("\n") == 1


def test_an_integer_beyond_64_bits_is_shown_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text('{"step": 1, "state": {"big": 18446744073709551617}, "messages": ' + json.dumps(ROUND) + "}")
    (field,) = [field for field in open_run(str(path)).run.main.steps[-1].fields if field.name == "big"]
    assert field.value == "18446744073709551617"


def test_nesting_too_deep_costs_that_record_only(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(line("one") + b'{"request":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n" + line("two"))
    run = open_run(str(path)).run
    assert len(each(run)) == 2 and [problem.where for problem in run.problems] == ["line 2"]


def test_one_megabyte_in_one_line_is_a_piece_like_any_other(tmp_path: Path) -> None:
    source = open_file(tmp_path / "run.json", [user("begin"), said("x" * 1_000_000), user("go on")])
    big = source.run.main.steps[-1].prompt[1]
    assert big.characters == 1_000_000 and big.tokens == 250_000 and len(big.head or "") == 120
    assert source.text(big) == "x" * 1_000_000


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


@pytest.mark.parametrize("become", [folder, pipe, loop])
def test_a_file_that_turns_into_something_else_keeps_the_view_and_comes_back(
    tmp_path: Path, become: Callable[[Path], None]
) -> None:
    path = tmp_path / "run.json"
    source = open_file(path, ROUND)
    become(path)
    source.refresh()
    assert len(each(source.run)) == 2 and source.run.notice
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink()
    save(path, [*ROUND, user("more"), said("c")])
    assert source.refresh() and len(each(source.run)) == 3 and source.run.notice is None


def test_a_pipe_is_refused_and_does_not_hang(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.json"
    os.mkfifo(path)
    refused(capsys, path)


def test_looking_changes_nothing(tmp_path: Path) -> None:
    path = save(tmp_path / "run.json", ROUND)
    before: Any = path.stat()
    for command in ("show", "drops", "ledger", "lost"):
        assert main([command, str(path), "--json"]) == 0
    after = path.stat()
    assert (after.st_mtime_ns, after.st_size, stat.S_IMODE(after.st_mode), after.st_ino) == (
        before.st_mtime_ns, before.st_size, stat.S_IMODE(before.st_mode), before.st_ino,
    )  # fmt: skip
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]


def test_every_cut_of_a_list_is_either_read_or_refused(tmp_path: Path) -> None:
    data = json.dumps({"step": 2, "messages": ROUND, "state": {"goal": "g" * 9}}).encode()
    path = tmp_path / "run.json"
    for size in range(0, len(data) + 1, 3):
        path.write_bytes(data[:size])
        try:
            run = open_run(str(path)).run
        except (NotYet, Unreadable, NoRuns):
            continue
        assert size == len(data) or run.problems


def test_a_half_written_file_that_is_followed_keeps_the_last_good_value(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    source = open_file(path, {"step": 2, "messages": ROUND})
    data = json.dumps({"step": 3, "messages": [*ROUND, user("more"), said("c")]})
    for size in (0, 1, 40, len(data) - 1):
        path.write_text(data[:size])
        source.refresh()
        assert len(each(source.run)) == 2 and source.run.notice
    path.write_text(data)
    assert source.refresh() and len(each(source.run)) == 3 and source.run.notice is None


def test_a_log_of_blank_lines_and_no_last_newline_is_read(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(b"\n" + line("one") + b"\n\n" + line("two").rstrip(b"\n"))
    source = open_run(str(path))
    assert [step.replies[0].head for step in each(source.run)][:1] == ["answer to one"]
    with path.open("ab") as file:
        file.write(b"\n")
    source.refresh()
    assert [step.replies[0].head for step in each(source.run)] == ["answer to one", "answer to two"]


def test_a_format_of_which_nothing_is_understood_is_said_to_be_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = log(tmp_path / "new.jsonl", [{"kind": "pulse", "n": n} for n in range(40)])
    assert "empty" not in refused(capsys, path)
