"""Ids of a long prompt as stretches that go up by one, and sums over them, so that a fold of 200,000 pieces need not
look at each. Pure.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import NamedTuple
from weakref import WeakKeyDictionary

from agentmem.tape import Tape

LOOKED_AT = 8
"""So many ids are compared one by one; only a longer stretch is worth a leap."""
BLOCK = 256
_upward = array("L")
"""0, 1, 2, ...: a stretch equals a part of it."""


def _counting(end: int) -> array[int]:
    global _upward
    if len(_upward) < end:
        _upward = array("L", range(2 * end))
    return _upward


def stretches(ids: array[int], end: int) -> list[range]:
    """The ids in order, as ranges. All of them are below `end`."""
    found, at, total = [], 0, len(ids)
    upward = _counting(end) if total > LOOKED_AT else _upward
    while at < total:
        first = ids[at]
        known = 1
        while known < LOOKED_AT and at + known < total and ids[at + known] == first + known:
            known += 1
        if known == LOOKED_AT:
            known = _leap(ids, at, first, upward)
        found.append(range(first, first + known))
        at += known
    return found


def _leap(ids: array[int], at: int, first: int, upward: array[int]) -> int:
    """How many ids from `at` on go up by one: whole parts are compared, each as long as all before, then by halves."""
    known, most = LOOKED_AT, min(len(ids) - at, len(upward) - first)
    size = known
    while size and known < most:
        end = min(known + size, most)
        if ids[at + known : at + end] == upward[first + known : first + end]:
            known, size = end, size * 2
        else:
            most = end - 1
            size = (end - known) // 2
    return known


class Total(NamedTuple):
    """Of some pieces."""

    tokens: int = 0
    known: int = 0
    """Pieces whose tokens are known."""
    first: int = 0
    """First step n, from 2 on, whose prompt is the first that holds one of them; 0: none."""
    last: int = 0


def _with(one: Total, other: Total) -> Total:
    first = min(one.first, other.first) if one.first and other.first else one.first or other.first
    return Total(one.tokens + other.tokens, one.known + other.known, first, max(one.last, other.last))


_blocks: WeakKeyDictionary[Tape, dict[int, Total]] = WeakKeyDictionary()
"""Totals of whole blocks of a tape's pieces, once all of them have stood in a closed prompt: then nothing changes."""


def total(tape: Tape, parts: Iterable[range]) -> Total:
    """Tokens and births of the pieces of these ids."""
    blocks = _blocks.setdefault(tape, {})
    found = Total()
    for part in parts:
        at = part.start
        while at < part.stop:
            block, within = divmod(at, BLOCK)
            if within or at + BLOCK > part.stop:
                end = min(part.stop, (block + 1) * BLOCK)
                found = _with(found, _counted(tape, at, end))
            else:
                end = at + BLOCK
                held = blocks.get(block)
                if held is None:
                    held = _counted(tape, at, end)
                    if 0 not in tape.born[at:end]:
                        blocks[block] = held
                found = _with(found, held)
            at = end
    return found


def _counted(tape: Tape, start: int, end: int) -> Total:
    tokens, born = tape.tokens[start:end], tape.born[start:end]
    unknown = tokens.count(-1)
    later = [n for n in born if n > 1]
    return Total(sum(tokens) + unknown, len(tokens) - unknown, min(later, default=0), max(later, default=0))
