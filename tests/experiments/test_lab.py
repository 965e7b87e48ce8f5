"""The lab: what stands in the prompt decides whether the scripted model obeys, and only the string buries its goal."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.experiments import lab
from agentmem.experiments.lab.model import GOAL_FILE, SIGHT, act, note_file, report
from agentmem.experiments.lab.turns import STATE_BUDGET, flat
from agentmem.tokens import chars4

GOAL = lab.goal()


def test_the_growing_string_leaves_its_goal_and_the_bounded_state_does_not() -> None:
    found = lab.run()
    assert len(found.rows) == 30
    assert found.on_goal == {"string": False, "state": True}
    assert found.strayed_at["state"] is None
    first = found.strayed_at["string"]
    assert first is not None and [row.string_on_goal for row in found.rows] == [n < first for n in range(1, 31)]


def test_the_string_strays_exactly_when_its_goal_is_out_of_sight() -> None:
    for turn in lab.string_run():
        assert (GOAL in flat(turn.prompt)[-4 * SIGHT :]) == turn.on_goal == (turn.action.why == "goal")


def test_the_string_grows_at_every_iteration_and_the_state_stays_bounded() -> None:
    rows = lab.run(90).rows
    assert all(a.string_tokens < b.string_tokens for a, b in pairwise(rows))
    longest_report = max(chars4(report(n, f"A{n:02d}")) for n in range(1, 91))
    assert max(row.state_tokens for row in rows) <= STATE_BUDGET + longest_report + 1


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 40))
def test_the_goal_stands_last_in_every_prompt_of_the_state(iterations: int) -> None:
    for turn in lab.state_run(iterations):
        assert flat(turn.prompt).endswith(lab.goal(iterations))
        assert turn.goal_depth == 0
    assert all(turn.goal_depth > 0 for turn in lab.string_run(iterations))


def test_every_reading_that_was_written_is_the_one_of_its_report() -> None:
    for turn in (*lab.string_run(40), *lab.state_run(40)):
        meter = f"A{turn.n:02d}"
        assert turn.action.meter == meter
        assert f"Reading now {turn.action.reading}," in report(turn.n, meter)


def test_the_model_follows_what_stands_in_its_sight() -> None:
    note = next(n for n in range(1, 20) if note_file(n))
    text, other = report(note, "A01"), report(note + 1, "A02")
    habit = 'record {"file": "mine.csv", "meter": "A01", "reading": 1}'
    far = "x" * 4 * SIGHT
    assert act(f"{GOAL}\n\n{text}").file == GOAL_FILE
    assert act(f"{text}\n\n{GOAL}").file == GOAL_FILE
    assert act(f"{GOAL}{far}\n\n{text}").file == note_file(note)
    assert act(f"{GOAL}{far}\n{habit}\n\n{other}").file == "mine.csv"
    assert act(f"{GOAL}{far}\n\n{other}").why == "nothing"
    with pytest.raises(ValueError, match="no report"):
        act(GOAL)


def test_what_the_budget_keeps_out_of_a_prompt_is_a_drop_and_stays_in_the_state() -> None:
    turns = lab.state_run(60)
    assert any(turn.drops for turn in turns)
    for turn in turns:
        assert turn.state is not None
        held = turn.state["facts"]
        assert isinstance(held, dict)
        for drop in turn.drops:
            assert drop.recorded and drop.text
            if drop.name.startswith("facts."):
                name = drop.name.removeprefix("facts.")
                assert name in held and f'"{name}":' not in flat(turn.prompt)


def test_the_document_has_the_keys_of_the_contract() -> None:
    document = lab.run(3).to_dict()
    assert json.loads(json.dumps(document)) == document
    assert document["schema"] == "agentmem.lab/1"
    rows = document["rows"]
    assert isinstance(rows, list)
    for row in rows:
        assert {"iteration", "string_tokens", "state_tokens", "string_goal_depth", "state_goal_depth"} <= set(row)


def test_the_table_says_every_figure_and_fits_in_80_columns() -> None:
    found = lab.run()
    text = lab.lab_table(found)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    for row, line in zip(found.rows, lines[1:], strict=True):
        cells = line.split()
        assert cells[:3] == [str(row.iteration), str(row.string_tokens), str(row.string_goal_depth)]
        assert cells[5:7] == [str(row.state_tokens), str(row.state_goal_depth)]
    string, state = lab.verdicts(found)
    assert string.startswith("growing string: ") and string.endswith(
        f"off goal from iteration {found.strayed_at['string']}"
    )
    assert state.startswith("bounded state: ") and state.endswith("on goal to the end")


@pytest.mark.parametrize("iterations", [0, -3, lab.MOST_ITERATIONS + 1])
def test_a_bad_number_of_iterations_is_one_clear_line(iterations: int) -> None:
    with pytest.raises(ValueError, match=f"iterations {iterations}: not between 1 and"):
        lab.run(iterations)
