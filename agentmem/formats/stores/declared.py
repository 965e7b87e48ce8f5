"""The drops that a line of ours declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentmem.formats.draft import Declared
from agentmem.formats.usage import amount
from agentmem.model import Cause

_CAUSES: tuple[Cause, ...] = Cause.__args__  # type: ignore[attr-defined]  # the tuple of a Literal has no typed accessor


def declared(drops: list[Any] | None) -> list[Declared]:
    out: list[Declared] = []
    for drop in drops or ():
        if isinstance(drop, str):
            out.append(Declared(drop, "removed", "field", record="declared with save"))
        elif isinstance(drop, Mapping):
            cause = drop.get("cause")
            what = drop.get("what")
            tokens = drop.get("tokens")
            text = drop.get("text") or drop.get("head")
            out.append(
                Declared(
                    str(drop.get("name") or text or "?"), cause if cause in _CAUSES else "removed",
                    what if what in ("segment", "field", "plan") else "field", None,
                    text if isinstance(text, str) else None, amount(tokens),
                    record=str(drop.get("record") or "declared with save"),
                )
            )  # fmt: skip
    return out
