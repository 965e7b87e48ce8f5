"""Measuring: interleaved runs, medians with ranges, and ratios to a floor that is measured in the same run.

Absolute times drift with the machine, so every figure that is quoted is a ratio, with the absolute beside it.

    figures = interleave({"floor": bare_parse, "ours": index}, rounds=7)
    print(report("T3 index", [Row("index", figures["ours"], floor=figures["floor"], target=0.6)]))

Big inputs are made by `benchmarks.inputs`; programs in a terminal are measured by `benchmarks.terminal`.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 5
"""At the least: a median of fewer says little."""
_UNITS = {"s": (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9)), "B": (("MB", 1e-6), ("kB", 1e-3), ("B", 1.0))}

# Programs are measured as they are installed, with their bytecode kept: the warm round writes it.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

Job = Callable[[], object]
"""One run. Its wall time is the figure, unless it returns `Taken`."""


class Taken(dict[str, float]):
    """Figures by name that a job has measured itself."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One quantity, once a round, in the order of the rounds."""

    values: tuple[float, ...]
    unit: str = "s"
    """`s`, `B`, or empty for a plain number."""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)

    def percentile(self, share: float) -> float:
        """The value that `share` (0 to 1) of the rounds do not exceed."""
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def over(self, floor: Figure) -> Figure:
        """Ratio to the floor, round by round, so that a drift that hits both cancels. Raises ValueError if the rounds
        differ in number or the floor has a zero."""
        pairs = list(zip(self.values, floor.values, strict=True))
        if not all(below for _, below in pairs):
            raise ValueError("a floor of zero has no ratios")
        return Figure(tuple(value / below for value, below in pairs), "")


def interleave(jobs: Mapping[str, Job], rounds: int = ROUNDS, warm: int = 1) -> dict[str, Figure]:
    """Runs every job once a round, each round beginning with another one, and drops the `warm` first rounds.

    A job that returns `Taken` gives `job.name` for each of its figures. Names that end in `.bytes` are bytes, in
    `.count` plain numbers, all others seconds. Raises ValueError for fewer than five rounds.
    """
    if rounds < ROUNDS:
        raise ValueError(f"a median needs at least {ROUNDS} rounds, not {rounds}")
    names = list(jobs)
    taken: dict[str, list[float]] = {}
    for number in range(warm + rounds):
        turn = number % len(names)
        gc.collect()
        for name in names[turn:] + names[:turn]:
            began = time.perf_counter()
            given = jobs[name]()
            spent = time.perf_counter() - began
            if number < warm:
                continue
            if isinstance(given, Taken):
                for part, value in given.items():
                    taken.setdefault(f"{name}.{part}", []).append(value)
            else:
                taken.setdefault(name, []).append(spent)
    return {name: Figure(tuple(values), _unit(name)) for name, values in taken.items()}


def _unit(name: str) -> str:
    return {"bytes": "B", "count": ""}.get(name.rpartition(".")[2], "s")


def processor(job: Callable[[], object]) -> float:
    """Processor seconds of this process (all threads) while `job` runs."""
    began = time.process_time()
    job()
    return time.process_time() - began


def in_child(code: str, *arguments: str, env: Mapping[str, str] | None = None) -> Taken:
    """Runs `code` in a fresh interpreter: `wall`, `cpu` in seconds and `peak.bytes` of resident memory.

    `arguments` are its sys.argv[1:]. Raises RuntimeError with what it wrote to standard error if it fails.
    """
    began = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **(env or {})},
    )
    assert child.stderr is not None
    said = child.stderr.read()
    child.stderr.close()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"left with {child.returncode}: {said.decode('utf-8', 'replace')}")
    wall = time.perf_counter() - began
    cpu = used.ru_utime + used.ru_stime
    return Taken({"wall": wall, "cpu": cpu, "peak.bytes": peak(used.ru_maxrss)})


def peak(maxrss: int) -> float:
    """`ru_maxrss` in bytes: the kernel counts kilobytes on Linux, bytes on macOS."""
    return float(maxrss if sys.platform == "darwin" else maxrss * 1024)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a report."""

    name: str
    figure: Figure
    floor: Figure | None = None
    target: float | None = None
    """At most this ratio (or, without a floor, at most this value in the figure's unit)."""

    @property
    def judged(self) -> Figure:
        return self.figure if self.floor is None else self.figure.over(self.floor)

    @property
    def met(self) -> bool | None:
        """None: there is nothing to meet."""
        return None if self.target is None else self.judged.median <= self.target


def shown(value: float, unit: str) -> str:
    """A value with a unit that suits it: `12.3 ms`, `4.56 MB`, `0.61`."""
    for name, factor in _UNITS.get(unit, ()):
        scaled = value * factor
        if abs(scaled) >= 1 or factor == _UNITS[unit][-1][1]:
            return f"{scaled:.3g} {name}" if abs(scaled) < 1000 else f"{scaled:.0f} {name}"
    return f"{value:.3g}"


def _range(figure: Figure) -> str:
    return f"{shown(figure.low, figure.unit)} .. {shown(figure.high, figure.unit)}"


def report(title: str, rows: Sequence[Row]) -> str:
    """A small table: figure with range, ratio to its floor with range, target, met or not."""
    lines = [("", "median", "range", "ratio", "range", "target", "")]
    for row in rows:
        ratio = None if row.floor is None else row.judged
        limit = row.target
        lines.append(
            (
                row.name,
                shown(row.figure.median, row.figure.unit),
                _range(row.figure),
                "" if ratio is None else f"{ratio.median:.2f}x",
                "" if ratio is None else f"{ratio.low:.2f} .. {ratio.high:.2f}",
                "" if limit is None else (f"<= {limit:g}x" if ratio else f"<= {shown(limit, row.figure.unit)}"),
                {None: "", True: "met", False: "MISSED"}[row.met],
            )
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    drawn = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    count = len(rows[0].figure.values) if rows else 0
    return "\n".join([f"{title}  (median of {count}, interleaved; {machine()})", *drawn])


def as_json(title: str, rows: Sequence[Row]) -> str:
    """The same as one JSON document, with every value."""
    return json.dumps(
        {
            "schema": "agentmem.benchmark/1",
            "title": title,
            "machine": machine(),
            "rows": [
                {
                    "name": row.name,
                    "unit": row.figure.unit,
                    "values": row.figure.values,
                    "floor": None if row.floor is None else row.floor.values,
                    "ratio": None if row.floor is None else row.judged.median,
                    "target": row.target,
                    "met": row.met,
                }
                for row in rows
            ],
        },
        indent=1,
    )


def machine() -> str:
    """What the figures were taken on, in a few words."""
    return f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def scratch(name: str = "agentmem-benchmarks") -> Path:
    """A folder that outlives the run, so that big inputs are made once: in the system's place for temporary files."""
    import tempfile

    folder = Path(tempfile.gettempdir()) / name
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
