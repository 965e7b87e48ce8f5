"""The recorded runs of both experiments, read back through the checkpoint and through the inspector."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentmem.checkpoint.recorder import history, load
from agentmem.checkpoint.store import ConflictError
from agentmem.experiments import experiment, lab
from agentmem.experiments.experiment.runs import INSTRUCTIONS, line, state_text
from agentmem.experiments.experiment.simulate import TRACE_FIRST, TRACE_PER_CALL
from agentmem.inspect.open import open_run
from agentmem.model import Drop, Run
from agentmem.tokens import pieces5

WINDOWS = (None, 260, 150, 120)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("runs")
    for window in WINDOWS:
        experiment.write_runs(made, window)
    lab.write_runs(made)
    return made


def opened(folder: Path, task: str, window: int | None) -> Run:
    return open_run(str(folder / f"{experiment.run_id(task, window)}.json"), counter="pieces5").run


def silent(run: Run) -> list[Drop]:
    return [
        drop for step in run.lanes[0].steps for drop in step.drops if drop.what == "field" and drop.cause == "silent"
    ]


def test_the_texts_of_a_prompt_weigh_what_the_experiment_counts() -> None:
    assert pieces5(INSTRUCTIONS) == TRACE_FIRST
    for window in WINDOWS:
        for task in experiment.tasks():
            for call in experiment.simulate(task, window).calls:
                assert pieces5(line(call)) == TRACE_PER_CALL
                assert pieces5(state_text(call.held)) == call.state


@pytest.mark.parametrize("window", WINDOWS)
def test_the_inspector_counts_every_prompt_as_the_experiment_does(folder: Path, window: int | None) -> None:
    for task in experiment.tasks():
        run, trace = opened(folder, task, window), experiment.simulate(task, window)
        steps = run.lanes[0].steps
        assert [step.tokens.prompt for step in steps] == [call.total for call in trace.calls]
        assert [step.usage.prompt if step.usage else None for step in steps] == [call.total for call in trace.calls]
        assert [step.attempts[0].tool for step in steps] == [call.tool for call in trace.calls]
        outcomes = ["error" if call.error else "ok" for call in trace.calls]
        assert [step.attempts[0].outcome for step in steps] == outcomes
        assert (run.provenance, run.status, run.window, run.problems) == ("exact", "ended", window, ())


def test_without_a_window_the_inspector_finds_no_drop(folder: Path) -> None:
    for task in experiment.tasks():
        assert not any(step.drops for step in opened(folder, task, None).lanes[0].steps)


def test_the_inspector_finds_what_the_window_dropped_in_silence(folder: Path) -> None:
    """`kod` is left out: its value stands in `sonuc` too, so that losing it loses nothing."""
    for window in (260, 150, 120):
        found: dict[str, int] = {}
        for task in experiment.tasks():
            for drop in silent(opened(folder, task, window)):
                found[drop.name] = found.get(drop.name, 0) + 1
        want = dict(experiment.run(window).dropped_by_field)
        assert {name: n for name, n in found.items() if name not in ("goal", "kod")} == {
            name: n for name, n in want.items() if name != "kod"
        }


def test_abone_leaves_the_state_and_the_next_call_that_needs_it_fails(folder: Path) -> None:
    run = opened(folder, "G12", 120)
    (gone,) = [drop for drop in silent(run) if drop.name == "abone"]
    assert gone.text == experiment.tasks()["G12"].subscriber
    assert [(miss.tool, miss.error) for miss in gone.missed_by] == [("sayac_oku", "abone yok")]
    failed = next(step for step in run.lanes[0].steps if step.number == gone.missed_by[0].step)
    assert failed.attempts[0].arguments == '{"abone":null}'
    assert "abone" not in {field.name for field in failed.fields}


def test_the_checkpoints_hold_state_messages_and_how_the_run_ended(folder: Path) -> None:
    for task in experiment.tasks():
        trace = experiment.simulate(task, 120)
        versions = [version for version in history(experiment.run_id(task, 120), folder) if version.status == "live"]
        assert [version.state for version in versions] == [dict(call.after) for call in trace.calls]
        newest = load(experiment.run_id(task, 120), folder)
        assert len(newest.messages) == 1 + 2 * len(trace.calls)
        end = "done" if trace.ended else "out of steps"
        assert newest.status == f"{end}, answer {'right' if trace.correct else 'wrong'}"


def test_both_runs_of_the_lab_open_in_the_inspector(folder: Path) -> None:
    turns = {"lab-string": lab.string_run(), "lab-state": lab.state_run()}
    for name, played in turns.items():
        run = open_run(str(folder / f"{name}.json")).run
        steps = run.lanes[0].steps
        assert len(steps) == len(played) == 30
        assert run.goal == lab.goal() and run.provenance == "exact"
        assert {step.goal for step in steps} == ({"last"} if name == "lab-state" else {"buried"})
        assert all(drop.recorded for step in steps for drop in step.drops)
        assert bool([drop for step in steps for drop in step.drops]) == (name == "lab-state")


def test_writing_again_changes_nothing_and_another_run_is_refused(tmp_path: Path) -> None:
    paths = experiment.write_runs(tmp_path, 120, ["G15", "G01"])
    assert [path.name for path in paths] == ["water-120-G15.json", "water-120-G01.json"]
    lab.write_runs(tmp_path, 2)
    before = {path: path.read_bytes() for path in sorted(tmp_path.iterdir())}
    assert experiment.write_runs(tmp_path, 120, ["G15", "G01"]) == paths
    with pytest.raises(ConflictError, match=r"lab-string\.json: another run stands there"):
        lab.write_runs(tmp_path, 3)
    assert {path: path.read_bytes() for path in sorted(tmp_path.iterdir())} == before


def test_a_seed_has_runs_of_its_own_and_an_unknown_task_writes_nothing(tmp_path: Path) -> None:
    assert experiment.write_runs(tmp_path, None, ["G07"], 1)[0].name == "water-unlimited-G07-seed1.json"
    with pytest.raises(ValueError, match="unknown task"):
        experiment.write_runs(tmp_path / "other", 120, ["G07", "G77"])
    assert not (tmp_path / "other").exists()
