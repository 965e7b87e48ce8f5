"""SWE-agent: `*.traj`, one run, written whole after every step.

From 1.1 on each step holds `query`, the exact prompt. 1.0 holds `messages`, what the next step was sent. Older files
hold only the history, of which a history processor may have cut anything before it was sent. A run with retries holds
`attempts`: the chosen one is the main lane, the others are lanes of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from agentmem.formats.agents.swe_agent.reader import ISSUE, SweReader
from agentmem.formats.reader import Format
from agentmem.formats.shared.rewriting import changed_at, newest
from agentmem.formats.shared.whole import parse
from agentmem.formats.source import NotYet, read_at
from agentmem.model import RunInfo

_HEAD = 65536


def recognise(path: Path, head: bytes) -> bool:
    """An object that begins with a trajectory of actions and observations, or with attempts of such."""
    text = head.lstrip(b"\xef\xbb\xbf\0 \t\r\n")
    if not re.match(rb'\{\s*"(?:trajectory|environment|attempts|history|info|replay_config)"', text):
        return False
    if re.search(rb'"trajectory"\s*:\s*\[', text) is None:
        return False
    return (b'"action"' in text and (b'"observation"' in text or b'"thought"' in text)) or bool(
        re.search(rb'"trajectory"\s*:\s*\[\s*\]', text)
    )


def places(folder: Path) -> Iterable[Path]:
    """Trajectories in the folder and under its `trajectories`, newest first."""
    patterns = ("*.traj", "trajectories/*/*/*.traj", "trajectories/*/*/*/*.traj")
    return newest(path for pattern in patterns for path in folder.glob(pattern))


def peek(path: Path) -> RunInfo:
    """A row of the list from the head and the tail of the file."""
    at, ident = changed_at(path), path.name.removesuffix(".traj")
    try:
        head = read_at(path, 0, _HEAD)
        size = path.stat().st_size
        tail = read_at(path, max(0, size - _HEAD), _HEAD)
        parse(head, str(path), SweReader.LISTS)
    except (NotYet, OSError):
        return RunInfo(ident, str(path), SweReader.NAME, at)
    ended = re.findall(rb'"exit_status"\s*:\s*"([^"\\]{1,80})"', tail)
    calls = re.findall(rb'"api_calls"\s*:\s*(\d{1,9})', tail)
    issue = ISSUE.search(head.decode("utf-8", "replace").replace("\\n", "\n"))
    goal = None if issue is None else (issue.group(1) or issue.group(2)).strip()[:400]
    return RunInfo(
        ident, str(path), SweReader.NAME, at, "ended" if ended else "unknown", int(calls[-1]) if calls else None, goal,
        "swe-agent", None,
    )  # fmt: skip


FORMAT = Format("swe-agent", "SWE-agent trajectories", recognise, SweReader, places=places, peek=peek)
