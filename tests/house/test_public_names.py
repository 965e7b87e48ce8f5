"""The names that the documents mention are there for whoever imports `agentmem`, and a type checker knows them."""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import Any

import pytest

import agentmem
from tests.house.tree import ROOT, parsed, python, short, sources

PAGES = ("README.md", "docs/index.md", "docs/library.md", "docs/stores.md")
TABLES = {"agentmem.runs", "agentmem.steps", "agentmem.memories"}
"""Of the database, in the schema `agentmem`."""
NOT_OURS = {"MyStore", "run_id"}
"""What a reader writes, and a column of the database."""
DOTTED = re.compile(r"(?<![\w./'-])agentmem(?:\.[A-Za-z_]\w*)+")
LOOKS_PUBLIC = re.compile(r"(?<![\w.$-])(?:[A-Z]+[a-z]+[A-Z]\w*|[A-Z]+_[A-Z_]+|[a-z]+_[a-z_]+)\b")
"""`DamagedError`, `NOT_DONE`, `drop_oldest`; a single lower-case word may be a parameter or a method."""


def spans(page: str) -> list[str]:
    """What stands as code in the prose of a page."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", page, flags=re.DOTALL))


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


def without_strings(block: str) -> str:
    """Names and comments of a block, without the texts in it."""
    read = tokenize.generate_tokens(io.StringIO(block).readline)
    return " ".join(token.string for token in read if token.type in (tokenize.NAME, tokenize.COMMENT))


def imported_from(block: str) -> list[tuple[str, str]]:
    """(module, name) of every import of ours."""
    return [
        (node.module, name.name)
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("agentmem")
        for name in node.names
    ]


def resolve(dotted: str) -> Any:
    """The module, or what stands in one, by its whole name. Raises ImportError, AttributeError."""
    parts = dotted.split(".")
    held: Any = importlib.import_module(parts[0])
    for at, part in enumerate(parts[1:], start=2):
        path = ".".join(parts[:at])
        held = importlib.import_module(path) if is_module(path) else getattr(held, part)
    return held


def is_module(dotted: str) -> bool:
    try:
        return importlib.util.find_spec(dotted) is not None
    except ModuleNotFoundError:  # its parent is no package
        return False


def functions() -> set[str]:
    """Public functions of the rooms that an agent's author uses."""
    rooms = ("agentmem/memory/", "agentmem/checkpoint/", "agentmem/ledger/")
    return {
        node.name
        for path in sources("agentmem")
        if short(path).startswith(rooms)
        for node in parsed(path).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }


@pytest.mark.parametrize("page", PAGES)
def test_every_name_that_a_page_mentions_can_be_imported_from_where_it_says(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    code = [*spans(text), *blocks(text)]
    whole = {name for one in code for name in DOTTED.findall(one)} - TABLES
    whole |= {f"{module}.{name}" for block in blocks(text) for module, name in imported_from(block)}
    missing = [name for name in sorted(whole) if not found(name)]
    bare = {name for one in (*spans(text), *map(without_strings, blocks(text))) for name in LOOKS_PUBLIC.findall(one)}
    bare = {name for name in bare if not name.islower() or name in functions()} - NOT_OURS - set(dir(builtins))
    missing += [name for name in sorted(bare) if not found(f"agentmem.{name}")]
    assert not missing, f"{page} names what cannot be imported: {', '.join(missing)}"


def found(dotted: str) -> bool:
    try:
        resolve(dotted)
    except (ImportError, AttributeError):
        return False
    return True


def test_every_exception_that_the_documented_calls_raise_stands_at_the_top() -> None:
    told = {
        name
        for module in map(importlib.import_module, agentmem._MODULES)
        for call in vars(module).values()
        for method in (call, *(vars(call).values() if isinstance(call, type) else ()))
        for name in re.findall(r"\b[A-Z]\w+Error\b|\bInDoubt\b|\bUnreachable\b", getattr(method, "__doc__", None) or "")
    }
    assert {"DamagedError", "InDoubt", "SaveError"} <= told
    lost = sorted(name for name in told if not hasattr(agentmem, name) and not hasattr(builtins, name))
    assert not lost, f"agentmem has no {', '.join(lost)}"


def test_the_names_for_programs_and_for_type_checkers_are_the_same() -> None:
    tree = parsed(ROOT / "agentmem" / "__init__.py")
    typed = {
        (node.module, name.name)
        for branch in tree.body
        if isinstance(branch, ast.If)
        for node in branch.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
        if name.asname == name.name
    }
    assert typed == {(module, name) for name, module in agentmem._PLACES.items()}
    assert sorted(agentmem.__all__) == sorted(agentmem._PLACES)
    assert all(getattr(agentmem, name) is resolve(f"{module}.{name}") for name, module in agentmem._PLACES.items())


def test_a_misspelt_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'recrod'"):
        agentmem.recrod  # type: ignore[attr-defined]  # noqa: B018  # mypy has to see that it is none


def test_importing_the_library_loads_nothing_of_its_rooms() -> None:
    done = python((), "import sys, agentmem\nprint(*[name for name in sys.modules if name.startswith('agentmem')])")
    assert done.stdout.split() == ["agentmem"], done.stderr


PROGRAM = """
import agentmem
from agentmem import Recorder

class Client: ...

run: Recorder = agentmem.record("parser", store="runs.db")
client: Client = agentmem.wrap(Client(), run)
step: int = run.save([])
try:
    version: agentmem.Checkpoint = agentmem.load("parser")
except (agentmem.DamagedError, agentmem.ConflictError) as error:
    print(error)
action: str = agentmem.Ledger().record("read", {"path": "a"}, ["a", 1], error=ValueError("x")).action
"""
WRONG = {
    "agentmem.recrod('parser')": 'Module has no attribute "recrod"',
    "from agentmem import Recroder": 'Module "agentmem" has no attribute "Recroder"',
    "agentmem.wrap()": 'Missing positional arguments "client", "run"',
    "number: int = agentmem.load('parser').goal": "Incompatible types in assignment",
}


def test_a_type_checker_knows_the_good_names_and_refuses_the_misspelt(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="needs the lint extra")
    good, wrong = tmp_path / "good.py", tmp_path / "wrong.py"
    good.write_text(PROGRAM)
    wrong.write_text("\n".join(["import agentmem", *WRONG]))
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path / 'cache'}", "--config-file="]
    done = subprocess.run([*command, str(good), str(wrong)], cwd=ROOT, capture_output=True, text=True, check=False)
    said = done.stdout.splitlines()
    assert not [line for line in said if "good.py" in line], done.stdout
    for number, message in enumerate(WRONG.values(), start=2):
        assert any(f"wrong.py:{number}: error: {message}" in line for line in said), done.stdout
