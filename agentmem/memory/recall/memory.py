"""The interface of long-term memory: `remember` and `search`, best first, with a trust floor; the free similarity.

The free similarity is shared content words: "what is my name" finds "the user's name is Sam"; "what do you know about
me" shares no content word with anything and finds nothing. An embedder, behind the same interface, finds paraphrases.
What is recalled is untrusted text: it enters a prompt through `agentmem.memory.fence` only.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol, TypedDict, runtime_checkable

from agentmem.checkpoint.given import moment, number
from agentmem.ledger.given import only_function, only_kind, only_text
from agentmem.memory.fence import Record

_STOP = (
    "a about above after again all also am an and any are as at be been before being below between both but by can "
    "could d did do does doing don down during each few for from further had has have having he her here hers him "
    "his how i if in into is it its just know knew known ll m me more most my no nor not now of off on once only or "
    "other our ours out over own please re remember s same shall she should so some such t tell than that the their "
    "theirs them then there these they this those through to too under until up us ve very was we were what when "
    "where which while who whom whose why will with would you your yours "
)
STOP_WORDS = frozenset(_STOP.split())
"""English words that carry no content, and the words with which one asks."""
LONGEST_TOKEN = 1000
"""Characters of a word in an index. Postgres takes 2,700 bytes at most."""


class RecallError(Exception):
    """A long-term memory could not be opened or used; the message names it and the reason."""


class Row(TypedDict):
    """A record as `dump` gives it and `load` takes it."""

    key: str
    value: str
    source: str
    trust: float
    at: float


@dataclass(frozen=True, slots=True)
class Recalled:
    """One record that was found."""

    key: str
    value: str
    source: str
    trust: float
    """From 0 to 1, as it was given."""
    score: float
    """Similarity with the query, more than 0, at most 1."""
    at: float
    """When it was remembered, seconds since the epoch."""

    @property
    def record(self) -> Record:
        """What the fence takes."""
        return Record(self.key, self.value, self.source)


@runtime_checkable
class Memory(Protocol):
    """A long-term memory of any kind. Records are one for each key and source."""

    @property
    def address(self) -> str | None:
        """Where it is kept, if it lives on by itself; None for one that ends with the process."""

    def remember(self, key: str, value: str, source: str, trust: float) -> None:
        """Store a value. The same key from the same source takes the place of the older value; another source cannot
        overwrite it. Raises ValueError for a trust that is not from 0 to 1, TypeError for what is no text."""

    def search(self, query: str, k: int = 4, min_trust: float = 0.5) -> list[Recalled]:
        """The k most similar records whose trust is at least `min_trust`, best first; then by trust, then newest."""

    def purge(
        self,
        *,
        key: str | None = None,
        source: str | None = None,
        below_trust: float | None = None,
        before: float | None = None,
    ) -> int:
        """Delete the records that meet every condition given (at least one) and return how many there were."""

    def dump(self) -> list[Row]:
        """All records, oldest first."""

    def load(self, rows: Iterable[Row]) -> None:
        """Store records that `dump` gave, with their times."""

    def close(self) -> None:
        """Let go of what it holds."""

    def __len__(self) -> int:
        """How many records there are."""


def content_words(text: str) -> list[str]:
    """The words of a text that carry content: runs of letters, digits and marks, without case, without stop words."""
    if only_text(text, "content_words: text").isascii():
        shown = "".join(char if char.isalnum() else " " for char in text)
    else:
        normal = unicodedata.normalize("NFKC", text)
        shown = "".join(char if char.isalnum() or unicodedata.category(char)[0] == "M" else " " for char in normal)
    return [word for word in shown.casefold().split() if word not in STOP_WORDS]


def token(word: str) -> str:
    """A word as it stands in an index, in ASCII letters and digits, so that no database takes it apart or changes it.

    A long run (Chinese without a space, base64) stands as its hash: it is found whole or not at all, as any word is.
    """
    held = word if word.isascii() else "x" + word.encode("utf-8", "surrogatepass").hex()
    return held if len(held) <= LONGEST_TOKEN else "x" + sha256(held.encode()).hexdigest()


def tokens(text: str) -> list[str]:
    """The content words of a text, each as it stands in an index."""
    return list(map(token, content_words(text)))


def similarity(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """Cosine of two bags of words, from 0 to 1; 0 if they share no word."""
    shared = sum(number * other[word] for word, number in one.items() if word in other)
    if not shared:
        return 0.0
    lengths = sum(n * n for n in one.values()) * sum(n * n for n in other.values())
    return min(shared / math.sqrt(lengths), 1.0)


def bag(text: str) -> Counter[str]:
    """The content words of a text, counted."""
    return Counter(content_words(text))


def check(key: object, value: object, source: object, trust: object) -> float:
    """The trust as a number, if these may be remembered. Raises ValueError, TypeError."""
    for name, text in (("key", key), ("value", value), ("source", source)):
        only_text(text, f"remember: {name}")
    if not isinstance(trust, int | float) or isinstance(trust, bool) or not 0 <= trust <= 1:
        raise ValueError(f"remember: trust is a number from 0 to 1, not {trust!r}")
    return float(trust)


def check_parts(memory: str, embed: object, clock: object) -> None:
    """Raises TypeError for an embedder that is no function with a name and a floor, and for a clock that is none."""
    only_function(clock, f"{memory}: clock")
    if embed is not None:
        only_function(embed, f"{memory}: embed")
        if not hasattr(embed, "name") or not hasattr(embed, "floor"):
            raise TypeError(f"{memory}: embed has no name or no floor; see agentmem.memory.recall.Embedder")


def check_search(k: int, min_trust: float, query: str = "") -> None:
    """Raises ValueError for a k below 0 or a floor that is no number from 0 to 1, TypeError for what is no text."""
    only_text(query, "search: query")
    number(k, "search: k", whole=True)
    if not isinstance(min_trust, int | float) or isinstance(min_trust, bool) or not 0 <= min_trust <= 1:
        raise ValueError(f"search: min_trust is a number from 0 to 1, not {min_trust!r}")


def check_purge(**conditions: object) -> None:
    """Raises ValueError if no condition is given, so that nobody deletes all by leaving one out, and for a `before` or
    `below_trust` that is no finite number; TypeError for a `key` or `source` that is no text."""
    if all(condition is None for condition in conditions.values()):
        raise ValueError(f"purge: give at least one of {', '.join(conditions)}")
    for name in ("key", "source"):
        if conditions.get(name) is not None:
            only_text(conditions[name], f"purge: {name}")
    for name in ("below_trust", "before"):
        if conditions.get(name) is not None:
            number(conditions[name], f"purge: {name}", least=None)


def rows_of(rows: Iterable[object]) -> list[tuple[str, str, str, float, float]]:
    """`row_of` for all that `load` is given. Raises TypeError for what is no list, ValueError."""
    only_kind(rows, Iterable, "load: rows", "a list of what dump() gives")
    return [row_of(row) for row in rows]


def row_of(row: object) -> tuple[str, str, str, float, float]:
    """(key, value, source, trust, at) of a record that `dump` gave. Raises ValueError, TypeError for another."""
    match row:
        case {"key": key, "value": value, "source": source, "trust": trust, "at": at}:
            return key, value, source, check(key, value, source, trust), float(moment(at, "load: at"))
        case _:
            raise ValueError("load: a row is no record of key, value, source, trust and at")
