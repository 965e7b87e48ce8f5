"""Following: files change, and a new immutable run is told. The one loop under the app.

`Watch` is made and run in a worker thread; what it tells are the values of `told`.
"""

from __future__ import annotations

from agentmem.inspect.watch.loop import Watch
from agentmem.inspect.watch.told import (
    Emit,
    Event,
    LifelineReady,
    Progress,
    RawReady,
    RunChanged,
    RunsChanged,
    TextReady,
    Trouble,
)

__all__ = [
    "Emit", "Event", "LifelineReady", "Progress", "RawReady", "RunChanged", "RunsChanged", "TextReady", "Trouble",
    "Watch",
]  # fmt: skip
