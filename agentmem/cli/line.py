"""`agentmem line [PATH]`: one line of at most 80 cells for a status bar."""

from __future__ import annotations

from agentmem import safe
from agentmem.cli.common import opened, parser, patiently, shown, target_of
from agentmem.cli.output import document, text
from agentmem.inspect.discover import find
from agentmem.inspect.open import Unreadable
from agentmem.inspect.telling.status_line import status_line
from agentmem.model import Run, RunInfo


def newest_of(target: str) -> RunInfo:
    """The run of a target that changed last. Raises NoRuns, Unreadable."""
    found = find([target] if target else [])[0]
    if found.problem is not None:
        raise Unreadable(f"{found.path}: {found.problem}")
    return found


def run(arguments: list[str]) -> int:
    asked = parser("line", "One line for a status bar; of several runs the one that changed last.")
    args = asked.parse_args(arguments)
    if args.run is None:
        target = target_of(args)
        newest = patiently(lambda: newest_of(target), target)
        args.path, args.run = newest.path, newest.id

    def show(value: Run) -> None:
        line = safe.line(status_line(value))
        if args.json:
            document("line", {"line": line})
        else:
            text([line])

    return shown(args, opened(args), show)
