"""The rows of the prompt pane at one step: which there are, how high each is, and each as a line. No widget.

A sheet is made at every move; what was laid out stays in `Layouts`, so that scrubbing past an open piece wraps it once.
"""

from __future__ import annotations

from bisect import bisect_right

import msgspec

from agentmem.inspect.telling.marks import goal_left
from agentmem.model import UNSIZED, Run, Segment, Step

from ...context import Context
from ..header import approx
from ..line import Line, Span, thousands
from ..panes.columns import count, step_at
from .changes import PREVIEW, View, view
from .draw import entry_line, field_note, notes_of, plain_line, segment_line, text_line
from .layout import Layout, Layouts
from .plan import Entry, Row, whole
from .seen import Seen, ghosts

LOOK_BACK = 2_000
"""Steps that are searched for where the goal went missing."""
FETCHED = 24
"""Texts that the change view asks for by itself."""


class Opening(msgspec.Struct):
    """What the reader has opened; outlives the sheets."""

    keys: set[int] = msgspec.field(default_factory=set)
    """Content keys: the same piece stays open while scrubbing."""
    unfolded: bool = False
    layouts: Layouts = msgspec.field(default_factory=Layouts)


class Sheet:
    """Rows and lines of one step. `room`: lines that the pane's body has; the fold makes the rows fit into them."""

    def __init__(self, run: Run, step: Step, context: Context, opening: Opening) -> None:
        self.run, self.step, self.context, self.opening = run, step, context, opening
        self.seen = Seen(step.prompt)
        index = context.index.lanes.get(step.lane)
        self.index = index
        self.ghosts = [] if index is None else ghosts(index, step, self.seen)
        self._held = notes_of(step.fields)
        self.rows: list[Row] = []
        self.starts: list[int] = []
        self.count = 0
        self._made_for: tuple[int, int] | None = None
        self.view: View | None = None
        self.base: Step | None = None
        if context.changes:
            self._compare()

    def _compare(self) -> None:
        base = self.context.base or self.step.parent
        self.base = None if base is None else step_at(self.run, *base)
        before = None if self.base is None else self.base.prompt
        self.view = view(self.step, before, self.ghosts, self.context.text_of, self.seen)
        wanted = [change.now.id for change in self.view.difference.of("added") if change.now is not None][:8]
        for change in self.view.difference.of("shortened"):
            wanted.extend(segment.id for segment in (change.now, change.was) if segment is not None)
        if wanted:
            self.context.request_text(*wanted[:FETCHED])

    # -- rows -------------------------------------------------------------------------------------------------------

    def make(self, width: int, room: int) -> None:
        """Lay the rows out; does nothing if they are."""
        if self._made_for == (width, room):
            return
        self._made_for = (width, room)
        if self.view is not None:
            self.rows = self.view.rows
        else:
            steps = () if self.index is None else self.index.steps
            opening = self.opening
            self.rows = whole(self.step, self.seen, self.ghosts, self.run.unknown, steps, room, opening.unfolded,
                              opening.keys)  # fmt: skip
        self.starts = []
        at = 0
        for one in self.rows:
            self.starts.append(at)
            at += self._height(one, width)
        self.count = at

    def again(self) -> None:
        """Something was opened or folded: lay out anew when asked."""
        self._made_for = None

    def _height(self, one: Row, width: int) -> int:
        previewed = isinstance(one, Entry) and one.preview
        if not self.opening.keys and not previewed:
            return 1
        segment = self.piece(one)
        if segment is None or isinstance(one, Entry) and one.sort == "was":
            return 1
        if segment.key in self.opening.keys:
            layout = self._layout(segment, width)
            return 2 if layout is None else 1 + layout.rows
        if previewed:
            layout = self._layout(segment, width)
            return 1 if layout is None or layout.rows == 1 else 1 + min(layout.rows, PREVIEW + 1)
        return 1

    def piece(self, one: Row) -> Segment | None:
        return self.seen.segment(one) if isinstance(one, int) else one.segment

    def row_at(self, index: int) -> tuple[Row, int] | None:
        """(row, line in it) at a line of the sheet."""
        if not 0 <= index < self.count:
            return None
        place = bisect_right(self.starts, index) - 1
        return self.rows[place], index - self.starts[place]

    def height_at(self, index: int, width: int) -> int:
        """Lines of the row that stands at a line of the sheet."""
        found = self.row_at(index)
        return 0 if found is None else self._height(found[0], width)

    def start_of(self, ident: int) -> int | None:
        """First line of a piece; None if the fold hides it or it does not stand here."""
        for place, one in enumerate(self.rows):
            if one == ident if isinstance(one, int) else one.segment is not None and one.segment.id == ident:
                return self.starts[place]
        return None

    def _layout(self, segment: Segment, width: int) -> Layout | None:
        text = self.context.text_of(segment.id)
        if text is None:
            head = segment.head
            if head is None:
                return None
            if segment.characters is None or segment.characters > len(head):
                self.context.request_text(segment.id)
                return None
            text = head
        return self.opening.layouts.of(segment.key, text, width - 4)

    # -- lines ------------------------------------------------------------------------------------------------------

    def line(self, index: int, width: int) -> Line:
        found = self.row_at(index)
        if found is None:
            return Line((Span(" " * width),))
        one, part = found
        segment = self.piece(one)
        if isinstance(one, Entry) and (segment is None or one.sort == "was"):
            return entry_line(one, width)
        assert segment is not None
        if part == 0:
            glyph = "" if isinstance(one, int) else one.glyph
            opened = self._opened(segment, width)
            return segment_line(segment, width, self._note(segment), glyph, opened, self._failure(segment))
        layout = self._layout(segment, width)
        if layout is None:
            note = self.context.note_of(segment.id) or ("not in this file" if segment.head is None else "")
            return plain_line(note or "reading the whole text …", width, segment, "text-warning" if note else "label")
        if segment.key not in self.opening.keys and part == PREVIEW + 1:
            return plain_line(f"{count(layout.rows - PREVIEW, 'more line')}, Enter opens", width, segment)
        return text_line(layout, part - 1, width, segment, "text-error" if segment.kind == "error" else None)

    def _opened(self, segment: Segment, width: int) -> str | None:
        if segment.key not in self.opening.keys:
            return None
        layout = self._layout(segment, width)
        size = "" if segment.characters is None else f"{segment.characters:,} characters"
        return size if layout is None else f"{count(layout.lines, 'line')}{', ' if size else ''}{size}"

    def _failure(self, segment: Segment) -> str | None:
        """The line of a failed result that says what failed, where the call that made it is known."""
        if segment.kind != "error" or segment.call_id is None or self.index is None:
            return None
        born = self.seen.born(segment.id)
        made = self.step if born is None else self.index.steps[born - 2] if 2 <= born <= len(self.index.steps) else None
        attempts = () if made is None else made.attempts
        return next((one.error for one in attempts if one.call_id == segment.call_id), None)

    def _note(self, segment: Segment) -> tuple[str, str]:
        if segment.key in self.opening.keys:
            return "Enter folds", "label"
        verified = field_note(self._held.get(segment.id))
        if verified:
            return verified, "text-state"
        if segment.kind in ("result", "error") and segment.call_id is not None and self.index is not None:
            born = self.seen.born(segment.id)
            letter = None if born is None else self.index.letters.get(born - 1)
            if born is not None and letter:
                return f"↻ {letter} @{self.index.steps[born - 2].number}", "text-warning"
        if segment.stub_of is not None:
            return self._stands_for(segment), "label"
        return "", "label"

    def _stands_for(self, segment: Segment) -> str:
        """How many pieces a stub or summary replaced, as its step tells."""
        born = self.seen.born(segment.id)
        if born is None or self.index is None or not 1 <= born <= len(self.index.steps):
            return "shortened" if segment.kind != "summary" else ""
        pieces = sum(drop.count for drop in self.index.steps[born - 1].drops if drop.stub == segment.id)
        return f"for {count(pieces, 'piece')}" if pieces > 1 else "shortened"

    # -- title and foot ---------------------------------------------------------------------------------------------

    def heading(self) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
        step = self.step
        left = [Span(f"step {step.number}")]
        if step.open:
            left.append(Span(" open", "text-primary"))
        if self.view is not None:
            against = "nothing before it" if self.base is None else str(self.base.number)
            left.append(Span(f" against {against}", "label"))
            delta = None
            if self.base is not None and step.tokens.prompt is not None and self.base.tokens.prompt is not None:
                delta = step.tokens.prompt - self.base.tokens.prompt
            return tuple(left), self.view.counts(delta)
        reported = step.usage.prompt or None if step.usage is not None else None
        counted = step.tokens.prompt
        total = counted if self.index is None else self.index.size(step.n)
        sign = approx(self.run)
        rough = sign if self.index is None else self.index.sign(step.n, self.run.counter)
        # The words around the fields of a state are segments too, as in the commands, though they have no row.
        size = "? segments" if step.unsure in UNSIZED else count(len(step.prompt), "segment")
        if counted is not None and total != counted:
            # Each segment shows what was counted; together they are not the total that the header shows.
            beside = 100 <= self.context.width < 140
            size = ("" if beside else f"{size}, ") + f"{sign}{thousands(counted)} counted"
        figure = thousands(reported) if reported is not None else "?" if total is None else rough + thousands(total)
        word = " tokens" if reported is None else " reported"
        return tuple(left), (Span(f"{size}   ", "label"), Span(figure, bold=True), Span(word, "label"))

    def goal(self) -> tuple[str | None, int | None]:
        """The goal's text and tokens: as the state holds it, else as the run knows it."""
        for held in self.step.fields:
            if held.name in ("goal", "task"):
                return held.value, held.tokens
        for ident in (*reversed(self.seen.ids[-3:]), *self.seen.ids[:8]):
            if self.seen.kind(ident) == "goal":
                return self.run.goal, self.seen.segment(ident).tokens
        return self.run.goal, None

    def missing_since(self) -> int | None:
        """Number of the step since which the goal is missing without a break; None: it is not, or too long ago."""
        if self.step.goal != "missing" or self.index is None:
            return None
        steps, first = self.index.steps, self.step
        for n in range(self.step.n - 1, max(0, self.step.n - LOOK_BACK), -1):
            if steps[n - 1].goal != "missing":
                return steps[goal_left(steps, first.n) - 1].number
            first = steps[n - 1]
        return first.number if self.step.n <= LOOK_BACK else None
