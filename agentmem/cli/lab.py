"""`agentmem lab`: a growing string against the bounded state over 30 iterations, as text, JSON and a picture."""

from __future__ import annotations

from pathlib import Path

from agentmem.cli.common import Parser, Refused
from agentmem.cli.output import block, document, wrote
from agentmem.experiments import lab


def run(arguments: list[str]) -> int:
    asked = Parser(prog="agentmem lab", description="A growing string against the bounded state; no model is called.")
    asked.add_argument("--json", action="store_true", help="one JSON document on standard output")
    asked.add_argument("--iterations", type=int, default=lab.ITERATIONS, metavar="N", help="how long the task is")
    asked.add_argument("--plot", type=Path, metavar="FILE.svg", help="a picture")
    asked.add_argument("--write-runs", type=Path, metavar="DIR", help="both runs as checkpoints, for the inspector")
    args = asked.parse_args(arguments)
    try:
        found = lab.run(args.iterations)
    except ValueError as wrong:
        raise Refused(f"lab: {wrong}") from None
    if args.plot:
        wrote(args.plot, lab.plot_svg(found))
    if args.write_runs:
        lab.write_runs(args.write_runs, args.iterations)
    if args.json:
        document("lab", found.to_dict())
    else:
        block("\n".join([lab.lab_table(found), "", *lab.verdicts(found)]))
    return 0
