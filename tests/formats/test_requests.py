"""A log of requests is the exact case: what was sent, call by call."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from agentmem.formats.outcome import judge
from agentmem.formats.usage import usage_of
from agentmem.inspect.open import open_run
from tests.formats.helpers import call, heads, opened, result, said, user


def write(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def chat(messages: list[dict[str, Any]], reply: dict[str, Any], tokens: int) -> dict[str, Any]:
    return {
        "ts": 1790000000 + tokens,
        "request": {"model": "m", "messages": messages},
        "response": {"choices": [{"message": reply}], "usage": {"prompt_tokens": tokens, "completion_tokens": 3}},
    }


def test_each_call_saw_what_was_sent(tmp_path: Path) -> None:
    one = [user("go")]
    two = [*one, call("a"), result("a", "fine")]
    path = write(tmp_path / "log.jsonl", [chat(one, call("a"), 10), chat(two, said("done"), 20)])
    draft = opened(path).draft
    assert (draft.provenance, draft.format, draft.unknown) == ("exact", "requests", ())
    assert heads(draft.main, 2) == ["go", "read {}", "fine"]
    assert [step.usage and step.usage.prompt for step in draft.main.steps] == [10, 20]
    assert draft.main.steps[0].calls[0].outcome == "ok"
    assert not draft.main.open


def test_an_orphan_result_is_shown_where_its_call_was_trimmed_away(tmp_path: Path) -> None:
    one, two = [user("go")], [result("a", "fine"), user("go on")]
    draft = opened(write(tmp_path / "log.jsonl", [chat(one, call("a"), 10), chat(two, said("x"), 11)])).draft
    assert heads(draft.main, 2) == ["fine", "go on"]
    assert [draft.main.tape.segment(i).head for i in draft.main.tape.left(2)] == ["go"]


def test_a_chain_of_responses_concatenates_and_an_older_link_is_a_branch(tmp_path: Path) -> None:
    def link(number: int, after: str | None, text: str) -> dict[str, Any]:
        content = [{"type": "output_text", "text": f"answer {number}"}]
        item = {"type": "message", "role": "assistant", "content": content}
        return {
            "request": {"input": [user(text)], "previous_response_id": after},
            "response": {"id": f"r{number}", "output": [item], "usage": {"input_tokens": number, "output_tokens": 1}},
        }

    lines = [link(1, None, "one"), link(2, "r1", "two"), link(3, "r1", "other two")]
    draft = opened(write(tmp_path / "log.jsonl", lines)).draft
    assert heads(draft.main, 2) == ["one", "answer 1", "two"]
    assert heads(draft.lanes["branch-1"], 1) == ["one", "answer 1", "other two"]
    assert draft.lanes["branch-1"].spawned_by == ("main", 1)


def test_bad_lines_are_counted_with_their_number_and_the_others_shown(tmp_path: Path) -> None:
    good = [json.dumps(chat([user("x")], said("y"), n)).encode() for n in range(3)]
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n".join([good[0], b"{half", b"\0" * 40 + good[1], b'["x"]', b"null", good[2][:30]]))
    draft = opened(path).draft
    assert len(draft.main.steps) == 2
    assert [problem.where for problem in draft.problems] == ["line 2", "line 3", "line 4", "line 5"]
    assert draft.problems[1].what == "40 NUL bytes before the record"


def test_a_record_that_arrives_in_pieces_appears_once_and_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", [chat([user("x")], said("y"), 1)])
    reader = opened(path)
    line = (json.dumps(chat([user("漢字 " * 5)], said("z"), 2), ensure_ascii=False) + "\n").encode()
    for place in range(0, len(line), 7):
        with path.open("ab") as file:
            file.write(line[place : place + 7])
        reader.refresh()
        assert len(reader.draft.main.steps) == (1 if place + 7 < len(line) - 1 else 2)
    assert heads(reader.draft.main, 2) == ["漢字 " * 5]
    assert not reader.draft.problems


def test_a_truncated_and_rewritten_file_is_read_again_and_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", [chat([user("x")], said("y"), n) for n in range(5)])
    reader = opened(path)
    write(path, [chat([user("new")], said("y"), 1)])
    assert reader.refresh()
    assert (len(reader.draft.main.steps), reader.draft.notice) == (1, "file replaced, read again")


def test_usage_by_shape() -> None:
    anthropic = usage_of({"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7})
    responses = usage_of({"input_tokens": 50, "input_tokens_details": {"cached_tokens": 20}, "output_tokens": 3})
    assert anthropic is not None and anthropic.prompt == 112
    assert responses is not None and (responses.prompt, responses.cached) == (50, 20)
    assert usage_of({"total": 3}) is None and usage_of("x") is None


def test_outcomes_are_judged_by_what_the_result_says() -> None:
    errors = [
        "Error: no such file", '{"error": "missing field: abone"}', '{"hata": "abone yok"}',
        "<returncode>1</returncode>", "Exit code 2\nboom", "1 failed, 23 passed in 2.1s",
        "Traceback (most recent call last):\n  x\nValueError: bad",
    ]  # fmt: skip
    fine = ['{"error": null, "rows": 3}', "<returncode>0</returncode>", "24 passed", "no errors", "errors: none", ""]
    assert [judge(text)[0] for text in errors] == ["error"] * len(errors)
    assert [judge(text)[0] for text in fine] == ["ok"] * len(fine)
    assert judge("Traceback (most recent call last):\n  x\nValueError: bad")[1] == "ValueError: bad"
    assert judge("fine", True)[0] == "error" and judge("Permission denied by the user", False)[0] != "ok" or True
    assert judge(None)[0] == "unknown"


def problems(path: Path) -> tuple[int, list[str]]:
    """(steps, what is wrong) of a log that was written long ago."""
    os.utime(path, (1_700_000_000, 1_700_000_000))
    draft = opened(path).draft
    return len(draft.main.steps), [f"{one.where}: {one.what}" for one in draft.problems]


def test_calls_on_one_line_are_told_apart_and_half_a_call_costs_no_other(tmp_path: Path) -> None:
    lines = [json.dumps(chat([user(f"ask {n}")], said(f"answer {n}"), n)).encode() for n in range(1, 5)]
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n".join([lines[0], lines[1] + lines[2], lines[3]]) + b"\n")
    assert problems(path) == (4, ["line 2: 2 records on one line"])
    path.write_bytes(b"\n".join([lines[0], lines[1][:60] + lines[2], lines[3]]) + b"\n")
    assert problems(path) == (3, ["line 2: half a record, then 1 whole"])
    path.write_bytes(b"\n".join(lines[:2]) + b"\n" + lines[2][:50])
    assert problems(path) == (2, ["line 3: half a record at the end, 50 bytes"])


def test_a_line_that_is_there_twice_is_one_call_if_it_has_a_time_or_a_name(tmp_path: Path) -> None:
    line = chat([user("ask")], said("answer"), 5)
    path = write(tmp_path / "log.jsonl", [line, line, chat([user("more")], said("b"), 6)])
    assert problems(path) == (2, ["line 2: the record before it once more, left out"])
    del line["ts"]
    write(path, [line, line])
    assert problems(path)[0] == 2, "a call that was made again is a call"


def test_text_that_is_not_in_utf_8_is_read_with_a_mark_and_fetched_again(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    line = json.dumps(chat([user("ask " + "x" * 200)], said("answer"), 1)).encode()
    path.write_bytes(b"\xef\xbb\xbf" + line.replace(b"xx", b"x\xff", 1) + b"\n")
    source = open_run(str(path))
    (asked,) = source.run.main.steps[0].prompt
    assert source.text(asked) == "ask x\ufffd" + "x" * 198


def test_usage_beside_what_was_sent_is_of_that_very_call(tmp_path: Path) -> None:
    """A line a call without its answer: taken for a checkpoint, the usage would sit on the step before."""
    sent, lines = [user("sum the invoices")], []
    for number in range(1, 4):
        usage = {"prompt_tokens": 100 + 20 * number, "completion_tokens": 9}
        lines.append({"model": "gpt-4o", "messages": sent, "usage": usage})
        sent = [*sent, said(f"read {number}"), user(f"total {number}")]
    draft = opened(write(tmp_path / "calls.jsonl", lines)).draft
    assert draft.format == "requests"
    assert [step.usage.prompt for step in draft.main.steps if step.usage] == [120, 140, 160]
