"""Big inputs from a seed: sessions as JSON lines, checkpoints, growing runs, request logs. The same bytes each time."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.common import scratch

GOAL = "Move the invoices of order 8841 to the new ledger without touching ledger_archive."
_TEXT = """
the ledger holds an order and a total that was read from the table before it moved; check each row, keep the port,
write the path src/app/ledger.py, run pytest -q, the result said: 12 passed, 1 failed in test_total, value 8841
"""
_WORDS = _TEXT.split()
_TOOLS = ("run_sql", "read_file", "edit_file", "bash", "search")

Message = dict[str, Any]


@cache
def _block(seed: int, size: int) -> str:
    return " ".join(random.Random(seed).choices(_WORDS, k=size // 5))[:size]


class Prose:
    """Endless harmless text from a seed, cheap to take: a block made once, cut at another place each time."""

    def __init__(self, seed: int, block: int = 1 << 20) -> None:
        self._random = random.Random(seed)
        self._text = _block(seed, block)

    def take(self, characters: int) -> str:
        """So many characters, of any length; a number in front keeps equal cuts apart."""
        head = f"{self._random.getrandbits(40)}: "
        wanted = max(0, characters - len(head))
        whole, rest = divmod(wanted, len(self._text) // 2)
        start = self._random.randrange(len(self._text) // 2)
        return head[:characters] + self._text[: len(self._text) // 2] * whole + self._text[start : start + rest]

    def identifier(self) -> str:
        bits = f"{self._random.getrandbits(128):032x}"
        return f"{bits[:8]}-{bits[8:12]}-{bits[12:16]}-{bits[16:20]}-{bits[20:]}"

    def tool(self) -> str:
        return self._random.choice(_TOOLS)


def made(name: str, write: Callable[[Path], None]) -> Path:
    """The file of that name in the scratch folder; written only if it is not there yet, and never half."""
    path = scratch() / name
    if not path.exists():
        half = path.with_name(f"{path.name}.half")
        write(half)
        half.replace(path)
    return path


def turns(prose: Prose, characters: int) -> Iterator[Message]:
    """An endless OpenAI chat list without its system message: the goal, then calls with their results."""
    yield {"role": "user", "content": GOAL}
    number = 0
    while True:
        number += 1
        call = f"call_{number:06d}"
        arguments = json.dumps({"query": prose.take(40), "row": number})
        asked = {"id": call, "type": "function", "function": {"name": prose.tool(), "arguments": arguments}}
        yield {"role": "assistant", "content": None, "tool_calls": [asked]}
        yield {"role": "tool", "tool_call_id": call, "content": prose.take(characters)}


def messages(size: int, characters: int = 2_000, seed: int = 1) -> list[Message]:
    """A message list whose JSON is about `size` bytes; each result has `characters` characters."""
    held: list[Message] = [{"role": "system", "content": "You keep ledgers."}]
    length = 60
    for message in turns(Prose(seed), characters):
        held.append(message)
        length += len(json.dumps(message)) + 2
        if length >= size and message["role"] == "tool":
            return held
    raise AssertionError("turns do not end")


def checkpoint(path: Path, size: int, characters: int = 2_000, seed: int = 1) -> None:
    """A plain checkpoint of about `size` bytes, as a stranger's loop would write it."""
    held = messages(size, characters, seed)
    step = sum(message["role"] == "assistant" for message in held)
    path.write_text(json.dumps({"step": step, "messages": held, "notes": "order 8841, port 5432"}), encoding="utf-8")


def growing(steps: int, characters: int = 500, seed: int = 1) -> Iterator[dict[str, Any]]:
    """The checkpoints of a run that only grows, one a step. Its list is one object that grows: copy it to keep it."""
    held: list[Message] = [{"role": "system", "content": "You keep ledgers."}]
    source = turns(Prose(seed), characters)
    held.append(next(source))
    for step in range(1, steps + 1):
        held.append(next(source))
        held.append(next(source))
        state = {"goal": GOAL, "facts": {"order": "8841", "port": "5432"}, "row": step}
        yield {"step": step, "messages": held, "state": state, "notes": f"row {step} is done"}


def requests(path: Path, size: int, characters: int = 500, window: int = 40, seed: int = 1) -> None:
    """A log of what was sent, a line a call, until `size` bytes: the last `window` messages behind system and goal."""
    source = turns(Prose(seed), characters)
    first = [{"role": "system", "content": "You keep ledgers."}, next(source)]
    held: list[Message] = []
    written = 0
    with path.open("w", encoding="utf-8") as out:
        while written < size:
            sent = {"model": "gpt-4o", "messages": first + held}
            held += [next(source), next(source)]
            del held[:-window]
            answer = {"choices": [{"message": held[-2]}], "usage": {"prompt_tokens": len(json.dumps(sent)) // 4}}
            written += out.write(json.dumps({"request": sent, "response": answer}) + "\n")


def session(path: Path, size: int, line: int = 8_192, compact_every: int = 2_000, seed: int = 1) -> None:
    """A Claude Code session of about `size` bytes: `line` bytes a record on average (560 at the least), reported usage,
    and a recorded compaction with its summary every `compact_every` records."""
    prose = Prose(seed)
    own = prose.identifier()
    frame = {"isSidechain": False, "cwd": "/home/user/ledger", "sessionId": own, "version": "2.0.0"}
    clock = 1_767_225_600.0
    parent: str | None = None
    written = number = 0
    context = 12_000

    def record(kind: str, **more: object) -> str:
        nonlocal parent, clock
        clock += 1.5
        ident = prose.identifier()
        held = {"parentUuid": parent, **frame, "type": kind, **more, "uuid": ident, "timestamp": _time(clock)}
        parent = ident
        return json.dumps(held, separators=(",", ":")) + "\n"

    text = max(16, 2 * line - 1_000)
    with path.open("w", encoding="utf-8") as out:
        written += out.write(record("user", message={"role": "user", "content": GOAL}))
        while written < size:
            number += 1
            call = f"toolu_{number:08d}"
            block = {"type": "tool_use", "id": call, "name": prose.tool(), "input": {"query": prose.take(40)}}
            usage = {"input_tokens": 5, "cache_read_input_tokens": context, "output_tokens": 40}
            said = {"id": f"msg_{number:08d}", "role": "assistant", "model": "claude-sonnet-4", "content": [block]}
            written += out.write(record("assistant", message={**said, "usage": usage}, requestId=f"req_{number:08d}"))
            result = {"type": "tool_result", "tool_use_id": call, "content": prose.take(text)}
            written += out.write(record("user", message={"role": "user", "content": [result]}))
            context += text // 4 + 60
            if number % max(1, compact_every // 2) == 0:
                before, context = context, 14_000
                logical, parent = parent, None
                how = {"trigger": "auto", "preTokens": before, "postTokens": 2_000}
                written += out.write(
                    record("system", subtype="compact_boundary", logicalParentUuid=logical, compactMetadata=how)
                )
                summary = f"1. Primary Request and Intent: {GOAL}\n7. Pending Tasks: row {number}. {prose.take(4_000)}"
                message = {"role": "user", "content": summary}
                written += out.write(record("user", isCompactSummary=True, message=message))


def rollout(path: Path, size: int, line: int = 220, seed: int = 1) -> None:
    """A Codex rollout of about `size` bytes: calls and results, `line` bytes a record on average (180 at the least)."""
    prose = Prose(seed)
    clock = 1_767_225_600.0
    written = number = 0
    text = max(16, 2 * line - 330)

    def record(kind: str, **payload: object) -> str:
        nonlocal clock
        clock += 0.5
        return json.dumps({"timestamp": _time(clock), "type": kind, "payload": payload}, separators=(",", ":")) + "\n"

    with path.open("w", encoding="utf-8") as out:
        meta = {"id": prose.identifier(), "cwd": "/home/user/ledger", "cli_version": "0.60.0"}
        written += out.write(record("session_meta", timestamp=_time(clock), **meta))
        asked = [{"type": "input_text", "text": GOAL}]
        written += out.write(record("response_item", type="message", role="user", content=asked))
        while written < size:
            number += 1
            call = f"call_{number:08d}"
            arguments = json.dumps({"row": number})
            written += out.write(
                record("response_item", type="function_call", name=prose.tool(), arguments=arguments, call_id=call)
            )
            written += out.write(
                record("response_item", type="function_call_output", call_id=call, output=prose.take(text))
            )


def _time(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
