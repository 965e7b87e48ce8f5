"""Small makers of messages, and a look into a draft."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentmem.formats import Options, recognise
from agentmem.formats.draft import LaneDraft
from agentmem.formats.reader import Reader


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def call(ident: str, tool: str = "read", **arguments: Any) -> dict[str, Any]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": ident, "type": "function", "function": function}],
    }


def result(ident: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": ident, "content": text}


def opened(path: Path, value: object | None = None) -> Reader:
    """The reader of a file, after its first look. `value` is written first as JSON."""
    if value is not None:
        path.write_text(json.dumps(value))
    known = recognise(path)
    assert known is not None, f"{path} is not recognised"
    reader = known.open(path, Options())
    reader.refresh()
    return reader


def again(reader: Reader, path: Path, value: object) -> bool:
    """Overwrite the file as a stranger's loop does, and look again."""
    path.write_text(json.dumps(value))
    return reader.refresh()


def heads(lane: LaneDraft, n: int) -> list[str | None]:
    return [lane.tape.segment(ident).head for ident in lane.tape.ids(n)]
