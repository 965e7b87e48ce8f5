"""Rows of tabs and titles: numbers, names, badges; the open one filled, solid where the focus is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from rich.cells import cell_len

from ..context import View
from ..keys import PANE_IDS
from ..messages import Do
from .line import Line, Span
from .rows import Band

Tail = Callable[[int], tuple[tuple[Span, ...], tuple[Span, ...]]]
"""Width -> spans behind the name, spans at the right end."""


class Tab(msgspec.Struct, frozen=True):
    ident: str
    title: str
    badge: tuple[Span, ...] = ()

    @property
    def number(self) -> int:
        return PANE_IDS.index(self.ident) + 1


def tab_spans(tab: Tab, active: bool, focused: bool) -> list[Span]:
    """` 3 lost ▲1 `: solid where the focus is, tinted where it is only open."""
    target = Do(f"pane_{tab.ident}")
    if not active:
        spans = [Span(f" {tab.number} ", "label", target=target), Span(tab.title, target=target)]
    else:
        fill, role = ("primary", "ink-primary") if focused else ("primary-muted", "text-primary")
        spans = [Span(f" {tab.number} ", role, fill=fill, target=target),
                 Span(tab.title, role, True, fill=fill, target=target)]  # fmt: skip
    fill_role = spans[-1].fill
    for part in tab.badge:
        role = "ink-primary" if active and focused else part.role
        spans.append(Span(f" {part.text.strip()}", role, part.bold, fill=fill_role, target=target))
    spans.append(Span(" ", fill=fill_role, target=target))
    return spans


def tabs_line(
    tabs: Sequence[Tab], active: str, focused: bool, width: int,
    tail: tuple[tuple[Span, ...], tuple[Span, ...]] = ((), ()),
) -> Line:  # fmt: skip
    """All tabs that fit, and behind them what the open pane says of itself (left and right)."""
    spans: list[Span] = []
    for tab in tabs:
        spans += tab_spans(tab, tab.ident == active, focused)
    left, right = (Span("  "), *tail[0]) if tail[0] else (), tail[1]
    used = sum(cell_len(span.text) for span in spans)
    rest = sum(cell_len(span.text) for span in (*left, *right)) + 1
    if used + rest > width:
        left, rest = (), sum(cell_len(span.text) for span in right) + 1
    if used + rest > width:
        right, rest = (), 1
    spans += left
    room = width - used - rest
    return Line((*spans, Span(" " * max(0, room)), *right, Span(" ")), fill="surface")


class TabRow(Band):
    """Titles of one or more panes, of which one is open."""

    fill = "surface"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.tabs: tuple[Tab, ...] = ()
        self.active = ""
        self.focused_now = False
        self.tail: Tail | None = None

    def set(self, tabs: tuple[Tab, ...], active: str, focused: bool, tail: Tail | None = None) -> None:
        """`tail`: what the open pane says of itself at a width."""
        self.tabs, self.active, self.focused_now, self.tail = tabs, active, focused, tail
        self._made = None
        self.repaint()

    def lines(self, view: View, width: int) -> tuple[Line, ...]:
        return self.blank(width)

    def blank(self, width: int) -> tuple[Line, ...]:
        tail = ((), ()) if self.tail is None else self.tail(width)
        return (tabs_line(self.tabs, self.active, self.focused_now, width, tail),)
