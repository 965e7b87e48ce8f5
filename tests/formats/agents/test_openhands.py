"""Conversations of the OpenHands SDK: the view folded from events, one file an event; lines; logs of completions."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from agentmem.formats import NotYet, Options, Unreadable
from agentmem.formats.agents.openhands.completions import FORMAT as LOGS
from agentmem.formats.agents.openhands.conversation import FORMAT
from agentmem.inspect.open import open_run
from tests.formats.agents.following import cuts, every_text_is_whole, grow, heads, picture, read, reader_of, run_of

Event = dict[str, Any]


def event(kind: str, ident: str, source: str = "agent", **more: Any) -> Event:
    return {"id": ident, "timestamp": "2026-04-01T08:00:00.000", "source": source, **more, "kind": kind}


def user(ident: str, text: str, **more: Any) -> Event:
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return event("MessageEvent", ident, "user", llm_message=message, **more)


def act(ident: str, response: str, call: str = "", **more: Any) -> Event:
    named = {"id": call or ident, "name": "terminal", "arguments": '{"command": "ls"}'}
    return event("ActionEvent", ident, thought=[], tool_name="terminal", tool_call_id=call or ident, tool_call=named,
                 llm_response_id=response, **more)  # fmt: skip


def seen(ident: str, call: str, text: str = "x", code: int | None = 0, **more: Any) -> Event:
    body = {"content": [{"type": "text", "text": text}], "is_error": False, "exit_code": code, **more}
    return event("ObservationEvent", ident, "environment", tool_name="terminal", tool_call_id=call, observation=body)


def forget(ident: str, gone: list[str], summary: str | None = "sum", offset: int | None = 1) -> Event:
    return event("Condensation", ident, "environment", forgotten_event_ids=gone, summary=summary, summary_offset=offset)


def lines(path: Path, events: list[Event]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in events))
    return path


def put(folder: Path, index: int, value: Event | str) -> Path:
    (folder / "events").mkdir(parents=True, exist_ok=True)
    path = folder / "events" / f"event-{index:05d}-x.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def sample(root: Path) -> Path:
    return next((root / "sample_runs" / "openhands").glob("4*"))


CALL = 'terminal {"command":"ls"}'
SHORT = [user("u", "go"), act("a", "r1"), seen("o", "a"), act("b", "r2"), seen("p", "b", "y", 1)]


def test_a_condensation_takes_out_what_it_names_and_puts_its_summary_in_place(tmp_path: Path) -> None:
    lane = read(lines(tmp_path / "a.jsonl", [*SHORT, forget("c", ["o", "a"]), act("d", "r3")])).draft.main
    assert heads(lane, 3) == ["go", "sum", CALL, "y"]
    boundary = lane.steps[2].boundary
    assert boundary is not None and boundary.why.endswith("2 events forgotten")
    assert [call.outcome for step in lane.steps for call in step.calls] == ["ok", "error", "unknown"]


def test_a_later_condensation_forgets_the_summary_of_an_earlier_one(tmp_path: Path) -> None:
    events = [*SHORT, forget("c", ["a", "o"]), act("d", "r3"), seen("q", "d"),
              forget("e", ["c-summary", "b", "p"], "second"), act("f", "r4")]  # fmt: skip
    assert heads(read(lines(tmp_path / "a.jsonl", events)).draft.main, 4) == ["go", "second", CALL, "x"]


def test_a_result_whose_call_is_forgotten_is_not_sent_either(tmp_path: Path) -> None:
    events = [*SHORT, forget("c", ["a"], None, None), act("d", "r3")]
    assert heads(read(lines(tmp_path / "a.jsonl", events)).draft.main, 3) == ["go", CALL, "y"]


def test_a_call_without_a_result_is_not_sent(tmp_path: Path) -> None:
    events = [user("u", "go"), act("a", "r1"), user("v", "stop, do this"), act("b", "r2")]
    assert heads(read(lines(tmp_path / "a.jsonl", events)).draft.main, 2) == ["go", "stop, do this"]


def test_a_result_without_its_call_is_told_and_not_sent(tmp_path: Path) -> None:
    draft = read(lines(tmp_path / "a.jsonl", [user("u", "go"), seen("o", "lost"), act("a", "r1")])).draft
    assert heads(draft.main, 1) == ["go"]
    assert draft.problems[0].where == "line 2"


def test_calls_of_one_response_are_one_step(tmp_path: Path) -> None:
    events = [user("u", "go"), act("a", "r1"), act("b", "r1"), seen("o", "a"), seen("p", "b", "y"), act("c", "r2")]
    lane = read(lines(tmp_path / "a.jsonl", events)).draft.main
    assert [len(step.calls) for step in lane.steps] == [2, 1]
    assert heads(lane, 2) == ["go", CALL, CALL, "x", "y"]


def test_an_event_with_an_older_parent_begins_a_branch(tmp_path: Path) -> None:
    events = [user("u", "go"), act("a", "r1", parent_id="u"), {**seen("o", "a"), "parent_id": "a"},
              user("v", "other way", parent_id="u"), act("b", "r2", parent_id="v")]  # fmt: skip
    draft = read(lines(tmp_path / "a.jsonl", events)).draft
    branch = draft.lanes["v"]
    assert (branch.kind, heads(branch, 1)) == ("branch", ["go", "other way"])


def test_usage_is_what_the_accumulated_total_grew_by(tmp_path: Path) -> None:
    def stats(ident: str, prompt: int, output: int, turn: int) -> Event:
        total = {"prompt_tokens": prompt, "completion_tokens": output, "per_turn_token": turn}
        value = {"usage_to_metrics": {"default": {"accumulated_token_usage": total}, "condenser": {}}}
        return event("ConversationStateUpdateEvent", ident, "environment", key="stats", value=value)

    events = [user("u", "go"), stats("s", 500, 20, 520), act("a", "r1"), seen("o", "a"), stats("t", 1200, 50, 730),
              act("b", "r2"), stats("w", 1200, 50, 730), seen("p", "b"), act("c", "r3")]  # fmt: skip
    lane = read(lines(tmp_path / "a.jsonl", events)).draft.main
    assert [step.usage and step.usage.prompt for step in lane.steps] == [500, 700, None]


def test_event_files_come_one_by_one_and_the_newest_may_be_half_written(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    put(folder, 0, SHORT[0])
    reader = reader_of(folder)
    reader.refresh()
    put(folder, 1, json.dumps(SHORT[1])[:40])
    reader.refresh()
    assert (len(reader.draft.main.steps), reader.draft.notice) == (0, "being written")
    put(folder, 1, SHORT[1])
    assert reader.refresh()
    assert (len(reader.draft.main.steps), reader.draft.notice, reader.draft.problems) == (1, None, [])


def test_a_gap_in_the_numbers_is_a_lost_event_until_it_comes(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for index in (0, 1, 3):
        put(folder, index, SHORT[index])
    reader = read(folder)
    assert [problem.where for problem in reader.draft.problems] == ["event 2"]
    put(folder, 2, SHORT[2])
    reader.refresh()
    assert (reader.draft.problems, heads(reader.draft.main, 2)) == ([], ["go", CALL, "x"])


def test_a_history_that_lost_its_end_is_read_again_and_says_so(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(sample(root), folder)
    reader = read(folder)
    for path in sorted((folder / "events").iterdir())[20:]:
        path.unlink()
    assert reader.refresh()
    assert reader.draft.notice == "history rewritten, read again"
    assert len(reader.draft.main.steps) == 9


def test_read_as_it_grows_a_folder_is_the_same_as_read_whole(root: Path, tmp_path: Path) -> None:
    folder, chance = tmp_path / sample(root).name, random.Random(3)
    (folder / "events").mkdir(parents=True)
    reader = None
    for path in sorted((sample(root) / "events").iterdir()):
        data = path.read_bytes()
        place = folder / "events" / path.name
        place.write_bytes(data[: chance.randrange(len(data))])
        if reader is None:
            reader = reader_of(folder)
        for whole in (False, True):
            if whole:
                place.write_bytes(data)
            try:
                reader.refresh()
            except NotYet:
                assert not whole
    for name in ("base_state.json", "TASKS.json"):
        shutil.copy(sample(root) / name, folder)
    assert reader is not None
    reader.refresh()
    expected, got = picture(read(sample(root)).draft), picture(reader.draft)
    assert got["lanes"]["main"]["steps"] == expected["lanes"]["main"]["steps"]
    assert got == expected


def test_lines_as_they_grow_and_cut_anywhere(root: Path, tmp_path: Path) -> None:
    events = [json.loads(path.read_bytes()) for path in sorted((sample(root) / "events").iterdir())]
    data = lines(tmp_path / "whole.jsonl", events).read_bytes()
    for seed in range(3):
        grown = picture(grow(tmp_path / "part.jsonl", data, seed).draft)
        assert grown["lanes"] == picture(read(tmp_path / "whole.jsonl").draft)["lanes"]
    for place, draft in cuts(tmp_path / "cut.jsonl", data, 200):
        if data[:place].count(b"\n"):
            assert not isinstance(draft, str), draft
            assert sum(n for kind, n in draft.counts.items() if kind[0] != "?") >= data[:place].count(b"\n")


def test_the_sample_keeps_its_plan_and_sends_it_to_nobody(root: Path) -> None:
    run = run_of(read(sample(root)))
    steps = run.main.steps
    assert (run.status, run.window, run.model, run.unknown) == ("ended", 64_000, "kiln-1", ())
    assert [(step.n, step.boundary.why) for step in steps if step.boundary] == [
        (9, "condensation event 18: 12 events forgotten"), (13, "condensation event 27: 11 events forgotten"),
    ]  # fmt: skip
    assert {field.segment for field in steps[8].fields} == {None}
    assert all(drop.recorded for step in steps for drop in step.drops)
    assert [step.usage is not None for step in steps] == [True] * 13
    assert every_text_is_whole(sample(root)) > 30


@pytest.mark.parametrize("odd", [
    {"kind": "ActionEvent"}, {"kind": "ObservationEvent", "tool_call_id": 3}, {"kind": "Condensation"}, {"kind": 7}, {},
    {"kind": "MessageEvent", "llm_message": "text"}, {"kind": "SystemPromptEvent", "tools": 3}, {"kind": "NewEvent"},
    {"kind": "ConversationStateUpdateEvent", "key": "stats", "value": {"usage_to_metrics": {"default": {"a": 1}}}},
    {"kind": "ConversationStateUpdateEvent", "key": "full_state", "value": {"agent": [], "stats": 3}},
])  # fmt: skip
def test_an_event_of_any_shape_stops_nothing(tmp_path: Path, odd: Event) -> None:
    events = [user("u", "go"), odd, act("a", "r1"), seen("o", "a"), act("b", "r2")]
    run = run_of(read(lines(tmp_path / "a.jsonl", events)))
    assert [reply.head for step in run.main.steps for reply in step.replies].count(CALL) == 2


def test_logs_of_completions_are_exact_and_a_folder_of_them_is_one_run(tmp_path: Path) -> None:
    folder = tmp_path / "completions"
    folder.mkdir()
    sent = [{"role": "system", "content": "be exact"}, {"role": "user", "content": "go"}]
    call = {"id": "c", "type": "function", "function": {"name": "terminal", "arguments": '{"command":"ls"}'}}
    reply = {"role": "assistant", "content": "look", "tool_calls": [call]}
    second = [*sent, reply, {"role": "tool", "tool_call_id": "c", "content": "x"}]
    for at, messages, prompt in ((10, sent, 50), (20, second, 80)):
        answer = {"model": "m", "choices": [{"message": reply}], "usage": {"prompt_tokens": prompt}}
        log = {"messages": messages, "tools": [{"name": "terminal"}], "context_window": 9000, "response": answer,
               "timestamp": 1_757_000_000 + at, "latency_sec": 1.0}  # fmt: skip
        (folder / f"m-{1_757_000_000 + at}.5.json").write_text(json.dumps(log))
    draft = read(folder).draft
    assert (draft.provenance, draft.window, draft.unknown) == ("exact", 9000, ())
    assert heads(draft.main, 2)[1:] == ["be exact", "go", "look", CALL, "x"]
    assert [step.usage and step.usage.prompt for step in draft.main.steps] == [50, 80]
    assert draft.main.steps[0].calls[0].outcome == "ok"
    assert every_text_is_whole(folder) == 10


def test_conversations_of_a_folder_are_found_by_their_workspace(root: Path, home: Path) -> None:
    place = home / ".openhands" / "conversations" / "4f9a"
    shutil.copytree(sample(root), place)
    state = json.loads((place / "base_state.json").read_text())
    (place / "base_state.json").write_text(json.dumps(state))
    assert FORMAT.places is not None and FORMAT.peek is not None
    assert list(FORMAT.places(Path("/srv/kiln"))) == [place]
    assert list(FORMAT.places(Path("/srv/mill"))) == []
    info = FORMAT.peek(place)
    assert (info.status, info.model) == ("ended", "kiln-1")
    assert info.goal is not None and info.goal.startswith("Make the kiln stop")


def test_the_real_conversation_forgets_ten_nine_and_nine_events(real: Path) -> None:
    folder = real / "openhands-sdk" / "gen-conversation-3condensations"
    source = open_run(str(folder))
    lane = source.run.main
    assert len(lane.steps) == 17
    found = [(step.n, step.boundary.why.split(": ")[1]) for step in lane.steps if step.boundary]
    assert found == [(8, "10 events forgotten"), (12, "9 events forgotten"), (16, "9 events forgotten")]
    tape = read(folder).draft.main.tape
    for n, count in ((8, 10), (12, 9), (16, 9)):
        gone = [ident for edit in tape.edits(n) for ident in edit.gone]
        assert len({tape.segment(ident).where.source for ident in gone}) == count  # type: ignore[union-attr]  # all stand in files
    assert [item.done for item in lane.steps[-1].fields] == [True, True, False]
    assert [attempt.outcome for step in lane.steps for attempt in step.attempts].count("error") == 7
    assert all(drop.recorded for step in lane.steps for drop in step.drops)


def test_the_real_lines_give_their_usage_and_say_what_is_missing(real: Path) -> None:
    run = run_of(read(real / "openhands-sdk" / "goal-fixture-events.jsonl"))
    reported = [step.usage.prompt for step in run.main.steps if step.usage]
    assert reported == [35_299, 35_984]
    assert run.goal is None and run.problems[0].where == "line 7"


def test_the_real_log_of_a_completion_is_exact(real: Path) -> None:
    path = next((real / "openhands-sdk").glob("completions-*.json"))
    run = run_of(read(path))
    assert (run.provenance, run.window) == ("exact", 200_000)
    first = run.main.steps[0]
    assert (first.usage.prompt if first.usage else None, len(first.prompt)) == (6485, 14)
    assert every_text_is_whole(path) == 16


def test_a_conversation_that_was_begun_anew_in_the_same_folder_is_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for index, one in enumerate(SHORT):
        put(folder, index, one)
    reader = read(folder)
    shutil.rmtree(folder / "events")
    for index, one in enumerate([user("other", "else"), *SHORT[1:], act("z", "r9")]):
        put(folder, index, one).rename(folder / "events" / f"event-{index:05d}-new.json")
    assert reader.refresh() and reader.draft.notice == "history rewritten, read again"
    assert heads(reader.draft.main, 1) == ["else"] and len(reader.draft.main.steps) == 3


def test_a_half_written_event_that_nobody_writes_is_damage(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for index, one in enumerate(SHORT[:3]):
        put(folder, index, one)
    torn = put(folder, 3, json.dumps(SHORT[3])[:40])
    os.utime(torn, (1.7e9, 1.7e9))
    reader = read(folder)
    assert reader.draft.notice is None and not reader.refresh()
    assert [problem.where for problem in reader.draft.problems] == [torn.name]
    put(folder, 3, SHORT[3])
    assert reader.refresh() and not reader.draft.problems and len(reader.draft.main.steps) == 2


def test_a_damaged_first_line_hides_no_conversation(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", SHORT)
    path.write_text('{"id": "u", "kind": \n' + path.read_text())
    draft = read(path).draft
    assert len(draft.main.steps) == 2 and [problem.where for problem in draft.problems] == ["line 1"]


@pytest.mark.parametrize("odd", ["{}", "[]", '{"messages": 7}'])
def test_a_log_without_a_request_hides_no_other_log(tmp_path: Path, odd: str) -> None:
    log = {"messages": [{"role": "user", "content": "go"}], "response": {}, "latency_sec": 1.0}
    for number in range(3):
        (tmp_path / f"m-{1_757_000_000 + number}.5.json").write_text(json.dumps(log) if number != 1 else odd)
    reader = read(tmp_path)
    assert len(reader.draft.main.steps) == 2 and not reader.refresh()
    assert [(one.where, one.what) for one in reader.draft.problems] == [("m-1757000001.5.json", "no request in it")]
    with pytest.raises(Unreadable, match="no request in it"):
        LOGS.open(tmp_path / "m-1757000001.5.json", Options()).refresh()


def test_logs_whose_folder_goes_stay_shown_and_go_on_when_it_comes_again(tmp_path: Path) -> None:
    folder, log = tmp_path / "logs", {"messages": [{"role": "user", "content": "go"}], "response": {}, "latency_sec": 1}
    folder.mkdir()
    (folder / "m-1757000000.5.json").write_text(json.dumps(log))
    reader = read(folder)
    shutil.rmtree(folder)
    assert (reader.refresh(), reader.draft.notice, reader.refresh()) == (True, "file gone", False)
    folder.mkdir()
    for second in (0, 1):
        (folder / f"m-175700000{second}.5.json").write_text(json.dumps(log))
    assert reader.refresh() and reader.draft.notice is None and len(reader.draft.main.steps) == 2


def test_a_folder_that_may_not_be_read_is_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "events").mkdir()

    def refused(path: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    for name in ("scandir", "listdir"):
        monkeypatch.setattr(os, name, refused)
    assert not LOGS.recognise(tmp_path, b"") and not FORMAT.recognise(tmp_path, b"")
