"""Cline in the editor: hidden ranges, texts changed in place, calls in XML, the checklist, usage of requests."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from agentmem.formats.agents.cline_classic import changes_of, peek, places
from agentmem.formats.reader import Reader
from agentmem.formats.shared.vscode_tasks import request_span, result_header, xml_calls
from agentmem.inspect.open import open_run
from tests.conftest import ROOT
from tests.formats.agents.following import heads, opened, read
from tests.formats.agents.rewriting import dumped, maker

SAMPLE = ROOT / "sample_runs" / "cline-task" / "1775200000000"
HISTORY = "api_conversation_history.json"


def task(folder: Path, history: Any = None, shown: Any = None, changes: Any = None) -> Reader:
    made = maker("cline").task()
    given = {HISTORY: history, "ui_messages.json": shown, "context_history.json": changes}
    for (name, value), usual in zip(given.items(), made, strict=True):
        (folder / name).write_bytes(dumped(usual if value is None else value))
    return read(folder / HISTORY)


def test_a_hidden_range_is_a_recorded_trim_at_the_request_that_first_hid_it(tmp_path: Path) -> None:
    draft = task(tmp_path).draft
    cuts = {step.n: step.boundary.why for step in draft.main.steps if step.boundary}
    assert cuts == {
        7: "conversationHistoryDeletedRange [2, 5]", 10: "conversationHistoryDeletedRange [2, 11]",
    }  # fmt: skip
    assert heads(draft.main, 10)[1] == maker("cline").ASKED, "the task and the first answer are kept"
    run = opened(tmp_path / HISTORY).run
    assert all(drop.recorded for step in run.main.steps for drop in step.drops)
    assert all(step.boundary is None or step.boundary.kind == "trim" for step in run.main.steps)


def test_texts_changed_in_place_are_sent_in_other_words_from_their_request_on(tmp_path: Path) -> None:
    draft = task(tmp_path).draft
    before, after = heads(draft.main, 6), heads(draft.main, 7)
    note = "[NOTE] Some previous conversation history with the user has been removed to save space."
    assert note not in before and note in after
    seen = [head for head in heads(draft.main, 12) if head and "This file read has been removed" in head]
    assert len(seen) == 1
    run = opened(tmp_path / HISTORY).run
    stubs = [drop for step in run.main.steps for drop in step.drops if drop.cause == "shortened"]
    assert stubs and all(drop.recorded for drop in stubs)


def test_calls_in_xml_have_their_arguments_and_results(tmp_path: Path) -> None:
    draft = task(tmp_path).draft
    calls = [call for step in draft.main.steps for call in step.calls]
    assert [call.tool for call in calls[:3]] == ["read_file", "execute_command", "execute_command"]
    assert calls[1].arguments == '{"command":"gauge-lint gauges.yml"}'
    assert all(call.answered for call in calls[:-1]) and not calls[-1].answered
    run = opened(tmp_path / HISTORY).run
    assert (2, 3, 4) in [cycle.steps for cycle in run.cycles]


def test_the_checklist_is_the_plan_of_the_steps_after_it(tmp_path: Path) -> None:
    draft = task(tmp_path).draft
    plan = [[(field.name, field.done) for field in step.fields] for step in draft.main.steps]
    assert plan[0] == [] and plan[11] == [("plan[0]", True), ("plan[1]", True), ("plan[2]", False)]


def test_usage_is_the_sum_of_what_was_sent_and_cached(tmp_path: Path) -> None:
    draft = task(tmp_path).draft
    usage = [step.usage.prompt for step in draft.main.steps if step.usage]
    assert len(usage) == 12 and usage[0] == 9200


def test_a_task_without_its_conversation_still_opens(tmp_path: Path) -> None:
    (tmp_path / HISTORY).write_bytes(dumped(maker("cline").task()[0]))
    draft = read(tmp_path / HISTORY).draft
    assert len(draft.main.steps) == 12 and not draft.problems and not draft.finished
    assert not any(step.boundary for step in draft.main.steps)


def test_the_files_beside_may_come_late_or_half_written(tmp_path: Path) -> None:
    history, shown, changes = maker("cline").task()
    (tmp_path / HISTORY).write_bytes(dumped(history))
    reader = read(tmp_path / HISTORY)
    (tmp_path / "ui_messages.json").write_bytes(dumped(shown)[:700])
    assert reader.refresh()
    (tmp_path / "ui_messages.json").write_bytes(dumped(shown))
    (tmp_path / "context_history.json").write_bytes(dumped(changes))
    assert reader.refresh()
    assert [step.n for step in reader.draft.main.steps if step.boundary] == [7, 10] and reader.draft.finished


NO_CHANGES: list[Any] = [
    None, 7, [[1]], [[1, [2, [[0, [["x"]]]]]]], [[0, None]], [[True, [1, [[0, [[1, "text", []]]]]]]],
]  # fmt: skip


@pytest.mark.parametrize("value", NO_CHANGES)
def test_changes_that_are_none_are_left_out(value: object) -> None:
    assert not list(changes_of(value))


def test_words_and_calls_are_told_apart() -> None:
    text = "I look.\n<read_file>\n<path>a.py</path>\n</read_file>"
    assert [(text[a:b], tool, arguments) for a, b, tool, arguments in xml_calls(text)] == [
        ("I look.\n", None, ""), (text[8:], "read_file", '{"path":"a.py"}'),
    ]  # fmt: skip
    assert result_header("[read_file for 'a.py'] Result:\nx") == ("read_file", 31)
    assert result_header("[note] Result:") is None
    for text, asked in (("<task>\ngo\n</task>", "go"), ("go", "go"), ("<environment_details>", None), ("[x] y", None)):
        span = request_span(text)
        assert (None if span is None else text[slice(*span)]) == asked


def test_a_task_is_opened_by_any_of_its_files_and_folders(tmp_path: Path, home: Path) -> None:
    tasks = home / ".config" / "Code" / "User" / "globalStorage" / "saoudrizwan.claude-dev" / "tasks"
    shutil.copytree(SAMPLE, tasks / "1")
    shutil.copytree(SAMPLE, tasks / "2")
    for target in (tasks / "1", tasks / "1" / HISTORY, tasks / "1" / "ui_messages.json"):
        assert (open_run(str(target)).run.id, open_run(str(target)).run.format) == ("1", "cline")
    assert open_run(str(tasks), "2").run.id == "2"
    assert {path.parent.name for path in places(Path("/home/mira/gauges"))} == {"1", "2"}
    assert not list(places(tmp_path))
    assert peek(tasks / "1" / HISTORY).goal == maker("cline").ASKED


@pytest.mark.parametrize(("provider", "given", "prompt"), [
    ("anthropic", 900, 1600), ("openai", 900, 900), ("litellm", 900, 900), ("xai", 100, 800), (["openai"], 900, 1600),
])  # fmt: skip
def test_what_was_cached_counts_once_whatever_the_provider_passes_on(
    tmp_path: Path, provider: object, given: int, prompt: int
) -> None:
    told = {"tokensIn": given, "tokensOut": 5, "cacheReads": 700, "cacheWrites": 0}
    shown = [{"ts": 1, "type": "say", "say": "api_req_started", "text": json.dumps(told),
              "modelInfo": {"providerId": provider, "modelId": "m"}, "conversationHistoryIndex": 0}]  # fmt: skip
    history = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "yes"}]
    usage = task(tmp_path, history, shown, []).draft.main.steps[0].usage
    assert usage is not None and (usage.prompt, usage.cached) == (prompt, 700)


def test_a_request_is_answered_once_and_of_those_behind_one_message_the_last(tmp_path: Path) -> None:
    shown = [
        {"ts": at, "type": "say", "say": "api_req_started", "text": json.dumps({"tokensIn": at}),
         "conversationHistoryIndex": place}
        for at, place in ((1, 0), (2, 0), (3, 2), (4, 9))
    ]  # fmt: skip
    history = [{"role": "assistant" if number % 2 else "user", "content": str(number)} for number in range(8)]
    steps = task(tmp_path, history, shown, []).draft.main.steps
    assert [step.usage and step.usage.prompt for step in steps] == [2, 3, None, None]
