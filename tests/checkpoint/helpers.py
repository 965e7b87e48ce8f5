"""What several tests of checkpoints need: a run of a few steps, and to be another user for a moment."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentmem.checkpoint.recorder import Recorder, record

NOBODY = 65534
posix = pytest.mark.skipif(sys.platform == "win32", reason="file modes and pipes of POSIX")


def message(index: int, text: str = "") -> dict[str, Any]:
    return {"role": "assistant" if index % 2 else "user", "content": text or f"message {index}"}


def some_steps(folder: Path, count: int = 3, run_id: str = "parser", **given: Any) -> Recorder:
    """A run of `count` saves, each one message longer."""
    run = record(run_id, folder=folder, **given)
    messages = list(run.messages) or [message(0)]
    for _ in range(count):
        messages.append(message(len(messages)))
        run.save(messages, state={"goal": "parse", "facts": {"port": str(len(messages))}}, notes=f"n{len(messages)}")
    return run


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that any user may enter and write to; pytest's own are closed to others."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name).resolve()
        path.chmod(0o777)
        yield path


def as_nobody(work: Callable[[], None]) -> None:
    """Runs `work` in a child without root's rights, for which permissions do not hold. Fails with what it raised."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - in the child
        os.close(read)
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            work()
            os.write(write, b"ok")
        except BaseException:  # noqa: BLE001  # it is told to the parent
            os.write(write, traceback.format_exc().encode()[-60_000:])
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        said = file.read()
    os.waitpid(child, 0)
    assert said == b"ok", said.decode()
