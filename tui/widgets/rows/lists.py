"""A virtual list of lines with a cursor, and a pane: such a list of one aspect of (run, cursor)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from textual import events
from textual.geometry import Region
from textual.strip import Strip

from ...context import Context
from ...messages import Grown, Opened
from ...theme import Palette, palette
from ..line import Line, Span
from .painting import Painting, strip_of

if TYPE_CHECKING:
    from agentmem.model import Cursor, Run

Anchor = Literal["keep", "end", "start"]
WHEEL_LINES = 3
SEEN = 3
"""Lines of what was opened that are seen at least."""


class Rows(Painting, can_focus=True):
    """A virtual list of lines with a cursor. See the module for what a subclass gives."""

    DEFAULT_CSS = "Rows { height: 1fr; width: 1fr; }"

    always_cursor: ClassVar[bool] = False
    """Show the cursor's row when another pane has the focus too."""
    wrap_selection: ClassVar[bool] = False
    lasting: ClassVar[bool] = False
    """Lines other than the selected one stay as they are until the subclass clears `strips`: they are drawn once."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.top = 0
        """Index of the first visible line."""
        self.selected: int | None = None
        """Index of the line under the cursor."""
        self.strips: dict[int, Strip] = {}
        """Lines as they were drawn, where they last."""
        self._strips_of: tuple[int, Palette] | None = None
        self._anchor: Anchor | None = "start"
        self._follow = False
        self._reveal = False
        self._in_view = False
        """The row of the cursor was in view when the rows were drawn last: a pane of another size shows it too."""
        self._rowless: tuple[int, int] | None = None
        """(width, lines) at which no row could take the cursor: looked for again when there are others."""
        self._unfolded: tuple[int, int, int] | None = None
        """Of the row that was opened last: its line, the first line of what it holds, and the line behind that."""
        self._show_unfolded = False
        self._fixed: tuple[tuple[int, int], tuple[Line, ...], tuple[Line, ...]] | None = None

    # -- what a subclass gives --------------------------------------------------------------------------------------

    def line_count(self, width: int) -> int:
        raise NotImplementedError

    def line(self, index: int, width: int) -> Line:
        raise NotImplementedError

    def head(self, width: int) -> tuple[Line, ...]:
        return ()

    def foot(self, width: int) -> tuple[Line, ...]:
        return ()

    def selectable(self, index: int, width: int) -> bool:
        return self.line(index, width).target is not None

    def selection_moved(self, index: int) -> None:
        """The reader moved the cursor to `index`."""

    def open_target(self, target: object) -> bool:
        return False

    @property
    def name_for_messages(self) -> str:
        return self.id or ""

    # -- state ------------------------------------------------------------------------------------------------------

    def changed(self, anchor: Anchor = "keep", selected: int | None = None) -> None:
        """The lines are others now: repaint. `anchor`: `keep` the offset (or stay at the end if it was there), go to
        the `end` or the `start`; the cursor follows unless `selected` says where it stands."""
        self._fixed = None
        if anchor != "keep":
            self._anchor, self._unfolded = anchor, None
            self.selected = selected
        elif selected is not None:
            self.selected = selected
        self._reveal = self._reveal or selected is not None
        self.repaint()

    def unfold(self, start: int, first: int, end: int) -> None:
        """The reader opened the row at line `start`: what it holds, lines `first` to before `end`, comes into view, and
        the row with it as far as there is room."""
        self._unfolded, self._show_unfolded, self._follow = (start, first, end), True, False
        self.changed(selected=start)
        self.post_message(Grown())

    @property
    def body_height(self) -> int:
        """Rows left for lines between head and foot."""
        width = self.size.width
        head, foot = self._bands(width)
        return max(0, self.size.height - len(head) - len(foot))

    def _bands(self, width: int) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
        at = (width, self.size.height)
        if self._fixed is None or self._fixed[0] != at:
            self._fixed = (at, self.head(width), self.foot(width))
        return self._fixed[1], self._fixed[2]

    def _settle(self, width: int) -> int:
        """Bring offset and cursor into bounds; returns the number of lines."""
        count = self.line_count(width)
        last = max(0, count - self.body_height)
        if self._anchor == "end" or (self._anchor is None and self._follow):
            self.top = last
            self._follow = True
        elif self._anchor == "start":
            self.top = 0
        if self._anchor is not None and self.selected is None and count:
            self.selected = self._nearest(count - 1 if self._anchor == "end" else 0, width, count)
        elif self.selected is None and count and self.size.height and self._rowless != (width, count):
            # What was shown first had no row for the cursor (nothing was lost yet): what came since may have one.
            self.selected = self._nearest(self.top, width, count)
            self._reveal = self._reveal or self.selected is not None
        self._rowless = (width, count) if self.selected is None else None
        if self.size.height:
            self._anchor = None
            if self._reveal and self.selected is not None:
                self.reveal(self.selected)
                self._reveal = False
            if self._show_unfolded and self._unfolded is not None:
                self._bring(*self._unfolded)
            self._show_unfolded = False
        self.top = min(max(0, self.top), last)
        self._follow = self._follow and self.top == last
        if self.selected is not None and self.selected >= count:
            self.selected = self._nearest(count - 1, width, count) if count else None
        at = self.selected
        self._in_view = at is not None and self.top <= at < self.top + self.body_height
        return count

    def _nearest(self, index: int, width: int, count: int) -> int | None:
        """The selectable line nearest to `index` within a screen's reach."""
        for distance in range(0, max(50, self.size.height)):
            for candidate in (index - distance, index + distance):
                if 0 <= candidate < count and self.selectable(candidate, width):
                    return candidate
        return None

    def _bring(self, start: int, first: int, end: int) -> None:
        """Scroll down as far as shows all that was opened, its row with it; else as much of it as there is room for,
        of a row that fills the pane by itself the first lines of what it holds."""
        height = self.body_height
        self.top = max(self.top, min(start, end - height), min(end, first + SEEN) - height)

    def reveal(self, index: int) -> None:
        """Bring the line into view: scroll by a row or two where that is enough, else put it in the middle."""
        height = self.body_height
        if height <= 0:
            return
        if not self.top - 2 <= index < self.top + height + 2:
            self.top = max(0, index - height // 2)
        if index < self.top:
            self.top = index
        elif index >= self.top + height:
            self.top = index - height + 1

    # -- moving -----------------------------------------------------------------------------------------------------

    def move(self, by: int) -> None:
        """Move the cursor by that many selectable rows; where there are none, scroll."""
        width = self.size.width
        count = self._settle(width)
        step = 1 if by > 0 else -1
        place, found, left = self.selected, self.selected, abs(by)
        if place is None:
            self.scroll_by(by)
            return
        while left and 0 <= place + step < count and abs(place + step - (found or 0)) < 500:
            place += step
            if self.selectable(place, width):
                found, left = place, left - 1
        if found is not None and found != self.selected:
            self.select(found)
        elif left:
            self.scroll_by(step)

    def select(self, index: int) -> None:
        """Put the cursor on a row because the reader asked."""
        self._unfolded = None
        self.selected = index
        self._follow = False
        self.reveal(index)
        self.repaint()
        self.selection_moved(index)

    def scroll_by(self, lines: int) -> None:
        """Move the view only."""
        width = self.size.width
        count = self._settle(width)
        last = max(0, count - self.body_height)
        self._unfolded = None
        self.top = min(max(0, self.top + lines), last)
        self._follow = self.top == last and lines > 0
        self.repaint()

    def page(self, pages: int) -> None:
        self.move(pages * max(1, self.body_height - 1))

    def open_selected(self) -> None:
        """Enter: hand the row's target to the pane, else to the screen."""
        width = self.size.width
        count = self._settle(width)
        if self.selected is None or not 0 <= self.selected < count:
            return
        target = self.line(self.selected, width).target
        if target is not None and not self.open_target(target):
            self.post_message(Opened(target, self.name_for_messages))

    def on_resize(self) -> None:
        self._fixed = None
        looked_at = self._in_view or self.has_focus or self.always_cursor
        self._reveal = self._reveal or (self.selected is not None and looked_at)
        self._show_unfolded = True
        if self._reveal and (self.has_focus or self.always_cursor):
            # The rows may have been drawn at this size before it was told: nothing else would bring the cursor back.
            self.repaint()

    # -- mouse ------------------------------------------------------------------------------------------------------

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_by(WHEEL_LINES)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_by(-WHEEL_LINES)

    def on_click(self, event: events.Click) -> None:
        width = self.size.width
        head, _ = self._bands(width)
        count = self._settle(width)
        row = event.y - len(head)
        index = self.top + row
        if not 0 <= row < self.body_height or index >= count or not self.selectable(index, width):
            return
        if index == self.selected:
            self.open_selected()
        else:
            self.select(index)

    # -- drawing ----------------------------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        self._settle(self.size.width)
        return super().render_lines(crop)

    def settle(self) -> None:
        self._settle(self.size.width)

    def strip(self, y: int) -> Strip:
        width, height = self.size
        head, foot = self._bands(width)
        if y < len(head):
            return self.drawn(y, head[y])
        if y >= height - len(foot):
            return self.drawn(y, foot[y - height + len(foot)])
        index = self.top + y - len(head)
        if index >= self.line_count(width):
            return self.drawn(y, Line(()))
        cursor = index == self.selected and (self.has_focus or self.always_cursor)
        if not self.lasting or index == self.selected:
            return self.drawn(y, self.line(index, width), cursor, "cursor" if cursor else None)
        colours = palette(self.app)
        if self._strips_of != (width, colours):
            self._strips_of = (width, colours)
            self.strips.clear()
        strip = self.strips.get(index)
        if strip is None:
            strip = self.strips[index] = strip_of(self.line(index, width), width, colours)
        return strip

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.refresh()


class Pane(Rows):
    """A list that shows one aspect of (run, cursor)."""

    ident: ClassVar[str] = ""
    title: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__(id=self.ident)

    def show(self, run: Run, cursor: Cursor, context: Context) -> None:
        raise NotImplementedError

    def heading(self, width: int) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
        """What stands on the pane's title row, left (behind the name) and right; below 100 columns, where tabs take
        the titles' place, a pane that wants it shows it in its `head` (`context.width`)."""
        return (), ()

    def wanted(self, width: int) -> int:
        """Rows that all it shows would take at a width."""
        return len(self.head(width)) + self.line_count(width) + len(self.foot(width))

    def badge(self) -> tuple[Span, ...]:
        return ()

    def texts_changed(self) -> None:
        """Whole texts have come."""
        self.changed()

    def under_cursor(self) -> tuple[str, int] | None:
        return None

    def explain(self) -> tuple[str, ...]:
        return ()

    def back(self) -> bool:
        """Esc: close what is open inside the pane. True: there was something to close."""
        return False

    def reveal_segment(self, ident: int) -> bool:
        """Put the cursor on that piece if it is shown here (the prompt pane)."""
        return False

    def copy_block(self) -> str | None:
        width = self.size.width
        if self.selected is None or self.selected >= self.line_count(width):
            return None
        return self.line(self.selected, width).plain.strip()
