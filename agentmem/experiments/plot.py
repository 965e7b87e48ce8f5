"""Small line charts as SVG text, drawn by hand: panels in a grid, one legend, light and dark by the reader's setting.

Series differ by colour, dash and marker, never by colour alone. Whatever text comes in is escaped.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Literal

from agentmem.pattern import pattern

Role = Literal["trace", "state"]
_NOT_XML = pattern("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

WIDTH, MARGIN, GAP = 960, 32, 28
_HEAD, _PANEL, _FOOT = 72, 248, 24
_LEFT, _TOP, _BOTTOM = 52, 40, 40
"""Room inside a panel for the figures of the y axis, its title, and the labels of the x axis."""
_STYLE = """
svg { color-scheme: light dark }
.page { fill: #fcfcfa } .grid { stroke: #e2e2dc } .axis { stroke: #8b929c } .band { fill: #f8d9d9 }
text { font: 12px ui-sans-serif, system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; fill: #5b6470 }
.title { font-size: 19px; font-weight: 600; fill: #22272e } .name { font-size: 13px; font-weight: 600; fill: #22272e }
.figure { font-variant-numeric: tabular-nums } .alarm { fill: #b01f2d; font-weight: 600 }
.line { fill: none; stroke-width: 2.25; stroke-linejoin: round; stroke-linecap: round }
.trace { stroke: #4a5c82 } .state { stroke: #14917c } .dash { stroke-dasharray: 6 5 }
.dot { stroke-width: 2 } .dot.trace { fill: #4a5c82 } .dot.state { fill: #fcfcfa }
@media (prefers-color-scheme: dark) {
.page { fill: #14171c } .grid { stroke: #2a313c } .axis { stroke: #99a3b3 } .band { fill: #43232a }
text { fill: #99a3b3 } .title, .name { fill: #d6dbe3 } .alarm { fill: #ff97a3 }
.trace { stroke: #93a7cb } .state { stroke: #5fbfa9 } .dot.trace { fill: #93a7cb } .dot.state { fill: #14171c }
}
"""


@dataclass(frozen=True, slots=True)
class Series:
    label: str
    role: Role
    points: tuple[tuple[float, float], ...]
    """(x, y) in the panel's own units, ascending in x."""


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    x_title: str
    x_labels: tuple[tuple[float, str], ...]
    """(x, text) under the axis; the first and last x are its ends."""
    series: tuple[Series, ...]
    band: tuple[float, float, str] | None = None
    """(from x, to x, text): a stretch to mark, with what it means."""
    dots: bool = True


def page(title: str, lines: Sequence[str], panels: Sequence[Panel], columns: int = 2) -> str:
    """One SVG document: title, lines under it, a legend of the first panel's series, the panels."""
    rows = -(-len(panels) // columns)
    head = _HEAD + 18 * len(lines)
    height = head + rows * _PANEL + (rows - 1) * GAP + _FOOT
    width = (WIDTH - 2 * MARGIN - (columns - 1) * GAP) / columns
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        f' role="img" aria-label="{_xml(title)}">',
        f"<title>{_xml(title)}</title><style>{_STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        f'<text class="title" x="{MARGIN}" y="40">{_xml(title)}</text>',
        *(f'<text x="{MARGIN}" y="{62 + 18 * i}">{_xml(line)}</text>' for i, line in enumerate(lines)),
        *_legend(panels[0].series),
    ]
    for i, panel in enumerate(panels):
        x = MARGIN + (i % columns) * (width + GAP)
        parts += _panel(panel, x, head + (i // columns) * (_PANEL + GAP), width)
    return "\n".join((*parts, "</svg>\n"))


def _legend(series: Sequence[Series]) -> list[str]:
    parts, x = [], float(WIDTH - MARGIN)
    for one in reversed(series):
        x -= 7 * len(one.label)
        parts.append(f'<text x="{x:.1f}" y="40">{_xml(one.label)}</text>')
        parts.append(f'<path class="{_line(one)}" d="M{x - 40:.1f} 36H{x - 8:.1f}"/>')
        parts.append(_dot(one.role, x - 24, 36))
        x -= 64
    return parts


def _panel(panel: Panel, x0: float, y0: float, width: float) -> list[str]:
    left, right = x0 + _LEFT, x0 + width - 10
    top, bottom = y0 + _TOP, y0 + _PANEL - _BOTTOM
    first, last = panel.x_labels[0][0], panel.x_labels[-1][0]
    ticks = _ticks(max((y for one in panel.series for _, y in one.points), default=0.0))

    def across(x: float) -> float:
        return (left + right) / 2 if last == first else left + (x - first) / (last - first) * (right - left)

    def up(y: float) -> float:
        return bottom - y / ticks[-1] * (bottom - top)

    parts = [f'<text class="name" x="{x0:.1f}" y="{y0 + 18:.1f}">{_xml(panel.title)}</text>']
    if panel.band is not None:
        start, end, text = panel.band
        a, b = across(start), across(end)
        parts.append(f'<rect class="band" x="{a:.1f}" y="{top:.1f}" width="{b - a:.1f}" height="{bottom - top:.1f}"/>')
        at = f'x="{b - 8:.1f}" y="{bottom - 10:.1f}"'
        parts.append(f'<text class="alarm" text-anchor="end" {at}>{_xml(text)}</text>')
    for tick in ticks:
        kind = "axis" if tick == ticks[0] else "grid"
        parts.append(f'<path class="{kind}" d="M{left:.1f} {up(tick):.1f}H{right:.1f}"/>')
        at = f'x="{left - 8:.1f}" y="{up(tick) + 4:.1f}"'
        parts.append(f'<text class="figure" text-anchor="end" {at}>{_figure(tick)}</text>')
    for x, text in panel.x_labels:
        parts.append(
            f'<text class="figure" text-anchor="middle" x="{across(x):.1f}" y="{bottom + 18:.1f}">{_xml(text)}</text>'
        )
    parts.append(
        f'<text text-anchor="middle" x="{(left + right) / 2:.1f}" y="{bottom + 36:.1f}">{_xml(panel.x_title)}</text>'
    )
    for one in panel.series:
        spots = [(across(x), up(y)) for x, y in one.points]
        if len(spots) > 1:
            parts.append(f'<path class="{_line(one)}" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in spots)}"/>')
        if panel.dots or len(spots) == 1:
            parts += [_dot(one.role, x, y) for x, y in spots]
    return parts


def _xml(text: str) -> str:
    return html.escape(_NOT_XML.sub("\ufffd", text))


def _line(series: Series) -> str:
    return f"line {series.role}" + (" dash" if series.role == "state" else "")


def _dot(role: Role, x: float, y: float) -> str:
    if role == "state":
        return f'<rect class="dot state" x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>'
    return f'<circle class="dot trace" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'


def _ticks(high: float) -> list[float]:
    """From 0 in equal round steps, two to seven figures, to `high` (0, or 0.1 or more) or just over it."""
    if high <= 0:
        return [0.0, 1.0]
    power = 10.0 ** floor(log10(high / 4))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if high / (power * m) <= 5)
    return [i * step for i in range(ceil(high / step - 1e-9) + 1)]


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.2f}".rstrip("0")
