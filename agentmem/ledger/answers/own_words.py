"""What says in words of its own that something has not finished: a cluster's pods, a queue of jobs, a server that is
coming up, an inbox in which nothing is yet.

A refused connection is none of them: a server that crashed answers as one that is about to start.
"""

from __future__ import annotations

import re

from agentmem.pattern import pattern

_POD = pattern(r"(?:^|\s)(?:ContainerCreating|PodInitializing|Init:\d+/\d+|Pending|Terminating)(?:\s|$)")
_POD_FAILED = pattern(r"BackOff|Err(?:or)?[A-Z]\w+|Error|Evicted|OOMKilled|Invalid\w+|Failed|Unschedulable")
_JOB = pattern(r"(?:^|\s)(?:PD|CF|CG|R)\s+(?:\d+-)?\d+:\d\d\b")
"""State and time used of a row of `squeue`: pending, configuring, completing, running."""
_JOB_STUCK = pattern(r"NeverSatisfied|JobHeld|BadConstraints|Invalid\w+|launch failed", re.I)
_COMING_UP = pattern(r"\brejecting connections\b")
_INBOXES = frozenset({
    "inbox", "mailbox", "mail", "mails", "email", "emails", "messages", "notifications", "replies",
    "message", "notification", "reply",
})
_LOOKS = frozenset({"check", "poll", "receive", "fetch", "get", "read", "list", "wait", "await", "watch"})
_THINGS = r"(?:e?mails?|messages?|notifications?|repl(?:y|ies))"
_NOTHING_YET = pattern(
    r"\W*(?:(?:you have|there are|inbox:?|your inbox has)\s+)?"
    rf"(?:no (?:new|unread|incoming) {_THINGS}(?: yet| found| available)?|no {_THINGS} (?:yet|available)"
    r"|(?:the |your )?(?:inbox|mailbox) is (?:still )?empty)\W*",
    re.I,
)
SIGNS = ("init:", " pd ", " cf ", " cg ", " r ", "no new", "no unread", "no incoming", " available", "is empty")
"""One of them stands in what says so here, beside those of `unfinished`."""


def program_waits(line: list[str], text: str) -> bool:
    """Whether the output of that program (its words, the first without its path) says so."""
    program, rest = line[0].rsplit("/", 1)[-1], line[1:]
    if program in ("kubectl", "oc"):
        pods = "get" in rest and any(word.partition("/")[0] in ("pod", "pods", "po") for word in rest)
        return pods and _POD.search(text) is not None and _POD_FAILED.search(text) is None
    if program == "squeue":
        return _JOB.search(text) is not None and _JOB_STUCK.search(text) is None
    return program == "pg_isready" and _COMING_UP.search(text) is not None


def inbox_waits(name: tuple[str, ...], text: str) -> bool:
    """Whether a tool that looks into an inbox says that nothing has come; a search that finds nothing is none."""
    looks = bool(name) and not _LOOKS.isdisjoint(name) and not _INBOXES.isdisjoint(name) and "search" not in name
    return looks and _NOTHING_YET.fullmatch(text) is not None
