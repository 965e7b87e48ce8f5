"""Things in a text that a summary must not lose: paths, numbers, identifiers, commands, and sentences told by keyword.

The expressions look at one run of characters at a time and cannot backtrack over a line; input is capped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from agentmem.model import Segment
from agentmem.pattern import pattern

LARGEST = 4_000_000
"""Characters of one side of a boundary that are looked at."""
_TOKEN = pattern(r"[A-Za-z0-9_./:@#%+~\\-]{2,200}")
_ESCAPE = pattern(r"\x1b\[[0-9;?]{0,30}[A-Za-z]")
"""What a terminal was told; its letters join the word behind it."""
_SENTENCE_END = pattern(r"[.!?](?=\s)|\n")
_NUMBER = pattern(r"[+-]?\d+(?:\.\d+)?%?")
_EXTENSION = pattern(
    r"[\w-]{1,64}\.(?:py|js|ts|tsx|jsx|json|jsonl|md|txt|toml|yaml|yml|rs|go|java|c|h|cpp|rb|sh|sql|html"
    r"|css|csv|lock|cfg|ini|env|log|xml|db|sqlite|ipynb|proto|php|kt|swift)"
)
_CLOCK = pattern(r"\d{4}-\d\d-\d\d\S*|\d{1,2}:\d\d(?::\d\d\S*)?")
_MUST = pattern(
    r"\b(?:must|never|always|do not|don't|mustn't|only|required|require|forbidden|prohibited|not allowed|constraint"
    r"|at most|at least|under no circumstances|without)\b",
    re.IGNORECASE,
)
_DECIDED = pattern(
    r"\b(?:decided|decision|chose|chosen|we(?:'ll| will) use|going with|instead of|agreed|settled on|opted)\b",
    re.IGNORECASE,
)
_COMMAND_LINE = pattern(r"(?m)^[ \t]{0,4}\$ ([^\n]{2,300})$")
_COMMAND_NAMES = ("command", "cmd", "script")
_WEIGHTS = {
    "user": 5, "goal": 5, "system": 5, "note": 5, "plan": 5, "fact": 5, "recall": 5, "summary": 4, "assistant": 4,
    "call": 2, "thinking": 2,
}  # fmt: skip
"""By the kind of the piece: what a person or the state said, what the model said, what was called for. A result: 1."""
_SAID = 4
_HELD = frozenset({"user", "goal", "fact"})
"""Kinds in which a number of two digits counts; elsewhere it is a line number, a size, a share."""
_CLASSES = ("Error", "Exception", "Warning")
"""Names of exceptions are in every traceback and identify nothing."""
_SENTENCE_SHORTEST, _SENTENCE_LONGEST = 12, 400
_LONG_ANSWER = 1_500
_LONG_VALUE = 400
_LISTED_LINES = 4
_LISTED_SHARE = 0.4
_LISTED = pattern(
    r"[ \t]{0,12}\d{1,6}(?:[\t:|\u2192]|  )|[^\s:]{1,200}:\d{1,6}:|[-dl][rwx-]{9}|[+-]{3} |@@ "
    r"|[ \t]{0,40}(?:def|class|import|from"
    r"|return|if|for|while|const|let|var|func|fn|pub|use|#include|package|public|private|}|\)|//|/\*|#)(?![\w])"
    r"|.{0,300}[{};]\s*$"
)
_FENCE = pattern(r"(?ms)^[ \t]{0,8}```.*?(?:^[ \t]{0,8}```|\Z)")
_FENCED_LINES = 6
_SPANS = frozenset({
    "offset", "limit", "timeout", "head_limit", "line", "start_line", "end_line", "view_range", "max_tokens",
})  # fmt: skip
"""Arguments that say how much, not what."""
_FOLDERS = frozenset({
    "src", "lib", "libs", "test", "tests", "docs", "doc", "app", "apps", "core", "bin", "scripts", "packages", "pkg",
    "cmd", "internal", "tools", "config", "data", "assets", "public", "server", "client", "api", "runs", "build",
    "dist", "tmp", "etc", "var", "usr", "home", "opt", "root", "mnt", "srv", "examples", "samples", "fixtures",
    "benchmarks", "include", "modules", "components", "pages", "utils", "models", "spec", "vendor", "node_modules",
    "ci", "infra", "deploy",
})  # fmt: skip
"""First parts of a short path; `and/or` and `/login` are none."""
_AMOUNT = pattern(r"[+-]?\d[\d.,]*(?:[A-Za-z%]{1,2}|min|sec|px|pt|rem|[KMG]i?B)")
_SPOT = pattern(r"(\.\w{1,8})(?::\d.*|:[^/\\]*)$")


def plain(text: str) -> str:
    """Without the escape sequences of a terminal."""
    return _ESCAPE.sub(" ", text) if "\x1b" in text else text


def merely_read(kind: str, characters: int | None) -> bool:
    """Whether a piece of that kind and length is told by its length alone to have been read, not said."""
    return kind not in _WEIGHTS and characters is not None and characters > _LONG_ANSWER


def is_listing(text: str) -> bool:
    """Whether a result is a file, code or a listing that was merely read: long, or most lines look like it."""
    if len(text) > _LONG_ANSWER:
        return True
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < _LISTED_LINES:
        return False
    return sum(_LISTED.match(line) is not None for line in lines) >= _LISTED_SHARE * len(lines)


class Things(msgspec.Struct, eq=False):
    """What stands in some texts, by kind. Dictionaries keep the order; the value is what the thing weighs: the weight
    of the piece that names it best, times SCALE, and how many pieces name it.

    What only stands in a file, a listing or a long result is not counted: its text is in `read`.
    """

    paths: dict[str, int] = msgspec.field(default_factory=dict)
    numbers: dict[str, int] = msgspec.field(default_factory=dict)
    identifiers: dict[str, int] = msgspec.field(default_factory=dict)
    commands: dict[str, int] = msgspec.field(default_factory=dict)
    constraints: dict[str, int] = msgspec.field(default_factory=dict)
    decisions: dict[str, int] = msgspec.field(default_factory=dict)
    read: list[str] = msgspec.field(default_factory=list)

    def take(self, text: str, kind: str, segment: Segment | None = None) -> None:
        """Add the things of one text of a piece of that kind."""
        weight = _WEIGHTS.get(kind, 1)
        text = plain(text)
        if kind == "call":
            self._call(text, segment)
            return
        if weight == 1 and is_listing(text):
            self.read.append(text)
            return
        if weight >= _SAID and "```" in text:
            text = _FENCE.sub(self._fenced, text)
        self._tokens(text, weight, 2 if kind in _HELD else 3)
        for match in _COMMAND_LINE.finditer(text[:LARGEST]):
            _weigh(self.commands, match.group(1).strip(), weight)
        if weight >= _SAID:
            self._sentences(text, weight)

    def _tokens(self, text: str, weight: int, digits: int) -> None:
        """`digits`: so many a number must have to count."""
        for token in dict.fromkeys(map(trimmed, dict.fromkeys(_TOKEN.findall(text)))):
            sort = sort_of(token)
            if sort is None or (sort == "numbers" and sum(map(str.isdigit, token)) < digits):
                continue
            _weigh(self.paths if sort == "paths" else self.numbers if sort == "numbers" else self.identifiers,
                   spotless(token) if sort == "paths" else token, weight)  # fmt: skip

    def _fenced(self, match: re.Match[str]) -> str:
        block = match.group()
        if block.count("\n") < _FENCED_LINES:
            return block
        self.read.append(block)
        return "\n"

    def _call(self, text: str, segment: Segment | None) -> None:
        """Of a call its arguments: a long text or code in them was written, not named."""
        weight = _WEIGHTS["call"]
        arguments = text[len(segment.tool) + 1 :] if segment is not None and segment.tool is not None else text
        try:
            value = msgspec.json.decode(arguments.encode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError):
            value = arguments
        if isinstance(value, dict):
            for name in _COMMAND_NAMES:
                command = value.get(name)
                if isinstance(command, str) and 2 <= len(command.strip()) <= _SENTENCE_LONGEST:
                    _weigh(self.commands, command.strip(), weight)
        for item in _leaves(value):
            if len(item) > _LONG_VALUE or is_listing(item):
                self.read.append(item)
            else:
                self._tokens(item, weight, 4)

    def _sentences(self, text: str, weight: int) -> None:
        for sentence in sentences(text):
            if _MUST.search(sentence):
                _weigh(self.constraints, sentence, weight)
            elif _DECIDED.search(sentence):
                _weigh(self.decisions, sentence, weight)


SCALE = 1_000


def _weigh(into: dict[str, int], thing: str, weight: int) -> None:
    had = into.get(thing, 0)
    into[thing] = max(had // SCALE, weight) * SCALE + min(had % SCALE + 1, SCALE - 1)


def _leaves(value: object, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield str(value)
    elif depth < 20 and isinstance(value, dict):
        for name, item in value.items():
            if name not in _SPANS:
                yield from _leaves(item, depth + 1)
    elif depth < 20 and isinstance(value, list):
        for item in value:
            yield from _leaves(item, depth + 1)


def trimmed(token: str) -> str:
    """A token without the punctuation round it."""
    if token[-1] in ".,:;-/#%+~\\" or token[0] in ".,:;-#%+~":
        return token.strip(".,:;-/#%+~\\")
    return token


def spotless(path: str) -> str:
    """A path without the line or the match behind it: `src/a.py` of `src/a.py:14:def`."""
    return _SPOT.sub(r"\1", path) if ":" in path else path


def tokens_in(text: str) -> set[str]:
    """Every token of a text, and of paths also the path alone: what a thing must be among to stand there."""
    found = set(map(trimmed, set(_TOKEN.findall(plain(text)))))
    found.update([spotless(token) for token in found if ":" in token])
    return found


def _is_path(token: str) -> bool:
    if len(token) < 4 or not any(map(str.isalpha, token)):
        return False
    parts = [part for part in token.replace("\\", "/").split("/") if part]
    if len(parts) == 3 and parts[0] in ("s", "y"):
        return False  # what sed was told to put in the place of what
    if len(parts) > 2 or (parts and ("." in parts[-1].strip(".") or token[0] in "~.@")):
        return True
    return bool(parts) and (parts[0].lower() in _FOLDERS or any(c in "_0123456789" for c in token))


def sentences(text: str) -> list[str]:
    """Its sentences and lines of 12 to 400 characters, from the first 200,000."""
    out = []
    for part in _SENTENCE_END.split(text[:200_000]):
        cleaned = part.strip(" \t\r-*#>")
        if _SENTENCE_SHORTEST <= len(cleaned) <= _SENTENCE_LONGEST:
            out.append(cleaned)
    return out


@lru_cache(maxsize=65_536)
def sort_of(token: str) -> str | None:
    """`paths`, `numbers`, `identifiers`, or None for a plain word."""
    if len(token) < 2:
        return None
    if _CLOCK.fullmatch(token):
        return None
    if _NUMBER.fullmatch(token):
        return "numbers" if sum(c.isdigit() for c in token) >= 2 else None
    if _AMOUNT.fullmatch(token):
        return None
    if ("/" in token or "\\" in token) and "://" not in token:
        return "paths" if _is_path(token) else None
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
