"""Cline SDK and CLI: `<id>.messages.json`, written whole by rename, with a manifest and a compaction beside it.

The messages are never cut. A compaction stands in `<id>.compaction.json`: from the message that it names on, the prompt
is its messages and those that came after, if the hash of what it replaces still fits; else the whole list.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agentmem.formats.agents.cline_sdk.feeder import split_record
from agentmem.formats.agents.cline_sdk.reader import ENDED, LISTS, ClineReader, stem
from agentmem.formats.loose import decode
from agentmem.formats.reader import Format, Options
from agentmem.formats.shared.rewriting import changed_at, decoded, inner, mapping, newest
from agentmem.formats.shared.whole import parse
from agentmem.formats.source import NotYet, Unreadable, read_at
from agentmem.model import RunInfo

_HEAD = 65536


def recognise(path: Path, head: bytes) -> bool:
    """An object with the session's id, its agent and a list of messages, its manifest, or a compaction of one; the
    folder of a session, or of sessions."""
    if path.is_dir():
        return bool(_sessions(path))
    text = head.lstrip(b"\xef\xbb\xbf\0 \t\r\n")
    if text.startswith(b"{") and b'"session_id"' in text and b'"workspace_root"' in text:
        return _messages_of(path).is_file()
    if not text.startswith(b"{") or b'"messages"' not in text:
        return False
    start = text[: text.index(b'"messages"')]
    return b'"version"' in start and b'"updated_at"' in start and (
        b'"sessionId"' in start or b'"source_message_count"' in start or b'"agent"' in start
    )


def _messages_of(manifest: Path) -> Path:
    """The messages of the session that a manifest describes; they stand beside it."""
    if manifest.name.endswith(".messages.json"):
        return manifest
    return manifest.with_name(f"{stem(manifest)}.messages.json")


def _sessions(folder: Path) -> list[Path]:
    """Messages of the session in a folder, or of the sessions in its folders; newest first."""
    own = folder / f"{folder.name}.messages.json"
    if own.is_file():
        return [own]
    try:
        entries = [entry for entry in folder.iterdir() if not entry.is_symlink()]
    except OSError:
        return []
    return newest(entry / f"{entry.name}.messages.json" for entry in entries)


def runs(path: Path) -> Iterable[RunInfo]:
    """The sessions of a folder; of a file its one run."""
    return [peek(found) for found in _sessions(path)] if path.is_dir() else [peek(path)]


def open_session(path: Path, options: Options) -> ClineReader:
    """Of a session's folder, of its messages, of its manifest, or of a compaction alone."""
    if path.is_dir():
        found = _sessions(path)
        path = next((one for one in found if stem(one) == options.run_id), found[0])
    messages = _messages_of(path)
    manifest = not path.name.endswith(".compaction.json") and messages.is_file()
    return ClineReader(messages if manifest else path, options)


def places(folder: Path) -> Iterable[Path]:
    """Sessions whose manifest names this folder, newest first."""
    data = os.environ.get("CLINE_DATA_DIR")
    root = (Path(data) if data else Path.home() / ".cline" / "data") / "sessions"
    found = []
    for path in root.glob("*/*.messages.json"):
        if stem(path) != path.parent.name:
            continue
        told = _manifest(path)
        if str(folder) in (told.get("cwd"), told.get("workspace_root")):
            found.append(path)
    return newest(found)


def _manifest(path: Path) -> Mapping[str, Any]:
    try:
        return mapping(decode(read_at(path.with_name(stem(path) + ".json"), 0, _HEAD)))
    except (Unreadable, OSError, ValueError):
        return {}


def peek(path: Path) -> RunInfo:
    """A row of the list from the manifest and the head of the messages."""
    told, ident, at = _manifest(path), stem(path), changed_at(path)
    goal, model, status = None, told.get("model"), str(told.get("status", "")).lower()
    try:
        items = parse(read_at(path, 0, _HEAD), str(path), LISTS).lists.get("messages", [])
    except NotYet:
        items = []
    for item in items[:4]:
        value = decoded(item)
        if value.get("role") == "user":
            goal = next((part.text for part in split_record(value).parts if part.kind == "user" and part.text), None)
            break
    title = inner(told, "metadata").get("title")
    return RunInfo(
        ident, str(path), ClineReader.NAME, at, "ended" if status in ENDED else "unknown", None,
        goal or (title if isinstance(title, str) else None), "cline", model if isinstance(model, str) else None,
    )  # fmt: skip


FORMAT = Format(
    "cline-sdk", "Cline sessions", recognise, open_session, runs=runs, places=places,
    everywhere=("{CLINE_DATA_DIR|~/.cline/data}/sessions/*",), peek=peek,
)  # fmt: skip
