"""Makes the sample sessions in `claude-code/` from a seed; made again, they are the same to the byte.

    python sample_runs/make_claude_code.py [FOLDER]

`Session` writes lines as the agent does: one line a block of an answer, results that hang on their calls, usage that
counts what the prompt holds.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
MORNING = 1_767_690_000
"""6 January 2026, 09:00 UTC."""
HIDDEN = 5_840
"""Tokens of the system prompt and the tools, which no session holds."""
MODEL = "claude-sonnet-4-5-20250929"

Line = dict[str, Any]


def weigh(text: str) -> int:
    """About what the text costs: a token for each 3.7 characters."""
    return -(-len(text) * 10 // 37)


class Session:
    """One session file in the making: `lines`, the end of the chain, and what the prompt weighs."""

    def __init__(self, ident: str, seed: int, *, version: str = "2.1.44", agent: str | None = None) -> None:
        self.ident, self.version, self.agent = ident, version, agent
        self.random = Random(seed)
        self.lines: list[Line] = []
        self.head: str | None = None
        self.now = float(MORNING)
        self.held: list[int] = []
        self.cut = 0
        self.seen = 0
        self._calls = 0
        self._answers = 0

    def uuid(self) -> str:
        bits = f"{self.random.getrandbits(128):032x}"
        return f"{bits[:8]}-{bits[8:12]}-4{bits[13:16]}-a{bits[17:20]}-{bits[20:]}"

    def line(self, kind: str, *, hang: bool = True, parent: str | None = None, **more: Any) -> Line:
        """A line of the chain, at its end or behind `parent`."""
        self.now += self.random.uniform(0.4, 3.0)
        at = datetime.fromtimestamp(round(self.now, 3), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        entry: Line = {
            "parentUuid": parent if parent is not None or not hang else self.head,
            "isSidechain": self.agent is not None, "userType": "external", "cwd": "/home/mira/ferry",
            "sessionId": self.ident, "version": self.version, "gitBranch": "main", "type": kind, **more,
            "uuid": self.uuid(), "timestamp": at,
        }  # fmt: skip
        if self.agent is not None:
            entry["agentId"] = self.agent
        self.lines.append(entry)
        self.head = entry["uuid"]
        return entry

    def beside(self, kind: str, **more: Any) -> None:
        """A line that hangs on nothing."""
        self.lines.append({"type": kind, **more})

    def user(self, text: str, **more: Any) -> Line:
        self.held.append(weigh(text))
        return self.line("user", message={"role": "user", "content": text}, **more)

    def call(self, tool: str, **arguments: Any) -> Line:
        """A block that calls a tool."""
        self._calls += 1
        return {"type": "tool_use", "id": f"toolu_{self.ident[:4]}{self._calls:04d}", "name": tool, "input": arguments}

    def answer(self, *blocks: str | Line, **more: Any) -> list[str]:
        """One answer of the model, a line a block. Returns the ids of its calls."""
        self._answers += 1
        told: list[Line] = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        prompt = HIDDEN + sum(self.held)
        output = sum(weigh(json.dumps(block)) for block in told)
        for index, block in enumerate(told):
            last = index == len(told) - 1
            usage = {
                "input_tokens": 4, "cache_creation_input_tokens": max(0, prompt - self.seen - 4),
                "cache_read_input_tokens": min(self.seen, prompt - 4), "output_tokens": output if last else 2,
            }  # fmt: skip
            message = {
                "id": f"msg_{self.ident[:4]}{self._answers:04d}", "type": "message", "role": "assistant",
                "model": MODEL, "content": [block], "stop_reason": None, "usage": usage,
            }  # fmt: skip
            self.line("assistant", message=message, requestId=f"req_{self.ident[:4]}{self._answers:04d}", **more)
            self.held.append(weigh(json.dumps(block)))
        self.seen = prompt
        return [block["id"] for block in told if block["type"] == "tool_use"]

    def result(self, call: str, text: str, *, error: bool = False, **more: Any) -> Line:
        block: Line = {"tool_use_id": call, "type": "tool_result", "content": text}
        if error:
            block["is_error"] = True
        self.held.append(weigh(text))
        return self.line("user", message={"role": "user", "content": [block]}, **more)

    def does(self, says: str, tool: str, text: str, *, error: bool = False, **arguments: Any) -> str:
        """An answer with one call, and its result. Returns the call's id."""
        call = self.answer(*([says] if says else []), self.call(tool, **arguments))[0]
        self.result(call, text, error=error)
        return call

    def compact(self, summary: str, *, keep: int = 0, kept: Line | None = None) -> None:
        """A recorded compaction: the boundary, the summary, and the last `keep` weights that stay."""
        was = HIDDEN + sum(self.held)
        logical, stay = self.head, self.held[len(self.held) - keep :]
        meta: Line = {"trigger": "auto", "preTokens": was, "postTokens": weigh(summary) + sum(stay), **(kept or {})}
        self.line("system", hang=False, logicalParentUuid=logical, subtype="compact_boundary",
                  content="Conversation compacted", compactMetadata=meta)  # fmt: skip
        self.held = []
        line = self.user(summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)
        for place in ("preservedSegment", "preservedMessages"):
            if place in meta:
                meta[place]["anchorUuid"] = line["uuid"]
        self.held += stay
        self.cut = self.seen = 0

    def lose(self) -> None:
        """A line of the chain that is never written: the next one hangs on nothing that is there."""
        self.head = self.uuid()
        self.cut = len(self.held)

    def resume(self) -> None:
        """Another process goes on: it walks up the chain, as far as that goes."""
        self.held = self.held[self.cut :]
        self.cut = self.seen = 0
        self.now += 5400

    def text(self) -> str:
        return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in self.lines)


# -- what the sessions are about --------------------------------------------------------------------------------------

GOAL = (
    "Make import_timetable.py accept files that begin with a byte order mark. Departure ids must stay as they are, "
    "and never write to timetable.db: the winter table is live."
)
PORTS = ("Havnes", "Lillesand", "Storvik", "Nordhamn", "Eidsund", "Kvitneset")
FAILS = """Exit code 1
tests/test_import.py::test_plain PASSED
tests/test_import.py::test_byte_order_mark FAILED
E   ValueError: line 1: unknown column '\\ufeffdeparture_id'
1 failed, 1 passed in 0.4s"""


def rows(random: Random, count: int) -> str:
    """Lines of a timetable."""
    out = ["departure_id;from;to;leaves;arrives"]
    for number in range(count):
        start, end = random.sample(PORTS, 2)
        hour, minute = divmod(300 + number * 7, 60)
        out.append(f"NF-{4100 + number};{start};{end};{hour:02d}:{minute:02d};{hour + 1:02d}:{minute:02d}")
    return "\n".join(out)


def source(random: Random, count: int) -> str:
    """Lines of a module, numbered as the reading tool does."""
    names = [f"column_{random.randrange(100, 999)}" for _ in range(count)]
    lines = ["import csv", "", "def read(path):", "    with open(path, encoding='utf-8') as file:"]
    lines += [f"        {name} = normalise(row['{name}'], strict={random.random() < 0.5})" for name in names]
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, 1))


def todos(*items: tuple[str, str]) -> list[Line]:
    return [{"content": text, "status": status, "activeForm": f"Doing: {text}"} for text, status in items]


PLAN = (
    "Read import_timetable.py and its tests",
    "Open files as utf-8-sig in read()",
    "Keep departure ids unchanged in normalise()",
    "Add a sample with a byte order mark to tests/data",
)
SUMMARY = """This session is being continued from a previous conversation that ran out of context.
Summary:
1. Primary Request and Intent:
   The user asked to go on with the rest of the work on the importer of timetables.
2. Key Technical Concepts:
   - csv, encodings, utf-8-sig
3. Files and Code Sections:
   - import_timetable.py: read() opens the file
4. Errors and fixes:
   - none open
5. Problem Solving:
   The importer reads files with a byte order mark.
6. All user messages:
   - Good. Now go on with the rest.
7. Pending Tasks:
   - import the new table
8. Current Work:
   The rows of tests/data/summer.csv were looked at.
9. Optional Next Step:
   Import them."""


def ferry(folder: Path) -> None:
    """The first session: a subagent, a circle, a broken chain and a resume, a compaction, a torn last line."""
    ident = "5b1c7f0e-2d64-4a39-8c11-90de3a7f4c02"
    session = Session(ident, 11)
    session.beside("permission-mode", permissionMode="acceptEdits", sessionId=ident)
    session.beside("file-history-snapshot", messageId=session.uuid(), snapshot={"trackedFileBackups": {}})
    session.user(GOAL)
    call = session.answer("I will plan this first.", session.call("TodoWrite", todos=todos(
        (PLAN[0], "in_progress"), *((text, "pending") for text in PLAN[1:]))))[0]  # fmt: skip
    session.result(call, "Todos have been modified successfully.")
    first, second = session.answer(
        "I read both files.", session.call("Read", file_path="import_timetable.py"),
        session.call("Read", file_path="tests/test_import.py"),
    )  # fmt: skip
    parent = session.lines[-2]["uuid"]
    session.result(first, source(session.random, 60), parent=parent)
    session.result(second, source(session.random, 40), parent=session.lines[-2]["uuid"])
    helper = subagent(folder, session)
    session.result(helper, "Two callers hand over paths; both pass them on unchanged.",
                   toolUseResult={"agentId": "a41c90", "totalTokens": 13120})  # fmt: skip
    session.line("system", subtype="api_error", level="error", error={"status": 529, "message": "Overloaded"},
                 retryAttempt=1, maxRetries=10, retryInMs=600)  # fmt: skip
    session.does("The winter table shows the ids.", "Bash", rows(session.random, 90),
                 command="cat tests/data/winter.csv")  # fmt: skip
    session.does("", "TodoWrite", "Todos have been modified successfully.", todos=todos(
        (PLAN[0], "completed"), (PLAN[1], "in_progress"), (PLAN[2], "pending"), (PLAN[3], "pending")))  # fmt: skip
    for _ in range(4):
        session.does("", "Bash", FAILS, error=True, command="python -m pytest -q tests/test_import.py")
    session.does("", "Edit", "The file import_timetable.py has been updated.", file_path="import_timetable.py",
                 old_string="encoding='utf-8'", new_string="encoding='utf-8-sig'")  # fmt: skip
    session.lose()
    session.does("The mark is skipped now.", "Bash", "2 passed in 0.3s",
                 command="python -m pytest -q tests/test_import.py")  # fmt: skip
    session.does("", "Read", source(session.random, 20), file_path="normalise.py")
    session.answer("The importer reads files with a byte order mark.")
    session.resume()
    session.user("Good. Now go on with the rest.")
    session.does("I look at what is left to do.", "Bash", "import_timetable.py\nnormalise.py\ntimetable.db\ntests",
                 command="ls")  # fmt: skip
    session.does("", "TodoWrite", "Todos have been modified successfully.", todos=todos(
        ("Shorten normalise() to one pass", "in_progress"), ("Import tests/data/summer.csv", "pending")))  # fmt: skip
    session.does("", "Bash", rows(session.random, 110), command="cat tests/data/summer.csv")
    session.does("", "Read", source(session.random, 60), file_path="import_timetable.py")
    session.user("The file for Storvik is tests/data/storvik-0107.csv, and berth 12 is closed until 14 January.")
    session.answer("Understood: berth 12 stays empty.")
    session.compact(SUMMARY)
    session.does("The table should hold the new rows.", "Bash", "imported 110 rows",
                 command="python import_timetable.py tests/data/summer.csv --into timetable.db")  # fmt: skip
    call = session.answer("The summer table is in timetable.db.", session.call("Bash", command="git status --short"))[0]
    session.result(call, " M import_timetable.py\n M timetable.db")
    text = session.text()
    write(folder / f"{ident}.jsonl", text[: len(text) - 61])


def subagent(folder: Path, session: Session) -> str:
    """A search in a file of its own. Returns the call that started it."""
    prompt = "Find every caller of read() in import_timetable.py and say what paths they hand over."
    call = session.answer(session.call("Task", subagent_type="Explore", description="Find callers", prompt=prompt))[0]
    agent = Session(session.ident, 12, agent="a41c90")
    agent.now = session.now
    agent.user(prompt)
    agent.does("", "Grep", "sync.py:14: rows = read(path)\ncli.py:40: read(args.file)", pattern="read\\(")
    agent.does("", "Read", source(agent.random, 24), file_path="sync.py")
    agent.answer("Two callers hand over paths; both pass them on unchanged.")
    inside = folder / session.ident / "subagents"
    inside.mkdir(parents=True, exist_ok=True)
    write(inside / "agent-a41c90.jsonl", agent.text())
    write(inside / "agent-a41c90.meta.json", json.dumps({"agentType": "Explore", "toolUseId": call}) + "\n")
    session.now = agent.now
    return call


def harbour(folder: Path) -> None:
    """The second session: tasks, a plan, shortened results, a rewind, a compaction that keeps the last messages."""
    ident = "c92e04d7-7713-4f5e-9b60-1f8a55d2be31"
    session = Session(ident, 21, version="2.1.92")
    session.beside("mode", mode="normal", sessionId=ident)
    session.user("Write the harbour report for week 2: berths, delays, and the tide at each port.")
    call = session.answer(session.call("TaskCreate", subject="Collect berths from berths.csv", description="all"))[0]
    session.result(call, "Task #1 created successfully: Collect berths from berths.csv",
                   toolUseResult={"task": {"id": "1", "subject": "Collect berths from berths.csv"}})  # fmt: skip
    call = session.answer(session.call("TaskCreate", subject="Collect delays of week 2", description="minutes"))[0]
    session.result(call, "Task #2 created successfully: Collect delays of week 2",
                   toolUseResult={"task": {"id": "2", "subject": "Collect delays of week 2"}})  # fmt: skip
    berths = session.does("", "Bash", rows(session.random, 120), command="cat berths.csv")
    session.does("", "TaskUpdate", "Updated task #1 status", taskId="1", status="completed")
    turn = session.head
    session.user("Use the old template.")
    session.does("", "Read", source(session.random, 12), file_path="template_2019.md")
    session.answer("The old template has no place for tides.")
    before = session.held[:-4]
    session.head, session.held, session.seen = turn, before, 0
    session.user("Forget the old template, make a new one.")
    session.answer("I make a plan.", session.call("ExitPlanMode", plan="# Report\n- one table a port\n- tides last"))
    session.result("toolu_c92e0006", "User has approved your plan.")
    session.beside("content-replacement", sessionId=ident, replacements=[
        {"kind": "tool-result", "toolUseId": berths, "replacement": "<persisted-output>\nOutput too large (5.1KB). "
         "Full output saved to: tool-results/berths.txt\n\nPreview (first 2KB):\ndeparture_id;from;to\n"
         "</persisted-output>"}])  # fmt: skip
    session.held[5] = 60
    delays = session.does("", "Bash", rows(session.random, 60), command="cat delays.csv")
    session.does("", "Write", "File created successfully at: report.md", file_path="report.md", content="# Week 2\n")
    session.line("system", subtype="microcompact_boundary", content="Context microcompacted", microcompactMetadata={
        "trigger": "auto", "preTokens": HIDDEN + sum(session.held), "tokensSaved": 600, "compactedToolIds": [delays],
        "clearedAttachmentUUIDs": []})  # fmt: skip
    session.does("The table of berths comes next.", "Edit", "The file report.md has been updated.",
                 file_path="report.md", old_string="# Week 2", new_string="# Week 2\n\n| port | berths |")  # fmt: skip
    session.line("system", subtype="away_summary", content="Goal: the harbour report for week 2. Next action: tides.")
    kept = [line["uuid"] for line in session.lines[-4:-1]]
    session.compact(
        "This session is being continued from a previous conversation that ran out of context.\n"
        "1. Primary Request and Intent:\n   Write the harbour report for week 2: berths, delays, and the tide at each"
        " port.\n7. Pending Tasks:\n   - Collect delays of week 2\n8. Current Work:\n   report.md has berths.",
        keep=3, kept={"preservedMessages": {"anchorUuid": "", "uuids": kept}},
    )  # fmt: skip
    session.does("", "Bash", "Havnes 1.9 m\nStorvik 2.2 m", command="python tides.py --week 2")
    session.answer("The report is in report.md; the delays are still missing.")
    write(folder / f"{ident}.jsonl", session.text())


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def make(folder: Path) -> None:
    """All sample sessions into `folder`/claude-code."""
    ferry(folder / "claude-code")
    harbour(folder / "claude-code")


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
