"""What stood in each prompt of a session: chains, parallel calls, breaks, rewinds, subagents."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentmem.formats.agents.claude_code.chain import Node, left_behind
from agentmem.model import Run
from sample_runs.make_claude_code import Session
from tests.formats.agents.claude import GOAL, IDENT, draft_of, heads, picture, read, run_from, run_of, save, session

LONG = "a long result of many words, said again and again; " * 60


def test_the_lines_of_one_response_are_one_step_and_its_usage_the_largest(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    first, second = work.answer("I read.", work.call("Read", file_path="a"), work.call("Read", file_path="b"))
    work.result(second, "text of b", parent=work.lines[-1]["uuid"])
    work.result(first, "text of a", parent=work.lines[-3]["uuid"])
    work.answer("Done.")
    lane = draft_of(work, tmp_path).main
    assert len(lane.steps) == 2
    assert heads(lane, 2)[1:4] == ["I read.", 'Read {"file_path":"a"}', 'Read {"file_path":"b"}']
    assert [call.outcome for call in lane.steps[0].calls] == ["ok", "ok"]
    usage = lane.steps[0].usage
    assert usage is not None and usage.output is not None and usage.output > 2
    assert usage.prompt == sum(work.lines[1]["message"]["usage"][key] for key in (
        "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"))  # fmt: skip


def broken(*, resumed: bool, usage: bool = True) -> Session:
    work = session()
    work.user(GOAL)
    for number in range(3):
        work.does("", "Bash", f"{number} {LONG}", command=f"cat {number}")
    work.lose()
    work.does("", "Bash", "after the break", command="cat after")
    work.answer("So far.")
    if resumed:
        work.resume()
    work.user("Go on.")
    work.does("", "Bash", "later", command="cat later")
    work.answer("The end.")
    if not usage:
        for line in work.lines:
            line.get("message", {}).pop("usage", None)
    return work


def test_a_line_never_written_and_a_resume_silently_lose_the_goal(tmp_path: Path) -> None:
    work = broken(resumed=True)
    run = run_from(work, tmp_path)
    step = run.main.steps[5]
    boundary = step.boundary
    assert boundary is not None and (boundary.kind, boundary.recorded) == ("resume", False)
    assert boundary.before is not None and boundary.after is not None and boundary.after < boundary.before * 0.9
    assert "never written" in boundary.why and f"{boundary.before:,} to {boundary.after:,}" in boundary.why
    goal = next(drop for drop in step.drops if drop.kind == "goal")
    assert (goal.name, goal.recorded, goal.cause, goal.head) == ("goal", False, "silent", GOAL)
    assert [one.goal for one in run.main.steps[3:7]] == ["present", "present", "missing", "missing"]
    assert any("is not in the file" in problem.what for problem in run.problems)
    assert heads_of(run, 6) == ['Bash {"command":"cat after"}', "after the break", "So far.", "Go on."]


def heads_of(run: Run, n: int) -> list[str | None]:
    return [segment.head for segment in run.main.steps[n - 1].prompt]


def test_a_broken_chain_that_nobody_resumed_loses_nothing_and_is_told_ahead(tmp_path: Path) -> None:
    work = broken(resumed=False)
    run = run_from(work, tmp_path)
    assert all(step.boundary is None and not step.drops for step in run.main.steps)
    assert {step.goal for step in run.main.steps} == {"last", "present"}
    assert [problem.what[:10] for problem in run.problems] == ["its parent"]


def test_without_usage_the_walk_over_the_parents_is_believed(tmp_path: Path) -> None:
    work = broken(resumed=True, usage=False)
    run = run_from(work, tmp_path)
    assert [step.n for step in run.main.steps if step.boundary is not None] == [4]
    assert "no usage is reported" in (run.main.steps[3].boundary.why if run.main.steps[3].boundary else "")


def test_a_small_loss_is_seen_although_the_hidden_prefix_is_much_larger(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.does("", "Bash", "x " * 700, command="cat")
    work.lose()
    work.answer("So far.")
    work.resume()
    work.user("Go on.")
    work.answer("Yes.")
    run = run_from(work, tmp_path)
    boundary = run.main.steps[2].boundary
    assert boundary is not None and boundary.before is not None and boundary.after is not None
    assert boundary.after > boundary.before * 0.9, "the fall is below the common threshold"
    assert run.main.steps[2].goal == "missing"


def test_the_goal_that_a_summary_quotes_is_lost_with_it_by_name(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.does("", "Bash", LONG, command="cat")
    work.compact(f"This session is being continued from a previous conversation.\n6. All user messages: {GOAL}\nend")
    work.does("", "Bash", LONG, command="cat b")
    work.lose()
    work.answer("So far.")
    work.resume()
    work.user("Go on.")
    work.answer("Yes.")
    run = run_from(work, tmp_path)
    assert [step.goal for step in run.main.steps] == ["last", "present", "present", "missing"]
    assert [drop.kind for drop in run.main.steps[3].drops if drop.name == "goal"] == ["goal"]
    assert not any(drop.name == "goal" for drop in run.main.steps[1].drops), "the summary carries it"


def test_a_parent_that_comes_a_few_lines_later_is_no_break(tmp_path: Path) -> None:
    work, other = session(), session()
    for one in (work, other):
        one.user(GOAL)
        for number in range(6):
            one.does("", "Bash", f"{number}", command=f"cat {number}")
    swapped = work.lines
    swapped[5], swapped[6], swapped[7] = swapped[7], swapped[5], swapped[6]
    told = picture(draft_of(work, tmp_path))
    assert told["problems"] == [] and told["main"] == picture(draft_of(other, tmp_path))["main"]


def test_a_parent_that_comes_much_later_is_found_all_the_same(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    for number in range(60):
        work.does("", "Bash", f"{number}", command=f"cat {number}")
    straight = picture(draft_of(work, tmp_path))["main"]
    work.lines.append(work.lines.pop(20))
    late = draft_of(work, tmp_path)
    assert picture(late)["main"] == straight and not late.problems


def rewound() -> Session:
    work = session()
    work.user(GOAL)
    work.answer("First.")
    turn = work.head
    work.user("Take the north ports.")
    work.does("", "Bash", "north", command="cat north")
    work.answer("North is done.")
    work.head, work.held = turn, work.held[:2]
    work.user("Take the south ports instead.")
    work.does("", "Bash", "south", command="cat south")
    return work


def test_a_rewind_leaves_a_branch_behind_and_the_newest_way_is_the_main_lane(tmp_path: Path) -> None:
    draft = draft_of(rewound(), tmp_path)
    assert heads(draft.main, 2) == [GOAL[:40], "First.", "Take the south ports instead."]
    branch = draft.lanes["branch-1"]
    assert (branch.kind, branch.spawned_by, len(branch.steps)) == ("branch", ("main", 1), 2)
    assert heads(branch, 2)[:3] == [GOAL[:40], "First.", "Take the north ports."]
    assert not branch.open, "nobody will go on with it"


def test_a_rewind_loses_nothing_silently(tmp_path: Path) -> None:
    run = run_from(rewound(), tmp_path)
    assert not [drop for lane in run.lanes for step in lane.steps for drop in step.drops]
    assert all(step.goal in ("present", "last") for lane in run.lanes for step in lane.steps)


def test_going_back_into_a_branch_makes_it_the_main_lane_again(tmp_path: Path) -> None:
    work = rewound()
    work.head = next(line["uuid"] for line in work.lines if "North is done." in str(line))
    work.user("North it is.")
    work.answer("Good.")
    draft = draft_of(work, tmp_path)
    assert heads(draft.main, 4)[-2:] == ["North is done.", "North it is."]
    assert heads(draft.lanes["branch-1"], 1)[-1] == "Take the south ports instead."


def test_a_rewind_seen_live_ends_in_the_same_lanes(tmp_path: Path) -> None:
    work = rewound()
    text = work.text().encode()
    path = tmp_path / f"{IDENT}.jsonl"
    lines = text.splitlines(keepends=True)
    path.write_bytes(lines[0])
    reader = read(path)
    for line in lines[1:]:
        with path.open("ab") as file:
            file.write(line)
        assert reader.refresh()
    assert picture(reader.draft) == picture(read(path).draft)


def test_what_stands_beside_the_way_stays_with_its_call() -> None:
    nodes = {
        "a": Node(None, "main", 1, True, None),
        "b": Node("a", "main", 2, True, ("m",)),
        "b2": Node("b", "main", 2, False, ("m",)),
        "r": Node("b", "main", 2, False, ("m",)),
        "old": Node("r", "main", 3, True, None),
        "old2": Node("old", "main", 4, True, ("n",)),
        "new": Node("b2", "main", 5, True, None),
    }
    assert left_behind(nodes, "new", frozenset({"main"})) == {"old": 1, "old2": 1}


@pytest.mark.parametrize("named", [True, False], ids=["by its agent id", "by its prompt"])
def test_sidechains_inside_the_file_are_lanes_tied_to_their_calls(tmp_path: Path, named: bool) -> None:
    work = session()
    work.user(GOAL)
    calls = work.answer(*(
        work.call("Task", subagent_type="Explore", description=f"Find {port}", prompt=f"Find the table of {port}.")
        for port in ("Storvik", "Havnes")))  # fmt: skip
    main = work.head
    for port, ident in (("Havnes", "a2"), ("Storvik", "a1")):
        work.head, work.agent = None, ident
        work.user(f"Find the table of {port}.")
        work.does("", "Glob", f"{port}.csv", pattern=f"*{port}*")
        work.answer(f"It is {port}.csv")
    work.head, work.agent = main, None
    for call in calls:
        work.result(call, "found")
    if not named:
        for line in work.lines:
            line.pop("agentId", None)
    draft = draft_of(work, tmp_path)
    assert len(draft.main.steps) == 1 and len(draft.lanes) == 3
    lanes = {lane.name: (lane.spawned_by, len(lane.steps)) for lane in draft.lanes.values() if lane.kind == "subagent"}
    assert lanes == {"Explore: Find Storvik": (("main", 1), 2), "Explore: Find Havnes": (("main", 1), 2)}
    assert not any(head and head.startswith("Find the table") for head in heads(draft.main, 2))


def test_a_subagent_has_its_own_goal(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.agent, work.head = "a7", None
    work.user("Count the rows of tides.csv and say the number.")
    work.answer("There are 40.")
    run = run_of(read(save(work, tmp_path)))
    assert [step.goal for step in run.lane("a7").steps] == ["last"]


def test_lines_of_another_session_do_not_mix_with_the_prompt(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    mine = {"role": "user", "content": "Mine."}
    work.lines.append({"type": "user", "uuid": "other-1", "sessionId": "other", "message": mine})
    work.lines.append({"type": "assistant", "uuid": "other-2", "parentUuid": "other-1", "sessionId": "other",
                       "message": {"role": "assistant", "content": "Yours."}})  # fmt: skip
    work.answer("Yes.")
    draft = draft_of(work, tmp_path)
    assert heads(draft.main, 2) == [GOAL[:40], "Yes."]
    assert heads(draft.lanes["session-other"], 2) == ["Mine.", "Yours."]
    assert "another session" in draft.problems[0].what


def test_a_file_that_begins_behind_a_missing_line_does_not_guess_the_goal(tmp_path: Path) -> None:
    work = session()
    work.user("Go on.")
    work.lines[0]["parentUuid"] = work.uuid()
    work.answer("Yes.")
    draft = draft_of(work, tmp_path)
    assert (draft.goal, draft.goal_unknown) == (None, True)


def test_a_uuid_written_twice_counts_once_and_the_last_text_wins(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.user("Use metres.")
    work.answer("Yes.")
    same = dict(work.lines[1])
    other = {**same, "message": {"role": "user", "content": "Use feet."}}
    work.lines += [same, other]
    draft = draft_of(work, tmp_path)
    assert heads(draft.main, 2) == [GOAL[:40], "Use feet.", "Yes."]
    assert len(draft.problems) == 1
    assert [(item.cause, item.name) for item in draft.main.declared] == [("rewritten", "user")]


def test_parents_that_hang_on_each_other_end_in_a_broken_chain_and_not_in_a_hang(tmp_path: Path) -> None:
    work = session()
    work.user(GOAL)
    work.user("one")
    work.user("two")
    work.lines[1]["parentUuid"], work.lines[2]["parentUuid"] = work.lines[2]["uuid"], work.lines[1]["uuid"]
    work.answer("Yes.")
    assert len(draft_of(work, tmp_path).main.steps) == 1
