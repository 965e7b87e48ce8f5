"""The run screen: header, verdict, timeline, lifelines, panes, footer. Layout, and what comes from the worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from ..keys import PANE_IDS, bindings
from ..messages import Do, Grown, Moved, Opened, Say, ToSegment, ToStep
from ..widgets.footer import Footer
from ..widgets.header import Header
from ..widgets.rows import Band
from ..widgets.strip import available
from .layout import DRAWER, Layout, layout, small_text
from .looking import Looking
from .moving import Moving
from .notices import Notice
from .panes import make
from .taking import Taking

if TYPE_CHECKING:
    from ..index import Index
    from .body import Body


class RunScreen(Moving, Looking, Taking):
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]
    CSS = "RunScreen { background: $background; layout: vertical; overflow: hidden; }"

    def __init__(self) -> None:
        super().__init__()
        self.plan: Layout = layout(80, 24)
        self.body: Body | None = None
        self._shown: Index | None = None
        self._wanted = ""
        """Pane that was asked for before it was there."""

    def compose(self) -> ComposeResult:
        """What the first paint needs; the rest is mounted after it."""
        yield Header(id="header")
        yield Notice(id="notice")
        yield Footer(id="footer")

    def on_mount(self) -> None:
        self.lay_out()
        self.call_after_refresh(self._mount_rest)

    async def _mount_rest(self) -> None:
        from .body import Body

        self.panes["steps"] = make("steps")
        body = Body(self.panes["steps"])
        await self.mount(body, before="#footer")
        self.body = body
        self.redraw()

    async def _mount_panes(self) -> None:
        """The panes beside the steps: 60 ms, which the first content need not wait for."""
        body = self.body
        if body is None or len(self.panes) > 1:
            return
        for ident in PANE_IDS[1:]:
            pane = self.panes[ident] = make(ident)
            pane.display = False
            await body.query_one("#right" if ident == "prompt" else "#drawer").mount(pane)
        self.activate(self._wanted or self.active)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Until the first pane stands there is nothing that most commands could speak of."""
        return bool(self.panes) or action in ("help", "suspend", "app.quit", "quit")

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
        elif self.reader.run is not None and not self.reader.ready:
            notice.bare(self.reader.run, self.trouble, len(self.ring) - 1)
        elif not self.reader.ready:
            notice.nothing(self.inspector.looked, self.inspector.searched, self.trouble)
        shown = self.body is not None and self.reader.ready and not plan.too_small
        notice.display = not shown
        for ident in ("#header", "#footer"):
            self.query_one(ident).display = not plan.too_small
        if self.active in DRAWER:
            self.drawer = self.active
        if self.body is not None:
            self.body.display = shown
            given = available(self.reader.lane, self.reader.index, self.context()) if self.reader.index else ()
            self.body.lay_out(plan, self.active, len(given))
        for ident, pane in self.panes.items():
            pane.display = ident not in DRAWER or ident == self.drawer

    def redraw(self) -> None:
        """Bind what is visible to the values as they stand; the rest when it is opened."""
        if not self.is_mounted:
            return
        self.lay_out()
        if self.body is None or not self.reader.ready or self.reader.run is None:
            self.query_one(Header).show(None)
            footer = self.query_one(Footer)
            others = ("runs",) if len(self.ring) > 1 else ()
            footer.ids = None if self.reader.run is None else (*others, "help", "quit")
            footer.show(None)
            return
        self.query_one(Footer).ids = None
        context = self.context()
        view = self.view(context)
        for band in self.query(Band):
            band.show(view)
        other = self._shown is not context.index
        for ident, pane in self.panes.items():
            if other or (pane.display and (not self.plan.single or ident == self.active)):
                pane.show(self.reader.run, self.reader.cursor, context)
        self._shown = context.index if len(self.panes) == len(PANE_IDS) else None
        if len(self.panes) == 1:
            self.call_after_refresh(self._mount_panes)
        if not self.plan.single and self.drawer in self.panes:
            run = self.reader.run
            place = (self.drawer, run.id, run.path, self.reader.lane, self.app.size)
            self.body.fit_drawer(self.panes[self.drawer], place, run, self.plan)
        self.body.titles(self.panes, self.active, self.drawer)
        if self.is_current and self.focused is not self.pane and self.pane.display:
            self.pane.focus(scroll_visible=False)

    def activate(self, ident: str) -> None:
        if ident in self.panes:
            self.active = ident
            self.redraw()
        else:
            self._wanted = ident

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

    def on_grown(self, message: Grown) -> None:
        message.stop()
        if self.body is not None:
            self.body.measure_again()
            self.redraw()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self.hush()

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
            self.say(self.reader.visit((target.lane, target.n)))
            if isinstance(target, ToSegment) or target.pane:
                self.activate("prompt" if isinstance(target, ToSegment) else target.pane or "steps")
            if isinstance(target, ToSegment):
                self.panes["prompt"].reveal_segment(target.segment)
        elif target == "demo":
            self.inspector.start_demo()
        self.redraw()
