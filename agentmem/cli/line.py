"""`agentmem line [PATH]`: one line of at most 80 cells for a status bar."""

from __future__ import annotations

from agentmem import safe
from agentmem.cli.common import opened, parser, patiently, shown
from agentmem.cli.output import document, text
from agentmem.inspect.discover import find
from agentmem.inspect.telling.status_line import status_line
from agentmem.model import Run


def run(arguments: list[str]) -> int:
    asked = parser("line", "One line for a status bar; of several runs the one that changed last.")
    args = asked.parse_args(arguments)
    if args.run is None:
        newest = patiently(lambda: find([args.path] if args.path else [])[0], args.path)
        args.path, args.run = newest.path, newest.id

    def show(value: Run) -> None:
        line = safe.line(status_line(value))
        if args.json:
            document("line", {"line": line})
        else:
            text([line])

    return shown(args, opened(args), show)
