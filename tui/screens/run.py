"""The run screen: header, verdict, timeline, lifelines, panes, footer. Layout, and what comes from the worker."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical

from ..index import Index
from ..keys import PANE_IDS, bindings
from ..messages import Do, Moved, Opened, Say, ToSegment, ToStep
from ..widgets.footer import Footer
from ..widgets.header import Header
from ..widgets.rows import Band
from ..widgets.strip import LifelineStrip
from ..widgets.tabs import Tab, TabRow
from ..widgets.timeline import Timeline
from ..widgets.verdict import VerdictRow
from .layout import DRAWER, Layout, layout, small_text
from .looking import Looking
from .moving import Moving
from .notices import Notice
from .panes import make
from .taking import Taking


class RunScreen(Moving, Looking, Taking):
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]
    CSS = """
    RunScreen { background: $background; layout: vertical; overflow: hidden; }
    #upper, #left, #right, #drawer { height: 1fr; width: 1fr; }
    #right { border-left: solid $faint; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.plan: Layout = layout(80, 24)
        self._shown: Index | None = None

    def compose(self) -> ComposeResult:
        yield Header(id="header")
        yield VerdictRow(id="verdict")
        yield Timeline(id="timeline")
        yield LifelineStrip(id="strip")
        yield TabRow(id="tabs")
        yield Notice(id="notice")
        self.panes["steps"] = make("steps")
        with Horizontal(id="upper"):
            with Vertical(id="left"):
                yield TabRow(id="steps-title")
                yield self.panes["steps"]
            with Vertical(id="right"):
                yield TabRow(id="prompt-title")
        with Vertical(id="drawer"):
            yield TabRow(id="drawer-tabs")
        yield Footer(id="footer")

    def on_mount(self) -> None:
        self.bands = list(self.query(Band))
        self.lay_out()
        self.call_after_refresh(self._mount_rest)

    async def _mount_rest(self) -> None:
        """The panes that the first paint does not need."""
        for ident in PANE_IDS[1:]:
            pane = self.panes[ident] = make(ident)
            pane.display = False
            await self.query_one("#right" if ident == "prompt" else "#drawer").mount(pane)
        self.redraw()

    # -- layout -----------------------------------------------------------------------------------------------------

    @property
    def single(self) -> bool:
        return self.plan.single

    def on_resize(self, event: events.Resize) -> None:
        self.redraw()

    def lay_out(self) -> None:
        """Show what the size allows: see `layout`."""
        width, height = self.app.size
        plan = self.plan = layout(width, height, self.alone)
        notice = self.query_one(Notice)
        if plan.too_small:
            notice.say(small_text(width, height))
        elif not self.reader.ready:
            notice.nothing(self.inspector.looked, self.inspector.searched, self.trouble)
        shown = self.reader.ready and not plan.too_small
        notice.display = not shown
        for ident in ("#verdict", "#timeline", "#strip"):
            self.query_one(ident).display = shown
        for ident in ("#header", "#footer"):
            self.query_one(ident).display = not plan.too_small
        timeline, strip = self.query_one(Timeline), self.query_one(LifelineStrip)
        timeline.rows, strip.rows, strip.ruler = plan.bars, plan.lifelines, plan.ruler
        timeline.styles.height = plan.bars + 1
        strip.styles.height = plan.lifelines + int(plan.ruler)
        upper = self.active not in DRAWER
        self.query_one("#tabs").display = shown and plan.single
        self.query_one("#upper").display = shown and (upper or not plan.single)
        self.query_one("#drawer").display = shown and (not upper or not plan.single)
        self.query_one("#left").display = not plan.single or self.active == "steps"
        self.query_one("#right").display = not plan.single or self.active == "prompt"
        for ident in ("#steps-title", "#prompt-title", "#drawer-tabs"):
            self.query_one(ident).display = not plan.single
        self.query_one("#left").styles.width = "1fr" if plan.single else plan.steps_width
        self.query_one("#right").set_class(plan.single, "-alone")
        self.query_one("#right").styles.border_left = ("none", "black") if plan.single else ("solid", self._faint())
        self.query_one("#drawer").styles.height = "1fr" if plan.single else plan.drawer_height
        if self.active in DRAWER:
            self.drawer = self.active
        for ident, pane in self.panes.items():
            pane.display = ident not in DRAWER or ident == self.drawer

    def _faint(self) -> str:
        return self.app.theme_variables.get("faint", "#808080")

    def _titles(self) -> None:
        tabs = {i: Tab(i, pane.title, tuple(pane.badge())) for i, pane in self.panes.items() if i in PANE_IDS}
        ordered = tuple(tabs[i] for i in PANE_IDS if i in tabs)
        self.query_one("#tabs", TabRow).set(ordered, self.active, True)
        for ident in ("steps", "prompt"):
            row = self.query_one(f"#{ident}-title", TabRow)
            if ident in tabs:
                row.set((tabs[ident],), ident if self.active == ident else "", True, self.panes[ident].heading)
        drawer = tuple(tab for tab in ordered if tab.ident in DRAWER)
        tail = self.panes[self.drawer].heading if self.drawer in self.panes else None
        self.query_one("#drawer-tabs", TabRow).set(drawer, self.drawer, self.active == self.drawer, tail)

    def redraw(self) -> None:
        """Bind what is visible to the values as they stand; the rest when it is opened."""
        if not self.is_mounted or not hasattr(self, "bands"):
            return
        self.lay_out()
        if not self.reader.ready or self.reader.run is None:
            return
        context = self.context()
        view = self.view(context)
        for band in self.bands:
            if band.display:
                band.show(view)
        other = self._shown is not context.index
        for ident, pane in self.panes.items():
            if other or (pane.display and (not self.plan.single or ident == self.active)):
                pane.show(self.reader.run, self.reader.cursor, context)
        self._shown = context.index if len(self.panes) == len(PANE_IDS) else None
        self._titles()
        if self.is_current and self.focused is not self.pane and self.pane.display:
            self.pane.focus(scroll_visible=False)

    def activate(self, ident: str) -> None:
        if ident in self.panes:
            self.active = ident
            self.redraw()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        ident = event.widget.id or ""
        if ident in self.panes and ident != self.active:
            self.active = ident
            self.redraw()

    # -- what comes -------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Once a second: only what shows a time."""
        if self.is_current and self.reader.ready and not self.plan.too_small:
            self.query_one(Header).show(self.view(self.context()))

    def on_moved(self, message: Moved) -> None:
        message.stop()
        self.reader.go(message.cursor)
        self.redraw()

    def on_say(self, message: Say) -> None:
        message.stop()
        self.say(message.text, message.severe)

    async def on_opened(self, message: Opened) -> None:
        message.stop()
        target = message.target
        if isinstance(target, Do):
            await self.run_action("app.quit" if target.command == "quit" else target.command)
        elif isinstance(target, int):
            self.reader.go((self.reader.lane, target))
        elif isinstance(target, ToStep | ToSegment):
            self.reader.go((target.lane, target.n))
            if isinstance(target, ToSegment) or target.pane:
                self.activate("prompt" if isinstance(target, ToSegment) else target.pane or "steps")
            if isinstance(target, ToSegment):
                self.panes["prompt"].reveal_segment(target.segment)
        elif target == "demo":
            self.inspector.start_demo()
        self.redraw()
