"""What panes are made of: one screen row as spans of text with a colour role. Pure; `rows.py` draws it.

Roles are names of theme variables (`foreground label faint primary state trace warning error heat cursor goal`
`text-state text-trace text-warning text-error text-primary` ...), so that a pane never names a colour.
Every text that comes from outside has gone through `tui.safe` before it becomes a span.
"""

from __future__ import annotations

import msgspec
from rich.cells import cell_len, set_cell_size

from agentmem.safe import cut_mark


class Span(msgspec.Struct, frozen=True):
    text: str
    role: str = "foreground"
    bold: bool = False
    strike: bool = False
    fill: str | None = None
    """Background role, where it differs from the line's."""
    target: object = None
    """In a band (header, tabs, footer): what a click on it means."""


class Line(msgspec.Struct, frozen=True):
    spans: tuple[Span, ...]
    fill: str | None = None
    """Background role of the whole row: `error-muted`, `warning-muted`, `goal`, `cursor`, `surface`."""
    target: object = None
    """What Enter or a click on it means to the pane: a step number, a segment id, a drop."""

    @property
    def plain(self) -> str:
        return "".join(span.text for span in self.spans)


def fit(text: str, width: int, *, right: bool = False) -> str:
    """`text` in exactly `width` cells: padded, or cut with `…` (never inside a wide character)."""
    if width <= 0:
        return ""
    length = cell_len(text)
    if length > width:
        return set_cell_size(cut_mark(set_cell_size(text, width - 1)), width)
    return " " * (width - length) + text if right else text + " " * (width - length)


def called(field: str) -> str:
    """What a field of the state is called on the screen: without the head of its path; the last error as the pieces
    that carry one."""
    return "failure" if field == "last_error" else field.removeprefix("facts.")


def thousands(tokens: int | None) -> str:
    """`412`, `1.8k`, `20.6k`, `1.2M`; `?` when unknown."""
    if tokens is None:
        return "?"
    size = abs(tokens)
    if size < 1000:
        return str(tokens)
    if size < 999_950:
        return f"{tokens / 1000:.1f}k"
    return f"{tokens / 1_000_000:.1f}M"
