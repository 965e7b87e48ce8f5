"""Makes a session of the Cline SDK in `cline-session/` and a task of Cline in the editor in `cline-task/`; made again,
they are the same to the byte.

    python sample_runs/make_cline.py [FOLDER]
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
START = 1_775_100_000_000
SESSION = "1775100000000_k3vwq"
TASK = "1775200000000"
MODEL = {"id": "anthropic/claude-sonnet-4.5", "provider": "cline", "family": "claude-sonnet"}
ASKED = "Give every gauge in gauges.yml a unit. Leave the retired ones alone."
PLAN = ("read gauges.yml", "add units", "check with gauge-lint")
GAUGES = "".join(f"- id: G{n:02d}\n  place: weir {n}\n" for n in range(1, 30))
Message = dict[str, Any]


# -- the SDK ------------------------------------------------------------------------------------------------------


class Session:
    """A session in the making."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.prompt = 1500

    def put(self, role: str, content: list[Message], **more: Any) -> None:
        number = len(self.messages)
        self.messages.append({"id": f"msg_{number:02d}", "role": role, "content": content,
                              "ts": START + number * 4000, **more})  # fmt: skip

    def ask(self, text: str) -> None:
        self.put("user", [{"type": "text", "text": text}])
        self.prompt += len(text) // 4

    def say(self, text: str, tool: str | None = None, given: dict[str, Any] | None = None, result: str = "") -> None:
        """A model call; with a tool its result too."""
        content: list[Message] = [{"type": "text", "text": text}]
        number = len(self.messages)
        if tool is not None:
            content.append({"type": "tool_use", "id": f"call_{number}", "name": tool, "input": given})
        metrics = {"inputTokens": self.prompt, "outputTokens": 30, "cacheReadTokens": self.prompt - 300,
                   "cacheWriteTokens": 0}  # fmt: skip
        self.put("assistant", content, modelInfo=MODEL, metrics=metrics)
        self.prompt += (len(text) + len(result)) // 4 + 20
        if tool is not None:
            block = {"type": "tool_result", "tool_use_id": f"call_{number}", "content": result}
            self.put("user", [block])

    def value(self) -> dict[str, Any]:
        return {"version": 1, "updated_at": "2026-04-02T11:00:00.000Z", "agent": "lead", "sessionId": SESSION,
                "messages": self.messages, "system_prompt": "You are a careful engineer. Use the tools."}  # fmt: skip


def before() -> Session:
    """The session up to its compaction."""
    one = Session()
    one.ask(ASKED)
    one.say("I read the gauges.", "read_files", {"files": [{"path": "gauges.yml"}]}, GAUGES)
    for _ in range(3):
        failed = json.dumps([{"query": "gauge-lint", "result": "gauge-lint: not found", "success": False}])
        one.say("I check them.", "run_commands", {"commands": ["gauge-lint gauges.yml"]}, failed)
    one.say("The units stand in places.csv.", "read_files", {"files": [{"path": "places.csv"}]}, "weir;m\n" * 200)
    return one


def compaction(messages: list[Message]) -> dict[str, Any]:
    """What an agentic compaction of these messages leaves, tied to them by their hash."""
    summary = "## Goal\nGive every gauge in gauges.yml a unit.\n\n## State\n- read gauges.yml\n\n## Next\n- add units"
    line = sha256(f"cline-session-compaction-source-v2\n{len(messages)}\n".encode())
    for message in messages:
        parts = [["role", message["role"]], ["content", message["content"]]]
        parts += [[name, message.get(name)] for name in ("agent", "sessionId", "metadata", "modelInfo", "metrics")]
        line.update((json.dumps(parts, separators=(",", ":"), ensure_ascii=False) + "\n").encode())
    kept = {
        "role": "user", "content": [{"type": "text", "text": f"Context summary:\n\n{summary}"}], "id": "sum_1",
        "metadata": {"kind": "compaction_summary", "summary": summary, "tokensBefore": 2900},
    }  # fmt: skip
    return {
        "version": 1, "updated_at": "2026-04-02T10:58:00.000Z", "source_message_count": len(messages),
        "source_prefix_hash": f"sha256:{line.hexdigest()}", "source_last_message_key": f"id:{messages[-1]['id']}",
        "messages": [kept],
    }  # fmt: skip


def session() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """(messages, compaction, manifest)"""
    one = before()
    state = compaction(list(one.messages))
    one.prompt = 1700
    one.say("I add the units.", "editor", {"path": "gauges.yml", "new_text": "unit: m"}, '{"success":true}')
    one.say("All gauges have a unit now.")
    manifest = {"version": 1, "session_id": SESSION, "source": "cli", "pid": 4711, "status": "completed",
                "started_at": "2026-04-02T10:50:00.000Z", "ended_at": "2026-04-02T11:00:00.000Z", "interactive": True,
                "provider": "cline", "model": MODEL["id"], "cwd": "/home/mira/gauges",
                "workspace_root": "/home/mira/gauges", "metadata": {"title": ASKED}}  # fmt: skip
    return one.value(), state, manifest


# -- the editor ---------------------------------------------------------------------------------------------------


def task() -> tuple[list[Message], list[Message], list[Any]]:
    """(history, conversation, changes in place): the oldest messages are hidden twice."""
    history: list[Message] = []
    shown: list[Message] = []
    hidden: list[int] | None = None
    now, tokens = START + 100_000_000, 9000
    changed_at = 0

    def show(said: str, text: str) -> None:
        nonlocal now
        now += 1000
        line: Message = {"ts": now, "type": "say", "say": said, "text": text,
                         "conversationHistoryIndex": len(history) - 1}  # fmt: skip
        if hidden is not None:
            line["conversationHistoryDeletedRange"] = hidden
        shown.append(line)

    def progress(done: int) -> str:
        return "\n".join(f"- [{'x' if index < done else ' '}] {item}" for index, item in enumerate(PLAN))

    for turn in range(12):
        given = tokens if turn < 6 else tokens // 2 + turn * 400
        use = {"request": "...", "tokensIn": 200, "tokensOut": 60, "cacheWrites": 0, "cacheReads": given, "cost": 0.01}
        show("api_req_started", json.dumps(use))
        if turn == 0:
            text = f"<task>\n{ASKED}\n</task>"
        elif turn in (2, 3, 4):
            text = "[execute_command for 'gauge-lint gauges.yml'] Result:\ngauge-lint: command not found"
        else:
            text = f"[read_file for 'gauges.yml'] Result:\n# as of turn {turn}\n{GAUGES}"
        place = "<environment_details>\n# Current Working Directory (/home/mira/gauges)\n</environment_details>"
        history.append({"role": "user", "content": [{"type": "text", "text": text}, {"type": "text", "text": place}]})
        if turn == 6:
            hidden, changed_at = [2, 5], now - 1
        if turn == 9:
            hidden = [2, 11]
        show("text", f"turn {turn}")
        call = "<read_file>\n<path>gauges.yml</path>\n</read_file>"
        if turn in (1, 2, 3):
            call = "<execute_command>\n<command>gauge-lint gauges.yml</command>\n</execute_command>"
        if turn == 11:
            call = "<attempt_completion>\n<result>Every gauge has a unit.</result>\n</attempt_completion>"
        history.append({"role": "assistant", "content": [{"type": "text", "text": f"I go on: {turn}.\n\n{call}"}]})
        show("task_progress", progress(turn // 4))
        tokens += 1200
    show("completion_result", "Every gauge has a unit.")
    note = "[NOTE] Some previous conversation history with the user has been removed to save space."
    seen = "[[NOTE] This file read has been removed to save space. Refer to the latest file read.]"
    changes = [
        [1, [1, [[0, [[changed_at, "text", [note], []]]]]]],
        [12, [2, [[0, [[changed_at, "text", [f"[read_file for 'gauges.yml'] Result:\n{seen}"], [["gauges.yml"]]]]]]]],
    ]
    return history, shown, changes


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def make(folder: Path) -> None:
    """Writes the session and the task."""
    messages, state, manifest = session()
    home = folder / "cline-session" / SESSION
    write(home / f"{SESSION}.messages.json", messages)
    write(home / f"{SESSION}.compaction.json", state)
    write(home / f"{SESSION}.json", manifest)
    history, shown, changes = task()
    home = folder / "cline-task" / TASK
    write(home / "api_conversation_history.json", history)
    write(home / "ui_messages.json", shown)
    write(home / "context_history.json", changes)


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
