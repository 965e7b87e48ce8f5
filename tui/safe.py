"""The only door from outside text to a widget: `agentmem.safe`, wrapped for the toolkit."""

from __future__ import annotations

from rich.text import Text
from textual.content import Content

from agentmem import safe


def text(outside: str) -> str:
    """One row of outside text, safe to draw."""
    return safe.line(outside)


def content(outside: str) -> Content:
    """For Static, OptionList, tooltips and border titles: no markup is read in it."""
    return Content(safe.block(outside))


def rich_text(outside: str) -> Text:
    """For DataTable and Tree."""
    return Text(safe.block(outside))
