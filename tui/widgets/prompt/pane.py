"""The prompt pane as a widget: keeps what the reader opened, and binds (run, cursor, context) to a sheet of rows."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace
from rich.cells import cell_len

from agentmem.inspect.telling.explain import explain_drop, explain_piece, explain_prompt
from agentmem.model import Cursor, Run

from ...context import Context
from ..line import Line, Span
from ..panes.columns import blank, said, spread, step_at
from ..rows import Pane
from .draw import FoldTarget, PieceTarget, goal_lines, rule, then_line
from .plan import Entry, Row
from .sheet import Opening, Sheet

_TAB = " 2 prompt   "
"""What stands on the title row before the heading."""
FOOT_FROM = 8
"""Rows of the pane below which the goal has no foot of its own."""


class PromptPane(Pane):
    ident: ClassVar[str] = "prompt"
    title: ClassVar[str] = "prompt"

    def __init__(self) -> None:
        super().__init__()
        self.sheet: Sheet | None = None
        self._opening = Opening()
        self._bound: tuple[Run, Cursor, Context] | None = None

    def show(self, run: Run, cursor: Cursor, context: Context) -> None:
        old = self._bound
        moved = old is None or old[0].id != run.id or old[1] != cursor
        turned = old is not None and (old[2].changes, old[2].base) != (context.changes, context.base)
        if moved or turned:
            self._opening.unfolded = False
        self._bound = (run, cursor, context)
        self._rebuild()
        self.changed("keep" if not (moved or turned) else "start" if context.changes else "end")

    def texts_changed(self) -> None:
        self._rebuild()
        self.changed()
        if self._unfolded is not None and self.sheet is not None:
            start, width = self._unfolded[0], self.size.width
            self._sheet(width)
            one = self.sheet.row_at(start)
            segment = None if one is None else self.sheet.piece(one[0])
            if segment is not None and segment.key in self._opening.keys:
                self.unfold(start, start + 1, start + self.sheet.height_at(start, width))

    def _rebuild(self) -> None:
        if self._bound is not None:
            run, cursor, context = self._bound
            step = step_at(run, *cursor)
            self.sheet = None if step is None else Sheet(run, step, context, self._opening)

    # -- lines ------------------------------------------------------------------------------------------------------

    def _sheet(self, width: int) -> Sheet | None:
        """The sheet, laid out, if it has rows."""
        sheet = self.sheet
        if sheet is None:
            return None
        sheet.make(width, self.body_height or max(6, sheet.context.height - 12))
        return sheet if sheet.count else None

    def line_count(self, width: int) -> int:
        sheet = self._sheet(width)
        return sheet.count if sheet is not None else len(self._empty(width))

    def line(self, index: int, width: int) -> Line:
        sheet = self._sheet(width)
        if sheet is not None:
            return sheet.line(index, width)
        empty = self._empty(width)
        return empty[index] if index < len(empty) else blank(width)

    def _empty(self, width: int) -> list[Line]:
        if self._bound is None:
            return []
        if self.sheet is None:
            return said("No such step in this run any more: its history was rewritten.", width)
        return said("Nothing changed.", width)

    def head(self, width: int) -> tuple[Line, ...]:
        if self.sheet is None or self.sheet.context.width >= 100:
            return ()
        left, right = self.heading(width + len(_TAB) - 2)
        return (spread((Span(" "), *left), (*right, Span(" ")), width),)

    def foot(self, width: int) -> tuple[Line, ...]:
        sheet = self.sheet
        if sheet is None or self.size.height < FOOT_FROM:
            return ()
        goal, tokens = sheet.goal()
        return (
            rule(width), *goal_lines(goal, sheet.step, tokens, width, sheet.missing_since()),
            then_line(sheet.step, width),
        )  # fmt: skip

    def heading(self, width: int) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
        if self.sheet is None:
            return (), ()
        left, right = self.sheet.heading()
        return (left, right) if self.sheet.view is None else (left, _cut(left, right, width - len(_TAB)))

    # -- keys -------------------------------------------------------------------------------------------------------

    def open_target(self, target: object) -> bool:
        sheet = self.sheet
        if sheet is None:
            return False
        if isinstance(target, FoldTarget):
            at, before = self.selected or 0, self._sheet(self.size.width)
            rows = 0 if before is None else before.count
            self._opening.unfolded = True
            sheet.again()
            more = self.line_count(self.size.width) - rows
            self.unfold(at, at, at + more + 1)
            return True
        if isinstance(target, PieceTarget):
            self._toggle(sheet, target.ident)
            return True
        return False

    def _toggle(self, sheet: Sheet, ident: int) -> None:
        one = self._selected()
        segment = None if one is None else sheet.piece(one)
        if segment is None or segment.id != ident:
            return
        self._opening.keys ^= {segment.key}
        sheet.again()
        width = self.size.width
        self._sheet(width)
        start = sheet.start_of(ident)
        if start is None or segment.key not in self._opening.keys:
            self.changed("keep", start)
        else:
            self.unfold(start, start + 1, start + sheet.height_at(start, width))

    def reveal_segment(self, ident: int) -> bool:
        """Put the cursor on a piece, opening the fold if it hides it. False: it does not stand in this view."""
        width = self.size.width
        sheet = self._sheet(width)
        if sheet is None:
            return False
        start = sheet.start_of(ident)
        if start is None and sheet.view is None and not self._opening.unfolded:
            self._opening.unfolded = True
            sheet.again()
            self._sheet(width)
            start = sheet.start_of(ident)
        if start is None:
            return False
        self.changed("keep", start)
        return True

    def back(self) -> bool:
        """Esc: close what is open, then the fold."""
        if self._opening.keys:
            self._opening.keys.clear()
        elif self._opening.unfolded:
            self._opening.unfolded = False
        else:
            return False
        if self.sheet is not None:
            self.sheet.again()
        self.changed("end")
        return True

    def _selected(self) -> Row | None:
        sheet = self._sheet(self.size.width)
        if sheet is None or self.selected is None:
            return None
        found = sheet.row_at(self.selected)
        return None if found is None else found[0]

    def under_cursor(self) -> tuple[str, int] | None:
        one = self._selected()
        if one is None or self.sheet is None:
            return None
        segment = self.sheet.piece(one)
        if segment is not None:
            return self.sheet.step.lane, segment.id
        if isinstance(one, Entry) and one.drop is not None and one.drop.segment is not None:
            return one.drop.lane, one.drop.segment
        return None

    def explain(self) -> tuple[str, ...]:
        sheet = self.sheet
        if sheet is None:
            return ()
        one = self._selected()
        if isinstance(one, Entry) and one.drop is not None:
            return explain_drop(sheet.run, one.drop)
        segment = None if one is None else sheet.piece(one)
        if segment is not None:
            return explain_piece(sheet.run, sheet.step, segment)
        return explain_prompt(sheet.run, sheet.step)

    def copy_block(self) -> str | None:
        one = self._selected()
        if self.sheet is None or one is None:
            return None
        segment = self.sheet.piece(one)
        if segment is None:
            return super().copy_block()
        return self.sheet.context.text_of(segment.id) or segment.head


def _cut(left: tuple[Span, ...], right: tuple[Span, ...], room: int) -> tuple[Span, ...]:
    """The counts of a comparison that fit in `room` cells beside what is compared, which is never what goes."""
    room -= sum(cell_len(span.text) for span in left) + 2
    if right:
        shorter = replace(right[-1], text=right[-1].text.removesuffix(" tokens"))
        right = right if sum(cell_len(span.text) for span in right) <= room else (*right[:-1], shorter)
    while right and sum(cell_len(span.text) for span in right) > room:
        right = right[:-1]
    return right
