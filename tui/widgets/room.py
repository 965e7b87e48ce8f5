"""Which words of a row stand there at a width: some give way in shorter forms before any goes. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich.cells import cell_len

from .line import Span


class Item(msgspec.Struct, frozen=True):
    """Spans that stand or go together; `rank`: the lower, the longer they stay."""

    rank: int
    spans: tuple[Span, ...]
    right: bool = False
    gap: int = 2
    """Cells before it."""
    shorter: tuple[tuple[Span, ...], ...] = ()
    """What stands in place of `spans` where there is less room, the longest first; empty: nothing does."""

    @property
    def forms(self) -> tuple[tuple[Span, ...], ...]:
        return self.spans, *self.shorter

    def width(self, form: int = 0) -> int:
        spans = self.forms[form]
        return sum(cell_len(span.text) for span in spans) + self.gap if spans else 0


def fitted(items: Sequence[Item], room: int, giving: Sequence[int], needed: int, never: int) -> list[Item]:
    """What of the items stands in `room` cells, in their order, each with the spans that do.

    Of those with a rank up to `needed` the ones ranked in `giving` are shortened, in that order, before the highest
    ranks go; ranks up to `never` never go. What is ranked above `needed` has only the room that is left.
    """
    form = dict.fromkeys(range(len(items)), 0)
    ranked = sorted(form, key=lambda at: items[at].rank)
    kept = [at for at in ranked if items[at].rank <= needed]
    gives = [at for rank in giving for at in kept if items[at].rank == rank and items[at].shorter]

    def left() -> int:
        return room - sum(items[at].width(form[at]) for at in kept)

    for at in gives:
        while left() < 0 and form[at] < len(items[at].shorter):
            form[at] += 1
    while left() < 0 and items[kept[-1]].rank > never:
        kept.pop()
    for at in reversed(gives):
        while at in kept and form[at] and left() >= items[at].width(form[at] - 1) - items[at].width(form[at]):
            form[at] -= 1
    for at in ranked:
        if items[at].rank > needed and items[at].width() <= left():
            kept.append(at)
    return [msgspec.structs.replace(items[at], spans=items[at].forms[form[at]], shorter=()) for at in sorted(kept)]
