"""Ends what would otherwise go on for ever."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raises TimeoutError if what is inside takes longer."""
    if not hasattr(signal, "SIGALRM"):
        pytest.skip("there is no alarm here")

    def over(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
