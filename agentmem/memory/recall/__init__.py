"""Long-term memory: the interface, the default on SQLite, and embeddings for it.

What a store of another kind needs stands in `memory` (interface, checks, the free similarity) and `embeddings`.
"""

from agentmem.memory.recall.embeddings import Embedder, MissingExtra, WordLlamaEmbedder
from agentmem.memory.recall.memory import Memory, Recalled, RecallError, Row
from agentmem.memory.recall.sqlite import SqliteMemory

__all__ = [
    "Embedder", "Memory", "MissingExtra", "RecallError", "Recalled", "Row", "SqliteMemory", "WordLlamaEmbedder",
]  # fmt: skip
