"""T11: a 5 MB checkpoint rewritten with one step more: CPU from the bytes to the new run, against orjson.loads of them.

    python -m benchmarks.following.rewritten_checkpoint      (orjson is needed for the floor: pip install orjson)
"""

from __future__ import annotations

import json
import tempfile
import time
from importlib import import_module
from pathlib import Path

from agentmem.inspect.history import MemoryKeeper
from agentmem.inspect.open import open_run
from benchmarks import inputs
from benchmarks.common import Figure, Row, report

ROUNDS = 15


def main() -> None:
    orjson = import_module("orjson")  # for the floor only: no extra of ours

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "run.json"
        messages = inputs.messages(5_000_000)
        body = {"step": sum(one["role"] == "assistant" for one in messages), "messages": messages, "notes": ""}
        path.write_text(json.dumps(body))
        opened = open_run(str(path), keeper=MemoryKeeper())
        ours, floor = [], []
        for number in range(ROUNDS):
            body["step"] += 1
            messages.append({"role": "assistant", "content": f"answer {number}"})
            data = json.dumps(body).encode()
            path.write_bytes(data)
            began = time.process_time()
            assert opened.refresh()
            ours.append(time.process_time() - began)
            began = time.process_time()
            orjson.loads(data)
            floor.append(time.process_time() - began)
        assert len(opened.run.main.steps) >= ROUNDS
        rows = [
            Row("orjson.loads of the file", Figure(tuple(floor))),
            Row("bytes to the new run", Figure(tuple(ours)), Figure(tuple(floor)), 1.0),
        ]
        print(report("T11 rewritten checkpoint", rows))


if __name__ == "__main__":
    main()
