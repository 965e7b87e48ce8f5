"""Why a file that is called a database cannot be read as one, in words."""

from __future__ import annotations

from pathlib import Path

from agentmem.formats.shared.sqlite import Database, is_database
from agentmem.formats.source import NotYet, Unreadable

_NAMED = 8


def why_no_database(path: Path, head: bytes) -> str:
    """Of a file that is not empty and that no reader takes."""
    if not is_database(head):
        text = all(byte >= 32 or byte in b"\t\r\n\f" for byte in head[:4096])
        return "a text, no SQLite database" if text else "no SQLite database, nor another known format"
    size = int.from_bytes(head[16:18], "big")
    wanted = (65536 if size == 1 else size) * int.from_bytes(head[28:32], "big")
    there = path.stat().st_size
    if len(head) < 100 or (there < wanted and not Path(f"{path}-wal").exists()):
        return f"half a database, {there:,}" + (f" of {wanted:,} bytes" if len(head) >= 100 else " bytes")
    try:
        names = [str(row[0]) for row in Database(path).rows("select name from sqlite_master where type = 'table'")]
    except (NotYet, Unreadable) as error:
        return str(error).removeprefix(f"{path}: ")
    shown = ", ".join(sorted(names)[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
    return f"a database of no known format (tables: {shown})" if names else "a database without tables"
