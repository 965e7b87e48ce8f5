"""Everything between header and footer once there is a run: verdict, timeline, lifelines, tabs, panes, drawer."""

from __future__ import annotations

from collections.abc import Mapping

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from ..keys import PANE_IDS
from ..widgets.rows import Pane
from ..widgets.strip import LifelineStrip
from ..widgets.tabs import Tab, TabRow
from ..widgets.timeline import Timeline
from ..widgets.verdict import VerdictRow
from .layout import DRAWER, Layout

FEWEST = 3
"""Rows of the drawer, its tabs with them."""


class Body(Vertical):
    DEFAULT_CSS = """
    Body { height: 1fr; width: 1fr; }
    Body #upper, Body #left, Body #right, Body #drawer { height: 1fr; width: 1fr; }
    Body #right { border-left: solid $faint; }
    Body #right.-alone { border-left: none; }
    """

    def __init__(self, steps: Pane) -> None:
        super().__init__(id="body")
        self._steps = steps
        self._drawer_rows: int | None = None
        """What the pane in the drawer needs, its tabs with it; None: not measured yet."""
        self._measured: tuple[tuple[object, ...], object] | None = None
        """(pane, run, lane, size; value of the run) that it was measured for."""

    def compose(self) -> ComposeResult:
        yield VerdictRow(id="verdict")
        yield Timeline(id="timeline")
        yield LifelineStrip(id="strip")
        yield TabRow(id="tabs")
        with Horizontal(id="upper"):
            with Vertical(id="left"):
                yield TabRow(id="steps-title")
                yield self._steps
            with Vertical(id="right"):
                yield TabRow(id="prompt-title")
        with Vertical(id="drawer"):
            yield TabRow(id="drawer-tabs")

    def lay_out(self, plan: Layout, active: str, lifelines: int) -> None:
        """Heights, widths and what is shown, for a plan and the pane that has the keys. `lifelines`: how many there
        are; rows that none of them needs go to the panes."""
        timeline, strip = self.query_one(Timeline), self.query_one(LifelineStrip)
        timeline.rows, strip.rows, strip.ruler = plan.bars, min(plan.lifelines, max(1, lifelines)), plan.ruler
        timeline.styles.height = plan.bars + 1
        strip.styles.height = strip.rows + int(plan.ruler)
        upper = active not in DRAWER
        self.query_one("#tabs").display = plan.single
        self.query_one("#upper").display = upper or not plan.single
        self.query_one("#drawer").display = not upper or not plan.single
        self.query_one("#left").display = not plan.single or active == "steps"
        self.query_one("#right").display = not plan.single or active == "prompt"
        for ident in ("#steps-title", "#prompt-title", "#drawer-tabs"):
            self.query_one(ident).display = not plan.single
        self.query_one("#left").styles.width = "1fr" if plan.single else plan.steps_width
        self.query_one("#right").set_class(plan.single, "-alone")
        rows = plan.drawer_height if self._drawer_rows is None else min(self._drawer_rows, plan.drawer_height)
        self.query_one("#drawer").styles.height = "1fr" if plan.single else rows

    def fit_drawer(self, pane: Pane, place: tuple[object, ...], value: object, plan: Layout) -> None:
        """Give the drawer the rows that its pane needs, and the others to the panes above. `place`: pane, run, lane and
        size, for each of which it is measured anew; `value` of the run, with which it only grows. Going from step to
        step leaves it as it is."""
        if self._measured == (place, value):
            return
        rows = max(FEWEST, 1 + pane.wanted(self.app.size.width))
        if self._measured is not None and self._measured[0] == place and self._drawer_rows is not None:
            rows = max(rows, self._drawer_rows)
        self._measured, self._drawer_rows = (place, value), rows
        self.query_one("#drawer").styles.height = min(rows, plan.drawer_height)

    def measure_again(self) -> None:
        """The pane holds more lines now: the drawer may grow."""
        if self._measured is not None:
            self._measured = (self._measured[0], None)

    def titles(self, panes: Mapping[str, Pane], active: str, drawer: str) -> None:
        """Names, badges and headings of the panes that there are."""
        tabs = {i: Tab(i, panes[i].title, tuple(panes[i].badge())) for i in PANE_IDS if i in panes}
        self.query_one("#tabs", TabRow).set(tuple(tabs.values()), active, True)
        for ident in ("steps", "prompt"):
            if ident in tabs:
                row = self.query_one(f"#{ident}-title", TabRow)
                row.set((tabs[ident],), ident if active == ident else "", True, panes[ident].heading)
        under = tuple(tab for ident, tab in tabs.items() if ident in DRAWER)
        tail = panes[drawer].heading if drawer in panes else None
        self.query_one("#drawer-tabs", TabRow).set(under, drawer, active == drawer, tail)
