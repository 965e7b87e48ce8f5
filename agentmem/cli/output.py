"""The way out: JSON documents and text rows on standard output, one-line errors on standard error, all made safe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from agentmem import safe


def document(name: str, body: dict[str, Any]) -> None:
    """One JSON document, its schema first."""
    data = msgspec.json.encode({"schema": f"agentmem.{name}/1", **body})
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.flush()


def text(rows: Iterable[str]) -> None:
    """Rows of text; each is made safe for a terminal."""
    out = "\n".join(safe.block(row) for row in rows)
    sys.stdout.buffer.write(out.encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()


def error(message: str) -> None:
    """One line on standard error."""
    sys.stderr.write(f"agentmem: {safe.line(message)}\n")


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
