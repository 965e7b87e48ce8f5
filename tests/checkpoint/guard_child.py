"""An agent that sends mails under guard and saves after each, as fast as it can. Killed from outside.

Run with the store and the file of the outside world, to which every mail that is sent is one line: its key. A call in
doubt is answered from that file, as a person would who looks; each answer is told on standard output.
"""

from __future__ import annotations

import os
import sys

from agentmem.checkpoint.guard import InDoubt
from agentmem.checkpoint.recorder import record

store, world = sys.argv[1:3]
run = record("mailer", folder=store) if os.path.isdir(store) else record("mailer", store=store)
guard = run.guard


def was_sent(key: str) -> bool:
    with open(world, "rb") as file:
        return key.encode() in file.read().split(b"\n")


@guard.irreversible
def send(number: int, *, idempotency_key: str = "") -> str:
    with open(world, "ab", buffering=0) as file:
        file.write(idempotency_key.encode() + b"\n")
    return f"sent {number}"


print("ready", run.step, flush=True)
for doubt in guard.in_doubt:
    sent = was_sent(doubt.key)
    if sent:
        guard.happened(doubt.key, f"sent {doubt.arguments['number']}")
    else:
        guard.did_not_happen(doubt.key)
    print("doubt", doubt.key, "sent" if sent else "not", flush=True)
messages = list(run.messages)
while True:
    number = run.step + 1
    try:
        told = send(number)
    except InDoubt as error:
        print("blocked", error.doubt.key, flush=True)
        raise
    assert told == f"sent {number}"
    messages.append({"role": "tool", "content": told})
    run.save(messages, state={"sent": number})
    print("saved", number, flush=True)
