"""The tasks of the water-meter experiment as recorded runs, so that the inspector shows what the window did to them.

A prompt holds the instructions, one line a call made, and the state, one `name : value` a line. Its pieces are those
of the experiment: with the counter `pieces5` it has the profile's total. The state is saved as it stands after the
answer. The values stand in the state alone, so a field that is dropped is gone, and nothing records it: the inspector
has to find it, as on anyone's run. The request is the goal; it leaves the prompt with the field `anahtar`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from agentmem.experiments.experiment import world
from agentmem.experiments.experiment.rows import window_text
from agentmem.experiments.experiment.simulate import Call, Trace, simulate
from agentmem.experiments.experiment.tools import Value
from agentmem.experiments.keep import Message, Save, write

INSTRUCTIONS = (
    "You serve the desk of a water utility . Each call takes one of five tools , and a tool sees only those fields of "
    "the state that its schema names . What it gives back goes into the state . What was done stands next , a line a "
    "call , the state last ."
)
"""The part of the trace that the first call carries: `TRACE_FIRST` pieces."""


def run_id(task: str, window: int | None, seed_offset: int = 0) -> str:
    """`water-120-G15`, with `-seed1` behind it for a seed offset of 1."""
    return f"water-{window_text(window)}-{task}" + (f"-seed{seed_offset}" if seed_offset else "")


def write_runs(
    folder: str | os.PathLike[str], window: int | None, tasks: Sequence[str] | None = None, seed_offset: int = 0,
    *, clock: Callable[[], float] = time.time,
) -> list[Path]:  # fmt: skip
    """Writes one run a task (default: all 24) and returns their checkpoints, in the order of the tasks.

    Raises ValueError for an unknown task or a negative window before anything is written, ConflictError if another
    run of that id stands in the folder, SaveError if a run could not be written.
    """
    runs = [simulate(name, window, seed_offset) for name in (world.tasks() if tasks is None else tasks)]
    return [
        write(folder, run_id(run.task.name, window, seed_offset), run.task.request, _saves(run), _end(run), window,
              clock=clock)
        for run in runs
    ]


def _saves(trace: Trace) -> Iterator[Save]:
    opening = {"role": "user", "content": INSTRUCTIONS}
    lines: list[Message] = []
    for call in trace.calls:
        yield Save(
            prompt=[opening, *lines, {"role": "user", "content": state_text(call.held)}],
            said=_said(call),
            state=dict(call.after),
            usage={"prompt_tokens": call.total},
            heard=[opening] if call.n == 1 else [],
        )
        lines.append({"role": "user", "content": line(call)})


def line(call: Call) -> str:
    """What the prompt keeps of a call: `TRACE_PER_CALL` pieces, none of its values among them."""
    outcome = "fields , kept" if call.error is None else f"error : {call.error}"
    return f"call {call.n} : the agent asked {call.tool} with fields of its schema and got {outcome} ."


def state_text(held: Mapping[str, Value]) -> str:
    """The state as it stands in a prompt: `name : value`, one a line."""
    return "\n".join(
        f"{name} : {value if isinstance(value, str) else json.dumps(value)}" for name, value in held.items()
    )


def _said(call: Call) -> list[Message]:
    ident = f"call_{call.n}"
    function = {"name": call.tool, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": ident, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": ident, "content": json.dumps(call.result, ensure_ascii=False)},
    ]


def _end(trace: Trace) -> str:
    end = "done" if trace.ended else "out of steps"
    return f"{end}, answer {'right' if trace.correct else 'wrong'}"
