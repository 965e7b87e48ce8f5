"""`agentmem experiment`: the short-term memory experiment, its table, profile, picture and runs."""

from __future__ import annotations

from pathlib import Path

from agentmem.cli.common import Parser, Refused
from agentmem.cli.output import block, wrote
from agentmem.cli.output import whole as print_whole
from agentmem.experiments import experiment

COLUMNS = (
    "steps: calls, and the steps that end a task and call nothing. tokens: what all calls carried of state and trace, "
    "in pieces of text. a call: tokens by the calls alone. fits: calls of a task before the first drop, all of them if "
    "nothing was dropped; the mean over the tasks. dropped: fields that left."
)


def run(arguments: list[str]) -> int:
    asked = Parser(
        prog="agentmem experiment", description="The short-term memory experiment; no model is called.", epilog=COLUMNS
    )
    asked.add_argument("--json", action="store_true", help="one JSON document on standard output")
    asked.add_argument("--window", action="append", metavar="N", help="tokens, or unlimited; may be repeated")
    asked.add_argument("--seed-offset", type=int, default=0, metavar="K", help="another draw of the same world")
    asked.add_argument("--profile", metavar="TASK", help="one task step by step, G01 to G24")
    asked.add_argument("--plot", type=Path, metavar="FILE.svg", help="a picture")
    asked.add_argument("--write-runs", type=Path, metavar="DIR", help="the runs as checkpoints, for the inspector")
    args = asked.parse_args(arguments)
    try:
        windows = [experiment.parse_window(one) for one in args.window or ()]
        if windows or args.seed_offset:
            rows = [experiment.run(window, args.seed_offset) for window in windows or experiment.WINDOWS]
        else:
            rows = experiment.published_rows()
        window = windows[0] if windows else None
        profile = experiment.profile(args.profile, window, args.seed_offset) if args.profile else None
    except (ValueError, KeyError) as wrong:
        raise Refused(f"experiment: {wrong.args[0]}") from None
    if args.plot:
        wrote(args.plot, experiment.plot_svg(rows))
    if args.write_runs:
        for one in windows or [None]:
            experiment.write_runs(args.write_runs, one, seed_offset=args.seed_offset)
    if args.json:
        print_whole(experiment.document(rows, profile))
        return 0
    if not (args.window or args.seed_offset or args.profile):
        block(experiment.published_table())
        return 0
    out = [experiment.rows_table(rows), "", experiment.dropped_table(rows)]
    if args.profile:
        out += ["", experiment.profile_table(args.profile, window, args.seed_offset)]
    block("\n".join(out))
    return 0
