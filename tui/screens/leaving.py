"""What leaves the screen: the file of the last copy, and the reader's editor."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from textual.app import App, SuspendNotSupported

_PLUS = {"vi", "vim", "nvim", "view", "nano", "emacs", "emacsclient", "micro", "kak", "joe", "mg", "ne", "jed"}
_COLON = {"hx", "helix", "subl", "zed"}
_GO = {"code", "codium", "cursor", "windsurf"}


def state_directory() -> Path:
    """The user's state directory of this program (`XDG_STATE_HOME`); made when something is put there."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(base) / "agentmem"


def keep_copy(text: str) -> Path:
    """Write the copied text, readable for the user only. Raises OSError."""
    folder = state_directory()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / "copied.txt"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def editor_command(editor: str, path: str, line: int | None) -> list[str]:
    """The command that opens a file at a line, as the editor wants it said."""
    words = shlex.split(editor)
    name = Path(words[0]).name if words else ""
    if line is None or not words:
        return [*words, path]
    if name in _PLUS:
        return [*words, f"+{line}", path]
    if name in _COLON:
        return [*words, f"{path}:{line}"]
    if name in _GO:
        return [*words, "-g", f"{path}:{line}"]
    return [*words, path]


def edit(app: App[object], path: str, line: int | None) -> str:
    """Suspend the app and open the file. Returns what to say if it did not work, else nothing."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    if not editor.strip():
        return "No editor: set VISUAL or EDITOR."
    if not os.path.isfile(path):
        return f"Not a file on this machine: {path}"
    try:
        command = editor_command(editor, os.path.abspath(path), line)
        with app.suspend():
            subprocess.run(command, check=False)
    except SuspendNotSupported:
        return "The editor cannot be opened from here."
    except (OSError, ValueError) as error:
        return f"{editor}: {error}"
    return ""
