"""Chats of Gemini CLI: replacement by id, checkpoints, rewinds, subagents, the older single file."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from agentmem.formats.agents.gemini.reader import FORMAT
from tests.formats.agents.following import cuts, every_text_is_whole, grow, heads, picture, read, run_of

HEAD = {"sessionId": "s", "projectHash": "ab", "startTime": "2026-04-01T08:00:00Z", "kind": "main"}
Record = dict[str, Any]


def user(ident: str, text: str, **more: Any) -> Record:
    return {"id": ident, "timestamp": "2026-04-01T08:00:00Z", "type": "user", "content": [{"text": text}], **more}


def said(ident: str, text: str = "", *calls: Record, tokens: int | None = 100, **more: Any) -> Record:
    counted = None if tokens is None else {"input": tokens, "output": 5, "cached": 40, "thoughts": 3}
    held = {"toolCalls": list(calls)} if calls else {}
    return {"id": ident, "type": "gemini", "content": text, "tokens": counted, "model": "g", **held, **more}


def call(ident: str, text: str | None = "x", status: str = "success", name: str = "ls", **args: Any) -> Record:
    answer = None if text is None else [{"functionResponse": {"id": ident, "response": {"output": text}}}]
    return {"id": ident, "name": name, "args": args, "result": answer, "status": status}


def write(path: Path, records: list[Any], head: Record = HEAD) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in [head, *records]))
    return path


def listed(*records: Record) -> Record:
    return {"$set": {"messages": list(records), "lastUpdated": "x"}}


def sample(root: Path, part: str) -> Path:
    return next((root / "sample_runs" / "gemini").glob(f"*{part}*.json*"))


SUMMARY = "<state_snapshot>\n<overall_goal>do it</overall_goal>\n<key_knowledge>7</key_knowledge>\n</state_snapshot>"


def test_the_same_id_again_replaces_and_makes_no_new_step(tmp_path: Path) -> None:
    records = [user("u", "go"), said("a", "look"), said("a", "look", call("c", None, "executing")),
               said("a", "look", call("c", "fine")), said("b", "done", tokens=150)]  # fmt: skip
    lane = read(write(tmp_path / "a.jsonl", records)).draft.main
    assert heads(lane, 2) == ["go", "look", "ls {}", "fine"]
    assert [len(step.calls) for step in lane.steps] == [1, 0]
    assert [step.usage and step.usage.prompt for step in lane.steps] == [100, 150]
    assert lane.steps[0].calls[0].outcome == "ok"
    assert not lane.open


@pytest.mark.parametrize(("status", "outcome"), [("error", "error"), ("cancelled", "denied"), ("success", "ok")])
def test_the_outcome_is_what_the_record_says(tmp_path: Path, status: str, outcome: str) -> None:
    lane = read(write(tmp_path / "a.jsonl", [user("u", "go"), said("a", "", call("c", "text", status))])).draft.main
    assert lane.steps[0].calls[0].outcome == outcome


def test_thoughts_and_notices_are_shown_and_never_sent(tmp_path: Path) -> None:
    thought = {"subject": "Plan", "description": "look first"}
    told = [{"id": "i", "type": "info", "content": "Updated"}, {"id": "e", "type": "error", "content": "API error"}]
    records = [user("u", "go"), said("a", "look", thoughts=[thought]), *told, user("v", "on"), said("b", "done")]
    lane = read(write(tmp_path / "a.jsonl", records)).draft.main
    assert heads(lane, 2) == ["go", "look", "on"]
    assert [lane.tape.segment(ident).kind for ident in lane.steps[0].replies] == ["thinking", "assistant", "error"]


def test_a_checkpoint_drops_exactly_what_it_no_longer_lists(tmp_path: Path) -> None:
    long, second = "long " * 50, "second " * 40
    kept = said("n", "a note")
    old = [user("u", "the first request"), said("a", "", call("c", long)), said("b", "", call("d", second)), kept]
    new = [user("s", SUMMARY), said("t", "Got it.", tokens=None), said("b", "", call("d", "masked")), kept]
    run = run_of(read(write(tmp_path / "a.jsonl", [*old, listed(*new), user("v", "on"), said("e", "ok")])))
    step = run.main.steps[3]
    assert step.boundary is not None and (step.boundary.kind, step.boundary.recorded) == ("compaction", True)
    assert step.boundary.why.endswith("line 6: 2 records gone, results masked")
    assert {(drop.head, drop.cause) for drop in step.drops} == {
        (long[:120], "compacted"), (second[:120], "shortened"),
    }, "the first request is restated by the summary"  # fmt: skip
    assert all(drop.recorded for drop in step.drops)
    assert [segment.kind for segment in step.prompt][:4] == ["summary", "goal", "summary", "assistant"]
    assert (step.goal, len(run.main.steps)) == ("present", 4)


def test_a_checkpoint_that_only_masks_is_a_prune_and_one_that_changes_nothing_is_nothing(tmp_path: Path) -> None:
    old = [user("u", "go"), said("a", "", call("c", "long " * 50))]
    path = write(tmp_path / "a.jsonl", [*old, listed(*old), said("b", "one"),
                                        listed(old[0], said("a", "", call("c", "cut")), said("b", "one")),
                                        said("d", "two")])  # fmt: skip
    lane = read(path).draft.main
    assert [step.boundary and step.boundary.kind for step in lane.steps] == [None, None, "prune"]
    assert heads(lane, 3) == ["go", "ls {}", "cut", "one"]


def test_a_rewind_takes_back_that_record_and_all_later_ones(tmp_path: Path) -> None:
    records = [user("u", "go"), said("a", "one"), user("v", "wrong"), said("b", "two"), {"$rewindTo": "v"},
               user("w", "right"), said("c", "three")]  # fmt: skip
    lane = read(write(tmp_path / "a.jsonl", records)).draft.main
    assert heads(lane, 3) == ["go", "one", "right"]
    assert lane.steps[2].boundary is not None and lane.steps[2].boundary.kind == "rewind"
    records = [user("u", "go"), said("a", "one"), {"$rewindTo": "unknown"}, user("w", "new"), said("c", "x")]
    path = write(tmp_path / "b.jsonl", records)
    assert heads(read(path).draft.main, 2) == ["new"]


def test_a_file_that_begins_with_a_checkpoint_has_its_steps(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [listed(user("u", "go"), said("a", "one")), user("v", "on"), said("b", "two")])
    draft = read(path).draft
    assert (len(draft.main.steps), draft.goal, heads(draft.main, 2)) == (2, "go", ["go", "one", "on"])


def test_the_goal_is_what_was_typed(tmp_path: Path) -> None:
    typed = [{"text": "read @a.txt"}]
    records = [user("c", "/chat list"), user("u", "read @a.txt --- 900 lines", displayContent=typed), said("a", "x")]
    assert read(write(tmp_path / "a.jsonl", records)).draft.goal == "read @a.txt"


@pytest.mark.parametrize("odd", [
    {"id": "x", "type": "gemini", "content": 3, "toolCalls": [3, {"result": {"a": 1}}], "tokens": "many"}, {"$set": 3},
    {"id": "x", "type": "user", "content": {"inlineData": {"mimeType": "image/png", "data": "A" * 500}}},
    {"$rewindTo": None},
    {"id": "u", "type": "user", "content": None}, {"type": "gemini"}, {"$set": {"messages": [3, {}, {"type": "user"}]}},
    {"type": "hologram"}, {"sessionId": 3}, ["x"], None,
])  # fmt: skip
def test_a_record_of_any_shape_stops_nothing(tmp_path: Path, odd: Any) -> None:
    run = run_of(read(write(tmp_path / "a.jsonl", [user("u", "go"), odd, user("v", "on"), said("z", "done")])))
    assert run.main.steps[-1].replies[-1].head == "done"


def test_read_as_it_grows_a_chat_is_the_same_as_read_whole(root: Path, tmp_path: Path) -> None:
    data = sample(root, "7c1f0a52").read_bytes()
    whole = tmp_path / "whole.jsonl"
    whole.write_bytes(data)
    for seed in range(4):
        grown = picture(grow(tmp_path / f"{seed}.jsonl", data, seed).draft)
        assert grown["lanes"] == picture(read(whole).draft)["lanes"]


def test_cut_anywhere_a_chat_opens_with_its_whole_records(root: Path, tmp_path: Path) -> None:
    data = sample(root, "7c1f0a52").read_bytes()
    first = data.index(b"\n") + 1
    for place, draft in cuts(tmp_path / "a.jsonl", data, 200):
        if place > first:
            assert not isinstance(draft, str), draft
            told = sum(draft.counts.values()) - draft.counts.get("$set.messages", 0)
            assert told in (data[:place].count(b"\n"), data[:place].count(b"\n") + 1)


def test_a_repair_by_rename_is_read_again(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(sample(root, "7c1f0a52").read_bytes())
    reader = read(path)
    write(tmp_path / "new", [user("u", "go"), said("a", "one")])
    os.replace(tmp_path / "new", path)
    assert reader.refresh()
    assert (len(reader.draft.main.steps), reader.draft.notice) == (1, "file replaced, read again")


def test_the_older_file_is_written_whole_and_keeps_what_was_seen(tmp_path: Path) -> None:
    path = tmp_path / "session.json"

    def save(*records: Record) -> None:
        path.write_text(json.dumps({**HEAD, "lastUpdated": "x", "messages": list(records)}))

    one = [user("u", "go on then"), said("a", "look", call("c", "fine"))]
    save(*one)
    reader = read(path)
    path.write_text(json.dumps({**HEAD, "messages": one})[:90])
    reader.refresh()
    assert (reader.draft.notice, len(reader.draft.main.steps)) == ("being written", 1)
    save(*one, said("b", "done", tokens=150))
    assert reader.refresh()
    assert heads(reader.draft.main, 2) == ["go on then", "look", "ls {}", "fine"]
    save(user("s", SUMMARY), said("b", "done"), user("v", "on"), said("d", "yes"))
    reader.refresh()
    run = run_of(reader)
    assert len(run.main.steps) == 3
    assert {drop.head for drop in run.main.steps[2].drops} == {"look", "ls {}", "fine"}, "the goal is restated"
    assert every_text_is_whole(path) > 4


def test_subagents_are_lanes_of_the_step_that_called_them(root: Path) -> None:
    run = run_of(read(sample(root, "7c1f0a52")))
    lane = run.lane("codebase_investigator-3f2a")
    assert (lane.kind, lane.spawned_by, len(lane.steps)) == ("subagent", ("main", 4), 2)
    assert every_text_is_whole(sample(root, "7c1f0a52")) > 30


def test_the_sample_loses_its_first_request_and_its_plan_at_the_compression(root: Path) -> None:
    steps = run_of(read(sample(root, "7c1f0a52"))).main.steps
    assert [step.boundary and step.boundary.kind for step in steps][5:8] == ["compaction", None, "rewind"]
    assert {drop.name for drop in steps[5].drops if drop.what == "plan"} == {"plan[0]", "plan[1]"}
    assert "shortened" in {drop.cause for drop in steps[5].drops}
    assert all(drop.recorded for step in steps for drop in step.drops)


def test_chats_of_a_folder_are_found_by_hash_and_by_mark(root: Path, home: Path) -> None:
    named = home / ".gemini" / "tmp" / "mill" / "chats"
    named.mkdir(parents=True)
    (named.parent / ".project_root").write_text("/srv/mill\n")
    shutil.copy(sample(root, "7c1f0a52"), named)
    assert FORMAT.places is not None and FORMAT.peek is not None
    found = list(FORMAT.places(Path("/srv/mill")))
    assert [path.name for path in found] == [sample(root, "7c1f0a52").name]
    info = FORMAT.peek(found[0])
    assert info.goal is not None and info.goal.startswith("Let the ferry")
    assert info.model == "gemini-3-flash-preview"


def test_the_real_chats_give_their_figures(real: Path) -> None:
    run = run_of(read(real / "gemini-cli" / "gen-chat-compress-rewind.jsonl"))
    reported = [step.usage.prompt for step in run.main.steps if step.usage]
    assert reported == [4000, 7000, 10_000, 13_000, 16_000, 19_000, 5200, 5100]
    assert [(step.n, step.boundary.kind) for step in run.main.steps if step.boundary] == [
        (7, "compaction"),
        (8, "rewind"),
    ]
    assert [drop.cause for drop in run.main.steps[6].drops].count("shortened") == 1
    newer = run_of(read(real / "gemini-cli" / "jsonl_v040.jsonl"))
    assert [step.usage.prompt for step in newer.main.steps if step.usage] == [11_855, 12_069]
    older = run_of(read(real / "gemini-cli" / "agentsview-standard_session.json"))
    assert [step.usage.prompt for step in older.main.steps if step.usage] == [1500, 2000]
    assert len(run_of(read(real / "gemini-cli" / "agentsview-tool_calls.json")).main.steps) == 2


def test_the_chat_of_a_subagent_that_was_repaired_is_read_again_and_stands_once(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "sample_runs" / "gemini", tmp_path / "gemini")
    path = next((tmp_path / "gemini").glob("*7c1f0a52.jsonl"))
    reader = read(path)
    whole = picture(reader.draft)["lanes"]
    (chat,) = (tmp_path / "gemini").glob("*/*.jsonl")
    lines = chat.read_bytes().splitlines(keepends=True)
    for data in (b"".join(lines[:-1]), b"".join(lines)):
        (tmp_path / "new").write_bytes(data)
        os.replace(tmp_path / "new", chat)
        assert reader.refresh() and reader.draft.notice == "a subagent's chat was replaced, read again"
        assert not reader.refresh()
    assert picture(reader.draft)["lanes"] == whole


def test_what_is_wrong_with_a_message_of_the_older_file_is_said_once(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    messages: list[Any] = [user("u", "go"), 7]
    path.write_text(json.dumps({**HEAD, "lastUpdated": "x", "messages": messages}))
    reader = read(path)
    for number in range(3):
        messages.append(said(f"a{number}", "on"))
        path.write_text(json.dumps({**HEAD, "lastUpdated": "x" * number, "messages": messages}))
        assert reader.refresh()
        assert [(one.where, one.what) for one in reader.draft.problems] == [("message 2", "no record")]
    messages[1] = user("v", "so")
    path.write_text(json.dumps({**HEAD, "lastUpdated": "y", "messages": messages}))
    assert reader.refresh() and not reader.draft.problems


def test_a_number_in_the_head_that_json_has_not_hides_no_record(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", [user("u", "go"), said("a", "yes")], {**HEAD, "lastUpdated": float("nan")})
    assert len(read(path).draft.main.steps) == 1


@pytest.mark.parametrize("item", [None, 7, "x", ["x"]])
def test_an_item_of_a_plan_that_is_no_object_is_left_out(tmp_path: Path, item: object) -> None:
    plan = call("c", name="write_todos", todos=[item, {"description": "look", "status": "completed"}])
    lane = read(write(tmp_path / "s.jsonl", [user("u", "go"), said("a", "yes", plan)])).draft.main
    assert [(field.value, field.done) for field in lane.fields] == [("look", True)]
