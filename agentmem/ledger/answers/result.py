"""What came of an attempt, made comparable: what only a clock or a process changes is masked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from agentmem.ledger.given import only_text
from agentmem.ledger.signature import digest, parsed
from agentmem.pattern import pattern

MASK = "<~>"
ERROR_PREFIX_CHARACTERS = 120
ERROR_PREFIX_LEAST = 20
_MASKED_LINE = 600
"""Characters of an error line that are masked for its first 120: values and times in it may be long."""
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_YEAR = r"(?:,?\s+(?:19|20)\d\d)?"
_CLOCK = r":\d\d(?::\d\d(?:[.,]\d+)?)?"
_ZONE = r"(?:\s?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?"
_UNIT = (
    r"(?:ns|nsecs?|nanoseconds?|us|µs|μs|usecs?|microseconds?|ms|msecs?|milliseconds?|millis|s|secs?|seconds?"
    r"|mins?|minutes?|hrs?|hours?|days?)"
)
_UUID = pattern(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?!\w)")
_UUID_MIDDLE = pattern(r"-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-")
"""Begins with one character, which is found much faster than a set of them."""
_DIGIT = pattern(r"[0-9]")
# One pass for all of them. It begins with a set of characters, which the engine skips to, and looks behind only then;
# what follows a number is taken in once (`*+` gives nothing back), because most numbers are no times: one look at what
# stands behind them tells.
_OF_NUMBERS = (
    r"(?<=[0-9])(?=\d*+(?:[:/xX.,-]|\s?[numshdµμJFMASOND]))(?:"
    r"(?<=0)[xX][0-9a-fA-F]{4,16}"
    rf"|\d{{3}}[-/]\d\d?[-/]\d\d?(?:[T ]\d\d?{_CLOCK}{_ZONE})?"
    r"|\d?(?:/\d\d?/\d{2,4}"
    rf"|\s(?>{_MONTH})(?!\s+\d\d?(?!\w)){_YEAR}"
    rf"|{_CLOCK}(?:\s?[AaPp][Mm])?{_ZONE})"
    r"|\d*+(?:(?:\.\d++)?[dhm]\s?(?:\d+(?:\.\d+)?[dhms]\s?){0,3}(?<=\ds)"
    r"|h\s?\d+m"
    rf"|(?:[.,]\d++)?\s?(?=[numshdµμ]){_UNIT})"
    r")(?!\w)"
)
_OF_PROCESSES = (
    r"(?<=[PpJj])(?:(?:(?<=[Pp])(?:[Ii][Dd]s?|[Pp][Ii][Dd]|rocess(?: id| ID)?)|(?<=[Jj])ob)(?!\w)\s?[:=#]?\s?\(?\d+)"
)
_OF_DAYS = (
    r"(?:(?<=M)on|(?<=T)ue|(?<=W)ed|(?<=T)hu|(?<=F)ri|(?<=S)at|(?<=S)un)[a-z]{0,6},?\s+"
    rf"(?:\d\d?\s+{_MONTH}|{_MONTH}\s+\d\d?){_YEAR}(?!\w)"
    r"|(?:(?<=J)an|(?<=F)eb|(?<=M)ar|(?<=A)pr|(?<=M)ay|(?<=J)un|(?<=J)ul|(?<=A)ug|(?<=S)ep|(?<=O)ct|(?<=N)ov|(?<=D)ec)"
    rf"[a-z]{{0,6}}\.?\s+\d\d?(?!\w){_YEAR}"
)
_PROCESSES = ("pid", "process", "job")
"""A p and a j stand in most words: texts without one of these are masked without stopping at each of them."""
_JOBS = pattern(r"\[(?<![^\n]\[)\d+\]\s+\d+\b")
_RULES = tuple((sign, 3 * sign) for sign in "=-_*#~")
_ENDS = 65_536
_RULER = pattern(r"([=\-_*#~])\1{2,}")
_ERROR_WORDS = (
    "error", "fail", "exception", "fatal", "denied", "refused", "invalid", "cannot", "can't", "not found", "no such",
    "unable",
)  # fmt: skip
_NOT_FOUND = pattern(
    r"not[ _-]?found|no such|does(?:n't| not) exist|do not exist|no match|no results?\b|no files?\b|\bENOENT\b"
    r"|(?:cannot|can't|could not|couldn't|unable to) (?:find|locate)|\bunknown (?:file|path|key)\b|\b404\b"
    r"|nothing found"
    r"|\A\W*(?:(?:command|process|shell)\b[\w ]{0,40}?)?\b(?:exit(?:ed with)?[ _-]?(?:code|status)?|return ?code)"
    r"[\s:=]*1\W*\Z",
    re.I,
)
"""A reader that says nothing but that it ended with 1 (`grep`) has found nothing."""
_NOT_FOUND_SIGNS = (
    "found", "find", "locate", "exist", "no such", "no match", "no result", "no file", "enoent", "unknown ", "404",
    "exit", "return",
)  # fmt: skip
"""One of them stands in every plain text in which the expression finds something: much cheaper to look for."""
_STRONG = pattern(
    r"\A\s*<returncode>\s*-?[1-9]|\A\s*(?:exit code|exit status|return ?code)\s*[:=]?\s*-?[1-9]"
    r"|\A\s*\{\"(?:error|is_error)\":(?!\s*(?:null|false|\"\"|\{\}|\[\]|0\b))",
    re.I,
)
_TRAILING = pattern(r"\(exit (?:code|status) -?[1-9]\d*\)\s*\Z", re.I)
_LEADING = pattern(
    r"\A\s*(?:\[?[\w.]*(?:error|exception|fatal|failure)\]?\s*[:!]"
    r"|traceback \(most recent call last\)|error\b|failed\b)",
    re.I,
)
_ALONE = 200
_HEAD = 20_000
_MOST_KNOWN = 4_096
_known: dict[str, str] = {}
"""Digest of a text -> its key: agents that wait or go in circles get the same results again and again."""
_LONGEST_LINE = 2_000


@cache
def _times(processes: bool) -> re.Pattern[str]:
    """Compiled when first needed: that takes as long as masking a few hundred kilobytes."""
    starts, more = ("Ppj", f"|{_OF_PROCESSES}") if processes else ("", "")
    return re.compile(rf"[0-9{starts}JFMASONDTW](?<!\w\w)(?:{_OF_NUMBERS}{more}|(?<=[A-Z])(?:{_OF_DAYS}))")


def mask(text: str) -> str:
    """The text with clock times, dates, durations, process ids, hexadecimal addresses and UUIDs masked.

    Plain numbers stay, so that `10 %` and `20 %` are two results. Drawn rules (`=====`) are cut to one length, because
    programs pad them to a column behind a duration.
    """
    if _DIGIT.search(only_text(text, "mask: text")) is None and text.count("-") < 4:
        return _ruled(text).strip()
    if text.count("-") >= 4 and _UUID_MIDDLE.search(text) is not None:
        text = _UUID.sub(MASK, text)
    text = _times(any(map(text.lower().__contains__, _PROCESSES))).sub(MASK, text)
    if "[" in text and (text[0] == "[" or "\n[" in text):
        text = _JOBS.sub(MASK, text)
    return _ruled(text).strip()


def _ruled(text: str) -> str:
    # One character is looked for much faster than three, and most texts have few of them.
    for sign, rule in _RULES:
        if sign in text and rule in text:
            return _RULER.sub(r"\1\1\1", text)
    return text


def result_key(text: str) -> str:
    """16 hex digits of the masked result. Of more than 128 Ki characters only the ends are masked."""
    whole = digest(only_text(text, "result_key: text"))
    known = _known.get(whole)
    if known is not None:
        return known
    if len(text) > 2 * _ENDS:
        key = digest(f"{mask(text[:_ENDS])}\0{text[_ENDS:-_ENDS]}\0{mask(text[-_ENDS:])}")
    else:
        key = digest(mask(text))
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[whole] = key
    return key


def error_line(text: str) -> str:
    """The line that says what went wrong: a traceback's last, else the first with an error word, else the first."""
    lines = [line for line in only_text(text, "error_line: text").splitlines() if line.strip()]
    if not lines:
        return ""
    if any(line.startswith("Traceback (most recent call last)") for line in lines):
        for line in reversed(lines):
            if not line.startswith((" ", "<", "\t")):
                return line.strip()
    for line in lines:
        if not line.lstrip().startswith("<") and any(map(line[:_LONGEST_LINE].lower().__contains__, _ERROR_WORDS)):
            return line.strip()
    return next((line.strip() for line in lines if not line.lstrip().startswith("<")), lines[0].strip())


def failure(result: str, reads: bool = False) -> str | None:
    """The error line of a result that plainly is a failure; None if it is none, or if it cannot be told.

    For stores that do not say whether a call failed. `reads`: what the tool returns may be the text of a log, so
    beside a return code or an error object only a single short line counts.
    """
    head = only_text(result, "failure: result")[:_HEAD]
    alone = len(result) <= _ALONE and "\n" not in head.strip()
    if _STRONG.match(head) or _TRAILING.search(result[-60:]) or ((alone or not reads) and _LEADING.match(head)):
        return error_line(head)
    return None


def _values(value: object, line: str, depth: int = 0) -> Iterator[str]:
    """Values and words of values that may stand in the line."""
    if isinstance(value, str):
        yield value
        if "\n" in value or " " in value or "/" in value:
            for word in set(value.split()):
                piece = word.strip("\"'`(),;:=[]{}")
                end = piece.rsplit("/", 1)[-1]
                # Asked first: of a long text few words stand in a line.
                if end in line and any(c in "/._-" or c.isdigit() for c in piece):
                    yield piece
                    yield end
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield str(value)
    elif depth < 20 and isinstance(value, dict):
        for item in value.values():
            yield from _values(item, line, depth + 1)
    elif depth < 20 and isinstance(value, list):
        for item in value:
            yield from _values(item, line, depth + 1)


def _without(line: str, value: str) -> str:
    """The line with `value` masked where it stands as a whole word."""
    at = line.find(value)
    while at >= 0:
        end = at + len(value)
        left = at == 0 or not (line[at - 1].isalnum() and value[0].isalnum())
        right = end == len(line) or not (line[end].isalnum() and value[-1].isalnum())
        if left and right:
            line = line[:at] + MASK + line[end:]
            end = at + len(MASK)
        at = line.find(value, end)
    return line


def error_prefix(error: str, arguments: str) -> str | None:
    """The first 120 characters of the error line, masked, the values of the call's own arguments masked too.

    None if fewer than 20 characters remain beside the masks: too little to call two errors one.
    """
    line = mask(error_line(error)[:_MASKED_LINE])
    values = _values(parsed(arguments), line)
    found = {value for value in values if len(value) <= 500 and value in line and value.strip()}
    for value in sorted(found, key=lambda text: (-len(text), text)):
        if value not in MASK:
            line = _without(line, value)
    line = line[:ERROR_PREFIX_CHARACTERS]
    return line if len(line.replace(MASK, "").strip()) >= ERROR_PREFIX_LEAST else None


def is_not_found(error: str) -> bool:
    """Whether an error says that what was looked for is not there."""
    head = error[:_LONGEST_LINE]
    if head.isascii():  # beyond that more characters are alike to the expression than `lower` knows of
        low = head.lower()
        if not any(map(low.__contains__, _NOT_FOUND_SIGNS)):
            return False
    return _NOT_FOUND.search(error, 0, _LONGEST_LINE) is not None
