"""Where the files of a run stand.

`{id}.json` is the newest checkpoint, whole and replaced at once; `{id}.steps.jsonl` is the ledger, one line a save,
only ever appended to; `{id}.calls.jsonl`, where calls are guarded, has two lines a call. Beside them stand
`.{id}.lock`, held while something is written, and for a moment `.{id}.*.tmp`.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from agentmem.checkpoint import durable
from agentmem.checkpoint.store import CheckpointError

CHECKPOINT = ".json"
LEDGER = ".steps.jsonl"
CALLS = ".calls.jsonl"
DEFAULT_FOLDER = "runs"


class Paths(msgspec.Struct, frozen=True):
    """The files of one run."""

    checkpoint: Path
    ledger: Path
    calls: Path
    lock: Path

    @classmethod
    def of(cls, checkpoint: Path) -> Paths:
        name = checkpoint.name.removesuffix(CHECKPOINT)
        ledger, calls, lock = name + LEDGER, name + CALLS, f".{name}.lock"
        return cls(checkpoint, *(checkpoint.with_name(one) for one in (ledger, calls, lock)))


def read(path: Path, start: int = 0) -> tuple[bytes | None, durable.Identity | None]:
    """All bytes from `start` on and which file they are of; (None, None) if there is none. Raises CheckpointError."""
    try:
        return durable.read(path, start)
    except FileNotFoundError:
        return None, None
    except NotADirectoryError:
        raise CheckpointError(f"{path.parent}: is not a folder") from None
