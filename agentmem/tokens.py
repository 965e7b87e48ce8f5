"""Token counters by name: quick, words, pieces5, chars4; o200k and claude from packages that carry their vocabulary.

A counter is any callable `text -> int`. Counters that need an extra say how to install it when they are missing.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from agentmem.model import TokenCounter
from agentmem.pattern import pattern

DEFAULT = "quick"
_CHARACTERS = (
    (pattern("[\u3001-\u303f\u3400-\u9fff\uf900-\ufaff\uff01-\uff60\U00020000-\U000323af]+"), 79),
    (pattern("[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f]+"), 74),
    (pattern("[\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff]+"), 78),
)
"""Han with its punctuation, kana, Hangul; hundredths of a token a character, as o200k cuts them (Hangul .60 to .96)."""
_MAYBE = pattern("[\u1100-\u11ff\u2e80-\U000323af]")
"""What a text has that has one of them."""


class UnknownCounter(ValueError):
    """The name is not a counter's, or its extra is not installed; the message says which and what to do."""


def words(text: str) -> int:
    """Number of whitespace-separated words."""
    return len(text.split())


def pieces5(text: str) -> int:
    """Pieces of at most 5 characters, cut from the left of every word; commas stand alone; lower case."""
    return sum(-(-len(word) // 5) for word in text.lower().replace(",", " , ").split())


def chars4(text: str) -> int:
    """ceil(code points / 4); 0 for an empty text."""
    return -(-len(text) // 4)


class Quick:
    """As `chars4`, but by script: a character of Chinese, Japanese or Korean is most of a token, not a quarter."""

    def __init__(self) -> None:
        self.apart = False
        """Whether it counted a text that chars4 counts otherwise."""

    def __call__(self, text: str) -> int:
        if text.isascii() or not _MAYBE.search(text):
            return -(-len(text) // 4)
        hundredths = 25 * len(text)
        for found, each in _CHARACTERS:
            hundredths += (each - 25) * (len(text) - len(found.sub("", text)))
        self.apart = self.apart or hundredths != 25 * len(text)
        return -(-hundredths // 100)

    @property
    def name(self) -> str:
        """What its figures are to be called: where no text needed more, they are those of chars4."""
        return "quick" if self.apart else "chars4"


def _missing(name: str, package: str) -> UnknownCounter:
    return UnknownCounter(
        f"counter {name} needs the package {package}: pip install 'agentmem-inspector[tokens]'"
        + (" (Python 3.12 or newer)" if package == "ctok" else "")
    )


def _o200k() -> TokenCounter:
    try:
        module = import_module("toktok")
    except ImportError:
        raise _missing("o200k", "toktok-rs") from None
    batch: Callable[[list[str], str], list[int]] = module.batch_count
    return lambda text: batch([text.encode("utf-8", "replace").decode("utf-8")], "o200k_base")[0]


def _claude() -> TokenCounter:
    try:
        module = import_module("ctok")
    except ImportError:
        raise _missing("claude", "ctok") from None
    count: Callable[[str], int] = module.token_count
    # It counts a text as one user message; the message's own frame is no part of a piece.
    frame = count("a") - 1
    return lambda text: count(text.encode("utf-8", "replace").decode("utf-8")) - frame if text else 0


_PLAIN: dict[str, TokenCounter] = {"words": words, "pieces5": pieces5, "chars4": chars4}
_EXTRA: dict[str, Callable[[], TokenCounter]] = {"o200k": _o200k, "claude": _claude}
NAMES: tuple[str, ...] = ("quick", *_PLAIN, *_EXTRA)


def counter(name: str) -> TokenCounter:
    """The counter of that name; quick is a new one each time. Raises UnknownCounter with the names that there are, or
    with the extra to install."""
    if name == "quick":
        return Quick()
    if name in _PLAIN:
        return _PLAIN[name]
    if name in _EXTRA:
        return _EXTRA[name]()
    raise UnknownCounter(f"unknown counter {name!r}; there are {', '.join(NAMES)}")
