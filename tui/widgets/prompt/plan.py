"""What rows the prompt pane has: pieces by id, ghosts, folds and the heads of the three parts. Pure.

The fold takes the middle, as much as is needed for both ends to be seen; never a row with ▲ or ✗.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import accumulate
from typing import Literal

import msgspec

from agentmem.inspect.telling.left import cause_word, still_held
from agentmem.inspect.telling.marks import ERROR, GLYPHS, GONE, SILENT
from agentmem.model import Drop, Segment, Step

from ..panes.columns import count
from .plan_said import done_said
from .seen import Ghost, Seen, unknown_parts
from .stretches import Total

HEAD_KINDS = ("system", "tools", "summary")
FEWEST_AT_END = 3
COMPACT_BELOW = 12
"""Rows below which the parts have no heads of their own."""


class Entry(msgspec.Struct, frozen=True, eq=False):
    """One row that is no plain piece of the prompt (those are bare ids)."""

    sort: Literal["piece", "ghost", "fold", "plan", "part", "unknown", "same", "was", "why"]
    segment: Segment | None = None
    drop: Drop | None = None
    glyph: str = ""
    word: str = ""
    text: str = ""
    note: str = ""
    tokens: int | None = None
    ids: Sequence[int] = ()
    preview: bool = False
    """Show some lines of its text, not only the first."""


Row = int | Entry
Part = range | Entry
"""Pieces in a row by their places in the prompt, or what is no piece."""


def whole(step: Step, seen: Seen, silent: Sequence[Ghost], unknown: Sequence[str], steps: Sequence[Step],
          room: int, unfolded: bool, opened: Collection[int] = ()) -> list[Row]:  # fmt: skip
    """The rows of the whole view for `room` lines; `unfolded`: the reader opened the fold; `opened`: keys of pieces
    that are open, which no fold hides."""
    missing = [
        Entry("unknown", word=kind, text=f"{words}: not in this file") for kind, words in unknown_parts(unknown, seen)
    ]
    if step.unsure is not None:
        missing.insert(0, Entry("unknown", word="gone", text=GONE[step.unsure]))
    # A goal that stands last has its place at the foot.
    end = len(seen.ids) - int(bool(seen.ids) and seen.kind(seen.ids[-1]) == "goal")
    first = int(end > 0 and seen.kind(seen.ids[0]) == "system" and not (silent and silent[0].place == 0))
    saw: list[Part] = [range(first), *missing]
    if not seen.ids:
        words = "The prompt of this step is empty."
        if step.unsure is not None:
            words = f"Unknown: nothing of the prompt of step {step.number} was seen."
        elif step.prompt.provenance == "partial":
            words = f"Unknown: this format keeps no prompt for step {step.number}."
        saw.append(Entry("unknown", word="saw", text=words))
    at = first
    for ghost in silent:
        saw += [range(at, min(ghost.place, end)), ghost_entry(ghost.drop, step)]
        at = max(at, min(ghost.place, end))
    saw.append(range(at, end))
    after = parts(step, compact=room < COMPACT_BELOW)
    if unfolded:
        return _rows(saw, seen) + after
    if seen.holds("plan"):
        saw = _with_plan(saw, seen)
    return fold(saw, seen, steps, room - len(after), opened) + after


def _rows(saw: Sequence[Part], seen: Seen) -> list[Row]:
    rows: list[Row] = []
    for part in saw:
        rows.extend((part,) if isinstance(part, Entry) else seen.ids[part.start : part.stop])
    return rows


def _with_plan(saw: Sequence[Part], seen: Seen) -> list[Part]:
    """`saw` with the items of a plan that stand together as one: how many are done, and which is next, as the prompt
    itself says."""
    out: list[Part] = []
    for part in saw:
        if isinstance(part, Entry):
            out.append(part)
            continue
        at, start, end = part.start, part.start, part.start
        for place in (*seen.places("plan", part.start, part.stop), -1):
            if place >= 0 and not (seen.field(seen.ids[place]) or "").endswith("]"):
                continue
            if place != end or place < 0:
                if end - start > 1:
                    out += [range(at, start), _plan_entry(range(start, end), seen)]
                    at = end
                start = place
            end = place + 1
        out.append(range(at, part.stop))
    return out


def _plan_entry(places: range, seen: Seen) -> Entry:
    ids = seen.ids[places.start : places.stop]
    said = done_said(seen, ids)
    text = f"{len(ids)} items" if said is None else f"done {sum(said)} of {len(ids)}"
    following = None if said is None or all(said) else seen.segment(ids[said.index(False)]).head
    if following is not None:
        text += f", next: {following}"
    tokens = seen.sum(places.start, places.stop)
    return Entry("plan", word="plan", text=text, tokens=tokens, ids=ids, note="Enter opens")


def parts(step: Step, compact: bool = False) -> list[Row]:
    """What the model answered and what came back; nothing for the open step. `compact`: without their own heads,
    `→` and `←` in front of the pieces."""
    if step.open:
        return []
    rows: list[Row] = []
    for word, glyph, segments in (("answered", "→", step.replies), ("came back", "←", step.results)):
        if compact:
            rows.extend(Entry("piece", one, glyph=GLYPHS[ERROR] if one.kind == "error" else glyph) for one in segments)
            continue
        known = [segment.tokens for segment in segments if segment.tokens is not None]
        note = count(len(segments), "piece") if segments else "nothing"
        if word == "came back" and step.pending:
            note = f"{len(segments)} of {len(segments) + step.pending} results in"
        rows.append(Entry("part", word=word, text=note, tokens=sum(known) if known else None))
        rows.extend(Entry("piece", segment) for segment in segments)
    return rows


def ghost_entry(drop: Drop, step: Step) -> Entry:
    word = cause_word(drop)
    if still_held(drop, step):
        note = f"{word} {'here' if drop.n == step.n else f'since {drop.step}'}, held"
    else:
        note = f"{word}: gone here" if drop.n == step.n else f"{word} since {drop.step}"
    return Entry("ghost", drop=drop, glyph=GLYPHS[SILENT], note=note, tokens=drop.tokens)


def fold(saw: Sequence[Part], seen: Seen, steps: Sequence[Step], room: int,
         opened: Collection[int] = ()) -> list[Row]:  # fmt: skip
    """The rows of `saw` with their middle folded so that they take `room` lines, if they can. Nothing here looks at
    each piece that a fold hides."""
    must = _musts(saw, seen, opened)
    total = sum(1 if isinstance(part, Entry) else len(part) for part in saw)
    if total <= max(room, 1):
        return must.rows(0, total)
    head = 0
    while head < min(4, total) and _head(must.rows(head, head + 1)[0], seen):
        head += 1
    head = max(head, 1)
    tail = must.tail(head, total, room)
    middle = must.rows(head, total - tail, lambda places: _fold_entry(places, seen, steps))
    return must.rows(0, head) + middle + must.rows(total - tail, total)


class _Musts:
    """The rows that must be seen, by their number; between two of them stand pieces of the prompt in a row."""

    def __init__(self, ids: Sequence[int], numbers: list[int], shown: list[Row], shifts: list[int]) -> None:
        self._ids, self._numbers, self._shown = ids, numbers, shown
        self._shifts = shifts
        """In front of each, and behind the last: by how much the number of a row is more than its place."""
        gaps = (number > before + 1 for before, number in zip([-1, *numbers], numbers, strict=False))
        self._groups = [0, *accumulate(map(int, gaps))]
        """How many of the gaps in front of the first so many rows hold something."""

    def rows(self, start: int, end: int, folded: Callable[[range], Entry] | None = None) -> list[Row]:
        """The rows from `start` to before `end`; `folded`: as what more than one piece between two of them stands."""
        found: list[Row] = []
        at = start
        for place in range(bisect_left(self._numbers, start), bisect_left(self._numbers, end) + 1):
            stop = self._numbers[place] if place < len(self._numbers) and self._numbers[place] < end else end
            places = range(at - self._shifts[place], stop - self._shifts[place])
            if folded is not None and len(places) > 1:
                found.append(folded(places))
            else:
                found.extend(self._ids[places.start : places.stop])
            if stop < end:
                found.append(self._shown[place])
            at = stop + 1
        return found

    def tail(self, head: int, total: int, room: int) -> int:
        """The longest end that leaves the whole within `room`; at least a few rows."""
        before = bisect_left(self._numbers, head)
        for tail in range(min(total, room) - head, FEWEST_AT_END, -1):
            within = bisect_left(self._numbers, total - tail)
            last = max(head, self._numbers[within - 1] + 1 if within else 0)
            groups = self._groups[within] - self._groups[before] + int(total - tail > last)
            if before < within and self._numbers[before] == head and self._groups[before + 1] > self._groups[before]:
                # What stands in front of the first of them belongs to the head.
                groups -= 1
            if head + within - before + groups + tail <= room:
                return tail
        return min(FEWEST_AT_END, total - head)


def _musts(saw: Sequence[Part], seen: Seen, opened: Collection[int]) -> _Musts:
    """What of `saw` must be seen: what is no piece, failed results, pieces that are open."""
    kept = seen.keyed(opened) if opened else []
    numbers: list[int] = []
    shown: list[Row] = []
    shifts = [0]
    at = shift = 0
    for part in saw:
        if isinstance(part, Entry):
            # A plan stands in the place of its pieces.
            shift += 1 - len(part.ids)
            numbers.append(at)
            shown.append(part)
            shifts.append(shift)
            at += 1
            continue
        failed: Iterable[int] = seen.places("error", part.start, part.stop)
        if kept:
            failed = sorted({*failed, *kept[bisect_left(kept, part.start) : bisect_left(kept, part.stop)]})
        for place in failed:
            numbers.append(place + shift)
            shown.append(seen.ids[place])
            shifts.append(shift)
        at += len(part)
    return _Musts(seen.ids, numbers, shown, shifts)


def _head(row: Row, seen: Seen) -> bool:
    return seen.kind(row) in HEAD_KINDS if isinstance(row, int) else row.sort == "unknown"


def _fold_entry(places: range, seen: Seen, steps: Sequence[Step]) -> Entry:
    found = seen.total(places.start, places.stop)
    return Entry("fold", word=f"{len(places)} more", tokens=found.tokens if found.known else None,
                 text=_made_in(found, steps), note="Enter opens",
                 ids=seen.ids[places.start : places.stop])  # fmt: skip


def _made_in(found: Total, steps: Sequence[Step]) -> str:
    """The steps that the pieces come from: one before the first prompt that holds them."""
    if not found.first:
        return ""
    first, last = max(1, found.first - 1), max(1, found.last - 1)
    if last > len(steps):
        return ""
    one, other = steps[first - 1].number, steps[last - 1].number
    return f"step {one}" if one == other else f"steps {one} to {other}"
