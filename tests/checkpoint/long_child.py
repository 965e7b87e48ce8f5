"""An agent whose every step follows from its messages and state alone. Says each step; at the end, all that it holds.

Run with the store and the last step. What it holds is printed as JSON: the same bytes whether or not it was killed on
the way, if what it resumed was what it had.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from agentmem.checkpoint.recorder import record

place, last = sys.argv[1], int(sys.argv[2])
run = record("long", folder=place, goal="count") if os.path.isdir(place) else record("long", store=place, goal="count")
messages = list(run.messages)
state: dict[str, Any] = run.state or {"total": 0, "facts": {}, "odd": [1, 1.0, True, None, "\u2028"]}
while run.step < last:
    number = run.step + 1
    state["total"] = (state["total"] * 31 + len(json.dumps(messages))) % 1_000_003
    state["facts"][f"f{state['total'] % 7}"] = f"{number}: {state['total'] / 7}"
    messages.append({"role": "user" if number % 2 else "assistant", "content": f"{number} {state['total']} é\0"})
    if number % 50 == 0:
        messages = messages[-20:]
    run.save(messages, state=state, notes={"n": number})
    print(number, flush=True)
print(json.dumps([run.step, run.state, run.messages, run.notes], sort_keys=False))
