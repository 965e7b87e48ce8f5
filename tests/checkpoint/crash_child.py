"""A loop that saves as fast as it can and says after each save what was acknowledged. Killed from outside.

Run with the folder; prints `n` once save n has returned. Every third message list is cut, as a policy would.
"""

from __future__ import annotations

import sys

from agentmem.checkpoint.recorder import record

run = record("parser", folder=sys.argv[1])
messages = list(run.messages)
print("ready", run.step, flush=True)
while True:
    number = run.step + 1
    if number % 3 == 0:
        messages = messages[-5:]
    messages.append({"role": "user", "content": f"{number} " + "x" * (number % 7) * 200})
    run.save(messages, state={"number": number, "facts": {f"f{number % 4}": str(number)}}, notes=str(number))
    print(number, flush=True)
