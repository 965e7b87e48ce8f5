"""JSON as it is found: strict and fast first, then what only the tolerant parser takes (NaN, lone surrogates)."""

from __future__ import annotations

import json
from typing import Any

import msgspec


def decode(data: bytes) -> Any:
    """The value. Raises ValueError with the reason, also for nesting that is too deep, integers that are too long."""
    try:
        return msgspec.json.decode(data)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        try:
            return json.loads(data.decode("utf-8", "replace"))
        except RecursionError:
            raise ValueError("nested too deep") from None
        except ValueError:
            raise ValueError(str(error)) from None


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
