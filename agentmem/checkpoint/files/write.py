"""One save on its way to the disk: temporary file and ledger line, then the replace.

The order: temporary file written and on the disk, ledger line on the disk, replace, folder on the disk.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from agentmem.checkpoint import durable
from agentmem.checkpoint.files.paths import Paths
from agentmem.checkpoint.store import Change, CheckpointError


class Write:
    """One save on its way to the disk. Every stage can be taken back until the checkpoint is replaced."""

    def __init__(self, paths: Paths, change: Change) -> None:
        self._paths = paths
        self._change = change
        self._temporary: Path | None = None
        self.checkpoint: durable.Identity | None = None
        self.ledger: durable.Identity | None = None

    def prepare(self, line: bytes) -> None:
        """Temporary file and ledger line, both on the disk."""
        self._temporary, self.checkpoint = durable.write_temporary(self._paths.checkpoint, self._change.checkpoint())
        self.ledger = durable.append(self._paths.ledger, line)

    def replace(self) -> None:
        if self._temporary is not None:
            durable.replace(self._temporary, self._paths.checkpoint)

    def replaced(self) -> bool:
        """Whether the new checkpoint stands, whatever was raised."""
        with suppress(CheckpointError, OSError):
            return self.checkpoint is not None and durable.identity(self._paths.checkpoint) == self.checkpoint
        return False

    def take_back(self, size: int | None) -> None:
        """Leaves the files as they were: `size` is that of the ledger before, None for none."""
        if self._temporary is not None:
            durable.remove(self._temporary)
        if self.ledger is not None and size is None:
            durable.remove(self._paths.ledger)
        elif self.ledger is not None and size is not None:
            durable.cut(self._paths.ledger, size)
