"""Pictures of the screen as text: its rows, and under them which role of the theme each run of cells has.

A picture is compared until it is equal or a few seconds have passed, so that nothing hangs on how fast a worker is.
`pytest tests/tui --refresh-snapshots` writes them anew; what changed is then read in the diff.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from rich.color import Color as Cell
from rich.style import Style
from textual.color import Color

from tests.tui.seen import Seen

FOLDER = Path(__file__).parent / "pictures"
ROUNDS, PAUSE = 250, 0.02
PREFERRED = (
    "foreground", "label", "faint", "background", "surface", "panel", "primary", "state", "trace", "warning", "error",
    "heat", "cursor", "goal", "text-state", "text-trace", "text-warning", "text-error", "text-primary", "error-muted",
    "warning-muted", "primary-muted", "ink-primary", "ink-warning", "ink-error", "ink-state", "ink-faint",
)  # fmt: skip
"""Roles by which a colour is named, the first that has it."""


def picture(seen: Seen) -> str:
    """The screen: a row of text each, without blanks at its end, then `row: from-to role on role bold` where a run of
    cells is not plain text on the background."""
    names = _names(seen)
    strips = seen.strips
    rows = ["".join(segment.text for segment in strip).rstrip() for strip in strips]
    looks = []
    for number, strip in enumerate(strips, 1):
        runs, left = [], 0
        for segment in strip.simplify():
            look = "" if segment.style is None else _look(segment.style, names, bool(segment.text.strip()))
            if look:
                runs.append(f"{left}-{left + segment.cell_length - 1} {look}")
            left += segment.cell_length
        if runs:
            looks.append(f"{number}: {'; '.join(runs)}")
    return "\n".join([*rows, "", "-- looks --", *looks, ""])


def _names(seen: Seen) -> dict[str, str]:
    """Colour -> role. Without colour the toolkit draws all in grey: then several roles are one."""
    variables = seen.app.theme_variables
    names: dict[str, str] = {}
    for role in PREFERRED:
        if role in variables:
            colour = Color.parse(variables[role])
            names.setdefault((colour.monochrome if seen.app.no_color else colour).hex.lower(), role)
    return names


def _look(style: Style, names: dict[str, str], inked: bool) -> str:
    front = _named(style.color, names) if inked else "foreground"
    ground = _named(style.bgcolor, names)
    words = [front] if front != "foreground" else []
    words += [f"on {ground}"] if ground != "background" else []
    words += [word for word, given in (("bold", style.bold), ("struck", style.strike)) if given and inked]
    return " ".join(words)


def _named(colour: Cell | None, names: dict[str, str]) -> str:
    if colour is None:
        return "none"
    shown = Color.from_rich_color(colour).hex.lower()
    return names.get(shown, shown)


async def same_as(seen: Seen, name: str, refresh: bool) -> None:
    """Compare the screen with the picture of that name, or write it. Fails with the difference."""
    path = FOLDER / f"{name}.txt"
    if refresh:
        FOLDER.mkdir(exist_ok=True)
        path.write_text(await _settled(seen), encoding="utf-8")
        return
    assert path.is_file(), f"no picture {path.name}: pytest tests/tui --refresh-snapshots draws it"
    wanted, shown = path.read_text(encoding="utf-8"), ""
    for _ in range(ROUNDS):
        shown = picture(seen)
        if shown == wanted:
            return
        await seen.pilot.pause(PAUSE)
    changes = difflib.unified_diff(wanted.splitlines(), shown.splitlines(), path.name, "the screen", lineterm="")
    raise AssertionError("\n".join(changes))


async def _settled(seen: Seen) -> str:
    """The screen when it has not changed for a second."""
    before, quiet = "", 0
    while quiet < 50:
        await seen.pilot.pause(PAUSE)
        now = picture(seen)
        quiet = quiet + 1 if now == before else 0
        before = now
    return before
