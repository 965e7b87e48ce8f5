"""The lost pane: what left the prompt or the state, its cause, and under it the call that missed it.

Losses that recur step after step are one row, which Enter opens; the rows themselves are drawn in `lost_rows`.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import ClassVar

from agentmem.inspect.telling.explain import explain_drop, explain_prompt
from agentmem.inspect.telling.lost_block import lost_block
from agentmem.inspect.telling.marks import DROPPED, LEFT, SILENT
from agentmem.model import Cursor, Run

from ...context import Context
from ...index import GLYPHS, LaneIndex
from ..line import Line, Span
from ..rows import Pane
from .columns import blank, said
from .losses import Loss, Made, losses, made_by, nothing_known, same, unfolded
from .lost_rows import LISTED, BoundaryTarget, FoldTarget, head_line, height, loss_lines


class LostPane(Pane):
    ident: ClassVar[str] = "lost"
    title: ClassVar[str] = "lost"

    def __init__(self) -> None:
        super().__init__()
        self._bound: tuple[Run, Cursor, Context] | None = None
        self._folded: tuple[Loss, ...] = ()
        self._losses: tuple[Loss, ...] = ()
        """The rows with what open folds hold."""
        self._of: tuple[Run, str] | None = None
        self._kept: Made = {}
        self._opened: set[tuple[str, int]] = set()
        self._starts: list[int] = []
        self._count = 0
        self._made_for: tuple[int, int] | None = None
        self._drawn: dict[int, list[Line]] = {}
        """Lines of the losses that were looked at, by identity of the loss, as long as rows and width stand."""
        self._nothing: tuple[Run, LaneIndex | None, int, list[Line]] | None = None
        """What is said where nothing is known to be lost: all steps are looked through for it once a run."""
        self._to_cursor = False
        """The reader went to another step: what it lost comes into view when the pane is looked at."""
        self._chosen = False
        """The reader put the cursor on its row, here or by going to its step: it stays with it. Else it goes to the
        first row when others come."""

    def show(self, run: Run, cursor: Cursor, context: Context) -> None:
        other = self._bound is None or self._bound[0].id != run.id or self._bound[1][0] != cursor[0]
        moved = self._bound is not None and self._bound[1] != cursor
        self._bound = (run, cursor, context)
        if other:
            self._kept, self._chosen = {}, False
        self.changed("start" if other else "keep")
        self._to_cursor = self._to_cursor or moved

    def _make(self, width: int) -> None:
        """Rows and their places; made when the pane is looked at, once a run."""
        if self._bound is None:
            return
        run, cursor, context = self._bound
        grew = self._of != (run, cursor[0])
        if grew:
            self._of = (run, cursor[0])
            index = context.index.lanes.get(cursor[0])
            self._folded = () if index is None else losses(run, index, self._kept)
            self._made_for = None
        terminal = context.width
        if self._made_for == (width, terminal):
            return
        self._made_for = (width, terminal)
        under = self._under()
        self._losses = unfolded(self._folded, context.opened)
        self._drawn = {}
        self._starts, at = [], 0
        before: Loss | None = None
        for loss in self._losses:
            if before is not None and before.alarming and not loss.alarming:
                at += 1
            self._starts.append(at)
            at += height(loss, terminal, width, self._is_open(loss))
            before = loss
        self._count = at
        if under is not None and self._losses:
            self._put_back(*under, stays=self._chosen or not grew)

    def _under(self) -> tuple[Loss, int] | None:
        """The row under the cursor as the rows stand, and how far below the first visible line it begins."""
        if self.selected is None or not self._losses:
            return None
        place = bisect_right(self._starts, self.selected) - 1
        return self._losses[place], self._starts[place] - self.top

    def _put_back(self, loss: Loss, below: int, stays: bool) -> None:
        """The rows are others, or of another height: the cursor stays with its row, at its place in the pane; else it
        goes to the first."""
        place = next((at for at, one in enumerate(self._losses) if same(one, loss)), 0) if stays else 0
        self.selected, self._reveal = self._starts[place], True
        self.top = max(0, self.selected - below) if stays else 0

    def select(self, index: int) -> None:
        self._chosen = True
        super().select(index)

    def _is_open(self, loss: Loss) -> bool:
        if loss.sort == "fold" and loss.fold is not None and self._bound is not None:
            return loss.fold.ident in self._bound[2].opened
        return (loss.lane, loss.n) in self._opened

    def _settle(self, width: int) -> int:
        if self._to_cursor and self.size.height:
            self._to_cursor = False
            self._reveal_step(width)
        return super()._settle(width)

    def _reveal_step(self, width: int) -> None:
        """Put the cursor on what the reader's step lost, the boundary first; if it lost nothing it stays."""
        self._make(width)
        n = 0 if self._bound is None else self._bound[1][1]
        here = [place for place, loss in enumerate(self._losses) if self._stands_for(loss, n)]
        if here:
            chosen = next((place for place in here if self._losses[place].sort == "boundary"), here[0])
            end = self._starts[chosen + 1] if chosen + 1 < len(self._starts) else self._count
            self.selected, self._anchor = self._starts[chosen], None
            self._chosen = self._bound is not None and n < len(self._bound[0].lane(self._bound[1][0]).steps)
            self.reveal(end - 1)
            self.reveal(self.selected)

    def _stands_for(self, loss: Loss, n: int) -> bool:
        if loss.sort == "fold" and loss.fold is not None:
            return not self._is_open(loss) and loss.fold.covers(n)
        return loss.n == n

    def line_count(self, width: int) -> int:
        self._make(width)
        return self._count or len(self._empty(width))

    def _empty(self, width: int) -> list[Line]:
        if self._bound is None:
            return []
        run, cursor, context = self._bound
        index = context.index.lanes.get(cursor[0])
        if self._nothing is None or self._nothing[:3] != (run, index, width):
            self._nothing = (run, index, width, [] if index is None else said(nothing_known(run, index), width))
        return self._nothing[3]

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
            lines = self._drawn[id(loss)] = loss_lines(loss, terminal, width, self._is_open(loss))
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
        """Silent losses (of all that the header counts those of this lane), then the steps beside them that lost
        something on record, and those that lost only what nobody recorded."""
        index = None if self._bound is None else self._bound[2].index.lanes.get(self._bound[1][0])
        if index is None or self._bound is None:
            return ()
        alarms = len(index.alarms)
        spans = []
        if alarms:
            every = len(self._bound[2].index.alarms)
            mark, role = GLYPHS[SILENT]
            spans.append(Span(f" {mark}{alarms}" if every == alarms else f" {mark}{alarms} of {every}", role))
        if self._bound[2].width >= 100:
            for (mark, role), number in zip((GLYPHS[DROPPED], GLYPHS[LEFT]), index.losing, strict=True):
                if number:
                    spans.append(Span(f" {mark}{number:,}", role))
        return tuple(spans)

    def open_target(self, target: object) -> bool:
        loss = self._selected_loss() if isinstance(target, FoldTarget | BoundaryTarget) else None
        if loss is None or self._bound is None or (loss.sort == "boundary" and not loss.pieces):
            return False
        if loss.fold is not None:
            self._bound[2].opened.symmetric_difference_update({loss.fold.ident})
        else:
            self._opened.symmetric_difference_update({(loss.lane, loss.n)})
        self._made_for = None
        self._make(self.size.width)
        self._show_opened(loss)
        return True

    def _show_opened(self, loss: Loss) -> None:
        """Put the cursor on the row, and bring what it holds into view if it is open."""
        place = next(at for at, one in enumerate(self._losses) if one is loss)
        start = self._starts[place]
        if not self._is_open(loss):
            self.changed(selected=start)
            return
        alone = height(loss, self._bound[2].width if self._bound else 0, self.size.width)
        behind = place + 1
        while loss.fold is not None and behind < len(self._losses) and self._losses[behind].fold is loss.fold:
            behind += 1
        end = self._starts[behind] if behind < len(self._starts) else self._count
        self.unfold(start, start + alone, end)

    def back(self) -> bool:
        """Esc: close what is open; the cursor goes to the row that it was part of."""
        opened = set() if self._bound is None else self._bound[2].opened
        if not self._opened and not opened:
            return False
        at = self._selected_loss()
        self._opened.clear()
        opened.clear()
        self._made_for = None
        self._make(self.size.width)
        for place, loss in enumerate(self._losses):
            if at is not None and (loss is at or (at.fold is not None and loss.fold is at.fold)):
                self.changed(selected=self._starts[place])
                return True
        self.changed()
        return True

    def _selected_loss(self) -> Loss | None:
        self._make(self.size.width)
        found = None if self.selected is None else self._at(self.selected)
        return None if found is None else found[0]

    def under_cursor(self) -> tuple[str, int] | None:
        loss = self._selected_loss()
        if loss is not None and loss.sort == "boundary" and self._bound is not None:
            return made_by(self._bound[0], loss)
        drop = None if loss is None else loss.drop
        if loss is not None and loss.sort == "fold" and loss.fold is not None:
            drop = loss.fold.last
        return None if drop is None or drop.segment is None else (drop.lane, drop.segment)

    def explain(self) -> tuple[str, ...]:
        loss = self._selected_loss()
        if self._bound is None or loss is None:
            return ()
        run = self._bound[0]
        if loss.drop is not None:
            return explain_drop(run, loss.drop)
        if loss.fold is not None:
            rule = f"{loss.fold.where}: {loss.fold.what}, of one cause; each is listed with Enter. The newest of them:"
            return (rule, *explain_drop(run, loss.fold.last))
        steps = run.lane(loss.lane).steps
        return explain_prompt(run, steps[loss.n - 1]) if 1 <= loss.n <= len(steps) else ()

    def copy_block(self) -> str | None:
        """All that was lost and not recorded, and what the newest boundary lost: ready to paste back into the agent."""
        if self._bound is None:
            return None
        return lost_block(self._bound[0], lane=self._bound[1][0]) or super().copy_block()
