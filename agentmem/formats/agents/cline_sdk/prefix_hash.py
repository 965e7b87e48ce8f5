"""The hash by which a Cline compaction names the messages that it replaces (SHA-256, second version, SDK 0.0.78).

Made of role, content and durable metadata of each message as JSON in the writer's own notation; what the person typed
is taken without its wrapping. The first version also held ids and times; the program itself drops such compactions.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

_FIELDS = ("agent", "sessionId", "metadata", "modelInfo", "metrics")
_BLANK = " \t\n\r\v\f\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))


def prefix_start(count: int) -> bytes:
    """What the hash of `count` messages begins with."""
    return f"cline-session-compaction-source-v2\n{count}\n".encode()


def source_line(message: Mapping[str, Any]) -> bytes:
    """What one message adds to the hash."""
    plain = _normal(message)
    line = [["role", plain.get("role")], ["content", plain.get("content")]]
    line.extend([name, plain.get(name)] for name in _FIELDS)
    return (stringify(line) + "\n").encode("utf-8", "surrogatepass")


def boundary_key(message: Mapping[str, Any]) -> str:
    """How an older compaction names the last message that it replaces."""
    ident, at, role = message.get("id"), message.get("ts"), message.get("role")
    if isinstance(ident, str) and ident.strip(_BLANK):
        return f"id:{ident.strip(_BLANK)}"
    if isinstance(at, int | float) and not isinstance(at, bool):
        return f"ts:{role}:{stringify(at)}"
    return f"content:{role}:{stringify(_normal(message).get('content'))}"


def stringify(value: object) -> str:
    """JSON in JavaScript's notation: no spaces, keys in their order, numbers as it writes them."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int | float):
        return _number(value) if abs(value) > 2**53 or isinstance(value, float) else str(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{stringify(str(key))}:{stringify(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(stringify, value)) + "]"
    return "null"


def _number(given: float) -> str:
    try:
        value = float(given)
    except OverflowError:
        return "null"
    if not math.isfinite(value):
        return "null"
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    digits, _, exponent = repr(value).partition("e")
    if not exponent:
        return digits
    power = int(exponent)
    if -7 < power < 0:
        sign, body = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
        return sign + "0." + "0" * (-power - 1) + body.replace(".", "")
    return f"{digits}e{'+' if power > 0 else '-'}{abs(power)}"


def _normal(message: Mapping[str, Any]) -> Mapping[str, Any]:
    if message.get("role") != "user":
        return message
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": _typed(content)}
    if not isinstance(content, list):
        return message
    blocks = [
        {**block, "text": _typed(block["text"])}
        if isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str)
        else block
        for block in content
    ]
    return {**message, "content": blocks}


def _typed(text: str) -> str:
    """What the person typed, without the tags around it."""
    command = re.match(r'<user_command\b([^>]*)>', text.strip(_BLANK), re.IGNORECASE)
    out = text.strip(_BLANK)
    for tag in ("user_input", "user_command"):
        inner = re.sub(rf"<{tag}\b[^>]*>([\s\S]*?)</{tag}>", r"\1", out)
        out = (inner if inner != out else re.sub(rf"<{tag}[^>]*>", "", out)).strip(_BLANK)
    for tag in ("mode_notice", "environment_notice"):
        out = _without(out, tag).strip(_BLANK)
    slash = re.search(r'slash="([^"]+)"', command.group(1), re.IGNORECASE) if command else None
    if slash is None:
        return out
    name = slash.group(1).strip(_BLANK)
    return f"/{name} {out}" if out else f"/{name}"


def _without(text: str, tag: str) -> str:
    opening, closing = f"<{tag}>", f"</{tag}>"
    start = text.find(opening)
    while start >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            break
        text = text[:start] + text[end + len(closing) :]
        start = text.find(opening, start)
    return text
