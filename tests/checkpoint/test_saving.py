"""What an author gets from record, save, finish and load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import agentmem
from agentmem.checkpoint.recorder import Recorder, history, load, record
from agentmem.checkpoint.store import ConflictError, MissingError, NewerSchemaError
from agentmem.memory.state import State
from agentmem.model import Drop
from tests.checkpoint.helpers import message, names, some_steps


def test_five_lines_in_a_loop_give_a_checkpoint_and_a_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = agentmem.record("parser", goal="write a parser")
    messages = run.messages or [{"role": "user", "content": "write a parser"}]
    for index in range(3):
        messages.append({"role": "assistant", "content": f"step {index}"})
        run.save(messages, notes="none", usage={"prompt_tokens": 7 + index})
    run.finish("done")
    assert names(tmp_path / "runs") == [".parser.lock", "parser.json", "parser.steps.jsonl"]
    held = json.loads((tmp_path / "runs" / "parser.json").read_bytes())
    assert (held["step"], held["messages"], held["notes"], held["status"]) == (3, messages, "none", "done")
    assert held["usage"] == {"prompt_tokens": 9}, "the end is no step of its own"
    assert held["goal"] == "write a parser" and held["schema"] == "agentmem.checkpoint/1"
    lines = [json.loads(line) for line in (tmp_path / "runs" / "parser.steps.jsonl").read_bytes().splitlines()]
    assert [line["seq"] for line in lines] == [1, 2, 3, 4]
    assert [line["keep"] for line in lines] == [0, 2, 3, 4]
    assert [len(line["add"]) for line in lines] == [2, 1, 1, 0]
    assert "notes" not in lines[1] and "usage" not in lines[3] and lines[3]["status"] == "done"


def test_a_run_goes_on_in_a_new_process_where_it_stopped(tmp_path: Path) -> None:
    some_steps(tmp_path)
    code = (
        "import sys, agentmem\n"
        "run = agentmem.record('parser', folder=sys.argv[1])\n"
        "print(run.step, len(run.messages), run.state['facts']['port'], run.notes)\n"
        "run.save([*run.messages, {'role': 'user', 'content': 'more'}])\n"
    )
    told = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["3", "4", "4", "n4"]
    now = load("parser", tmp_path)
    assert (now.step, len(now.messages), now.notes) == (4, 5, "n4")
    assert now.state == {"goal": "parse", "facts": {"port": "4"}}
    lines = (tmp_path / "parser.steps.jsonl").read_bytes().splitlines()
    assert json.loads(lines[3])["keep"] == 4, "what stood before is not written again"


def test_resume_false_begins_anew_and_keeps_the_old_steps_in_the_ledger(tmp_path: Path) -> None:
    some_steps(tmp_path)
    run = record("parser", folder=tmp_path, resume=False, goal="another")
    assert (run.step, run.messages, run.state) == (0, [], None)
    run.save([message(0, "new")])
    now = load("parser", tmp_path)
    assert (now.step, now.goal, now.notes, now.state) == (1, "another", None, None)
    assert [version.step for version in history("parser", tmp_path)] == [1, 2, 3, 1]


def test_what_is_not_given_is_unknown_and_what_was_given_stays(tmp_path: Path) -> None:
    run = record("r", folder=tmp_path)
    run.save([message(0)])
    first = load("r", tmp_path)
    assert (first.notes, first.state, first.model, first.window, first.usage, first.goal) == (None,) * 6
    run.save([message(0), message(1)], model="m", window=1000, system="be brief", tools=[{"name": "t"}], goal="g")
    run.save([message(0), message(1), message(2)], usage={"prompt_tokens": 7})
    last = load("r", tmp_path)
    assert (last.model, last.window, last.system, last.goal) == ("m", 1000, "be brief", "g")
    assert last.tools == [{"name": "t"}]
    assert [version.usage for version in history("r", tmp_path)] == [None, None, {"prompt_tokens": 7}]
    third = json.loads((tmp_path / "r.steps.jsonl").read_bytes().splitlines()[2])
    assert not {"model", "window", "system", "tools", "goal", "state"} & set(third)


def test_steps_are_the_authors_where_he_counts_and_the_newest_is_the_highest_save(tmp_path: Path) -> None:
    run = record("r", folder=tmp_path)
    assert [run.save([message(i)], step=number) for i, number in enumerate((10, 20, None, 5))] == [10, 20, 21, 5]
    assert load("r", tmp_path).step == 5


def test_a_clock_that_goes_back_changes_nothing(tmp_path: Path) -> None:
    times = iter((10_000.0, 6_400.0))
    run = record("r", folder=tmp_path, clock=lambda: next(times))
    run.save([message(0)])
    run.save([message(1)])
    now = load("r", tmp_path)
    assert (now.seq, now.at, now.messages) == (2, 6_400.0, [message(1)])


def test_a_strangers_plain_file_is_loaded_gone_on_from_and_its_keys_kept(tmp_path: Path) -> None:
    plain = {"step": 7, "messages": [message(0)], "notes": ["a"], "mine": {"x": [1, 2.5]}, "status": {"odd": True}}
    (tmp_path / "r.json").write_text(json.dumps(plain, indent=2))
    found = load(tmp_path / "r.json")
    assert (found.step, found.messages, found.notes, found.seq, found.status) == (7, [message(0)], ["a"], None, None)
    run = record("r", folder=tmp_path)
    run.save([*run.messages, message(1)])
    held = json.loads((tmp_path / "r.json").read_bytes())
    assert (held["step"], held["notes"], held["mine"]) == (8, ["a"], {"x": [1, 2.5]})
    assert record("r", folder=tmp_path).save([message(0)]) == 9
    assert json.loads((tmp_path / "r.json").read_bytes())["mine"] == {"x": [1, 2.5]}


def test_a_newer_schema_is_refused_and_untouched(tmp_path: Path) -> None:
    for text in ('{"schema":"agentmem.checkpoint/2","step":1,"messages":[]}', '{"schema_version":9,"messages":[]}'):
        (tmp_path / "r.json").write_text(text)
        for call in (lambda: load("r", tmp_path), lambda: record("r", folder=tmp_path)):
            with pytest.raises(NewerSchemaError, match=r"r\.json.*(checkpoint/2|version 9)"):
                call()
        assert (tmp_path / "r.json").read_text() == text and names(tmp_path) == ["r.json"]


def test_a_run_that_is_not_there_is_said_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"nothing\.json: there is no such checkpoint"):
        load("nothing", tmp_path)
    with pytest.raises(FileNotFoundError):
        list(history("nothing", tmp_path))
    assert names(tmp_path) == []


def test_the_one_who_saves_second_gets_a_conflict_and_nothing_is_torn(tmp_path: Path) -> None:
    one, two = record("r", folder=tmp_path), record("r", folder=tmp_path)
    one.save([message(0)])
    before = (tmp_path / "r.json").read_bytes(), (tmp_path / "r.steps.jsonl").read_bytes()
    with pytest.raises(ConflictError, match=r"r\.json: was saved by another"):
        two.save([message(1)])
    assert before == ((tmp_path / "r.json").read_bytes(), (tmp_path / "r.steps.jsonl").read_bytes())
    one.save([message(0), message(1)])
    again = record("r", folder=tmp_path)
    again.save([*again.messages, message(2)])
    assert [version.step for version in history("r", tmp_path)] == [1, 2, 3]


def test_many_processes_that_save_one_run_lose_no_acknowledged_step(tmp_path: Path) -> None:
    code = (
        "import sys, agentmem\n"
        "from agentmem.checkpoint.store import ConflictError\n"
        "done = 0\n"
        "while done < 15:\n"
        "    try:\n"
        "        run = agentmem.record('r', folder=sys.argv[1])\n"
        "        run.save([*run.messages, {'role': 'user', 'content': sys.argv[2] + str(done)}])\n"
        "        done += 1\n"
        "    except ConflictError:\n"
        "        pass\n"
    )
    many = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in "abc"]
    assert [one.wait() for one in many] == [0, 0, 0]
    said = [held["content"] for held in load("r", tmp_path).messages]
    assert sorted(said) == sorted(f"{name}{index}" for name in "abc" for index in range(15))
    assert [version.seq for version in history("r", tmp_path)] == list(range(1, 46))


def test_a_killed_holder_leaves_the_lock_free(tmp_path: Path) -> None:
    some_steps(tmp_path)
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom agentmem.checkpoint.durable import locked\n"
        "with locked(Path(sys.argv[1]) / '.parser.lock', 'x'):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert some_steps(tmp_path, 1).step == 4


def test_a_lock_that_is_held_too_long_is_a_conflict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from agentmem.checkpoint import durable

    run = some_steps(tmp_path)
    monkeypatch.setattr(durable, "LOCK_SECONDS", 0.02)
    with durable.locked(tmp_path / ".parser.lock", "x"), pytest.raises(ConflictError, match="another process"):
        run.save([message(0)])
    assert run.save([message(0)]) == 4


def test_the_context_manager_says_how_the_run_ended(tmp_path: Path) -> None:
    with record("good", folder=tmp_path) as run:
        run.save([message(0)])
    assert load("good", tmp_path).status == "done" and load("good", tmp_path).finished
    with pytest.raises(RuntimeError), record("bad", folder=tmp_path) as run:
        run.save([message(0)])
        raise RuntimeError("broken")
    assert load("bad", tmp_path).status == "failed: RuntimeError"
    with pytest.raises(ValueError, match="finished"):
        run.save([message(0)])


def test_a_finished_run_that_goes_on_is_live_again(tmp_path: Path) -> None:
    some_steps(tmp_path).finish("gave up")
    run = record("parser", folder=tmp_path)
    assert run.resumed is not None and run.resumed.status == "gave up"
    run.save([*run.messages, message(9)])
    assert [version.status for version in history("parser", tmp_path)][-2:] == ["gave up", "live"]
    assert load("parser", tmp_path).status == "live"


def test_a_state_object_and_a_drop_are_written_as_they_say_themselves(tmp_path: Path) -> None:
    state = State(goal="ship", plan=["a", "b"])
    state.verify("port", "5432", by="test", step=1)
    drop = Drop("main", 2, 2, "field", "port", "fact", "5432", 3, "trimmed", True, 1)
    record("r", folder=tmp_path).save([message(0)], state=state, drops=[drop, {"name": "x", "why": None}])
    line = json.loads((tmp_path / "r.steps.jsonl").read_bytes())
    assert line["state"]["set"]["facts.port"] == "5432"
    assert line["state"]["verified"] == {"facts.port": {"by": "test", "step": 1}}
    assert line["drops"][0]["name"] == "port" and line["drops"][0]["cause"] == "trimmed"
    assert line["drops"][1] == {"name": "x"}
    assert load("r", tmp_path).state == state.to_dict()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"state": 3}, "state: int is neither"),
        ({"step": "4"}, "step: expected int, not str"),
        ({"step": True}, "step: expected int, not bool"),
        ({"model": 3}, "model: expected str"),
        ({"drops": "all"}, "drops: expected a list"),
        ({"window": 1.5}, "window: expected int"),
        ({"usage": b"x"}, "usage: bytes is neither"),
    ],
)
def test_a_wrong_argument_is_named_and_nothing_is_saved(tmp_path: Path, given: dict[str, Any], says: str) -> None:
    run = some_steps(tmp_path)
    before = (tmp_path / "parser.json").read_bytes()
    with pytest.raises(TypeError, match=says):
        run.save([message(0)], **given)
    assert (tmp_path / "parser.json").read_bytes() == before
    assert run.save([message(0)]) == 4


def test_changes_to_messages_after_a_save_do_not_reach_what_was_saved(tmp_path: Path) -> None:
    run = record("r", folder=tmp_path)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "a", "n": 1}, message(1)]
    run.save(messages)
    run.save(messages)
    messages[0]["n"] = True  # equal to 1, and written differently
    run.save(messages)
    messages[1]["content"] = "changed"
    run.save(messages)
    run.finish()
    kept = [json.dumps(version.messages) for version in history("r", tmp_path)]
    assert [text.count('"n": 1') for text in kept] == [1, 1, 0, 0, 0]
    assert [text.count("true") for text in kept] == [0, 0, 1, 1, 1]
    assert [text.count("changed") for text in kept] == [0, 0, 0, 1, 1]


def test_update_gives_state_and_notes_to_the_next_save(tmp_path: Path) -> None:
    run = record("r", folder=tmp_path)
    run.update(state={"a": 1}, notes="later")
    run.save([message(0)])
    run.save([message(0)])
    assert (load("r", tmp_path).state, load("r", tmp_path).notes, run.state) == ({"a": 1}, "later", {"a": 1})


def test_a_ledger_that_was_deleted_begins_again_with_a_whole_line(tmp_path: Path) -> None:
    run = some_steps(tmp_path)
    os.unlink(tmp_path / "parser.steps.jsonl")
    run.save([*run.messages, message(9)], prompt=[message(0)])
    run.save([*run.messages, message(10)], prompt=[message(0), message(1)])
    found = list(history("parser", tmp_path))
    assert [version.seq for version in found] == [4, 5]
    assert found[0].state == {"goal": "parse", "facts": {"port": "4"}} and found[0].notes == "n4"
    assert [len(version.messages) for version in found] == [5, 6]
    assert found[1].prompt == [message(0), message(1)]


def test_both_files_deleted_beside_a_live_run_come_back_whole(tmp_path: Path) -> None:
    run = some_steps(tmp_path)
    for name in names(tmp_path):
        os.unlink(tmp_path / name)
    run.save([*run.messages, message(9)])
    assert len(load("parser", tmp_path).messages) == 5
    assert record("parser", folder=tmp_path).step == 4


def test_a_save_broken_off_by_an_interrupt_is_read_back_from_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in range(1, 8):
        run = some_steps(tmp_path, run_id=f"r{at}")
        calls = _interrupt_at(at, monkeypatch)
        try:
            run.save([*run.messages, message(9)])
            interrupted = False
        except KeyboardInterrupt:
            interrupted = True
        monkeypatch.undo()
        run.save([message(0), message(8)], state={"x": 1})
        assert load(f"r{at}", tmp_path).messages == [message(0), message(8)], calls
        seqs = [version.seq for version in history(f"r{at}", tmp_path)]
        assert seqs == list(range(1, len(seqs) + 1)) and len(seqs) in (4, 5)
        if not interrupted:
            break
    else:
        pytest.fail("the save made more system calls than were tried")


def _interrupt_at(number: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    calls: list[str] = []

    def broken(name: str, real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            calls.append(name)
            result = real(*args, **kwargs)
            if len(calls) == number:
                raise KeyboardInterrupt
            return result

        return call

    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, broken(name, getattr(os, name)))
    return calls


def test_the_recorder_can_be_used_from_many_threads(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    run: Recorder = record("r", folder=tmp_path)
    with ThreadPoolExecutor(4) as pool:
        steps = list(pool.map(lambda index: run.save([message(index)]), range(20)))
    assert sorted(steps) == list(range(1, 21))
    assert [version.seq for version in history("r", tmp_path)] == list(range(1, 21))


def test_a_goal_that_was_given_anew_outlives_a_save_that_is_broken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some_steps(tmp_path, goal="the old one")
    run = record("parser", folder=tmp_path, goal="the new one")
    _interrupt_at(1, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        run.save([message(0)])
    monkeypatch.undo()
    run.save([message(0)])
    assert load("parser", tmp_path).goal == "the new one"


def test_the_error_of_the_loop_is_not_hidden_by_a_state_that_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(KeyError) as told, record("parser", folder=tmp_path) as run:
        run.update(state={"share": float("nan")})
        raise KeyError("mine")
    assert any("was not saved: state.share: nan" in note for note in told.value.__notes__)


def test_what_the_loop_does_with_its_messages_does_not_change_the_version_it_went_on_from(tmp_path: Path) -> None:
    some_steps(tmp_path)
    run = record("parser", folder=tmp_path)
    run.messages.append(message(9))
    assert run.resumed is not None and run.resumed.messages == load("parser", tmp_path).messages
