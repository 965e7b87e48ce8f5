"""Writes a finished run as checkpoints, step by step, as an agent would have saved it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentmem.checkpoint.files import FileStore
from agentmem.checkpoint.recorder import record
from agentmem.checkpoint.store import ConflictError, MissingError

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Save:
    """What one step saves; see `Recorder.save`."""

    prompt: list[Message]
    """The exact list that the model saw."""
    said: list[Message]
    """The call and its result, to stand behind everything said before."""
    state: dict[str, Any] | None = None
    drops: list[Any] | None = None
    usage: dict[str, Any] | None = None
    heard: list[Message] = field(default_factory=list)
    """What was said to the model before its call, new at this step."""


def write(
    folder: str | os.PathLike[str],
    run_id: str,
    goal: str,
    saves: Iterable[Save],
    status: str,
    window: int | None = None,
    *,
    clock: Callable[[], float] = time.time,
) -> Path:
    """Writes the run and returns its checkpoint. A run that already stands there, the same to the end, is left alone.
    `clock` gives the times of the saves, in seconds since the epoch.

    Raises CheckpointError: ConflictError if another run of that id stands there, else what `record` and `save` raise.
    """
    store = FileStore(folder)
    path = store.paths(run_id).checkpoint
    saves = list(saves)
    whole = [message for save in saves for message in (*save.heard, *save.said)]
    try:
        held = store.load(run_id)
    except MissingError:
        run = record(run_id, folder=folder, goal=goal, clock=clock)
        messages: list[Message] = []
        for save in saves:
            messages += (*save.heard, *save.said)
            run.save(messages, prompt=save.prompt, state=save.state, drops=save.drops, usage=save.usage, window=window)
        run.finish(status)
        return path
    if held.messages != whole or held.status != status:
        raise ConflictError(f"{path}: another run stands there; choose another folder")
    return path
