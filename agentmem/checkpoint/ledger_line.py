"""One line of the steps ledger: an object with a checksum last, over the bytes before it.

The line is `{"v":1, ... ,"sum":"<16 hex digits>"}` and a newline; the sum is xxh3 (64 bits) over everything before
`,"sum":"`. The checkpoint carries its `checksum` in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import xxhash

VERSION = 1
_SUM = b',"sum":"'
_DIGITS = 16


class DamagedLine(ValueError):
    """The line is not what was written; the text says why."""


class NewerLine(DamagedLine):
    """The line is whole, but of a version that this library does not read."""


class PromptEdit(msgspec.Struct, frozen=True, kw_only=True):
    """The exact prompt of the step, against the last exact prompt."""

    keep: int
    add: list[Any]


class StateEdit(msgspec.Struct, frozen=True, kw_only=True):
    """What changed in the state, by names of one level (`goal`, `facts.port`, `plan[2]`)."""

    set: dict[str, Any] = {}
    unset: list[str] = []
    verified: dict[str, Any] = {}
    """Field name (`facts.port`) -> what the state says about who verified it; new and changed ones only."""
    full: bool = False
    """`set` is the whole state: start from nothing."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One save. What is None was not given, or has not changed since the line before."""

    v: int
    seq: int
    step: int
    lane: str = "main"
    at: float
    """Seconds since the epoch."""
    run: str | None = None
    whole: bool = False
    """Complete in itself: nothing before it is needed, and what it does not say is unknown."""
    keep: int
    """How many messages of the list before still stand."""
    add: list[Any]
    prompt: PromptEdit | None = None
    drops: list[Any] | None = None
    state: StateEdit | None = None
    notes: Any = None
    attempts: list[Any] | None = None
    usage: Any = None
    model: str | None = None
    system: Any = None
    tools: Any = None
    window: int | None = None
    goal: str | None = None
    status: str | None = None
    """Given when the run ends, or goes on after it had ended. A line with a status and nothing else is no step."""


_decoder = msgspec.json.Decoder(Line)


def sealed(parts: Sequence[bytes | bytearray], key: bytes = b"sum") -> list[bytes | bytearray]:
    """The JSON object of these parts (not empty, without its closing brace) with its checksum as last key, in parts."""
    digest = xxhash.xxh3_64()
    for part in parts:
        digest.update(part)
    return [*parts, b',"' + key + b'":"' + digest.hexdigest().encode() + b'"}']


def check(data: bytes, key: bytes = b"sum") -> str | None:
    """None if the object `data` ends in the checksum of the bytes before it; else what is wrong, in words."""
    data = data.rstrip(b"\r\n")
    if not data.startswith(b"{"):
        return "no object"
    mark = b',"' + key + b'":"'
    cut = len(data) - len(mark) - _DIGITS - 2
    if data[-1:] != b"}":
        return f"truncated at byte {len(data)}"
    if cut < 1 or data[cut : cut + len(mark)] != mark:
        return "no checksum at its end"
    said = data[cut + len(mark) : -2].decode("ascii", "replace")
    found = xxhash.xxh3_64_hexdigest(memoryview(data)[:cut])
    return None if said == found else f"checksum mismatch: {said} is written, {found} is found"


def encode(line: dict[str, Any]) -> bytes:
    """The line of these keys, sealed, without its newline. Values are JSON values or `msgspec.Raw`."""
    return b"".join(sealed([msgspec.json.encode({"v": VERSION, **line})[:-1]]))


def decode(data: bytes) -> Line:
    """The line of these bytes, with or without newline. Raises DamagedLine with what is wrong, NewerLine if newer."""
    wrong = check(data)
    if wrong is not None:
        raise DamagedLine(wrong)
    try:
        version = _versions.decode(data).v
        if version > VERSION:
            raise NewerLine(f"version {version} is newer than this library reads ({VERSION})")
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedLine(f"not a line of the ledger: {error}") from None


class _Version(msgspec.Struct):
    v: int


_versions = msgspec.json.Decoder(_Version)
