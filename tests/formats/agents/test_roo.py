"""Roo: what summaries and truncations hide, when they come into force, orphaned results, the todo list."""

from __future__ import annotations

import copy
import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agentmem.formats.agents.roo import peek, places
from agentmem.formats.draft import RunDraft
from agentmem.formats.usage import ANTHROPIC
from agentmem.inspect.open import open_run
from tests.conftest import ROOT
from tests.formats.agents.following import heads, opened, read
from tests.formats.agents.rewriting import dumped, maker

HISTORY = "api_conversation_history.json"
SAMPLE = ROOT / "sample_runs" / "roo-task" / "0195f3a0-6c1d-7e44-9b11-2f64f7a1c0de"


def held(folder: Path, history: list[Any], shown: list[Any] | None = None) -> RunDraft:
    (folder / HISTORY).write_bytes(dumped(history))
    if shown is not None:
        (folder / "ui_messages.json").write_bytes(dumped(shown))
    return read(folder / HISTORY).draft


def test_the_real_file_is_cut_twice(real: Path) -> None:
    run = opened(real / "roo-code" / "gen-api_conversation_history.json").run
    cuts = [(step.n, step.boundary.kind) for step in run.main.steps if step.boundary]
    assert cuts == [(7, "compaction"), (9, "trim")]
    assert all(drop.recorded for step in run.main.steps for drop in step.drops)
    goal = [drop.step for step in run.main.steps for drop in step.drops if drop.kind == "goal"]
    assert goal == [7]
    assert [(cycle.kind, cycle.count) for cycle in run.cycles] == [("repeat", 8)]


def test_a_summary_begins_the_prompt_and_what_it_hides_is_recorded() -> None:
    make = maker("roo")
    draft = read(SAMPLE).draft
    assert heads(draft.main, 6) == [make.SUMMARY]
    boundary = draft.main.steps[5].boundary
    assert boundary is not None
    assert (boundary.kind, boundary.before, boundary.after) == ("compaction", 7000, 1500)
    assert boundary.why == "condenseParent hides 11 messages"


def test_a_truncation_takes_effect_when_the_person_was_told_of_it() -> None:
    draft = read(SAMPLE).draft
    cuts = {step.n: step.boundary.kind for step in draft.main.steps if step.boundary}
    assert cuts == {6: "compaction", 10: "trim"}
    before, after = heads(draft.main, 9), heads(draft.main, 10)
    marker = "[Sliding window truncation: 2 messages hidden to reduce context]"
    assert marker not in before and after[1] == marker
    run = opened(SAMPLE).run
    assert all(drop.recorded for step in run.main.steps for drop in step.drops)


def test_without_the_conversation_a_marker_counts_from_its_place_on(tmp_path: Path) -> None:
    draft = held(tmp_path, maker("roo").task()[0])
    assert {step.n: step.boundary.kind for step in draft.main.steps if step.boundary} == {6: "compaction", 7: "trim"}


def test_a_message_whose_marker_is_gone_is_sent_again(tmp_path: Path) -> None:
    history = [message for message in maker("roo").task()[0] if "isSummary" not in message]
    draft = held(tmp_path, history)
    assert not any(step.boundary and step.boundary.kind == "compaction" for step in draft.main.steps)
    assert draft.goal == maker("roo").ASKED and len(heads(draft.main, 6)) > 10


def test_results_whose_calls_a_summary_hides_are_not_sent(tmp_path: Path) -> None:
    history = copy.deepcopy(maker("roo").task()[0])
    summary = next(index for index, message in enumerate(history) if message.get("isSummary"))
    kept = history[summary - 1]
    del kept["condenseParent"]
    history[summary - 1], history[summary] = history[summary], kept
    draft = held(tmp_path, history)
    assert not any(head and "no such column" in head for head in heads(draft.main, 6))


def test_the_todo_list_is_the_plan_and_dies_unseen_at_the_summary() -> None:
    run = opened(SAMPLE).run
    fields = [(field.name, field.value, field.done) for field in run.main.steps[4].fields]
    assert fields == [
        ("plan[0]", "read survey.sql", True), ("plan[1]", "convert the values", False),
        ("plan[2]", "keep the backup table", False),
    ]  # fmt: skip


def test_usage_and_the_end_come_from_the_conversation() -> None:
    draft = read(SAMPLE).draft
    usage = [step.usage.prompt for step in draft.main.steps if step.usage]
    assert (len(usage), usage[0], usage[5]) == (11, 4100, 1600)
    assert (draft.finished, draft.ended_as, draft.goal) == (True, "completed", maker("roo").ASKED)


def test_reasoning_blocks_are_thought_and_not_sent_again(tmp_path: Path) -> None:
    content = [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "I go."}]
    draft = held(tmp_path, [
        {"role": "user", "content": "go", "ts": 1}, {"role": "assistant", "content": content, "ts": 2},
        {"role": "user", "content": "on", "ts": 3, "isTruncationMarker": False},
    ])  # fmt: skip
    tape = draft.main.tape
    assert [tape.segment(ident).kind for ident in draft.main.steps[0].replies] == ["thinking", "assistant"]
    assert [tape.segment(ident).head for ident in tape.live] == ["go", "I go.", "on"]


@pytest.mark.parametrize("value", [7, None, [], "x"])
def test_marks_that_are_no_ids_hide_nothing(tmp_path: Path, value: object) -> None:
    draft = held(tmp_path, [
        {"role": "user", "content": "go", "condenseParent": value}, {"role": "assistant", "content": "a"},
        {"role": "user", "content": "s", "isSummary": True, "condenseId": value}, {"role": "assistant", "content": "b"},
    ])  # fmt: skip
    assert len(draft.main.steps) == 2


def test_a_task_is_opened_by_its_folder_and_by_any_of_its_files(tmp_path: Path, home: Path) -> None:
    tasks = home / ".config" / "VSCodium" / "User" / "globalStorage" / "rooveterinaryinc.roo-cline" / "tasks"
    shutil.copytree(SAMPLE, tasks / "one")
    for target in (tasks, tasks / "one", tasks / "one" / HISTORY, tasks / "one" / "ui_messages.json"):
        run = open_run(str(target)).run
        assert (run.id, run.format) == ("one", "roo")
    info = peek(tasks / "one" / HISTORY)
    assert (info.goal, info.status) == (maker("roo").ASKED, "ended")
    first = tasks / "one" / HISTORY
    place = "</user_message>\\n# Current Workspace Directory (/home/mira/survey)"
    first.write_text(first.read_text().replace("</user_message>", place))
    assert list(places(Path("/home/mira/survey"))) == [first]
    assert not list(places(tmp_path))


@pytest.mark.parametrize(("day", "protocol", "given", "cached", "prompt"), [
    ("2025-10-30", "anthropic", 900, 700, 1600), ("2025-11-02", "anthropic", 900, 700, 900),
    ("2025-11-02", "anthropic", 100, 700, 800), ("2025-10-30", "openai", 900, 700, 900), ("2025-10-30", None, 9, 4, 13),
])  # fmt: skip
def test_what_was_cached_counts_once(
    tmp_path: Path, day: str, protocol: str | None, given: int, cached: int, prompt: int
) -> None:
    at = int(datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp() * 1000)
    told = {"apiProtocol": protocol, "tokensIn": given, "tokensOut": 5, "cacheReads": cached, "cacheWrites": 0}
    history = [{"role": "user", "content": "go", "ts": at}, {"role": "assistant", "content": "yes", "ts": at + 9}]
    marked = [{**message, "isSummary": False} for message in history]
    draft = held(tmp_path, marked, [{"ts": at + 1, "type": "say", "say": "api_req_started", "text": json.dumps(told)}])
    usage = draft.main.steps[0].usage
    assert usage is not None and (usage.prompt, usage.cached) == (prompt, cached)
    assert (usage.rule == ANTHROPIC) == (prompt != given)
