"""The demo's agent, driven step by step: a real run, written to files by the library."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from agentmem.checkpoint.recorder import record
from agentmem.experiments.demo.agent import DemoAgent
from agentmem.experiments.demo.script import GOAL, story

RUN = "fix-parser"
CYCLE_TOLD, FAILED, ALL = 25, 30, 32
"""Steps after which the cycle has been named, the lost field has made a call fail, and the run is over."""


class Beside:
    """An agent that runs beside the inspector, as far as a test lets it."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._run = record(RUN, goal=GOAL, folder=folder, resume=False, clock=clock)
        self._agent = DemoAgent(self._run)
        self._done = 0

    def run_to(self, step: int) -> None:
        """Go on until that many steps are done; after the last one the run says that it ended."""
        beats = story()
        for beat in beats[self._done : step]:
            self._agent.step(beat)
        self._done = step
        if step >= len(beats):
            self._run.finish("done")
