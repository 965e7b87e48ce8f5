"""What came through a boundary and what did not, by kind, as the lines under its row. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from agentmem.inspect.telling.lost_block import KEYWORD_KINDS, ORDER, SINGULAR
from agentmem.model import Survival

from ..line import Line, Span, fit
from .calls import shorten_path, told
from .columns import clean, row, wrap_words

INDENT = 14
"""Cells before what stands under a row: those of its glyph and its cause."""
LABEL = 13
"""Cells for `└ survived` and the like, in front of what they list."""
ONE_A_ROW = frozenset({"commands", "constraints", "decisions", "prose"})
LOST_ROWS = 2
"""Rows for what was lost of one kind; one thing alone may take one more."""


def under(spans: Sequence[Span], width: int, fill: str | None = None, target: object = None) -> Line:
    """A line that belongs to the row above it."""
    return row((Span(" " * INDENT), Span("└ ", "label"), *spans), width, fill=fill, target=target)


def survival_lines(survival: Survival, width: int) -> list[Line]:
    """`└ survived`, `└ lost` and `└ changed`, wrapped."""
    lines: list[Line] = []
    if survival.boundary.opaque:
        return lines
    kept: list[tuple[Span, ...]] = []
    for kind in ORDER:
        if kind in survival.kept:
            have, total = survival.kept[kind]
            if total:
                role = "text-warning" if have < total else "foreground"
                kept.append((Span(f"{kind} ", "label"), Span(f"{have}/{total}", role, have < total)))
    lines += _listed("survived", kept, width)
    room = max(10, width - INDENT - LABEL - 1)
    lost: list[tuple[Span, ...]] = []
    for kind in ORDER:
        texts = [one.text for one in survival.lost if one.kind == kind]
        if texts:
            by = " (by keyword)" if kind in KEYWORD_KINDS else ""
            lead = f"{SINGULAR.get(kind, kind) if len(texts) == 1 else kind}{by} "
            for place, words in enumerate(_wrapped(texts, kind, room, lead)):
                at = 0 if place else cell_len(lead)
                lost.append((Span(words[:at], "label"), Span(words[at:])))
    lines += _listed("lost", lost, width)
    changed = [(Span(f"{clean(a, 30)} → {clean(b, 30)}", "text-warning"),) for a, b in survival.changed]
    return lines + _listed("changed", changed, width)


def _wrapped(texts: Sequence[str], kind: str, room: int, lead: str) -> list[str]:
    """Rows that begin with `lead`, later ones with blanks, and how many things there are beyond: short ones side by
    side, sentences and commands one a row, a thing alone wrapped by its words."""
    if len(texts) == 1:
        first, *rest = wrap_words(lead + clean(texts[0], room * (LOST_ROWS + 1)), room, limit=LOST_ROWS + 1)
        return [first, *(f"  {words}" for words in wrap_words(" ".join(rest), room - 2, limit=LOST_ROWS) if words)]
    if kind in ONE_A_ROW:
        more = f"  +{len(texts) - LOST_ROWS}" if len(texts) > LOST_ROWS else ""
        shown = [told("", clean(text, room * 2)) for text in texts[:LOST_ROWS]]
        said = [fit(f"{'  ' if place else lead}{text}", room).rstrip() for place, text in enumerate(shown)]
        return [*said[:-1], fit(said[-1], min(cell_len(said[-1]), room - len(more))) + more]
    rows = [lead.rstrip()]
    longest = max(12, room // 2)
    for place, text in enumerate(texts):
        more = f" +{len(texts) - place}"
        one = clean(text, room)
        if cell_len(one) > longest:
            one = fit(shorten_path(one), longest).rstrip()
        last = len(rows) == LOST_ROWS and place < len(texts) - 1
        if cell_len(rows[-1]) + 1 + cell_len(one) + (cell_len(more) if last else 0) <= room:
            rows[-1] += f" {one}"
        elif len(rows) < LOST_ROWS:
            rows.append(f"  {one}")
        else:
            rows[-1] += more
            break
    return rows


def _listed(word: str, items: Sequence[Sequence[Span]], width: int) -> list[Line]:
    """Items side by side behind a word, wrapped under one another."""
    lines: list[Line] = []
    room = max(10, width - INDENT - LABEL - 1)
    line: list[Span] = []
    used = 0
    for item in items:
        cells = sum(cell_len(span.text) for span in item)
        if line and (used + 3 + cells > room or item[0].text == ""):
            lines.append(_item_line(word if not lines else "", line, width))
            line, used = [], 0
        if line:
            line.append(Span("   "))
            used += 3
        line.extend(item)
        used += cells
    if line:
        lines.append(_item_line(word if not lines else "", line, width))
    return lines


def _item_line(word: str, spans: Sequence[Span], width: int) -> Line:
    lead = "└ " if word else "  "
    return row((Span(" " * INDENT), Span(lead + fit(word, LABEL - 2), "label"), *spans), width)
