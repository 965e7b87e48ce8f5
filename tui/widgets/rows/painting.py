"""Widgets of whole rows that paint again only the rows that are other than they were: scrubbing by a step changes a few
of the screen's, and what stays costs the toolkit's compositor and the terminal nothing.
"""

from __future__ import annotations

from typing import Self
from weakref import WeakKeyDictionary

from rich.cells import set_cell_size
from rich.segment import Segment as Cells
from textual.app import App
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from ...theme import Palette, palette
from ..line import Line

Drawing = tuple[Line, bool, str | None, int, Palette]
"""What makes a strip: line, cursor, fill, width, colours."""


def strip_of(line: Line, width: int, colours: Palette, cursor: bool = False, fill: str | None = None) -> Strip:
    """A line as cells, exactly `width` wide; of a longer one the end is cut, which `…` tells. `cursor`: with `▌` in its
    first cell; `fill`: under lines without one."""
    ground = line.fill or fill
    cells = [Cells(span.text, colours.style(span.role, span.fill or ground, span.bold, span.strike))
             for span in line.spans if span.text]  # fmt: skip
    strip = Strip(cells)
    if strip.cell_length > width > 0 and line.plain.rstrip() != set_cell_size(line.plain, width).rstrip():
        whole = strip.crop(0, width - 1)
        look = next((cell.style for cell in reversed(whole)), None)
        # What stands there may have been cut before, in its column.
        mark = " " if whole.text.rstrip().endswith("…") else "…"
        strip = Strip.join([whole, Strip([Cells(mark, look)])])
    if cursor:
        bar = Strip([Cells("▌", colours.style("primary", ground))])
        strip = Strip.join([bar, strip.crop(1)]) if strip.cell_length else bar
    return strip.adjust_cell_length(width, colours.style("foreground", ground))


_waiting: WeakKeyDictionary[App[object], list[Painting]] = WeakKeyDictionary()
"""What asked to be painted; one callback for all of them, since each costs the toolkit as much as a few rows."""


def _compare_all(app: App[object]) -> None:
    for widget in _waiting.pop(app, ()):
        if widget.is_attached:
            widget.compare()


class Painting(Widget):
    """A subclass gives `strip`, and calls `repaint` when what it shows may be another."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._painted: dict[int, Strip] = {}
        """By row, as painted last."""
        self._to_paint: dict[int, Strip] = {}
        """Rows that are made and wait for being painted,"""
        self._made_size = Size(0, 0)
        """at this size."""
        self._drawn_as: dict[int, tuple[Drawing, Strip]] = {}
        """By row, its last strip and what it was made of."""
        self._asked = False
        self._held: Size | None = None
        """The size while many rows are made: the toolkit works it out anew at each look."""

    @property
    def size(self) -> Size:
        return self._held or super().size

    def strip(self, y: int) -> Strip:
        """The row as it stands now, as wide as the widget."""
        raise NotImplementedError

    def drawn(self, y: int, line: Line, cursor: bool = False, fill: str | None = None) -> Strip:
        """The strip of a line; the one that was made for this row before, where nothing of it changed."""
        drawing = (line, cursor, fill, self.size.width, palette(self.app))
        held = self._drawn_as.get(y)
        if held is not None and held[0] == drawing:
            return held[1]
        strip = strip_of(line, drawing[3], drawing[4], cursor, fill)
        self._drawn_as[y] = (drawing, strip)
        return strip

    def settle(self) -> None:
        """Called before rows are made: bring what they depend on into bounds."""

    def repaint(self) -> None:
        """Paint what is other, once everything that came with it is known. From the toolkit's own thread."""
        if not self.is_attached:
            self.refresh()
            return
        if self._asked:
            return
        self._asked = True
        waiting = _waiting.setdefault(self.app, [])
        waiting.append(self)
        if len(waiting) == 1:
            self.app.call_later(_compare_all, self.app)

    def compare(self) -> None:
        """Ask the toolkit to paint the rows that are other than they were painted last."""
        self._asked = False
        size = self.size
        if not size.height or not self.display:
            self.refresh()
            return
        self._held = size
        try:
            self.settle()
            made = {y: self.strip(y) for y in range(size.height)}
        finally:
            self._held = None
        changed = {y: strip for y, strip in made.items() if self._painted.get(y) != strip}
        regions: list[Region] = []
        for y in changed:
            if regions and regions[-1].bottom == y:
                regions[-1] = regions[-1].grow((0, 0, 1, 0))
            else:
                regions.append(Region(0, y, size.width, 1))
        if regions:
            self.refresh(*regions)
            self._to_paint, self._made_size = changed, size

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        # Whatever asks for it: rows that were made before need no longer be right.
        self._to_paint = {}
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def render_line(self, y: int) -> Strip:
        strip = self._to_paint.pop(y, None)
        if strip is None or self._made_size != self.size:
            strip = self.strip(y)
        self._painted[y] = strip
        return strip
