"""The conformance suite over every store that there is."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from agentmem.checkpoint.conformance import CHECKS, Check
from agentmem.checkpoint.files import FileStore
from agentmem.checkpoint.postgres import PostgresStore
from agentmem.checkpoint.sqlite import SqliteStore
from tests.postgres import server

SCHEMAS = itertools.count(1)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_files(check: Check, tmp_path: Path) -> None:
    check(lambda: FileStore(tmp_path / "runs"))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_sqlite(check: Check, tmp_path: Path) -> None:
    check(lambda: SqliteStore(tmp_path / "runs.db"))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_postgres(check: Check) -> None:
    address, schema = server().address("postgres"), f"c_{next(SCHEMAS)}"
    check(lambda: PostgresStore(address, schema=schema))
