"""Sessions of pi: the tree, compactions that wait, broken chains, damage; and the real files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentmem.formats.agents.pi.reader import FORMAT
from tests.formats.agents.following import cuts, every_text_is_whole, grow, heads, picture, read, run_of

HEAD = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-03-01T08:00:00Z", "cwd": "/srv/mill"}
Entry = dict[str, Any]


def entry(ident: str, parent: str | None, sort: str = "message", **more: Any) -> Entry:
    return {"type": sort, "id": ident, "parentId": parent, "timestamp": "2026-03-01T08:00:01Z", **more}


def user(ident: str, parent: str | None, text: str) -> Entry:
    return entry(ident, parent, message={"role": "user", "content": [{"type": "text", "text": text}]})


def said(ident: str, parent: str | None, text: str = "", call: str = "", prompt: int = 100, **more: Any) -> Entry:
    content: list[Entry] = [{"type": "text", "text": text}] if text else []
    if call:
        content.append({"type": "toolCall", "id": call, "name": "bash", "arguments": {"command": "ls"}})
    message = {"role": "assistant", "content": content, "model": "claude-sonnet-4-5", "provider": "anthropic",
               "usage": {"input": 2, "output": 5, "cacheRead": prompt - 3, "cacheWrite": 1, "cost": {"total": 0.5}},
               "stopReason": "toolUse" if call else "stop", **more}  # fmt: skip
    return entry(ident, parent, message=message)


def result(ident: str, parent: str | None, call: str, text: str, **more: Any) -> Entry:
    content = [{"type": "text", "text": text}]
    return entry(ident, parent, message={"role": "toolResult", "toolCallId": call, "toolName": "bash",
                                         "content": content, "isError": False, **more})  # fmt: skip


def compaction(ident: str, parent: str, kept: str) -> Entry:
    return entry(ident, parent, "compaction", summary="the sum", firstKeptEntryId=kept, tokensBefore=900)


def write(path: Path, entries: list[Any], head: Entry = HEAD) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in [head, *entries]))
    return path


def sample(root: Path, part: str) -> Path:
    return next((root / "sample_runs" / "pi").glob(f"*{part}*"))


def test_each_call_saw_the_path_that_leads_to_it(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [user("1", None, "go"), said("2", "1", "look", "c"), result("3", "2", "c", "x"),
                                        said("4", "3", "done", prompt=120)])  # fmt: skip
    draft = read(path).draft
    lane = draft.main
    assert heads(lane, 2) == ["go", "look", 'bash {"command":"ls"}', "x"]
    assert [step.usage and step.usage.prompt for step in lane.steps] == [100, 120]
    assert (lane.steps[0].calls[0].outcome, lane.open, draft.goal, draft.model) == (
        "ok",
        False,
        "go",
        "claude-sonnet-4-5",
    )
    assert draft.unknown == ("system prompt", "tool schemas")


def test_a_compaction_between_runs_takes_effect_at_once(tmp_path: Path) -> None:
    entries = [user("1", None, "go"), said("2", "1", "done"), user("3", "2", "more"), said("4", "3", "again"),
               compaction("5", "4", "3"), user("6", "5", "on"), said("7", "6", "yes")]  # fmt: skip
    lane = read(write(tmp_path / "a.jsonl", entries)).draft.main
    assert heads(lane, 3) == ["the sum", "more", "again", "on"]
    boundary = lane.steps[2].boundary
    assert boundary is not None and (boundary.kind, boundary.recorded, boundary.before) == ("compaction", True, 900)


def test_a_compaction_while_the_agent_works_waits_for_the_next_message(tmp_path: Path) -> None:
    entries = [user("1", None, "go"), said("2", "1", "one", "c"), compaction("3", "2", "2"), result("4", "3", "c", "x"),
               said("5", "4", "two"), user("6", "5", "on"), said("7", "6", "three")]  # fmt: skip
    lane = read(write(tmp_path / "a.jsonl", entries)).draft.main
    assert heads(lane, 2) == ["go", "one", 'bash {"command":"ls"}', "x"]
    assert lane.steps[1].boundary is None
    assert heads(lane, 3)[0] == "the sum" and "go" not in heads(lane, 3)


def test_a_waiting_compaction_is_seen_in_the_fall_of_reported_usage(tmp_path: Path) -> None:
    entries = [user("1", None, "go"), said("2", "1", "one", "c", prompt=5000), compaction("3", "2", "2"),
               result("4", "3", "c", "x"), said("5", "4", "two", prompt=900)]  # fmt: skip
    lane = read(write(tmp_path / "a.jsonl", entries)).draft.main
    assert heads(lane, 2)[0] == "the sum"


def test_the_first_version_is_a_plain_list_and_counts_its_entries(tmp_path: Path) -> None:
    def plain(value: Entry) -> Entry:
        return {name: one for name, one in value.items() if name not in ("id", "parentId")}

    head = {name: one for name, one in HEAD.items() if name != "version"}
    entries = [plain(one) for one in (user("1", None, "go"), said("2", "1", "done"), user("3", "2", "more"))]
    entries.append(
        {"type": "compaction", "timestamp": "", "summary": "sum", "firstKeptEntryIndex": 3, "tokensBefore": 9}
    )
    entries += [plain(user("6", "5", "on")), plain(said("7", "6", "yes"))]
    lane = read(write(tmp_path / "a.jsonl", entries, head)).draft.main
    assert heads(lane, 2) == ["sum", "more", "on"]


def test_an_entry_with_an_older_parent_begins_a_branch_and_the_other_can_go_on(tmp_path: Path) -> None:
    entries = [user("1", None, "go"), said("2", "1", "one"), user("3", "2", "left"), said("4", "3", "two"),
               user("b", "2", "right"), said("c", "b", "three"),
               user("5", "4", "left again"), said("6", "5", "four")]  # fmt: skip
    draft = read(write(tmp_path / "a.jsonl", entries)).draft
    branch = draft.lanes["b"]
    assert (branch.kind, branch.spawned_by, heads(branch, 1)) == ("branch", ("main", 1), ["go", "one", "right"])
    assert heads(draft.main, 3) == ["go", "one", "left", "two", "left again"]


@pytest.mark.parametrize(("prompt", "gone"), [(100, False), (60, True), (0, True)])
def test_a_lost_line_is_a_loss_unless_reported_usage_says_that_nothing_fell(
    tmp_path: Path, prompt: int, gone: bool
) -> None:
    entries = [user("1", None, "go and keep the goal"), said("2", "1", "one", prompt=95), user("4", "3", "on"),
               said("5", "4", "two", prompt=prompt or 100)]  # fmt: skip
    if not prompt:
        del entries[-1]["message"]["usage"]
    reader = read(write(tmp_path / "a.jsonl", entries))
    lane = run_of(reader).main
    assert (len(lane.steps[1].prompt) == 1) is gone
    assert [drop.recorded for drop in lane.steps[1].drops] == ([False] if gone else [])
    assert "not in the file" in reader.draft.problems[0].what


def test_a_line_that_cannot_be_read_breaks_no_chain(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [user("1", None, "go"), said("2", "1", "one")])
    with path.open("a") as file:
        file.write('{"type":"message","id":"3","message":{"role":"user","content":"bad \\escape"}}\n')
        file.write(json.dumps(said("4", "3", "two")) + "\n")
    draft = read(path).draft
    assert heads(draft.main, 2) == ["go", "one"]
    assert [problem.where for problem in draft.problems] == ["line 4"]


def test_what_is_not_in_the_context_stays_out_of_it(tmp_path: Path) -> None:
    shell = {"role": "bashExecution", "command": "ls", "output": "x", "exitCode": 0}
    entries = [user("1", None, "go"), entry("2", "1", message={**shell, "excludeFromContext": True}),
               entry("3", "2", "custom", data={"secret": 1}), entry("4", "3", message={**shell, "command": "pwd"}),
               entry("5", "4", "custom_message", content="from an extension"),
               said("6", "5", "partial", stopReason="aborted", errorMessage="Request was aborted."),
               said("7", "6", "yes")]  # fmt: skip
    lane = read(write(tmp_path / "a.jsonl", entries)).draft.main
    assert heads(lane, 2) == ["go", "$ pwd\nx", "from an extension"]
    assert [lane.tape.segment(ident).kind for ident in lane.steps[0].replies] == ["assistant", "error"]


def test_unknown_entries_are_counted_by_name_and_keep_the_chain(tmp_path: Path) -> None:
    entries = [user("1", None, "go"), entry("2", "1", "hologram"), entry("3", "2", "hologram"), said("4", "3", "yes")]
    draft = read(write(tmp_path / "a.jsonl", entries)).draft
    assert heads(draft.main, 1) == ["go"]
    assert draft.problems[-1].what == "5 records, 3 understood, 2 unknown: hologram x2"


@pytest.mark.parametrize("odd", [
    {"role": "user", "content": None}, {"role": "assistant", "content": "text"}, {"role": "toolResult"}, "text", None,
    3, {"role": 7}, {"role": "assistant", "content": [{"type": "toolCall"}, 3, None], "usage": {"input": "x"}},
])  # fmt: skip
def test_a_message_of_any_shape_stops_nothing(tmp_path: Path, odd: Any) -> None:
    entries = [
        user("1", None, "go"),
        entry("2", "1", message=odd),
        user("3", "2", "\x1b[2J[red]"),
        said("4", "3", "yes"),
    ]
    run = run_of(read(write(tmp_path / "a.jsonl", entries)))
    assert run.main.steps[-1].replies[0].head == "yes"


def test_damage_is_told_with_its_line_and_what_is_whole_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [user("1", None, "go")])
    glued = json.dumps(said("2", "1", "one")) + json.dumps(user("3", "2", "more"))
    torn = '{"type":"message","id":"9","mess' + json.dumps(said("4", "3", "two"))
    with path.open("ab") as file:
        for line in (glued.encode(), b"\0" * 50, b"\0" * 9 + torn.encode(), b'["x"]', b"null", b"[" * 5000):
            file.write(line + b"\n")
    draft = read(path).draft
    assert heads(draft.main, 2) == ["go", "one", "more"]
    assert {problem.where for problem in draft.problems} == {f"line {n}" for n in (3, 4, 5, 6, 7, 8)}


@pytest.mark.parametrize("part", ["tides", "stations"])
def test_read_as_it_grows_a_session_is_the_same_as_read_whole(root: Path, tmp_path: Path, part: str) -> None:
    data = sample(root, part).read_bytes()
    whole = tmp_path / "whole.jsonl"
    whole.write_bytes(data)
    for seed in range(4):
        path = tmp_path / f"{seed}.jsonl"
        assert picture(grow(path, data, seed).draft) == picture(read(whole).draft)


def test_a_session_that_is_migrated_is_read_again_and_says_so(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(sample(root, "tides").read_bytes())
    reader = read(path)
    fresh = tmp_path / "new"
    write(fresh, [user("1", None, "go"), said("2", "1", "one")])
    fresh.replace(path)
    assert reader.refresh()
    assert (len(reader.draft.main.steps), reader.draft.notice) == (1, "file replaced, read again")


def test_cut_anywhere_a_session_opens_with_its_whole_entries(root: Path, tmp_path: Path) -> None:
    data = sample(root, "tides").read_bytes()
    first = data.index(b"\n")
    answers = [json.loads(line) for line in data.split(b"\n") if line]
    for place, draft in cuts(tmp_path / "a.jsonl", data, 200):
        if place <= first - 1:
            continue
        assert not isinstance(draft, str), draft
        lines = data[:place].count(b"\n") + (data[place : place + 1] == b"\n")
        expected = sum((one.get("message") or {}).get("role") == "assistant" for one in answers[:lines])
        assert sum(len(lane.steps) for lane in draft.lanes.values()) == expected


@pytest.mark.parametrize("part", ["tides", "stations"])
def test_whole_texts_come_back_from_the_file(root: Path, part: str) -> None:
    assert every_text_is_whole(sample(root, part)) > 10


def test_the_sample_loses_its_goal_where_a_line_was_lost(root: Path) -> None:
    run = run_of(read(sample(root, "stations")))
    steps = run.main.steps
    assert [step.goal for step in steps][4:7] == ["present", "missing", "missing"]
    assert steps[5].boundary is not None and not steps[5].boundary.recorded
    drops = [(drop.name, drop.cause, drop.recorded, drop.count) for drop in steps[5].drops]
    assert drops == [("goal", "silent", False, 1), ("8 pieces: 4 call, 4 result", "trimmed", False, 8)]


def test_the_list_of_runs_is_told_from_head_and_tail(root: Path, home: Path) -> None:
    folder = home / ".pi" / "agent" / "sessions" / "--srv-mill--"
    folder.mkdir(parents=True)
    path = folder / "a.jsonl"
    path.write_bytes(sample(root, "tides").read_bytes())
    assert FORMAT.places is not None and FORMAT.peek is not None
    assert list(FORMAT.places(Path("/srv/mill"))) == [path]
    assert list(FORMAT.places(Path("/srv/other"))) == []
    info = FORMAT.peek(path)
    assert (info.model, info.agent) == ("claude-sonnet-4-5", "pi")
    assert info.goal is not None and info.goal.startswith("Read the tide tables")


def test_the_real_sessions_give_their_figures(real: Path) -> None:
    run = run_of(read(real / "pi" / "before-compaction.jsonl"))
    bounds = [(step.n, step.boundary.kind, step.boundary.before) for step in run.main.steps if step.boundary]
    assert bounds == [(174, "compaction", 130_549), (304, "compaction", 185_014)]
    assert [step.n for step in run.main.steps if step.drops] == [174, 304]
    assert all(drop.recorded for step in run.main.steps for drop in step.drops)
    assert len(run.main.steps) == 485 and run.main.steps[-1].open
    other = run_of(read(real / "pi" / "large-session.jsonl"))
    assert (len(other.main.steps), sum(len(step.drops) for step in other.main.steps)) == (453, 0)


def test_a_command_of_the_person_without_output_says_no_more_than_it_did(tmp_path: Path) -> None:
    shown = entry("b", "a", message={"role": "bashExecution", "command": "true", "output": None})
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in (HEAD, user("a", None, "go"), shown, said("c", "b"))))
    assert heads(read(path).draft.main, 1) == ["go", "$ true\n"]
