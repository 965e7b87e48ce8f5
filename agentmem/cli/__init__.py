"""The headless twin: every screen as text or as one JSON document. One file a command; `COMMANDS` lists them.

Exit codes: 0 done; 1 findings at the chosen level; 2 a usage error or input that cannot be read, with one line on
standard error that names the file and the reason.
"""

from __future__ import annotations

import sys
from importlib import import_module

COMMANDS: dict[str, str] = {
    "show": "a run, step by step; with --step one step whole",
    "drops": "what left the prompt or the state, by name, with cause and consequence",
    "lost": "what a compaction lost, as a block to paste back into the agent",
    "diff": "two steps of a run against each other",
    "ledger": "attempts, cycles, waiting",
    "lifeline": "where a text stood, step by step",
    "line": "one line for a status bar",
    "demo": "a live scripted agent, followed like any other",
    "history": "the versions that the app keeps of files that their writer overwrites",
    "experiment": "the short-term memory experiment",
    "lab": "a growing string against a bounded state",
}


def version() -> str:
    from agentmem import __version__

    return f"agentmem {__version__}"


def usage() -> str:
    rows = "\n".join(f"  {name:<11} {what}" for name, what in COMMANDS.items())
    return (
        "usage: agentmem [watch] [PATH...]      the inspector, live\n"
        "       agentmem COMMAND PATH [options]\n\n"
        f"commands (each with --json and --help):\n{rows}\n\n"
        "Without a path, `runs/` here and the transcripts that known agents keep for this folder."
    )


def main(argv: list[str]) -> int:
    """Run one command. Returns the exit code; never raises for what stands in a file."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if argv[0] in ("-V", "--version"):
        print(version())
        return 0
    name = argv[0]
    if name not in COMMANDS:
        from agentmem.inspect.discover import told

        print(f"agentmem: no command {told(name)!r}; there are watch, {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    from agentmem.cli.common import guarded

    return guarded(import_module(f"agentmem.cli.{name}").run, name, argv[1:])
