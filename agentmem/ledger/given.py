"""What an author hands over, taken as it comes or refused with one line that names the argument."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

S = TypeVar("S", bound=Sequence[Any])

Told = str | Mapping[str, Any] | list[Any] | tuple[Any, ...] | int | float | BaseException
"""What tools give: a text, a JSON value, the exception that they raised."""
_MOST_BITS = 13_000
"""Of an integer: Python refuses to write one of more than 4,300 digits as a text."""


def only_text(value: object, name: str) -> str:
    """The text. Raises TypeError for what is none."""
    if isinstance(value, str):
        return value
    raise TypeError(f"{name} is a text, not {type(value).__name__}")


def only_function(value: object, name: str) -> None:
    """Raises TypeError for what cannot be called."""
    if not callable(value):
        raise TypeError(f"{name} is a function, not {type(value).__name__}")


def only_list(value: S, name: str) -> S:
    """The list. Raises TypeError for what is none, texts too: they would be taken letter by letter."""
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise TypeError(f"{name} is a list, not {type(value).__name__}")
    return value


def only_kind(value: object, kinds: type | tuple[type, ...], name: str, called: str) -> None:
    """Raises TypeError for what is of none of these kinds, which are `called` so."""
    if not isinstance(value, kinds):
        raise TypeError(f"{name} is {called}, not {type(value).__name__}")


def told(value: object, name: str) -> str:
    """A text as it is, a JSON value as canonical JSON, an exception as `Type: message`.

    Raises TypeError for anything else, and for a value that holds what is no JSON or holds itself.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, BaseException):
        said = str(value)
        return f"{type(value).__name__}: {said}" if said else type(value).__name__
    try:
        # Keys sorted: tools that give the same in another order gave the same.
        return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    except TypeError as wrong:
        raise TypeError(f"{name} is a text, a JSON value or an exception, not {wrong}") from None
    except RecursionError:
        raise TypeError(f"{name} is nested too deeply to be written down, or holds itself") from None


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return hex(value)
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(type(value).__name__)
