"""JSON values exactly: what cannot come back from the file as it went in is a TypeError that names its path.

`copied` makes a checked copy that later mutations of the author's objects do not reach; `encoded` writes it.
"""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

from agentmem.checkpoint.given import dump

DEEPEST = 200
"""Levels of lists and objects in one value: what every reader of the file can still decode."""
_MOST_BITS = 13_000
"""Of an integer: Python refuses to read one of more than 4,300 digits from a text."""

_encoder = msgspec.json.Encoder()


def copied(value: Any, path: str, *, objects: bool = False, nones: bool = False) -> tuple[Any, bool]:
    """(a copy of the value that shares no list or object with it, whether a number or boolean stands in it).

    With `objects`, what a provider's client hands out (objects with `model_dump` or `to_dict`) stands as what it dumps,
    with `nones` as in `dump`.
    Raises TypeError naming the path for NaN, infinity, lone surrogates, bytes, tuples, keys that are no text, other
    objects, values nested deeper than 200 levels, and lists that contain themselves.
    """
    return _copied(value, path, objects, DEEPEST, nones)


def _copied(value: Any, path: str, objects: bool, depth: int, nones: bool = False) -> tuple[Any, bool]:
    kind = type(value)
    if kind is str:
        return _text(value, path), False
    if value is None:
        return None, False
    if kind is bool:
        return value, True
    if kind is int:
        if value.bit_length() > _MOST_BITS:
            raise TypeError(f"{path}: an integer of {value.bit_length()} bits cannot be read back")
        return value, True
    if kind is float:
        if not math.isfinite(value):
            raise TypeError(f"{path}: {value} is not a JSON value")
        return value, True
    if depth == 0 and (kind is dict or kind is list):
        raise TypeError(f"{path[:200]}: nested deeper than {DEEPEST} levels")
    if kind is dict:
        result: dict[str, Any] = {}
        numeric = False
        for key, inner in value.items():
            if type(key) is not str:
                raise TypeError(f"{path}: the key {key!r} is {type(key).__name__}, not a text")
            if type(inner) is str:
                result[_text(key, path)] = inner if inner.isascii() else _text(inner, f"{path}.{key}")
            else:
                result[_text(key, path)], there = _copied(inner, f"{path}.{key}", objects, depth - 1, nones)
                numeric = numeric or there
        return result, numeric
    if kind is list:
        items: list[Any] = []
        numeric = False
        for index, inner in enumerate(value):
            item, there = _copied(inner, f"{path}[{index}]", objects, depth - 1, nones)
            items.append(item)
            numeric = numeric or there
        return items, numeric
    if objects and (dumped := dump(value, nones=nones)) is not None:
        return _copied(dumped, path, False, depth)
    raise TypeError(f"{path}: {kind.__name__} is not a JSON value")


def _text(value: str, path: str) -> str:
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise TypeError(
                f"{path}: the lone surrogate U+{ord(value[error.start]):04X} cannot be written as UTF-8"
            ) from None
    return value


def encoded(value: Any) -> bytes:
    """Compact JSON as UTF-8 of a value that `copied` made."""
    return _encoder.encode(value)


def parsed(data: bytes) -> Any:
    """The JSON value of these bytes, for files that this library or a stranger wrote.

    Lone surrogates and other things that only Python's reader takes are read as it reads them; NaN and infinities, that
    no JSON has, are refused. Raises ValueError with what is wrong and the byte where it stands.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass  # Python's reader takes more, and says better what is wrong
    except RecursionError:
        raise ValueError("nested too deeply") from None
    try:
        return json.loads(data, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        if error.pos >= len(error.doc.rstrip()) or not data.rstrip().endswith((b"}", b"]")):
            raise ValueError(f"truncated at byte {len(data)}") from None
        at = len(error.doc[: error.pos].encode("utf-8", "surrogatepass"))
        raise ValueError(f"no JSON at byte {at}: {error.msg}") from None
    except UnicodeDecodeError as error:
        if error.end == len(data):
            raise ValueError(f"truncated at byte {len(data)}") from None
        raise ValueError(f"no UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} is too large to be read as it stands")
    return value
