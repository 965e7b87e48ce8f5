"""What stands in the project's folder: its files, its sources, the comments in them. For the tests of the house."""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
import tokenize
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("agentmem", "tui")
CODE = (*PACKAGES, "tests", "benchmarks")
PASSED_OVER = {".git", ".venv", "__pycache__", "build", "dist", "runs", "node_modules"}


@cache
def files() -> tuple[Path, ...]:
    """Every file that belongs to the project: what git keeps or would keep; without git, what is not made by a tool."""
    asked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if asked.returncode == 0:
        names = os.fsdecode(asked.stdout).split("\0")
        return tuple(sorted(ROOT / name for name in names if name and (ROOT / name).is_file()))
    return tuple(
        sorted(
            path
            for path in ROOT.rglob("*")
            if path.is_file()
            and not PASSED_OVER.intersection(path.relative_to(ROOT).parts)
            and not any(part.endswith((".egg-info", "_cache")) for part in path.relative_to(ROOT).parts)
        )
    )


def sources(*tops: str) -> list[Path]:
    """The Python files under these top folders."""
    return [path for path in files() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in tops]


def short(path: Path) -> str:
    """The path from the project's folder, with `/`."""
    return path.relative_to(ROOT).as_posix()


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of every comment; strings that look like one are not."""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of every absolute import, deferred ones too; for `from a import b` both a and a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def dotted(node: ast.expr) -> str:
    """`a.b.c` of a name or an attribute; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def python(arguments: Sequence[str], code: str) -> subprocess.CompletedProcess[str]:
    """Runs `code` in a fresh interpreter in the project's folder, with `arguments` as its sys.argv[1:]."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
