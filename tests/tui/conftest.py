"""The option that draws the pictures anew."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--refresh-snapshots", action="store_true", help="write the pictures of the screen anew")


@pytest.fixture
def refresh(request: pytest.FixtureRequest) -> bool:
    """False too where the option is unknown, because pytest was started above this folder."""
    return bool(request.config.getoption("--refresh-snapshots", default=False))
