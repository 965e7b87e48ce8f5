"""Words of a text: whether a name or a value stands in it, and whether an item was only worded anew."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from agentmem.formats.fields import SHORTEST

_WORD = re.compile(r"\w+")
_IDENTIFIER = re.compile(r"[\w./:@#-]*\d[\w./:@#-]*|[\w.-]*/[\w./-]+|\w+_\w+")
_LONGEST = 4000
SAME = 0.6
"""Share of the words of an item that must still stand for it to count as worded anew."""
NOT_NAMES = frozenset({"id", "name", "path", "file", "type", "step"})
"""Names of fields that stand in many errors for other reasons."""
_CLEARED = frozenset({
    "last_error", "error", "last_failure", "failure", "exception", "step", "steps", "attempt", "attempts", "iteration",
    "iterations", "turn", "turns", "counter", "count", "retry", "retries", "retry_count", "index", "elapsed", "clock",
    "time", "timestamp", "now", "date", "updated_at", "created_at", "started_at", "at", "seconds", "duration", "spent",
    "spent_usd", "cost", "tokens", "progress",
})  # fmt: skip
_CLEARED_ENDS = (
    "_count", "_counter", "_error", "_at", "_time", "_timestamp", "_seconds", "_elapsed", "_attempts", "_retries",
    "_tokens", "_ms", "_index",
)  # fmt: skip
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_CLOCK = re.compile(r"\d{4}-\d\d-\d\d[T ]?[\d:.,Zz+-]*|\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?")


def leaf(name: str) -> str:
    """`port` of `facts.port`; `plan` of `plan[2]`."""
    return name.rpartition(".")[2].partition("[")[0]


@lru_cache(maxsize=4096)
def root(name: str) -> str:
    """`plan` of `plan[2]`, `facts` of `facts.port`."""
    return re.split(r"[.\[]", name, maxsplit=1)[0]


def is_item(name: str) -> bool:
    """Whether it is an item of a list."""
    return name.endswith("]") and "[" in name


def clears(name: str, value: str) -> bool:
    """Whether a field is of the kind that is cleared in the ordinary course: the last error, counters, clocks."""
    short = leaf(name).lower()
    if short in ("last_error", "error", "last_failure", "failure", "exception") or short.endswith("_error"):
        return True
    if short in _CLEARED or short.endswith(_CLEARED_ENDS):
        text = value.strip().strip('"')
        return not text or _NUMBER.fullmatch(text) is not None or _CLOCK.fullmatch(text) is not None
    return False


def stands(value: str, text: str) -> bool:
    """Whether `value` stands in `text` as whole words. Values of fewer than 4 characters never do."""
    if len(value) < SHORTEST:
        return False
    start = text.find(value)
    while start >= 0:
        end = start + len(value)
        if not (_joins(text[start - 1 : start], value[0]) or _joins(text[end : end + 1], value[-1])):
            return True
        start = text.find(value, start + 1)
    return False


def _joins(outside: str, inside: str) -> bool:
    return bool(outside) and (outside.isalnum() or outside == "_") and (inside.isalnum() or inside == "_")


def words(text: str) -> set[str]:
    """Its words in lower case, from the first 4,000 characters."""
    return {word.lower() for word in _WORD.findall(text[:_LONGEST])}


def identifiers(text: str) -> set[str]:
    """Words with a digit, a slash or an underscore in them: what a rewording must keep."""
    found = {match.strip(".,:;-") for match in _IDENTIFIER.findall(text[:_LONGEST])}
    return {item for item in found if len(item) >= 2}


def reworded(old: str, texts: Iterable[str]) -> bool:
    """Whether 60 % of the words of `old`, or all its identifiers, still stand in one of the texts."""
    had, names = words(old), identifiers(old)
    if not had:
        return False
    for text in texts:
        if len(had & words(text)) >= SAME * len(had):
            return True
        if names and all(stands(item, text) for item in names):
            return True
    return False
