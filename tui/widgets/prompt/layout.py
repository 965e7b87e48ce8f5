"""A whole text as rows of a pane: only the rows that are seen are cut out of it. Pure.

A `Layout` knows for a text and a width how many rows there are and gives any one of them. Lines without wide or
zero-width characters are wrapped by arithmetic, so that a line of 1 MB costs as much as a short one; others are wrapped
by cells, and where a text has very many of them at half the width, so that no text can hold up a frame. With `words`
rows end between words, as long as the text has not very many characters in lines that are wrapped.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import OrderedDict

from rich.cells import get_character_cell_size, set_cell_size

from agentmem.pattern import pattern
from agentmem.safe import block

TAB = 4
_ODD = pattern(
    "[^\x00-\u02ff\u0370-\u0482\u2010-\u2027\u2030-\u205e\u2070-\u20cf\u2100-\u218f\u2190-\u2211\u2500-\u25fc]"
)
"""Characters that need not be one cell wide."""
_CELLWISE_LIMIT = 60_000
"""Code points in odd lines up to which they are wrapped by cells, one by one."""
_WORDWISE_LIMIT = 1_000_000
"""Likewise in long lines of one-cell characters up to which rows end between words."""


class Layout:
    """The rows of one text at one width."""

    __slots__ = ("_first", "_lines", "_starts", "_words", "rows", "width")

    def __init__(self, text: str, width: int, words: bool = False) -> None:
        """`words`: rows end between words where they can; else at the edge."""
        self.width, self._words = max(2, width), words
        self._lines = _printable(text).split("\n")
        first = array("L")
        starts: dict[int, array[int] | int] = {}
        rows, budget, wordwise = 0, _CELLWISE_LIMIT, _WORDWISE_LIMIT if words else 0
        plain = text.isascii()
        for place, line in enumerate(self._lines):
            first.append(rows)
            length = len(line)
            if length <= self.width // 2 or plain or not _ODD.search(line):
                if self.width < length <= wordwise:
                    wordwise -= length
                    cuts = starts[place] = _between_words(line, self.width)
                    rows += len(cuts)
                else:
                    rows += -(-length // self.width) or 1
            elif budget >= length:
                budget -= length
                cuts = _cuts(line, self.width, words)
                starts[place] = cuts
                rows += len(cuts)
            else:
                chunk = self.width // 2
                starts[place] = chunk
                rows += -(-length // chunk)
        self._first, self._starts = first, starts
        self.rows = rows
        """How many rows there are, at least one."""

    @property
    def lines(self) -> int:
        """How many lines the text has before wrapping."""
        return len(self._lines)

    def row(self, index: int) -> str:
        """Row `index` as text of at most `width` cells, without padding."""
        place = bisect_right(self._first, index) - 1
        line, part = self._lines[place], index - self._first[place]
        cuts = self._starts.get(place)
        if cuts is None:
            return line[part * self.width : (part + 1) * self.width]
        if isinstance(cuts, int):
            piece = line[part * cuts : (part + 1) * cuts]
            return set_cell_size(piece, self.width).rstrip()
        row = line[cuts[part] : cuts[part + 1] if part + 1 < len(cuts) else len(line)]
        # The spaces at which a row ends may stand behind its last cell.
        return row.rstrip(" ") if self._words else row


def _printable(text: str) -> str:
    """`text` with everything marked that could act on a terminal; tabs as spaces."""
    if "\t" in text:
        text = text.expandtabs(TAB)
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return block(text)


def _between_words(line: str, width: int) -> array[int]:
    """Where the rows of a line of one-cell characters begin: behind a space, or at the edge within a longer word."""
    cuts = array("L", [0])
    at, length = 0, len(line)
    while length - at > width:
        space = line.rfind(" ", at, at + width + 1)
        # The spaces that a line begins with are no end of a word.
        at = space + 1 if space > at and not line[at:space].isspace() else at + width
        if at < length:
            cuts.append(at)
    return cuts


def _cuts(line: str, width: int, words: bool) -> array[int]:
    """Where the rows of an odd line begin, in code points."""
    cuts = array("L", [0])
    cells = 0
    space = since = 0
    """Behind the last space of the row, where a word stands before it; the cells of what stands behind that."""
    worded = False
    for place, character in enumerate(line):
        size = 1 if character < "\u0300" else get_character_cell_size(character)
        if character == "\ufe0f":
            size = 1  # may widen the character before it: keep the room
        if words and character == " " and worded and cells + size > width:
            space, since, cells = place + 1, 0, cells + size
            continue
        if cells + size > width:
            behind = words and space > cuts[-1]
            cuts.append(space if behind else place)
            cells = since if behind else 0
            worded = behind and since > 0
        cells += size
        if character != " ":
            worded, since = True, since + size
        elif worded:
            space, since = place + 1, 0
    return cuts


class Layouts:
    """The layouts that were used last, by (content key, width): scrubbing past an open piece wraps it once."""

    def __init__(self, limit: int = 8, characters: int = 24_000_000) -> None:
        self._limit, self._characters = limit, characters
        self._kept: OrderedDict[tuple[int, int, int], tuple[Layout, int]] = OrderedDict()

    def of(self, key: int, text: str, width: int) -> Layout:
        place = (key, len(text), width)
        found = self._kept.get(place)
        if found is not None:
            self._kept.move_to_end(place)
            return found[0]
        layout = Layout(text, width, words=True)
        self._kept[place] = (layout, len(text))
        while len(self._kept) > 1 and (
            len(self._kept) > self._limit or sum(size for _, size in self._kept.values()) > self._characters
        ):
            self._kept.popitem(last=False)
        return layout

    def clear(self) -> None:
        self._kept.clear()
