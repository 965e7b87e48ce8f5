"""Large results on disk, in the prompt only their path, size and digest.

Files are named by what they hold, so the same result is kept once and a reference can be checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from agentmem.checkpoint.given import number
from agentmem.ledger.given import only_kind
from agentmem.memory.files import FileError, place, read_whole, write_whole
from agentmem.memory.messages import Message, Protect, check, drop, pieces, protected
from agentmem.memory.policies import with_results
from agentmem.model import Drop, TokenCounter
from agentmem.pattern import pattern
from agentmem.tokens import chars4

_REFERENCE = pattern(r"\[artefact: .+, \d+ bytes, sha256 [0-9a-f]{64}\]", re.DOTALL)
"""In a folder with a long path, a reference may itself be longer than what is taken for long."""


class ArtefactError(FileError):
    """An artefact is missing or not what was kept; the message names the file and the reason."""


@dataclass(frozen=True, slots=True)
class Artefact:
    """Where a result is kept."""

    path: str
    size: int
    """Bytes."""
    digest: str
    """SHA-256 of the bytes, as 64 hexadecimal digits."""

    @property
    def reference(self) -> str:
        """What stands in the prompt instead."""
        return f"[artefact: {self.path}, {self.size} bytes, sha256 {self.digest}]"


class Artefacts:
    """A folder of results."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = place(folder, "artefacts: folder")

    def put(self, content: str | bytes) -> Artefact:
        """Keep the content. Lone surrogates of a text are kept too. Raises FileError if the disk refuses, TypeError for
        what is neither text nor bytes."""
        only_kind(content, (str, bytes), "put: content", "a text or bytes")
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        digest = sha256(data).hexdigest()
        path = self.folder / f"{digest[:32]}.{'txt' if isinstance(content, str) else 'bin'}"
        if read_whole(path) != data:
            write_whole(path, data)
        return Artefact(str(path), len(data), digest)

    def get(self, artefact: Artefact) -> bytes:
        """The content. Raises ArtefactError if the file is gone or holds something else."""
        only_kind(artefact, Artefact, "get: artefact", "what put() gave")
        data = read_whole(Path(artefact.path))
        if data is None:
            raise ArtefactError(f"{artefact.path}: the artefact is gone")
        if sha256(data).hexdigest() != artefact.digest:
            raise ArtefactError(f"{artefact.path}: the artefact is not what was kept (sha256 differs)")
        return data

    def text(self, artefact: Artefact) -> str:
        """The content as the text that was kept."""
        return self.get(artefact).decode("utf-8", "surrogatepass")


def by_reference(
    messages: Sequence[Message],
    budget: int = 0,
    *,
    artefacts: Artefacts,
    over: int = 2000,
    keep: int = 0,
    count: TokenCounter = chars4,
    protect: Protect = protected,
    at: int = 0,
) -> tuple[list[Message], tuple[Drop, ...]]:
    """The policy: a tool result of more than `over` characters, but in the last `keep` messages, becomes a reference.

    Whatever the budget; results made of blocks with pictures stay. Doing it again changes nothing.
    """
    check(messages, budget, count, protect, at)
    only_kind(artefacts, Artefacts, "artefacts", "an Artefacts")
    number(keep, "keep", whole=True)
    number(over, "over", whole=True)
    if over < 500:
        raise ValueError(f"a reference may be longer than {over} characters: take at least 500")
    untouched = protect(messages)
    kept: list[Message] = []
    gone: list[Drop] = []
    for index, message in enumerate(messages):
        if index in untouched or index >= len(messages) - keep:
            kept.append(message)
            continue
        shorter = with_results(message, lambda content: _referred(content, artefacts, over))
        kept.append(shorter)
        if shorter is not message:
            gone += [
                drop(old, count, "replaced", f"kept in {new.text}", at)
                for old, new in zip(pieces(message), pieces(shorter), strict=True)
                if old.key != new.key
            ]
    return kept, tuple(gone)


def _referred(content: Any, artefacts: Artefacts, over: int) -> Any:
    text = _long(content, over)
    return content if text is None or _REFERENCE.fullmatch(text) else artefacts.put(text).reference


def _long(content: Any, over: int) -> str | None:
    """The text of a result that is longer than `over`; None for a short one or one that is not text alone."""
    if isinstance(content, list):
        texts = [block.get("text") if isinstance(block, Mapping) else None for block in content]
        if not all(isinstance(text, str) for text in texts):
            return None
        content = "\n".join(map(str, texts))
    return content if isinstance(content, str) and len(content) > over else None
