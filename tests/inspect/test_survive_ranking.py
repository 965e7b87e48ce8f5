"""What a boundary lost is told: what somebody named, weightiest first; what was merely read is left out."""

from __future__ import annotations

import json

import pytest

from agentmem.inspect.compare.survive import is_variant
from agentmem.inspect.compare.things import Things, is_listing, spotless, tokens_in
from agentmem.inspect.telling.lost_block import SHOWN, boundary_block
from agentmem.model import Survival

from .builders import Tale

LISTING = "\n".join(f"{n:>5}\tdef thing_{n}(value_{n}: int) -> int:  # see src/deep/m{n}.py" for n in range(1, 60))
GREP = "\n".join(f"src/app.py:{n}:    call_{n}(x)" for n in range(5))


def compacted(*told: tuple[str, str], summary: str = "Progress so far: some reading.") -> Survival:
    """What a compaction lost of pieces (kind, text); `call` is a tool and its arguments."""
    tale = Tale("ship the parcel to the north depot")
    for kind, text in told:
        tale.say(kind, text, tool=text.partition(" ")[0] if kind == "call" else None)  # type: ignore[arg-type]  # a kind given by name
    tale.step()
    live = tale.at.tape.live
    tale.at.splice(1, len(live) - 1, [tale.piece("summary", summary)])
    tale.step()
    (survival,) = tale.run().survivals
    return survival


def lost(survival: Survival, kind: str) -> list[str]:
    return [item.text for item in survival.lost if item.kind == kind]


@pytest.mark.parametrize("text", [LISTING, GREP, "x" * 5000, "{\n" + '"a": 1,\n' * 9 + "};\n" * 9])
def test_files_code_searches_and_long_results_are_listings(text: str) -> None:
    assert is_listing(text)


@pytest.mark.parametrize("text", ["order_id: ORD-8841\nstate: open\nowner: team_7", "ok", "", "The port is 58123."])
def test_a_short_answer_is_none(text: str) -> None:
    assert not is_listing(text)


def test_what_was_merely_read_is_no_loss() -> None:
    survival = compacted(("call", 'read {"file":"src/app.py"}'), ("result", LISTING), ("result", GREP))
    assert lost(survival, "identifiers") == [] and lost(survival, "numbers") == []
    assert lost(survival, "paths") == ["src/app.py"]


def test_what_was_read_and_then_named_is_a_loss() -> None:
    survival = compacted(("result", LISTING), ("assistant", "thing_7 is the culprit"))
    assert lost(survival, "identifiers") == ["thing_7"]


def test_a_short_answer_of_a_tool_counts_behind_what_was_said() -> None:
    survival = compacted(("result", "got ORD_5512"), ("user", "The case is INC_4471"), ("assistant", "see REQ_12"))
    assert lost(survival, "identifiers") == ["INC_4471", "REQ_12", "ORD_5512"]


def test_of_equal_weight_what_was_named_more_often_comes_first() -> None:
    survival = compacted(("user", "A_11 and B_22"), ("user", "B_22 again"))
    assert lost(survival, "identifiers") == ["B_22", "A_11"]


def test_small_numbers_are_noise_unless_a_person_or_the_state_said_them() -> None:
    survival = compacted(("assistant", "about 12 of 34, port 58123"), ("user", "at most 15"), ("fact", "limit: 42"))
    assert set(lost(survival, "numbers")) == {"15", "42", "58123"}


def test_numbers_that_say_how_much_of_a_file_was_read_are_noise() -> None:
    call = "read " + json.dumps({"file": "a.py", "offset": 1200, "limit": 2000, "port": 58123})
    assert lost(compacted(("call", call)), "numbers") == ["58123"]


def test_code_that_a_call_wrote_is_not_named_by_it() -> None:
    call = "write " + json.dumps({"path": "src/new.py", "content": LISTING})
    survival = compacted(("call", call))
    assert lost(survival, "paths") == ["src/new.py"] and lost(survival, "identifiers") == []


def test_a_long_block_of_code_in_an_answer_is_read_not_said() -> None:
    fenced = "Look at keep_me:\n```python\n" + LISTING + "\n```\nand at keep_too"
    assert set(lost(compacted(("assistant", fenced)), "identifiers")) == {"keep_me", "keep_too"}


def test_a_path_stands_whatever_line_of_it_was_named() -> None:
    assert spotless("tests/test_a.py:14") == "tests/test_a.py" and spotless("src/a.py:3:TOKEN_RE") == "src/a.py"
    assert {"src/a.py", "src/a.py:14"} <= tokens_in("see src/a.py:14.")
    survival = compacted(("user", "fix src/a.py:14 first"), summary="Progress so far: src/a.py:99 was looked at.")
    assert survival.kept["paths"] == (1, 1)


def test_a_rule_is_not_told_again_as_prose() -> None:
    survival = compacted(("user", "Never edit tests/golden."), ("user", "Give the parcel to the night porter please."))
    assert lost(survival, "constraints") == ["Never edit tests/golden."]
    assert lost(survival, "prose") == ["Give the parcel to the night porter please."]


def test_narration_of_the_model_is_no_prose() -> None:
    assert lost(compacted(("assistant", "Let me look at the overview first.")), "prose") == []


def test_an_identifier_from_a_listing_that_came_out_wrong_is_still_told() -> None:
    survival = compacted(("result", LISTING), summary="Progress so far: thing_7 calls vlaue_19.")
    assert ("value_19", "vlaue_19") in survival.changed


def test_the_block_tells_the_first_of_each_kind_and_how_many_more() -> None:
    names = [f"CASE_{n}" for n in range(100, 150)]
    survival = compacted(("user", " ".join(names)))
    (row,) = [row for row in boundary_block(survival).split("\n") if row.startswith("- identifiers")]
    assert row.count("CASE_") == SHOWN["identifiers"] and row.endswith(f"and {50 - SHOWN['identifiers']} more")
    assert survival.kept["identifiers"] == (0, 50)


def test_the_block_is_short_however_much_was_lost() -> None:
    rule = "Never do thing_{0} in src/m{0}.py with {0}00{0}, it is decided. "
    said = [("user", rule.replace("{0}", str(n)) + "word " * 200) for n in range(90)]
    assert len(boundary_block(compacted(*said))) < 12_000


@pytest.mark.parametrize(
    ("old", "new", "kind", "expected"),
    [
        ("8841", "8814", "numbers", True), ("8841", "8842", "numbers", True), ("8841", "88412", "numbers", False),
        ("8841", "9914", "numbers", False), ("INC_4471", "INC_4417", "identifiers", True),
        ("lexer.py", "parser.py", "paths", False), ("src/lexer.py", "src/lexor.py", "paths", True),
    ],
)  # fmt: skip
def test_a_variant_is_near_by_its_kind(old: str, new: str, kind: str, expected: bool) -> None:
    assert is_variant(old, new, kind) is expected


def test_things_weigh_by_who_named_them_and_how_often() -> None:
    things = Things()
    things.take("A_11", "result")
    things.take("A_11 B_22", "user")
    assert things.identifiers["A_11"] > things.identifiers["B_22"] > 5000 - 1


def test_the_escape_sequences_of_a_terminal_are_no_part_of_an_identifier() -> None:
    things = Things()
    things.take("\x1b[?2004ldef_total 8841\x1b[0m", "result")
    assert list(things.identifiers) == ["def_total"] and list(things.numbers) == ["8841"]
    assert "def_total" in tokens_in("\x1b[?2004ldef_total")


def test_what_sed_is_told_is_no_path() -> None:
    things = Things()
    things.take('bash {"command":"sed -i s/a-c/a+b/ src/calc.py"}', "call")
    assert list(things.paths) == ["src/calc.py"]


def test_a_thing_of_a_long_result_that_came_out_changed_is_told_and_one_that_stood_in_it_as_it_is_now_is_not() -> None:
    long = "line of a log\n" * 300 + "order A-88417 and A-88471 at port 58123\n" + "line of a log\n" * 100
    assert compacted(("result", long), summary="The order is A-88417.").changed == ()
    assert compacted(("result", long), summary="The port is 58132.").changed == (("58123", "58132"),)


def test_what_came_since_is_no_changed_form_of_what_left() -> None:
    """`src/f6.py` of a new call, or 4008 of a new result, is another thing than the `src/f0.py` and 4001 that left."""
    tale = Tale("find the ports")
    for number in range(8):
        tale.say("call", f'read {{"path":"src/f{number}.py"}}', tool="read")
        tale.say("result", f"port of f{number} is {4001 + number}")
        tale.step()
    tale.at.splice(1, 10, [tale.piece("summary", "Progress so far: the ports of some files were read.")])
    tale.say("call", 'read {"path":"src/f9.py"}', tool="read")
    tale.say("result", "port of f9 is 4010")
    tale.step()
    (survival,) = tale.run().survivals
    assert survival.changed == ()
