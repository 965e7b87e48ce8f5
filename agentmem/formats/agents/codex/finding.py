"""Where the other files of a thread stand: its children, its parents, its compressed copy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from agentmem.formats.agents.codex.fork import Copied, born
from agentmem.formats.agents.codex.packed import unpacked
from agentmem.formats.agents.codex.records.lines import entry_of
from agentmem.formats.source import Unreadable, read_at

_HEAD = 262_144


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
    endings = (f"-{ident}.jsonl", f"-{ident}.jsonl.zst")
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


def base_of(path: Path) -> tuple[str, int | None, int | None] | None:
    """Where the history of a rollout stands that it does not hold itself, by its head."""
    try:
        if path.name.endswith(".zst"):
            data = b"".join(chunk for chunk in unpacked(path, _HEAD) if isinstance(chunk, bytes))
        else:
            data = read_at(path, 0, _HEAD)
        entry = entry_of(data.partition(b"\n")[0])
        copied = Copied()
        copied.head(entry, entry.payload)
    except (Unreadable, ValueError):
        return None
    return copied.base
