"""Where runs are looked for when no target is given, in words: for the screen that says that nothing was found."""

from __future__ import annotations

import os
from pathlib import Path

HOMES: tuple[tuple[str, str | None, str, str], ...] = (
    ("claude-code", "CLAUDE_CONFIG_DIR", ".claude", "projects"),
    ("codex", "CODEX_HOME", ".codex", "sessions"),
    ("opencode", "XDG_DATA_HOME", ".local/share", "opencode"),
    ("opencode-storage", "XDG_DATA_HOME", ".local/share", "opencode/storage"),
    ("gemini-cli", None, ".gemini", "tmp"),
    ("qwen-code", "QWEN_RUNTIME_DIR", ".qwen", "projects"),
    ("pi", "PI_CODING_AGENT_DIR", ".pi/agent", "sessions"),
    ("openhands", "OPENHANDS_CONVERSATIONS_DIR", ".openhands/conversations", ""),
    ("cline-sdk", "CLINE_DATA_DIR", ".cline/data", "sessions"),
    ("cline", None, ".config/Code/User/globalStorage/saoudrizwan.claude-dev", "tasks"),
    ("roo", None, ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline", "tasks"),
)
"""(format, variable that names the base, base in the home folder, what is in it): what is kept for all folders."""
BESIDE = {"gemini-checkpoint": "gemini-cli"}
"""Formats that are kept in the place of another one, which is named for both."""
HERE: tuple[tuple[str, str], ...] = (
    ("mini-swe-agent", "*.traj.json"), ("swe-agent", "trajectories/"), ("atif", "jobs/"),
    ("aider", ".aider.chat.history.md"),
)  # fmt: skip
"""(format, what it leaves in the folder itself)."""


def looked(folder: Path) -> list[tuple[str, str]]:
    """(place, what is there), the places that exist first; those of agents that are not on this machine as one row."""
    rows = [("runs/*.json", "none in it" if (folder / "runs").is_dir() else "no such folder")]
    home = Path.home()
    absent = 0
    for _, variable, base, inside in HOMES:
        given = os.environ.get(variable) if variable is not None else None
        place = (Path(given) if given else home / base) / inside
        if place.is_dir():
            rows.append((_short(place, home), "none for this folder"))
        else:
            absent += 1
    rows.append((", ".join(name for _, name in HERE), "none here"))
    if absent:
        rows.append((f"{absent} other places where agents keep runs", "not on this machine"))
    return rows


def _short(place: Path, home: Path) -> str:
    return f"~/{place.relative_to(home)}" if place.is_relative_to(home) else str(place)
