"""Every role is legible in every theme; without colour a glyph and a word remain."""

from __future__ import annotations

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from tests.tui.builders import story
from tests.tui.seen import inspecting
from tui.theme import INKED, LEGIBLE, THEMES, Palette, contrast, derived

GROUNDS = (None, "panel", "surface", "cursor", "goal", "error-muted", "warning-muted", "primary-muted")
TEXTS = ("foreground", "label", "text-state", "text-trace", "text-warning", "text-error", "text-primary")
ALL = {theme.name: theme for theme in (*THEMES, *BUILTIN_THEMES.values()) if not theme.ansi}


def palette_of(name: str) -> Palette:
    theme = ALL[name]
    return Palette({**derived(theme), **theme.to_color_system().generate(), **theme.variables})


def shown(palette: Palette, role: str, ground: str | None) -> float:
    style = palette.style(role, ground)
    assert style.color is not None and style.bgcolor is not None
    return contrast(Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor))


@pytest.mark.parametrize("name", ALL)
def test_every_text_is_legible_on_every_ground(name: str) -> None:
    palette = palette_of(name)
    weak = [(r, g, round(shown(palette, r, g), 1)) for r in TEXTS for g in GROUNDS if shown(palette, r, g) < LEGIBLE]
    assert not weak


@pytest.mark.parametrize("name", ALL)
def test_ink_on_a_solid_chip_is_legible(name: str) -> None:
    palette = palette_of(name)
    assert all(shown(palette, f"ink-{role}", role) >= LEGIBLE for role in INKED)


@pytest.mark.parametrize("name", [theme.name for theme in THEMES])
def test_bars_of_our_own_themes_stand_out(name: str) -> None:
    palette = palette_of(name)
    assert all(shown(palette, role, None) >= 3.0 for role in ("primary", "state", "trace", "heat"))


async def test_without_colour_every_state_has_a_glyph_or_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """You should see the same words and glyphs in grey."""
    async with inspecting(story()) as coloured:
        words = coloured.text
    monkeypatch.setenv("NO_COLOR", "1")
    async with inspecting(story()) as grey:
        assert grey.text == words
        for glyph in ("●", "▲", "↻", "✗", "z", "▼", "✓"):
            assert glyph in words
        styles = {s.style.color for strip in grey.app.screen._compositor.render_strips() for s in strip if s.style}
        tones = {c.triplet for c in styles if c is not None and c.triplet is not None}
        assert all(max(t) - min(t) <= 12 for t in tones)


async def test_the_light_theme_and_the_toolkits_own_can_be_chosen() -> None:
    """You should see the same screen under each."""
    async with inspecting(story(), light=True) as seen:
        for name in ("agentmem", "nord", "textual-light"):
            seen.app.theme = name
            await seen.pilot.pause()
            assert "● LIVE" in seen.header
