"""When old lines of a run are forgotten: which lines stay, and which of them must be written anew to stand alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from agentmem.checkpoint import ledger_line
from agentmem.checkpoint.delta.state import StateMemo
from agentmem.checkpoint.given import moment, number
from agentmem.checkpoint.ledger_line import Line, PromptEdit
from agentmem.checkpoint.replay import Replay
from agentmem.checkpoint.store import Checkpoint, DamagedError


def first_kept(lines: Sequence[Line], keep: int | None, before: float | None) -> int:
    """Position of the first line that stays. The newest always does, that of the main lane too, which goes on from it
    whatever a subagent saved since; and so does the last exact prompt: the next save may be written as a change of it.
    Raises ValueError if nothing says what to forget."""
    if keep is None and before is None:
        raise ValueError("prune: say how many saves to keep, or before which moment they go")
    if before is not None:
        moment(before, "prune: before")
    if keep is not None and number(keep, "prune: keep", whole=True) < 1:
        raise ValueError(f"prune: keep is {keep}; the newest save always stays")
    cut = 0 if keep is None else max(0, len(lines) - keep)
    if before is not None:
        cut = max(cut, next((place for place, line in enumerate(lines) if line.at >= before), len(lines) - 1))
    cut = min(cut, max((place for place, line in enumerate(lines) if line.lane == "main"), default=cut))
    prompts = [place for place, line in enumerate(lines) if line.prompt is not None]
    return min(cut, prompts[-1]) if prompts else cut


def rewritten(lines: Sequence[Line], cut: int, path: str) -> dict[int, bytes]:
    """Number of the save -> its new line, for those that cannot stay as they are once the lines before `cut` are gone.

    Raises DamagedError if one of the lines that are looked at cannot be reached.
    """
    replay = Replay(path)
    new: dict[int, bytes] = {}
    for place, line in enumerate(lines):
        try:
            replay.apply(line)
        except ValueError as error:
            if place < cut:
                continue  # it goes, and what cannot be reached for its lack is said at `cut`
            raise DamagedError(f"{path}: save {line.seq}: damaged: {error}; nothing was pruned") from None
        if place < cut:
            continue
        version = replay.version()
        assert version is not None
        if place == cut:
            new[line.seq] = _whole(version)
        elif line.prompt is not None and version.prompt is not None:
            new[line.seq] = _with_prompt(line, version.prompt)
        if line.prompt is not None:
            break  # prompts after this one stand on it
    return new


def _whole(version: Checkpoint) -> bytes:
    entry: dict[str, Any] = {
        "seq": version.seq, "step": version.step, "lane": version.lane, "at": version.at, "run": version.run,
        "whole": True, "keep": 0, "add": version.messages,
        "prompt": None if version.prompt is None else {"keep": 0, "add": version.prompt},
        "state": None if version.state is None else StateMemo().edit(version.state),
        "goal": version.goal, "model": version.model, "window": version.window, "system": version.system,
        "tools": version.tools, "notes": version.notes, "drops": version.drops, "attempts": version.attempts,
        "usage": version.usage, "status": version.status,
    }  # fmt: skip
    return ledger_line.encode({key: value for key, value in entry.items() if value is not None})


def _with_prompt(line: Line, prompt: list[Any]) -> bytes:
    entry = msgspec.structs.asdict(msgspec.structs.replace(line, prompt=PromptEdit(keep=0, add=prompt)))
    return ledger_line.encode({key: value for key, value in entry.items() if value is not None and key != "v"})
