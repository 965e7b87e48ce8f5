"""What the code itself says there is: formats, commands, rules, keys. Each is None while its room stands empty."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from collections.abc import Iterable
from typing import Any

from tests.house.tree import ROOT, parsed, sources

CODE = re.compile(r"AM\d{3}")


def module(name: str) -> Any | None:
    """The module, or None if there is none. One that is there and cannot be imported fails the test."""
    parts = name.split(".")
    path = ROOT.joinpath(*parts)
    if not path.with_suffix(".py").is_file() and not (path / "__init__.py").is_file():
        return None
    return importlib.import_module(name)


def formats() -> list[str] | None:
    """Names in the registry, `agentmem.formats.formats()`."""
    found = module("agentmem.formats")
    return None if found is None else [one.name for one in found.formats()]


def commands() -> list[str] | None:
    """Names in `agentmem.cli.COMMANDS`, a mapping by name or a list of names or of values with a name."""
    found = module("agentmem.cli")
    if found is None:
        return None
    listed = _listed(found, "COMMANDS")
    return [one if isinstance(one, str) else str(one.name) for one in listed]


def keys() -> list[str] | None:
    """Keys as shown, in `tui.keys.COMMANDS`: each has `shown` (one text) or `keys` (a text or several)."""
    found = module("tui.keys")
    if found is None:
        return None
    every: list[str] = []
    for one in _values(found, "COMMANDS"):
        shown = getattr(one, "shown", None) or one.keys
        every.extend([shown] if isinstance(shown, str) else shown)
    return every


def rules() -> list[str] | None:
    """Codes of rules that stand in the code of the library, outside comments and docstrings."""
    found: set[str] = set()
    for path in sources("agentmem"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
                found.add(node.value)
    return sorted(found) or None


def _listed(found: Any, name: str) -> Iterable[Any]:
    assert hasattr(found, name), f"{found.__name__} lists what there is in {name}"
    return list(getattr(found, name))


def _values(found: Any, name: str) -> Iterable[Any]:
    listed = getattr(found, name, None)
    assert listed is not None, f"{found.__name__} lists what there is in {name}"
    return list(listed.values()) if isinstance(listed, dict) else list(listed)
