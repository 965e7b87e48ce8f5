"""The way out: JSON documents and text rows on standard output, one-line errors on standard error, all made safe."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from agentmem import safe

_AT_ONCE = 1 << 20
"""Bytes; a smaller document is written in one go, and not at all where a part of it cannot be made."""


def document(name: str, body: dict[str, Any]) -> None:
    """One JSON document, its schema first. What could act on a terminal stands in it as an escape. A member that is an
    iterator becomes a list and is written as its items come: a long list, and the texts in it, are never held whole."""
    out = sys.stdout.buffer
    held: list[bytes] = []
    size = 0
    for data in _parts({"schema": f"agentmem.{name}/1", **body}):
        held.append(data)
        size += len(data)
        if size >= _AT_ONCE:
            out.write(b"".join(held))
            held, size = [], 0
    out.write(b"".join(held) + b"\n")
    sys.stdout.flush()


def _parts(body: dict[str, Any]) -> Iterator[bytes]:
    before = b"{"
    for key, value in body.items():
        yield before + _json(key) + b":"
        before = b","
        if not isinstance(value, Iterator):
            yield _json(value)
            continue
        between = b"["
        for item in value:
            yield between + _json(item)
            between = b","
        yield b"]" if between == b"," else b"[]"
    yield b"}"


def _json(value: object) -> bytes:
    data = msgspec.json.encode(value)
    return data if data.isascii() and b"\x7f" not in data else safe.json_text(data.decode()).encode()


def text(rows: Iterable[str]) -> None:
    """Rows of text; each is made safe for a terminal and stays one line, whatever stands in it."""
    _print("\n".join(map(safe.line, rows)))


def block(shown: str) -> None:
    """Text of several lines, made safe for a terminal: what is ready to be pasted, tables of our own."""
    _print(safe.block(shown))


def _print(out: str) -> None:
    if safe.shows_ascii_only(sys.stdout.encoding, sys.stdout.isatty()):
        out = safe.plain(out)
    sys.stdout.buffer.write(out.encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()


def error(message: str) -> None:
    """One line on standard error."""
    shown = safe.line(message)
    if safe.shows_ascii_only(sys.stderr.encoding, sys.stderr.isatty()):
        shown = safe.plain(shown)
    sys.stderr.buffer.write(f"agentmem: {shown}\n".encode("utf-8", "replace"))
    sys.stderr.flush()


def iso(at: float | None) -> str | None:
    """ISO 8601 in UTC of seconds since the epoch."""
    if at is None:
        return None
    try:
        return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return None


def encodable(value: str | None) -> str | None:
    """Text that JSON in UTF-8 can hold: lone surrogates become U+FFFD."""
    return None if value is None else safe.encodable(value)


def size(tokens: int | None) -> str:
    """`412`, `1.8k`, `1.2M`; `?` when unknown."""
    if tokens is None:
        return "?"
    if abs(tokens) < 1000:
        return str(tokens)
    return f"{tokens / 1000:.1f}k" if abs(tokens) < 999_950 else f"{tokens / 1_000_000:.1f}M"


def tokens(number: int | None) -> str:
    """`1 token`, `1.8k tokens`, `? tokens`."""
    return f"{size(number)} token{'' if number == 1 else 's'}"


def count(number: int, what: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Rows in columns; columns in `right` are aligned to the right. The last column is not padded."""
    if not rows:
        return []
    safe_rows = [[safe.line(cell) for cell in row] for row in rows]
    widths = [max(len(row[index]) for row in safe_rows) for index in range(len(safe_rows[0]))]
    out = []
    for row in safe_rows:
        cells = [
            cell.rjust(widths[index]) if index in right else cell.ljust(widths[index])
            for index, cell in enumerate(row)
        ]
        out.append("  ".join(cells).rstrip())
    return out


def whole(body: dict[str, Any]) -> None:
    """A document that already names its schema."""
    sys.stdout.buffer.write(msgspec.json.encode(body) + b"\n")
    sys.stdout.flush()


def wrote(path: Path, content: str) -> None:
    """Write a file that was asked for, mode 0600, and say where on standard error. Raises Unwritable."""
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(content)
    except OSError as wrong:
        raise Unwritable(f"{path}: {(wrong.strerror or 'cannot be written').lower()}") from None
    error(f"wrote {path}")


class Unwritable(Exception):
    """A file that was asked for cannot be written; the message names it and the reason."""
