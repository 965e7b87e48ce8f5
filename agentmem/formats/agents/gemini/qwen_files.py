"""Which files are chats of Qwen Code, where they are kept, and their row in the list of runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from agentmem.formats.agents.gemini.contents import asked, parts_of
from agentmem.formats.agents.gemini.qwen import QwenReader
from agentmem.formats.loose import decode
from agentmem.formats.reader import Format
from agentmem.formats.shared.peek import line_info
from agentmem.formats.shared.rewriting import newest
from agentmem.formats.source import Unreadable
from agentmem.model import RunInfo
from agentmem.pattern import pattern

_LINES = 20
_ODD = pattern(r"[^a-zA-Z0-9]")
_TORN = pattern(rb'\{\s*"uuid"\s*:\s*"[^"]*"\s*,\s*"parentUuid"\s*:\s*(?:null|"[^"]*")\s*,\s*"sessionId"\s*:\s*"')
"""How a record begins."""
_FEW = 4096


def recognise(path: Path, head: bytes) -> bool:
    """JSON lines of a chain, one of the first of which has a content of the Gemini API or a payload of the agent."""
    if b'"parentUuid"' not in head:
        return False
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0 \t\r\n")
    lines = text.split(b"\n", _LINES)[:_LINES]
    for line in lines:
        body = line.strip(b"\0 \t\r")
        if not body.startswith(b"{"):
            continue
        try:
            value = decode(body)
        except ValueError:
            if line is lines[0] and _TORN.match(body):
                return True
            continue
        if isinstance(value, dict) and _is_record(value):
            return True
    return False


def _is_record(value: Mapping[str, object]) -> bool:
    if not isinstance(value.get("uuid"), str) or "parentUuid" not in value:
        return False
    message = value.get("message")
    if isinstance(message, dict):
        return isinstance(message.get("parts"), list)
    return value.get("type") == "system" and isinstance(value.get("systemPayload"), dict)


def places(folder: Path) -> Iterable[Path]:
    """Chats of this folder, newest first: those below its name, odd characters as `-`, whose records name it."""
    base = Path(os.environ.get("QWEN_RUNTIME_DIR") or Path.home() / ".qwen").expanduser()
    found = newest((base / "projects" / _ODD.sub("-", str(folder)) / "chats").glob("*.jsonl"))
    for path in found:
        try:
            named = next((value["cwd"] for value in line_info(path, _FEW) if isinstance(value.get("cwd"), str)), None)
        except (Unreadable, OSError):
            continue  # gone since it was listed
        if named is None or named == str(folder):
            yield path


def peek(path: Path) -> RunInfo:
    """A row of the list, from the first and last 64 KiB. Raises Unreadable."""
    ident, goal, model = None, None, None
    for value in line_info(path):
        ident = ident or (value["sessionId"] if isinstance(value.get("sessionId"), str) else None)
        model = value["model"] if isinstance(value.get("model"), str) else model
        if goal is None and value.get("type") == "user" and value.get("subtype") is None:
            parts = parts_of(value.get("message"))
            first = asked(parts)
            goal = parts[first].text if first is not None else None
    ident = ident or path.name.removesuffix(".jsonl")
    return RunInfo(ident, str(path), QwenReader.name, path.stat().st_mtime, goal=goal, agent="Qwen Code", model=model)


FORMAT = Format(
    "qwen-code", "Qwen Code", recognise, QwenReader, places=places,
    everywhere=("{QWEN_RUNTIME_DIR|~/.qwen}/projects/*/chats/*.jsonl",), peek=peek,
)  # fmt: skip
