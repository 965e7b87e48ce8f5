"""Where our own lines stand, and the text of a piece from its line, or from a checkpoint that is kept whole."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from agentmem.checkpoint.delta.state import StateMemo
from agentmem.checkpoint.ledger_line import VERSION, DamagedLine, Line, StateEdit, decode
from agentmem.checkpoint.replay import read_checkpoint
from agentmem.checkpoint.store import Checkpoint, CheckpointError
from agentmem.formats.messages import split
from agentmem.formats.plain.envelope import prefix_pieces
from agentmem.formats.versions import PARTS

PROMPT = 1_000_000
PREFIX = 2_000_000
"""Numbers of the first part of an exact prompt, of what stands before the messages."""
_CHECKPOINT = b'{"schema":'


class Place(msgspec.Struct, frozen=True):
    """Where a line stands: bytes `offset .. offset+length` of a file, or a row of a database."""

    source: str
    offset: int
    length: int
    line: int | None
    shown: str
    """In words: `line 12`, `save 12`."""


def line_of(saved: Checkpoint) -> Line:
    """A version that is kept whole, as a line that needs none before it."""
    state = None if saved.state is None else StateMemo().edit(saved.state)
    return Line(
        v=VERSION, seq=saved.seq or 0, step=saved.step, lane=saved.lane, at=saved.at or 0.0, run=saved.run, whole=True,
        keep=0, add=saved.messages, state=None if state is None else msgspec.convert(state, StateEdit),
        notes=saved.notes, usage=saved.usage, model=saved.model, system=saved.system, tools=saved.tools,
        window=saved.window, goal=saved.goal, status=saved.status,
    )  # fmt: skip


def _decoded(raw: bytes) -> Line:
    """The line, or what a checkpoint holds. Raises DamagedLine."""
    if not raw.startswith(_CHECKPOINT):
        return decode(raw)
    try:
        return line_of(read_checkpoint(raw, "checkpoint"))
    except CheckpointError as error:
        raise DamagedLine(str(error)) from None


def extract(raw: bytes, part: int) -> str | None:
    """Whole text of piece `part` of a line, or of a checkpoint. Raises DamagedLine."""
    line = _decoded(raw)
    index, number = divmod(part, PARTS)
    if index >= PREFIX:
        pieces = prefix_pieces({"system": line.system, "tools": line.tools}, None)
        return pieces[number].text if number < len(pieces) else None
    found = line.add
    if index >= PROMPT:
        found, index = (line.prompt.add if line.prompt else []), index - PROMPT
    parts = split(found[index]).parts if index < len(found) and isinstance(found[index], Mapping) else []
    return parts[number].text if number < len(parts) else None
