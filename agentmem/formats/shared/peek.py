"""A look at the head and the tail of a file, for a row of the list of runs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agentmem.formats.loose import decode
from agentmem.formats.reader import LIVE_SECONDS
from agentmem.formats.shared import whole
from agentmem.formats.source import NotYet, Unreadable, read_at
from agentmem.model import RunStatus

PEEK_BYTES = 65536


def status_of(at: float | None) -> RunStatus:
    """Live or stale, by when it was last written."""
    if at is None:
        return "unknown"
    return "live" if time.time() - at < LIVE_SECONDS else "stale"


def head_and_tail(path: Path, size: int = PEEK_BYTES) -> tuple[bytes, bytes]:
    """The first and last `size` bytes; the tail is empty where the head holds the whole file. Raises Unreadable."""
    head = read_at(path, 0, size)
    if len(head) < size:
        return head, b""
    length = path.stat().st_size
    start = max(size, length - size)
    return head, read_at(path, start, length - start)


def damage(path: Path) -> str | None:
    """What is wrong with a file that is written whole, in words; None for what is no JSON, and where nothing is seen:
    of a file longer than its head and tail only the end is looked at. Raises Unreadable."""
    head, tail = head_and_tail(path)
    end = (tail or head).rstrip(b"\0 \t\r\n")
    if head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0 \t\r\n")[:1] not in (b"{", b"["):
        return None
    if tail:
        return None if end.endswith((b"}", b"]")) else f"half written or cut at byte {path.stat().st_size}"
    try:
        found = whole.parse(head, str(path), ())
    except NotYet:
        return f"half written or cut at byte {len(head)}"
    if found.cut:
        return f"half written or cut at byte {len(head)}"
    if found.junk is not None:
        return f"trailing junk at byte {found.junk}: first value used"
    return None if found.nuls is None else f"{found.nuls[1]:,} NUL bytes at byte {found.nuls[0]}"


def line_info(path: Path, size: int = PEEK_BYTES) -> Iterator[dict[str, Any]]:
    """Objects of the whole lines in the head and the tail, in order. Raises Unreadable."""
    head, tail = head_and_tail(path, size)
    lines = head.split(b"\n")
    whole = lines if len(head) < size else lines[:-1]
    for line in [*whole, *tail.split(b"\n")[1:]]:
        try:
            value = decode(line.strip(b"\0 \t\r"))
        except ValueError:
            continue  # a glance: the reader says what is wrong with a line
        if isinstance(value, dict):
            yield value


def members(path: Path, lists: Iterable[str], size: int = PEEK_BYTES) -> dict[str, Any]:
    """Members of the JSON object in a file that stand in its head or behind its last list; `lists` are left out.
    Raises Unreadable."""
    head, tail = head_and_tail(path, size)
    try:
        found = whole.parse(head, str(path), lists).rest
    except (NotYet, Unreadable):
        found = {}  # a list, or one long member
    behind = tail.rpartition(b"]")[2].lstrip(b" \t\r\n,")
    try:
        last = decode(b"{" + behind) if behind.startswith(b'"') else {}
    except ValueError:
        last = {}  # the bracket stood in a text
    return {**found, **last} if isinstance(last, dict) else found
