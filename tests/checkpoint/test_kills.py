"""kill -9 at random points, over every store: no acknowledged step lost, no call made twice, a run resumed exactly.

`AGENTMEM_KILLS=200 pytest tests/checkpoint/test_kills.py` for the long run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from agentmem.checkpoint.recorder import history, load
from agentmem.checkpoint.store import MissingError
from tests import postgres

KILLS = int(os.environ.get("AGENTMEM_KILLS", "12"))
HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def child(script: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(HERE / script), *arguments],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.fixture(params=["files", "sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store as a child is told of it: a folder, a file, an address."""
    if request.param == "postgres":
        return postgres.server().database()
    if request.param == "sqlite":
        return str(tmp_path / "runs.db")
    (tmp_path / "runs").mkdir()
    return str(tmp_path / "runs")


def store_of(place: str) -> str | None:
    return None if os.path.isdir(place) else place


def test_no_call_is_made_twice_and_no_saved_step_is_lost(place: str, tmp_path: Path) -> None:
    world = tmp_path / "world"
    world.touch()
    random = Random(11)
    acknowledged = doubts = 0
    for _ in range(KILLS):
        process = child("guard_child.py", place, str(world))
        assert process.stdout is not None
        ready = process.stdout.readline().split()
        assert ready[:1] == [b"ready"] and int(ready[1]) >= acknowledged, "an acknowledged step was lost"
        time.sleep(random.random() * 0.03)
        process.kill()
        lines = process.stdout.read().split(b"\n")[:-1]
        process.stdout.close()
        process.wait()
        assert not [line for line in lines if line.startswith(b"blocked")]
        doubts += sum(line.startswith(b"doubt") for line in lines)
        saved = [int(line.split()[1]) for line in lines if line.startswith(b"saved")]
        acknowledged = max([acknowledged, *saved])
    twice = [key for key, count in Counter(world.read_bytes().split()).items() if count > 1]
    assert not twice, "these were sent twice"
    try:
        now = load("mailer", place, store=store_of(place))
    except MissingError:
        assert acknowledged == 0
        return
    assert now.step >= acknowledged and now.state == {"sent": now.step}
    assert [m["content"] for m in now.messages] == [f"sent {n}" for n in range(1, now.step + 1)]
    assert len(set(world.read_bytes().split())) - now.step in (0, 1), "one mail a step, and the one under way"
    print(f"{KILLS} kills: {now.step} steps, {doubts} doubts, no blind repeat")


def test_a_run_of_200_steps_goes_on_after_a_kill_with_a_byte_identical_state(place: str, tmp_path: Path) -> None:
    process = child("long_child.py", place, "120")
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= 90:
            break
    process.kill()
    process.stdout.close()
    process.wait()
    again = subprocess.run(
        [sys.executable, str(HERE / "long_child.py"), place, "200"],
        capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr.decode()
    straight = tmp_path / "straight"
    straight.mkdir()
    whole = subprocess.run(
        [sys.executable, str(HERE / "long_child.py"), str(straight), "200"],
        capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert whole.returncode == 0, whole.stderr.decode()
    assert again.stdout.split(b"\n")[-2] == whole.stdout.split(b"\n")[-2], "state and messages, as bytes"
    assert [version.step for version in history("long", place, store=store_of(place))] == list(range(1, 201))
