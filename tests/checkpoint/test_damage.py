"""Damage is said with where and why, an earlier version is offered, and nothing empty is passed off as new."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from agentmem.checkpoint.files import FileStore
from agentmem.checkpoint.ledger_line import DamagedLine, decode, encode
from agentmem.checkpoint.recorder import history, load, record
from agentmem.checkpoint.store import CheckpointError, DamagedError, MissingError
from tests.checkpoint.helpers import message, some_steps
from tests.formats.agents.following import opened


def test_a_checkpoint_cut_at_any_byte_is_damaged_and_the_ledger_gives_it_back(tmp_path: Path) -> None:
    some_steps(tmp_path)
    path = tmp_path / "parser.json"
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(DamagedError, match=r"parser\.json: damaged: truncated at byte") as told:
            load("parser", tmp_path)
        assert "good to step 3" in str(told.value) and "generation=-1 gives step 2" in str(told.value)
        assert "\n" not in str(told.value)
    with pytest.raises(DamagedError):
        record("parser", folder=tmp_path)
    assert path.read_bytes() == whole[:-1], "a damaged file is not touched"
    assert load("parser", tmp_path, generation=-1).step == 2
    rebuilt = load("parser", tmp_path, rebuild=True)
    assert (rebuilt.step, len(rebuilt.messages), rebuilt.source) == (3, 4, "ledger")
    run = record("parser", folder=tmp_path, rebuild=True)
    run.save([*run.messages, message(9)])
    assert load("parser", tmp_path).step == 4


def test_one_flipped_bit_is_never_loaded(tmp_path: Path) -> None:
    some_steps(tmp_path)
    path = tmp_path / "parser.json"
    whole = path.read_bytes()
    random = Random(3)
    for at in range(len(whole)):
        for bit in random.sample(range(8), 1):
            changed = bytearray(whole)
            changed[at] ^= 1 << bit
            path.write_bytes(changed)
            with pytest.raises(CheckpointError, match=r"parser\.json: (damaged|schema|not a checkpoint)"):
                load("parser", tmp_path)


def test_one_flipped_bit_in_a_ledger_line_is_never_read(tmp_path: Path) -> None:
    some_steps(tmp_path, 1)
    line = (tmp_path / "parser.steps.jsonl").read_bytes()[:-1]
    assert decode(line).seq == 1
    for at in range(len(line)):
        changed = bytearray(line)
        changed[at] ^= 1 << (at % 8)
        with pytest.raises(DamagedLine):
            decode(bytes(changed))
        with pytest.raises(DamagedLine):
            decode(line[:at])


def test_a_damaged_line_in_the_middle_hides_what_stands_on_it_and_says_so(tmp_path: Path) -> None:
    some_steps(tmp_path, 5)
    ledger = tmp_path / "parser.steps.jsonl"
    lines = ledger.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b"message", b"massage")
    ledger.write_bytes(b"\n".join(lines))
    now = load("parser", tmp_path)
    assert (now.step, now.damaged, len(now.messages)) == (5, 1, 6), "the checkpoint is whole without it"
    assert "line 3, byte" in now.problems[0].where and "checksum mismatch" in now.problems[0].what
    with pytest.raises(DamagedError, match=r"line 3, byte .* rebuild=True gives the 3 that can"):
        next(history("parser", tmp_path))
    found = list(history("parser", tmp_path, rebuild=True))
    assert [version.step for version in found] == [1, 2, 5]
    assert [len(version.messages) for version in found] == [2, 3, 6], "the last is the checkpoint's"
    assert any("save 4" in problem.where for problem in found[-1].problems)


def test_a_run_resumed_over_a_damaged_line_writes_a_whole_line_so_that_history_goes_on(tmp_path: Path) -> None:
    some_steps(tmp_path, 5)
    ledger = tmp_path / "parser.steps.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b"n3", b"n9"))
    some_steps(tmp_path, 2)
    some_steps(tmp_path, 2)
    assert [version.step for version in history("parser", tmp_path, rebuild=True)] == [1, 6, 7, 8, 9]
    assert load("parser", tmp_path, generation=-3).step == 6, "what stands behind the damage is not touched by it"
    lines = [json.loads(line) for line in ledger.read_bytes().splitlines()]
    assert [line.get("whole", False) for line in lines] == [True, *[False] * 4, True, *[False] * 3]


def test_a_save_that_the_ledger_cannot_lead_to_is_not_passed_over(tmp_path: Path) -> None:
    run = some_steps(tmp_path)
    old = (tmp_path / "parser.json").read_bytes()
    for index in (8, 9):
        run.save([*run.messages, message(index)])
    (tmp_path / "parser.json").write_bytes(old)
    ledger = tmp_path / "parser.steps.jsonl"
    lines = ledger.read_bytes().split(b"\n")
    del lines[3]
    ledger.write_bytes(b"\n".join(lines))
    with pytest.raises(DamagedError, match="save 5 does not follow save 3"):
        load("parser", tmp_path)
    with pytest.raises(DamagedError, match=r"It is good to step 3 \(save 3\): rebuild=True gives that"):
        load("parser", tmp_path)
    with pytest.raises(DamagedError, match="generation -1 cannot be had"):
        load("parser", tmp_path, generation=-1)
    assert load("parser", tmp_path, rebuild=True).step == 3


def test_both_files_damaged_say_so_and_are_not_begun_anew(tmp_path: Path) -> None:
    some_steps(tmp_path, 1)
    (tmp_path / "parser.json").write_bytes(b"")
    (tmp_path / "parser.steps.jsonl").write_bytes(b"junk\n")
    for call in (lambda: load("parser", tmp_path), lambda: record("parser", folder=tmp_path)):
        with pytest.raises(DamagedError, match="No earlier version can be rebuilt"):
            call()
    (tmp_path / "parser.json").unlink()
    for call in (lambda: load("parser", tmp_path), lambda: record("parser", folder=tmp_path)):
        with pytest.raises(DamagedError, match=r"steps\.jsonl: damaged"):
            call()


def test_earlier_generations_come_from_the_ledger(tmp_path: Path) -> None:
    some_steps(tmp_path, 4)
    assert [load("parser", tmp_path, generation=back).step for back in (0, -1, -2, -3)] == [4, 3, 2, 1]
    back = load("parser", tmp_path, generation=-2)
    assert (back.notes, back.state, len(back.messages)) == ("n3", {"goal": "parse", "facts": {"port": "3"}}, 3)
    with pytest.raises(MissingError, match="no generation -4; the ledger holds 4 saves"):
        load("parser", tmp_path, generation=-4)
    with pytest.raises(ValueError, match="generation is 0"):
        load("parser", tmp_path, generation=1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[1]", "no JSON object but list"),
        ('{"step":1}', "messages is missing"),
        ('{"messages":"x"}', "messages is str, not a list"),
        ('{"messages":[],"step":"4"}', "step is str, not an integer"),
        ('{"messages":[],"state":3}', "state is int, not an object"),
        ('{"messages":[NaN]}', "NaN is not a JSON value"),
        ('{"messages":[1,]}', "no JSON at byte 15"),
        ('{"messages":[' + "[" * 5000 + "]" * 5000 + "]}", "nested too deeply"),
        ("", "truncated at byte 0"),
    ],
)
def test_what_is_no_checkpoint_says_why(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(DamagedError, match=says):
        load("r", tmp_path)


def test_a_reformatted_checkpoint_is_not_what_was_written(tmp_path: Path) -> None:
    some_steps(tmp_path)
    path = tmp_path / "parser.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()), indent=1))
    with pytest.raises(DamagedError, match="no checksum at its end"):
        load("parser", tmp_path)


def test_a_newer_ledger_is_refused(tmp_path: Path) -> None:
    some_steps(tmp_path)
    ledger = tmp_path / "parser.steps.jsonl"
    before = ledger.read_bytes() + encode({"v": 2, "seq": 4, "else": True}) + b"\n"
    ledger.write_bytes(before)
    with pytest.raises(CheckpointError, match="line 4: version 2 is newer"):
        record("parser", folder=tmp_path)
    assert ledger.read_bytes() == before


def _damaged(folder: Path, number: int, steps: int = 5) -> None:
    """A run of so many steps, with a letter changed in the line of one."""
    some_steps(folder, steps)
    ledger = folder / "parser.steps.jsonl"
    lines = ledger.read_bytes().split(b"\n")
    lines[number - 1] = lines[number - 1].replace(b"message", b"massage")
    ledger.write_bytes(b"\n".join(lines))


def test_a_step_behind_a_damaged_line_says_what_can_be_had_and_rebuild_gives_that(tmp_path: Path) -> None:
    _damaged(tmp_path, 3)
    for step in (3, 4):
        told = rf"line 3, byte \d+: damaged: .*; step {step} cannot be had\. It is good to step 2 \(save 2\): rebuild"
        with pytest.raises(DamagedError, match=f"{told}=True gives that; the newest, step 5, is whole"):
            load("parser", tmp_path, step=step)
        assert load("parser", tmp_path, step=step, rebuild=True).step == 2
    assert (load("parser", tmp_path, step=2).step, load("parser", tmp_path, step=5).step) == (2, 5)
    assert load("parser", tmp_path, generation=-3).step == 2
    with pytest.raises(MissingError, match="there is no step 9"):
        load("parser", tmp_path, step=9)


def test_a_damaged_beginning_hides_all_but_the_newest(tmp_path: Path) -> None:
    _damaged(tmp_path, 1)
    with pytest.raises(DamagedError, match=r"No earlier version can be rebuilt; the newest, step 5, is whole"):
        load("parser", tmp_path, step=1)
    with pytest.raises(DamagedError):
        list(history("parser", tmp_path))
    assert [version.step for version in history("parser", tmp_path, rebuild=True)] == [5]
    with pytest.raises(DamagedError, match="No earlier version can be rebuilt"):
        load("parser", tmp_path, step=2, rebuild=True)


def test_a_damaged_end_loses_nothing_where_the_checkpoint_has_it(tmp_path: Path) -> None:
    _damaged(tmp_path, 5)
    assert [version.step for version in history("parser", tmp_path)] == [1, 2, 3, 4, 5]
    assert load("parser", tmp_path, step=5).messages[-1]["content"] == "message 5"
    (tmp_path / "parser.json").unlink()
    with pytest.raises(DamagedError, match="rebuild=True gives the 4 that can"):
        list(history("parser", tmp_path))
    with pytest.raises(DamagedError, match="step 5 cannot be had"):
        load("parser", tmp_path, step=5)


def test_with_both_damaged_rebuild_gives_what_the_message_offers(tmp_path: Path) -> None:
    _damaged(tmp_path, 3)
    path = tmp_path / "parser.json"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DamagedError, match="Its ledger is good to step 2: rebuild=True gives that"):
        load("parser", tmp_path)
    assert load("parser", tmp_path, rebuild=True).step == 2
    assert record("parser", folder=tmp_path, rebuild=True).step == 2
    assert load("parser", tmp_path, step=1).step == 1, "the ledger tells of it without the checkpoint"


def test_half_a_line_that_a_crash_left_is_no_save_and_hides_none(tmp_path: Path) -> None:
    some_steps(tmp_path, 2)
    with (tmp_path / "parser.steps.jsonl").open("ab") as ledger:
        ledger.write(b'{"v":1,"seq":3,"st')
    some_steps(tmp_path, 2)
    assert [version.step for version in history("parser", tmp_path)] == [1, 2, 3, 4]
    assert load("parser", tmp_path, step=3).step == 3 and load("parser", tmp_path, generation=-1).step == 3


def test_rebuild_takes_nothing_from_who_has_a_whole_checkpoint(tmp_path: Path) -> None:
    _damaged(tmp_path, 5)
    assert load("parser", tmp_path, rebuild=True).step == 5, "the ledger leads to 4, the checkpoint is whole"
    assert record("parser", folder=tmp_path, rebuild=True).step == 5
    (tmp_path / "parser.steps.jsonl").unlink()
    assert load("parser", tmp_path, rebuild=True).step == 5
    assert record("parser", folder=tmp_path, rebuild=True).step == 5
    (tmp_path / "theirs.json").write_text('{"step": 7, "messages": [{"role": "user", "content": "a"}], "notes": "n"}')
    assert load("theirs", tmp_path, rebuild=True).step == 7
    run = record("theirs", folder=tmp_path, rebuild=True)
    assert (run.step, run.notes, len(run.messages)) == (7, "n", 1)


def test_rebuild_begins_nothing_anew_where_something_stood(tmp_path: Path) -> None:
    some_steps(tmp_path)
    (tmp_path / "parser.steps.jsonl").unlink()
    path = tmp_path / "parser.json"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DamagedError, match=r"parser\.json: damaged: truncated"):
        record("parser", folder=tmp_path, rebuild=True)
    some_steps(tmp_path, run_id="other")
    ledger = tmp_path / "other.steps.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(True)[1:]))
    (tmp_path / "other.json").unlink()
    with pytest.raises(DamagedError, match="does not follow"):
        record("other", folder=tmp_path, rebuild=True)


def test_half_a_first_line_was_no_save_and_the_run_begins(tmp_path: Path) -> None:
    ledger = tmp_path / "parser.steps.jsonl"
    ledger.write_bytes(b'{"v":1,"se')
    some_steps(tmp_path, 2)
    assert [version.step for version in history("parser", tmp_path)] == [1, 2]
    assert ledger.read_bytes().startswith(b'{"v":1,"se\n'), "what a crash left is kept"


def test_a_ledger_with_a_gap_or_damage_is_not_pruned_and_stays_as_it_is(tmp_path: Path) -> None:
    some_steps(tmp_path, 6)
    ledger = tmp_path / "parser.steps.jsonl"
    lines = ledger.read_bytes().splitlines(True)
    for data, says in (
        (b"".join(lines[:3] + lines[4:]), "save 5 does not follow save 3; nothing was pruned"),
        (b"".join([lines[0], lines[1].replace(b"message", b"massage"), *lines[2:], b'{"half']), "checksum mismatch"),
    ):
        ledger.write_bytes(data)
        with pytest.raises(DamagedError, match=says):
            FileStore(tmp_path).prune("parser", keep=2)
        assert ledger.read_bytes() == data


@pytest.mark.parametrize("cuts", [[1], [7], [60], [-1], [40, 90], [-18, -19]])
@pytest.mark.parametrize("before", [0, 1, 3])
def test_half_a_line_behind_which_the_next_save_went_on_is_no_damage(
    tmp_path: Path, before: int, cuts: list[int]
) -> None:
    some_steps(tmp_path, 5)
    ledger = tmp_path / "parser.steps.jsonl"
    steps = [step.own for step in opened(tmp_path / "parser.json").run.main.steps]
    lines = ledger.read_bytes().split(b"\n")
    lines[before:before] = [lines[before][:cut] for cut in cuts]
    ledger.write_bytes(b"\n".join(lines))
    now = load("parser", tmp_path)
    assert (now.step, now.damaged, now.problems) == (5, 0, ())
    assert [version.step for version in history("parser", tmp_path)] == [1, 2, 3, 4, 5]
    assert record("parser", folder=tmp_path).problems == []
    shown = opened(tmp_path / "parser.json").run
    assert shown.problems == () and [step.own for step in shown.main.steps] == steps
    assert FileStore(tmp_path).prune("parser", keep=2) == 3, "what was never a save is in no way"


@pytest.mark.parametrize("whole", [False, True])
def test_half_a_line_in_whose_place_a_save_is_missing_is_damage(tmp_path: Path, whole: bool) -> None:
    some_steps(tmp_path, 5)
    ledger = tmp_path / "parser.steps.jsonl"
    lines = ledger.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b"message", b"massage") if whole else lines[2][:60]
    ledger.write_bytes(b"\n".join(lines))
    what = "checksum mismatch" if whole else "truncated at byte 60"
    assert [problem.what.startswith(f"damaged: {what}") for problem in load("parser", tmp_path).problems] == [True]
    with pytest.raises(DamagedError, match=what):
        list(history("parser", tmp_path))
    shown = [problem for problem in opened(tmp_path / "parser.json").run.problems if problem.where == "line 3"]
    assert [problem.what.startswith(f"damaged: {what}") for problem in shown] == [True]


def test_half_a_line_at_the_end_is_told_by_who_reads_and_no_longer_once_the_run_went_on(tmp_path: Path) -> None:
    run = some_steps(tmp_path, 3)
    ledger = tmp_path / "parser.steps.jsonl"
    with ledger.open("ab") as file:
        file.write(b'{"v":1,"seq":4,"st')
    assert load("parser", tmp_path).damaged == 1
    run = record("parser", folder=tmp_path)
    run.save([*run.messages, message(9)])
    assert load("parser", tmp_path).problems == ()
    assert opened(tmp_path / "parser.json").run.problems == ()
