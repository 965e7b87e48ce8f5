"""The lost pane: what left the prompt or the state, its cause, and under it the call that missed it.

Columns: glyph 3, cause 11, what 40 (32 from 110, else the rest), tokens 8, at 6, last in 9, came back 12, record.
Below 110 columns the last two are the second line of the row.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import ClassVar

from agentmem.inspect.telling.explain import explain_drop, explain_prompt
from agentmem.inspect.telling.lost_block import lost_block, statement
from agentmem.model import Cursor, Drop, Run

from ...context import Context
from ...messages import ToStep
from ..line import Line, Span, fit, thousands
from ..rows import Pane
from .columns import GLYPHS, blank, clean, column, count, row, said, squeezed
from .losses import Loss, Made, boundary_word, losses, nothing_lost
from .survived import INDENT, survival_lines, under

GLYPH, CAUSE, TOKENS, AT, LAST, BACK = 3, 11, 8, 6, 9, 12
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
        return _drop_lines(loss.drop, terminal, width, ToStep(loss.lane, loss.n))
    return _boundary_lines(loss, terminal, width, opened)


def height(loss: Loss, terminal: int, width: int, opened: bool = False) -> int:
    """How many lines `loss_lines` gives, without making them where that is cheap to know."""
    drop = loss.drop
    if drop is None:
        return len(loss_lines(loss, terminal, width, opened))
    narrow = terminal < 110 and bool(drop.record or drop.returned_at is not None or drop.alarming)
    return 1 + narrow + min(len(drop.missed_by), 1)


def _drop_lines(drop: Drop, terminal: int, width: int, target: object) -> list[Line]:
    what, wide = widths(terminal, width)
    alarm = drop.alarming
    fill = ("error-muted" if drop.returned_at is None else "warning-muted") if alarm else None
    role = "text-error" if alarm else "text-warning"
    glyph = "▲" if alarm else GLYPHS.get(drop.cause, "−")
    cause = drop.cause if drop.recorded or drop.cause == "silent" else f"{drop.cause} ?"
    back = "no" if drop.returned_at is None else f"at {drop.returned_at}"
    record = _record(drop)
    glyph_role = "text-primary" if glyph == "▼" else role
    spans = [
        Span(f" {glyph} ", glyph_role, alarm), Span(column(cause, CAUSE), glyph_role, alarm),
        Span(column(_what(drop), what), "foreground", alarm), Span(fit(thousands(drop.tokens), TOKENS, right=True)),
        Span(fit(str(drop.step), AT, right=True)), Span(fit(str(drop.last_step), LAST, right=True)),
    ]  # fmt: skip
    if wide:
        recorded = Span(clean(record, width), "text-error" if alarm else "label")
        spans += [Span("   "), Span(fit(back, BACK), "label"), recorded]
    lines = [row(spans, width, fill=fill, target=target)]
    if not wide and (drop.record or drop.returned_at is not None or alarm):
        came = f"it came back at {drop.returned_at}" if drop.returned_at is not None else "it has not come back"
        parts = [clean(record, width)] if record else []
        if alarm or drop.returned_at is not None:
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


def _what(drop: Drop) -> str:
    if drop.what == "segment" and drop.head and drop.head not in drop.name:
        if drop.count == 1:
            return f"{drop.name}: {drop.head}"
        return drop.name if drop.name.startswith(str(drop.count)) else f"{drop.name} ({drop.count})"
    return statement(drop)


def _record(drop: Drop) -> str:
    if drop.record:
        return drop.record
    return "" if drop.recorded else "nobody recorded it"


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
        Span(" ▼ ", role), Span(column(boundary_word(boundary), CAUSE), role), Span(fit(text, what)),
        Span(fit("" if grew else thousands(tokens), TOKENS, right=True)), Span(fit(str(loss.step), AT, right=True)),
        Span(fit("" if last is None else str(last), LAST, right=True)),
    ]  # fmt: skip
    if wide:
        spans += [Span("   "), Span(fit(back, BACK), "label"), Span(clean(record, width), "label")]
    lines = [row(spans, width, target=BoundaryTarget(loss.lane, loss.n))]
    if not wide and record:
        lines.append(under((Span(clean(record, width), "label"),), width))
    if boundary.opaque:
        lines.append(under((Span("cannot be checked: the summary is encrypted or missing", "text-warning"),), width))
    if loss.survival is not None:
        lines += survival_lines(loss.survival, width)
    if opened:
        for drop in pieces[:LISTED]:
            tail = f"{thousands(drop.tokens)}".rjust(TOKENS)
            shown = clean(_what(drop), width)
            spans = [Span(" " * INDENT), Span("− ", "text-warning"),
                     Span(fit(shown, max(8, width - INDENT - 14)), "label"), Span(tail, "label")]  # fmt: skip
            lines.append(row(spans, width, target=BoundaryTarget(loss.lane, loss.n)))
        if len(pieces) > LISTED:
            lines.append(under((Span(f"and {len(pieces) - LISTED:,} more", "label"),), width))
    return lines


class BoundaryTarget(ToStep):
    """Enter lists what the boundary took, again goes there."""


class LostPane(Pane):
    ident: ClassVar[str] = "lost"
    title: ClassVar[str] = "lost"

    def __init__(self) -> None:
        super().__init__()
        self._bound: tuple[Run, Cursor, Context] | None = None
        self._losses: tuple[Loss, ...] = ()
        self._of: tuple[Run, str] | None = None
        self._kept: Made = {}
        self._opened: set[tuple[str, int]] = set()
        self._starts: list[int] = []
        self._count = 0
        self._made_for: tuple[int, int] | None = None
        self._drawn: dict[int, list[Line]] = {}
        """Lines of the losses that were looked at, by identity of the loss, as long as rows and width stand."""
        self._to_cursor = False
        """The reader went to another step: what it lost comes into view when the pane is looked at."""

    def show(self, run: Run, cursor: Cursor, context: Context) -> None:
        other = self._bound is None or self._bound[0].id != run.id or self._bound[1][0] != cursor[0]
        moved = self._bound is not None and self._bound[1] != cursor
        self._bound = (run, cursor, context)
        if other:
            self._kept = {}
        self.changed("start" if other else "keep")
        self._to_cursor = self._to_cursor or moved

    def _make(self, width: int) -> None:
        """Rows and their places; made when the pane is looked at, once a run."""
        if self._bound is None:
            return
        run, cursor, context = self._bound
        if self._of != (run, cursor[0]):
            self._of = (run, cursor[0])
            index = context.index.lanes.get(cursor[0])
            self._losses = () if index is None else losses(run, index, self._kept)
            self._made_for = None
        terminal = context.width
        if self._made_for == (width, terminal):
            return
        self._made_for = (width, terminal)
        self._drawn = {}
        self._starts, at = [], 0
        before: Loss | None = None
        for loss in self._losses:
            if before is not None and before.alarming and not loss.alarming:
                at += 1
            self._starts.append(at)
            at += height(loss, terminal, width, (loss.lane, loss.n) in self._opened)
            before = loss
        self._count = at

    def _settle(self, width: int) -> int:
        if self._to_cursor and self.size.height:
            self._to_cursor = False
            self._reveal_step(width)
        return super()._settle(width)

    def _reveal_step(self, width: int) -> None:
        """Put the cursor on what the reader's step lost, the boundary first; if it lost nothing it stays."""
        self._make(width)
        n = 0 if self._bound is None else self._bound[1][1]
        here = [place for place, loss in enumerate(self._losses) if loss.n == n]
        if here:
            chosen = next((place for place in here if self._losses[place].sort == "boundary"), here[0])
            end = self._starts[chosen + 1] if chosen + 1 < len(self._starts) else self._count
            self.selected, self._anchor = self._starts[chosen], None
            self.reveal(end - 1)
            self.reveal(self.selected)

    def line_count(self, width: int) -> int:
        self._make(width)
        return self._count or len(self._empty(width))

    def _empty(self, width: int) -> list[Line]:
        if self._bound is None:
            return []
        run, cursor, context = self._bound
        index = context.index.lanes.get(cursor[0])
        return [] if index is None else said(nothing_lost(run, index), width)

    def line(self, index: int, width: int) -> Line:
        self._make(width)
        found = self._at(index)
        if found is None:
            empty = self._empty(width) if not self._losses else []
            return empty[index] if index < len(empty) else blank(width)
        loss, part = found
        terminal = self._bound[2].width if self._bound is not None else width
        lines = self._drawn.get(id(loss))
        if lines is None:
            lines = self._drawn[id(loss)] = loss_lines(loss, terminal, width, (loss.lane, loss.n) in self._opened)
        return lines[part] if part < len(lines) else blank(width)

    def _at(self, index: int) -> tuple[Loss, int] | None:
        if not self._losses:
            return None
        place = bisect_right(self._starts, index) - 1
        return self._losses[place], index - self._starts[place]

    def head(self, width: int) -> tuple[Line, ...]:
        self._make(width)
        if self._bound is None or not self._losses:
            return ()
        doubtful = any(loss.unrecorded and not loss.alarming for loss in self._losses[:LISTED])
        return (head_line(self._bound[2].width, width, doubtful),)

    def badge(self) -> tuple[Span, ...]:
        """Silent losses (of all that the header counts those of this lane), and steps that lost something on record."""
        index = None if self._bound is None else self._bound[2].index.lanes.get(self._bound[1][0])
        if index is None or self._bound is None:
            return ()
        alarms = len(index.alarms)
        recorded = len(index.jumps.get("drop", ())) - len({drop.n for drop in index.alarms})
        spans = []
        if alarms:
            every = len(self._bound[2].index.alarms)
            spans.append(Span(f" ▲{alarms}" if every == alarms else f" ▲{alarms} of {every}", "text-error"))
        if recorded and self._bound[2].width >= 100:
            spans.append(Span(f" −{recorded}", "text-warning"))
        return tuple(spans)

    def open_target(self, target: object) -> bool:
        if not isinstance(target, BoundaryTarget) or (target.lane, target.n) in self._opened:
            return False
        self._opened.add((target.lane, target.n))
        self._made_for = None
        self.changed()
        return True

    def back(self) -> bool:
        if not self._opened:
            return False
        self._opened.clear()
        self._made_for = None
        self.changed()
        return True

    def _selected_loss(self) -> Loss | None:
        self._make(self.size.width)
        found = None if self.selected is None else self._at(self.selected)
        return None if found is None else found[0]

    def under_cursor(self) -> tuple[str, int] | None:
        loss = self._selected_loss()
        drop = None if loss is None else loss.drop or (loss.pieces[0] if loss.pieces else None)
        return None if drop is None or drop.segment is None else (drop.lane, drop.segment)

    def explain(self) -> tuple[str, ...]:
        loss = self._selected_loss()
        if self._bound is None or loss is None:
            return ()
        run = self._bound[0]
        if loss.drop is not None:
            return explain_drop(run, loss.drop)
        steps = run.lane(loss.lane).steps
        return explain_prompt(run, steps[loss.n - 1]) if 1 <= loss.n <= len(steps) else ()

    def copy_block(self) -> str | None:
        """All that was lost and not recorded, and what the newest boundary lost: ready to paste back into the agent."""
        if self._bound is None:
            return None
        return lost_block(self._bound[0], lane=self._bound[1][0]) or super().copy_block()
