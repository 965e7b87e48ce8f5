"""JSON as it is found: strict and fast first, then what only the tolerant parser takes (NaN, lone surrogates)."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from agentmem.pattern import pattern

_MARKS = pattern(rb'[\[\]{}]|"[^"\\]*+(?:\\.[^"\\]*+)*+"|"', re.DOTALL)
"""Brackets and strings; a lone quote begins a string that does not end."""
DEEP = "nested too deep"


def decode(data: bytes) -> Any:
    """The value. Raises ValueError with the reason, also for nesting that is too deep, integers that are too long."""
    try:
        return msgspec.json.decode(data)
    except RecursionError:
        raise ValueError(DEEP) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        try:
            return json.loads(data.decode("utf-8", "replace"))
        except RecursionError:
            raise ValueError(DEEP) from None
        except ValueError:
            raise ValueError(str(error)) from None


def is_utf8(data: bytes) -> bool:
    """Whether `decode` reads it as it stands: bytes that are no UTF-8 it replaces by U+FFFD."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def encode(value: object) -> bytes:
    """JSON of a decoded value, keys in their order; what the strict writer refuses is written with escapes."""
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return json.dumps(value, default=repr).encode()


def canonical(value: object) -> str:
    """Canonical JSON: keys sorted, no spaces, non-ASCII as it is."""
    try:
        return msgspec.json.encode(value, order="sorted").decode()
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=repr)


def sort_of(value: object) -> str:
    """What a JSON value is, in words."""
    names = {list: "a list", dict: "an object", str: "a text", type(None): "null", bool: "a truth value"}
    return names.get(type(value), "a number")


def is_closed(data: bytes) -> bool:
    """Whether every bracket that is opened outside of strings is closed: what is nested too deep is then whole."""
    depth = 0
    for token in _MARKS.finditer(data):
        mark = token.group()
        if mark in b"[{":
            depth += 1
        elif mark in b"]}":
            depth -= 1
        elif len(mark) == 1:
            return False
    return depth == 0
