"""One row of the lost pane with what stands under it: a drop, a fold of alike ones, a boundary, a gap. Pure.

Columns: glyph 3, cause 11, what 40 (32 from 110, else the rest), tokens 8, at 6, last in 9, came back 12, record.
Below 110 columns the last two are the second line of the row.
"""

from __future__ import annotations

from rich.cells import cell_len

from agentmem.inspect.telling.fold import Fold
from agentmem.inspect.telling.left import cause_word
from agentmem.inspect.telling.lost_block import statement
from agentmem.inspect.telling.marks import BOUNDARY, boundary_word, drop_mark
from agentmem.model import Drop

from ...index import GLYPHS
from ...messages import ToStep
from ..line import Line, Span, called, fit, thousands
from .calls import head_text
from .columns import clean, column, count, row, squeezed
from .losses import Loss
from .survived import INDENT, survival_lines, under

GLYPH, CAUSE, TOKENS, AT, LAST, BACK = 3, 11, 8, 6, 9, 12
WHICH = 60
"""Cells of a call that stands for what left with it."""
LISTED = 200
"""Pieces of a boundary that Enter lists at most."""


def widths(terminal: int, width: int) -> tuple[int, bool]:
    """(cells for what was lost, whether `came back` and `record` have columns of their own)."""
    if terminal >= 110:
        what = 40 + max(0, terminal - 150) if terminal >= 140 else 32
        return max(8, min(what, width - INDENT - TOKENS - AT - LAST - 3 - BACK - 20)), True
    return max(8, width - INDENT - TOKENS - AT - LAST - (7 if width >= 80 else 1)), False


def head_line(terminal: int, width: int, unrecorded: bool = False) -> Line:
    """`unrecorded`: say what the `?` behind a cause means, where no column has room to say it row by row."""
    what, wide = widths(terminal, width)
    tail = "   " + fit("came back", BACK) + "record" if wide else ""
    named = "what         (?: nobody recorded it)" if unrecorded and not wide else "what"
    text = (" " * GLYPH + fit("cause", CAUSE) + fit(named, what) + fit("tokens", TOKENS, right=True)
            + fit("at", AT, right=True) + fit("last in", LAST, right=True) + tail)  # fmt: skip
    return row((Span(text, "label"),), width)


def loss_lines(loss: Loss, terminal: int, width: int, opened: bool = False) -> list[Line]:
    """A loss with what stands under it."""
    if loss.sort == "gap":
        return [row((Span(" ? "), Span(clean(loss.words, width), "label")), width)]
    if loss.drop is not None:
        lines = _drop_lines(loss.drop, terminal, width, ToStep(loss.lane, loss.n), loss.inside, loss.held)
        return lines[:1] if loss.inside else lines
    if loss.fold is not None:
        return _fold_lines(loss, loss.fold, terminal, width, opened)
    return _boundary_lines(loss, terminal, width, opened)


def height(loss: Loss, terminal: int, width: int, opened: bool = False) -> int:
    """How many lines `loss_lines` gives, without making them where that is cheap to know."""
    drop = loss.drop
    if loss.fold is not None:
        return 1 if loss.inside or terminal >= 110 else 2
    if drop is None:
        return len(loss_lines(loss, terminal, width, opened))
    narrow = terminal < 110 and bool(_record(drop, loss.held) or drop.returned_at is not None)
    return 1 + narrow + min(len(drop.missed_by), 1)


def _drop_lines(drop: Drop, terminal: int, width: int, target: object, inside: bool, held: bool) -> list[Line]:
    """`inside` a fold, whose row has said how many of what left at a step: which they were. `held`: in the state."""
    what, wide = widths(terminal, width)
    alarm = drop.alarming
    fill = ("error-muted" if drop.returned_at is None else "warning-muted") if alarm else None
    role = "text-error" if alarm else "text-warning"
    glyph, glyph_role = GLYPHS[drop_mark(drop)]
    back = "no" if drop.returned_at is None else f"at {drop.returned_at}"
    record = _record(drop, held)
    lead = f"   {glyph}" if inside else f" {glyph} {column(cause_word(drop), CAUSE)}"
    spans = [
        Span(fit(lead, GLYPH + CAUSE), glyph_role, alarm),
        Span(column(_which(drop) if inside else _what(drop), what), "foreground", alarm),
        Span(fit(thousands(drop.tokens), TOKENS, right=True)),
        Span(fit(str(drop.step), AT, right=True)), Span(fit(str(drop.last_step), LAST, right=True)),
    ]  # fmt: skip
    if wide:
        recorded = Span(clean(record, width), "text-error" if alarm else "label")
        spans += [Span("   "), Span(fit(back, BACK), "label"), recorded]
    lines = [row(spans, width, fill=fill, target=target)]
    if not wide and (record or drop.returned_at is not None):
        came = f"it came back at {drop.returned_at}" if drop.returned_at is not None else "it has not come back"
        parts = [clean(record, width)] if record else []
        if (alarm and not held) or drop.returned_at is not None:
            parts.append(came)
        words = "; ".join(parts)
        lines.append(under((Span(words, "text-error" if alarm else "label"),), width, fill))
    if drop.missed_by:
        miss = drop.missed_by[0]
        more = f"  and {count(len(drop.needs) - 1, 'more time')}" if len(drop.needs) > 1 else ""
        lines.append(
            under((Span(f"needed at {miss.step} by {clean(miss.tool, 30)}", role),
                    Span(f"   ✗ {squeezed(miss.error, width)}{more}", "text-error", True)), width, fill)
        )  # fmt: skip
    return lines


def _fold_lines(loss: Loss, fold: Fold, terminal: int, width: int, opened: bool) -> list[Line]:
    """Losses of one sort that recur: one row, and what Enter does with it."""
    what, wide = widths(terminal, width)
    first = fold.first
    glyph, role = GLYPHS[drop_mark(first)]
    text = f"{fold.where}: {fold.what}"
    if len(text) > what:
        text = f"{fold.where}: {fold.what.rpartition(', ')[0] or fold.what}"
    record = clean(_record(fold.last, False), width)
    back = f"{fold.returned:,} of {fold.count:,}" if fold.returned else "no"
    target = FoldTarget(loss.lane, loss.n)
    spans = [
        Span(f" {glyph} ", role), Span(column(cause_word(first), CAUSE), role), Span(fit(text, what)),
        Span(fit(thousands(fold.tokens), TOKENS, right=True)), Span(fit(str(fold.last.step), AT, right=True)),
        Span(fit(str(fold.last.last_step), LAST, right=True)),
    ]  # fmt: skip
    if wide:
        room = width - sum(cell_len(span.text) for span in spans) - 3 - BACK
        spans += [Span("   "), Span(fit(back, BACK), "label"), Span(_and_key(record, opened, room), "label")]
        return [row(spans, width, target=target)]
    came = f"; {back} came back" if fold.returned else ""
    said_under = _and_key(record, opened, width - INDENT - 2 - len(came)) + came
    return [row(spans, width, target=target), under((Span(said_under, "label"),), width)]


def _and_key(record: str, opened: bool, room: int) -> str:
    """What is on record, and what Enter does with the row, which is never what is cut."""
    key = "Enter folds" if opened else "Enter opens"
    if not record:
        return key
    return f"{record}; {key}" if cell_len(record) + 2 + len(key) <= room else f"{key}; {record}"


def _what(drop: Drop) -> str:
    if drop.what == "segment" and drop.head and drop.head not in drop.name:
        if drop.count == 1:
            return f"{drop.name}: {drop.head}"
        return drop.name if drop.name.startswith(str(drop.count)) else f"{drop.name} ({drop.count})"
    if called(drop.name) != drop.name.removeprefix("facts."):
        return called(drop.name) + (f" = {drop.text}" if drop.text is not None else "")
    return statement(drop)


def _which(drop: Drop) -> str:
    if drop.what != "segment" or drop.count == 1 or not drop.head:
        return _what(drop)
    head = head_text(drop.head.partition(" ")[0], drop.head, WHICH) if drop.kind == "call" else drop.head
    return f"{head} and {drop.count - 1} more"


def _record(drop: Drop, held: bool) -> str:
    said = drop.record or ("" if drop.recorded else "nobody recorded it")
    if held and drop.returned_at is None:
        said = f"{said}; the state still holds it".removeprefix("; ")
    return said if drop.still is None else f"{said}; {drop.still.why}".removeprefix("; ")


def _boundary_lines(loss: Loss, terminal: int, width: int, opened: bool) -> list[Line]:
    what, wide = widths(terminal, width)
    boundary, pieces = loss.boundary, loss.pieces
    assert boundary is not None
    number = sum(drop.count for drop in pieces)
    known = [drop.tokens for drop in pieces if drop.tokens is not None]
    tokens = sum(known) if known else None
    grew = not known and boundary.before is not None and boundary.after is not None and boundary.before < boundary.after
    if tokens is None and boundary.before is not None and boundary.after is not None:
        fell = boundary.before - boundary.after
        tokens = fell if fell > 0 else None
    returned = sum(drop.count for drop in pieces if drop.returned_at is not None)
    size = "" if boundary.before is None or boundary.after is None else (
        f"{thousands(boundary.before)} → {thousands(boundary.after)}"
    )  # fmt: skip
    text = count(number, "piece") + (f", {size}" if size else "") if number else size or "the prompt was cut"
    last = max((drop.last_step for drop in pieces), default=None)
    role = "text-primary" if boundary.recorded else "text-warning"
    record = boundary.why or next((drop.record for drop in pieces if drop.record), None) or ""
    if not boundary.recorded:
        record = f"nobody recorded it; {record}" if record else "nobody recorded it"
    back = f"{returned} of {number}" if returned else "no" if number else ""
    spans = [
        Span(f" {GLYPHS[BOUNDARY][0]} ", role), Span(column(boundary_word(boundary), CAUSE), role),
        Span(fit(text, what)),
        Span(fit("" if grew else thousands(tokens), TOKENS, right=True)), Span(fit(str(loss.step), AT, right=True)),
        Span(fit("" if last is None else str(last), LAST, right=True)),
    ]  # fmt: skip
    record = clean(record, width)
    if pieces:
        record = _and_key(record, opened, width - (sum(cell_len(span.text) for span in spans) + 3 + BACK if wide
                                                   else INDENT + 2))  # fmt: skip
    if wide:
        spans += [Span("   "), Span(fit(back, BACK), "label"), Span(record, "label")]
    lines = [row(spans, width, target=BoundaryTarget(loss.lane, loss.n))]
    if not wide and record:
        lines.append(under((Span(record, "label"),), width))
    if boundary.opaque:
        lines.append(under((Span("cannot be checked: the summary is encrypted or missing", "text-warning"),), width))
    if loss.survival is not None:
        lines += survival_lines(loss.survival, width)
    if opened:
        for drop in pieces[:LISTED]:
            tail = f"{thousands(drop.tokens)}".rjust(TOKENS)
            shown = clean(_what(drop), width)
            mark, mark_role = GLYPHS[drop_mark(drop)]
            spans = [Span(" " * INDENT), Span(f"{mark} ", mark_role),
                     Span(fit(shown, max(8, width - INDENT - 14)), "label"), Span(tail, "label")]  # fmt: skip
            lines.append(row(spans, width, target=ToStep(loss.lane, loss.n)))
        if len(pieces) > LISTED:
            lines.append(under((Span(f"and {len(pieces) - LISTED:,} more", "label"),), width))
    return lines


class BoundaryTarget(ToStep, frozen=True):
    """Enter lists what the boundary took, or folds it again."""


class FoldTarget(ToStep, frozen=True):
    """Enter opens a fold or closes it."""
