"""What an author or a provider's client hands over, as plain values: mappings, client objects, dataclasses, structs."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import msgspec

from agentmem.model import Attempt, Drop

T = TypeVar("T")
_FIRST, _LAST = -62_135_596_800.0, 253_402_300_799.0
"""The years 1 to 9999 in seconds since the epoch: what every store can hold."""
_NO_OBJECTS = (Enum, int, float, Collection, BaseException)
"""What may have attributes, which are not what it says."""
_WHOLE = range(-(2**63), 2**63)
"""Numbers of steps that every store can hold."""


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


def step_number(value: object) -> int:
    """The value, if it can be the number of a step. Raises ValueError."""
    given = int(number(value, "step", whole=True, least=None))
    if given not in _WHOLE:
        raise ValueError(f"step: a number of {given.bit_length()} bits; stores hold 63 and a sign")
    return given


def asked(generation: int, step: int | None, at: float | None) -> None:
    """Raises ValueError unless a version can be asked for like this."""
    if not isinstance(generation, int) or isinstance(generation, bool) or generation > 0:
        raise ValueError(f"generation is 0 for the newest, -1 for the one before, ...; not {generation!r}")
    if step is not None:
        step_number(step)
    if at is not None:
        moment(at, "at")


def span(since: float | None, until: float | None) -> None:
    """Raises ValueError unless both are moments or None."""
    for name, value in (("since", since), ("until", until)):
        if value is not None:
            moment(value, name)


def dump(value: Any, *, nones: bool = False) -> dict[str, Any] | None:
    """What a mapping, an object with `model_dump` or `to_dict`, a dataclass or a struct says: every field, those too
    that stand at their default. None for others.

    Of a `model_dump`, fields that are None are left out unless `nones` asks for them: the messages and figures of a
    provider's client have dozens, and there nothing and None are the same. In a state of the author's they are not.
    """
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, type | Enum):
        return None
    if isinstance(value, SimpleNamespace):
        return dict(vars(value))
    model_dump = getattr(value, "model_dump", None)
    if callable(model_dump):
        dumped = model_dump(mode="json", exclude_none=not nones)
        return dict(dumped) if isinstance(dumped, Mapping) else None
    to_dict = getattr(value, "to_dict", None)
    if callable(to_dict):
        dumped = to_dict()
        return dict(dumped) if isinstance(dumped, Mapping) else None
    if is_dataclass(value):
        return {item.name: getattr(value, item.name) for item in fields(value)}
    if isinstance(value, msgspec.Struct):
        filled = msgspec.structs.asdict(value)
        return {name: inner for name, inner in filled.items() if inner is not msgspec.UNSET}
    return None


def mapping(value: Any, name: str, *, nones: bool = False) -> dict[str, Any] | None:
    """A state or a usage as an object; None if it is None; `nones` as in `dump`. Raises TypeError naming it."""
    if value is None:
        return None
    found = dump(value, nones=nones)
    if found is None and hasattr(value, "__dict__") and not callable(value) and not isinstance(value, _NO_OBJECTS):
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
        one = _said(item) if isinstance(item, Drop | Attempt) else item
        one = one if isinstance(one, str) else mapping(one, f"{name}[{index}]")
        found.append({key: inner for key, inner in one.items() if inner is not None} if isinstance(one, dict) else one)
    return found


def _said(record: Drop | Attempt) -> dict[str, Any]:
    """A record of this library's own, without the fields at their default: a ledger keeps it for ever."""
    names, defaults = record.__struct_fields__, record.__struct_defaults__
    usual = dict(zip(reversed(names), reversed(defaults), strict=False))
    found = msgspec.structs.asdict(record).items()
    return {name: value for name, value in found if name not in usual or value != usual[name]}


def goal_of(given: str | None, state: Any) -> str | None:
    """The goal of a run as a list of runs shows it: what was given, else what the state names so."""
    held = state.get("goal") if given is None and isinstance(state, Mapping) else given
    return held if isinstance(held, str) else None


def message_list(value: Any, name: str = "messages") -> Sequence[Any]:
    """A list of messages. Raises TypeError for what is no list, and for a member that can be no message."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
        raise TypeError(f"{name}: expected a list of messages, not {type(value).__name__}")
    if set(map(type, value)) <= {dict}:
        return value  # of 1 MB of messages in a fiftieth of the time
    for index, item in enumerate(value):
        if item is None or isinstance(item, str | bytes | int | float):
            raise TypeError(f"{name}[{index}]: expected a message, not {type(item).__name__}")
    return value
