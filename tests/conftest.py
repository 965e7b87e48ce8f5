"""What every test stands on: a home of its own, generated examples without a clock, the real files if there are any."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
REAL = ROOT.parent / "shared" / "real"

# No deadline: the suite holds no timed tests. Derandomised under CI, so that a failure there can be seen here.
settings.register_profile(
    "suite",
    deadline=None,
    max_examples=60,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("suite")

_HOMES = itertools.count()
_SEEN_BY_US = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "CLAUDE_CONFIG_DIR", "CODEX_HOME")


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def home(_homes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A fresh home for each test: nothing is read from the person's own, and nothing is written there."""
    path = _homes / str(next(_HOMES))
    path.mkdir()
    monkeypatch.setenv("HOME", str(path))
    for name in ("STATE", "CONFIG", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(path / name.lower()))
    for name in _SEEN_BY_US:
        monkeypatch.delenv(name, raising=False)
    yield path


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's folder."""
    return ROOT


@pytest.fixture(scope="session")
def real() -> Path:
    """The folder of real files beside the project; the test is skipped where there is none."""
    if not REAL.is_dir():
        pytest.skip("the real files are not beside this checkout")
    return REAL
