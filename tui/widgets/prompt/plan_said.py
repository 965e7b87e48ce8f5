"""What a prompt itself says of the plan in it: the words around its items, not the state, which may be a later one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentmem.pattern import pattern

from .seen import Seen

_MARK = pattern(
    r"(?P<done>\[[xX]\]|[\u2713\u2714\u2611\u2705]|\b(?:done|completed|finished)\b)"
    r"|(?P<left>\[ \]|[\u2610\u25cb]|\b(?:not done|remaining|remains|left|to do|todo|open|pending|next|in progress)\b)",
    re.IGNORECASE,
)
_KEY = pattern(r'"\w+"\s*:')
"""In JSON a word may belong to the item before it as well as to the one behind."""
BETWEEN = 3
"""So many signs between two pieces only part them (`; `, a new line and a dash). Signs without a word are no piece:
more of them may be a box that is not ticked."""


def done_said(seen: Seen, ids: Sequence[int]) -> list[bool] | None:
    """Of each of these items, which stand together, whether the words before it in the prompt say that it is done. None
    where they do not say it of all of them."""
    every = Seen(seen.prompt, frames=True)
    place = every.place_of(ids[0])
    if place is None:
        return None
    wanted = set(ids)
    said = _before(every, place)
    found: list[bool] = []
    end: int | None = None
    while place < len(every.ids) and len(found) < len(wanted):
        ident = every.ids[place]
        words = every.segment(ident)
        span = None if words.where is None else words.where.span
        if end is not None and (span is None or span[0] - end > BETWEEN):
            return None
        end = None if span is None else span[1]
        if ident not in wanted:
            if words.head is None or words.characters != len(words.head) or _KEY.search(words.head):
                return None
            said = _last(words.head, said)
        elif said is None:
            return None
        else:
            found.append(said)
        place += 1
    return found if len(found) == len(wanted) else None


def _before(every: Seen, place: int) -> bool | None:
    """What the line in front of the first item says; None: nothing, or it is not known whole."""
    words = every.segment(every.ids[place - 1]) if place else None
    if words is None or words.head is None or words.characters != len(words.head):
        return None
    line = words.head.rpartition("\n")[2]
    return None if _KEY.search(line) else _last(line, None)


def _last(words: str, known: bool | None) -> bool | None:
    """What the last mark among the words says; `known` where there is none."""
    for mark in _MARK.finditer(words):
        known = mark["left"] is None
    return known
