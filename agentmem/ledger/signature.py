"""What an attempt was, as a hash of its strategy and not of its text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import xxhash

TALK = frozenset({"thought", "thoughts", "reasoning", "description", "summary", "explanation"})
"""Arguments that say why, not what; they are no part of a signature."""
_CODE_ARGUMENTS = frozenset({"code", "source", "script", "python", "sql", "q", "query", "program"})
_CODE_TOOLS = frozenset({"python", "ipython", "jupyter", "code", "javascript", "node", "sql", "notebook", "repl"})
_THINKING_TOOLS = frozenset({"think", "thinking", "thought", "reason", "reflect", "reflection", "sequentialthinking"})
SHELL_TOOLS = frozenset({"bash", "shell", "sh", "zsh", "terminal", "exec", "cmd", "command", "powershell", "console"})
_SHELL_ARGUMENTS = frozenset({"command", "cmd", "commands", "script", "cmdline", "commandline"})

_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")
_SPACE = re.compile(r"\s+")
_SHELL_COMMENT = re.compile(r"(?m)^[ \t]*#(?!!)[^\n]*$|(?<=[ \t;])#[^\n\"'`]*$")
_LEX = re.compile(
    r"""(?P<string>\"{3}(?s:.*?)(?:\"{3}|\Z)|'{3}(?s:.*?)(?:'{3}|\Z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)"""
    r"""|(?P<block>/\*(?s:.*?)(?:\*/|\Z))|(?P<rest>//[^\n]*|--\s[^\n]*|\#[^\n]*)"""
    r"""|(?P<line>\n)|(?P<space>[^\S\n]+)|(?P<word>\w+)|(?P<other>.)"""
)
_DIRECTIVE = re.compile(r"#\s*(?:include|define|undef|if|ifdef|ifndef|else|elif|endif|pragma|error|region|endregion)\b")


def digest(text: str) -> str:
    """16 hex digits (xxh3, 64 bits). Any text, lone surrogates included."""
    return xxhash.xxh3_64_hexdigest(text.encode("utf-8", "surrogatepass"))


def words(tool: str) -> tuple[str, ...]:
    """The words of a tool's name in lower case, without the name of its server: `mcp__fs__readFile` -> `read file`."""
    name = tool.rsplit("__", 1)[-1] or tool
    return tuple(word.lower() for word in _CAMEL.findall(name))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return repr(value)


def dumps(value: object) -> str:
    """Canonical JSON: keys sorted, no spaces, non-ASCII as it is."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def parsed(arguments: str | Mapping[str, Any]) -> object:
    """The value behind the arguments; the text itself where it is no JSON (or nested too deeply to read)."""
    if not isinstance(arguments, str):
        return _plain(arguments)
    if not arguments or arguments.lstrip()[:1] not in '{["-0123456789tfnNI':
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def canonical_arguments(arguments: str | Mapping[str, Any]) -> str:
    """Canonical JSON of the arguments; the text as given where it is no JSON."""
    value = parsed(arguments)
    if isinstance(value, str) and value is arguments:
        return arguments
    try:
        return dumps(value)
    except (ValueError, RecursionError):
        return arguments if isinstance(arguments, str) else repr(arguments)


def is_shell(tool: str) -> bool:
    """Whether the tool takes a command line, by its name: `Bash`, `exec_command`, `run_terminal_cmd`."""
    return not SHELL_TOOLS.isdisjoint(words(tool))


def _indents(lines: list[str]) -> bool:
    """Whether leading space means something: lines that end in a colon, none that ends as lines in braces do."""
    ends = {line.rstrip()[-1:] for line in lines}
    return ":" in ends and not ends & {"{", ";"}


def normal_code(code: str) -> str:
    """The code without comments, blank lines and white space differences.

    Comments of Python, the shell, SQL and the languages in braces."""
    out: list[str] = []
    levels = [0]
    depth = 0
    indented = _indents(code.splitlines())
    fresh = True
    space = False
    column = 0
    before = "\n"
    position = 0
    while position < len(code):
        match = _LEX.match(code, position)
        if match is None:
            break
        kind, text = match.lastgroup, match.group()
        position = match.end()
        if kind == "line":
            fresh, column, space, before = True, 0, False, "\n"
            continue
        if kind == "space":
            column += len(text.expandtabs(8)) if fresh else 0
            space = True
            before = " " if before != "\n" else before
            continue
        if kind == "block" and (before in "\n ;{}(,") or (kind == "rest" and _is_comment(text, fresh, before, out)):
            space = True
            continue
        if kind in ("rest", "block"):
            text = text[:1]
            position = match.start() + 1
            kind = "other"
        if fresh and depth == 0 and out:
            out.append("\n")
            if indented and column != levels[-1]:
                if column > levels[-1]:
                    levels.append(column)
                    out.append(">")
                while len(levels) > 1 and column < levels[-1]:
                    levels.pop()
                    out.append("<")
            space = False
        elif (space or fresh) and kind == "word" and out and (out[-1][-1].isalnum() or out[-1][-1] == "_"):
            out.append(" ")
        fresh = space = False
        depth = max(0, depth + (text in "([{") - (text in ")]}")) if kind == "other" else depth
        out.append(text)
        before = text[-1]
    return "".join(out)


def _is_comment(text: str, fresh: bool, before: str, out: list[str]) -> bool:
    if text[0] == "#":
        return not (fresh and _DIRECTIVE.match(text)) and (fresh or before in " ;:,)]}\"'")
    if text[0] == "-":
        return fresh or before in " ;"
    return fresh or not out or out[-1][-1] in ";{},"


def code_signature(code: str) -> str:
    """16 hex digits of the code with comments, blank lines and white space differences removed."""
    return digest(f"code\0{normal_code(code)}")


def fold(text: str) -> str:
    """White space folded: every run of it one space, none at the ends."""
    return _SPACE.sub(" ", text).strip()


def _folded(value: object, depth: int = 0) -> object:
    if isinstance(value, str):
        return fold(value)
    if depth > 50:
        return value
    if isinstance(value, dict):
        return {key: _folded(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_folded(item, depth + 1) for item in value]
    return value


def signature(tool: str, arguments: str | Mapping[str, Any]) -> str:
    """16 hex digits of the tool's name and its canonical arguments.

    White space is folded, arguments that only talk (`TALK`) are left out, except for tools that do nothing but think;
    code stands without comments and layout, command lines without comments. Arguments that are no JSON count as text.
    """
    name = frozenset(words(tool))
    value = parsed(arguments)
    shell = not name.isdisjoint(SHELL_TOOLS)
    code = not name.isdisjoint(_CODE_TOOLS)
    if isinstance(value, dict):
        if name.isdisjoint(_THINKING_TOOLS):
            value = {key: item for key, item in value.items() if key.lower() not in TALK}
        kept: dict[str, object] = {}
        for key, item in value.items():
            low = key.lower()
            if isinstance(item, str) and shell and low in _SHELL_ARGUMENTS:
                kept[key] = fold(_SHELL_COMMENT.sub("", item))
            elif isinstance(item, str) and low in _CODE_ARGUMENTS and (code or low in ("code", "source", "python")):
                kept[key] = normal_code(item)
            else:
                kept[key] = _folded(item)
        body = _safe_dumps(kept, arguments)
    elif isinstance(value, str):
        body = fold(_SHELL_COMMENT.sub("", value)) if shell else normal_code(value) if code else fold(value)
    else:
        body = _safe_dumps(_folded(value), arguments)
    return digest(f"{tool}\0{body}")


def _safe_dumps(value: object, arguments: str | Mapping[str, Any]) -> str:
    try:
        return dumps(value)
    except (ValueError, RecursionError):
        return fold(arguments if isinstance(arguments, str) else repr(arguments))
