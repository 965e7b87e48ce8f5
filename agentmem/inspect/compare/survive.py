"""What came through a boundary and what did not, by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import ne
from typing import Literal

from agentmem.inspect.compare.things import LARGEST, Things, merely_read, sort_of, tokens_in
from agentmem.inspect.compare.words import stands, words
from agentmem.model import KINDS, Boundary, Lost, Survival, TokenCounter
from agentmem.pattern import pattern
from agentmem.tape import Tape

LostKind = Literal["identifiers", "paths", "numbers", "commands", "constraints", "decisions"]
ORDER: tuple[LostKind, ...] = ("identifiers", "paths", "numbers", "commands", "constraints", "decisions")
KINDS_TOLD = ("constraints", "decisions")
"""Kinds that are told by keyword: a hint, not a proof."""
_WORD = pattern(r"\w+")
_MOST: dict[LostKind, int] = {
    "identifiers": 40, "paths": 40, "numbers": 30, "commands": 12, "constraints": 20, "decisions": 20,
}  # fmt: skip
"""So many of a kind are told; `kept` counts all."""
_PROSE = 8
_PROSE_SHORTEST = 200
"""What the model said in fewer characters is narration."""
_PROSE_CHARACTERS = 600
_SAME = 0.6
_MOST_CHANGED = 20
_MOST_NEAR = 200
_LONG_ENOUGH = 8
_SHORTEST_CHANGED = 4
_READ_FOR_CHANGED = 300_000
"""Characters of what was merely read, the newest first, in which the first forms of changed things are looked for."""
_READ_TO_VERIFY = 1_500_000
"""Characters of it in which what seems changed is looked for as it is said now; more than a window holds."""
_READ_START, _READ_END = 4_000, 2_000
"""Of one piece of it so much from its start and its end."""
_SORTS: tuple[LostKind, ...] = ("identifiers", "paths", "numbers")


def survival(
    lane: str, n: int, step: int, boundary: Boundary, tape: Tape, *, left: Sequence[int], stay: Iterable[int],
    came: Sequence[int], text: Callable[[int], str | None], count: TokenCounter, goal: str | None,
    goal_before: bool, goal_after: bool,
) -> Survival:  # fmt: skip
    """What of the pieces that left still stands. `stay`: the rest of the new prompt, `came`: its new pieces.

    Things count that somebody named: the user, the model, the state, a call, a short result. What only stands in a file
    or a listing that was read does not (`Things`). `lost` tells the weightiest of each kind, named by the user or the
    state first. An opaque boundary tells nothing: `kept` holds only the goal, `lost` nothing.
    """
    kept: dict[str, tuple[int, int]] = {}
    lost: list[Lost] = []
    if goal is not None and goal_before:
        kept["goal"] = (int(goal_after), 1)
        if not goal_after and not boundary.opaque:
            lost.append(Lost("goal", goal, count(goal)))
    else:
        kept["goal"] = (0, 0)
    if boundary.opaque or not left:
        return Survival(lane, n, step, boundary, kept, tuple(lost), ())
    had, prose = Things(), []
    spent = 0
    unread: list[int] = []
    for ident in left:
        if merely_read(KINDS[tape.kinds[ident]], tape.characters(ident)):
            unread.append(ident)
            continue
        body = text(ident)
        if body is None or spent > LARGEST:
            continue
        spent += len(body)
        origin = KINDS[tape.kinds[ident]]
        had.take(body, origin, tape.segment(ident) if origin == "call" else None)
        if origin == "user" or (origin == "assistant" and len(body) >= _PROSE_SHORTEST):
            prose.append((origin != "user", body.strip()))
    fresh = [body for body in (text(ident) for ident in came) if body]
    still: list[str] = []
    size = sum(map(len, fresh))
    for ident in stay:
        body = text(ident)
        if body is not None and size < LARGEST:
            size += len(body)
            still.append(body)
    now = "\n".join((*fresh, *still))
    have, new_words = tokens_in(now), words_of(now)
    for kind in ORDER:
        all_: dict[str, int] = getattr(had, kind)
        gone = [item for item in all_ if not _stands(item, kind, have, now, new_words)]
        kept[kind] = (len(all_) - len(gone), len(all_))
        gone.sort(key=lambda item: (-all_[item], not any(map(str.isdigit, item))))
        lost.extend(Lost(kind, item, count(item)) for item in gone[: _MOST[kind]])
    told = {item.text.rstrip(".! ") for item in lost}
    unsaid = [
        body for _, body in sorted(prose, key=lambda item: item[0])
        if body and body.rstrip(".! ") not in told and not _said(body[:_PROSE_CHARACTERS], new_words)
    ]  # fmt: skip
    lost.extend(Lost("prose", body[:_PROSE_CHARACTERS], count(body)) for body in unsaid[:_PROSE])
    retold = [body for ident in came if KINDS[tape.kinds[ident]] not in _NEW_KINDS and (body := text(ident))]
    changed = _changed(had, have, retold, lambda: chain(reversed(had.read), map(text, reversed(unread))))
    return Survival(lane, n, step, boundary, kept, tuple(lost), changed)


_NEW_KINDS = frozenset({"call", "result", "error", "assistant", "thinking"})
"""What an agent did since: it tells of nothing that left."""


def words_of(text: str) -> set[str]:
    """All its words in lower case."""
    return set(_WORD.findall(text.lower()))


def _stands(item: str, kind: LostKind, have: set[str], now: str, new_words: set[str]) -> bool:
    if kind in KINDS_TOLD:
        return item in now or _said(item, new_words)
    if kind == "commands":
        return item in now
    return item in have


def _said(sentence: str, new_words: set[str]) -> bool:
    had = {word for word in words(sentence) if len(word) > 3}
    return bool(had) and len(had & new_words) >= _SAME * len(had)


def _changed(
    had: Things, have: set[str], fresh: Sequence[str], read: Callable[[], Iterable[str | None]]
) -> tuple[tuple[str, str], ...]:
    """(from, to): identifiers, paths and numbers that came out in the new pieces changed by a character or two.

    `fresh`: what tells anew of what left. A new answer or result speaks of something else: `f7` is no changed `f6`.
    `read` gives the texts that were merely read, the newest first. Most of what a summary says was named before; only
    for the rest is any of them looked at.
    """
    said: dict[str, LostKind] = {}
    for token in sorted(tokens_in("\n".join(fresh))):
        sort = sort_of(token) if len(token) >= _SHORTEST_CHANGED else None
        for kind in _SORTS:
            if sort == kind and token not in getattr(had, kind):
                said[token] = kind
    if not said:
        return ()
    near_of = _Near(have)
    for kind in _SORTS:
        near_of.add(getattr(had, kind), kind)
    found = {item: old for item, kind in said.items() if (old := near_of.nearest(item, kind)) is not None}
    rest = {item: kind for item, kind in said.items() if item not in found}
    if rest:
        near_of = _Near(have, rest)
        budget = _READ_FOR_CHANGED
        for body in read():
            if budget <= 0:
                break
            if body is not None:
                part = body if len(body) <= _READ_START + _READ_END else f"{body[:_READ_START]}\n{body[-_READ_END:]}"
                budget -= len(part)
                near_of.add(sorted(tokens_in(part)))
        found.update((item, old) for item, kind in rest.items() if (old := near_of.nearest(item, kind)) is not None)
    _stood_before(found, read)
    order = sorted(found, key=lambda item: (_SORTS.index(said[item]), item))
    return tuple((found[item], item) for item in order[:_MOST_CHANGED])


def _stood_before(found: dict[str, str], read: Callable[[], Iterable[str | None]]) -> None:
    """Take out what stood in a text that was read just as it is said now: it was not changed on the way."""
    budget = _READ_TO_VERIFY
    if found:
        for body in read():
            if body is None or not found or budget <= 0:
                continue
            budget -= len(body)
            for item in [item for item in found if stands(item, body)]:
                del found[item]


class _Near:
    """Things that do not stand any more, by length and by their first and last two characters."""

    def __init__(self, have: set[str], wanted: Iterable[str] | None = None) -> None:
        """`wanted`: only what may be near to one of these is taken in."""
        self._have = have
        self._by_shape: dict[tuple[int, str], list[str]] = {}
        self._shapes = None if wanted is None else {
            (len(item) + change, shape) for item in wanted for change in (0, -1, 1) for shape in (item[:2], item[-2:])
        }  # fmt: skip

    def add(self, items: Iterable[str], kind: str | None = None) -> None:
        wanted = self._shapes
        for item in items:
            size = len(item)
            if size < _SHORTEST_CHANGED:
                continue
            shapes = [(size, item[:2])] if item[:2] == item[-2:] else [(size, item[:2]), (size, item[-2:])]
            if wanted is not None:
                shapes = [shape for shape in shapes if shape in wanted]
            if shapes and item not in self._have and (kind is not None or sort_of(item) is not None):
                for shape in shapes:
                    self._by_shape.setdefault(shape, []).append(item)

    def nearest(self, item: str, kind: str) -> str | None:
        for change in (0, -1, 1):
            for shape in (item[:2], item[-2:]):
                for other in self._by_shape.get((len(item) + change, shape), ())[:_MOST_NEAR]:
                    if sort_of(other) == kind and is_variant(other, item, kind):
                        return other
        return None


def is_variant(old: str, new: str, kind: str) -> bool:
    """Whether `new` may be `old` gone wrong: of a number one digit or two neighbours swapped, of other things a
    character or two (of short ones one)."""
    if kind == "numbers" and len(old) != len(new):
        return False
    return near(old, new, 1 if kind == "numbers" or len(new) < _LONG_ENOUGH else 2)


def near(old: str, new: str, most: int = 2) -> bool:
    """Whether `new` is `old` with a character or two changed, left out or put in, or two neighbours swapped."""
    if abs(len(old) - len(new)) > most or not _few_changes(old, new, most):
        return False
    return old.lower() != new.lower() and new not in (f"{old}s", old.removesuffix("s"))


def _few_changes(old: str, new: str, most: int) -> bool:
    if len(old) == len(new):
        changed = sum(map(ne, old, new))
        if changed <= most:
            return True
        if changed != 2:
            return False
        a = next(place for place in range(len(old)) if old[place] != new[place])
        return old[a] == new[a + 1] and old[a + 1] == new[a]
    short, long = (old, new) if len(old) < len(new) else (new, old)
    start = 0
    while start < len(short) and short[start] == long[start]:
        start += 1
    return short[start:] == long[start + len(long) - len(short) :]

