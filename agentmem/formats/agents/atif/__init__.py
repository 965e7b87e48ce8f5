"""ATIF, the trajectory format of Harbor: `trajectory.json` with its continuations and subagents.

A step of source `agent` is a model call, with its results in the same step. A compaction is a system step that says so,
a continuation in another file, or, from converters, a user step with a summary's first words. A job's folder is a store
of several runs, one a trial.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

from agentmem.formats.agents.atif.reader import AtifReader, ident_of
from agentmem.formats.agents.atif.steps import parts_of, source_of, task_span
from agentmem.formats.reader import Format, Options
from agentmem.formats.shared.rewriting import changed_at, decoded, mapping, newest
from agentmem.formats.shared.whole import parse
from agentmem.formats.source import NotYet, Unreadable, read_at
from agentmem.model import RunInfo
from agentmem.pattern import pattern

_HEAD = 65536
_MOST_TRIALS = 20_000
_BARE_VERSION = pattern(rb'"schema_version"\s*:\s*"(?:v?1\.\d|ATIF)')


def recognise(path: Path, head: bytes) -> bool:
    """An object of this schema, or the folder of a trial or of a job."""
    if path.is_dir():
        return next(iter(_trials(path)), None) is not None
    text = head.lstrip(b"\xef\xbb\xbf\0 \t\r\n")
    if not text.startswith(b"{"):
        return False
    if b'"ATIF-v' in text:
        return True
    return _BARE_VERSION.search(text) is not None and b'"steps"' in text and b'"agent"' in text


def _trials(folder: Path) -> Iterable[Path]:
    """Trajectories of a trial's folder, or of the trials in a job's folder."""
    own = folder / "agent" / "trajectory.json"
    if own.is_file():
        yield own
        return
    try:
        entries = itertools.islice(sorted(folder.iterdir()), _MOST_TRIALS)
        for entry in entries:
            if not entry.is_symlink() and (entry / "agent" / "trajectory.json").is_file():
                yield entry / "agent" / "trajectory.json"
    except OSError:
        return


def runs(path: Path) -> Iterable[RunInfo]:
    """The trials of a job's folder; of a file its one run."""
    return [peek(found) for found in _trials(path)] if path.is_dir() else [peek(path)]


def open_trial(path: Path, options: Options) -> AtifReader:
    """Of a trajectory, of a trial's folder, or of the trial that is named in a job's folder."""
    if path.is_dir():
        found = list(_trials(path))
        path = next((one for one in found if ident_of(one) == options.run_id), found[0])
    return AtifReader(path, options)


def places(folder: Path) -> Iterable[Path]:
    """Trials of the jobs that were run in this folder, newest first."""
    return newest(folder.glob("jobs/*/*/agent/trajectory.json"))


def peek(path: Path) -> RunInfo:
    """A row of the list from the head of the file."""
    ident, at = ident_of(path), changed_at(path)
    try:
        reading = parse(read_at(path, 0, _HEAD), str(path), AtifReader.LISTS)
    except NotYet:
        return RunInfo(ident, str(path), AtifReader.NAME, at)
    except Unreadable as error:
        return RunInfo(ident, str(path), AtifReader.NAME, at, problem=str(error).rpartition(": ")[2])
    agent = mapping(reading.rest.get("agent"))
    name, model = agent.get("name"), agent.get("model_name")
    goal, steps = None, 0
    for item in reading.lists.get("steps", []):
        value = decoded(item)
        steps += source_of(value) == "agent"
        if goal is None and source_of(value) == "user":
            asked = next((part.text for part in parts_of(value) if part.kind == "user" and part.text), "")
            start, end = task_span(asked)
            goal = asked[start:end] or None
    return RunInfo(
        ident, str(path), AtifReader.NAME, at, "unknown", None if reading.cut else steps, goal,
        name if isinstance(name, str) else None, model if isinstance(model, str) else None,
    )  # fmt: skip


FORMAT = Format("atif", "ATIF trajectories and Harbor jobs", recognise, open_trial, runs=runs, places=places, peek=peek)
