"""What stands on the screen while the toolkit is imported: the first words of the screen that comes, nothing else."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_SHOW = "\x1b[?1049h\x1b[2J\x1b[H agentmem\r\n\r\n  reading"
_LEAVE = "\x1b[?1049l"


def terminal() -> TextIO:
    """The stream that the toolkit draws on."""
    return sys.stdout if os.name == "nt" else sys.stderr


@contextmanager
def skeleton() -> Iterator[None]:
    """Stands until something is painted over it; goes if the block fails, or is interrupted."""
    out = terminal()
    out.write(_SHOW)
    out.flush()
    try:
        yield
    except BaseException:
        out.write(_LEAVE)
        out.flush()
        raise
