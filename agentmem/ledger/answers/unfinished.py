"""Whether an answer says that what was asked about has not finished: such a call waits, and is no loop.

How much a word counts for depends on who says it. A tool that tells how something stands may say it in any short way;
any other tool has to say it in one sentence or under a key of a short object; a file, a page, a search or a test that
holds the word says nothing of the kind, and neither does a call that starts something: to start it again is no wait.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from agentmem.ledger.answers.own_words import SIGNS, inbox_waits, program_waits
from agentmem.ledger.answers.progress import denies, json_unfinished, says_unfinished, speaks_of_failure
from agentmem.ledger.shell import READS, is_test, split, unwrapped
from agentmem.ledger.signature import SHELL_TOOLS, words
from agentmem.pattern import pattern

Manner = Literal["status", "plain", "content", "starts", "never"]

_LONG = 600
"""Characters of an answer that are still looked at whole; of a longer one only the ends."""
_STATUS_LONG = 8_000
_SENTENCE = 200
"""Characters, and 3 lines: the longest text that counts as a sentence."""
_STILL = pattern(
    r"\bstill\s+(?:running|in progress|waiting|building|pending|processing|executing|working|queued|starting)\b"
    r"|\bno new output\b|\bno output yet\b|\bnot (?:yet )?(?:finished|completed|ready)\b", re.I,
)  # fmt: skip
"""What hardly anything but a process that goes on says."""
_STILL_SIGNS = ("still", "no new output", "no output yet", "not ")
_MEANWHILE = pattern(
    r"(?<!rebase )(?<!merge )(?<!pick )(?<!revert )(?<!bisect )(?<!session )\bin[ _-]progress\b|\bpending\b", re.I
)
_SIGNS = (
    "ing", "progress", "queue", "sched", "not", "n't", "no new output", " yet", "still", "%", "false",
    "under way", "underway", "submitted", "busy", "percent", *SIGNS,
)  # fmt: skip
"""One of them stands in every answer that says so: much cheaper to look for."""
_ASKS = frozenset({
    "status", "state", "progress", "poll", "phase", "job", "jobs", "queue", "pipeline", "pipelines", "deployment",
    "build", "builds", "workflow", "run", "runs", "operation", "task", "batch", "check", "checks", "monitor", "ready",
    "readiness", "watch", "rollout", "pods", "pod",
})  # fmt: skip
_ASKS_FIRST = frozenset({"status", "state", "progress", "poll", "phase"})
_STARTS = frozenset({
    "run", "start", "launch", "execute", "trigger", "begin", "schedule", "enqueue", "queue", "spawn", "dispatch",
    "invoke", "retry", "rerun", "resume", "build", "export", "import", "render", "train", "compile", "generate",
    "process", "task", "deploy", "batch",
})  # fmt: skip
_CONTENT = frozenset({
    "file", "files", "filesystem", "document", "documents", "doc", "docs", "page", "web", "url", "search", "grep",
    "glob", "read", "view", "cat", "open", "browse", "browser", "websearch", "webfetch", "recall", "memory", "note",
    "notes", "diff", "code", "source", "explain", "think", "thinking", "thought", "git", "log", "logs", "test", "tests",
    "issue", "issues", "ticket", "tickets", "card", "story", "epic", "ls", "directory", "sql", "editor",
})  # fmt: skip
_NEVER = frozenset({"todo", "todos", "todowrite", "todoread", "plan"})
_SERVED = frozenset({
    "service", "services", "server", "container", "containers", "instance", "instances", "vm", "machine", "daemon",
    "database", "cluster", "cron", "systemctl", "docker", "podman", "kubectl", "supervisorctl", "pod", "pods", "app",
})  # fmt: skip
_ASKED = _ASKS - {"run", "runs", "build", "builds", "check", "checks", "watch", "task", "ready"}
"""Of the words of a command line: the others are what programs do as often as what they are asked about."""
_ASKING = frozenset({
    "curl", "http", "gh", "glab", "kubectl", "oc", "helm", "squeue", "sacct", "aws", "gcloud", "az", "systemctl",
    "service", "docker", "podman", "supervisorctl", "nomad", "terraform", "jobs",
    "pg_isready",
})  # fmt: skip
_STATUS_FILE = pattern(
    r"(?:[a-z0-9]+[_-])?(?:status|state|progress)(?:[_-]?[a-z0-9]+)?(?:\.(?:json|txt|log|ya?ml|out))?"
    r"|[\w-]+\.(?:status|state|progress)", re.I,
)  # fmt: skip
_FRAME = pattern(
    r"<returncode>0</returncode>|</?output>|^\[(?:the command completed|current working|python interpreter|command fin)"
    r".*$|^(?:chunk id|wall time|process exited with code 0|original token count|exit code: 0|output:).*$", re.I | re.M
)  # fmt: skip
"""What shells put around the output of a program."""


def may_run(result: str) -> bool:
    """Whether it is worth while to ask `still_runs`."""
    low = (result if len(result) <= _STATUS_LONG else f"{result[:200]}\n{result[-200:]}").lower()
    return any(map(low.__contains__, _SIGNS))


def still_runs(name: tuple[str, ...], command: str | None, result: str, *, whole: bool = True) -> bool:
    """Whether the answer of a call that succeeded says that something goes on.

    `name`: the words of the tool's name; `command`: the line it runs, if it is a shell; `whole`: False where `result`
    is only the beginning of the answer, which then has to say it plainly.
    """
    if not may_run(result):
        return False
    manner = _of_command(command) if command is not None else _of_name(name)
    if manner == "never":
        return False
    text = result if command is None or len(result) > _STATUS_LONG else _FRAME.sub("", result)
    text = text.strip()
    sentence = whole and len(text) <= _SENTENCE and text.count("\n") < 3
    ends = text if len(text) <= _LONG else f"{text[:200]}\n{text[-200:]}"
    low = ends.lower()
    if manner != "content" or not SHELL_TOOLS.isdisjoint(name) or (sentence and "\n" not in text):
        if any(map(low.__contains__, _STILL_SIGNS)) and _STILL.search(ends) is not None and not speaks_of_failure(ends):
            return True
    if manner in ("content", "starts") or not whole:
        return False
    if inbox_waits(name, text) if command is None else any(program_waits(line, text) for line in _programs(command)):
        return True
    lenient = manner == "status"
    served = not _SERVED.isdisjoint(name if command is None else words(command[:300]))
    if len(text) <= (_STATUS_LONG if lenient else _LONG):
        found = json_unfinished(text, lenient, served)
        if found is not None:
            return found
    meanwhile = ("progress" in low or "pending" in low) and _MEANWHILE.search(ends) is not None
    if meanwhile and not speaks_of_failure(ends) and not denies(ends):
        return True
    return sentence and says_unfinished(text, lenient, served)


@lru_cache(maxsize=1024)
def _of_name(name: tuple[str, ...]) -> Manner:
    if not _NEVER.isdisjoint(name):
        return "never"
    if not SHELL_TOOLS.isdisjoint(name):
        return "content"
    asks = not _ASKS_FIRST.isdisjoint(name)
    if not asks and name[:1] and name[0] in _STARTS and (len(name) > 1 or name[0] in ("run", "start", "task")):
        return "starts"
    if asks:
        return "status"
    if not _CONTENT.isdisjoint(name):
        return "content"
    return "plain" if _ASKS.isdisjoint(name) else "status"


@lru_cache(maxsize=1024)
def _programs(command: str) -> list[list[str]]:
    """What a shell runs, each with its words."""
    return [line for line in (unwrapped(found) for found, _ in split(command)) if line]


@lru_cache(maxsize=1024)
def _of_command(command: str) -> Manner:
    """Of a shell by what it runs: one program that asks how something stands is enough, a test or git is not one."""
    programs = [(line, line[0].rsplit("/", 1)[-1]) for line in _programs(command)]
    if any(program == "git" or is_test(line) for line, program in programs):
        return "content"
    for line, program in programs:
        if program in _ASKING:
            return "status"
        if program in READS:
            if any(_STATUS_FILE.fullmatch(part.rsplit("/", 1)[-1]) for part in line[1:]):
                return "status"
        elif not _ASKED.isdisjoint(words(" ".join(line[:3]))):
            return "status"
    return "content"
