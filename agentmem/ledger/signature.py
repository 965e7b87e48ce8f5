"""What an attempt was, as a hash of its strategy and not of its text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import xxhash

from agentmem.ledger.given import only_text
from agentmem.pattern import pattern

TALK = frozenset({"thought", "thoughts", "reasoning", "description", "summary", "explanation"})
"""Arguments that say why, not what; they are no part of a signature."""
_CODE_ARGUMENTS = frozenset({"code", "source", "script", "python", "sql", "q", "query", "program"})
_CODE_TOOLS = frozenset({"python", "ipython", "jupyter", "code", "javascript", "node", "sql", "notebook", "repl"})
_THINKING_TOOLS = frozenset({"think", "thinking", "thought", "reason", "reflect", "reflection", "sequentialthinking"})
SHELL_TOOLS = frozenset({"bash", "shell", "sh", "zsh", "terminal", "exec", "cmd", "command", "powershell", "console"})
_SHELL_ARGUMENTS = frozenset({"command", "cmd", "commands", "script", "cmdline", "commandline"})

PATHS = ("path", "file_path", "filepath", "filename", "file", "target_file", "notebook_path", "absolute_path", "uri")
OLD = ("old_string", "old_str", "old_text", "old", "search", "oldText", "old_content", "find")
NEW = ("new_string", "new_str", "new_text", "new", "replace", "newText", "new_content", "replacement")
WHOLE = ("content", "file_text", "contents", "file_content")
PATCHES = ("patch", "input", "diff", "patch_text")
_WRITTEN = frozenset((*OLD, *NEW, *WHOLE, *PATCHES, "edits"))
"""Arguments whose text goes into a file, where a line's indentation has a meaning."""

_CAMEL = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")
_QUOTED = pattern(r"""('[^']*+(?:'|\Z)|"(?:\\.|[^"\\])*+(?:"|\\?\Z))""", re.S)
_SPACE = pattern(r"\s+")
_SHELL_COMMENT = pattern(r"(?:^|[ \t;])#")
_LEX = pattern(
    r"""(?P<string>\"{3}(?s:.*?)(?:\"{3}|\Z)|'{3}(?s:.*?)(?:'{3}|\Z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)"""
    r"""|(?P<block>/\*)|(?P<rest>//|--(?=\s)|\#)"""
    r"""|(?P<line>\n)|(?P<space>[^\S\n]+)|(?P<word>\w+)|(?P<other>.)"""
)
_DIRECTIVE = pattern(r"#\s*(?:include|define|undef|if|ifdef|ifndef|else|elif|endif|pragma|error|region|endregion)\b")


_MOST_BITS = 13_000
"""Of an integer: Python refuses to write one of more than 4,300 digits as a text."""


def digest(text: str) -> str:
    """16 hex digits (xxh3, 64 bits). Any text, lone surrogates included."""
    return xxhash.xxh3_64_hexdigest(text.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=1024)
def words(tool: str) -> tuple[str, ...]:
    """The words of a tool's name in lower case, without the name of its server: `mcp__fs__readFile` -> `read file`."""
    name = tool.rsplit("__", 1)[-1] or tool
    return tuple(word.lower() for word in _CAMEL.findall(name))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return hex(value)
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return repr(value)


def _deep(value: object) -> str:
    """A text for what is nested too deeply to be gone through, or holds itself."""
    try:
        return _ENCODE(value)
    except (TypeError, ValueError, RecursionError):
        return "nested too deeply to read"


_ENCODE = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode


def dumps(value: object) -> str:
    """Canonical JSON: keys sorted, no spaces, non-ASCII as it is."""
    return _ENCODE(value)


def parsed(arguments: str | Mapping[str, Any]) -> object:
    """The value behind the arguments; the text itself where it is no JSON (or nested too deeply to read)."""
    if not isinstance(arguments, str):
        try:
            return _plain(arguments)
        except RecursionError:
            return _deep(arguments)
    if not arguments or arguments.lstrip()[:1] not in '{["-0123456789tfnNI':
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def canonical_arguments(arguments: str | Mapping[str, Any]) -> str:
    """Canonical JSON of the arguments; the text as given where it is no JSON."""
    return canonical_of(arguments, parsed(arguments))


def canonical_of(arguments: str | Mapping[str, Any], value: object) -> str:
    """`canonical_arguments` where the value behind the arguments is at hand."""
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
        if kind in ("rest", "block"):
            end = _comment_end(code, match.start(), kind, fresh, before, out)
            if end:
                position, space = end, True
                continue
            text, position, kind = text[:1], match.start() + 1, "other"
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


def _comment_end(code: str, at: int, kind: str, fresh: bool, before: str, out: list[str]) -> int:
    """Where the comment that may begin at `at` ends; 0 if none begins there."""
    if kind == "block":
        end = code.find("*/", at + 2) if before in "\n ;{}(," else -2
        return 0 if end == -2 else len(code) if end < 0 else end + 2
    if code[at] == "#":
        comment = not (fresh and _DIRECTIVE.match(code, at)) and (fresh or before in " ;:,)]}\"'")
    elif code[at] == "-":
        comment = fresh or before in " ;"
    else:
        comment = fresh or not out or out[-1][-1] in ";{},"
    end = code.find("\n", at) if comment else -1
    return 0 if not comment else len(code) if end < 0 else end


def code_signature(code: str) -> str:
    """16 hex digits of the code with comments, blank lines and white space differences removed."""
    return digest(f"code\0{normal_code(only_text(code, 'code_signature: code'))}")


def fold(text: str) -> str:
    """White space folded: every run of it one space, none at the ends."""
    return " ".join(text.split())


def _indented(text: str) -> str:
    """White space folded inside each line; its indentation stays, behind a patch's sign too, and empty lines go."""
    lines = []
    for line in text.splitlines():
        words_of = line.split()
        if words_of:
            sign = line[0] if line[0] in "+-" else ""
            rest = line[len(sign) :]
            indent = rest[: len(rest) - len(rest.lstrip())]
            lines.append(sign + indent + (fold(rest) if sign else " ".join(words_of)))
    return "\n".join(lines)


def _command(text: str) -> str:
    """A command line without its comments, folded outside quotes; what it writes from here on keeps its indentation.

    A `#` before a quote on its line may be quoted: it stays.
    """
    if "#" in text:
        lines = []
        for line in text.split("\n"):
            quote = max(line.rfind("'"), line.rfind('"'), line.rfind("`"))
            found = _SHELL_COMMENT.search(line, quote + 1) if not line.startswith("#!") else None
            lines.append(line if found is None else line[: found.end() - 1])
        text = "\n".join(lines)
    if "<<" in text:
        return _indented(text)
    if "'" not in text and '"' not in text:
        return fold(text)
    return "".join(part if at % 2 else _SPACE.sub(" ", part) for at, part in enumerate(_QUOTED.split(text))).strip()


def _folded(value: object, depth: int = 0, written: bool = False) -> object:
    """`written`: the texts in it go into a file."""
    if isinstance(value, str):
        return _indented(value) if written else fold(value)
    if depth > 50:
        return value
    if isinstance(value, dict):
        return {key: _folded(item, depth + 1, key in _WRITTEN) for key, item in value.items()}
    if isinstance(value, list):
        return [_folded(item, depth + 1, written) for item in value]
    return value


def signature(tool: str, arguments: str | Mapping[str, Any]) -> str:
    """16 hex digits of the tool's name and its canonical arguments.

    White space is folded, but for the indentation of what goes into a file and for what a command line quotes.
    Arguments that only talk (`TALK`) are left out, except for tools that do nothing but think; code stands without
    comments and layout, command lines without comments. Arguments that are no JSON count as text.
    """
    return signature_of(only_text(tool, "signature: tool"), arguments, parsed(arguments))


def signature_of(tool: str, arguments: str | Mapping[str, Any], value: object) -> str:
    """`signature` where the value behind the arguments is at hand."""
    name = frozenset(words(tool))
    shell = not name.isdisjoint(SHELL_TOOLS)
    code = not name.isdisjoint(_CODE_TOOLS)
    if isinstance(value, dict):
        if name.isdisjoint(_THINKING_TOOLS):
            value = {key: item for key, item in value.items() if key.lower() not in TALK}
        kept: dict[str, object] = {}
        file = not value.keys().isdisjoint(PATHS) or not value.keys().isdisjoint(PATCHES)
        for key, item in value.items():
            low = key.lower()
            if isinstance(item, str) and shell and low in _SHELL_ARGUMENTS:
                kept[key] = _command(item)
            elif isinstance(item, str) and low in _CODE_ARGUMENTS and (code or low in ("code", "source", "python")):
                kept[key] = normal_code(item)
            else:
                kept[key] = _folded(item, written=file and key in _WRITTEN)
        body = _safe_dumps(kept, arguments)
    elif isinstance(value, str):
        body = _command(value) if shell else normal_code(value) if code else fold(value)
    else:
        body = _safe_dumps(_folded(value), arguments)
    return digest(f"{tool}\0{body}")


def _safe_dumps(value: object, arguments: str | Mapping[str, Any]) -> str:
    try:
        return dumps(value)
    except (ValueError, RecursionError):
        return fold(arguments if isinstance(arguments, str) else repr(arguments))
