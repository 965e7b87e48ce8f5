"""How one list of keys becomes another, by their common pieces in order."""

from __future__ import annotations

from collections.abc import Iterator

_MATCH_CELLS = 250_000


def opcodes(old: list[int], new: list[int]) -> Iterator[tuple[str, int, int, int, int]]:
    """How `old` becomes `new`, left to right, by their common pieces in order."""
    if not old or not new:
        yield "replace", 0, len(old), 0, len(new)
        return
    if len(old) * len(new) <= _MATCH_CELLS:
        from difflib import SequenceMatcher

        yield from SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        return
    places: dict[int, list[int]] = {}
    for index, key in enumerate(new):
        places.setdefault(key, []).append(index)
    a = c = 0
    for index, key in enumerate(old):
        spots = places.get(key)
        while spots and spots[0] < c:
            spots.pop(0)
        if spots and (place := spots[0]) - c <= 64:
            if index > a or place > c:
                yield "replace", a, index, c, place
            yield "equal", index, index + 1, place, place + 1
            a, c = index + 1, place + 1
    if a < len(old) or c < len(new):
        yield "replace", a, len(old), c, len(new)
