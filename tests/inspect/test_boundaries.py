"""Boundaries that nothing records, and what came through one."""

from __future__ import annotations

import pytest

from agentmem.inspect.compare.survive import near
from agentmem.inspect.compare.things import Things, sort_of
from agentmem.model import Boundary, Survival

from .builders import Tale


def kinds(tale: Tale) -> list[str | None]:
    return [None if step.boundary is None else step.boundary.kind for step in tale.lane().steps if not step.open]


def falling(before: int | None, after: int | None, **more: str) -> Tale:
    tale = Tale("look")
    tale.step(usage=before, **more)  # type: ignore[arg-type]  # a model's name only
    tale.step(usage=after, **more)  # type: ignore[arg-type]  # a model's name only
    return tale


def test_reported_tokens_that_fall_by_more_than_a_tenth_are_unexplained() -> None:
    tale = falling(1000, 899)
    assert kinds(tale) == [None, "unexplained"]
    boundary = tale.lane().steps[1].boundary
    assert boundary is not None and (boundary.recorded, boundary.before, boundary.after) == (False, 1000, 899)


@pytest.mark.parametrize(
    ("before", "after", "more"),
    [(1000, 900, {}), (1000, 0, {}), (1000, None, {}), (None, 10, {}), (1000, 10, {"model": "<synthetic>"})],
)
def test_a_small_fall_zero_and_made_up_calls_explain_nothing(
    before: int | None, after: int | None, more: dict[str, str]
) -> None:
    assert kinds(falling(before, after, **more)) == [None, None]


def test_a_fall_behind_a_call_without_usage_is_still_seen() -> None:
    tale = Tale("look")
    for usage in (1000, None, 500):
        tale.step(usage=usage)
    assert kinds(tale) == [None, None, "unexplained"]


def test_another_model_counts_otherwise() -> None:
    tale = Tale("look")
    tale.step(usage=1000, model="one")
    tale.step(usage=500, model="two")
    assert kinds(tale) == [None, None]


def test_a_recorded_boundary_explains_the_fall_and_takes_the_reported_figures() -> None:
    tale = Tale("look")
    tale.step(usage=1000)
    tale.boundary(Boundary("compaction", True, None, None))
    tale.step(usage=300)
    boundary = tale.lane().steps[1].boundary
    assert boundary is not None and (boundary.kind, boundary.before, boundary.after) == ("compaction", 1000, 300)


@pytest.mark.parametrize("usage", [None, 150])
def test_a_boundary_compares_two_sizes_of_one_measure(usage: int | None) -> None:
    tale = Tale("look")
    tale.say("result", "x" * 4000)
    tale.step()
    tale.take(tale.at.tape.live[-2])
    tale.boundary(Boundary("compaction", True, 175_004, None, "compaction at line 9"))
    tale.step(usage=usage)
    was, step = tale.lane().steps[:2]
    assert step.boundary is not None
    if usage is None:  # nothing was reported after it: both are counted, and what the file says is said
        assert (step.boundary.before, step.boundary.after) == (was.tokens.prompt, step.tokens.prompt)
        assert step.boundary.why == "compaction at line 9; 175,004 tokens before it by the file's own count"
    else:
        assert (step.boundary.before, step.boundary.after) == (175_004, usage)
        assert step.boundary.why == "compaction at line 9"


def test_a_store_of_states_has_no_unexplained_fall() -> None:
    tale = falling(1000, 100)
    tale.draft.synthetic = True
    assert kinds(tale) == [None, None]


def test_a_fall_after_a_gap_is_unknown() -> None:
    tale = Tale("look")
    tale.step(usage=1000, own=1)
    tale.step(usage=100, own=5, gap=3)
    assert kinds(tale) == [None, None]


def test_most_of_the_list_gone_without_a_word_is_an_unrecorded_trim() -> None:
    tale = Tale("look")
    messages = [tale.say("user", f"message number {i}") for i in range(12)]
    tale.step()
    tale.take(*messages[:9])
    tale.step()
    assert kinds(tale) == [None, "trim"]
    boundary = tale.lane().steps[1].boundary
    assert boundary is not None and not boundary.recorded


def compacted(*before: str, summary: str, kind: str = "user") -> Survival:
    tale = Tale("ship order ORD-8841 to the north depot")
    old = [tale.say(kind, text) for text in before]  # type: ignore[arg-type]  # a kind by construction
    tale.step()
    place = tale.at.tape.live.index(old[0])
    tale.at.splice(place, len(old), [tale.piece("summary", summary)])
    tale.step()
    (survival,) = tale.run().survivals
    return survival


def test_survival_counts_what_still_stands_by_kind() -> None:
    survival = compacted(
        "The file is src/app/main.py and the port 58123. You must never push to main. Case INC_4471 is open.",
        "We decided to use sqlite instead of postgres. Look at lib/db.py too.",
        summary="Progress so far: src/app/main.py was edited for INC_4471; decided: sqlite instead of postgres.",
    )
    assert survival.kept["paths"] == (1, 2)
    assert survival.kept["numbers"] == (0, 1)
    assert survival.kept["identifiers"] == (1, 1)
    assert survival.kept["constraints"] == (0, 1)
    assert survival.kept["decisions"] == (1, 1)
    assert survival.kept["goal"] == (1, 1)
    lost = [(item.kind, item.text) for item in survival.lost]
    assert lost.index(("paths", "lib/db.py")) < lost.index(("numbers", "58123"))
    assert ("constraints", "You must never push to main") in lost


def test_what_is_lost_stands_in_the_order_goal_identifiers_paths_numbers_prose() -> None:
    tale = Tale("ship order ORD-8841 to the north depot")
    tale.say("user", "Look at lib/db.py and INC_4471 with 58123 bananas, thanks. Nothing else matters much today.")
    tale.step()
    tale.at.splice(0, len(tale.at.tape.live), [tale.piece("summary", "Progress so far: none.")])
    tale.step()
    (survival,) = tale.run().survivals
    order = [item.kind for item in survival.lost]
    assert order == sorted(
        order, key=["goal", "identifiers", "paths", "numbers", "commands", "constraints", "decisions", "prose"].index
    )
    assert order[0] == "goal" and survival.kept["goal"] == (0, 1) and "prose" in order


def test_commands_survive_only_word_for_word() -> None:
    tale = Tale("look")
    tale.step(("bash", '{"command":"pytest -x tests/unit"}', "fine"), ("bash", '{"command":"git push origin"}', "fine"))
    tale.step()
    live = tale.at.tape.live
    tale.at.splice(1, len(live) - 1, [tale.piece("summary", "Progress so far: ran `pytest -x tests/unit`.")])
    tale.step()
    (survival,) = tale.run().survivals
    assert survival.kept["commands"] == (1, 2)


def test_an_identifier_changed_by_a_character_or_two_is_told() -> None:
    summary = "Progress so far: port 8814, case INC_4417."
    survival = compacted("The port is 8841 and the case INC_4471.", summary=summary)
    assert set(survival.changed) == {("8841", "8814"), ("INC_4471", "INC_4417")}


def test_a_new_number_that_is_near_nothing_lost_is_no_change() -> None:
    survival = compacted("The port is 8841.", summary="Progress so far: port 8841 is used by 8842 people.")
    assert survival.changed == ()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("8841", "8814", True), ("8841", "8842", True), ("abc_def", "abc_dex", True), ("main.py", "mains.py", True),
        ("8841", "8841", False), ("File_A", "file_a", False), ("tests_a", "tests_as", False), ("8841", "1234", False),
    ],
)  # fmt: skip
def test_near_is_a_character_or_two(old: str, new: str, expected: bool) -> None:
    assert near(old, new) is expected


@pytest.mark.parametrize(
    ("token", "sort"),
    [
        ("src/app.py", "paths"), ("app.py", "paths"), ("8841", "numbers"), ("3.14", "numbers"),
        ("INC_4471", "identifiers"),
        ("getUserName", "identifiers"), ("hello", None), ("Hello", None), ("HELLO", None), ("12:30", None),
        ("2025-11-02", None), ("7", None), ("a1b2c3d", "identifiers"), ("and/or", None),
        ("src/core", "paths"), ("/etc/hosts", "paths"), ("/login", None), ("docs/a.md", "paths"), ("2.10s", None),
    ],
)  # fmt: skip
def test_tokens_are_told_apart(token: str, sort: str | None) -> None:
    assert sort_of(token) == sort


@pytest.mark.parametrize(
    "text", [part * (300_000 // len(part)) for part in ("a", "/", "must ", "$ ", ". ", "_a", "1:", "a.py", "$ a\n ")]
)
def test_a_long_line_of_one_thing_yields_few_things_and_no_hang(text: str) -> None:
    for kind in ("user", "call", "result"):
        things = Things()
        things.take(text, kind)
        assert len(things.paths) + len(things.identifiers) + len(things.commands) <= 10
