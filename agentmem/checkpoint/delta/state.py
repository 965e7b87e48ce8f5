"""A state as names of one level (`goal`, `facts.port`, `plan[2]`) and what changed between two states.

Names lead back to the state exactly, the order of its keys included. A dot, bracket or backslash in a key of the top
level is written with a backslash before it, so that `a.b` is always field b of a.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentmem.checkpoint.values import encoded
from agentmem.pattern import pattern

_SPECIAL = pattern(r"([.\[\]\\])")
_NAME = pattern(r"((?:[^.\[\]\\]|\\.)*)(?:\.(.*)|\[(\d+)\])?", re.DOTALL)
_UNESCAPED = pattern(r"\\(.)", re.DOTALL)
VERIFIED = "verified"
"""The key of the state that says who verified its facts: fact name -> anything, usually {"by", "step"}."""


def names(state: Mapping[str, Any]) -> dict[str, Any]:
    """Name -> value, in the state's order. An empty list or object stands under its own name."""
    found: dict[str, Any] = {}
    for key, value in state.items():
        name = _SPECIAL.sub(r"\\\1", key)
        if isinstance(value, dict) and value:
            for inner, item in value.items():
                found[f"{name}.{inner}"] = item
        elif isinstance(value, list) and value:
            for index, item in enumerate(value):
                found[f"{name}[{index}]"] = item
        else:
            found[name] = value
    return found


def _parts(name: str) -> tuple[str, str | int | None]:
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is no name of a field")
    key = _UNESCAPED.sub(r"\1", match[1])
    return key, match[2] if match[3] is None else int(match[3])


def applied(state: Mapping[str, Any] | None, set_: Mapping[str, Any], unset: list[str], full: bool) -> dict[str, Any]:
    """The state after the change. Raises ValueError for a change that does not fit the state."""
    result: dict[str, Any] = {}
    if not full:
        for key, value in (state or {}).items():
            result[key] = dict(value) if isinstance(value, dict) else list(value) if isinstance(value, list) else value
        kept = {_parts(name)[0] for name in set_}
        for name in sorted(unset, key=_position, reverse=True):
            _unset(result, name, kept)
    for name, value in set_.items():
        key, inner = _parts(name)
        if inner is None:
            result[key] = value
            continue
        held = result.get(key)
        if isinstance(inner, str):
            if not isinstance(held, dict):
                held = result[key] = {}
            held[inner] = value
        else:
            if not isinstance(held, list):
                held = result[key] = []
            if inner > len(held):
                raise ValueError(f"{name} is set, but {key} has {len(held)} items")
            held[inner : inner + 1] = [value]
    return result


def _position(name: str) -> int:
    inner = _parts(name)[1]
    return inner if isinstance(inner, int) else 0


def _unset(state: dict[str, Any], name: str, kept: set[str]) -> None:
    key, inner = _parts(name)
    held = state.get(key)
    if inner is None:
        state.pop(key, None)
        return
    if isinstance(inner, str) and isinstance(held, dict):
        held.pop(inner, None)
    elif isinstance(inner, int) and isinstance(held, list) and inner < len(held):
        del held[inner]
    if not held and key not in kept:
        state.pop(key, None)


class StateMemo:
    """The state of the last save, to write only what changed."""

    def __init__(self) -> None:
        self._state: dict[str, Any] | None = None
        self._leaves: dict[str, bytes] = {}

    def edit(self, state: dict[str, Any]) -> dict[str, Any] | None:
        """The `state` of a ledger line that leads from the last one to this (checked) one; None if they are equal."""
        now = names(state)
        leaves = {name: encoded(value) for name, value in now.items()}
        before = self._leaves
        filled = (key for key, value in state.items() if isinstance(value, dict | list) and value)
        opened = {_SPECIAL.sub(r"\\\1", key) for key in filled}
        unset = [name for name in before if name not in leaves and name not in opened]
        changed = {name: now[name] for name, leaf in leaves.items() if before.get(name) != leaf}
        full = self._state is None
        if not full and list(names(applied(self._state, changed, unset, False))) != list(now):
            full = True
        edit: dict[str, Any] = {"set": now if full else changed}
        if full:
            edit["full"] = True
        if unset:
            edit["unset"] = unset
        if not (changed or unset or full):
            return None
        held = state.get(VERIFIED)
        if isinstance(held, dict):
            verified = {
                f"facts.{name}": value for name, value in held.items() if full or f"{VERIFIED}.{name}" in changed
            }
            if verified:
                edit["verified"] = verified
        return edit

    def advance(self, state: dict[str, Any]) -> None:
        """The state was saved."""
        self._state = state
        self._leaves = {name: encoded(value) for name, value in names(state).items()}

    def clear(self) -> None:
        """The next edit is the whole state."""
        self._state = None
        self._leaves = {}
