"""Run id -> safe file name, one to one, so that no id can leave the folder or meet another id's file.

Letters, digits, `-`, `_` and inner dots stand as they are; every other byte of the UTF-8 text is written `%XX`. A name
that Windows reserves has its first letter escaped. An id whose name would be long keeps its first characters and ends
in `~` and a digest: `~` stands in no other name.
"""

from __future__ import annotations

import re
from hashlib import blake2b

from agentmem.pattern import pattern

_PLAIN = pattern(rb"[A-Za-z0-9._-]")
_RESERVED = pattern(r"(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)")
_LONGEST = 150
_KEPT = 100


def file_name(run_id: str) -> str:
    """The name, without a suffix, of the files of that run. Raises ValueError if empty or no UTF-8, TypeError."""
    if not isinstance(run_id, str):
        raise TypeError(f"a run id is a text, not {type(run_id).__name__}")
    if not run_id:
        raise ValueError("a run id must not be empty")
    try:
        data = run_id.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"run id {run_id!r}: cannot be written as UTF-8: {error.reason}") from None
    parts = [chr(byte) if _PLAIN.match(bytes((byte,))) else f"%{byte:02X}" for byte in data]
    if parts[0] == "." or _RESERVED.match(run_id):
        parts[0] = f"%{data[0]:02X}"
    if parts[-1] == ".":
        parts[-1] = "%2E"
    name = "".join(parts)
    if len(name) <= _LONGEST:
        return name
    start = re.sub(r"%.?$", "", name[:_KEPT])
    return f"{start}~{blake2b(data, digest_size=16).hexdigest()}"


def run_id(name: str) -> str | None:
    """The id that `file_name` turned into `name`; None if the name cannot tell (a long id, or a stranger's file)."""
    if "~" in name:
        return None
    try:
        data = re.sub(rb"%([0-9A-F]{2})", lambda m: bytes((int(m[1], 16),)), name.encode("ascii"))
        found = data.decode()
        return found if file_name(found) == name else None
    except (UnicodeError, ValueError):
        return None
