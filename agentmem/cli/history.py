"""`agentmem history`: the versions that the app keeps of files that their writer overwrites."""

from __future__ import annotations

from agentmem.cli.common import parser
from agentmem.cli.output import count, document, size, table, text
from agentmem.inspect.history import HistoryStore, store_path


def run(arguments: list[str]) -> int:
    asked = parser("history", "The versions that the app keeps of files that their writer overwrites.", path=False)
    asked.add_argument("--clear", action="store_true", help="forget all of them")
    args = asked.parse_args(arguments)
    path = store_path()
    if args.clear:
        HistoryStore.clear(path)
        text([f"cleared: {path}"])
        return 0
    kept = HistoryStore.listing(path)
    if args.json:
        document("history", {"path": str(path), "files": [
            {"path": one.path, "versions": one.versions, "bytes": one.bytes} for one in kept
        ]})  # fmt: skip
        return 0
    rows = [(one.path, count(one.versions, "version"), size(one.bytes) + "B") for one in kept]
    text([f"kept in {path}", *table(rows, right=(1, 2))] if rows else [f"nothing is kept in {path}"])
    return 0
