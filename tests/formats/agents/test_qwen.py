"""Chats of Qwen Code: the chain, rewinds, compressions with what was asked before them, thoughts, subagents, damage."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from agentmem.formats import recognise
from agentmem.formats.agents.gemini.qwen_files import FORMAT
from agentmem.formats.reader import Reader
from agentmem.inspect.discover import EVERYWHERE, find
from tests.formats.agents.following import cuts, every_text_is_whole, grow, heads, picture, read, run_of

Record = dict[str, Any]
SESSION = "3c0d5a1e-88b4-4f0e-9a55-1b7e60c2d94f"
SUMMARY = "<state_snapshot>\n<overall_goal>do it</overall_goal>\n<key_knowledge>7</key_knowledge>\n</state_snapshot>"


class Chat:
    """Records of one chat, each hung to the one before."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.last: str | None = None

    def put(self, sort: str, **more: Any) -> str:
        ident = f"u{len(self.records)}"
        record = {"uuid": ident, "parentUuid": self.last, "sessionId": "s", "timestamp": "2026-05-10T08:00:00.000Z",
                  "type": sort, "cwd": "/srv/loft", "version": "1", **more}  # fmt: skip
        self.records.append(record)
        self.last = ident
        return ident

    def user(self, text: str, **more: Any) -> str:
        return self.put("user", message={"role": "user", "parts": [{"text": text}]}, **more)

    def said(self, *parts: Any, tokens: int = 100, **more: Any) -> str:
        held = [{"text": part} if isinstance(part, str) else part for part in parts]
        usage = {"promptTokenCount": tokens, "candidatesTokenCount": 5, "cachedContentTokenCount": 40}
        return self.put("assistant", message={"role": "model", "parts": held}, usageMetadata=usage, model="q", **more)

    def result(self, ident: str, text: str, status: str | None = "success", key: str = "output") -> str:
        answer = {"functionResponse": {"id": ident, "name": "ls", "response": {key: text}}}
        told = {"toolCallResult": {"callId": ident, "status": status}} if status else {}
        return self.put("tool_result", message={"role": "user", "parts": [answer]}, **told)

    def compress(self, *contents: Record) -> str:
        info = {"originalTokenCount": 900, "newTokenCount": 90, "compressionStatus": 1}
        payload = {"info": info, "compressedHistory": list(contents)}
        return self.put("system", subtype="chat_compression", systemPayload=payload)

    def telemetry(self) -> str:
        return self.put("system", subtype="ui_telemetry", systemPayload={"uiEvent": {}})

    def write(self, path: Path) -> Path:
        path.write_text("".join(json.dumps(one) + "\n" for one in self.records))
        return path

    def read(self, folder: Path) -> Reader:
        return read(self.write(folder / "chat.jsonl"))


def content(role: str, text: str) -> Record:
    return {"role": role, "parts": [{"text": text}]}


def call(ident: str, name: str = "ls", **args: Any) -> Record:
    return {"functionCall": {"id": ident, "name": name, "args": args}}


def sample(root: Path) -> Path:
    return root / "sample_runs" / "qwen" / "chats" / f"{SESSION}.jsonl"


def test_records_make_calls_with_their_results_and_usage(tmp_path: Path) -> None:
    chat = Chat()
    chat.user("/about")
    chat.user("go")
    chat.said("look", call("a"), call("b", "rm"), contextWindowSize=5000)
    chat.telemetry()
    chat.result("a", "fine")
    chat.result("b", "no such file", "error", "error")
    chat.said(call("c"), tokens=150)
    chat.result("c", "[Operation Cancelled]", "cancelled", "error")
    draft = chat.read(tmp_path).draft
    lane = draft.main
    assert heads(lane, 2) == ["/about", "go", "look", "ls {}", "rm {}", "fine", "no such file"]
    assert [[one.outcome for one in step.calls] for step in lane.steps] == [["ok", "error"], ["denied"]]
    assert [step.usage and (step.usage.prompt, step.usage.cached) for step in lane.steps] == [(100, 40), (150, 40)]
    assert (draft.goal, draft.window, draft.window_source, draft.model, draft.id) == ("go", 5000, "declared", "q", "s")
    assert not draft.problems and draft.unknown == ("system prompt", "tool schemas")


def test_a_rewind_hangs_what_follows_to_an_earlier_record(tmp_path: Path) -> None:
    chat = Chat()
    chat.user("go")
    chat.said("one")
    back = chat.telemetry()
    chat.user("wrong")
    chat.said("two")
    chat.last = back
    chat.put("system", subtype="rewind", systemPayload={"truncatedCount": 2})
    chat.user("right")
    chat.said("three")
    lane = chat.read(tmp_path).draft.main
    assert [heads(lane, n) for n in (2, 3)] == [["go", "one", "wrong"], ["go", "one", "right"]]
    boundary = lane.steps[2].boundary
    assert boundary is not None and (boundary.kind, boundary.recorded) == ("rewind", True)
    assert "2 pieces" in boundary.why and lane.steps[1].boundary is None


def test_a_rewind_to_the_beginning_and_to_before_a_compression(tmp_path: Path) -> None:
    chat = Chat()
    chat.user("go")
    back = chat.said("one")
    chat.user("more")
    chat.compress(content("user", SUMMARY), content("model", "Got it."))
    chat.said("two")
    chat.last = back
    chat.user("again")
    chat.said("three")
    chat.last = None
    chat.user("anew")
    chat.said("four")
    lane = chat.read(tmp_path).draft.main
    assert heads(lane, 3) == ["go", "one", "again"]
    assert heads(lane, 4) == ["anew"]


def test_a_compression_keeps_what_it_lists_and_what_was_asked_just_before_it(tmp_path: Path) -> None:
    chat = Chat()
    chat.user("go")
    chat.said("look", call("a"))
    chat.result("a", "fine")
    chat.said("kept")
    chat.user("and now")
    chat.telemetry()
    chat.compress(content("user", SUMMARY), content("model", "Got it."), content("model", "kept"))
    chat.said("done", tokens=50)
    run = run_of(chat.read(tmp_path))
    step = run.main.steps[2]
    told = [(piece.kind, piece.head) for piece in step.prompt]
    assert [kind for kind, _ in told[:3]] == ["summary", "goal", "summary"] and told[1][1] == "do it"
    assert told[3:] == [("assistant", "Got it."), ("assistant", "kept"), ("user", "and now")]
    assert step.boundary is not None and (step.boundary.kind, step.boundary.before, step.boundary.after) == (
        "compaction", 900, 90,
    )  # fmt: skip
    kept = next(piece for piece in step.prompt if piece.head == "kept")
    assert kept.id in [piece.id for piece in run.main.steps[1].replies]  # the same piece, not one like it


def test_a_compression_without_an_announcing_head_is_a_summary_all_the_same(tmp_path: Path) -> None:
    chat = Chat()
    chat.user("go")
    chat.said(call("a"))
    chat.result("a", "boom", "error", "error")
    chat.said("one")
    chat.user("/compress")
    failed = {"functionResponse": {"id": "a", "name": "ls", "response": {"error": "boom"}}}
    chat.compress(content("user", "1. Primary request: go"), {"role": "user", "parts": [failed]}, content("user", "go"))
    chat.said("two")
    prompt = run_of(chat.read(tmp_path)).main.steps[2].prompt
    assert [(piece.kind, piece.head) for piece in prompt] == [
        ("summary", "1. Primary request: go"), ("error", "boom"), ("goal", "go"),
    ]  # fmt: skip


def test_thoughts_leave_the_prompt_with_the_next_request_by_a_known_rule(tmp_path: Path) -> None:
    chat = Chat()
    chat.user("go")
    chat.said({"text": "hm", "thought": True}, call("a"))
    chat.result("a", "fine")
    back = chat.said({"text": "ah", "thought": True}, "one")
    chat.user("note", subtype="notification")
    chat.said("two")
    chat.user("more")
    chat.said("three")
    chat.last = back
    chat.user("other")
    chat.said("four")
    run = run_of(chat.read(tmp_path))
    kinds = [[piece.kind for piece in step.prompt] for step in run.main.steps]
    assert kinds[1] == ["goal", "thinking", "call", "result"]
    assert kinds[2].count("thinking") == 2 and "thinking" not in kinds[3] + kinds[4]
    drops = [drop for drop in run.main.steps[3].drops if drop.kind == "thinking"]
    assert [(drop.cause, drop.recorded) for drop in drops] == [("trimmed", True)]
    assert not [drop for drop in run.main.steps[4].drops if drop.kind == "thinking"]  # they went once


def test_a_rewind_brings_no_thoughts_back(tmp_path: Path) -> None:
    chat = Chat()
    chat.user("go")
    back = chat.said({"text": "hm", "thought": True}, "one")
    chat.user("wrong")
    chat.said("two")
    chat.last = back
    chat.put("system", subtype="rewind", systemPayload={"truncatedCount": 2})
    assert heads(chat.read(tmp_path).draft.main, 3) == ["go", "one"]


def test_a_record_that_was_lost_is_said_and_the_prompt_goes_on(tmp_path: Path) -> None:
    chat = Chat()
    chat.user("go")
    chat.said("one")
    chat.user("lost")
    chat.said("two")
    chat.user("more")
    back = chat.said("three")
    chat.user("wrong")
    chat.said("four")
    chat.last = back
    chat.user("right")
    chat.said("five")
    del chat.records[2]
    draft = chat.read(tmp_path).draft
    assert heads(draft.main, 3) == ["go", "one", "two", "more"]
    assert heads(draft.main, 5) == ["go", "one", "two", "more", "three", "right"]
    assert [(one.where, one.what) for one in draft.problems] == [
        ("line 3", "parent u2 is not in the file: a record was lost"),
    ]  # fmt: skip


def test_the_first_record_of_an_id_counts(tmp_path: Path) -> None:
    chat = Chat()
    chat.user("go")
    chat.said("one")
    chat.records.append({**chat.records[-1], "version": "2"})
    assert len(chat.read(tmp_path).draft.main.steps) == 1


def test_a_record_of_an_unknown_type_does_not_break_the_chain(tmp_path: Path) -> None:
    chat = Chat()
    chat.user("go")
    chat.put("flux")
    chat.said("one")
    draft = chat.read(tmp_path).draft
    assert heads(draft.main, 1) == ["go"] and ["flux x1" in one.what for one in draft.problems] == [True]


def test_what_is_not_sent_is_not_in_the_prompt(tmp_path: Path) -> None:
    chat = Chat()
    chat.user("go")
    chat.user("aloud", subtype="realtime_message")
    chat.put("system", subtype="custom_title", systemPayload={"customTitle": "t"})
    chat.said("one")
    assert heads(chat.read(tmp_path).draft.main, 1) == ["go"]


def test_the_todo_list_is_the_plan_until_its_call_leaves(root: Path) -> None:
    steps = run_of(read(sample(root))).main.steps
    assert [(one.name, one.value, one.done) for one in steps[1].fields] == [
        ("plan[0]", "Find the rings", False), ("plan[1]", "Write count.py", False),
    ]  # fmt: skip
    assert {drop.name for drop in steps[-1].drops if drop.what == "plan"} == {"plan[0]", "plan[1]"}


def test_the_sample_tells_what_was_lost(root: Path) -> None:
    run = run_of(read(sample(root)))
    steps = run.main.steps
    assert [(step.n, step.boundary.kind) for step in steps if step.boundary] == [(8, "rewind"), (9, "compaction")]
    assert run.goal and run.goal.startswith("Count the pigeons") and steps[-1].prompt[-1].head == "How many are there?"
    sub = run.lanes[1]
    assert (sub.kind, sub.spawned_by, sub.name, len(sub.steps)) == ("subagent", ("main", 2), "explore", 2)
    assert every_text_is_whole(sample(root)) > 25


def test_followed_byte_by_byte_a_chat_is_the_same_as_read_whole(root: Path, tmp_path: Path) -> None:
    data = sample(root).read_bytes()
    for seed in range(5):
        path = tmp_path / f"{seed}.jsonl"
        grown = grow(path, data, seed)
        assert picture(grown.draft) == picture(read(path).draft)


def test_cut_anywhere_a_chat_opens_with_its_whole_records(root: Path, tmp_path: Path) -> None:
    data = sample(root).read_bytes()
    opened = [draft for _, draft in cuts(tmp_path / "c.jsonl", data, 120) if not isinstance(draft, str)]
    steps = [len(draft.main.steps) for draft in opened]
    assert len(opened) > 110 and steps == sorted(steps) and steps[-1] >= 9


def test_the_chat_of_a_subagent_is_followed_as_it_grows(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "sample_runs" / "qwen", tmp_path / "qwen")
    path = tmp_path / "qwen" / "chats" / f"{SESSION}.jsonl"
    chat = next((tmp_path / "qwen").glob("subagents/*/agent-*.jsonl"))
    lines = chat.read_bytes().splitlines(keepends=True)
    chat.unlink()
    reader = read(path)
    assert list(reader.draft.lanes) == ["main"]
    seen = []
    for line in lines:
        with chat.open("ab") as file:
            file.write(line)
        assert reader.refresh()
        seen.append(len(list(reader.draft.lanes.values())[1].steps))
    assert seen[0] == 0 and seen[-1] == 2 and not reader.refresh()
    main = len(reader.draft.main.steps)
    chat.write_bytes(b"".join(lines[: seen.index(1) + 1]))
    assert reader.refresh() and reader.draft.notice == "a subagent's chat was replaced, read again"
    assert len(list(reader.draft.lanes.values())[1].steps) == 1 and len(reader.draft.main.steps) == main
    assert not reader.refresh()


def test_what_a_subagent_was_begun_with_stands_in_its_first_prompt(tmp_path: Path) -> None:
    (tmp_path / "chats").mkdir()
    chat, sub = Chat(), Chat()
    chat.user("go")
    chat.said(call("t", "task"))
    path = chat.write(tmp_path / "chats" / "s.jsonl")
    (tmp_path / "subagents" / "s").mkdir(parents=True)
    sub.put("system", subtype="agent_bootstrap", systemPayload={"kind": "fork", "history": [content("user", "before")]})
    sub.user("look")
    sub.said("seen")
    sub.write(tmp_path / "subagents" / "s" / "agent-x.jsonl")
    lane = read(path).draft.lanes["x"]
    assert heads(lane, 1) == ["before", "look"] and lane.spawned_by == ("main", 1)


@pytest.mark.parametrize("line", [
    {"uuid": "x"}, {"uuid": "x", "type": "flux", "parentUuid": None}, {"type": "user"}, {"uuid": 3, "type": "user"},
    {"uuid": "x", "type": "assistant", "message": 3, "usageMetadata": [], "parentUuid": []},
    {"uuid": "x", "type": "tool_result", "message": {"parts": [{"functionResponse": 4}, 5, None]}},
    {"uuid": "x", "type": "assistant", "message": {"parts": [{"functionCall": {}}, {"functionCall": 3}]}},
    {"uuid": "x", "type": "system", "subtype": "chat_compression", "systemPayload": {"compressedHistory": [3, {}]}},
    {"uuid": "x", "type": "system", "subtype": "chat_compression", "systemPayload": {"info": 3}},
    {"uuid": "x", "type": "assistant", "message": {"parts": {"text": "one"}}, "timestamp": {}, "model": 3},
    {"uuid": "x", "type": "assistant", "message": {"parts": [call("p", "todo_write", todos=[3, {}])]}},
])  # fmt: skip
def test_a_record_of_any_shape_stops_nothing(tmp_path: Path, line: Record) -> None:
    chat = Chat()
    chat.user("go")
    chat.said("one")
    chat.records.append(line)
    chat.said("two")
    run = run_of(chat.read(tmp_path))
    assert "two" in [piece.head for step in run.main.steps for piece in step.replies]


def test_a_session_of_claude_code_is_none_and_the_other_way_round(root: Path) -> None:
    for path in (root / "sample_runs").glob("claude-code/*.jsonl"):
        assert not FORMAT.recognise(path, path.read_bytes()[:65536])
    found = recognise(sample(root))
    assert found is FORMAT


def test_chats_are_found_by_their_folder_and_by_the_folder_their_records_name(root: Path, home: Path) -> None:
    path = home / ".qwen" / "projects" / "-srv-loft" / "chats" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    shutil.copy(sample(root), path)
    assert FORMAT.places is not None
    assert list(FORMAT.places(Path("/srv/loft"))) == [path]
    assert list(FORMAT.places(Path("/srv_loft"))) == []  # the same name, another folder
    (row,) = find([EVERYWHERE])
    assert (row.path, row.id, row.format, row.model) == (str(path), SESSION, "qwen-code", "qwen3-coder-plus")
    assert row.goal == "Count the pigeons in the book by their rings. Never change rings.csv."


def test_another_base_is_looked_into(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "base" / "projects" / "-srv-loft" / "chats" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    shutil.copy(sample(root), path)
    monkeypatch.setenv("QWEN_RUNTIME_DIR", str(tmp_path / "base"))
    assert FORMAT.places is not None and list(FORMAT.places(Path("/srv/loft"))) == [path]


@pytest.mark.parametrize("odd", [[], {}, ["chat_compression"]])
def test_a_subtype_and_the_name_of_a_call_may_be_of_any_type(tmp_path: Path, odd: object) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    calls = {"role": "model", "parts": [{"functionCall": {"name": odd, "args": {}}}]}
    records = [
        {"uuid": "q", "parentUuid": None, "sessionId": SESSION, "type": "user", "subtype": odd,
         "message": {"role": "user", "parts": [{"text": "go"}]}},
        {"uuid": "a", "parentUuid": "q", "sessionId": SESSION, "type": "assistant", "message": calls},
    ]  # fmt: skip
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert [call.tool for call in read(path).draft.main.steps[0].calls] == ["?"]
