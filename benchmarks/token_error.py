"""T12: prompt tokens against what the provider reported, on real transcripts: the quick estimate (characters, brought
to the scale of the report before), and the bare counters.

    python -m benchmarks.token_error FILE...      (o200k and claude are measured if the extra `tokens` is installed)
"""

from __future__ import annotations

import statistics
import sys

from agentmem.inspect.measure import ratio, reported
from agentmem.inspect.open import NoRuns, NotYet, SeveralRuns, Unreadable, open_run
from agentmem.model import Run
from agentmem.tokens import UnknownCounter, counter


def errors(run: Run, scaled: bool) -> list[float]:
    """Relative errors, one a step that was reported."""
    out = []
    for lane in run.lanes:
        for place, step in enumerate(lane.steps):
            said, counted = reported(step), step.tokens.prompt
            scale = ratio(lane.steps, place) if scaled else 1.0
            if said and counted and scale is not None:
                out.append(abs(counted * scale - said) / said)
    return out


def main() -> None:
    for name in ("chars4", "o200k", "claude"):
        try:
            counter(name)
        except UnknownCounter as missing:
            print(f"{name:<8} not measured: {missing}")
            continue
        bare: list[float] = []
        quick: list[float] = []
        files = 0
        for path in sys.argv[1:]:
            try:
                run = open_run(path, counter=name).run
            except (Unreadable, NotYet, NoRuns, SeveralRuns) as refused:
                print(refused)
                continue
            found = errors(run, scaled=False)
            if found:
                files += 1
                bare += found
                quick += errors(run, scaled=True)
        if bare:
            print(f"{name:<8} {files} files, {len(bare)} steps: median error {statistics.median(bare):.1%} counted, "
                  f"{statistics.median(quick):.1%} scaled by the report before")  # fmt: skip


if __name__ == "__main__":
    main()
