"""Task folders of agents that live in an editor (Cline, Roo, Kilo): where they stand, and what their texts are made of.

A folder holds `api_conversation_history.json`, `ui_messages.json` and small files beside them. Calls of tools stand in
native blocks, or as XML in the answer with the result in the next user text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentmem.formats.loose import decode
from agentmem.formats.messages import arguments_text
from agentmem.formats.shared.rewriting import newest
from agentmem.formats.source import Unreadable, read_at
from agentmem.formats.usage import ANTHROPIC, OPENAI, amount, money_of
from agentmem.model import Field, TokenCounter, Usage
from agentmem.pattern import pattern

HISTORY = "api_conversation_history.json"
UI = "ui_messages.json"
ITEM = "history_item.json"
_HEAD = 65536
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_MOST_TASKS = 2000
TOOLS = (
    "execute_command|read_file|write_to_file|replace_in_file|apply_diff|apply_patch|insert_content|search_and_replace"
    "|search_files|list_files|list_code_definition_names|codebase_search|browser_action|use_mcp_tool"
    "|access_mcp_resource|ask_followup_question|attempt_completion|plan_mode_respond|new_task|condense|switch_mode"
    "|update_todo_list|fetch_instructions|load_mcp_documentation|web_fetch|web_search|summarize_task|new_rule"
    "|report_bug|edit_file|run_slash_command|generate_image|skill"
)
_CALL = pattern(rf"<({TOOLS})>(.*?)</\1>", re.DOTALL)
_ARGUMENT = pattern(r"<([a-z_]{1,40})>(.*?)</\1>", re.DOTALL)
_RESULT = pattern(rf"\[({TOOLS})(?: for .{{0,4000}}?)?\] Result:[ \t]*\n?", re.DOTALL)
_ASK = pattern(r"<(task|user_message|feedback)>\s*(.*?)\s*</\1>", re.DOTALL)
_ITEM = pattern(r"^[ \t]*(?:[-*][ \t]*)?\[([ xX~-])\][ \t]+(.+?)[ \t]*$", re.MULTILINE)
ENVIRONMENT = "<environment_details>"


def xml_calls(text: str) -> Iterator[tuple[int, int, str | None, str]]:
    """An answer cut into words and calls: (start, end, tool, arguments); tool None for words."""
    done = 0
    for match in _CALL.finditer(text):
        if text[done : match.start()].strip():
            yield done, match.start(), None, ""
        arguments = {found.group(1): found.group(2).strip("\n") for found in _ARGUMENT.finditer(match.group(2))}
        yield match.start(), match.end(), match.group(1), arguments_text(arguments)
        done = match.end()
    if text[done:].strip() or done == 0:
        yield done, len(text), None, ""


def result_header(text: str) -> tuple[str, int] | None:
    """(tool, length of the header) of a user text that begins with the result of a call."""
    match = _RESULT.match(text)
    return None if match is None else (match.group(1), match.end())


def request_span(text: str) -> tuple[int, int] | None:
    """What the person asked for, inside its tags; None for what the program itself says."""
    match = _ASK.search(text)
    if match is not None and match.group(2):
        return match.span(2)
    stripped = text.lstrip()
    return None if stripped.startswith((ENVIRONMENT, "[", "<")) or not stripped else (0, len(text))


def request_of(text: object) -> Mapping[str, Any] | None:
    """What the text of `api_req_started` says, which is JSON; None if it is none."""
    try:
        told = decode(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else None
    except ValueError:
        return None
    return told if isinstance(told, Mapping) else None


def usage_of_request(told: Mapping[str, Any], *, whole: bool) -> Usage | None:
    """Usage of one request. `whole`: `tokensIn` counts what was cached too, which a smaller count never does."""
    given, read, wrote = (amount(told.get(name)) for name in ("tokensIn", "cacheReads", "cacheWrites"))
    if given is None:
        return None
    cached = (read or 0) + (wrote or 0)
    prompt, rule = (given, OPENAI) if whole and given >= cached else (given + cached, ANTHROPIC)
    output, cost = amount(told.get("tokensOut")), money_of(told.get("cost"))
    return Usage(prompt, read, wrote, output, None, cost, rule, "api_req_started")


def checklist(text: str, count: TokenCounter) -> tuple[Field, ...]:
    """Fields of a plan given as a Markdown checklist."""
    return tuple(
        Field(f"plan[{index}]", match.group(2), count(match.group(2)), done=match.group(1) in "xX")
        for index, match in enumerate(_ITEM.finditer(text[:100_000]))
    )


# -- finding ------------------------------------------------------------------------------------------------------


def history_of(path: Path) -> Path | None:
    """The history of a task, given its folder or one of its files."""
    folder = path if path.is_dir() else path.parent
    found = path if path.name == HISTORY else folder / HISTORY
    return found if found.is_file() else None


def tasks_of(folder: Path) -> list[Path]:
    """Histories of the task in a folder, or of the tasks in its folders; newest first."""
    own = history_of(folder)
    if own is not None:
        return [own]
    found: list[Path] = []
    try:
        for entry in folder.iterdir():
            if len(found) >= _MOST_TASKS:
                break
            if not entry.is_symlink() and (entry / HISTORY).is_file():
                found.append(entry / HISTORY)
    except OSError:
        return []
    return newest(found)


def _below(extensions: Iterable[str]) -> list[str]:
    """Folders of tasks below a home, of the editors and of what they start on a machine that they reach."""
    data = [f"{base}/{editor}" for base in (".config", "Library/Application Support") for editor in _EDITORS]
    data += [f"{name}/data" for name in (".vscode-server", ".vscode-server-insiders", ".cursor-server")]
    return [f"{base}/User/globalStorage/{extension}/tasks" for base in data for extension in extensions]


def everywhere(extensions: Iterable[str]) -> tuple[str, ...]:
    """Globs of all tasks of these extensions."""
    return tuple(f"~/{below}/*/{HISTORY}" for below in _below(extensions))


def places_of(folder: Path, extensions: Iterable[str], more: Iterable[Path] = ()) -> list[Path]:
    """Histories of tasks that were given in this folder, newest first."""
    roots = [Path.home() / below for below in _below(extensions)]
    found = [path for root in (*roots, *more) if root.is_dir() for path in tasks_of(root)]
    return [path for path in newest(found) if _works_in(path, folder)]


def _works_in(history: Path, folder: Path) -> bool:
    """Whether the item beside a task, or its first request, names this folder as the place to work in."""
    try:
        item = decode(read_at(history.with_name(ITEM), 0, _HEAD))
        if isinstance(item, Mapping) and isinstance(item.get("workspace"), str):
            return bool(item["workspace"].rstrip("/") == str(folder))
    except (Unreadable, OSError, ValueError):
        pass  # not every agent keeps one: the request tells
    try:
        head = read_at(history, 0, _HEAD)
    except (Unreadable, OSError):
        return False
    place = re.escape(str(folder).encode())
    return re.search(rb"Current (?:Working|Workspace) Directory \(" + place + rb"\)", head) is not None


def texts_of(value: Mapping[str, Any]) -> Iterator[str]:
    """Texts of one message."""
    content = value.get("content")
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping) and isinstance(block.get("text"), str):
            yield block["text"]
