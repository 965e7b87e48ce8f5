"""The default store: a folder with two files a run, and one more for a run that guards calls."""

from agentmem.checkpoint.files.paths import CHECKPOINT, DEFAULT_FOLDER, LEDGER, Paths
from agentmem.checkpoint.files.reading import history_path, load_path
from agentmem.checkpoint.files.store import FileStore

__all__ = ["CHECKPOINT", "DEFAULT_FOLDER", "LEDGER", "FileStore", "Paths", "history_path", "load_path"]
