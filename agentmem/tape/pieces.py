"""A piece on its way into a tape, the edits of the list, and the key that tells equal contents."""

from __future__ import annotations

import msgspec
import xxhash

from agentmem.model import Kind, Where


def content_key(kind: str, text: str) -> int:
    """Hash of kind and decoded text, 64 bits: equal keys are the same content."""
    return xxhash.xxh3_64_intdigest(f"{kind}\0{text}".encode("utf-8", "surrogatepass"))


class Piece(msgspec.Struct, eq=False, gc=False):
    """A piece on its way into a tape: a segment with its whole text still at hand."""

    kind: Kind
    text: str | None
    """None: unknown (a system prompt that is not in the file)."""
    where: Where | None = None
    call_id: str | None = None
    field: str | None = None
    tool: str | None = None
    tokens: int | None = None
    """Given only where the text's count is not what the model pays (images, unknown blocks); else counted."""
    stub_of: int | None = None
    key: int = 0

    def __post_init__(self) -> None:
        if self.key == 0:
            self.key = content_key(self.kind, self.text if self.text is not None else f"\0unknown {self.field}")


class Edit(msgspec.Struct, frozen=True, eq=False, gc=False):
    """At `position` of the list, `gone` ids were taken out and `new` ids put in."""

    position: int
    gone: tuple[int, ...]
    new: tuple[int, ...]
