"""Colours: two themes of our own, the roles for any other theme, and styles of cells by role.

A widget names roles only. Values of the own themes: look/LOOK.md, measured there cell by cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style
from textual.color import Color, ColorParseError
from textual.theme import Theme

if TYPE_CHECKING:
    from textual.app import App

DARK, LIGHT = "agentmem", "agentmem-light"
INKED = ("primary", "warning", "error", "state", "faint")
"""Roles that are used as a solid chip; `ink-ROLE` is the text on it."""
LEGIBLE = 4.5
"""Contrast that a text needs on its ground (WCAG 2.1, level AA)."""

_NAMES = ["background", "surface", "panel", "foreground", "label", "faint", "primary", "state", "trace", "warning",
          "error", "heat", "cursor", "goal"]  # fmt: skip
_TEXTS = ["state", "trace", "warning", "error", "primary"]
_MUTED = ["error", "warning", "primary"]


def _own(name: str, dark: bool, colours: str, texts: str, muted: str) -> Theme:
    shown = dict(zip(_NAMES, ("#" + value for value in colours.split()), strict=True))
    shown.update(zip((f"text-{role}" for role in _TEXTS), ("#" + value for value in texts.split()), strict=True))
    shown.update(zip((f"{role}-muted" for role in _MUTED), ("#" + value for value in muted.split()), strict=True))
    shown.update((f"ink-{role}", ink(Color.parse(shown[role])).hex) for role in INKED)
    shown["text-muted"] = shown["label"]
    return Theme(
        name=name, primary=shown["primary"], secondary=shown["trace"], accent=shown["primary"], dark=dark,
        warning=shown["warning"], error=shown["error"], success=shown["state"], foreground=shown["foreground"],
        background=shown["background"], surface=shown["surface"], panel=shown["panel"], variables=shown,
    )  # fmt: skip


def ink(ground: Color) -> Color:
    """Black or white, whichever contrasts more."""
    black, white = Color(0, 0, 0), Color(255, 255, 255)
    return black if contrast(black, ground) >= contrast(white, ground) else white


def contrast(one: Color, other: Color) -> float:
    """Ratio of relative luminances, 1 to 21 (WCAG 2.1)."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


THEMES = (
    _own(
        DARK, True,
        "14171c 1b1f26 232933 d6dbe3 99a3b3 39414e 7aa7f0 5fbfa9 54678c e2b15f ef6b79 9a7b48 26334a 1a2c2c",
        "7fd4c1 93a7cb ecc47f ff97a3 9dc1ff", "43232a 3d3220 253652",
    ),
    _own(
        LIGHT, False,
        "fcfcfa f2f2ee e7e7e1 22272e 5b6470 cfd0c9 2459c4 14917c 7c8db3 946200 cc2f3c b4832c d9e4f8 dcf0ea",
        "0a6a5b 4a5c82 7a5000 b01f2d 1d4ca9", "f8d9d9 f5e4c2 cfddf6",
    ),
)  # fmt: skip


def derived(theme: Theme) -> dict[str, str]:
    """Our own variables for a theme that does not define them."""
    if theme.name in (DARK, LIGHT):
        return {}
    made = theme.to_color_system().generate()

    def get(name: str, fallback: str = "#808080") -> Color:
        try:
            return Color.parse(made.get(name, fallback))
        except ColorParseError:
            return Color.parse(fallback)

    ground = get("background", "#000000" if theme.dark else "#ffffff")
    front = get("foreground", "#ffffff" if theme.dark else "#000000")
    primary, success, warning = get("primary"), get("success"), get("warning")
    shown = {
        "state": success,
        "trace": ground.blend(primary, 0.55),
        "heat": ground.blend(warning, 0.65),
        "label": ground.blend(front, 0.68),
        "faint": ground.blend(front, 0.20),
        "cursor": ground.blend(primary, 0.22),
        "goal": ground.blend(success, 0.14),
        "text-state": get("text-success"),
        "text-trace": get("text-primary"),
    }
    inks = {f"ink-{role}": ink(shown.get(role) or get(role)) for role in INKED}
    return {name: colour.hex for name, colour in {**shown, **inks}.items()}


class Palette:
    """Roles -> styles of cells, under one theme. Styles are made once."""

    def __init__(self, variables: dict[str, str]) -> None:
        self.variables = variables
        self._colours: dict[str, Color] = {}
        self._styles: dict[tuple[str, str | None, bool, bool], Style] = {}
        self._ground = Color(0, 0, 0)
        self._ground = self.colour("background")

    def colour(self, role: str) -> Color:
        """Raises nothing: an unknown role is the foreground."""
        found = self._colours.get(role)
        if found is None:
            try:
                found = Color.parse(self.variables[role])
            except (KeyError, ColorParseError):
                found = self.colour("foreground") if role != "foreground" else Color(160, 160, 160)
            if found.a < 1:
                found = self._ground + found
            self._colours[role] = found
        return found

    def style(self, role: str, fill: str | None = None, bold: bool = False, strike: bool = False) -> Style:
        key = (role, fill, bold, strike)
        style = self._styles.get(key)
        if style is None:
            ground = self.colour(fill or "background")
            front = self.colour(role)
            if (role.startswith("text-") or role in ("label", "foreground")) and contrast(front, ground) < LEGIBLE:
                front = max((self.colour("foreground"), ink(ground)), key=lambda c: contrast(c, ground) >= LEGIBLE)
            style = self._styles[key] = Style(
                color=front.rich_color, bgcolor=ground.rich_color, bold=bold or None, strike=strike or None
            )
        return style


_PALETTES: list[Palette] = []


def palette(app: App[object]) -> Palette:
    """The palette of the app's theme as it stands."""
    variables = app.theme_variables
    if not _PALETTES or _PALETTES[0].variables is not variables:
        _PALETTES[:] = [Palette(variables)]
    return _PALETTES[0]
