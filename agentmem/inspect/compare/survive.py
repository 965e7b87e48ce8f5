"""What came through a boundary and what did not, by kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from agentmem.inspect.compare.things import LARGEST, Things, sort_of, tokens_in
from agentmem.inspect.compare.words import words
from agentmem.model import KINDS, Boundary, Lost, Survival, TokenCounter
from agentmem.tape import Tape

LostKind = Literal["identifiers", "paths", "numbers", "commands", "constraints", "decisions"]
ORDER: tuple[LostKind, ...] = ("identifiers", "paths", "numbers", "commands", "constraints", "decisions")
KINDS_TOLD = ("constraints", "decisions")
"""Kinds that are told by keyword: a hint, not a proof."""
_WORD = re.compile(r"\w+")
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
    for ident in left:
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
    return Survival(lane, n, step, boundary, kept, tuple(lost), _changed(had, have, fresh))


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


def _changed(had: Things, have: set[str], fresh: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """(from, to): identifiers, paths and numbers that came out in the new pieces changed by a character or two."""
    said = {token: sort for token in tokens_in("\n".join(fresh)) if (sort := sort_of(token)) is not None}
    out: list[tuple[str, str]] = []
    for kind in ("identifiers", "paths", "numbers"):
        old: dict[str, int] = getattr(had, kind)
        read = [item for item, sort in had.read.items() if sort == kind and item not in old]
        known = {*old, *read}
        by_shape: dict[tuple[int, str], list[str]] = {}
        for item in (*old, *read):
            if item not in have and len(item) >= _SHORTEST_CHANGED:
                for shape in {item[:2], item[-2:]}:
                    by_shape.setdefault((len(item), shape), []).append(item)
        for item in sorted(item for item, sort in said.items() if sort == kind):
            if item in known or len(item) < _SHORTEST_CHANGED or len(out) >= _MOST_CHANGED:
                continue
            near = _nearest(item, by_shape, kind)
            if near is not None:
                out.append((near, item))
    return tuple(out)


def _nearest(item: str, by_shape: dict[tuple[int, str], list[str]], kind: str) -> str | None:
    for change in (0, -1, 1):
        for shape in (item[:2], item[-2:]):
            for other in by_shape.get((len(item) + change, shape), ())[:_MOST_NEAR]:
                if is_variant(other, item, kind):
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
    if old == new or old.lower() == new.lower() or abs(len(old) - len(new)) > most:
        return False
    if new in (f"{old}s", old.removesuffix("s")):
        return False
    if len(old) == len(new):
        spots = [place for place in range(len(old)) if old[place] != new[place]]
        if len(spots) <= most:
            return True
        a, b = spots[0], spots[-1]
        return len(spots) == 2 and b == a + 1 and old[a] == new[b] and old[b] == new[a]
    short, long = sorted((old, new), key=len)
    start = 0
    while start < len(short) and short[start] == long[start]:
        start += 1
    return short[start:] == long[start + len(long) - len(short) :]

