"""Windows of models in tokens, for files that do not say theirs. Small on purpose: what is not here is unknown.

The longest prefix that ends at a dash, a colon or an at sign wins, so that a new version is unknown and not taken for
an old one. A model that has one window by default and a larger one on request stands here with the default.
"""

from __future__ import annotations

from agentmem.pattern import pattern

_CLAUDE_4 = (200_000, "support.claude.com/articles/8606395 (200K; 1M on request), November 2026")
_CLAUDE_5 = (1_000_000, "platform.claude.com, model overview of Claude Opus 5, November 2026")
_GPT_4 = (128_000, "platform.openai.com, model pages, 2025")
_O = (200_000, "platform.openai.com, model pages, 2025")
_GPT_5 = (400_000, "platform.openai.com, model pages, 2025")
_GPT_54 = (1_050_000, "vercel.com/ai-gateway/models/gpt-5.4, November 2026")
_GEMINI = (1_048_576, "ai.google.dev, model pages of Gemini 2.0 and 2.5, November 2026")

WINDOWS: dict[str, tuple[int, str]] = {
    "claude-3": _CLAUDE_4,
    "claude-opus-4": _CLAUDE_4,
    "claude-sonnet-4": _CLAUDE_4,
    "claude-haiku-4": _CLAUDE_4,
    "claude-opus-5": _CLAUDE_5,
    "claude-fable-5": _CLAUDE_5,
    "claude-sonnet-5": (1_000_000, "claude-session-parser 0.2.6, docs.rs: requests over 200K observed, November 2026"),
    "gpt-3.5-turbo": (16_385, "platform.openai.com, model pages, 2025"),
    "gpt-4": (8_192, "platform.openai.com, model pages, 2025"),
    "gpt-4-32k": (32_768, "platform.openai.com, model pages, 2025"),
    "gpt-4-turbo": _GPT_4,
    "gpt-4-0125": _GPT_4,
    "gpt-4-1106": _GPT_4,
    "gpt-4o": _GPT_4,
    "gpt-4.1": (1_047_576, "platform.openai.com, model pages, 2025"),
    "gpt-5": _GPT_5,
    "gpt-5-chat": _GPT_4,
    "gpt-5.1": _GPT_5,
    "gpt-5.1-chat": _GPT_4,
    "gpt-5.2": _GPT_5,
    "gpt-5.4": _GPT_54,
    "gpt-5.5": _GPT_54,
    "o1": _O,
    "o1-mini": _GPT_4,
    "o1-preview": _GPT_4,
    "o3": _O,
    "o4-mini": _O,
    "gemini-1.5-pro": (2_097_152, "ai.google.dev, model pages, 2025"),
    "gemini-1.5-flash": _GEMINI,
    "gemini-2.0-flash": _GEMINI,
    "gemini-2.5-pro": _GEMINI,
    "gemini-2.5-flash": _GEMINI,
}
"""Prefix of a model's name -> (tokens, source and when)."""
_NAME = pattern(r"(?:^|[./:])((?:claude|gpt|o[134]|gemini)\b[\w.:@\[\]-]*)")
_LONG = "[1m]"


def window_of(model: str | None) -> int | None:
    """Tokens of the model's window; None for a model that is not in the table. A provider in front (`anthropic/`,
    `us.anthropic.`) is passed over, and `[1m]` in a Claude model's name is taken at its word."""
    found = entry_of(model)
    return None if found is None else found[0]


def entry_of(model: str | None) -> tuple[int, str] | None:
    """(tokens, source and when) for a model."""
    place = _NAME.search((model or "").lower())
    if place is None:
        return None
    name = place.group(1)
    if name.startswith("claude") and name.endswith(_LONG):
        return 1_000_000, "the model's own name"
    fits = [key for key in WINDOWS if name == key or (name.startswith(key) and name[len(key)] in "-:@")]
    return WINDOWS[max(fits, key=len)] if fits else None
