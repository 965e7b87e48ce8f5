"""What stands where at a size of the terminal. Pure; figures from look/LOOK.md, "Grid"."""

from __future__ import annotations

import msgspec

from ..keys import PANE_IDS

SMALLEST = (60, 15)
DRAWER = PANE_IDS[2:]


class Layout(msgspec.Struct, frozen=True):
    too_small: bool
    single: bool
    """One pane, with the row of tabs above it; else steps beside prompt and the drawer under them."""
    bars: int
    """Rows of the timeline's bars, its marks not counted."""
    lifelines: int
    ruler: bool
    steps_width: int
    drawer_height: int
    """Rows, its tabs included; 0 when single."""


def layout(width: int, height: int, alone: bool = False) -> Layout:
    """The layout at that many columns and rows; `alone`: the pane is zoomed."""
    tall = height >= 36
    bars, lifelines = (2, 3) if tall else (1, 2)
    single = width < 100 or alone
    steps = 72 + max(0, width - 150) // 3 if width >= 140 else 60 if width >= 120 else 46
    rest = height - 3 - bars - 1 - lifelines - int(tall)
    drawer = 0 if single else max(4, int(rest * 0.4))
    return Layout(width < SMALLEST[0] or height < SMALLEST[1], single, bars, lifelines, tall, steps, drawer)


def small_text(width: int, height: int) -> str:
    """One line that says what size is needed, in the words that there is room for."""
    needed, there = f"{SMALLEST[0]}x{SMALLEST[1]}", f"{width}x{height}"
    words = (f"agentmem needs {SMALLEST[0]} x {SMALLEST[1]}; this terminal is {width} x {height}",
             f"agentmem needs {needed}; this is {there}", f"needs {needed}", needed)  # fmt: skip
    return next((one for one in words if len(one) + 4 <= width), needed)
