"""A summary that stands for older messages, cut at the section that restates the goal, where it has one.

The goal's section is a piece of its own, so that a prompt whose first request is gone but whose summary restates it is
told apart from one that has neither.
"""

from __future__ import annotations

import re

from agentmem.formats.messages import Part
from agentmem.pattern import pattern

_GOALS = (
    pattern(r"^#{1,3}[ \t]*Goal\b[^\n]*\n(.*?)(?=^#{1,3}[ \t]|\Z)", re.MULTILINE | re.DOTALL | re.IGNORECASE),
    pattern(r"<overall_goal>(.*?)</overall_goal>", re.DOTALL),
)
_LONGEST = 200_000


def split_summary(text: object) -> list[Part]:
    """Pieces of a summary, in order: what stands before the goal, the goal, the rest. One piece without text for one
    that is missing or encrypted."""
    if not isinstance(text, str) or not text.strip():
        return [Part("summary", None)]
    for wanted in _GOALS if len(text) <= _LONGEST else ():
        found = wanted.search(text)
        if found is None or not found.group(1).strip():
            continue
        before, goal, after = text[: found.start(1)], found.group(1).strip(), text[found.end(1) :]
        parts = [Part("summary", before), Part("goal", goal), Part("summary", after)]
        return [part for part in parts if part.text and part.text.strip()]
    return [Part("summary", text)]
