"""The live ledger: continue, warn, stop; bounded in memory, in the prompt and in a checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentmem.checkpoint.recorder import load, record
from agentmem.ledger import Detector, Ledger, make_attempt
from agentmem.tokens import chars4


def again(ledger: Ledger, times: int = 1, result: str = "1 failed") -> list[str]:
    return [ledger.record("bash", {"command": "pytest"}, result, error=result).action for _ in range(times)]


def test_a_repeat_is_warned_about_once_and_then_stopped() -> None:
    ledger = Ledger()
    assert again(ledger, 5) == ["continue", "continue", "warn", "stop", "stop"]
    verdict = ledger.record("bash", {"command": "pytest"}, "1 failed", error="1 failed")
    assert verdict.escalate and verdict.kind == "repeat" and verdict.period == 1
    assert verdict.steps == (1, 2, 3, 4, 5, 6) and "steps 1, 2, 3, 4, 5, 6" in verdict.reason


def test_a_warning_names_steps_and_period_of_a_cycle() -> None:
    ledger = Ledger()
    said = [ledger.record("read_file", {"path": name}, name, step=10 + i) for i, name in enumerate("ABABAB")]
    assert [v.action for v in said] == ["continue"] * 4 + ["warn", "stop"]
    assert "period 2" in said[4].reason and "10, 11, 12, 13, 14" in said[4].reason and not said[4].escalate


def test_a_relapse_is_stopped_and_escalated() -> None:
    ledger = Ledger()
    again(ledger, 3)
    for name in "abcd":
        assert ledger.record("read_file", {"path": name}, name).action == "continue"
    verdict = ledger.record("bash", {"command": "pytest"}, "1 failed", error="1 failed")
    assert (verdict.action, verdict.escalate, verdict.kind) == ("stop", True, "relapse")


def test_a_new_change_makes_the_ledger_go_on() -> None:
    ledger = Ledger()
    again(ledger, 4)
    assert ledger.record("edit", {"path": "a", "old_str": "1", "new_str": "2"}, "ok").action == "continue"
    assert again(ledger, 2) == ["continue", "continue"]


def test_strict_stops_at_the_second_equal_failure_and_only_there() -> None:
    ledger = Ledger(matches=2)
    assert again(ledger, 2) == ["continue", "stop"]
    calm = Ledger(matches=2)
    assert [calm.record("read_file", {"path": "a"}, "text").action for _ in range(3)] == [
        "continue",
        "continue",
        "warn",
    ]
    progress = Ledger(matches=2)
    assert again(progress) + again(progress, result="2 failed") == ["continue", "continue"]
    with pytest.raises(ValueError, match="matches is 1"):
        Ledger(matches=1)


def test_code_of_the_same_strategy_is_one_approach() -> None:
    ledger = Ledger(matches=2)
    assert ledger.record_code("x = 1  # try", "wrong", error="wrong").action == "continue"
    assert ledger.record_code("\nx=1", "wrong", error="wrong").action == "stop"


def test_waiting_goes_on_and_says_so_and_a_veto_changes_nothing() -> None:
    ledger = Ledger()
    said = [ledger.record("write_stdin", {"chars": "", "session_id": 1}, "still running") for _ in range(10)]
    assert {v.action for v in said} == {"continue"} and said[-1].reason == "waiting, 10 polls"
    again(ledger, 2)
    assert ledger.record("bash", {"command": "pytest"}, "blocked", denied=True).action == "continue"
    assert again(ledger) == ["warn"]
    assert ledger.record("bash", {"command": "pytest"}, None).action == "continue"


def test_parallel_calls_of_one_step_are_no_repeat() -> None:
    ledger = Ledger()
    assert {ledger.record("read_file", {"path": "a"}, "x", step=1).action for _ in range(5)} == {"continue"}


def test_the_prompt_holds_ten_entries_and_a_few_hundred_tokens() -> None:
    ledger = Ledger()
    assert ledger.render() == ""
    for i in range(40):
        ledger.record(
            "t" * 500, {"q": "GOAL (unchanged): x\n" * 900}, "r\n" * 9000, error="e\n" * 900 if i % 2 else None
        )
    text = ledger.render()
    assert chars4(text) <= 500 and text.count("\n- ") == 10
    assert not any(line.startswith("GOAL") for line in text.splitlines())
    assert "Going in circles: the same attempt with the same result, 40 times" in text


def test_the_saved_ledger_is_bounded_and_goes_on_where_it_stopped() -> None:
    ledger = Ledger()
    for i in range(3000):
        ledger.record("write", {"path": f"f{i % 70}", "content": str(i)}, "ok")
        ledger.record("read_file", {"path": str(i % 3)}, "same")
    assert len(json.dumps(ledger.to_dict())) < 400_000


steps = st.lists(st.integers(0, 7), max_size=50)


def play(ledger: Ledger, place: int) -> Any:
    if place == 7:
        return ledger.record("job", {"id": 1}, "still running")
    if place in (5, 6):
        old, new = ("a", "b") if place == 5 else ("b", "a")
        return ledger.record("edit", {"path": "f", "old_str": old, "new_str": new}, "ok")
    if place in (3, 4):
        return ledger.record("query", {"host": place}, None, error="connection to the database was refused")
    return ledger.record("read_file", {"path": place}, "text")


@example([0, 0, 0, 1, 0, 1], [0, 2, 0])  # a cycle that swallows a relapse, whose origin was saved with it
@given(steps, steps)
@settings(max_examples=60, deadline=None)
def test_a_reloaded_ledger_gives_the_same_verdicts(before: list[int], after: list[int]) -> None:
    ledger = Ledger()
    for place in before:
        play(ledger, place)
    saved = json.loads(json.dumps(ledger.to_dict()))
    again = Ledger.from_dict(saved)
    assert again.to_dict() == saved and again.render() == ledger.render()
    for place in after:
        one, two = play(ledger, place), play(again, place)
        if place != 7:
            assert one == two


@given(steps)
@settings(max_examples=60, deadline=None)
def test_the_live_ledger_and_the_detector_find_the_same(places: list[int]) -> None:
    ledger, detector = Ledger(), Detector()
    for n, place in enumerate(places, 1):
        verdict = play(ledger, place)
        tool, arguments, result, error = {
            7: ("job", {"id": 1}, "still running", None),
            5: ("edit", {"path": "f", "old_str": "a", "new_str": "b"}, "ok", None),
            6: ("edit", {"path": "f", "old_str": "b", "new_str": "a"}, "ok", None),
            3: ("query", {"host": 3}, None, "connection to the database was refused"),
            4: ("query", {"host": 4}, None, "connection to the database was refused"),
        }.get(place, ("read_file", {"path": place}, "text", None))
        detector.feed(make_attempt(tool, arguments, result, error=error, n=n))  # type: ignore[arg-type]  # a table
        kind = None if detector.touched is None else detector.touched.kind
        assert verdict.kind == kind


GOOD = Ledger()
again(GOOD, 4)


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ("version", 9, "version 9"),
        ("matches", "x", "matches"),
        ("entries", [[1]], "entries"),
        ("entries", 5, "entries"),
        ("detector", None, "object"),
        ("detector", {}, "recent"),
        ("detector", {**GOOD.to_dict()["detector"], "turning": 99}, "turning: there is no group 99"),
        ("detector", {**GOOD.to_dict()["detector"], "groups": [{"kind": "x"}]}, "groups: unknown kind"),
    ],
)
def test_a_saved_ledger_that_is_wrong_is_refused_in_one_line(part: str, value: object, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        Ledger.from_dict({**GOOD.to_dict(), part: value})
    assert "\n" not in str(caught.value)


REAL = Path(__file__).parents[3] / "shared" / "real"


def test_the_real_agents_edit_and_test_cycle_is_found() -> None:
    path = REAL / "mini-swe-agent" / "gen-v2-loop.traj.json"
    if not path.exists():
        pytest.skip("no real files beside the project")
    detector = Detector()
    n = 0
    messages = json.loads(path.read_text(encoding="utf-8"))["messages"]
    results = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
    for message in messages:
        for call in message.get("tool_calls") or ():
            n += 1
            function = call["function"]
            detector.feed(make_attempt(function["name"], function["arguments"], results.get(call["id"]), n=n))
    assert [(c.kind, c.period, c.steps) for c in detector.cycles] == [("cycle", 2, (3, 4, 5, 6, 7, 8, 9))]


def test_a_long_circle_of_many_tools_stays_within_what_is_rendered() -> None:
    ledger = Ledger()
    for turn in range(90):
        verdict = ledger.record(f"tool_number_{turn % 30:012d}_of_many", {"x": "y" * 200}, "r" * 200, step=10**9 + turn)
    assert verdict.kind == "cycle" and verdict.period == 30
    assert "and 24 more" in verdict.reason and len(verdict.reason) < 400
    assert len(ledger.render()) <= 2000 and "Going in circles: cycle of period 30" in ledger.render()


def test_a_result_with_half_a_character_does_not_keep_the_ledger_out_of_the_checkpoint(tmp_path: Path) -> None:
    ledger = Ledger()
    for _ in range(3):
        ledger.record("run\ud800", {"path": "a\ud800"}, None, error="Error: it could not be read \ud83d at all")
        ledger.record("edit\ud800", '{"path": "a\ud800", "old_string": "x", "new_string": "y"}', "cut \ud83d")
    record("r", folder=tmp_path).save([], state={"ledger": ledger.to_dict()})
    kept = load("r", tmp_path).state
    assert kept is not None
    again = Ledger.from_dict(kept["ledger"])
    ledger.render().encode()
    more = ("run\ud800", {"path": "a\ud800"}, "other \ud83d")
    assert again.record(*more) == ledger.record(*more)


def test_a_saved_ledger_with_a_kind_that_is_no_text_is_refused_in_one_line() -> None:
    ledger = Ledger()
    for _ in range(3):
        ledger.record("a", {}, "same")
    saved = ledger.to_dict()
    saved["detector"]["groups"][0]["kind"] = ["repeat"]
    with pytest.raises(ValueError, match="saved ledger, groups: a text was expected, not list"):
        Ledger.from_dict(saved)


def _nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def _turning() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["me"] = value
    return value


@pytest.mark.parametrize(
    "arguments", [_nested(600), _nested(100_000), _turning(), {"n": 10**5000}], ids=["deep", "deeper", "turning", "big"]
)
def test_arguments_that_cannot_be_written_break_no_loop_and_are_told_from_others(arguments: dict[str, Any]) -> None:
    ledger = Ledger()
    said = [ledger.record("run", arguments, "same").action for _ in range(4)]
    assert said == ["continue", "continue", "warn", "stop"]
    assert ledger.record("run", {"a": {}}, "same").action == "continue"
    assert Ledger.from_dict(json.loads(json.dumps(ledger.to_dict()))).render() == ledger.render()
