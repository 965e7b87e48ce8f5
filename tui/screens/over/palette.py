"""The command palette: our commands first, in the order of the help screen, then the useful ones of the toolkit."""

from __future__ import annotations

from textual.command import DiscoveryHit, Hit, Hits, Provider

KEPT = ("Theme", "Screenshot", "Quit")
"""Commands of the toolkit that stay; its panel of keys and its maximising are ours by other names."""
TOLD = 0.5
"""A match in the sentence that says what a command does counts for so much of one in its name."""


class PaletteCommands(Provider):
    """What the app gives, in its order: the toolkit's own provider would sort capitals, its own, to the top."""

    async def discover(self) -> Hits:
        for name, told, run, shown in self.app.get_system_commands(self.screen):
            if shown:
                yield DiscoveryHit(name, run, help=told)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, told, run, _ in self.app.get_system_commands(self.screen):
            score = matcher.match(name) or TOLD * matcher.match(told)
            if score > 0:
                yield Hit(score, matcher.highlight(name), run, help=told)
