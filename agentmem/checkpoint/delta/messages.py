"""The messages of the last save, encoded once each, so that the next save costs what is new.

The author's messages can be mutated, so they are never trusted by identity: they are compared with a copy that only
this memo holds. Texts are shared between the two, so that comparing an unchanged message is a comparison of pointers.
The order of keys in a message is not a difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import eq
from typing import Any

import msgspec

from agentmem.checkpoint.values import copied, encoded


class MessageEdit(msgspec.Struct, frozen=True, eq=False):
    """How the list of the last save becomes this one: cut after `keep`, then append."""

    keep: int
    copies: list[Any]
    pieces: list[bytes]
    """The added messages as JSON, one each."""
    numeric: list[int]
    """Positions in `copies` whose equality does not tell all: 1, 1.0 and True are equal and are written differently."""


class MessageMemo:
    """What the last save held. `edit` changes nothing; `advance` is called once the edit is stored."""

    def __init__(self) -> None:
        self.copies: list[Any] = []
        self._body = bytearray()
        """The messages as JSON, joined by commas."""
        self._ends: list[int] = []
        """Where each message ends in the body."""
        self._numeric: list[int] = []

    def __len__(self) -> int:
        return len(self.copies)

    def edit(self, messages: Sequence[Any], path: str = "messages") -> MessageEdit:
        """Raises TypeError naming the path of a value that cannot be written exactly."""
        now = messages if type(messages) is list else list(messages)
        keep = self._standing(now, path)
        copies: list[Any] = []
        pieces: list[bytes] = []
        numeric: list[int] = []
        for index in range(keep, len(now)):
            copy, has_numbers = copied(now[index], f"{path}[{index}]", objects=True)
            if has_numbers:
                numeric.append(len(copies))
            copies.append(copy)
            pieces.append(encoded(copy))
        return MessageEdit(keep, copies, pieces, numeric)

    def _standing(self, now: list[Any], path: str) -> int:
        """How many messages, from the first, are still what was written."""
        count = min(len(now), len(self.copies))
        try:
            if now[:count] == (self.copies if count == len(self.copies) else self.copies[:count]):
                return self._exact(now, count)
            for index, same in enumerate(map(eq, now, self.copies)):
                if same is not True and not self._client_object(now[index], index, path):
                    return self._exact(now, index)
        except RecursionError:
            return 0
        return self._exact(now, count)

    def _client_object(self, message: Any, index: int, path: str) -> bool:
        """Whether an object that is no plain message dumps to what was written."""
        if isinstance(message, dict):
            return False
        return encoded(copied(message, f"{path}[{index}]", objects=True)[0]) == self._piece(index)

    def _exact(self, now: list[Any], count: int) -> int:
        for index in self._numeric:
            if index >= count:
                break
            if isinstance(now[index], dict) and not self._written(now[index], index):
                return index
        return count

    def _written(self, message: Any, index: int) -> bool:
        try:
            return encoded(message) == self._piece(index)
        except (TypeError, ValueError, RecursionError):
            return False

    def _piece(self, index: int) -> bytearray:
        return self._body[self._ends[index - 1] + 1 if index else 0 : self._ends[index]]

    def advance(self, edit: MessageEdit) -> None:
        """The edit was stored."""
        del self.copies[edit.keep :]
        del self._ends[edit.keep :]
        del self._body[self._ends[-1] if self._ends else 0 :]
        while self._numeric and self._numeric[-1] >= edit.keep:
            self._numeric.pop()
        self.copies += edit.copies
        for piece in edit.pieces:
            if self._ends:
                self._body += b","
            self._body += piece
            self._ends.append(len(self._body))
        self._numeric += (edit.keep + index for index in edit.numeric)

    def parts(self, edit: MessageEdit) -> list[bytes | bytearray]:
        """The whole list after the edit as JSON, in parts to be joined."""
        end = self._ends[edit.keep - 1] if edit.keep else 0
        stands = self._body if end == len(self._body) else self._body[:end]
        return [b"[", stands, b"," if end and edit.pieces else b"", b",".join(edit.pieces), b"]"]
