"""Makes the sample trajectories of mini-swe-agent in `mini-swe-agent/` from a seed; made again, the same to the byte.

    python sample_runs/make_mini_swe_agent.py [FOLDER]

`v2` and `v1` give a trajectory after any number of model calls, as it stands in the file then.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
START = 1_775_000_000.0
TASK = "tide_height() in tide.py is one hour late in summer. Make test_tide.py pass; do not touch the tables."
SYSTEM = "You are a helpful assistant that can interact with a computer shell to solve programming tasks."
BEFORE = "<pr_description>\nConsider the following PR description:\n"
AFTER = "\n</pr_description>\n\n<instructions>\nRun one command a step. When the work is done, submit.\n</instructions>"
FAILED = "E   AssertionError: assert 312 == 287\n1 failed, 6 passed in 0.21s\n"
TEST, EDIT = "python -m pytest -q test_tide.py", "sed -i 's/+ 3600/+ offset/' tide.py"
TABLE = "".join(f"{hour:04d};{(hour * 37) % 611}\n" for hour in range(2400))
Command = tuple[str, int, str]
COMMANDS: tuple[Command, ...] = (
    ("ls -la", 0, "tables.csv\ntest_tide.py\ntide.py\n"),
    ("cat tide.py", 0, "def tide_height(at):\n    return table[at // 3600 + 3600]\n"),
    (TEST, 1, FAILED), (EDIT, 0, ""), (TEST, 1, FAILED), (EDIT, 0, ""), (TEST, 1, FAILED), (EDIT, 0, ""),
    ("cat tables.csv", 0, TABLE),
    ("python -c 'import tide; tide.wait()'", -1, ""),
    ("sed -i 's/+ offset/- dst(at)/' tide.py", 0, ""),
    (TEST, 0, "7 passed in 0.19s\n"),
    ("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat patch.txt", 0, "-    + 3600\n+    - dst(at)\n"),
)  # fmt: skip


def observation(code: int, output: str, exception: str = "") -> str:
    """What the model is shown of a command: of 10,000 characters or more only both ends."""
    head = (f"<exception>{exception}</exception>\n" if exception else "") + f"<returncode>{code}</returncode>\n"
    if len(output) < 10_000:
        return f"{head}<output>\n{output}</output>"
    return (
        f"{head}<warning>\nThe output was too long.\n</warning><output_head>\n{output[:5000]}\n</output_head>\n"
        f"<elided_chars>\n{len(output) - 10_000} characters elided\n</elided_chars>\n"
        f"<output_tail>\n{output[-5000:]}\n</output_tail>"
    )


def v2(seed: int = 7, calls: int | None = None, status: str | None = None) -> dict[str, Any]:
    """The run after so many model calls; of all of them, the finished run."""
    random, now = Random(seed), START
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM}, {"role": "user", "content": BEFORE + TASK + AFTER},
    ]  # fmt: skip
    made = len(COMMANDS) if calls is None else calls
    for number, (command, code, output) in enumerate(COMMANDS[:made]):
        now += random.randint(2, 9)
        call_id, last = f"call_{number}", number == len(COMMANDS) - 1
        function = {"name": "bash", "arguments": json.dumps({"command": command})}
        usage = {"prompt_tokens": 410 + sum(len(m["content"]) for m in messages) // 4, "completion_tokens": 31}
        messages.append({
            "role": "assistant", "content": f"THOUGHT: step {number + 1}",
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
            "extra": {"actions": [{"command": command, "tool_call_id": call_id}], "cost": 0.01, "timestamp": now,
                      "response": {"model": "gpt-5-mini", "usage": usage}},
        })  # fmt: skip
        if last:
            end = {"exit_status": "Submitted", "submission": output}
            messages.append({"role": "exit", "content": output, "extra": end})
            continue
        raised = "the command timed out after 30 seconds" if code < 0 else ""
        extra: dict[str, Any] = {"raw_output": output, "returncode": code, "timestamp": now + 1}
        extra["exception_info"] = raised
        content = observation(code, output, raised)
        messages.append({"content": content, "extra": extra, "tool_call_id": call_id, "role": "tool"})
    done = messages[-1]["extra"].get("exit_status", "") if messages[-1]["role"] == "exit" else ""
    if status is not None:
        done = status
        messages.append({"role": "exit", "content": status, "extra": {"exit_status": status, "submission": ""}})
    info = {
        "model_stats": {"instance_cost": round(0.01 * made, 2), "api_calls": made},
        "config": {
            "agent": {"system_template": SYSTEM, "instance_template": BEFORE + "{{task}}" + AFTER},
            "model": {"model_name": "gpt-5-mini"}, "environment": {"cwd": "/home/mira/tides"},
        },
        "mini_version": "2.4.6", "exit_status": done, "submission": "",
    }  # fmt: skip
    return {"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}


def v1(seed: int = 7) -> dict[str, Any]:
    """The same work as version 1 writes it, once, at the end: commands in fenced blocks, results in user texts."""
    random, now = Random(seed), START
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM, "timestamp": now},
        {"role": "user", "content": BEFORE + TASK + AFTER, "timestamp": now},
    ]

    def put(role: str, content: str) -> None:
        nonlocal now
        now += random.randint(1, 6)
        messages.append({"role": role, "content": content, "timestamp": now})

    for number, (command, code, output) in enumerate(COMMANDS):
        if number == 2:
            put("assistant", "THOUGHT: the tests first, I think.")
            put("user", "Please always provide EXACTLY ONE action in triple backticks, found 0 actions.")
        put("assistant", f"THOUGHT: step {number + 1}\n\n```bash\n{command}\n```")
        if code < 0:
            killed = f"The last command <command>{command}</command> timed out and has been killed."
            put("user", f"{killed}\n<output>\n</output>")
        else:
            put("user", output if number == len(COMMANDS) - 1 else observation(code, output))
    info = {
        "exit_status": "Submitted", "submission": COMMANDS[-1][2],
        "model_stats": {"instance_cost": 0.14, "api_calls": 14}, "mini_version": "1.17.5",
        "config": {"agent": {"instance_template": BEFORE + "{{task}}" + AFTER}, "model": {"model_name": "gpt-5-mini"}},
    }  # fmt: skip
    return {"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1"}


def make(folder: Path) -> None:
    """Writes both into `folder/mini-swe-agent`."""
    target = folder / "mini-swe-agent"
    target.mkdir(parents=True, exist_ok=True)
    for name, value in (("tides.traj.json", v2()), ("tides-v1.traj.json", v1())):
        (target / name).write_text(json.dumps(value, indent=2), encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
