"""The samples: made again they are the same, they are small, and what their page says happens in them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentmem.inspect.open import open_run
from agentmem.model import Drop, Run
from tests.house.tree import files

SMALL = 1_500_000
"""Bytes of all samples together."""


@pytest.fixture(scope="module")
def samples(root: Path) -> Path:
    return root / "sample_runs"


def opened(path: Path) -> Run:
    return open_run(str(path)).run


def lost(run: Run) -> dict[str, Drop]:
    """Unrecorded drops of fields by name, the earliest of each."""
    found: dict[str, Drop] = {}
    for step in run.main.steps:
        for drop in step.drops:
            if drop.alarming:
                found.setdefault(drop.name.removeprefix("facts."), drop)
    return found


def test_every_maker_makes_the_same_bytes_again(samples: Path, tmp_path: Path) -> None:
    makers = sorted(samples.glob("make*.py"))
    assert makers
    for maker in makers:
        done = subprocess.run(
            [sys.executable, str(maker), str(tmp_path)], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, f"{maker.name}: {done.stderr}"
    kept = {path.relative_to(samples) for path in files() if path.is_relative_to(samples)}
    kept = {path for path in kept if path.suffix != ".py" and path.name != "README.md"}
    made = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert made == kept, "run the makers of sample_runs again"
    other = [str(path) for path in sorted(kept) if (samples / path).read_bytes() != (tmp_path / path).read_bytes()]
    assert not other, f"made again these differ: {', '.join(other)}"


def test_the_samples_stay_small(samples: Path) -> None:
    held = [path for path in files() if path.is_relative_to(samples)]
    assert sum(path.stat().st_size for path in held) < SMALL


def test_the_demo_loses_the_order_id_and_fails_for_it(samples: Path) -> None:
    run = opened(samples / "fix-parser.json")
    drop = lost(run)["order_id"]
    assert (drop.step, drop.cause, [miss.step for miss in drop.missed_by]) == (29, "silent", [30])
    assert [(one.kind, one.period, one.steps[0]) for one in run.cycles] == [("cycle", 2, 20)]
    assert [one.steps for one in run.waiting] == [(10, 11, 12, 13)]


def test_the_growing_string_buries_the_goal_and_the_state_does_not(samples: Path) -> None:
    string, state = opened(samples / "lab-string.json"), opened(samples / "lab-state.json")
    assert string.main.steps[-1].goal == "buried"
    assert {step.goal for step in state.main.steps} == {"last"}
    assert not lost(state)
    last, first = string.main.steps[-1].tokens.prompt, string.main.steps[0].tokens.prompt
    bound = state.main.steps[-1].tokens.prompt
    assert first and last and bound and last > 3 * bound > 3 * first


def test_the_water_meter_loses_the_subscriber_and_fails_for_it(samples: Path) -> None:
    drop = lost(opened(samples / "water-120-G12.json"))["abone"]
    assert drop.step == 3 and not drop.recorded
    assert [(miss.tool, miss.step) for miss in drop.missed_by] == [("sayac_oku", 6)]


def test_the_cycle_has_period_three_and_an_end(samples: Path) -> None:
    run = opened(samples / "cycle-of-three.json")
    assert [(one.period, one.steps, one.ended_at) for one in run.cycles] == [(3, tuple(range(3, 12)), 12)]
    assert not run.waiting


def test_polling_is_no_loop(samples: Path) -> None:
    run = opened(samples / "polling.json")
    assert not run.cycles
    (wait,) = run.waiting
    assert wait.steps == tuple(range(2, 12)), "the answer that the build is done is the last poll"
    polled = [step.tokens.prompt for step in run.main.steps if step.number in wait.steps]
    assert wait.count == len(polled) and wait.tokens == sum(cost or 0 for cost in polled)


def test_the_plain_checkpoint_gives_its_steps_with_the_files_numbers(samples: Path) -> None:
    run = opened(samples / "plain.json")
    assert run.format == "checkpoint" and run.provenance == "reconstructed"
    assert [step.own for step in run.main.steps if not step.open] == list(range(1, 11))


def test_the_window_of_the_request_log_loses_the_goal(samples: Path) -> None:
    run = opened(samples / "requests.jsonl")
    assert run.provenance == "exact"
    assert next(step.n for step in run.main.steps if step.goal == "missing") == 6
    trimmed = [drop for step in run.main.steps[6:14] for drop in step.drops]
    assert {drop.cause for drop in trimmed} == {"trimmed"} and all(drop.count > 1 for drop in trimmed)
