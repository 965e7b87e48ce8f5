"""Whether a tool result is an error, where the format does not say so, and which line of it is the error."""

from __future__ import annotations

import re

import msgspec

from agentmem.model import Outcome
from agentmem.pattern import pattern

_ERROR_KEYS = ("error", "hata", "errorMessage", "error_message", "exception")
_EXIT_KEYS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status")
_FIRST_LINE = pattern(
    r"\s*(?:<tool_use_error>|\[?(?:fatal|error|exception)\b\]?\s*[:!]|traceback \(most recent call last\)"
    r"|[A-Za-z_][\w.]*(?:Error|Exception)\b\s*[:(]|✗|✘|command not found|permission denied|no such file or directory)",
    re.IGNORECASE,
)
_EXIT = pattern(
    r"(?:^|\n)\s*(?:<returncode>|exit code:?|\(?exit status:?|process exited with code|exited with code|return code:?|"
    r"\[exit:?)\s*(-?\d{1,10})",
    re.IGNORECASE,
)
_COUNTED = pattern(r"\d (?:failed|errors?)\b(?!\.\w)")
_COUNT = pattern(r"(?:^|[\s=])[1-9]\d{0,5}\Z")
_DENIED = pattern(
    r"\s*(?:(?:<tool_use_error>|\[?error\]?\s*[:!]|\[|\W{0,3})\s*)?(?:denied|blocked\b(?: by|[:\]!]| -)|vetoed"
    r"|(?:the |this |your )?(?:tool |function )?(?:call|tool use|action|command|request)s? "
    r"(?:was |were |has been |is )?"
    r"(?:blocked|denied|vetoed|rejected|refused|not (?:approved|permitted|allowed))\b"
    r"|permission (?:to use .{1,80}|for this (?:action|tool)) has been denied"
    r"|the user (?:doesn't want to|did not (?:approve|allow)|has (?:denied|rejected|declined))"
    r"|(?:the )?user (?:rejected|denied|declined|refused|cancelled)"
    r"|(?:rejected|denied|refused|declined) by (?:the )?(?:user|guard|policy|hook|sandbox)"
    r"|operation not permitted by policy|(?:loop|circuit)[ -](?:guard|breaker|detect\w*)\b)",
    re.IGNORECASE,
)
_DENIED_STATES = frozenset({"denied", "blocked", "rejected", "vetoed", "declined", "refused"})
_WINDOW = 4000
_EXIT_SIGNS = ("<returncode>", "exit code", "exit status", "exited with code", "return code", "[exit")
"""One of them stands in every text in which the expression finds something: much cheaper to look for."""
_NAMED_ERROR = pattern(r"\s*(?:E\s+)?[\w.]*(?:Error|Exception)\b\s*:")
_ERROR_WORD = pattern(r"\b(?:error|failed|failure|fatal|missing|not found|denied)\b", re.IGNORECASE)
_FAILED_STARTS = pattern(r"(?:FAILED\b|(?:npm )?ERR!)")


def judge(text: str | None, flag: bool | None = None) -> tuple[Outcome, str | None]:
    """(outcome, error line). `flag` is what the format itself says, None where it says nothing.

    Looks at the first and last 4,000 characters only, so that a huge result costs nothing.
    """
    if text is None:
        return ("error", None) if flag else ("unknown", None)
    head = text[:_WINDOW]
    if _DENIED.match(head):
        return "denied", _line(head)
    if flag is True:
        return "error", _error_line(text)
    stripped = head.lstrip()
    if stripped.startswith("{") and len(text) <= 65536:
        found = _from_json(text)
        if found is not None:
            return found
    tail = text[-_WINDOW:] if len(text) > _WINDOW else ""
    exits = _exit(head) or (_exit(tail) if tail else None)
    if exits and flag is None:
        return ("ok", None) if int(exits.group(1)) == 0 else ("error", _error_line(text))
    if flag is False:
        return ("error", _error_line(text)) if exits and int(exits.group(1)) != 0 else ("ok", None)
    if _FIRST_LINE.match(head) or _failed(head):
        return "error", _error_line(text)
    return "ok", None


def _exit(text: str) -> re.Match[str] | None:
    low = text.lower()
    if "exit" not in low and "return" not in low:  # one of them stands in every sign
        return None
    return _EXIT.search(text) if any(map(low.__contains__, _EXIT_SIGNS)) else None


def _failed(text: str) -> bool:
    """Whether it counts failures or errors (not none of them), or a line begins with FAILED or ERR!."""
    for word in (" failed", " error"):
        end = text.find(word)
        while end >= 0:
            # Found from the word: most texts have many digits and few of these.
            if end and _COUNTED.match(text, end - 1) and _COUNT.search(text[max(0, end - 8) : end]):
                return True
            end = text.find(word, end + 1)
    if "FAILED" not in text and "ERR!" not in text:
        return False
    return any(_FAILED_STARTS.match(line) for line in text.split("\n"))


def _from_json(text: str) -> tuple[Outcome, str | None] | None:
    try:
        value = msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    for key in _ERROR_KEYS:
        error = value.get(key)
        if error not in (None, "", False, [], {}):
            line = error if isinstance(error, str) else msgspec.json.encode(error).decode()
            return "denied" if _DENIED.match(line) else "error", _line(line)
    for key in ("status", "decision", "outcome"):
        state = value.get(key)
        if isinstance(state, str) and state.lower() in _DENIED_STATES:
            return "denied", _line(str(value.get("reason") or value.get("message") or text))
    if value.get("is_error") is True or value.get("isError") is True:
        return "error", _line(text)
    for key in _EXIT_KEYS:
        code = value.get(key)
        if isinstance(code, int) and not isinstance(code, bool):
            return ("ok", None) if code == 0 else ("error", _error_line(str(value.get("stderr") or text)))
    for key in ("success", "ok"):
        if value.get(key) is False:
            return "error", _line(text)
    return None


def _error_line(text: str) -> str | None:
    """The line that tells what went wrong: the last `SomeError: ...`, else the first `error` line, else the first."""
    window = text[:_WINDOW] + ("\n" + text[-_WINDOW:] if len(text) > _WINDOW else "")
    named = first = None
    for line in window.split("\n"):
        if _NAMED_ERROR.match(line):
            named = line
        elif first is None and _ERROR_WORD.search(line):
            first = line
    return _line(named or first or window)


def _line(text: str) -> str | None:
    for line in text.split("\n"):
        cleaned = line.strip().removeprefix("<tool_use_error>").removesuffix("</tool_use_error>").strip()
        if cleaned:
            return cleaned[:400]
    return None
