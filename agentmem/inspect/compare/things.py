"""Things in a text that a summary must not lose: paths, numbers, identifiers, commands, and sentences told by keyword.

The expressions look at one run of characters at a time and cannot backtrack over a line; input is capped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import msgspec

from agentmem.model import Segment

LARGEST = 4_000_000
"""Characters of one side of a boundary that are looked at."""
_TOKEN = re.compile(r"[A-Za-z0-9_./:@#%+~\\-]{2,200}")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?%?")
_EXTENSION = re.compile(
    r"[\w-]{1,64}\.(?:py|js|ts|tsx|jsx|json|jsonl|md|txt|toml|yaml|yml|rs|go|java|c|h|cpp|rb|sh|sql|html"
    r"|css|csv|lock|cfg|ini|env|log|xml|db|sqlite|ipynb|proto|php|kt|swift)"
)
_CLOCK = re.compile(r"\d{4}-\d\d-\d\d\S*|\d{1,2}:\d\d(?::\d\d\S*)?")
_MUST = re.compile(
    r"\b(?:must|never|always|do not|don't|mustn't|only|required|require|forbidden|prohibited|not allowed|constraint"
    r"|at most|at least|under no circumstances|without)\b",
    re.IGNORECASE,
)
_DECIDED = re.compile(
    r"\b(?:decided|decision|chose|chosen|we(?:'ll| will) use|going with|instead of|agreed|settled on|opted)\b",
    re.IGNORECASE,
)
_COMMAND_LINE = re.compile(r"(?m)^[ \t]{0,4}\$ ([^\n]{2,300})$")
_COMMAND_NAMES = ("command", "cmd", "script")
_SAID = frozenset({"user", "goal", "system", "summary", "assistant", "note", "plan", "fact", "recall"})
_CLASSES = ("Error", "Exception", "Warning")
"""Names of exceptions are in every traceback and identify nothing."""
_SENTENCE_SHORTEST, _SENTENCE_LONGEST = 12, 400


@dataclass(slots=True, eq=False)
class Things:
    """What stands in some texts, by kind. Dictionaries keep the order; the value is 4 for what was said, 2 for what was
    called for, 1 for what only stood in a result."""

    paths: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    identifiers: dict[str, int] = field(default_factory=dict)
    commands: dict[str, int] = field(default_factory=dict)
    constraints: dict[str, int] = field(default_factory=dict)
    decisions: dict[str, int] = field(default_factory=dict)

    def take(self, text: str, kind: str, segment: Segment | None = None) -> None:
        """Add the things of one text of a piece of that kind."""
        weight = 4 if kind in _SAID else 2 if kind == "call" else 1
        for token in set(_TOKEN.findall(text)):
            self._token(token, weight)
        if kind == "call":
            self._command(text, segment)
        else:
            for match in _COMMAND_LINE.finditer(text[:LARGEST]):
                self.commands.setdefault(match.group(1).strip(), weight)
        if kind in _SAID:
            self._sentences(text)

    def _token(self, token: str, weight: int) -> None:
        token = token.strip(".,:;-/#%+~\\") if token[-1] in ".,:;-/#%+~\\" or token[0] in ".,:;-#%+~" else token
        sort = sort_of(token)
        if sort is None:
            return
        into = self.paths if sort == "paths" else self.numbers if sort == "numbers" else self.identifiers
        if weight > into.get(token, 0):
            into[token] = weight

    def _command(self, text: str, segment: Segment | None) -> None:
        arguments = text[len(segment.tool) + 1 :] if segment is not None and segment.tool is not None else text
        try:
            value = msgspec.json.decode(arguments.encode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError):
            return
        if not isinstance(value, dict):
            return
        for name in _COMMAND_NAMES:
            command = value.get(name)
            if isinstance(command, str) and 2 <= len(command.strip()) <= _SENTENCE_LONGEST:
                self.commands.setdefault(command.strip(), 2)

    def _sentences(self, text: str) -> None:
        for sentence in sentences(text):
            if _MUST.search(sentence):
                self.constraints.setdefault(sentence, 4)
            elif _DECIDED.search(sentence):
                self.decisions.setdefault(sentence, 4)


def sentences(text: str) -> list[str]:
    """Its sentences and lines of 12 to 400 characters, from the first 200,000."""
    out = []
    for part in _SENTENCE_END.split(text[:200_000]):
        cleaned = part.strip(" \t\r-*#>")
        if _SENTENCE_SHORTEST <= len(cleaned) <= _SENTENCE_LONGEST:
            out.append(cleaned)
    return out


def sort_of(token: str) -> str | None:
    """`paths`, `numbers`, `identifiers`, or None for a plain word."""
    if len(token) < 2:
        return None
    if _CLOCK.fullmatch(token):
        return None
    if _NUMBER.fullmatch(token):
        return "numbers" if sum(c.isdigit() for c in token) >= 2 else None
    if ("/" in token or "\\" in token) and "://" not in token:
        return "paths" if len(token) >= 4 and any(c.isalpha() for c in token) else None
    if _EXTENSION.fullmatch(token):
        return "paths"
    if "://" in token:
        return "identifiers"
    digits = any(c.isdigit() for c in token)
    letters = any(c.isalpha() for c in token)
    if digits and letters:
        return "identifiers" if len(token) >= 3 else None
    if digits:
        return "identifiers" if len(token) >= 4 else None
    if "_" in token.strip("_") and len(token) >= 5:
        return "identifiers"
    if token.endswith(_CLASSES):
        return None
    if len(token) >= 6 and token.isalpha() and not token.isupper() and not token.istitle() and any(
        c.isupper() for c in token[1:]
    ):
        return "identifiers"
    return None
