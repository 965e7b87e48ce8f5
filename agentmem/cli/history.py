"""`agentmem history`: the versions that the app keeps of files that their writer overwrites, and the runs that stood in
a file before the one that stands there now."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from agentmem.cli.common import Refused, named, parser
from agentmem.cli.output import count, document, iso, size, table, text
from agentmem.inspect.discover import run_named
from agentmem.inspect.history import HistoryStore, store_path
from agentmem.inspect.history.earlier import Stood, grown, grown_lines, kept, kept_lines
from agentmem.inspect.open import open_run
from agentmem.model import Where
from agentmem.safe import json_text


def run(arguments: list[str]) -> int:
    asked = parser("history", "The versions that the app keeps of files that their writer overwrites; with PATH the "
                   "runs that stood in that file, one after the other.", path=False)  # fmt: skip
    asked.add_argument("path", nargs="?", metavar="PATH", help="a file in which a new run began")
    asked.add_argument("--show", type=int, metavar="N", help="all of its run N, as JSON lines for a file of its own")
    asked.add_argument("--clear", action="store_true", help="forget all of them")
    args = asked.parse_args(arguments)
    if args.show is not None and args.path is None:
        raise Refused("--show needs a PATH")
    path = None if args.path is None else _of(named(args.path))
    store = store_path()
    if args.clear:
        HistoryStore.clear(store)
        text([f"cleared: {store}"])
    elif path is None:
        _all(store, args.json)
    elif args.show is None:
        _runs(store, path, args.json)
    else:
        _show(store, path, args.show)
    return 0


def _of(path: str) -> str:
    """The file of that path, else that of the run of that name in `runs/` here; one that is gone may still be kept."""
    found = None if os.path.exists(path) else run_named(path)
    return path if found is None else str(found)


def _all(store: Path, as_json: bool) -> None:
    found = HistoryStore.listing(store)
    if as_json:
        document("history", {"path": str(store), "files": [
            {"path": one.path, "versions": one.versions, "bytes": one.bytes, "runs": one.runs} for one in found
        ]})  # fmt: skip
        return
    rows = [(one.path, count(one.versions, "version"), size(one.bytes) + "B",
             count(one.runs, "run") if one.runs > 1 else "") for one in found]  # fmt: skip
    text([f"kept in {store}", *table(rows, right=(1, 2))] if rows else [f"nothing is kept in {store}"])
    if any(one.runs > 1 for one in found):
        text(["`agentmem history PATH` tells of the runs that stood in a file"])


def _runs(store: Path, path: str, as_json: bool) -> None:
    source = _grows(path)
    found = grown(*source) if source is not None else kept(store, path)
    if as_json:
        document("history", {"path": path, "runs": [
            {"number": one.number, "now": one.now, "versions": one.versions, "bytes": one.bytes,
             "from": iso(one.started), "to": iso(one.seen)} for one in found
        ]})  # fmt: skip
        return
    rows = [(str(one.number), "stands there now" if one.now else "before it", _seen(one), size(one.bytes) + "B")
            for one in found]  # fmt: skip
    text([*table(rows, right=(0, 3))] if rows else [f"nothing is kept of {path}"])
    if len(found) > 1:
        ending = ".steps.jsonl" if path.endswith((".json", ".steps.jsonl")) and source is not None else ".jsonl"
        text([f"`agentmem history {path} --show 1 > before{ending}` writes the first one to a file that can be opened"])


def _seen(one: Stood) -> str:
    if one.versions is None:
        return ""
    return f"{count(one.versions, 'version')}, {(iso(one.started) or '?')[:19]} to {(iso(one.seen) or '?')[:19]}"


def _show(store: Path, path: str, number: int) -> None:
    source = _grows(path)
    found = grown(*source) if source is not None else kept(store, path)
    if not 1 <= number <= len(found):
        raise Refused(f"{path}: no run {number} of it is known, only {len(found)}")
    lines: Iterator[bytes] = grown_lines(*source, number) if source is not None else kept_lines(store, path, number)
    raw = source is not None and not sys.stdout.isatty()
    for line in lines:
        # A ledger's line bears a checksum over its bytes: to a file it goes as it is.
        sys.stdout.buffer.write((line if raw else json_text(line.decode("utf-8", "replace")).encode()) + b"\n")
    sys.stdout.flush()


def _grows(path: str) -> tuple[str, tuple[Where, ...]] | None:
    """Of a file that grows and in which a new run began: the file that holds both, and where. None for others, and for
    one that is gone, of which the store may still know."""
    if not os.path.exists(path):
        return None
    began = open_run(path).reader.draft.began
    return (began[0].source, began) if began else None
