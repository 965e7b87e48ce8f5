"""Where the goal stands in each prompt of a lane, followed edit by edit."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence

import msgspec

from agentmem.model import KINDS, Field, GoalStatus
from agentmem.tape import Edit, Tape, content_key

GOAL_NAMES = ("goal", "task", "objective")
_GOAL = KINDS.index("goal")
_CARRIERS = frozenset(KINDS.index(kind) for kind in ("system", "user", "summary", "plan", "fact", "note", "other"))
_MAY_CARRY = _CARRIERS | {_GOAL}
_LONGEST = 200_000
"""Longer pieces are not searched for the goal."""
_SHORTEST = 12
"""A shorter goal is not searched for inside other texts: it would be found by chance."""
_HEADING = "GOAL (unchanged)"
_NEAR = 48
"""Pieces carved from one text have neighbouring ids."""


def is_goal(name: str) -> bool:
    return name.rpartition(".")[2] in GOAL_NAMES


def goal_field(fields: Sequence[Field]) -> Field | None:
    """The field that declares the goal, if the state holds one."""
    for field in fields:
        if is_goal(field.name) and field.value and field.value != "null":
            return field
    return None


class Place(msgspec.Struct):
    """Where the goal stands: the last piece that carries it, its index, and the tokens after it."""

    ident: int = -1
    index: int = -1
    after: int = 0


class GoalWalk:
    """Follows the goal through the prompts of one lane. `goal` is the first one; `text` gives whole texts."""

    def __init__(self, tape: Tape, goal: str | None, text: Callable[[int], str | None]) -> None:
        self._tape, self.goal, self._text = tape, goal, text
        self._keys = {content_key(kind, goal) for kind in KINDS} if goal else set()
        self._carries: dict[int, bool] = {}
        self._place = Place()
        self._idents = array("q")
        self._indices = array("q")
        self._after = array("q")
        self._first: int | None = None
        self._rendered: dict[int, bool] = {}

    def at(self, n: int) -> Place:
        """Place in prompt `n` (steps + 1: the list as it stands). `ident` -1: it does not stand there."""
        if n <= len(self._idents):
            return Place(self._idents[n - 1], self._indices[n - 1], self._after[n - 1])
        while len(self._idents) < min(n, self._tape.steps):
            step = len(self._idents) + 1
            self._advance(self._place, self._tape.edits(step), step)
            if self._first is None and self._place.ident >= 0:
                self._first = step
            self._idents.append(self._place.ident)
            self._indices.append(self._place.index)
            self._after.append(self._place.after)
        if n <= len(self._idents):
            return Place(self._idents[n - 1], self._indices[n - 1], self._after[n - 1])
        place = Place(self._place.ident, self._place.index, self._place.after)
        self._advance(place, self._tape.edits(n), n)
        return place

    def _advance(self, place: Place, edits: Iterable[Edit], n: int) -> None:
        lost = place.ident < 0
        for edit in edits:
            if lost:
                break
            if edit.position > place.index:
                if self._any(edit.new):
                    lost = True
                elif edit.gone:
                    place.after += self._weight(edit.new) - self._weight(edit.gone)
                else:
                    place.after += self._weight(edit.new)
            elif place.index < edit.position + len(edit.gone):
                lost = True
            else:
                place.index += len(edit.new) - len(edit.gone)
        if lost:
            self._find(place, n, any(edit.new or edit.gone for edit in edits))

    def _any(self, ids: Iterable[int]) -> bool:
        """Whether one of them carries the goal."""
        kinds, keys = self._tape.kinds, self._tape.keys
        for ident in ids:  # noqa: SIM110 a plain loop: this runs for every edit of every step
            if (kinds[ident] in _MAY_CARRY or keys[ident] in self._keys) and self.carries(ident):
                return True
        return False

    def _find(self, place: Place, n: int, changed: bool) -> None:
        if not changed and place.ident < 0:
            return
        after = 0
        if place.ident < 0 and not self._any_new(n):
            return
        ids = self._tape.ids(n)
        for index in range(len(ids) - 1, -1, -1):
            if self.carries(ids[index]):
                place.ident, place.index, place.after = ids[index], index, after
                return
            after += self._weight((ids[index],))
        place.ident = place.index = -1
        place.after = 0

    def _any_new(self, n: int) -> bool:
        return any(self._any(edit.new) for edit in self._tape.edits(n))

    def _weight(self, ids: Iterable[int]) -> int:
        tokens, total = self._tape.tokens, 0
        for ident in ids:
            if tokens[ident] > 0:
                total += tokens[ident]
        return total

    def carries(self, ident: int) -> bool:
        """Whether the goal, or a declared goal in its place, stands in that piece."""
        kind = self._tape.kinds[ident]
        if kind == _GOAL or self._tape.keys[ident] in self._keys:
            return True
        if kind not in _CARRIERS or not self.goal or len(self.goal) < _SHORTEST:
            return False
        known = self._carries.get(ident)
        if known is None:
            known = self._carries[ident] = self._contains(ident)
        return known

    def _contains(self, ident: int) -> bool:
        goal = _plain(self.goal or "")
        segment = self._tape.segment(ident)
        if segment.head is None or segment.characters is None or segment.characters < len(goal):
            return False
        if goal in _plain(segment.head):
            return True
        if segment.characters > _LONGEST or segment.characters <= len(segment.head):
            return False
        return goal in _plain(self._text(ident) or "")

    def stood(self, n: int) -> bool:
        """Whether it stands in prompt `n` or stood in one before."""
        self.at(n)
        return self._first is not None and self._first <= n

    def rendered(self, ident: int) -> bool:
        """Whether the goal stands there in a text rendered from state: with our heading, or beside another field."""
        known = self._rendered.get(ident)
        if known is None:
            known = self._rendered[ident] = self._beside_fields(ident)
        return known

    def _beside_fields(self, ident: int) -> bool:
        tape = self._tape
        segment = tape.segment(ident)
        if segment.kind != "goal":
            return False
        if segment.head is not None and segment.head.startswith(_HEADING):
            return True
        if segment.field is None or segment.where is None or segment.where.span is None:
            return False
        record = (segment.where.source, segment.where.offset, segment.where.part)
        for other in range(max(0, ident - _NEAR), min(len(tape), ident + _NEAR)):
            if other == ident or tape.field_of(other) is None:
                continue
            where = tape.segment(other).where
            if where is not None and (where.source, where.offset, where.part) == record:
                return True
        return False


def _plain(text: str) -> str:
    """Without differences of case and white space, which change no goal."""
    return " ".join(text.casefold().split())


def status(
    walk: GoalWalk, n: int, length: int, fields: Sequence[Field], *, declared: bool, unknown: bool, synthetic: bool,
    window: int | None, expected: bool = False, hidden: bool = False, more: int = 0,
) -> tuple[GoalStatus, int | None]:  # fmt: skip
    """(status, tokens after the goal) in prompt `n` of `length` pieces. The first of missing, changed, buried, last,
    present that holds.

    `expected`: it stood in the lane that this one began from. A goal that was not declared and has not been said yet is
    unknown, not missing. `hidden`: a part of the prompt that may say the goal is not in the file. What is not found in
    the rest is missing only if that part cannot hold it: a request that stood in the messages and left them; a declared
    goal may be rendered into it. Buried: in a prompt rendered from state the goal is not last; in a transcript more
    than half of the window stands after it. Without a window the latter cannot be told: the goal is last or present.
    `more`: so many tokens of pieces that are not in the list stand after it too; `length` counts these pieces.
    """
    goal = walk.goal
    if goal is None or (unknown and not declared) or not length:
        return "unknown", None
    place = walk.at(n)
    place.after += more
    held = goal_field(fields) if declared else None
    if place.ident < 0:
        if held is not None and held.segment is not None:
            return "present", None
        if hidden and declared:
            return "unknown", None
        return ("missing" if declared or expected or walk.stood(n) else "unknown"), None
    if held is not None and held.value.strip() != goal.strip():
        return "changed", place.after
    if place.index == length - 1:
        return "last", 0
    if not synthetic and declared and walk.rendered(place.ident):
        return "buried", place.after
    if window is not None and not synthetic and 2 * place.after > window:
        return "buried", place.after
    return "present", place.after
