"""Makes a task of Roo in `roo-task/`; made again, it is the same to the byte.

    python sample_runs/make_roo.py [FOLDER]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
START = 1_775_300_000_000
TASK = "0195f3a0-6c1d-7e44-9b11-2f64f7a1c0de"
ASKED = "Rename the column depth_ft to depth_m in survey.sql and convert its values. Keep the backup table."
TODOS = ("[x] read survey.sql", "[-] convert the values", "[ ] keep the backup table")
SUMMARY = "## Conversation Summary\nThe column depth_ft becomes depth_m; 1 ft is 0.3048 m. survey.sql has 61 rows."
Message = dict[str, Any]


def task() -> tuple[list[Message], list[Message]]:
    """(history, conversation): a summary hides all before it, later a truncation hides two messages more."""
    history: list[Message] = []
    shown: list[Message] = []
    now, tokens = START, 4000

    def tick() -> int:
        nonlocal now
        now += 1000
        return now

    def turn(number: int, tool: str, given: dict[str, Any], result: str, *, error: bool = False) -> None:
        nonlocal tokens
        use = {"tokensIn": 100, "tokensOut": 40, "cacheWrites": 0, "cacheReads": tokens, "cost": 0.01}
        shown.append({"ts": tick(), "type": "say", "say": "api_req_started", "text": json.dumps(use)})
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": given}
        content: list[Message] = [{"type": "text", "text": f"Next: {tool}."}, call]
        history.append({"role": "assistant", "content": content, "ts": tick()})
        block = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": result, "is_error": error}
        history.append({"role": "user", "content": [block], "ts": tick()})
        tokens += 600

    first = f"<user_message>\n{ASKED}\n</user_message>"
    history.append({"role": "user", "content": [{"type": "text", "text": first}], "ts": tick()})
    turn(0, "update_todo_list", {"todos": "\n".join(TODOS)}, "Todo list updated.")
    turn(1, "read_file", {"path": "survey.sql"}, "create table survey (id int, depth_ft real);\n" * 30)
    for number in (2, 3, 4):
        turn(number, "execute_command", {"command": "sqlite3 survey.db < survey.sql"},
             "Exit code: 1\nError: no such column: depth_m", error=True)  # fmt: skip
    for message in history:
        message["condenseParent"] = "c-1"
    told = {"condenseId": "c-1", "prevContextTokens": tokens, "newContextTokens": 1500, "summary": SUMMARY}
    history.append({"role": "user", "content": [{"type": "text", "text": SUMMARY}], "ts": tick(), "isSummary": True,
                    "condenseId": "c-1"})  # fmt: skip
    shown.append({"ts": now, "type": "say", "say": "condense_context", "contextCondense": told})
    tokens = 1500
    for number in range(5, 9):
        turn(number, "apply_diff", {"path": "survey.sql", "diff": f"hunk {number}"}, f"Applied hunk {number}.")
    summary = next(index for index, message in enumerate(history) if message.get("isSummary"))
    for message in history[summary + 1 : summary + 3]:
        message["truncationParent"] = "tr-1"
    marker = {"role": "user", "content": "[Sliding window truncation: 2 messages hidden to reduce context]",
              "ts": history[summary + 3]["ts"] - 1, "isTruncationMarker": True, "truncationId": "tr-1"}  # fmt: skip
    history.insert(summary + 3, marker)
    told = {"truncationId": "tr-1", "messagesRemoved": 2, "prevContextTokens": tokens, "newContextTokens": 2600}
    shown.append({"ts": tick(), "type": "say", "say": "sliding_window_truncation", "contextTruncation": told})
    tokens = 2600
    turn(9, "execute_command", {"command": "sqlite3 survey.db < survey.sql"}, "61 rows converted")
    turn(10, "attempt_completion", {"result": "The column is depth_m."}, "")
    shown.append({"ts": tick(), "type": "say", "say": "completion_result", "text": "The column is depth_m."})
    return history, shown


def make(folder: Path) -> None:
    """Writes the task into `folder/roo-task`."""
    home = folder / "roo-task" / TASK
    home.mkdir(parents=True, exist_ok=True)
    history, shown = task()
    item = {"id": TASK, "number": 1, "ts": START, "task": ASKED, "tokensIn": 1100, "tokensOut": 440, "totalCost": 0.12,
            "workspace": "/home/mira/survey", "status": "completed"}  # fmt: skip
    made = (("api_conversation_history.json", history), ("ui_messages.json", shown), ("history_item.json", item))
    for name, value in made:
        (home / name).write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
