"""Makes the sample chats of Gemini CLI in `gemini/` from a seed; made again, they are the same to the byte.

    python sample_runs/make_gemini.py [FOLDER]

`Chat` writes records as the recorder does: an answer first, then the same record again with its calls' results.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
START = 1_776_100_000.0
"""13 April 2026, 17:06 UTC."""
HIDDEN = 3_800
MODEL = "gemini-3-flash-preview"
SESSION = "7c1f0a52-5b0e-4f5e-8b1d-2a90c4e8d611"
AGENT = "codebase_investigator-3f2a"

FOUND = "skipDay() in src/days.ts leaves out a day; it is called from page.ts for each of the 28 days of a sheet."

Record = dict[str, Any]


class Chat:
    """One chat in the making: its lines, and the records that the next call will see."""

    def __init__(self, seed: int, session: str = SESSION, kind: str = "main") -> None:
        self.random = Random(seed)
        self.now = START
        self.lines: list[str] = []
        self.records: list[Record] = []
        self.count = 0
        self.put({"sessionId": session, "projectHash": "e3" * 32, "startTime": self.stamp(),
                  "lastUpdated": self.stamp(), "kind": kind})  # fmt: skip

    def stamp(self) -> str:
        self.now += self.random.randint(1, 12)
        return datetime.fromtimestamp(self.now, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def put(self, value: Record) -> None:
        self.lines.append(json.dumps(value, ensure_ascii=False))

    def ident(self) -> str:
        self.count += 1
        return f"m{self.count:03d}"

    def user(self, text: str, **more: Any) -> str:
        record = {"id": self.ident(), "timestamp": self.stamp(), "type": "user", "content": [{"text": text}], **more}
        self.put(record)
        self.records.append(record)
        return str(record["id"])

    def said(self, text: str, *calls: Record) -> str:
        prompt = HIDDEN + sum(len(json.dumps(record)) for record in self.records) // 4
        tokens = {"input": prompt, "output": 60, "cached": 0, "thoughts": 20, "tool": 0, "total": prompt + 80}
        thoughts = [{"subject": "Next", "description": "what to do", "timestamp": self.stamp()}]
        record: Record = {"id": self.ident(), "timestamp": self.stamp(), "type": "gemini", "content": text,
                          "thoughts": thoughts, "tokens": tokens, "model": MODEL}  # fmt: skip
        self.put(record)
        if calls:
            record = {**record, "toolCalls": list(calls)}
            self.put(record)
        self.records.append(record)
        self.put({"$set": {"lastUpdated": self.stamp()}})
        return str(record["id"])

    def call(self, name: str, output: str, status: str = "success", *, agent: str | None = None, **args: Any) -> Record:
        ident = f"{name}-{self.random.getrandbits(24):06x}"
        key = "output" if status == "success" else "error"
        answer = {"functionResponse": {"id": ident, "name": name, "response": {key: output}}}
        return {"id": ident, "name": name, "args": args, "result": [answer], "status": status,
                **({"agentId": agent} if agent else {})}  # fmt: skip

    def checkpoint(self, records: list[Record]) -> None:
        self.records = records
        self.put({"$set": {"messages": records, "lastUpdated": self.stamp()}})

    def rewind(self, ident: str) -> None:
        place = next(index for index, record in enumerate(self.records) if record["id"] == ident)
        self.records = self.records[:place]
        self.put({"$rewindTo": ident})


def masked(record: Record, note: str) -> Record:
    """The same record, its results replaced by a note."""
    calls = []
    for call in record.get("toolCalls", ()):
        answer = {"functionResponse": {**call["result"][0]["functionResponse"], "response": {"output": note}}}
        calls.append({**call, "result": [answer]})
    return {**record, "toolCalls": calls}


def ferry() -> str:
    run = Chat(31)
    run.user("Let the ferry timetable skip days of high wind. Never send mail, and keep exports in out/berth-9.")
    todos = [
        {"description": "Read the wind feed", "status": "in_progress"},
        {"description": "Skip the days", "status": "pending"},
    ]
    run.said("A plan first.", run.call("write_todos", "Todo list updated.", todos=todos))
    feed = "\n".join(f"2026-04-{day:02d},{run.random.randint(2, 14)} Bft" for day in range(1, 29))
    run.said("", run.call("read_file", feed, file_path="wind.csv"))
    run.said("", run.call("run_shell_command", "Tests failed: 3", "error", command="npm test"))
    run.said("", run.call("codebase_investigator", FOUND, agent=AGENT, objective="Where are days?"))
    run.said("", run.call("run_shell_command", "Tests failed: 3", "error", command="npm test"))
    goal = "Skip days of high wind in the ferry timetable."
    known = "skipDay() is in src/days.ts; tests fail: 3"
    inside = f"<overall_goal>{goal}</overall_goal>\n<key_knowledge>{known}</key_knowledge>"
    summary = f"<state_snapshot>\n{inside}\n</state_snapshot>"
    head = {"id": "s001", "timestamp": run.stamp(), "type": "user", "content": [{"text": summary}]}
    told = "Got it. Thanks for the additional context!"
    reply = {"id": "s002", "timestamp": run.stamp(), "type": "gemini", "content": told, "tokens": None}
    run.checkpoint([head, reply, masked(run.records[-2], "<tool_output_masked> saved to out/1.txt"), run.records[-1]])
    run.said("", run.call("replace", "Replaced 1 occurrence.", file_path="src/days.ts", old_string="0", new_string="9"))
    wrong = run.user("Send the new timetable to everyone.")
    run.said("I would need the mail tool.")
    run.rewind(wrong)
    run.user("Run the tests again.")
    run.said("", run.call("run_shell_command", "Tests passed", command="npm test"))
    run.said("Days of high wind are skipped.")
    return "\n".join(run.lines) + "\n"


def investigator() -> str:
    run = Chat(32, AGENT, "subagent")
    run.user("Where are days?")
    run.said("", run.call("search_file_content", "src/days.ts: skipDay", pattern="Day"))
    run.said(FOUND)
    return "\n".join(run.lines) + "\n"


def older() -> str:
    run = Chat(33, "1d7e", "main")
    run.user("Print the timetable on one page.")
    run.said("I will look.", run.call("list_directory", "page.ts\ndays.ts", path="src"))
    run.said("It fits on one page now.")
    record = {"sessionId": "1d7e", "projectHash": "e3" * 32, "startTime": run.stamp(), "lastUpdated": run.stamp(),
              "messages": run.records}  # fmt: skip
    return json.dumps(record, indent=2)


def make(folder: Path) -> list[Path]:
    place = folder / "gemini"
    (place / SESSION).mkdir(parents=True, exist_ok=True)
    made = {"session-2026-04-13T17-06-7c1f0a52.jsonl": ferry(), f"{SESSION}/{AGENT}.jsonl": investigator(),
            "session-2025-08-01T09-00-1d7e.json": older()}  # fmt: skip
    out = []
    for name, held in made.items():
        (place / name).write_text(held, encoding="utf-8")
        out.append(place / name)
    return out


if __name__ == "__main__":
    for file in make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE):
        print(file)
