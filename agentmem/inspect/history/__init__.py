"""Versions seen of files that their writer overwrites: in memory, or in one SQLite store in the user's state directory.

Nothing is written beside the user's files. The app writes the store; commands only read it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from agentmem.formats.reader import Keeper
from agentmem.inspect.history.memory import MemoryKeeper
from agentmem.inspect.history.store import Generation, HistoryStore, Kept


def store_path() -> Path:
    """Where the store is: `$XDG_STATE_HOME/agentmem/history.db`, on macOS in Application Support."""
    base = os.environ.get("XDG_STATE_HOME")
    if base:
        return Path(base) / "agentmem" / "history.db"
    home = Path(os.path.expanduser("~"))
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "agentmem" / "history.db"
    return home / ".local" / "state" / "agentmem" / "history.db"


def reading() -> Keeper:
    """The keeper of a command: reads the store, keeps new versions in memory only."""
    return HistoryStore(store_path(), read_only=True)


__all__ = ["Generation", "HistoryStore", "Kept", "MemoryKeeper", "reading", "store_path"]
