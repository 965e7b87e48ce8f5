"""Texts of pieces that are looked at again and again while a file is read: the last four million characters of them."""

from __future__ import annotations

_MOST = 4_000_000


class HeldTexts:
    """By lane and id of the piece; the ones that came first go first."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, int], str] = {}
        self._characters = 0

    def get(self, lane: str, ident: int) -> str | None:
        return self._texts.get((lane, ident))

    def put(self, lane: str, ident: int, text: str) -> None:
        """Of a piece that is not held yet."""
        self._texts[lane, ident] = text
        self._characters += len(text)
        while self._characters > _MOST:
            self._characters -= len(self._texts.pop(next(iter(self._texts))))
