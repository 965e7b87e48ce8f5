"""What is found does not depend on the order in which a process happens to keep its sets."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.conftest import ROOT

_TOLD = """
from agentmem.model import Boundary
from tests.inspect.builders import Tale

tale = Tale("move the invoices")
listed = [f"src/mod{n}/file_{n % 7}{n % 10}.py" for n in range(100, 1000)]
read = [tale.say("result", " ".join(listed[at : at + 300]) + " x" * 3000) for at in range(0, 900, 300)]
tale.step()
tale.take(*read)
tale.say("summary", "It is in src/mod1x5/file_55.py and in src/mod999/file_x5.py, not in src/mod77/file_60.py.")
tale.boundary(Boundary("compaction", True, 9000, 100))
tale.step()
print(tale.run().survivals[0].changed)
"""


def test_what_came_out_changed_is_told_the_same_by_every_process() -> None:
    told = [
        subprocess.run(
            [sys.executable, "-c", _TOLD], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": str(seed)}, text=True,
            capture_output=True, check=True,
        ).stdout
        for seed in range(4)
    ]  # fmt: skip
    assert "src/" in told[0] and len(set(told)) == 1
