"""agentmem: keep an agent's memory well, and see what became of it.

    run = agentmem.record("parser", goal="...")      # runs/parser.json and its ledger
    run.save(messages, state=state, notes=notes)     # after every step
    run.finish("done")

Names are imported when they are first used, so that `import agentmem` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
"""As in `typing`, whose import would cost more than all that is here."""

__version__ = "0.1.0"

_MODULES = {
    "agentmem.checkpoint.client": "NotRecorded wrap",
    "agentmem.checkpoint.files": "FileStore",
    "agentmem.checkpoint.guard": "NOT_DONE Doubt Guard InDoubt ResultNotKept ResultNotRecorded",
    "agentmem.checkpoint.postgres": "PostgresStore Unreachable",
    "agentmem.checkpoint.recorder": "Recorder history load record",
    "agentmem.checkpoint.sqlite": "SqliteStore",
    "agentmem.checkpoint.store": (
        "Checkpoint CheckpointError ConflictError DamagedError "
        "MissingError NewerSchemaError SaveError Store"
    ),
    "agentmem.ledger": "Ledger Verdict",
    "agentmem.memory.agent": "Agent MockClient",
    "agentmem.memory.artefacts": "ArtefactError Artefacts",
    "agentmem.memory.fence": "FenceError decode_fence",
    "agentmem.memory.files": "FileError",
    "agentmem.memory.handoff": "handoff",
    "agentmem.memory.live": "LiveError OpenAIClient",
    "agentmem.memory.notebook": "Notebook",
    "agentmem.memory.notes": "Notes",
    "agentmem.memory.policies": "UnknownPolicy compose drop_oldest shrink summarise_middle summarise_oldest",
    "agentmem.memory.recall.memory": "Memory RecallError",
    "agentmem.memory.recall.postgres": "PostgresMemory",
    "agentmem.memory.recall.sqlite": "SqliteMemory",
    "agentmem.memory.state": "State Unverified",
    "agentmem.tokens": "UnknownCounter counter",
}
"""Where the names come from: module -> its names. A test holds it and the imports for type checkers together."""
_PLACES = {name: module for module, names in _MODULES.items() for name in names.split()}

if TYPE_CHECKING:
    from agentmem.checkpoint.client import NotRecorded as NotRecorded
    from agentmem.checkpoint.client import wrap as wrap
    from agentmem.checkpoint.files import FileStore as FileStore
    from agentmem.checkpoint.guard import NOT_DONE as NOT_DONE
    from agentmem.checkpoint.guard import Doubt as Doubt
    from agentmem.checkpoint.guard import Guard as Guard
    from agentmem.checkpoint.guard import InDoubt as InDoubt
    from agentmem.checkpoint.guard import ResultNotKept as ResultNotKept
    from agentmem.checkpoint.guard import ResultNotRecorded as ResultNotRecorded
    from agentmem.checkpoint.postgres import PostgresStore as PostgresStore
    from agentmem.checkpoint.postgres import Unreachable as Unreachable
    from agentmem.checkpoint.recorder import Recorder as Recorder
    from agentmem.checkpoint.recorder import history as history
    from agentmem.checkpoint.recorder import load as load
    from agentmem.checkpoint.recorder import record as record
    from agentmem.checkpoint.sqlite import SqliteStore as SqliteStore
    from agentmem.checkpoint.store import Checkpoint as Checkpoint
    from agentmem.checkpoint.store import CheckpointError as CheckpointError
    from agentmem.checkpoint.store import ConflictError as ConflictError
    from agentmem.checkpoint.store import DamagedError as DamagedError
    from agentmem.checkpoint.store import MissingError as MissingError
    from agentmem.checkpoint.store import NewerSchemaError as NewerSchemaError
    from agentmem.checkpoint.store import SaveError as SaveError
    from agentmem.checkpoint.store import Store as Store
    from agentmem.ledger import Ledger as Ledger
    from agentmem.ledger import Verdict as Verdict
    from agentmem.memory.agent import Agent as Agent
    from agentmem.memory.agent import MockClient as MockClient
    from agentmem.memory.artefacts import ArtefactError as ArtefactError
    from agentmem.memory.artefacts import Artefacts as Artefacts
    from agentmem.memory.fence import FenceError as FenceError
    from agentmem.memory.fence import decode_fence as decode_fence
    from agentmem.memory.files import FileError as FileError
    from agentmem.memory.handoff import handoff as handoff
    from agentmem.memory.live import LiveError as LiveError
    from agentmem.memory.live import OpenAIClient as OpenAIClient
    from agentmem.memory.notebook import Notebook as Notebook
    from agentmem.memory.notes import Notes as Notes
    from agentmem.memory.policies import UnknownPolicy as UnknownPolicy
    from agentmem.memory.policies import compose as compose
    from agentmem.memory.policies import drop_oldest as drop_oldest
    from agentmem.memory.policies import shrink as shrink
    from agentmem.memory.policies import summarise_middle as summarise_middle
    from agentmem.memory.policies import summarise_oldest as summarise_oldest
    from agentmem.memory.recall.memory import Memory as Memory
    from agentmem.memory.recall.memory import RecallError as RecallError
    from agentmem.memory.recall.postgres import PostgresMemory as PostgresMemory
    from agentmem.memory.recall.sqlite import SqliteMemory as SqliteMemory
    from agentmem.memory.state import State as State
    from agentmem.memory.state import Unverified as Unverified
    from agentmem.tokens import UnknownCounter as UnknownCounter
    from agentmem.tokens import counter as counter

__all__ = [
    "NOT_DONE", "Agent", "ArtefactError", "Artefacts", "Checkpoint", "CheckpointError", "ConflictError",
    "DamagedError", "Doubt", "FenceError", "FileError", "FileStore", "Guard", "InDoubt", "Ledger", "LiveError",
    "Memory", "MissingError", "MockClient", "NewerSchemaError", "NotRecorded", "Notebook", "Notes", "OpenAIClient",
    "PostgresMemory", "PostgresStore", "RecallError", "Recorder", "ResultNotKept", "ResultNotRecorded", "SaveError",
    "SqliteMemory", "SqliteStore", "State", "Store", "UnknownCounter", "UnknownPolicy", "Unreachable", "Unverified",
    "Verdict", "compose", "counter", "decode_fence", "drop_oldest", "handoff", "history", "load", "record",
    "shrink", "summarise_middle", "summarise_oldest", "wrap",
]  # fmt: skip

if not TYPE_CHECKING:  # a type checker that saw it would take any misspelt name for good

    def __getattr__(name: str) -> object:
        place = _PLACES.get(name)
        if place is None:
            raise AttributeError(f"module 'agentmem' has no attribute {name!r}")
        return getattr(import_module(place), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
