"""The words of work that has not finished: in JSON under keys that say how something stands, and in short sentences.

A text that speaks of a failure says of nothing that it still runs.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Literal

from agentmem.ledger.signature import words
from agentmem.pattern import pattern

Says = Literal["unfinished", "over"]

_GOING = (
    r"(?:running|queu(?:ed|eing|ing)|enqueued|pending|in[ _-]?progress|inprogress|in (?:the )?queue|under ?way|ongoing"
    r"|processing|building|compiling|scheduled|starting|provisioning|waiting|initiali[sz]ing|preparing|deploying"
    r"|installing|creating|executing|uploading|downloading|sync(?:hroni[sz])?ing|loading|rendering|training|indexing"
    r"|migrating|importing|exporting|transcribing|generating|calculating|analy[sz]ing|validating|verifying"
    r"|finali[sz]ing|stopping|terminating|restarting|resuming|retrying|rebooting|updating|deleting|busy|working"
    r"|launching|booting|activating|submitted|allocating|fetching|scanning|copying|transferring|encoding|cloning"
    r"|pulling|pushing|packaging|warming up|spinning up)"
)
_STEADY = pattern(r"\b(?:running|scheduled|submitted|working|busy|ongoing)\b")
"""How a service, a server or a cron entry stands when all is well: of those it is no wait."""
_FAILED = pattern(
    r"\b(?:errors?|fail\w*|fatal|traceback|exceptions?|denied|refused|cancell?ed|aborted|crashed|killed|rejected"
    r"|timed[ _-]?out|exit code:? [1-9])\b", re.I,
)  # fmt: skip
_NO_FAILURE = pattern(
    r"\b(?:no|0|zero|without)\s+(?:errors?|fail\w*|exceptions?)\b|\b(?:errors?|fail\w*)\W{1,3}0\b", re.I
)
_OVER = pattern(
    r"\b(?:done|completed?|finished|succeeded|successful(?:ly)?|stopped|exited|terminated|expired|ended|closed|ready"
    r"|available|deployed|passed|skipped)\b"
)
_NOT_YET = pattern(
    r"\bnot (?:yet )?(?:ready|done|finished|completed?|available|started)\b|\bno results? yet\b|\bnot yet\b"
    r"|\b(?:isn't|hasn't|is not|has not|have not) (?:yet )?(?:ready|done|finished|completed?|available|started)\b"
)
_NONE = pattern(
    rf"\b(?:0|no|zero|none|nothing|not|never|no longer|isn't|aren't|stopped)\s+(?:\w+\s+)?(?:is |are )?{_GOING}\b"
    rf"|\b{_GOING}\s?[:=]\s?(?:0|none|false|no)\b"
)
_SUBJECT = (
    r"(?:job|task|build|run|pipeline|deploy(?:ment)?|workflow|process|request|export|import|operation|batch|query"
    r"|command)"
)
_SERVES = pattern(
    r"\b(?:servers?|services?|daemon|containers?|app|application|instances?|machine|vm|pods?|database|cluster|website"
    r"|site|listening|active \(running\))\b"
)
_PARTICIPLE = (
    r"being (?:processed|built|prepared|created|deployed|provisioned|generated|executed|uploaded|compiled|run)"
)
_ADVERBS = r"(?:(?:still|currently|now|yet)\s+)*"
_WHOLE = pattern(
    rf"\W*(?:(?:status|state|phase|progress|stage)\W{{1,3}})?{_ADVERBS}{_GOING}\s*(?:\.{{2,}}|…|[.!])?\s*"
    r"(?:[(\[].{0,40}[)\]]|\W{0,3}\d{1,3}\s?%.{0,20}|,?\s*(?:please|position|try|eta)\b.{0,60})?\W*"
)
_SAID = pattern(
    rf"\b(?:is|are|remains?|stays?)\s+{_ADVERBS}(?:{_GOING}|{_PARTICIPLE})\s*(?:$|[.,;!…(\[]|(?:for|since|at|with|on|in)\b)",
    re.M,
)
_ASIDE = r"\s*(?:[(\[][^)\]\n]{0,40}[)\]])?\W*"
_NAMED = pattern(rf"\W*{_SUBJECT}\b[^.,;\n]{{0,60}}[\s:=\[(]{_GOING}{_ASIDE}")
_PLAIN = pattern(
    rf"{_SUBJECT}\b|\bit(?: is|'s)\b|\b(?:queued|pending|in progress|processing|scheduled|provisioning|{_PARTICIPLE})\b"
)
"""Without one of these in it, that something `is running` may be said of anything."""
_TAG = pattern(r"</?[\w:-]+>")
_BEGINS = pattern(rf"\W*(?:[\w .#/-]{{1,40}}[\"']?[:=]\s*[\"']?)?{_ADVERBS}{_GOING}\b(?!\s+\d+\s+tests?)")
_ENDS = pattern(rf"[\s:=\[(]{_GOING}{_ASIDE}\Z")
_DONE_SHARE = pattern(
    r"(?<![\d.])(\d{1,3}(?:\.\d+)?)\s?(?:%|percent)\s*(?:done|completed?|finished|built|processed|uploaded|downloaded)\b"
    r"|\bprogress\W{1,3}(\d{1,3}(?:\.\d+)?)\s?(?:%|percent)|\A\W*(\d{1,3}(?:\.\d+)?)\s?%\W*\Z"
)
_KEYS = frozenset({"status", "state", "phase", "stage"})
_SHARES = frozenset({"progress", "percent", "percentage", "pct", "completion"})
_FLAGS = frozenset({"done", "finished", "completed", "complete", "ready"})
_UNDER_WAY = frozenset({"running", "pending", "progress", "processing", "queued", "building", "waiting", "busy"})
_ERRORS = frozenset({"error", "errors", "failure", "exception"})
_NAMES = frozenset({"name", "value", "label"})
_NOTHING = frozenset({"", "0", "none", "null", "false", "no"})
_DEEP, _MANY = 5, 200
_REPR = 600
"""Characters of a printed dictionary that is still read."""


def speaks_of_failure(text: str) -> bool:
    return _FAILED.search(_NO_FAILURE.sub(" ", text)) is not None


def said_of(value: str, steady: bool = False) -> Says | None:
    """What the value of a status says: `RUNNING`, `CREATE_IN_PROGRESS`, `queued (position 3)`. `steady`: of a thing
    that is meant to run for ever, so that `running` is no wait."""
    text = " ".join(value.lower().replace("_", " ").split())
    if not text or len(text) > 120:
        return None
    if speaks_of_failure(text):
        return "over"
    if _NOT_YET.search(text) or _share_left(text):
        return "unfinished"
    if _NONE.search(text):
        return None
    if steady and _STEADY.search(text):
        return "over"
    going = re.search(rf"\b{_GOING}\b", text)
    if going is not None and going.start() == 0:
        return "unfinished"
    if _OVER.search(text):
        return "over"
    return None if going is None else "unfinished"


def _share_left(text: str) -> bool:
    """Whether it names a share of work done that is below 100 %."""
    found = _DONE_SHARE.search(text)
    return found is not None and float(next(part for part in found.groups() if part is not None)) < 100


def denies(text: str) -> bool:
    """Whether it says that nothing goes on: `0 running`, `no pending jobs`, `Pending: 0`."""
    return _NONE.search(text.lower().replace("_", " ")) is not None


def says_unfinished(text: str, lenient: bool, steady: bool = False) -> bool:
    """Whether a short text says that what was asked about goes on. `lenient`: it answers a question about just that,
    so that a line need only begin or end with the word; else the sentence has to say it in full."""
    low = _TAG.sub(" ", text).strip().lower().replace("_", " ").replace("’", "'")
    if speaks_of_failure(low):
        return False
    if _NOT_YET.search(low):
        return lenient or "\n" not in low
    if _NONE.search(low) or (_STEADY.search(low) and (steady or _SERVES.search(low))):
        return False
    lines = [line.strip() for line in low.split("\n") if line.strip()]
    if len(lines) == 1 and (_WHOLE.fullmatch(low) or _NAMED.fullmatch(low)):
        return True
    if len(lines) == 1 and _SAID.search(low) and _PLAIN.search(low):
        return True
    if not lenient:
        return False
    if any(_share_left(line) for line in lines):
        return True
    return any(_SAID.search(line) or _BEGINS.match(line) or _ENDS.search(line) for line in lines)


def json_unfinished(text: str, lenient: bool, steady: bool = False) -> bool | None:
    """Whether a JSON answer says so; None if it is no JSON object or list. `lenient`: flags (`"done": false`) count.

    Looked at from outside in; the outermost objects that say how something stands decide. Of several beside each other
    one that goes on is enough, within one object an end or an error is.
    """
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        level: list[tuple[object, bool]] = [(_value(text), False)]
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    for _ in range(_DEEP):
        found, inner = set(), list[tuple[object, bool]]()
        for item, of_status in _objects(level):
            found.add(_object_says(item, of_status, lenient, steady))
            for key, value in item.items():
                if isinstance(value, str) and value[:1] in ("{", "["):
                    try:
                        value = json.loads(value)
                    except (ValueError, RecursionError):
                        continue  # a text that only begins like JSON holds no status
                if isinstance(value, (dict, list)):
                    inner.append((value, _last(key) in _KEYS))
        if "unfinished" in found:
            return True
        if "over" in found:
            return False
        level = inner
    return False


def _value(text: str) -> object:
    """Raises what the readers of JSON and of Python's own notation raise."""
    if len(text) <= _REPR and text.lstrip()[1:].lstrip()[:1] == "'":
        return ast.literal_eval(text.strip())
    return json.loads(text)


def _objects(level: list[tuple[object, bool]]) -> list[tuple[dict[str, object], bool]]:
    out: list[tuple[dict[str, object], bool]] = []
    todo = list(reversed(level))
    while todo and len(out) < _MANY:
        item, of_status = todo.pop()
        if isinstance(item, list):
            todo.extend((one, of_status) for one in reversed(item[:_MANY]))
        elif isinstance(item, dict):
            out.append((item, of_status))
    return out


def _last(key: str) -> str:
    name = words(key)
    return name[-1] if name else ""


def _object_says(item: dict[str, object], of_status: bool, lenient: bool, steady: bool) -> Says | None:
    said: set[Says | None] = set()
    for key, value in item.items():
        last = _last(key)
        if last in _ERRORS:
            if value and str(value).strip().lower() not in _NOTHING:
                said.add("over")
        elif isinstance(value, str) and (last in _KEYS or (of_status and last in _NAMES)):
            said.add(said_of(value, steady))
        elif last in _SHARES:
            said.add(_share_says(value, last != "progress"))
        elif lenient and isinstance(value, bool):
            if last in _FLAGS:
                said.add("over" if value else "unfinished")
            elif last in _UNDER_WAY and value and not steady:
                said.add("unfinished")
    return "over" if "over" in said else "unfinished" if "unfinished" in said else None


def _share_says(value: object, percent: bool) -> Says | None:
    """`percent`: the key says that the number is one of a hundred, so that 1 is not the whole."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return "unfinished" if 0 <= value < 100 and (percent or value != 1) else None
    if isinstance(value, str):
        part = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:%|(?:/|of)\s*(\d+(?:\.\d+)?))\s*", value)
        if part is not None:
            return "unfinished" if float(part[1]) < float(part[2] or 100) else None
        return said_of(value)
    return None
