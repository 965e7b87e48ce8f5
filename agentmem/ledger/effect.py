"""What an attempt does to the world: changes, reads, waits or unknown, by tool name and, for a shell, by command."""

from __future__ import annotations

from agentmem.ledger.answers.unfinished import still_runs
from agentmem.ledger.given import only_text
from agentmem.ledger.shell import command_effect, sql_effect
from agentmem.ledger.signature import SHELL_TOOLS, parsed, words
from agentmem.model import Effect

_ALWAYS_CHANGES = frozenset({"replace", "edit", "multiedit", "write", "patch", "overwrite", "notebookedit"})
_CHANGES = _ALWAYS_CHANGES | frozenset({
    "create", "delete", "remove", "move", "rename", "update", "insert", "apply", "set", "put", "post", "send",
    "add", "append", "commit", "push", "upload", "install", "uninstall", "save", "store", "mkdir", "rm", "mv",
    "cp", "copy", "submit", "publish", "deploy", "merge", "modify", "change", "make", "undo", "revert",
    "restore", "reset", "kill", "stop", "cancel", "restart", "book", "pay", "order", "transfer", "remember",
    "forget", "register", "click", "type", "download", "close", "assign", "approve", "reply", "refactor",
    "format",
})  # fmt: skip
_READS = frozenset({
    "read", "get", "list", "ls", "search", "find", "grep", "glob", "view", "show", "cat", "fetch", "open",
    "query", "lookup", "look", "describe", "check", "inspect", "status", "browse", "head", "tail", "count",
    "diff", "stat", "info", "websearch", "webfetch", "recall", "retrieve", "load", "select", "scan", "explore",
    "navigate", "screenshot", "snapshot", "goto", "scroll", "test", "tests", "lint", "validate", "verify",
    "calculate", "summarize", "summarise", "compare", "explain", "think", "thinking", "thought", "reason",
    "reflect", "sequentialthinking", "todo", "todowrite", "todos", "plan", "ask",
})  # fmt: skip
_WAITS = frozenset({"wait", "sleep", "poll", "await", "pause", "delay", "waitfor", "bashoutput"})
_WAITING_TOOLS = frozenset({("bash", "output"), ("task", "output"), ("task", "list"), ("get", "command", "output")})
_BOOKKEEPING = frozenset({"todo", "todos", "todowrite", "plan"})
_OBSERVERS = frozenset({"get", "list", "read", "view", "show", "fetch", "find", "describe", "count", "check"})
_COMMANDS = ("command", "cmd", "commands", "script", "cmdline", "command_line", "input", "CommandLine")
_INPUTS = ("chars", "input", "keys", "text", "data", "command", "cmd", "keystrokes", "stdin")
_ACTIONS = ("command", "action", "operation", "subcommand", "method", "type")
_PROCESS = frozenset({"stdin", "process", "session", "input", "pty"})


def _command(value: object) -> str | None:
    """The command line in the arguments of a shell tool; None if there is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        for key in _COMMANDS:
            item = value.get(key)
            if isinstance(item, (str, list)):
                return _command(item)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        if len(value) >= 3 and str(value[1]).startswith("-") and str(value[1]).endswith("c"):
            return str(value[2])
        return " ".join(str(item) for item in value)
    return None


def command_of(tool: str, arguments: str) -> str | None:
    """The command line of a shell call; None for any other tool, or where the arguments hold none."""
    return command_in(words(tool), parsed(arguments))


def command_in(name: tuple[str, ...], value: object) -> str | None:
    """`command_of` where the words of the name and the value behind the arguments are at hand."""
    return None if SHELL_TOOLS.isdisjoint(name) else _command(value)


def _empty_input(name: tuple[str, ...], value: object) -> bool:
    """An empty input to a running process: nothing is asked but what has come meanwhile."""
    if SHELL_TOOLS.isdisjoint(name) and _PROCESS.isdisjoint(name):
        return False
    if not isinstance(value, dict):
        return isinstance(value, str) and not value.strip() and not _PROCESS.isdisjoint(name)
    given = [value[key] for key in _INPUTS if key in value]
    if given:
        return all(isinstance(item, str) and not item.strip() for item in given)
    return str(value.get("action", "")).lower() in ("poll", "log", "wait", "status")


def _by_name(name: tuple[str, ...]) -> Effect:
    if name in _WAITING_TOOLS:
        return "waits"
    if not _BOOKKEEPING.isdisjoint(name):
        return "reads"
    observes = bool(name) and name[0] in _OBSERVERS
    if not observes and not _ALWAYS_CHANGES.isdisjoint(name):
        return "changes"
    for word in name:
        if word in _WAITS:
            return "waits"
        if word in _CHANGES:
            return "changes"
        if word in _READS:
            return "reads"
    return "unknown"


def _by_action(value: object) -> Effect | None:
    if not isinstance(value, dict):
        return None
    for key in _ACTIONS:
        action = value.get(key)
        if isinstance(action, str) and action and len(action) < 40:
            found = _by_name(words(action))
            if found != "unknown":
                return found
    return None


def effect(tool: str, arguments: str) -> Effect:
    """What the call does, before its result is known.

    Plan, to-do and thinking tools read: they change what the agent says, not what a test or a search will answer.
    Code in a general language is unknown.
    """
    return effect_of(words(only_text(tool, "effect: tool")), parsed(arguments))


def effect_of(name: tuple[str, ...], value: object) -> Effect:
    """`effect` where the words of the name and the value behind the arguments are at hand."""
    if _empty_input(name, value):
        return "waits"
    if "editor" in name or "browser" in name or "git" in name:
        return _by_action(value) or _by_name(name)
    if not SHELL_TOOLS.isdisjoint(name):
        command = _command(value)
        if command is not None and command.strip():
            return command_effect(command)
        return "unknown" if _by_name(name) == "unknown" else _by_name(name)
    if "sql" in name and isinstance(value, (dict, str)):
        text = value if isinstance(value, str) else " ".join(item for item in value.values() if isinstance(item, str))
        return sql_effect(text)
    found = _by_name(name)
    return found if found != "unknown" else _by_action(value) or "unknown"


def is_waiting(tool: str, arguments: str, result: str | None) -> bool:
    """Whether the call waits for something: by its tool, by an empty input, or because the result says so."""
    if effect(tool, arguments) == "waits":
        return True
    if result is None:
        return False
    return still_runs(words(tool), command_of(tool, arguments), only_text(result, "is_waiting: result"))
