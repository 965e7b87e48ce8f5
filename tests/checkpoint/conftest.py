"""Postgres for the tests of checkpoints."""

from __future__ import annotations

import pytest

from tests import postgres


@pytest.fixture
def database() -> str:
    """Address of a new, empty database."""
    return postgres.server().database()
