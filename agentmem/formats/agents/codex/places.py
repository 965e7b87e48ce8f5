"""Where Codex keeps its rollouts, what one of them looks like from outside, and the format itself."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from agentmem.formats.agents.codex.exec_stream import TYPES, ExecReader
from agentmem.formats.agents.codex.finding import latest
from agentmem.formats.agents.codex.packed import MAGIC, unpacked
from agentmem.formats.agents.codex.records.items import is_fragment, item_parts, request_of
from agentmem.formats.agents.codex.records.lines import Entry, entry_of, records_in
from agentmem.formats.agents.codex.rollout import RolloutReader
from agentmem.formats.reader import Format, Options, Reader
from agentmem.formats.source import Unreadable, read_at
from agentmem.model import RunInfo

_HEAD = 65536
_FIRST_LINE = 4096
_TAIL = 65536
_MOST = 5_000
_KINDS = (b"session_meta", b"response_item", b"event_msg", b"turn_context", b"compacted", b"world_state")


def recognise(path: Path, head: bytes) -> bool:
    """By the types of the first lines; a compressed file, or one that is still empty, by its name."""
    name = path.name
    rollout = name.startswith("rollout-")
    if head.startswith(MAGIC):
        return rollout and name.endswith(".jsonl.zst")
    text = head.removeprefix(b"\xef\xbb\xbf").strip(b"\0 \t\r\n")
    if not text:
        return rollout and name.endswith(".jsonl") and path.is_file()
    return any(_is_line(line.strip(b"\0 \t\r"), rollout) for line in text.split(b"\n", 12)[:12])


def _is_line(line: bytes, rollout: bool) -> bool:
    if not line.startswith(b"{"):
        return False
    start = line[:400].replace(b" ", b"")
    if b'"payload"' in line[:_FIRST_LINE] and any(b'"type":"' + kind + b'"' in start for kind in _KINDS):
        return True
    if any(b'{"type":"' + kind.encode() + b'"' in start for kind in TYPES if "." in kind):
        return True
    named = b'"timestamp"' in start and b'"id":"' in start and b'"type"' not in start
    return rollout and named and b'"instructions"' in line


def open_codex(path: Path, options: Options) -> Reader:
    """The reader for a rollout, or for an event stream."""
    try:
        head = read_at(path, 0, _HEAD)
    except Unreadable:
        head = b""
    for entry in _entries(head):
        if entry.kind is not None:
            return ExecReader(path, options) if entry.kind in TYPES else RolloutReader(path, options)
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0 \t\r\n").replace(b" ", b"")
    # Its first line is not whole yet: a stream's begins with its type.
    stream = any(start.startswith(b'{"type":"' + kind.encode()) for kind in TYPES if "." in kind)
    return ExecReader(path, options) if stream else RolloutReader(path, options)


def _entries(data: bytes) -> Iterator[Entry]:
    """What can be read of the first or last lines of a file."""
    for line in data.split(b"\n"):
        for _, body in records_in(line)[0]:
            try:
                yield entry_of(body)
            except ValueError:
                continue  # the last line of a head is cut, and so is the first of a tail


def home() -> Path:
    given = os.environ.get("CODEX_HOME")
    return Path(given) if given else Path.home() / ".codex"


def rollouts() -> Iterator[Path]:
    """The rollouts of all threads, newest day first; of a thread that goes on in further files the last one."""
    yield from latest(path for name in ("sessions", "archived_sessions") for path in _newest(home() / name, 4))


def tree(folder: Path) -> Iterator[Path]:
    """The same, of a folder with a folder for each year."""
    try:
        with os.scandir(folder) as found:
            years = sorted(
                (one.path for one in found if re.fullmatch(r"\d{4}", one.name) and one.is_dir()), reverse=True
            )
    except OSError:
        return
    yield from latest(path for year in years for path in _newest(Path(year), 3))


def _newest(folder: Path, depth: int) -> Iterator[Path]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name, reverse=True)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith("rollout-") and entry.name.endswith((".jsonl", ".jsonl.zst")):
            if entry.is_file(follow_symlinks=False):
                yield Path(entry.path)
        elif depth > 1 and entry.name.isdigit() and entry.is_dir(follow_symlinks=False):
            yield from _newest(Path(entry.path), depth - 1)


def places(folder: Path) -> Iterable[Path]:
    """Rollouts of work in that folder, newest first: only the head of each file is read."""
    wanted = os.path.realpath(folder)
    for seen, path in enumerate(rollouts()):
        if seen >= _MOST:
            return
        here = cwd_of(path)
        if here is not None and os.path.realpath(here) == wanted:
            yield path


def cwd_of(path: Path) -> str | None:
    """The working folder that the head of a rollout names: looked for in its first bytes, then in the first line."""
    try:
        head = _head(path, _FIRST_LINE)
        line = head.partition(b"\n")[0]
        if len(line) == len(head) and b'"cwd"' not in head:
            head = _head(path, _HEAD)
            line = head.partition(b"\n")[0]
    except (Unreadable, OSError):
        return None
    at = line.find(b'"cwd":')
    if at < 0:
        return None
    start = line.find(b'"', at + 6)
    end = start + 1
    while end < len(line) and line[end : end + 1] != b'"':
        end += 2 if line[end : end + 1] == b"\\" else 1
    try:
        text = entry_of(b'{"type":' + line[start : end + 1] + b"}").kind
    except ValueError:
        return None
    return text or None


def _head(path: Path, size: int) -> bytes:
    if path.name.endswith(".zst"):
        return b"".join(chunk for chunk in unpacked(path, size) if isinstance(chunk, bytes))[:size]
    return read_at(path, 0, size)


def peek(path: Path) -> RunInfo:
    """A row of the list, from the head and the tail of the file. Raises Unreadable."""
    at = os.stat(path).st_mtime
    ident = path.name.removesuffix(".zst").removesuffix(".jsonl")
    try:
        head = _head(path, _HEAD)
    except Unreadable as error:
        return RunInfo(ident, str(path), "codex", at, problem=str(error).rpartition(": ")[2])
    goal = model = None
    once = False
    named = False
    for entry in _entries(head):
        try:
            payload = entry.payload
        except ValueError:
            continue  # the reader tells of damage; a row of the list is made of what can be read
        if entry.kind == "session_meta" and not named:
            ident, named = str(payload.get("id") or ident), True
            once = payload.get("source") == "exec" or isinstance(payload.get("source"), Mapping)
        elif entry.kind == "thread.started":
            ident = str(payload.get("thread_id") or ident)
        elif entry.kind == "turn_context" and isinstance(payload.get("model"), str):
            model = model or payload["model"]
        elif goal is None:
            goal = _goal(entry, payload)
    tail = b"" if path.name.endswith(".zst") else read_at(path, max(0, os.stat(path).st_size - _TAIL), _TAIL)
    last = [entry.sub or entry.kind for entry in _entries(tail[tail.find(b"\n") + 1 :] if len(tail) == _TAIL else tail)]
    over = next((name for name in reversed(last) if name in _ENDS or name in _STARTS), None)
    ended = over in _ENDS and (once or over in ("turn.completed", "turn.failed"))
    return RunInfo(ident, str(path), "codex", at, "ended" if ended else "unknown", None, goal, "codex", model)


_ENDS = frozenset({"task_complete", "turn_complete", "turn_aborted", "turn.completed", "turn.failed"})
_STARTS = frozenset({"task_started", "turn_started", "turn.started"})


def _goal(entry: Entry, payload: Mapping[str, object]) -> str | None:
    if entry.sub == "user_message" and isinstance(payload.get("message"), str):
        return request_of(str(payload["message"]))
    if entry.sub == "thread_goal_updated" and isinstance(payload.get("goal"), Mapping):
        goal = payload["goal"]
        text = goal.get("objective") if isinstance(goal, Mapping) else None
        return text if isinstance(text, str) else None
    if entry.sub == "message" and payload.get("role") == "user":
        texts = [part.text for part in item_parts(payload) if part.kind == "user" and part.text]
        return next((request_of(text) for text in texts if not is_fragment(text)), None)
    return None


FORMAT = Format(
    "codex", "Codex rollouts and exec streams", recognise, open_codex, places=places,
    everywhere=("{CODEX_HOME|~/.codex}/sessions",), tree=tree, peek=peek,
)  # fmt: skip
