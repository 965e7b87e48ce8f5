"""Words of a text: whether a name or a value stands in it, what it says as `name = value`, and whether an item was only
worded anew."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice, zip_longest

from agentmem.formats.fields import SHORTEST
from agentmem.pattern import pattern

_WORD = pattern(r"\w+")
_IDENTIFIER = pattern(r"[\w./:@#-]*\d[\w./:@#-]*|[\w.-]*/[\w./-]+|\w+_\w+")
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
_NUMBER = pattern(r"-?\d+(?:\.\d+)?")
_COUNT = pattern(r"\d+(?: ?/ ?| of )\d+|\d+(?:\.\d+)? ?(?:%|ms|s|sec|seconds?|m|min|minutes?|h|hours?)")
"""`3/10`, `40 %`, `12.5 s`."""
_CLOCK = pattern(r"\d{4}-\d\d-\d\d[T ]?[\d:.,Zz+-]*|\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?")

_KEY = pattern(r"(?<![\w.-])([^\W\d][\w.-]{0,59})[\"'`*]{0,2}[ \t]{0,3}[:=]")
_END = pattern(r"[;,\n]|\.(?=\s)|\Z")
_LONGEST_VALUE = 200
_TOLD = frozenset({
    "error", "errors", "warning", "result", "results", "status", "state", "note", "notes", "todo", "done", "next",
    "message", "output", "reason", "exit", "code", "line", "lines", "time", "date", "failed", "failure", "passed",
    "task", "goal", "field", "plan", "summary", "update", "http", "https", "request", "response", "action", "tool",
    "call", "input", "value",
})  # fmt: skip
"""Words before a colon that stand in many errors for other reasons."""
_LONGEST_NOTE = 20_000
_MOST_PAIRS = 100
_SAID_ANYWAY = _TOLD | {"true", "false", "null", "none"}
_LONGEST_NAMED = 400
_SHORTEST_SPACED = 7
"""Letters from which on the words of a name may stand apart in an error: `order id`, but not `in use`."""
_JOINTS = pattern(r"[\W_]+|(?<=[^\WA-Z_])(?=[A-Z])")


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
    short = "_".join(spelled(leaf(name)))
    if short in ("last_error", "error", "last_failure", "failure", "exception") or short.endswith("_error"):
        return True
    if short in _CLEARED or short.endswith(_CLEARED_ENDS):
        text = value.strip().strip('"')
        return not text or any(form.fullmatch(text) for form in (_NUMBER, _CLOCK, _COUNT))
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


def pairs_of(note: str) -> tuple[tuple[str, str], ...]:
    """(name, value) of what a note says as `name = value` or `name: value`, from its first 20,000 characters; a pair
    ends at a line's end, a comma, a semicolon, the end of a sentence or the next pair."""
    text = note[:_LONGEST_NOTE]
    keys = list(islice(_KEY.finditer(text), _MOST_PAIRS))
    found: dict[tuple[str, str], None] = {}
    for key, later in zip_longest(keys, keys[1:]):
        rest = text[key.end() : min(later.start() if later is not None else len(text), key.end() + _LONGEST_VALUE)]
        end = _END.search(rest)
        value = (rest[: end.start()] if end is not None else rest).strip(" \t\"'`*.]})")
        if value and _is_field(key.group(1), value):
            found[(key.group(1), value)] = None
    return tuple(found)


def _is_field(key: str, value: str) -> bool:
    """Whether a pair tells a fact. `Result: ...`, an address and a word before a sentence do not."""
    if key.lower() in _TOLD or value.startswith("//"):
        return False
    return any(c in "_.-" or c.isdigit() for c in key) or not any(map(str.isspace, value))


@lru_cache(maxsize=4096)
def spelled(name: str) -> tuple[str, ...]:
    """The words of a name in small letters, however they are joined: `order_id`, `orderId`, `Order-ID`."""
    return tuple(part.casefold() for part in _JOINTS.split(name) if part)


@lru_cache(maxsize=4096)
def _spellings(name: str) -> re.Pattern[str]:
    words_of = spelled(name)
    joint = r"[\s_-]?" if sum(map(len, words_of)) >= _SHORTEST_SPACED else "[_-]?"
    return re.compile(rf"(?<!\w)(?:{re.escape(name)}|{joint.join(map(re.escape, words_of))})(?!\w)", re.IGNORECASE)


def may_name(name: str) -> bool:
    """Whether an error can name a field so: 4 to 400 characters, and no name that stands in many errors."""
    return SHORTEST <= len(name) <= _LONGEST_NAMED and name.lower() not in NOT_NAMES


def names_field(name: str, error: str) -> bool:
    """Whether an error names a field as a whole word, however its words are joined."""
    return may_name(name) and _spellings(name).search(error) is not None


def says_value(value: str, error: str) -> bool:
    """Whether an error says a value as a whole word. `true`, `none`, `error` and the like say nothing of a field."""
    return may_name(value) and value.lower() not in _SAID_ANYWAY and stands(value, error)


def marks_of(pairs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Folded words of which at least one stands in the folded text of every error in which `said_in` finds a pair."""
    found: dict[str, None] = {}
    for key, value in pairs:
        name = leaf(key)
        if may_name(name):
            found[folded((spelled(name) or (name,))[0])] = None
        if may_name(value):
            found[folded(value)] = None
    return tuple(found)


@lru_cache(maxsize=64)
def folded(text: str) -> str:
    """Without case, as expressions see it: an i is an i with and without its dot."""
    return text.casefold().replace("i\u0307", "i").replace("\u0131", "i")


def said_in(pair: tuple[str, str], error: str) -> bool:
    """Whether an error names the field or says the value of a pair in a note."""
    return names_field(leaf(pair[0]), error) or says_value(pair[1], error)
