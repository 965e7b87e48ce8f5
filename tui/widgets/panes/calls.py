"""A tool call in a few cells: the name, then the arguments that one looks for, paths shortened from the left. Pure."""

from __future__ import annotations

import json

from rich.cells import cell_len

from agentmem.pattern import pattern

from .columns import clean, cut

PLAIN = ("command", "cmd", "file_path", "path", "filename", "file", "query", "pattern", "url", "code", "input", "text")
"""Arguments whose name says nothing that their value does not."""
_LONGEST = 4_000
_FIRST = pattern(r'\{"(\w+)": ?"([^\x00]*)')
_ESCAPE = pattern(r"\\(.)")
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "n": "\n", "t": "\t", "r": "\r"}


def call_text(tool: str, arguments: str, cells: int) -> str:
    """`pytest  -x …/test_lexer.py` in at most `cells` cells, safe."""
    name = clean(tool, 40)
    said = told(tool, arguments_text(arguments, cells))
    text = f"{name}  {said}" if said else name
    if cell_len(text) <= cells:
        return text
    said = " ".join(shorten_path(word) for word in said.split(" "))
    return cut(f"{name}  {said}" if said else name, cells)


_CD = pattern(r"cd \S+ (?:&&|;) ")


def told(tool: str, said: str) -> str:
    """Arguments without what tells nothing: the tool's own name again, and the folder that a command begins with."""
    said = said.removeprefix(f"{tool} ")
    begun = _CD.match(said)
    return said[begun.end() :] if begun else said


def arguments_text(arguments: str, cells: int) -> str:
    """Arguments as one reads them: values of well-known names bare, others as `name=value`."""
    if not arguments or arguments in ("{}", "null"):
        return ""
    if arguments[0] in "{[" and len(arguments) <= _LONGEST:
        try:
            found = json.loads(arguments)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            ordered = sorted(found.items(), key=lambda item: item[0] not in PLAIN)
            return clean(" ".join(_argument(name, value) for name, value in ordered), cells)
        if isinstance(found, list):
            return clean(" ".join(map(_value, found)), cells)
    return clean(_cut_off(arguments[:_LONGEST]), cells)


def head_text(tool: str | None, head: str, cells: int) -> str:
    """The head of a call's piece (`bash {"command":"ls -l…`, cut after 120 characters) as one reads it."""
    if tool and head.startswith(tool):
        rest = head[len(tool) :].lstrip(" ")
        if rest.startswith("{"):
            return call_text(tool, rest, cells)
    return clean(head, cells)


def _cut_off(arguments: str) -> str:
    """The first argument of an object that is cut in the middle, if its name says nothing; else the text as it is."""
    found = _FIRST.match(arguments)
    if found is None or found.group(1) not in PLAIN:
        return arguments
    return _ESCAPE.sub(lambda m: _ESCAPED.get(m.group(1), m.group()), found.group(2))


def _argument(name: str, value: object) -> str:
    return _value(value) if name in PLAIN else f"{name}={_value(value)}"


def _value(value: object) -> str:
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return " ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def shorten_path(word: str) -> str:
    """`tests/fixtures/a.csv` -> `…/a.csv`: the file's name is what one looks for."""
    head, slash, tail = word.rpartition("/")
    return f"…/{tail}" if slash and tail and len(head) > 1 and "://" not in word else word
