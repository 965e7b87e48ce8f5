"""What an author or a provider's client hands over, as plain values: mappings, client objects, dataclasses, structs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")
_FIRST, _LAST = -62_135_596_800.0, 253_402_300_799.0
"""The years 1 to 9999 in seconds since the epoch: what every store can hold."""


def optional(value: Any, kind: type[T], name: str) -> T | None:
    """The value, if it is None or of exactly that kind. Raises TypeError naming it."""
    if value is None or type(value) is kind:
        return value
    raise TypeError(f"{name}: expected {kind.__name__}, not {type(value).__name__}")


def number(value: object, name: str, *, whole: bool = False, least: float | None = 0) -> float:
    """The value, if it is a finite number (with `whole` an integer) and not below `least`. Raises ValueError naming
    it: NaN and infinity would pass every later comparison wrongly, and no JSON has them."""
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise ValueError(f"{name} is {value!r}, not {'a whole' if whole else 'a'} number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} is {value!r}, not a finite number")
    if least is not None and value < least:
        raise ValueError(f"{name} is {value!r}, it cannot be {'negative' if least == 0 else f'below {least}'}")
    return cast(float, value)


def moment(value: object, name: str) -> float:
    """The value, if it is a moment in seconds since the epoch, of the years 1 to 9999. Raises ValueError naming it."""
    given = number(value, name, least=None)
    if not _FIRST <= given <= _LAST:
        raise ValueError(f"{name} is {value!r}, not seconds since the epoch")
    return given


def asked(generation: int, step: int | None, at: float | None) -> None:
    """Raises ValueError unless a version can be asked for like this."""
    if not isinstance(generation, int) or isinstance(generation, bool) or generation > 0:
        raise ValueError(f"generation is 0 for the newest, -1 for the one before, ...; not {generation!r}")
    if step is not None:
        number(step, "step", whole=True, least=None)
    if at is not None:
        moment(at, "at")


def span(since: float | None, until: float | None) -> None:
    """Raises ValueError unless both are moments or None."""
    for name, value in (("since", since), ("until", until)):
        if value is not None:
            moment(value, name)


def dump(value: Any) -> dict[str, Any] | None:
    """What a mapping, an object with `model_dump` or `to_dict`, a dataclass or a struct says; None for others."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, type):
        return None
    if isinstance(value, SimpleNamespace):
        return dict(vars(value))
    model_dump = getattr(value, "model_dump", None)
    if callable(model_dump):
        dumped = model_dump(mode="json", exclude_none=True)
        return dict(dumped) if isinstance(dumped, Mapping) else None
    to_dict = getattr(value, "to_dict", None)
    if callable(to_dict):
        dumped = to_dict()
        return dict(dumped) if isinstance(dumped, Mapping) else None
    if is_dataclass(value):
        found = ((item, getattr(value, item.name)) for item in fields(value))
        return {item.name: inner for item, inner in found if not _usual(inner, item.default)}
    if isinstance(value, msgspec.Struct):
        names, defaults = value.__struct_fields__, value.__struct_defaults__
        usual = dict(zip(reversed(names), reversed(defaults), strict=False))
        filled = ((name, getattr(value, name)) for name in names)
        return {name: inner for name, inner in filled if not _usual(inner, usual.get(name, MISSING))}
    return None


def _usual(value: Any, default: Any) -> bool:
    return value is None or (default is not MISSING and type(value) is type(default) and value == default)


def mapping(value: Any, name: str) -> dict[str, Any] | None:
    """A state or a usage as an object; None if it is None. Raises TypeError naming it."""
    if value is None:
        return None
    found = dump(value)
    if found is None and hasattr(value, "__dict__") and not callable(value):
        found = {key: inner for key, inner in vars(value).items() if not key.startswith("_")}
    if found is None:
        raise TypeError(f"{name}: {type(value).__name__} is neither a mapping nor has to_dict")
    return found


def records(value: Sequence[Any] | None, name: str) -> list[Any] | None:
    """Drops or attempts as objects; texts stand as they are. Raises TypeError naming what is neither."""
    if value is None:
        return None
    if isinstance(value, str | bytes | Mapping):
        raise TypeError(f"{name}: expected a list, not {type(value).__name__}")
    found = []
    for index, item in enumerate(value):
        one = item if isinstance(item, str) else mapping(item, f"{name}[{index}]")
        found.append({key: inner for key, inner in one.items() if inner is not None} if isinstance(one, dict) else one)
    return found


def goal_of(given: str | None, state: Any) -> str | None:
    """The goal of a run as a list of runs shows it: what was given, else what the state names so."""
    held = state.get("goal") if given is None and isinstance(state, Mapping) else given
    return held if isinstance(held, str) else None


def message_list(value: Any) -> Sequence[Any]:
    """A list of messages. Raises TypeError for what is no list, and for a member that can be no message."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
        raise TypeError(f"messages: expected a list of messages, not {type(value).__name__}")
    if set(map(type, value)) <= {dict}:
        return value  # of 1 MB of messages in a fiftieth of the time
    for index, item in enumerate(value):
        if item is None or isinstance(item, str | bytes | int | float):
            raise TypeError(f"messages[{index}]: expected a message, not {type(item).__name__}")
    return value
