"""The water-meter experiment gives the published figures to the last digit, and holds its rules for any window."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.experiments import experiment
from agentmem.experiments.experiment import world
from agentmem.experiments.experiment.simulate import load, simulate

EXPECTED = Path(__file__).with_name("water_meter_expected.json")
SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "water_meter.json"

windows = st.none() | st.integers(0, 400)
offsets = st.integers(-5, 10_000)
names = st.sampled_from(sorted(world.tasks()))


@cache
def expected() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(EXPECTED.read_text(encoding="utf-8"))
    return found


def test_the_published_rows_come_out_byte_for_byte() -> None:
    ours = "\n".join(json.dumps(row.to_dict()) for row in experiment.published_rows())
    assert ours == "\n".join(json.dumps(row) for row in expected()["expected_runs"])


def test_the_published_profile_comes_out_byte_for_byte() -> None:
    want = expected()["expected_profile"]
    rows = [row.to_dict() for row in experiment.profile(want["task"], want["window"])]
    assert [list(row) for row in rows] == [want["columns"]] * len(want["rows"])
    assert [list(row.values()) for row in rows] == want["rows"]


def test_the_tasks_and_the_subscribers_are_the_published_ones() -> None:
    assert [[task.name, task.kind, task.subscriber] for task in world.tasks().values()] == expected()["tasks"]
    subs = world.subscribers()
    for name, values in expected()["subscribers_first_3"].items():
        sub = subs[name]
        assert {"bolge": sub.bolge, "tip": sub.tip, "onceki": sub.onceki, "simdiki": sub.simdiki} == values
    assert sum(sub.onceki for sub in subs.values()) == expected()["subscribers_sum_onceki"]
    assert sum(sub.simdiki for sub in subs.values()) == expected()["subscribers_sum_simdiki"]


@pytest.mark.skipif(not SHARED.exists(), reason="the published data file is not beside the project")
def test_data_and_expected_figures_are_those_of_the_published_file() -> None:
    shared = json.loads(SHARED.read_text(encoding="utf-8"))
    package = Path(experiment.__file__).parents[1] / "water_meter.json"
    ours = json.loads(package.read_text(encoding="utf-8")) | expected()
    assert ours | {"about": ""} == shared | {"about": ""}


def test_the_published_table_shows_every_figure_of_every_row() -> None:
    text = experiment.published_table()
    head, profile, dropped = text.split("\n\n")
    lines = head.splitlines()[1:]
    for line, row in zip(lines, expected()["expected_runs"], strict=True):
        window = "unlimited" if row["window"] is None else str(row["window"])
        assert line.split() == [
            window, f"+{row['seed_offset']}", f"{row['correct']}/{row['tasks']}", str(row["tool_errors"]),
            str(row["steps"]), str(row["total_tokens"]), f"{row['tokens_per_call']:.1f}", f"{row['fits']:.2f}",
            str(row["dropped"]),
        ]  # fmt: skip
    cells = [[str(cell) for cell in row] for row in expected()["expected_profile"]["rows"]]
    assert [line.split() for line in profile.splitlines()[2:]] == cells
    fields = {line.split()[0]: line.split()[1:] for line in dropped.splitlines()[1:]}
    columns = [row for row in expected()["expected_runs"] if row["dropped"]]
    for i, row in enumerate(columns):
        assert {name: int(cells[i]) for name, cells in fields.items() if cells[i] != "-"} == row["dropped_by_field"]
    assert max(map(len, text.splitlines())) <= 80


def test_a_narrow_window_saves_no_tokens_a_call_and_costs_more_in_total() -> None:
    wide, narrow = experiment.run(None), experiment.run(120)
    assert narrow.tokens_per_call > wide.tokens_per_call
    assert round(100 * narrow.total_tokens / wide.total_tokens) == 129


def test_the_document_has_the_keys_of_the_contract() -> None:
    document = experiment.document([experiment.run(200)], experiment.profile("G15"))
    assert document["schema"] == "agentmem.experiment/1"
    assert json.loads(json.dumps(document)) == document
    assert "profile" not in experiment.document([])


@settings(max_examples=60, deadline=None)
@given(names, windows, offsets)
def test_nothing_is_over_the_window_unless_a_single_field_is_left(name: str, window: int | None, offset: int) -> None:
    trace = simulate(name, window, offset)
    assert trace.steps <= 8
    for call in trace.calls:
        assert call.state == load(call.held)
        assert window is None or call.total <= window or len(call.held) == 1


@settings(max_examples=60, deadline=None)
@given(names, windows, offsets)
def test_every_field_that_leaves_is_reported_and_the_oldest_leave_first(
    name: str, window: int | None, offset: int
) -> None:
    trace = simulate(name, window, offset)
    before = dict(trace.start)
    for call in trace.calls:
        if call.tool == "kayit_yaz":
            before["deger"] = before.get("sonuc")
        assert list(before.items()) == [*call.dropped, *call.held.items()]
        before = dict(call.after)


@settings(max_examples=30, deadline=None)
@given(names, offsets)
def test_without_a_window_nothing_is_dropped_and_the_state_never_shrinks(name: str, offset: int) -> None:
    trace = simulate(name, None, offset)
    assert trace.fits == len(trace.calls) and not any(call.dropped for call in trace.calls)
    assert all(set(one.held) <= set(two.held) for one, two in pairwise(trace.calls))


@settings(max_examples=30, deadline=None)
@given(names, windows, offsets)
def test_a_run_is_the_same_every_time(name: str, window: int | None, offset: int) -> None:
    assert simulate(name, window, offset) == simulate(name, window, offset)


def test_bad_windows_and_tasks_are_one_clear_line() -> None:
    with pytest.raises(ValueError, match="window -1: a window is a number of tokens"):
        experiment.run(-1)
    with pytest.raises(ValueError, match="unknown task 'G25'; there are G01 to G24"):
        experiment.profile("G25")
    for text in ("", "ten", "1e3", "2_0", "--4", "-", "٣"):
        with pytest.raises(ValueError, match="not a number of tokens"):
            experiment.parse_window(text)
    with pytest.raises(ValueError, match="0 or more"):
        experiment.parse_window("-4")
    assert [experiment.parse_window(text) for text in ("unlimited", "120")] == [None, 120]


@pytest.mark.parametrize(("offset", "shown"), [(-1, "-1"), (0, "+0"), (3, "+3")])
def test_a_seed_offset_is_shown_with_its_own_sign(offset: int, shown: str) -> None:
    row = experiment.run(120, offset)
    row = replace(next(row for row in experiment.published_rows() if row.dropped), window=120, seed_offset=offset)
    table = experiment.rows_table([row]) + experiment.dropped_table([row])
    assert f" {shown} " in table and f"120{shown}" in table and "+-" not in table
    assert f"seed {shown}" in experiment.profile_table("G12", 120, offset)
    assert f"seed {shown}" in experiment.plot_svg([row])
