"""Cline sessions: a compaction beside the messages, tied to them by their hash; usage, manifest, subagents."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from agentmem.formats.agents.cline_sdk import peek, places
from agentmem.formats.agents.cline_sdk.feeder import usage_of_metrics
from agentmem.formats.agents.cline_sdk.prefix_hash import source_line, stringify
from agentmem.formats.reader import Reader
from tests.conftest import ROOT
from tests.formats.agents.following import heads, opened, read
from tests.formats.agents.rewriting import dumped, maker

SAMPLE = ROOT / "sample_runs" / "cline-session" / "1775100000000_k3vwq"


def session(folder: Path, **changed: Any) -> Reader:
    """The session of the sample, with its compaction; `messages`, `state`, `manifest` in other words."""
    messages, state, manifest = maker("cline").session()
    for name, value in (("messages", messages), ("compaction", state), ("", manifest)):
        given = changed.get(name or "manifest", value)
        if given is not None:
            (folder / (f"s.{name}.json" if name else "s.json")).write_bytes(dumped(given))
    return read(folder / "s.messages.json")


def test_the_real_files_give_their_figures(real: Path) -> None:
    run = opened(real / "cline-sdk" / "session.messages.json").run
    assert (len(run.main.steps), run.status, run.id) == (16, "ended", "1784094124598_rruoq")
    assert not [drop for step in run.main.steps for drop in step.drops]
    usage = [step.usage.prompt for step in run.main.steps if step.usage]
    assert (usage[0], usage[-2], usage[-1]) == (34334, 51852, 12238)
    assert not [step for step in run.main.steps if step.boundary], "the last call went to another model"
    assert opened(real / "cline-sdk" / "session.json").run.id == run.id


def test_the_real_compactions_alone_are_a_prompt_that_begins_with_a_summary(real: Path) -> None:
    basic = opened(real / "cline-sdk" / "basic.compaction.json").run
    assert [step.open for step in basic.main.steps] == [True], "answers that were kept are no new calls"
    agentic = opened(real / "cline-sdk" / "agentic.compaction.json").run
    boundary = agentic.main.steps[0].boundary
    assert boundary is not None and (boundary.kind, boundary.before) == ("compaction", 21919)
    assert agentic.goal is not None and agentic.goal.startswith("Align spacing/padding of sidebar UI elements")


def test_from_the_compaction_on_the_prompt_is_its_messages_and_what_came_after(tmp_path: Path) -> None:
    draft = session(tmp_path).draft
    assert len(draft.main.steps) == 7 and not draft.problems
    assert len(heads(draft.main, 5)) > 10
    after = heads(draft.main, 6)
    assert [str(head)[:16] for head in after] == ["You are a carefu", "Context summary:"]
    boundary = draft.main.steps[5].boundary
    assert boundary is not None
    assert (boundary.recorded, boundary.before, boundary.why) == (True, 2900, "agentic compaction of 11 messages")


def test_the_goal_that_the_summary_words_anew_is_missing_and_recorded() -> None:
    run = opened(SAMPLE).run
    goal = [drop for step in run.main.steps for drop in step.drops if drop.kind == "goal"]
    assert [(drop.step, drop.cause, drop.recorded) for drop in goal] == [(6, "compacted", True)]
    assert [(cycle.period, cycle.count) for cycle in run.cycles] == [(1, 3)]


@pytest.mark.parametrize("where", ["text", "result", "metrics", "role"])
def test_a_compaction_whose_hash_no_longer_fits_is_not_sent(tmp_path: Path, where: str) -> None:
    messages = copy.deepcopy(maker("cline").session()[0])
    if where == "text":
        messages["messages"][0]["content"][0]["text"] += "!"
    elif where == "result":
        messages["messages"][2]["content"][0]["content"] += "!"
    elif where == "metrics":
        messages["messages"][1]["metrics"]["outputTokens"] = 31
    else:
        messages["messages"][2]["role"] = "assistant"
    draft = session(tmp_path, messages=messages).draft
    assert any("does not fit" in problem.what for problem in draft.problems)
    assert not any(step.boundary for step in draft.main.steps)
    assert len(heads(draft.main, len(draft.main.steps))) > 10


def test_ids_and_times_are_no_part_of_the_hash(tmp_path: Path) -> None:
    messages = copy.deepcopy(maker("cline").session()[0])
    for message in messages["messages"]:
        message["ts"] += 7
        message["id"] = f"other {message['id']}"
    assert not session(tmp_path, messages=messages).draft.problems


def test_an_older_compaction_is_tied_by_its_last_message(tmp_path: Path) -> None:
    state = {**maker("cline").session()[1]}
    del state["source_prefix_hash"]
    assert session(tmp_path, compaction=state).draft.main.steps[5].boundary is not None
    state["source_last_message_key"] = "id:another"
    assert session(tmp_path, compaction=state).draft.main.steps[5].boundary is None


def test_a_compaction_of_more_messages_than_there_are_says_so(tmp_path: Path) -> None:
    state = {**maker("cline").session()[1], "source_message_count": 99}
    draft = session(tmp_path, compaction=state).draft
    assert [problem.what for problem in draft.problems] == ["replaces 99 messages, of which 14 are here"]


def test_a_compaction_that_comes_while_it_is_followed(tmp_path: Path) -> None:
    make = maker("cline")
    one = make.before()
    reader = session(tmp_path, messages=one.value(), compaction=None, manifest=None)
    assert not reader.draft.finished and not any(step.boundary for step in reader.draft.main.steps)
    (tmp_path / "s.compaction.json").write_bytes(dumped(make.compaction(one.messages)))
    assert reader.refresh()
    assert reader.draft.main.boundary is not None and len(reader.draft.main.tape.live) == 2
    messages, _, manifest = make.session()
    (tmp_path / "s.messages.json").write_bytes(dumped(messages))
    (tmp_path / "s.json").write_bytes(dumped(manifest))
    assert reader.refresh()
    assert (len(reader.draft.main.steps), reader.draft.ended_as) == (7, "completed")


def test_a_half_written_compaction_is_a_problem_and_the_run_opens(tmp_path: Path) -> None:
    reader = session(tmp_path)
    (tmp_path / "s.compaction.json").write_text("{")
    assert reader.refresh()
    assert len(reader.draft.main.steps) == 7 and any(p.where == "s.compaction.json" for p in reader.draft.problems)


def test_a_basic_compaction_keeps_the_request_and_is_recorded(tmp_path: Path) -> None:
    make = maker("cline")
    state = copy.deepcopy(make.session()[1])
    notice = "<SYSTEM_NOTICE>\nEarlier context was compacted.\nFiles read:\ngauges.yml\n</SYSTEM_NOTICE>"
    content = [{"type": "text", "text": make.ASKED}, {"type": "text", "text": notice}]
    told = {"kind": "compaction", "messagesRemoved": 10}
    state["messages"] = [{"role": "user", "content": content, "metadata": told}]
    draft = session(tmp_path, compaction=state).draft
    tape = draft.main.tape
    assert [tape.segment(ident).kind for ident in tape.ids(6)] == ["system", "goal", "summary"]
    boundary = draft.main.steps[5].boundary
    assert boundary is not None and boundary.why == "basic compaction of 11 messages, 10 removed"


@pytest.mark.parametrize(
    ("given", "prompt"),
    [
        ({"inputTokens": 100, "cacheReadTokens": 90}, 100),
        ({"inputTokens": 100, "cacheReadTokens": 900, "cacheWriteTokens": 50}, 1050),
        ({"inputTokens": True}, None),
        ({}, None),
    ],
)
def test_the_prompt_is_told_from_the_shape_of_the_metrics(given: dict[str, Any], prompt: int | None) -> None:
    usage = usage_of_metrics(given)
    assert usage is not None and usage.prompt == prompt


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.00012664, "0.00012664"), (5e-05, "0.00005"), (1.5e-07, "1.5e-7"), (1e21, "1e+21"), (2.0, "2"), (-0.0, "0"),
        (0.48953100000000005, "0.48953100000000005"), (123456789.5, "123456789.5"), (1.234e-06, "0.000001234"),
        ("é\n\u2028\u007f\u0001", '"é\\n\u2028\u007f\\u0001"'), ({"b": [None, True]}, '{"b":[null,true]}'),
    ],
)  # fmt: skip
def test_values_are_written_as_the_program_writes_them(value: object, text: str) -> None:
    assert stringify(value) == text


@pytest.mark.parametrize(
    ("typed", "taken"),
    [
        ("  plain \n", "plain"),
        ('<user_input mode="act">do it</user_input>', "do it"),
        ('<user_command slash="team">build</user_command>', "/team build"),
        ("a <mode_notice>now plan</mode_notice> b", "a  b"),
    ],
)
def test_what_a_person_typed_is_taken_without_its_wrapping(typed: str, taken: str) -> None:
    line = json.loads(source_line({"role": "user", "content": [{"type": "text", "text": typed}]}))
    assert line[1] == ["content", [{"type": "text", "text": taken}]]


def test_sessions_of_subagents_are_lanes(tmp_path: Path) -> None:
    home = tmp_path / SAMPLE.name
    shutil.copytree(SAMPLE, home)
    child = {"version": 1, "updated_at": "x", "agent": "helper", "sessionId": "sub", "messages": [
        {"role": "user", "content": "look", "ts": maker("cline").START + 9000},
        {"role": "assistant", "content": "seen"},
    ]}  # fmt: skip
    (home / "helper.messages.json").write_bytes(dumped(child))
    draft = read(home).draft
    assert (draft.lanes["helper"].spawned_by, len(draft.lanes["helper"].steps)) == (("main", 1), 1)


def test_a_file_that_was_given_is_text_and_counts(tmp_path: Path) -> None:
    block = {"type": "file", "path": "a.py", "content": "x = 1\n" * 300}
    value = {"version": 1, "updated_at": "x", "agent": "a", "messages": [{"role": "user", "content": [block]}]}
    draft = session(tmp_path, messages=value, compaction=None).draft
    assert draft.main.tape.sums().prompt == draft.count(block["content"])


def test_sessions_of_a_folder_are_found_by_their_manifest(home: Path) -> None:
    kept = home / ".cline" / "data" / "sessions" / SAMPLE.name
    shutil.copytree(SAMPLE, kept)
    (found,) = places(Path("/home/mira/gauges"))
    assert found == kept / f"{SAMPLE.name}.messages.json" and not list(places(home))
    info = peek(found)
    assert (info.goal, info.status, info.model) == (maker("cline").ASKED, "ended", "anthropic/claude-sonnet-4.5")


def test_what_is_wrong_beside_the_messages_is_said_once(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    session(folder)
    (folder / "s.json").write_text((folder / "s.json").read_text() + "junk")
    (folder / "other.messages.json").write_text("{nope")
    path = folder / "s.messages.json"
    reader = read(path)
    for number in range(3):
        value = json.loads(path.read_text())
        value["messages"].append({"id": f"n{number}", "role": "user", "content": "on"})
        path.write_bytes(dumped(value))
        assert reader.refresh()
    assert sorted(problem.where.partition(",")[0] for problem in reader.draft.problems) == [
        "other.messages.json", "s.json",
    ]  # fmt: skip


def test_a_system_prompt_in_other_words_is_the_one_that_is_sent(tmp_path: Path) -> None:
    reader = session(tmp_path)
    path = tmp_path / "s.messages.json"
    value = json.loads(path.read_text())
    path.write_bytes(dumped({**value, "system_prompt": "Be brief."}))
    assert reader.refresh()
    assert heads(reader.draft.main, 1)[0] == "Be brief." == heads(reader.draft.main, len(reader.draft.main.steps))[0]
    assert reader.draft.notice is None
