"""What tests of several readers share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def maker(root: Path) -> Iterator[Any]:
    """The module that makes opencode's samples: `Store` writes rows and `Files` a tree as it does."""
    sys.path.insert(0, str(root / "sample_runs"))
    yield import_module("make_opencode")
    sys.path.remove(str(root / "sample_runs"))
