"""Where the other files of a thread stand: its children, its parents, its compressed copy, its further segments.

A thread that is resumed or reverted goes on in a file of its own, `rollout-TIME-THREAD_ROLLOUT.jsonl`, whose head names
the same thread and, as its history, the file before it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agentmem.formats.agents.codex.fork import Copied, born
from agentmem.formats.agents.codex.packed import unpacked
from agentmem.formats.agents.codex.records.lines import entry_of
from agentmem.formats.source import Unreadable, read_at
from agentmem.pattern import pattern

_HEAD = 262_144
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_NAME = pattern(rf"rollout-(\d{{4}}-\d\d-\d\dT[\d-]+)-({_UUID})(_{_UUID})?\.jsonl(?:\.zst)?\Z")


def other_shape(path: Path) -> Path:
    """The compressed copy of a plain file, the plain file of a copy."""
    name = path.name
    return path.with_name(name.removesuffix(".zst") if name.endswith(".zst") else name + ".zst")


def _folders(beside: Path) -> list[Path]:
    """The folder of a rollout, and those of the next two days that have one."""
    days = beside.parent.parent
    if not beside.parent.name.isdigit():
        return [beside.parent]
    try:
        later = sorted(day for day in days.iterdir() if day.name > beside.parent.name and day.name.isdigit())
    except OSError:
        later = []
    return [beside.parent, *later[:2]]


def looked_through(beside: Path) -> tuple[tuple[str, int], ...]:
    """The folders with the times of their last change: unchanged, there is nothing new to find."""
    out = []
    for folder in _folders(beside):
        try:
            out.append((folder.name, folder.stat().st_mtime_ns))
        except OSError:
            continue  # a folder that went holds no child
    return tuple(out)


def thread_file(beside: Path, ident: str) -> Path | None:
    """The rollout of a thread: in the folder of another one, or in those of the days after it."""
    if not ident or "/" in ident or "\0" in ident or len(ident) > 100:
        return None
    endings = tuple(f"{mark}{ident}.jsonl{packed}" for mark in "-_" for packed in ("", ".zst"))
    for folder in _folders(beside):
        try:
            found = sorted(path for path in folder.iterdir() if path.name.endswith(endings))
        except OSError:
            continue  # a folder that cannot be read holds no child that can be
        for path in found:
            if path.name.startswith("rollout-") and not path.is_symlink():
                return path
    return None


def rollout_of(beside: Path, ident: str) -> Path | None:
    """The rollout of a thread that is older: beside, in the folder of the day when it was born, or archived."""
    found = thread_file(beside, ident)
    if found is not None or len(beside.parents) < 5:
        return found
    at = born(ident)
    root = beside.parents[3]
    folders = [root.parent / "archived_sessions"]
    if at is not None and beside.parent.name.isdigit():
        day = datetime.fromtimestamp(at, UTC)
        folders[:0] = [root / (day + timedelta(days=shift)).strftime("%Y/%m/%d") for shift in (0, -1, 1)]
    for folder in folders:
        found = thread_file(folder / "rollout", ident) if folder.is_dir() else None
        if found is not None:
            return found
    return None


def head_of(path: Path) -> tuple[str | None, tuple[str, int | None, int | None] | None]:
    """(thread, where the history stands that the file does not hold itself), by the head of a rollout."""
    try:
        if path.name.endswith(".zst"):
            data = b"".join(chunk for chunk in unpacked(path, _HEAD) if isinstance(chunk, bytes))
        else:
            data = read_at(path, 0, _HEAD)
        entry = entry_of(data.partition(b"\n")[0])
        copied = Copied()
        copied.head(entry, entry.payload)
        ident = entry.payload.get("id")
    except (Unreadable, ValueError):
        return None, None
    return ident if isinstance(ident, str) else None, copied.base


def latest(paths: Iterable[Path]) -> Iterator[Path]:
    """Of rollouts that come newest first, those that no later segment of their thread goes on from."""
    gone_on: set[str] = set()
    for path in paths:
        found = _NAME.match(path.name)
        if found is not None:
            if found.group(2) in gone_on:
                continue
            if found.group(3):
                gone_on.add(found.group(2))
        yield path


def last_segment(path: Path) -> Path:
    """The file in which the thread of a rollout goes on, of this day or a later one; the file itself if in none."""
    own = _NAME.match(path.name)
    if own is None:
        return path
    best, at = path, own.group(1)
    for folder in _days(path):
        try:
            found = [(match, one) for one in folder.iterdir() if (match := _NAME.match(one.name)) and match.group(3)]
        except OSError:
            continue  # a folder that cannot be read holds no segment that can be
        for match, one in found:
            if match.group(2) == own.group(2) and match.group(1) > at and not one.is_symlink():
                best, at = one, match.group(1)
    return best


def segments_mark(path: Path) -> tuple[tuple[str, int], ...]:
    """Changes when a further segment may have come: the folder of the file, and the newest one, as they stand."""
    out = []
    for folder in {path.parent, _last_day(path)}:
        try:
            out.append((str(folder), folder.stat().st_mtime_ns))
        except OSError:
            continue  # gone: it holds no segment
    return tuple(sorted(out))


def _last_day(path: Path) -> Path:
    """The folder of the newest day, as cheaply as it can be found: this is asked at every look."""
    if not path.parent.name.isdigit() or len(path.parents) < 5:
        return path.parent
    place = str(path.parents[3])
    for _ in range(3):
        try:
            place = os.path.join(place, max((name for name in os.listdir(place) if name.isdigit()), default=""))
        except OSError:
            return path.parent
    return Path(place)


def _days(path: Path) -> list[Path]:
    """The folder of a rollout and those of all later days, in order."""
    if not path.parent.name.isdigit() or len(path.parents) < 5:
        return [path.parent]
    found = path.parents[3].glob("[0-9]*/[0-9]*/[0-9]*")
    return [path.parent, *sorted(day for day in found if str(day) > str(path.parent))]
