"""T12: how far the estimate of each prompt is from what the provider then reported, on real transcripts.

Each reported step is estimated as if it were not: from the calls before it and the counted tokens of its own prompt.
Beside it stands the ratio of totals (counted, times reported over counted of the report before) and as a floor that
report itself, unchanged. The first steps of a lane stand apart: there hardly anything is known.

    python -m benchmarks.token_error FILE...      (o200k and claude are measured if the extra `tokens` is installed)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from statistics import median, quantiles

from agentmem.inspect.measure import Scale, reported
from agentmem.inspect.open import NoRuns, NotYet, SeveralRuns, Unreadable, open_run
from agentmem.model import Run, Step
from agentmem.tokens import UnknownCounter, counter

EARLY = 5
"""So many reported steps of a lane after its first are early."""
WAYS = ("estimate", "ratio of totals", "report before")


def errors(run: Run) -> Iterator[tuple[bool, tuple[float, ...]]]:
    """(whether early, relative error of each of WAYS) for all reported steps but the first of a lane."""
    for lane in run.lanes:
        scale, place = Scale(), 0
        for step in lane.steps:
            said, counted = reported(step), step.tokens.prompt
            if said is not None and counted is not None:
                if scale.base is not None:
                    ways = _ways(scale, scale.base, step, counted)
                    yield place <= EARLY, tuple(abs(way - said) / said for way in ways)
                place += 1
            scale.add(step)


def _ways(scale: Scale, base: Step, step: Step, counted: int) -> tuple[float, ...]:
    size, _ = scale.size(replace(step, usage=None))
    said, held = reported(base) or 0, base.tokens.prompt
    return size or 0, counted * said / held if held else counted, said


def main() -> None:
    for name in ("chars4", "o200k", "claude"):
        try:
            counter(name)
        except UnknownCounter as missing:
            print(f"{name:<8} not measured: {missing}")
            continue
        found: dict[bool, list[tuple[float, ...]]] = {True: [], False: []}
        for path in sys.argv[1:]:
            try:
                run = open_run(path, counter=name).run
            except (Unreadable, NotYet, NoRuns, SeveralRuns) as refused:
                print(refused)
                continue
            for early, ways in errors(run):
                found[early].append(ways)
        for early, rows in found.items():
            print(f"{name:<8} {'early' if early else 'later'}, {len(rows)} steps")
            for way, errs in zip(WAYS, zip(*rows, strict=True), strict=False):
                ninety = quantiles(errs, n=10)[-1] if len(errs) > 1 else errs[0]
                told = f"median {median(errs):7.2%}   90th percentile {ninety:8.2%}   largest {max(errs):8.1%}"
                print(f"  {way:<16} error: {told}")


if __name__ == "__main__":
    main()
