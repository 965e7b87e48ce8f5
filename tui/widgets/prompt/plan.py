"""What rows the prompt pane has: pieces by id, ghosts, folds and the heads of the three parts. Pure.

The fold takes the middle, as much as is needed for both ends to be seen; never a row with ▲ or ✗.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from agentmem.model import Drop, Segment, Step

from ..panes.columns import count
from .seen import Ghost, Seen, unknown_parts

HEAD_KINDS = ("system", "tools", "summary")
FEWEST_AT_END = 3
COMPACT_BELOW = 12
"""Rows below which the parts have no heads of their own."""


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
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


def whole(step: Step, seen: Seen, silent: Sequence[Ghost], unknown: Sequence[str], steps: Sequence[Step],
          room: int, unfolded: bool, opened: Collection[int] = ()) -> list[Row]:  # fmt: skip
    """The rows of the whole view for `room` lines; `unfolded`: the reader opened the fold; `opened`: keys of pieces
    that are open, which no fold hides."""
    saw: list[Row] = []
    missing = [
        Entry("unknown", word=kind, text=f"{words}: not in this file") for kind, words in unknown_parts(unknown, seen)
    ]
    if not seen.ids:
        words = (
            f"Unknown: this format keeps no prompt for step {step.number}."
            if step.prompt.provenance == "partial"
            else "The prompt of this step is empty."
        )
        saw.append(Entry("unknown", word="saw", text=words))
    anchored = len(seen.ids) - 1 if seen.ids and seen.kind(seen.ids[-1]) == "goal" else None
    at = 0
    for ghost in silent:
        saw.extend(seen.ids[at : ghost.place])
        at = ghost.place
        saw.append(ghost_entry(ghost.drop, step))
    saw.extend(seen.ids[at:])
    if anchored is not None:
        saw.remove(seen.ids[anchored])
    first = int(bool(saw) and isinstance(saw[0], int) and seen.kind(saw[0]) == "system")
    saw[first:first] = missing
    after = parts(step, compact=room < COMPACT_BELOW)
    if unfolded:
        return saw + after
    if seen.holds("plan"):
        saw = _with_plan(saw, step, seen)
    return fold(saw, seen, steps, room - len(after), opened) + after


def _with_plan(rows: Sequence[Row], step: Step, seen: Seen) -> list[Row]:
    """`rows` with the items of a plan that stand together as one: how many are done, and which is next."""
    out: list[Row] = []
    group: list[int] = []

    def close() -> None:
        if len(group) > 1:
            out.append(_plan_entry(tuple(group), step, seen))
        else:
            out.extend(group)
        group.clear()

    for row in rows:
        if isinstance(row, int) and seen.kind(row) == "plan" and (seen.field(row) or "").endswith("]"):
            group.append(row)
            continue
        close()
        out.append(row)
    close()
    return out


def _plan_entry(ids: tuple[int, ...], step: Step, seen: Seen) -> Entry:
    names = {seen.field(ident) for ident in ids}
    items = [field for field in step.fields if field.name in names]
    done = [field for field in items if field.done]
    following = next((field.value for field in items if field.done is False), None)
    text = f"done {len(done)} of {len(items)}" if any(f.done is not None for f in items) else f"{len(ids)} items"
    if following is not None:
        text += f", next: {following}"
    return Entry("plan", word="plan", text=text, tokens=seen.sum(ids), ids=ids, note="Enter opens")


def parts(step: Step, compact: bool = False) -> list[Row]:
    """What the model answered and what came back; nothing for the open step. `compact`: without their own heads,
    `→` and `←` in front of the pieces."""
    if step.open:
        return []
    rows: list[Row] = []
    for word, glyph, segments in (("answered", "→", step.replies), ("came back", "←", step.results)):
        if compact:
            rows.extend(Entry("piece", one, glyph="✗" if one.kind == "error" else glyph) for one in segments)
            continue
        known = [segment.tokens for segment in segments if segment.tokens is not None]
        note = count(len(segments), "piece") if segments else "nothing"
        if word == "came back" and step.pending:
            note = f"{len(segments)} of {len(segments) + step.pending} results in"
        rows.append(Entry("part", word=word, text=note, tokens=sum(known) if known else None))
        rows.extend(Entry("piece", segment) for segment in segments)
    return rows


def ghost_entry(drop: Drop, step: Step) -> Entry:
    if drop.n == step.n:
        note = "silent: gone here"
    else:
        note = f"silent since {drop.step}"
    return Entry("ghost", drop=drop, glyph="▲", note=note, tokens=drop.tokens)


def fold(rows: list[Row], seen: Seen, steps: Sequence[Step], room: int, opened: Collection[int] = ()) -> list[Row]:
    """`rows` with their middle folded so that they take `room` lines, if they can."""
    if len(rows) <= max(room, 1):
        return rows
    must = _musts(rows, seen, opened)
    head = 0
    while head < min(4, len(rows)) and _head(rows[head], seen):
        head += 1
    head = max(head, 1)
    tail = _tail(must, head, room)
    end = len(rows) - tail
    shown: list[Row] = rows[:head]
    group: list[int] = []

    def close() -> None:
        if len(group) > 1:
            shown.append(_fold_entry(tuple(group), seen, steps))
        else:
            shown.extend(group)
        group.clear()

    for place in range(head, end):
        row = rows[place]
        if must[place] or not isinstance(row, int):
            close()
            shown.append(row)
        else:
            group.append(row)
    close()
    return shown + rows[end:]


def _tail(must: Sequence[bool], head: int, room: int) -> int:
    """The longest end that leaves the whole within `room`; at least a few rows."""
    total = len(must)
    kept = groups = 0
    open_group = False
    best = 0
    middle = [0] * (total - head + 1)
    for place in range(head, total):
        if must[place]:
            kept, open_group = kept + 1, False
        elif not open_group:
            groups, open_group = groups + 1, True
        middle[place - head + 1] = kept + groups
    for tail in range(total - head, -1, -1):
        if head + middle[total - head - tail] + tail <= room:
            best = tail
            break
    return min(max(best, FEWEST_AT_END), total - head)


def _musts(rows: Sequence[Row], seen: Seen, opened: Collection[int]) -> list[bool]:
    """For each row whether it must be seen."""
    places = [place for place, row in enumerate(rows) if isinstance(row, int)]
    idents = [row for row in rows if isinstance(row, int)]
    must = [not isinstance(row, int) and row.glyph in ("▲", "✗") for row in rows]
    for place, ident, failed in zip(places, idents, seen.errors(idents), strict=True):
        must[place] = failed or (bool(opened) and seen.key(ident) in opened)
    return must


def _head(row: Row, seen: Seen) -> bool:
    return seen.kind(row) in HEAD_KINDS if isinstance(row, int) else row.sort == "unknown"


def _fold_entry(ids: tuple[int, ...], seen: Seen, steps: Sequence[Step]) -> Entry:
    return Entry("fold", word=f"{len(ids)} more", tokens=seen.sum(ids),
                 text=_made_in(ids, seen, steps), note="Enter opens", ids=ids)  # fmt: skip


def _made_in(ids: Sequence[int], seen: Seen, steps: Sequence[Step]) -> str:
    """The steps that the pieces come from: one before the first prompt that holds them."""
    born = [n for n in map(seen.born, ids) if n is not None and n > 1]
    if not born:
        return ""
    first, last = max(1, min(born) - 1), max(1, max(born) - 1)
    if last > len(steps):
        return ""
    one, other = steps[first - 1].number, steps[last - 1].number
    return f"step {one}" if one == other else f"steps {one} to {other}"
