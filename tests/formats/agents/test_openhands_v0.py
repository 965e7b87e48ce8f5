"""Trajectories of OpenHands V0: lists, lines of an evaluation, event folders; what a condensation leaves."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentmem.formats import recognise
from agentmem.formats.agents.openhands import v0
from agentmem.formats.source import SnapshotFile
from tests.formats.agents.following import cuts, every_text_is_whole, heads, picture, read, reader_of, run_of

Event = dict[str, Any]


def event(ident: int, source: str = "agent", **more: Any) -> Event:
    return {"id": ident, "timestamp": "2025-01-27T22:44:56", "source": source, "message": "", **more}


def user(ident: int, text: str) -> Event:
    return event(ident, "user", action="message", args={"content": text})


def run(ident: int, command: str = "ls") -> Event:
    return event(ident, action="run", args={"command": command, "thought": "", "hidden": False})


def seen(ident: int, cause: int, text: str = "x", code: int = 0) -> Event:
    return event(ident, observation="run", content=text, cause=cause, extras={"metadata": {"exit_code": code}})


def condense(ident: int, summary: str | None = "sum", **args: Any) -> Event:
    return event(ident, action="condensation", args={**args, "summary": summary, "summary_offset": 1})


def sample(root: Path) -> Path:
    return root / "sample_runs" / "openhands" / "v0.json"


SHORT = [user(0, "go"), run(1), seen(2, 1), run(3, "make"), seen(4, 3, "no rule", 2)]
CALL, MAKE = 'run {"command":"ls"}', 'run {"command":"make"}'
DONE = "x\n[Command finished with exit code 0]"


def write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_observations_answer_the_action_that_caused_them(tmp_path: Path) -> None:
    lane = read(write(tmp_path / "a.json", SHORT)).draft.main
    assert heads(lane, 2) == ["go", CALL, DONE]
    assert [call.outcome for step in lane.steps for call in step.calls] == ["ok", "error"]


@pytest.mark.parametrize("args", [
    {"forgotten_event_ids": ["1", "2"]}, {"forgotten_events_start_id": 1, "forgotten_events_end_id": 2},
])  # fmt: skip
def test_only_the_last_summary_stands_and_what_is_named_is_gone(tmp_path: Path, args: Event) -> None:
    events = [
        *SHORT,
        condense(5, **args),
        run(6),
        seen(7, 6),
        condense(8, "second", forgotten_event_ids=[3, 4]),
        run(9),
    ]
    lane = read(write(tmp_path / "a.json", events)).draft.main
    assert heads(lane, 3) == ["go", "sum", MAKE, "no rule\n[Command finished with exit code 2]"]
    assert heads(lane, 4) == ["go", "second", CALL, DONE]
    assert [step.boundary.why for step in lane.steps if step.boundary] == [
        "condensation event 5: 2 events forgotten", "condensation event 8: 2 events forgotten",
    ]  # fmt: skip


def test_a_finish_ends_the_run_and_a_further_request_takes_it_up_again(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", [*SHORT, event(5, action="finish", args={"thought": "done"})])
    reader = read(path)
    assert run_of(reader).status == "ended"
    write(path, [*SHORT, event(5, action="finish", args={"thought": "done"}), user(6, "more")])
    assert reader.refresh()
    assert run_of(reader).main.steps[-1].open


def test_very_old_histories_of_pairs_are_read(tmp_path: Path) -> None:
    path = tmp_path / "output.jsonl"
    pairs = [[SHORT[0], SHORT[1]], [SHORT[3], SHORT[4]]]
    lines: list[Event] = [{"instance_id": "a", "history": pairs}, {"instance_id": "b", "history": SHORT, "metrics": {}}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    known = recognise(path)
    assert known is not None and known.runs is not None
    assert [row.id for row in known.runs(path)] == ["a", "b"]
    assert len(read(path, "a").draft.main.steps) == 2
    assert heads(read(path, "b").draft.main, 2) == ["go", CALL, DONE]
    assert every_text_is_whole(path, "b") == 5


def test_a_session_folder_grows_by_a_file_an_event(tmp_path: Path) -> None:
    folder = tmp_path / "session" / "events"
    folder.mkdir(parents=True)
    write(folder / "0.json", SHORT[0])
    reader = reader_of(folder.parent)
    reader.refresh()
    for index, value in enumerate(SHORT[1:], 1):
        (folder / f"{index}.json").write_text(json.dumps(value)[:30])
        reader.refresh()
        assert reader.draft.notice == "being written"
        write(folder / f"{index}.json", value)
        assert reader.refresh()
        assert reader.draft.notice is None
    assert picture(reader.draft)["lanes"] == picture(read(write(tmp_path / "a.json", SHORT)).draft)["lanes"]


def test_a_list_written_anew_goes_on_and_a_changed_past_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", SHORT[:3])
    reader = read(path)
    write(path, SHORT)
    assert reader.refresh()
    assert len(reader.draft.main.steps) == 2
    path.write_text(json.dumps(SHORT)[:200])
    reader.refresh()
    assert (reader.draft.notice, len(reader.draft.main.steps)) == ("being written", 2)
    write(path, [user(0, "else"), *SHORT[1:]])
    assert reader.refresh() and reader.draft.notice == "history rewritten, read again"
    assert heads(reader.draft.main, 1) == ["else"]


def test_cut_anywhere_a_trajectory_opens_with_its_whole_events(root: Path, tmp_path: Path) -> None:
    data = sample(root).read_bytes()
    opened = [draft for _, draft in cuts(tmp_path / "a.json", data, 200) if not isinstance(draft, str)]
    assert len(opened) > 180
    counts = [sum(draft.counts.values()) for draft in opened]
    assert counts == sorted(counts) and counts[-1] >= len(json.loads(data)) - 1


@pytest.mark.parametrize("odd", [
    {"action": "run"}, {"observation": "run", "extras": 3}, {"action": "message", "args": None}, {"action": "dance"},
    {"action": "condensation", "args": {"forgotten_events_start_id": 0, "forgotten_events_end_id": 10**15}}, 3, None,
    {"action": "run", "tool_call_metadata": {"model_response": {"choices": [3, {"message": "x"}], "usage": []}}},
])  # fmt: skip
def test_an_event_of_any_shape_stops_nothing(tmp_path: Path, odd: Any) -> None:
    value = {"id": 9, "timestamp": "", "source": "agent", **odd} if isinstance(odd, dict) else odd
    held = run_of(read(write(tmp_path / "a.json", [user(0, "go"), value, run(1), seen(2, 1), run(3)])))
    assert held.main.steps[-1].replies or held.main.steps[-2].replies[-1].head == CALL


def test_the_sample_forgets_a_range_and_its_plan_leaves_the_prompt(root: Path) -> None:
    held = run_of(read(sample(root)))
    assert (len(held.main.steps), held.status, held.unknown) == (5, "ended", ())
    assert [drop.recorded for drop in held.main.steps[3].drops if drop.what == "plan"] == [True, True]
    assert every_text_is_whole(sample(root)) > 10


def test_the_real_trajectories_give_their_figures(real: Path) -> None:
    figures = {"traj-basic.json": [3486, 4646], "traj-wrong_initial_state.json": [3475, 3616, 3804, 3933]}
    for name, prompts in figures.items():
        held = run_of(read(real / "openhands-v0" / name))
        assert [step.usage.prompt for step in held.main.steps if step.usage] == prompts
        assert (held.status, held.problems, held.model) == ("ended", (), "claude-3-5-sonnet-20241022")
        assert sum(len(step.drops) for step in held.main.steps) == 0


def test_a_half_written_event_of_a_session_that_nobody_writes_is_damage(tmp_path: Path) -> None:
    folder = tmp_path / "session" / "events"
    folder.mkdir(parents=True)
    for index, value in enumerate(SHORT):
        write(folder / f"{index}.json", value)
    torn = folder / f"{len(SHORT)}.json"
    torn.write_text('{"id": 9, "action"')
    os.utime(torn, (1.7e9, 1.7e9))
    reader = read(folder.parent)
    assert reader.draft.notice is None
    assert [problem.where for problem in reader.draft.problems] == [f"event {len(SHORT)}"]


def test_a_session_in_which_nothing_changed_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "session" / "events"
    folder.mkdir(parents=True)
    for index, value in enumerate(SHORT):
        write(folder / f"{index}.json", value)
    reader = read(folder.parent)
    looked: list[str] = []

    def snapshot(path: str) -> SnapshotFile:
        looked.append(path)
        return SnapshotFile(path)

    monkeypatch.setattr(v0, "SnapshotFile", snapshot)
    assert not reader.refresh() and not looked
    write(folder / f"{len(SHORT)}.json", user(9, "more"))
    assert reader.refresh() and looked


@pytest.mark.parametrize("odd", [[], {}, ["run"]])
@pytest.mark.parametrize("name", ["action", "observation"])
def test_what_was_done_and_seen_may_be_of_any_type(tmp_path: Path, odd: object, name: str) -> None:
    other = {"action": "observation", "observation": "action"}[name]
    for source in ("agent", "user"):
        event_ = {"id": 9, "timestamp": "", "source": source, name: odd, other: "dance"}
        draft = read(write(tmp_path / "a.json", [user(0, "go"), event_, run(1), seen(2, 1)])).draft
        assert draft.main.steps[-1].calls[0].outcome == "ok"
