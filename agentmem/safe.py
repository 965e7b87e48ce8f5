"""Outside text -> text that a terminal can show. Pure; the one door for the commands, for the app through `tui.safe`.

Control characters become visible pictures, C1 controls, bidi controls, zero-width and tag characters, lone surrogates
and line separators become `<U+XXXX>` marks. Newline and tab stay in `block`; `line` makes them visible too.
`plain` is for a terminal that shows no more than ASCII.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import unicodedata
from functools import lru_cache

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\uffff\ud800-\udfff"
    "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_INNER = re.compile("[\t\n]")


def _mark(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"<U+{code:04X}>"


def block(text: str) -> str:
    """Text that may span lines: newline and tab stay, everything that could act on a terminal becomes a mark."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_mark, text)


def line(text: str) -> str:
    """Text for one row: newline and tab become `⏎` and a space too."""
    if text.isascii() and text.isprintable():
        return text
    return _INNER.sub(lambda m: "\u23ce" if m.group() == "\n" else " ", _UNSAFE.sub(_mark, text))


def hidden(text: str) -> int:
    """How many characters of `text` would act on a terminal or stay invisible."""
    if text.isascii() and text.isprintable():
        return 0
    return len(_UNSAFE.findall(text))


def encodable(text: str) -> str:
    """Text that encodes as UTF-8: lone surrogates become U+FFFD. For files and the clipboard."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def json_text(text: str) -> str:
    """A JSON document of which no character acts on a terminal: inside its strings they stand as escapes. The value is
    the same."""
    return _UNSAFE.sub(lambda match: json.dumps(match.group())[1:-1], text)


def name(text: str, limit: int = 80) -> str:
    """A short name for one row: made safe, normalised to one line, cut with `…`."""
    shown = line(unicodedata.normalize("NFC", text))
    return shown if len(shown) <= limit else cut_mark(shown[: limit - 1])


def cut_mark(head: str) -> str:
    """What is left of a text that is cut here, with one `…` behind it, even if it was cut at this place before."""
    return head.rstrip(" …") + "…"


ASCII = "AGENTMEM_ASCII"
"""Environment variable: `1` asks for ASCII only, `0` for all signs whatever the terminal says of itself."""
_SIGNS = str.maketrans(
    "●○■▲−▼↻✗✓→·━◆╌─▎▌≈◦│…⏎└←↑↓█▉▊▋▍▏▁▂▃▄▅▆▇▔▐╭╮╰╯┃Δ“”‘’–—×",
    "*o#^-V@xy>.=*~-|>~.|$\\`<^v####||_.-=+*%-|----|D\"\"''--x",
)
"""Our own signs, each in one cell; bars by how full they are."""


def plain(text: str) -> str:
    """ASCII in just as many cells: our signs as others, letters without their accents, all else as `?`."""
    if text.isascii():
        return text
    text = text.translate(_SIGNS)
    return text if text.isascii() else "".join(map(_plain_character, text))


@lru_cache(4096)
def _plain_character(character: str) -> str:
    if character.isascii():
        return character
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return ""
    cells = 2 if unicodedata.east_asian_width(character) in "WF" else 1
    base = unicodedata.normalize("NFKD", character)[0]
    return base.ljust(cells) if base.isascii() and base.isprintable() else "?" * cells


def shows_ascii_only(encoding: str | None, is_terminal: bool = True) -> bool:
    """Whether what is written to a stream is to be `plain`: asked for, or a terminal that has no more."""
    asked = os.environ.get(ASCII)
    if asked:
        return asked != "0"
    if not is_terminal:
        return False
    try:
        unicode = codecs.lookup(encoding or "ascii").name.startswith("utf")
    except LookupError:
        unicode = False  # an encoding that nobody knows: ASCII is in any
    return not unicode or os.environ.get("TERM") == "linux"
