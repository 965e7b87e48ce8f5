"""Which files are sessions: what they look like, where they are kept, and their row in the list of runs."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from agentmem.formats import loose
from agentmem.formats.agents.claude_code.parts import SYNTHETIC, asked, command_arguments, parts_of
from agentmem.formats.agents.claude_code.records import (
    BESIDE,
    CHAINED,
    Line,
    content_of,
    decode,
    is_session,
    mapping,
    string,
)
from agentmem.formats.shared.times import seconds
from agentmem.formats.source import Unreadable, open_plain, read_at
from agentmem.model import RunInfo
from agentmem.pattern import pattern

_HEAD = 65536
_TAIL = 65536
_LINES = 60
_LONGEST_NAME = 200
_DEEPEST = 3
_ODD = pattern(r"[^A-Za-z0-9-]")


def recognise(path: Path, head: bytes) -> bool:
    """JSON lines, one of the first of which is a message of a chain or stands beside one."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0 \t\r\n")
    if not text.startswith(b"{") and b'\n{"' not in head:
        return False
    lines = text.split(b"\n")
    for raw in lines[:_LINES]:
        body = raw.strip(b"\0 \t\r")
        if not body.startswith(b"{"):
            continue
        try:
            line = decode(body)
        except ValueError:
            if raw is lines[-1] and _looks(body[:4096]) and b'"message"' in body:
                return True
            continue
        if _is_line(line):
            return True
    return False


def _looks(start: bytes) -> bool:
    return b'"sessionId"' in start and (b'"parentUuid"' in start or b'"uuid"' in start)


def _is_line(line: Line) -> bool:
    if not isinstance(line.kind, str):
        return False
    if line.kind in CHAINED and isinstance(line.uuid, str):
        return isinstance(line.sessionId, str) or isinstance(line.parentUuid, str | None)
    if line.kind == "summary":
        return isinstance(line.leafUuid, str)
    return line.kind in BESIDE and isinstance(line.sessionId, str)


def meta_of(path: Path) -> Mapping[str, Any]:
    """What stands beside a subagent's file; empty if there is nothing or it cannot be read."""
    try:
        return mapping(loose.decode(read_at(path.with_suffix(".meta.json"), 0, _HEAD)))
    except (Unreadable, ValueError):
        return {}


def subagent_files(path: Path, agents: Collection[str]) -> Iterator[tuple[Path, str]]:
    """(file, agent id) of the subagents of a session: in its folder, or beside it where a result names them."""
    for agent in sorted(agents):
        if re.fullmatch(r"[\w-]{1,100}", agent):
            beside = path.parent / f"agent-{agent}.jsonl"
            if beside.is_file():
                yield beside, agent
    yield from _walk(path.with_suffix("") / "subagents", 0)


def _walk(folder: Path, depth: int) -> Iterator[tuple[Path, str]]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink():
            continue
        if entry.is_dir() and depth < _DEEPEST:
            yield from _walk(Path(entry.path), depth + 1)
        elif entry.name.startswith("agent-") and entry.name.endswith(".jsonl") and entry.is_file():
            yield Path(entry.path), entry.name.removeprefix("agent-").removesuffix(".jsonl")


def folder_name(folder: str) -> str:
    """What the sessions of a working folder are kept under."""
    return _ODD.sub("-", folder)


def places(folder: Path) -> Iterable[Path]:
    """Sessions of work in that folder, newest first."""
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    roots = [Path(own)] if own else [Path.home() / ".claude", Path.home() / ".config" / "claude"]
    name = folder_name(str(folder.absolute()))
    found: dict[str, float] = {}
    for root in roots:
        projects = root / "projects"
        folders = [projects / name]
        if len(name) > _LONGEST_NAME:
            folders = sorted(projects.glob(f"{name[:_LONGEST_NAME]}*"))
        for place in folders:
            try:
                with os.scandir(place) as entries:
                    for entry in entries:
                        if entry.name.endswith(".jsonl") and not entry.name.startswith("agent-") and entry.is_file():
                            found[entry.path] = entry.stat().st_mtime
            except OSError:
                continue  # no sessions of that folder are kept there
    return [Path(path) for path in sorted(found, key=lambda path: (-found[path], path))]


def peek(path: Path) -> RunInfo:
    """The row of a session, from its head and tail. Raises Unreadable."""
    descriptor = open_plain(path)
    try:
        status = os.fstat(descriptor)
        head = os.pread(descriptor, _HEAD, 0)
        tail = os.pread(descriptor, _TAIL, max(0, status.st_size - _TAIL)) if status.st_size > _HEAD else head
    finally:
        os.close(descriptor)
    ident = goal = command = model = None
    at: float | None = None
    for line in _whole_lines(head, cut_head=False):
        ident = ident or string(line.sessionId)
        if line.kind == "user" and line.isSidechain is not True and line.isMeta is not True and goal is None:
            for part in parts_of(line):
                if part.kind == "user" and part.text and asked(part.text):
                    goal = part.text
                    break
                command = command or command_arguments(part.text or "")
        if goal is not None and ident is not None:
            break
    for line in _whole_lines(tail, cut_head=status.st_size > _HEAD):
        at = seconds(line.timestamp) or at
        if line.kind == "assistant" and line.isSidechain is not True:
            named = string(mapping(content_of(line.message)).get("model"))
            model = named if named and named != SYNTHETIC else model
    name = path.name.removesuffix(".jsonl")
    if ident is None or is_session(name) or name.startswith("agent-"):
        ident = name
    return RunInfo(ident, str(path), "claude-code", at or status.st_mtime, "unknown", None, goal or command,
                   "claude-code", model)  # fmt: skip


def _whole_lines(data: bytes, *, cut_head: bool) -> Iterator[Line]:
    lines = data.split(b"\n")
    for raw in lines[1 if cut_head else 0 :]:
        body = raw.strip(b"\0 \t\r").removeprefix(b"\xef\xbb\xbf")
        if body.startswith(b"{"):
            try:
                yield decode(body)
            except (ValueError, msgspec.MsgspecError):
                continue  # a row of the list needs only the lines that can be read
