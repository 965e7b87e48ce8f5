"""What our own writer writes is read back step by step, and followed as it grows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agentmem.checkpoint.recorder import load, record
from agentmem.checkpoint.store import DamagedError
from agentmem.formats import Options, recognise
from agentmem.formats.plain.own import OwnReader
from agentmem.memory.state import State
from tests.formats.agents.following import opened, read
from tests.formats.helpers import call, heads, result, said, user


def reader(folder: Path, run: str = "a") -> OwnReader:
    path = folder / f"{run}.json"
    known = recognise(path)
    assert known is not None and known.name == "agentmem"
    found = known.open(path, Options())
    found.refresh()
    assert isinstance(found, OwnReader)
    return found


def test_a_run_of_messages_is_reconstructed_step_by_step(tmp_path: Path) -> None:
    messages: list[dict[str, Any]] = [user("fix it")]
    with record("a", goal="fix it", folder=tmp_path) as run:
        for number in range(1, 5):
            messages += [call(f"c{number}", n=number), result(f"c{number}", f"out {number}")]
            run.save(messages, model="m-1", window=1000)
    draft = reader(tmp_path).draft
    assert [step.own for step in draft.main.steps] == [1, 2, 3, 4]
    assert heads(draft.main, 2) == ["fix it", 'read {"n":1}', "out 1"]
    assert (draft.provenance, draft.window, draft.model, draft.finished, draft.goal_declared) == (
        "reconstructed", 1000, "m-1", True, True,
    )  # fmt: skip


def test_an_exact_prompt_is_the_prompt_and_what_it_does_not_hold_is_held_only(tmp_path: Path) -> None:
    run = record("a", goal="g", folder=tmp_path)
    state = State("find the leak", ["look", "mend"])
    state.verify("host", "db1.local", by="dig", step=1)
    messages: list[dict[str, Any]] = [user("start")]
    for number in (1, 2):
        prompt = [*messages[-3:], user(state.render())]
        messages += [call(f"c{number}"), result(f"c{number}", "ok")]
        run.save(messages, state=state, prompt=prompt, system="You look.", tools=[{"name": "read"}])
    draft = reader(tmp_path).draft
    assert draft.provenance == "exact" and draft.unknown == ()
    first = list(draft.main.tape.view(1, None, "exact"))
    assert [segment.kind for segment in first[:2]] == ["system", "tools"]
    assert [segment.field for segment in first if segment.kind == "fact"] == ["facts.host"]
    assert [len(step.calls) for step in draft.main.steps] == [1, 1]
    held = {field.name: field for field in draft.main.steps[0].fields}
    assert (held["facts.host"].verified_by, held["facts.host"].verified_at) == ("dig", 1)
    assert held["facts.host"].segment is not None


def test_messages_trimmed_between_saves_do_not_answer_or_ask_again(tmp_path: Path) -> None:
    run = record("a", folder=tmp_path)
    messages: list[dict[str, Any]] = [user("go")]
    for number in range(1, 8):
        if number == 5:
            messages = [messages[0], *messages[5:]]
        prompt = list(messages)
        messages += [call(f"c{number}"), result(f"c{number}", f"out {number}")]
        run.save(messages, prompt=prompt)
    steps = reader(tmp_path).draft.main.steps
    assert [[c.call_id for c in step.calls] for step in steps] == [[f"c{n}"] for n in range(1, 8)]
    assert all(step.calls[0].outcome == "ok" for step in steps)


def test_a_field_that_save_finds_missing_is_no_record_and_a_declared_one_is(tmp_path: Path) -> None:
    run = record("a", folder=tmp_path)
    run.save([user("x"), said("a")], state={"facts": {"port": "8443", "host": "db1"}})
    run.save([user("x"), said("a"), said("b")], state={"facts": {"host": "db1"}})
    run.save([user("x"), said("a"), said("b"), said("c")], state={}, drops=[{"name": "facts.host", "cause": "trimmed"}])
    steps = reader(tmp_path).draft.main.steps
    assert [field.name for field in steps[1].fields] == ["facts.host"]
    assert [declared.name for declared in steps[1].declared] == []
    assert [(declared.name, declared.cause) for declared in steps[2].declared] == [("facts.host", "trimmed")]


def test_following_while_it_grows_is_the_same_as_reading_at_the_end(tmp_path: Path) -> None:
    run = record("a", goal="g", folder=tmp_path)
    messages: list[dict[str, Any]] = [user("go")]
    followed: OwnReader | None = None
    for number in range(1, 12):
        messages += [call(f"c{number}"), result(f"c{number}", f"out {number}")]
        if number % 4 == 0:
            messages = [messages[0], *messages[-3:]]
        run.save(messages, state={"n": number})
        followed = followed or reader(tmp_path)
        followed.refresh()
    run.finish("done")
    assert followed is not None and followed.refresh()
    fresh = reader(tmp_path)
    for n in range(1, 12):
        assert heads(followed.draft.main, n) == heads(fresh.draft.main, n)
        assert followed.draft.main.tape.left(n) == fresh.draft.main.tape.left(n)
    assert followed.draft.finished and fresh.draft.finished


def test_a_damaged_line_is_a_problem_and_the_others_are_shown(tmp_path: Path) -> None:
    run = record("a", folder=tmp_path)
    messages: list[dict[str, Any]] = [user("go")]
    for number in range(1, 4):
        messages = [*messages, said(f"answer {number}")]
        run.save(messages)
    ledger = tmp_path / "a.steps.jsonl"
    lines = ledger.read_bytes().split(b"\n")
    lines[1] = lines[1].replace(b"answer 2", b"answer 9")
    ledger.write_bytes(b"\n".join(lines))
    draft = reader(tmp_path).draft
    assert draft.problems[0].where == "line 2"
    assert "checksum" in draft.problems[0].what
    assert [step.own for step in draft.main.steps] == [1, 3]
    assert draft.main.steps[-1].gap == 1


def test_states_alone_are_steps_of_one_segment_a_field(tmp_path: Path) -> None:
    run = record("a", folder=tmp_path)
    for state in ({"abone": "A001", "sonuc": 1}, {"sonuc": 2}):
        run.save([], state=state)
    draft = reader(tmp_path).draft
    assert draft.synthetic and heads(draft.main, 2) == ["sonuc: 2"]


def test_attempts_that_the_author_gives_stand_for_calls_that_messages_do_not_hold(tmp_path: Path) -> None:
    run = record("a", folder=tmp_path)
    given = {"tool": "ls", "arguments": {"path": "."}, "error": "no such file"}
    run.save([user("x"), said("I look")], attempts=[given])
    (attempt,) = reader(tmp_path).draft.main.steps[0].calls
    assert (attempt.tool, attempt.arguments, attempt.outcome) == ("ls", '{"path":"."}', "error")


def saved(folder: Path, steps: int = 5) -> Path:
    """The ledger of a run of so many saves."""
    messages: list[dict[str, Any]] = [user("fix it")]
    with record("a", goal="fix it", folder=folder) as run:
        for number in range(1, steps + 1):
            messages += [call(f"c{number}", n=number), result(f"c{number}", f"out {number}")]
            run.save(messages, state={"goal": "fix it", "port": 8000 + number})
    return folder / "a.steps.jsonl"


def after(ledger: Path, lines: list[bytes], tail: bytes = b"") -> tuple[list[int | None], list[str]]:
    """(own numbers of the steps, what is wrong) with these lines in the ledger, written long ago."""
    ledger.write_bytes(b"".join(line + b"\n" for line in lines) + tail)
    os.utime(ledger, (1_700_000_000, 1_700_000_000))
    draft = reader(ledger.parent).draft
    return [step.own for step in draft.main.steps], [f"{one.where}: {one.what}" for one in draft.problems]


def test_saves_that_stand_on_one_line_are_told_apart_by_their_checksums(tmp_path: Path) -> None:
    ledger = saved(tmp_path)
    lines = ledger.read_bytes().splitlines()
    assert after(ledger, [*lines[:2], lines[2] + lines[3], *lines[4:]]) == (
        [1, 2, 3, 4, 5], ["line 3: 2 records on one line"],
    )  # fmt: skip
    half = lines[2][: len(lines[2]) // 2]
    steps, wrong = after(ledger, [*lines[:3], half + lines[3], *lines[4:]])
    assert steps == [1, 2, 3, 4, 5] and wrong == ["line 4: half a record, then 1 whole"]


def test_a_save_that_is_there_twice_or_too_late_is_left_out_and_said(tmp_path: Path) -> None:
    ledger = saved(tmp_path)
    lines = ledger.read_bytes().splitlines()
    assert after(ledger, [*lines[:3], lines[2], *lines[3:]]) == (
        [1, 2, 3, 4, 5], ["line 4: save 3 once more, left out"],
    )  # fmt: skip
    steps, wrong = after(ledger, [*lines[:2], lines[3], lines[2], *lines[4:]])
    unknown = "1 saves are missing before it: what stands on them is not known"
    assert steps == [1, 2, 3, 5], "as loading does: save 3 follows save 2, save 5 is in the checkpoint"
    assert wrong == [f"line 3: {unknown}", f"line 5: {unknown}"]


def test_behind_a_damaged_line_no_step_lacks_its_message_and_the_newest_is_taken_whole(tmp_path: Path) -> None:
    ledger = saved(tmp_path)
    lines = ledger.read_bytes().splitlines()
    lines[2] = lines[2].replace(b"call", b"cell", 1)
    steps, wrong = after(ledger, lines)
    assert steps == [1, 2, 5]
    assert wrong[0].startswith("line 3: damaged: checksum mismatch")
    assert wrong[1:] == ["line 4: 1 saves are missing before it: what stands on them is not known"]
    whole = opened(ledger.with_name("a.json"))
    last = next(step for step in whole.run.main.steps if step.own == 5)
    assert (last.gap, [(gap.after, gap.before, gap.missing) for gap in whole.run.gaps]) == (2, [(2, 5, 2)])
    assert len(last.prompt) == 9, "every message that stood before the fifth answer"
    assert all(whole.text(segment) for segment in last.prompt)
    ledger.with_name("a.json").unlink()
    alone = read(ledger).draft
    assert [step.own for step in alone.main.steps] == [1, 2], "steps behind the damage are not known"


def test_the_newest_save_is_taken_from_the_checkpoint_where_its_own_line_is_damaged(tmp_path: Path) -> None:
    ledger = saved(tmp_path)
    lines = ledger.read_bytes().splitlines()
    lines[4] = lines[4].replace(b"call", b"cell", 1)
    steps, wrong = after(ledger, lines[:5])
    assert steps == [1, 2, 3, 4, 5] and [one.partition(":")[0] for one in wrong] == ["line 5"]


def test_a_mark_of_order_in_front_is_no_damage_and_a_torn_end_is_said(tmp_path: Path) -> None:
    ledger = saved(tmp_path)
    lines = ledger.read_bytes().splitlines()
    assert after(ledger, [b"\xef\xbb\xbf" + lines[0], *lines[1:]]) == ([1, 2, 3, 4, 5], [])
    steps, wrong = after(ledger, lines[:3], lines[3][:50])
    assert steps == [1, 2, 3, 5] and wrong == ["line 4: half a record at the end, 50 bytes"]


def test_a_run_that_is_kept_as_differences_is_put_together_and_loses_nothing(tmp_path: Path) -> None:
    ledger = saved(tmp_path, 120)
    whole = opened(ledger.with_name("a.json"))
    steps = [step for step in whole.run.main.steps if not step.open]
    assert len(steps) == 120 and not any(step.drops for step in steps)
    assert [len(step.prompt) for step in steps] == [2 * number + 1 for number in range(120)]
    assert ledger.stat().st_size < 10 * ledger.with_name("a.json").stat().st_size


def long_ago(path: Path) -> None:
    os.utime(path, (1_700_000_000, 1_700_000_000))


def test_a_checkpoint_that_was_damaged_is_said_wherever_the_damage_is_and_no_longer_once_it_is_whole(
    tmp_path: Path,
) -> None:
    ledger = saved(tmp_path)
    checkpoint = ledger.with_name("a.json")
    whole = checkpoint.read_bytes()
    shown = [step.own for step in reader(tmp_path).draft.main.steps]
    for place in (*range(1, len(whole) - 1, 7), len(whole) - 2):
        checkpoint.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert reader(tmp_path).draft.main.steps, place
        with pytest.raises(DamagedError):
            load("a", tmp_path)
        (wrong,) = reader(tmp_path).draft.problems
        assert wrong.where == "a.json" and wrong.what.startswith("damaged: "), place
        assert [step.own for step in reader(tmp_path).draft.main.steps] == shown, "the ledger has them all"
    found = reader(tmp_path)
    checkpoint.write_bytes(whole)
    assert found.refresh() and not found.draft.problems


def test_a_checkpoint_that_is_damaged_later_is_said_once_it_is_at_rest(tmp_path: Path) -> None:
    ledger = saved(tmp_path)
    found = reader(tmp_path)
    checkpoint = ledger.with_name("a.json")
    data = bytearray(checkpoint.read_bytes())
    data[len(data) // 2] ^= 1
    checkpoint.write_bytes(data)
    long_ago(checkpoint)
    assert found.refresh() and [one.where for one in found.draft.problems] == ["a.json"]


@pytest.mark.parametrize("kept", [4, 3, 1, 0])
@pytest.mark.parametrize("torn", [b"", b'{"v":1,"seq":'])
def test_the_newest_step_of_a_whole_checkpoint_is_shown_where_the_ledger_ends_before_it(
    tmp_path: Path, kept: int, torn: bytes
) -> None:
    ledger = saved(tmp_path)
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(lines[:kept]) + torn)
    draft = reader(tmp_path).draft
    assert load("a", tmp_path).step == 5
    assert [step.own for step in draft.main.steps] == [*range(1, kept + 1), 5]
    assert draft.notice is None, "nobody writes: the checkpoint is replaced after the line"
    assert [(gap.after, gap.before) for gap in draft.gaps] == ([(kept, 5)] if 0 < kept < 4 else [])
    whole = saved(tmp_path / "other")
    assert draft.main.tape.length(len(draft.main.steps)) == reader(whole.parent).draft.main.tape.length(5)


def test_a_ledger_that_comes_to_hold_what_was_taken_from_the_checkpoint_is_read_as_a_whole_one(tmp_path: Path) -> None:
    ledger = saved(tmp_path)
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(lines[:2]))
    found = reader(tmp_path)
    assert [step.own for step in found.draft.main.steps] == [1, 2, 5]
    with ledger.open("ab") as file:
        file.write(b"".join(lines[2:]))
    found.refresh()
    assert [step.own for step in found.draft.main.steps] == [1, 2, 3, 4, 5]
    assert not found.draft.problems and not found.draft.gaps


def test_an_exact_prompt_that_is_lost_is_not_made_up_from_the_list(tmp_path: Path) -> None:
    messages: list[dict[str, Any]] = [user("start")]
    run = record("a", goal="g", folder=tmp_path)
    for number in (1, 2, 3):
        prompt = list(messages)
        messages += [call(f"c{number}"), result(f"c{number}", f"out {number}")]
        run.save(messages, prompt=prompt)
    run.finish("given up")
    ledger = tmp_path / "a.steps.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(lines[:2]))
    draft = reader(tmp_path).draft
    assert [step.own for step in draft.main.steps] == [1, 2] and draft.ended_as == "given up"
    assert [one.what for one in draft.problems] == ["step 3 stands in a.json alone, without its prompt: not shown"]
    ledger.write_bytes(b"".join(lines[:3]))  # only the line that ends the run is lost
    draft = reader(tmp_path).draft
    assert [step.own for step in draft.main.steps] == [1, 2, 3] and (draft.problems, draft.ended_as) == ([], "given up")


@pytest.mark.parametrize("form", ["text", "blocks"])
def test_an_answer_that_says_what_the_last_one_said_is_shown_in_whatever_form_that_was_put_back(
    tmp_path: Path, form: str
) -> None:
    run = record("a", goal="g", folder=tmp_path)
    messages: list[dict[str, Any]] = [user("start")]
    blocks = [{"type": "text", "text": "ok"}]
    for number in (1, 2, 3):
        run.save([*messages, {"role": "assistant", "content": blocks}], prompt=list(messages))
        put_back = {"role": "assistant", "content": "ok" if form == "text" else blocks}
        messages += [put_back, user(f"next {number}")]
    draft = reader(tmp_path).draft
    said_by = [[draft.main.tape.segment(one).head for one in step.replies] for step in draft.main.steps]
    assert said_by == [["ok"], ["ok"], ["ok"]]
