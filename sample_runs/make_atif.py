"""Makes a sample Harbor job in `harbor-job/`, one trial of it in one file, one continued in a second; made again, the
same to the byte.

    python sample_runs/make_atif.py [FOLDER]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TASK = "Write /app/berths.csv: one line a berth with its draught in metres, sorted by number. Never change harbour.db."
FIRST = f"You work in a terminal. Answer with commands.\n\nTask Description:\n{TASK}\n\nCurrent terminal state:\n$ "
SUMMARY = "The table berths has 214 rows; the draught is kept in decimetres. berths.csv is not written yet."
HANDOFF = (
    "Here are the answers the other agent provided.\n\nThe key column is berth_no. Continue working on this task from "
    "where the previous agent left off."
)
Step = dict[str, Any]


class Trajectory:
    """A trajectory in the making."""

    def __init__(self, session: str, name: str = "terminus-2") -> None:
        self.steps: list[Step] = []
        self.session, self.name = session, name
        self.prompt = 900
        self.more: dict[str, Any] = {}

    def put(self, source: str, message: str, **more: Any) -> None:
        number = len(self.steps) + 1
        stamp = f"2026-04-02T08:{number // 60:02d}:{number % 60:02d}+00:00"
        self.steps.append({"step_id": number, "timestamp": stamp, "source": source, "message": message, **more})
        self.prompt += len(message) // 4

    def run(self, say: str, keystrokes: str, output: str) -> None:
        """One model call with its command and what came of it."""
        call = f"call_{len(self.steps)}_1"
        arguments = {"keystrokes": keystrokes, "duration": 0.5}
        metrics = {"prompt_tokens": self.prompt, "completion_tokens": 40, "cached_tokens": 600, "cost_usd": 0.001}
        self.put(
            "agent", say, model_name="gpt-5-mini", metrics=metrics,
            tool_calls=[{"tool_call_id": call, "function_name": "bash_command", "arguments": arguments}],
            observation={"results": [{"source_call_id": call, "content": output}]},
        )  # fmt: skip
        self.prompt += (len(keystrokes) + len(output)) // 4

    def value(self) -> dict[str, Any]:
        agent = {"name": self.name, "version": "2.0.0", "model_name": "gpt-5-mini"}
        return {"schema_version": "ATIF-v1.8", "session_id": self.session, "agent": agent, "steps": self.steps,
                "final_metrics": {"total_steps": len(self.steps)}, **self.more}  # fmt: skip


def begun(session: str) -> Trajectory:
    one = Trajectory(session)
    one.put("user", FIRST)
    one.run("Look around.", "ls /app\n", "harbour.db  notes.txt\n")
    one.run("Which tables?", "sqlite3 harbour.db .tables\n", "berths  pilots\n")
    for _ in range(3):
        one.run("Read the schema.", "sqlite3 harbour.db '.schema berth'\n", "Error: no such table: berth\n")
    one.run("How many?", "sqlite3 harbour.db 'select count(*) from berths'\n", "214\n")
    return one


def ended(one: Trajectory) -> None:
    one.run("Write it.", "sqlite3 -csv harbour.db 'select * from berths order by berth_no' > berths.csv\n", "")
    one.run("Check it.", "wc -l berths.csv\n", "214 berths.csv\n")
    one.put("agent", "The file is written.", model_name="gpt-5-mini", metrics={"prompt_tokens": one.prompt})


def asked() -> dict[str, Any]:
    """The subagent that takes over the work and asks."""
    one = Trajectory("berths-summarization-1-questions", "terminus-2-summarization-questions")
    one.put(
        "user",
        f"You are picking up work from a previous AI agent on this task:\n\n**Original Task:** {TASK}\n\n"
        f"**Summary from Previous Agent:**\n{SUMMARY}\n\nPlease ask what you need to know.",
    )
    one.put("agent", "1. What is the key column? 2. Are draughts in metres?", model_name="gpt-5-mini")
    return one.value()


def compacted() -> Trajectory:
    """A trial whose context is summarised in the same file."""
    one = begun("berths")
    name = "trajectory.summarization-1-questions.json"
    reference = {"session_id": "berths-summarization-1-questions", "trajectory_path": name}
    one.put(
        "system", "The context was summarised and handed over.",
        observation={"results": [{"subagent_trajectory_ref": [reference]}]},
        extra={"context_management": {"type": "compaction", "boundary": "replace"}},
    )  # fmt: skip
    one.prompt = 1000
    one.put("user", HANDOFF)
    ended(one)
    return one


def continued() -> tuple[Trajectory, Trajectory]:
    """A trial that goes on in a second file, which begins with copies of what was kept."""
    one, two = begun("berths-linear"), Trajectory("berths-linear-cont-1")
    one.more["continued_trajectory_ref"] = "trajectory.cont-1.json"
    two.put("user", FIRST, is_copied_context=True)
    two.put("user", HANDOFF, is_copied_context=True)
    ended(two)
    return one, two


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")


def make(folder: Path) -> None:
    """Writes the job into `folder/harbor-job`."""
    job = folder / "harbor-job"
    write(job / "berths__a1" / "agent" / "trajectory.json", compacted().value())
    write(job / "berths__a1" / "agent" / "trajectory.summarization-1-questions.json", asked())
    write(job / "berths__a1" / "result.json", {"trial_name": "berths__a1", "finished_at": "2026-04-02T08:05:00"})
    one, two = continued()
    write(job / "berths__b2" / "agent" / "trajectory.json", one.value())
    write(job / "berths__b2" / "agent" / "trajectory.cont-1.json", two.value())


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
