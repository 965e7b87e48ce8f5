"""The last row: the keys that matter most, as many as fit, from `tui.keys`. A click runs the command."""

from __future__ import annotations

from rich.cells import cell_len

from ..context import View
from ..keys import BY_ID, COMMANDS, Command
from ..messages import Do
from .line import Line, Span
from .rows import Band

_GAP = 2


def _spans(command: Command, label: str) -> tuple[Span, ...]:
    shown = "← →" if command.id == "older" else command.shown.split()[0]
    target = Do(command.id)
    return (Span(shown, "text-primary", True, target=target), Span(f" {label}", "label", target=target))


def _label(command: Command, view: View | None) -> str:
    if view is None:
        return "demo" if command.id == "open" else command.label
    if command.id == "follow":
        return "stop" if view.following else "resume"
    if command.id == "changes":
        return "whole" if view.context.changes else "diff"
    return command.label


def footer_line(view: View | None, width: int, ids: tuple[str, ...] | None = None) -> Line:
    """As many keys as fit, by rank; those on the right go last. `ids`: only these (a screen with keys of its own)."""
    chosen = [BY_ID[i] for i in ids] if ids is not None else [c for c in COMMANDS if c.footer is not None]
    ranked = sorted(chosen, key=lambda c: c.footer or 0)
    room, kept = width - 1, []
    for command in ranked:
        if command.id == "runs" and view is not None and len(view.context.runs) < 2:
            continue
        spans = _spans(command, _label(command, view))
        size = sum(cell_len(span.text) for span in spans) + _GAP
        if size > room:
            break
        room -= size
        kept.append((command, spans))
    left = [Span(" ")]
    right: list[Span] = []
    for command, spans in kept:
        side = right if command.right else left
        side += [*spans, Span(" " * _GAP)]
    return Line((*left, Span(" " * max(0, room)), *right), fill="panel")


class Footer(Band):
    fill = "panel"
    ids: tuple[str, ...] | None = None

    def lines(self, view: View, width: int) -> tuple[Line, ...]:
        return (footer_line(view, width, self.ids),)

    def blank(self, width: int) -> tuple[Line, ...]:
        return (footer_line(None, width, self.ids or ("open", "help", "quit")),)
