"""agentmem: keep an agent's memory well, and see what became of it.

    run = agentmem.record("parser", goal="...")      # runs/parser.json and its ledger
    run.save(messages, state=state, notes=notes)     # after every step
    run.finish("done")

Names are imported when they are first used, so that `import agentmem` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_PLACES: dict[str, str] = {
    "record": "agentmem.checkpoint.recorder",
    "load": "agentmem.checkpoint.recorder",
    "history": "agentmem.checkpoint.recorder",
    "Recorder": "agentmem.checkpoint.recorder",
    "Checkpoint": "agentmem.checkpoint.store",
    "wrap": "agentmem.checkpoint.client",
    "State": "agentmem.memory.state",
    "Notebook": "agentmem.memory.notebook",
    "Ledger": "agentmem.ledger",
    "Verdict": "agentmem.ledger",
    "SqliteStore": "agentmem.checkpoint.sqlite",
    "PostgresStore": "agentmem.checkpoint.postgres",
    "FileStore": "agentmem.checkpoint.files",
    "counter": "agentmem.tokens",
}

if TYPE_CHECKING:
    from agentmem.checkpoint.files import FileStore as FileStore
    from agentmem.checkpoint.postgres import PostgresStore as PostgresStore
    from agentmem.checkpoint.recorder import Recorder as Recorder
    from agentmem.checkpoint.recorder import history as history
    from agentmem.checkpoint.recorder import load as load
    from agentmem.checkpoint.recorder import record as record
    from agentmem.checkpoint.sqlite import SqliteStore as SqliteStore
    from agentmem.checkpoint.store import Checkpoint as Checkpoint
    from agentmem.ledger import Ledger as Ledger
    from agentmem.ledger import Verdict as Verdict
    from agentmem.memory.notebook import Notebook as Notebook
    from agentmem.memory.state import State as State
    from agentmem.tokens import counter as counter

__all__ = [
    "Checkpoint", "FileStore", "Ledger", "Notebook", "PostgresStore", "Recorder", "SqliteStore", "State", "Verdict",
    "counter", "history", "load", "record", "wrap",
]  # fmt: skip


def __getattr__(name: str) -> object:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'agentmem' has no attribute {name!r}")
    return getattr(import_module(place), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
