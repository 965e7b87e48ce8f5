"""Windows of models, for files that do not say theirs: tokens of input, from the vendors' model pages.

Longest prefix wins. A model that has one window by default and a larger one on request stands here with the default.
Looked up in November 2025; a file's own figure or `--window` is better wherever there is one.
"""

from __future__ import annotations

import re

SOURCES = {
    "anthropic": "docs.claude.com, Models overview, November 2025",
    "openai": "platform.openai.com, Models, November 2025",
    "google": "ai.google.dev, Gemini models, November 2025",
    "mistral": "docs.mistral.ai, Models, November 2025",
    "deepseek": "api-docs.deepseek.com, Models & Pricing, November 2025",
    "meta": "llama.com, model cards, November 2025",
}
WINDOWS: dict[str, tuple[int, str]] = {
    "claude": (200_000, "anthropic"),
    "claude-2.0": (100_000, "anthropic"),
    "claude-instant": (100_000, "anthropic"),
    "gpt-3.5-turbo": (16_385, "openai"),
    "gpt-4": (8_192, "openai"),
    "gpt-4-32k": (32_768, "openai"),
    "gpt-4-turbo": (128_000, "openai"),
    "gpt-4o": (128_000, "openai"),
    "gpt-4.1": (1_047_576, "openai"),
    "gpt-5": (400_000, "openai"),
    "o1": (200_000, "openai"),
    "o1-mini": (128_000, "openai"),
    "o1-preview": (128_000, "openai"),
    "o3": (200_000, "openai"),
    "o4-mini": (200_000, "openai"),
    "gemini-1.5-pro": (2_097_152, "google"),
    "gemini-1.5-flash": (1_048_576, "google"),
    "gemini-2.0-flash": (1_048_576, "google"),
    "gemini-2.5": (1_048_576, "google"),
    "gemini-3": (1_048_576, "google"),
    "mistral-large": (128_000, "mistral"),
    "mistral-medium": (128_000, "mistral"),
    "codestral": (256_000, "mistral"),
    "deepseek-chat": (128_000, "deepseek"),
    "deepseek-reasoner": (128_000, "deepseek"),
    "llama-3.1": (128_000, "meta"),
    "llama-3.3": (128_000, "meta"),
}
_LONG = re.compile(r"\[1m\]|-1m\b")


def window_of(model: str | None) -> int | None:
    """Tokens of the model's window; None for a model that is not in the table. The provider before a slash or a dot
    (`anthropic/`, `us.anthropic.`) is passed over, and `[1m]` in a Claude model's name is taken at its word."""
    found = entry_of(model)
    return None if found is None else found[0]


def entry_of(model: str | None) -> tuple[int, str] | None:
    """(tokens, source with its date) for a model."""
    if not model:
        return None
    name = model.lower().rpartition("/")[2]
    place = re.search(r"(?:^|[.:])((?:claude|gpt|o[134]|gemini|mistral|codestral|deepseek|llama)[\w.:@\[\]-]*)", name)
    if place is None:
        return None
    name = place.group(1)
    if name.startswith("claude") and _LONG.search(name):
        return 1_000_000, SOURCES["anthropic"]
    fits = [key for key in WINDOWS if name == key or (name.startswith(key) and not name[len(key)].isalnum())]
    if not fits:
        return None
    tokens, vendor = WINDOWS[max(fits, key=len)]
    return tokens, SOURCES[vendor]
