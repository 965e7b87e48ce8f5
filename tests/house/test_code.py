"""What no source of ours may do: run or expand data, silence an error or a checker without a word."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import CODE, PACKAGES, comments, dotted, imported, parsed, short, sources

RUNS_DATA = {"pickle", "_pickle", "cPickle", "marshal", "shelve", "jsonpickle", "dill", "cloudpickle", "joblib"}
RUNS_DATA_NAMES = {"JsonPlusSerializer", "jsonplus"}
BUILTINS = {"eval", "exec", "compile", "__import__"}
CALLS = {
    "yaml.load", "yaml.load_all", "yaml.full_load", "yaml.unsafe_load", "os.system", "os.popen", "string.Template",
    "builtins.eval", "builtins.exec",
}  # fmt: skip
EXPANDS = {"format", "format_map"}
SILENCER = re.compile(r"(type:\s*ignore(\[[\w\-, ]*\])?|noqa(:\s*[A-Z]+\d+(\s*,\s*[A-Z]+\d+)*)?)")
REASON_LETTERS = 6


def unsafe(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, what) of everything that could run or expand outside data."""
    for line, name in imported(tree):
        if RUNS_DATA.intersection(name.split(".")) or RUNS_DATA_NAMES.intersection(name.split(".")):
            yield line, f"imports {name}"
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func)
        if name in BUILTINS or name in CALLS:
            yield node.lineno, f"calls {name}"
        if isinstance(node.func, ast.Attribute) and node.func.attr in EXPANDS:
            given = node.func.value
            literal = isinstance(given, ast.Constant) and isinstance(given.value, str)
            if not (literal or dotted(given).isupper()):
                yield node.lineno, f"calls .{node.func.attr} on what is neither a literal nor a constant"
        if any(word.arg == "shell" and not _is_false(word.value) for word in node.keywords):
            yield node.lineno, "passes shell="


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def silent(path: Path) -> Iterator[int]:
    """Lines of handlers that do nothing and do not say why."""
    said = {line for line, _ in comments(path)}
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ExceptHandler) and all(isinstance(one, ast.Pass | ast.Continue) for one in node.body):
            last = node.body[-1].end_lineno or node.lineno
            if not said.intersection(range(node.lineno - 1, last + 1)):
                yield node.lineno


def test_no_source_runs_or_expands_outside_data() -> None:
    found = [f"{short(path)}:{line} {what}" for path in sources(*PACKAGES) for line, what in unsafe(parsed(path))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "def f():\n    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer",
        "import yaml\nyaml.load(x)",
        "eval(x)",
        "template.format(**data)",
        "subprocess.run(x, shell=True)",
    ],
)
def test_the_check_itself_sees_what_runs_or_expands_data(code: str) -> None:
    assert list(unsafe(ast.parse(code)))


@pytest.mark.parametrize(
    "code", ["import json", "re.compile(x)", "'{}'.format(x)", "_REFUSED.format(x)", "yaml.safe_load(x)"]
)
def test_the_check_itself_lets_harmless_code_through(code: str) -> None:
    assert not list(unsafe(ast.parse(code)))


def test_no_error_is_swallowed_without_a_word() -> None:
    found = [f"{short(path)}:{line}" for path in sources(*PACKAGES, "benchmarks") for line in silent(path)]
    assert not found, "say in a comment why nothing is done:\n" + "\n".join(found)


def test_a_silenced_checker_carries_its_code_and_a_reason() -> None:
    found = []
    for path in sources(*CODE):
        for line, comment in comments(path):
            match = SILENCER.search(comment)
            if match is None:
                continue
            rest = re.sub(r"[^A-Za-z]", "", SILENCER.sub("", comment))
            if not (match.group(2) or match.group(3)):
                found.append(f"{short(path)}:{line} names no code: {comment}")
            elif len(rest) < REASON_LETTERS:
                found.append(f"{short(path)}:{line} gives no reason: {comment}")
    assert not found, "\n".join(found)


def test_every_module_says_what_it_is_for() -> None:
    # A package's own file may be empty: the folder's name says it.
    mute = [short(path) for path in sources(*CODE) if path.stat().st_size and ast.get_docstring(parsed(path)) is None]
    assert not mute, "no module docstring: " + ", ".join(mute)
