"""The one virtual list, and what a pane is.

`Rows` draws lines that its subclass makes on demand: only the visible ones, whatever their number. It owns its offset
(no `virtual_size`), so an append is one repaint and no layout.

A pane is a subclass of `Pane` that implements

    ident = "lost"                      # also the id of its tab and of the command that opens it
    title = "lost"

    def show(self, run, cursor, context) -> None      # bind the values, end with self.changed(...); cheap
    def line_count(self, width) -> int                # may be asked often: cache it per (values, width)
    def line(self, index, width) -> Line              # asked for visible lines only; 0 <= index < line_count

and, where it needs them, overrides

    def head(self, width) -> tuple[Line, ...]         # column headings: stay on top, never selected
    def foot(self, width) -> tuple[Line, ...]         # stays at the bottom (the goal)
    def selectable(self, index, width) -> bool        # rows where the cursor may stand; default: those with a target
    def heading(self, width) -> tuple[tuple[Span, ...], tuple[Span, ...]]   # left and right of its title row
    def wanted(self, width) -> int                    # rows for all it shows: a drawer has no more
    def badge(self) -> tuple[Span, ...]               # behind its name on the tab: `▲1`
    def selection_moved(self, index) -> None          # the reader moved the cursor (Steps posts Moved here)
    def open_target(self, target) -> bool             # Enter; True: handled here (fold), False: the screen goes there
    def texts_changed(self) -> None                   # whole texts have come: drop layout caches, self.changed()
    def under_cursor(self) -> tuple[str, int] | None  # (lane, segment id) for `r`, `o`
    def explain(self) -> tuple[str, ...]              # `i`: rule, evidence and source of the row's figures, one a line
    def back(self) -> bool                            # Esc: close what is open inside; True: there was something
    def reveal_segment(self, ident) -> bool            # the prompt pane: put the cursor on that piece
    def copy_block(self) -> str | None                # `y`: what to copy; default: the text of the row

Rules for lines: each begins with one blank cell (the cursor `▌` is drawn there), is made of safe text (`tui.safe`),
and may be shorter or longer than the width: it is padded with its fill, or cut. Widths are in cells.
`show` runs on the UI thread at every key: it must not read files nor loop over all steps; `context.index` has what is
computed once a run.
"""

from .band import Band
from .lists import Anchor, Pane, Rows
from .painting import strip_of

__all__ = ["Anchor", "Band", "Pane", "Rows", "strip_of"]
