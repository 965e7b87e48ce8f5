"""What enters and leaves a prompt by the session's own word: compactions, shortened results, plans, errors, goals."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentmem.model import Boundary
from tests.formats.agents.claude import GOAL, draft_of, heads, run_from, session

LONG = "word " * 400
SUMMARY = "This session is being continued from a previous conversation that ran out of context. All tables are read."


def test_a_compaction_is_a_recorded_boundary_and_the_summary_stands_for_what_left(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.does("", "Bash", LONG, command="cat a")
    work.compact(SUMMARY)
    work.line("attachment", attachment={"type": "file", "filename": "a.csv", "content": {"type": "text"}})
    work.answer("Yes.")
    run = run_from(work, tmp_path)
    step = run.main.steps[1]
    assert step.boundary is not None
    assert (step.boundary.kind, step.boundary.recorded, step.boundary.opaque) == ("compaction", True, False)
    assert step.boundary.before == work.lines[3]["compactMetadata"]["preTokens"]
    assert step.usage is not None and step.boundary.after == step.usage.prompt
    assert [segment.kind for segment in step.prompt] == ["summary", "other"]
    assert {(drop.cause, drop.recorded) for drop in step.drops} == {("compacted", True)}
    assert step.goal == "missing"


@pytest.mark.parametrize("place", ["preservedMessages", "preservedSegment"])
def test_messages_that_a_compaction_preserves_stay_behind_the_summary(tmp_path: Path, place: str) -> None:
    work = session()
    work.user(GOAL)
    work.does("", "Bash", LONG, command="cat a")
    work.does("", "Bash", "kept", command="cat b")
    kept = [line["uuid"] for line in work.lines[-2:]]
    both = {"preservedMessages": {"uuids": kept}, "preservedSegment": {"headUuid": kept[0], "tailUuid": kept[1]}}
    work.compact(SUMMARY, keep=2, kept={place: dict(both[place])})
    work.user("Go on.")
    work.answer("Yes.")
    lane = draft_of(work, tmp_path).main
    assert heads(lane, 3) == [SUMMARY[:40], 'Bash {"command":"cat b"}', "kept", "Go on."]
    gone = {lane.tape.segment(ident).head for ident in lane.tape.left(3)}
    assert gone == {GOAL, 'Bash {"command":"cat a"}', LONG[:120]}


def test_a_preserved_beginning_stands_before_the_summary(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.does("", "Bash", LONG, command="cat a")
    work.compact(SUMMARY, kept={"preservedMessages": {"uuids": [work.lines[0]["uuid"]]}})
    boundary = work.lines[-2]
    boundary["compactMetadata"]["preservedMessages"]["anchorUuid"] = boundary["uuid"]
    work.answer("Yes.")
    assert heads(draft_of(work, tmp_path).main, 2) == [GOAL[:40], SUMMARY[:40]]


def test_a_compaction_without_a_summary_cannot_be_checked(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.does("", "Bash", LONG, command="cat a")
    work.compact(SUMMARY)
    work.lines.pop()
    work.head = work.lines[-1]["uuid"]
    work.user("Go on.")
    work.answer("Yes.")
    boundary = draft_of(work, tmp_path).main.steps[1].boundary
    assert boundary is not None and boundary.opaque


def test_a_title_line_is_no_compaction(tmp_path: Path) -> None:
    work = session()
    work.beside("summary", summary="Tide tables of another day", leafUuid=work.uuid())
    work.user(GOAL)
    work.answer("Yes.")
    draft = draft_of(work, tmp_path)
    assert heads(draft.main, 1) == [GOAL[:40]] and draft.main.steps[0].boundary is None and draft.goal == GOAL


def test_a_replacement_puts_a_stub_in_the_place_of_the_full_result(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    call = work.does("", "Bash", LONG, command="cat a")
    work.answer("I saw it.")
    work.beside("content-replacement", replacements=[
        {"kind": "tool-result", "toolUseId": call, "replacement": "<persisted-output> saved"}])  # fmt: skip
    work.user("Go on.")
    work.answer("Yes.")
    run = run_from(work, tmp_path)
    assert "<persisted-output> saved" in [segment.head for segment in run.main.steps[2].prompt]
    assert [(drop.cause, drop.recorded) for drop in run.main.steps[2].drops] == [("shortened", True)]


def test_a_replacement_before_its_first_prompt_drops_nothing(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    call = work.does("", "Bash", LONG, command="cat a")
    replaced = {"kind": "tool-result", "toolUseId": call, "replacement": "saved"}
    work.lines.insert(2, {"type": "content-replacement", "replacements": [replaced]})
    work.answer("Yes.")
    run = run_from(work, tmp_path)
    assert [segment.head for segment in run.main.steps[1].prompt][-1] == "saved" and not run.main.steps[1].drops


def test_cleared_results_are_a_recorded_prune_and_the_chain_goes_on(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    call = work.does("", "Bash", LONG, command="cat a")
    work.line("system", subtype="microcompact_boundary", microcompactMetadata={
        "trigger": "auto", "preTokens": 9000, "tokensSaved": 500, "compactedToolIds": [call]})  # fmt: skip
    work.answer("Yes.")
    work.answer("More.")
    lane = draft_of(work, tmp_path).main
    assert heads(lane, 2)[-1] == "[Old tool result content cleared]"
    boundary = lane.steps[1].boundary
    assert isinstance(boundary, Boundary)
    assert (boundary.kind, boundary.recorded, boundary.before, boundary.after) == ("prune", True, 9000, 8500)
    assert len(heads(lane, 3)) == 4


def test_more_saved_than_there_was_is_no_size(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.line("system", subtype="microcompact_boundary", microcompactMetadata={"preTokens": 400, "tokensSaved": 500})
    work.answer("Yes.")
    boundary = draft_of(work, tmp_path).main.steps[0].boundary
    assert boundary is not None and (boundary.before, boundary.after) == (400, None)


def test_edits_of_the_service_clear_the_oldest_results_once(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    for name in "abc":
        work.does("", "Bash", f"{name} {LONG}", command=f"cat {name}")
    applied = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2, "cleared_input_tokens": 900}
    edits = {"applied_edits": [applied]}
    for text in ("Yes.", "More."):
        work.answer(text)
        work.lines[-1]["message"]["context_management"] = edits
    lane = draft_of(work, tmp_path).main
    assert heads(lane, 4).count("[Old tool result content cleared]") == 2
    assert [step.n for step in lane.steps if step.boundary is not None] == [4]


def test_output_kept_in_a_file_is_a_recorded_shortening(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    told = "Output too large (33.7KB). Full output saved to: x.txt"
    work.does("", "Bash", f"<persisted-output>\n{told}\n\nPreview", command="c")
    work.answer("Yes.")
    drops = run_from(work, tmp_path).main.steps[1].drops
    assert [(drop.cause, drop.recorded, drop.name) for drop in drops] == [("shortened", True, "result of Bash")]
    assert "33.7KB" in (drops[0].record or "")


def todo(*texts: str, done: int = 0) -> list[dict[str, str]]:
    return [{"content": text, "status": "completed" if n < done else "pending"} for n, text in enumerate(texts)]


def test_a_todo_list_is_the_plan_and_dies_where_its_call_leaves(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.does("", "TodoWrite", "ok", todos=todo("read the tables", "convert the heights"))
    work.does("", "TodoWrite", "ok", todos=todo("read the tables", "convert the heights", done=1))
    work.compact(SUMMARY)
    work.answer("Yes.")
    run = run_from(work, tmp_path)
    assert [[(field.name, field.done) for field in step.fields] for step in run.main.steps] == [
        [], [("plan[0]", False), ("plan[1]", False)], [("plan[0]", True), ("plan[1]", False)],
    ]  # fmt: skip
    dead = [drop for drop in run.main.steps[2].drops if drop.what == "plan"]
    assert [(drop.name, drop.cause, drop.recorded) for drop in dead] == [
        ("plan[0]", "compacted", True), ("plan[1]", "compacted", True)
    ]  # fmt: skip


def test_a_plan_item_that_a_summary_or_a_reminder_carries_lives_on(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.does("", "TodoWrite", "ok", todos=todo("read the tables", "convert the heights", "print them"))
    work.answer("I begin.")
    work.compact(f"{SUMMARY} Pending Tasks: convert the heights")
    work.line("attachment", attachment={"type": "todo_reminder", "content": todo("print them")})
    work.answer("Yes.")
    run = run_from(work, tmp_path)
    assert [drop.head for drop in run.main.steps[2].drops if drop.what == "plan"] == ["read the tables"]
    fields = run.main.steps[2].fields
    assert [(field.name, field.segment is not None) for field in fields] == [
        ("plan[0]", False), ("plan[1]", True), ("plan[2]", True)
    ]  # fmt: skip


def test_a_reminder_tells_a_plan_that_was_made_before_the_file_begins(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.line("attachment", attachment={"type": "todo_reminder", "content": todo("print them", done=1)})
    work.line("attachment", attachment={"type": "task_reminder", "content": []})
    work.answer("Yes.")
    assert [(field.name, field.done) for field in draft_of(work, tmp_path).main.steps[0].fields] == [("plan[0]", True)]


def test_tasks_are_named_by_their_results_and_follow_their_updates(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    call = work.answer(work.call("TaskCreate", subject="read the tables", description="all"))[0]
    work.result(call, "Task #7 created", toolUseResult={"task": {"id": "7", "subject": "read the tables"}})
    call = work.answer(work.call("TaskCreate", subject="print them", description="all"))[0]
    work.result(call, "Task #8 created successfully: print them")
    work.does("", "TaskUpdate", "ok", taskId="7", status="completed")
    work.does("", "TaskUpdate", "ok", taskId="8", status="deleted")
    work.answer("Yes.")
    steps = draft_of(work, tmp_path).main.steps
    assert [(field.name, field.value, field.done) for field in steps[2].fields] == [
        ("tasks[7]", "read the tables", False), ("tasks[8]", "print them", False)
    ]  # fmt: skip
    assert [(field.name, field.done) for field in steps[4].fields] == [("tasks[7]", True)]


def test_a_plan_of_plan_mode_is_held(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.does("", "ExitPlanMode", "approved", plan="# Plan\n- read\n- print")
    work.answer("Yes.")
    assert [(field.name, field.value) for field in draft_of(work, tmp_path).main.steps[1].fields] == [
        ("plan", "# Plan\n- read\n- print")
    ]


def test_failed_tries_come_back_and_stand_in_no_prompt(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.answer("First.")
    work.line("system", subtype="api_error", error={"status": 529, "error": {"error": {"message": "Overloaded"}}},
              retryAttempt=1, maxRetries=10)  # fmt: skip
    work.line("assistant", isApiErrorMessage=True, message={
        "id": "x", "model": "<synthetic>", "role": "assistant", "usage": {"input_tokens": 0, "output_tokens": 0},
        "content": [{"type": "text", "text": "API Error: 529 overloaded"}]})  # fmt: skip
    work.user("Again.")
    work.answer("Second.")
    draft = draft_of(work, tmp_path)
    lane = draft.main
    assert [lane.tape.segment(ident).head for ident in lane.steps[0].results] == [
        "api error, try 1 of 10: 529 Overloaded", "API Error: 529 overloaded"
    ]  # fmt: skip
    assert heads(lane, 2) == [GOAL[:40], "First.", "Again."] and len(lane.steps) == 2
    assert [problem.what for problem in draft.problems] == ["the model call failed: API Error: 529 overloaded"]


def test_words_that_the_program_wrote_are_no_model_call(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.answer("First.")
    work.line("assistant", message={"id": "x", "model": "<synthetic>", "role": "assistant",
                                    "content": [{"type": "text", "text": "No response requested."}]})  # fmt: skip
    work.user("Again.")
    work.answer("Second.")
    draft = draft_of(work, tmp_path)
    assert len(draft.main.steps) == 2 and heads(draft.main, 2)[2] == "No response requested."
    assert draft.model == "claude-sonnet-4-5-20250929"


def test_a_cancelled_sibling_is_no_failure_of_its_own(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    first, second = work.answer(work.call("Bash", command="a"), work.call("Bash", command="b"))
    work.result(first, "Exit code 1\nno such file", error=True)
    work.result(second, "<tool_use_error>Cancelled: parallel tool call Bash(a) errored</tool_use_error>", error=True)
    work.answer("Yes.")
    calls = draft_of(work, tmp_path).main.steps[0].calls
    assert [call.outcome for call in calls] == ["error", "denied"]


@pytest.mark.parametrize(
    "before",
    [
        "<command-name>/clear</command-name>\n<command-args></command-args>",
        "<local-command-stdout>ok</local-command-stdout>",
        "<ide_opened_file>a.py</ide_opened_file>",
        "[Request interrupted by user]",
    ],
)
def test_the_goal_is_the_first_real_request(tmp_path: Path, before: str) -> None:
    work = session()
    work.user("Caveat: the messages below were made by the user", isMeta=True)
    work.user(before)
    work.user(GOAL)
    work.answer("Yes.")
    draft = draft_of(work, tmp_path)
    assert (draft.goal, draft.goal_declared) == (GOAL, False)
    assert [draft.main.tape.segment(ident).kind for ident in draft.main.tape.ids(1)] == ["other", "user", "goal"]


def test_without_a_request_the_words_behind_a_command_are_the_goal(tmp_path: Path) -> None:
    work = session()
    work.user("<command-name>/tides</command-name>\n<command-args>translate the tables</command-args>")
    work.user("Split the work and go on.", isMeta=True)
    work.answer("Yes.")
    work.user("Now print them.")
    work.answer("Printed.")
    run = run_from(work, tmp_path)
    assert run.goal == "translate the tables"
    assert [step.goal for step in run.main.steps] == ["present", "present"]


def test_a_local_command_with_arguments_is_no_goal(tmp_path: Path) -> None:
    work = session()
    work.user("<command-name>/model</command-name>\n<command-args>opus</command-args>")
    work.user("<local-command-stdout>Set model</local-command-stdout>", isMeta=True)
    work.user(GOAL)
    work.answer("Yes.")
    assert draft_of(work, tmp_path).goal == GOAL


def test_a_session_that_begins_with_a_summary_takes_its_request_for_the_goal(tmp_path: Path) -> None:
    work = session()
    work.user(f"{SUMMARY}\n1. Primary Request and Intent:\n   Translate the tide tables.\n2. Key Technical Concepts:\n")
    work.answer("Yes.")
    work.user("Go on.")
    work.answer("More.")
    run = run_from(work, tmp_path)
    assert run.goal == "Translate the tide tables."
    assert [step.goal for step in run.main.steps] == ["last", "present"]


def test_a_session_whose_beginning_is_missing_takes_the_goal_that_a_summary_tells(tmp_path: Path) -> None:
    work = session()
    work.user("Go on.")
    work.lines[0]["parentUuid"] = work.uuid()
    work.answer("Yes.")
    work.line("system", subtype="away_summary", content="Goal: print the tide tables. Next action: proof-read.")
    work.user("And now?")
    work.answer("More.")
    run = run_from(work, tmp_path)
    assert run.goal == "print the tide tables."
    assert [step.goal for step in run.main.steps] == ["unknown", "unknown"], "it was told, and stood in no prompt seen"


def test_a_summary_for_somebody_away_is_kept_as_notes(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.answer("First.")
    work.line("system", subtype="away_summary", content="Goal: tables. Next action: print.")
    work.user("Go on.")
    work.answer("Second.")
    steps = draft_of(work, tmp_path).main.steps
    assert [step.notes for step in steps] == [None, "Goal: tables. Next action: print."]


def test_what_is_not_in_the_file_is_said_and_not_counted(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.answer("Yes.")
    run = run_from(work, tmp_path)
    assert run.unknown == ("system prompt", "tool schemas") and run.provenance == "reconstructed"
    assert run.main.steps[0].tokens.fixed in (0, None) and run.main.steps[0].tokens.prompt == -(-len(GOAL) // 4)


def test_an_emptied_conversation_is_a_recorded_rewind(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.does("", "Bash", LONG, command="cat a")
    work.head = None
    work.user("<command-name>/clear</command-name>")
    work.user("Something else.")
    work.answer("Yes.")
    run = run_from(work, tmp_path)
    boundary = run.main.steps[1].boundary
    assert boundary is not None and (boundary.kind, boundary.recorded) == ("rewind", True)
    assert {drop.recorded for drop in run.main.steps[1].drops} == {True} and not run.problems


def test_lines_that_a_compaction_writes_again_are_back_in_the_prompt(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.does("", "Bash", LONG, command="cat a")
    work.does("", "Bash", "kept", command="cat b")
    kept = [dict(line) for line in work.lines[-2:]]
    work.compact(SUMMARY)
    for line in kept:
        line["parentUuid"] = work.head
        work.lines.append(line)
        work.head = line["uuid"]
    work.user("Go on.")
    work.answer("Yes.")
    draft = draft_of(work, tmp_path)
    assert heads(draft.main, 3) == [SUMMARY[:40], 'Bash {"command":"cat b"}', "kept", "Go on."]
    assert len(draft.main.steps) == 3 and not draft.problems


def test_what_only_the_transcript_shows_is_in_no_prompt(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.user("for the eye only", isVisibleInTranscriptOnly=True)
    work.answer("Yes.")
    assert heads(draft_of(work, tmp_path).main, 1) == [GOAL[:40]]
