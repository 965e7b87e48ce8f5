"""Makes the sample trajectories of SWE-agent in `swe-agent/`; made again, they are the same to the byte.

    python sample_runs/make_swe_agent.py [FOLDER]

`run` gives a trajectory after any number of steps, in the shape of 1.1 (`query`), 1.0 (`messages`) or 0.x (history).
"""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ISSUE = "parse_depth() reads '3,5 m' as 35 metres. Soundings with a decimal comma must keep their value."
SYSTEM = "SETTING: You work in a command line with a file viewer. Answer with a thought and one command."
BEFORE = "We're currently solving the following issue.\nISSUE:\n"
AFTER = "\n\nINSTRUCTIONS:\nReproduce it first, then fix it, then submit.\n(Open file: n/a)\nbash-$"
SOURCE = "".join(f"{line}:    depths[{line}] = parse_depth(rows[{line}])\n" for line in range(1, 40))
STEPS = (
    ("Let me see what is here.", "ls -F", "chart.py  soundings.csv  tests/\n"),
    ("I will read the source.", "open chart.py", f"[File: chart.py (39 lines total)]\n{SOURCE}"),
    ("Reproduce it.", "python -m pytest -q", "FAILED tests/test_chart.py::test_comma\n1 failed, 3 passed in 0.10s\n"),
    ("Where is it parsed?", "search_dir parse_depth", "Found 2 matches for \"parse_depth\" in /chart:\n"),
    ("Change the parser.", "edit 12:12\n    return float(text.replace('.', ''))\nend_of_edit",
     "Your proposed edit has introduced new syntax error(s). Please read this error message carefully.\n"),
    ("Again, with care.", "edit 12:12\n    return float(text.replace(',', '.'))\nend_of_edit",
     f"[File: chart.py (39 lines total)]\n{SOURCE}"),
    ("Run the tests.", "python -m pytest -q", "4 passed in 0.09s\n"),
    ("It is done.", "submit", "diff --git a/chart.py b/chart.py\n+    return float(text.replace(',', '.'))\n"),
)  # fmt: skip
KEPT = 3
"""The history processor keeps so many of the newest results."""


def sent(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the history processor makes of it: older results become a line that says how much was left out."""
    out = copy.deepcopy(history)
    results = [index for index, message in enumerate(out) if message["role"] == "user"][1:]
    for index in results[: max(0, len(results) - KEPT)]:
        lines = out[index]["content"].count("\n")
        out[index]["content"] = f"Old environment output: ({lines} lines omitted)"
    return out


def run(shape: str = "query", steps: int | None = None, status: str = "submitted") -> dict[str, Any]:
    """The trajectory after so many steps."""
    made = len(STEPS) if steps is None else steps
    history: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM, "agent": "main", "message_type": "system_prompt"},
        {"role": "user", "content": BEFORE + ISSUE + AFTER, "agent": "main", "message_type": "observation"},
    ]
    trajectory = []
    for thought, action, output in STEPS[:made]:
        response = f"{thought}\n\n```\n{action}\n```"
        step: dict[str, Any] = {
            "action": action, "observation": output, "response": response, "thought": thought, "execution_time": 0.12,
            "state": {"open_file": "n/a", "working_dir": "/chart"},
        }  # fmt: skip
        if shape == "query":
            step["query"] = sent(history)
        history.append({"role": "assistant", "content": response, "thought": thought, "action": action,
                        "agent": "main", "message_type": "action"})  # fmt: skip
        history.append({"role": "user", "content": f"{output}(Open file: n/a)\nbash-$", "agent": "main",
                        "message_type": "observation"})  # fmt: skip
        if shape == "messages":
            step["messages"] = sent(history)
        trajectory.append(step)
    finished = made == len(STEPS) or status != "submitted"
    if shape == "history" and finished:
        history.pop()
    stats = {"instance_cost": 0.02 * made, "tokens_sent": 0, "tokens_received": 0, "api_calls": made}
    info: dict[str, Any] = {"model_stats": stats}
    if finished:
        info = {"exit_status": status, "submission": STEPS[-1][2], **info}
    value: dict[str, Any] = {"trajectory": trajectory, "history": history, "info": info}
    if shape == "history":
        return {"environment": "swe_main", **value}
    replay = {"agent": {"model": {"name": "gpt-5-mini"}}, "problem_statement": {"text": ISSUE, "type": "text"}}
    return {**value, "replay_config": replay, "environment": "main"}


def retried() -> dict[str, Any]:
    """A run of two attempts, of which the second was chosen."""
    first, second = run(steps=4, status="exit_cost"), run()
    return {**second, "attempts": [first, second]}


def make(folder: Path) -> None:
    """Writes them into `folder/swe-agent`."""
    target = folder / "swe-agent"
    target.mkdir(parents=True, exist_ok=True)
    made = (("depth.traj", run()), ("depth-1.0.traj", run("messages")), ("depth-0.7.traj", run("history")),
            ("depth-retried.traj", retried()))  # fmt: skip
    for name, value in made:
        (target / name).write_text(json.dumps(value, indent=2), encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
