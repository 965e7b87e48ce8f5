"""One line of the steps ledger, or one guarded call: an object with a checksum last, over the bytes before it.

The line is `{"v":1, ... ,"sum":"<16 hex digits>"}` and a newline; the sum is xxh3 (64 bits) over everything before
`,"sum":"`. The checkpoint carries its `checksum` in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import msgspec
import xxhash

VERSION = 1
T = TypeVar("T")
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


class Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt at a call with a side effect: what is known before it, and after it what came of it."""

    v: int = VERSION
    key: str
    """The idempotency key: the same for every attempt at the same call."""
    attempt: int
    """From 1."""
    tool: str
    arguments: Any
    started: float
    """Seconds since the epoch."""
    seq: int = 0
    """Number of the newest save when it began: what it stands on."""
    step: int = 0
    lane: str = "main"
    call_id: str | None = None
    """The model's id of the call, where it was given."""
    ended: float | None = None
    outcome: Literal["started", "ok", "error"] = "started"
    result: Any = None
    kept: bool = True
    """False: it gave a result that is no JSON value; `error` says which."""
    error: str | None = None
    told: bool = False
    """The outcome was not seen by the guard but said by who answered its question."""


_decoder = msgspec.json.Decoder(Line)
_calls = msgspec.json.Decoder(Call)


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
    if cut < 1 or data[cut : cut + len(mark)] != mark or data[-2:] != b'"}':
        return "no checksum at its end"
    said = data[cut + len(mark) : -2].decode("ascii", "replace")
    found = xxhash.xxh3_64_hexdigest(memoryview(data)[:cut])
    return None if said == found else f"checksum mismatch: {said} is written, {found} is found"


def half(data: bytes) -> bool:
    """Whether these are the first bytes of a line that was never written to its end."""
    start = b'{"v":'
    return data.startswith(start[: len(data)]) and data[-_DIGITS - 2 - len(_SUM) : -_DIGITS - 2] != _SUM


def encode(line: dict[str, Any]) -> bytes:
    """The line of these keys, sealed, without its newline. Values are JSON values or `msgspec.Raw`."""
    return b"".join(sealed([msgspec.json.encode({"v": VERSION, **line})[:-1]]))


def encode_call(call: Call) -> bytes:
    """The call as a sealed line, without its newline."""
    return b"".join(sealed([msgspec.json.encode({**msgspec.structs.asdict(call), "v": VERSION})[:-1]]))


def decode_call(data: bytes) -> Call:
    """The call of these bytes. Raises DamagedLine, NewerLine."""
    return _decoded(data, _calls, "no call")


def decode(data: bytes) -> Line:
    """The line of these bytes, with or without newline. Raises DamagedLine with what is wrong, NewerLine if newer."""
    return _decoded(data, _decoder, "not a line of the ledger")


def _decoded(data: bytes, decoder: msgspec.json.Decoder[T], otherwise: str) -> T:
    wrong = check(data)
    if wrong is not None:
        raise DamagedLine(wrong)
    try:
        version = _versions.decode(data).v
        if version > VERSION:
            raise NewerLine(f"version {version} is newer than this library reads ({VERSION})")
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedLine(f"{otherwise}: {error}") from None


class _Version(msgspec.Struct):
    v: int


_versions = msgspec.json.Decoder(_Version)
