"""Makes the samples of what stands beside the chats of Gemini CLI: in `qwen/` a chat of Qwen Code with a subagent, in
`gemini-saved/` a chat that was saved by name. Made again, they are the same to the byte.

    python sample_runs/make_gemini_relatives.py [FOLDER]

`Chat` writes records as Qwen Code does: one line each, hung to the one before, contents as they are sent.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
START = 1_778_400_000.0
"""10 May 2026, 08:00 UTC."""
SESSION = "3c0d5a1e-88b4-4f0e-9a55-1b7e60c2d94f"
AGENT = "explore-5d21c7f0"
HIDDEN = 6_100
MODEL = "qwen3-coder-plus"

Record = dict[str, Any]


class Chat:
    """One chat in the making: its lines, and the contents that the next call will see."""

    def __init__(self, seed: int, **common: Any) -> None:
        self.random = Random(seed)
        self.now = START
        self.lines: list[Record] = []
        self.contents: list[Record] = []
        self.common = common
        self.last: str | None = None

    def put(self, sort: str, **more: Any) -> str:
        self.now += self.random.randint(1, 9)
        at = datetime.fromtimestamp(self.now, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        ident = f"{self.random.getrandbits(32):08x}-0000-4000-8000-{len(self.lines):012d}"
        self.lines.append({"uuid": ident, "parentUuid": self.last, "sessionId": SESSION, "timestamp": at, "type": sort,
                           "cwd": "/srv/loft", "version": "0.9.2", **self.common, **more})  # fmt: skip
        self.last = ident
        return ident

    def user(self, text: str, **more: Any) -> str:
        content = {"role": "user", "parts": [{"text": text}]}
        self.contents = [self._without_thoughts(one) for one in self.contents] + [content]
        return self.put("user", message=content, **more)

    @staticmethod
    def _without_thoughts(content: Record) -> Record:
        return {**content, "parts": [part for part in content["parts"] if not part.get("thought")]}

    def said(self, *parts: Record, thought: str | None = None) -> str:
        prompt = HIDDEN + sum(len(json.dumps(one)) for one in self.contents) // 4
        held = [{"text": thought, "thought": True}] if thought else []
        content = {"role": "model", "parts": [*held, *parts]}
        usage = {"promptTokenCount": prompt, "candidatesTokenCount": 60, "thoughtsTokenCount": 12 if thought else 0,
                 "cachedContentTokenCount": prompt // 2, "totalTokenCount": prompt + 60}  # fmt: skip
        ident = self.put("assistant", message=content, usageMetadata=usage, model=MODEL, contextWindowSize=131_072)
        self.contents.append(content)
        self.put("system", subtype="ui_telemetry", systemPayload={"uiEvent": {"event.name": "qwen-code.api_response"}})
        return ident

    def call(self, name: str, output: str, *, failed: bool = False, thought: str | None = None, **args: Any) -> str:
        ident = f"call_{self.random.getrandbits(40):010x}"
        self.said({"functionCall": {"id": ident, "name": name, "args": args}}, thought=thought)
        key, status = ("error", "error") if failed else ("output", "success")
        answer = {"functionResponse": {"id": ident, "name": name, "response": {key: output}}}
        content = {"role": "user", "parts": [answer]}
        self.contents.append(content)
        self.put("tool_result", message=content, toolCallResult={"callId": ident, "status": status})
        return ident

    def compress(self, summary: str) -> None:
        """The contents are summed up; what was asked last is sent behind them."""
        asked = self.contents.pop()
        before = HIDDEN + sum(len(json.dumps(one)) for one in self.contents) // 4
        got = {"role": "model", "parts": [{"text": "Got it. Thanks for the additional context!"}]}
        self.contents = [{"role": "user", "parts": [{"text": summary}]}, got]
        info = {"originalTokenCount": before, "newTokenCount": HIDDEN + 90, "compressionStatus": 1}
        self.put("system", subtype="chat_compression",
                 systemPayload={"info": info, "compressedHistory": list(self.contents)})  # fmt: skip
        self.contents.append(asked)

    def text(self) -> str:
        return "".join(json.dumps(line) + "\n" for line in self.lines)


SUMMARY = """<state_snapshot>
<overall_goal>Count the pigeons in the loft's book by their rings; rings.csv stays as it is.</overall_goal>
<key_knowledge>Rings stand in column 3.</key_knowledge>
</state_snapshot>"""


def loft() -> tuple[Chat, Chat, str]:
    """(the chat, the chat of its subagent, the call that began it)."""
    chat = Chat(71)
    chat.user("Count the pigeons in the book by their rings. Never change rings.csv.")
    items = [("1", "Find the rings", "in_progress"), ("2", "Write count.py", "pending")]
    todos = [{"id": ident, "content": content, "status": status} for ident, content, status in items]
    chat.call("todo_write", "Todos have been modified successfully.", todos=todos, thought="Look first.")
    began = chat.call("task", "Rings stand in column 3.", subagent_type="explore", description="Find the rings")
    for _ in range(2):
        chat.call("run_shell_command", "KeyError: 'ring'\nExit Code: 1", failed=True, command="python count.py")
    rows = "\n".join(f"{n};grey;DV-{n % 60:04d}" for n in range(90))
    chat.call("read_file", rows, absolute_path="/srv/loft/book.csv", thought="The column has no name.")
    chat.said({"text": "The rings stand in column 3."})
    back, held = chat.last, list(chat.contents)
    chat.user("Forget the rings, count feathers.")
    chat.said({"text": "There are no feathers in the book."})
    chat.last, chat.contents = back, held
    chat.put("system", subtype="rewind", systemPayload={"truncatedCount": 2})
    chat.user("Now write count.py.")
    chat.call("write_file", "Successfully created count.py.", file_path="/srv/loft/count.py", content="...")
    chat.user("How many are there?")
    chat.compress(SUMMARY)
    chat.said({"text": "60 pigeons by their rings."})

    sub = Chat(72, isSidechain=True, agentId=AGENT, agentName="explore")
    sub.user("Find the column that holds the rings.")
    sub.call("grep_search", "book.csv:1: DV-0000", pattern="DV-")
    sub.said({"text": "Rings stand in column 3."})
    return chat, sub, began


def saved() -> Record:
    """What `/chat save ducks` writes."""
    call = {"functionCall": {"id": "ls-1", "name": "list_directory", "args": {"path": "ponds"}}}
    answer = {"functionResponse": {"id": "ls-1", "name": "list_directory", "response": {"output": "north.txt"}}}
    missing = {"functionCall": {"name": "read_file", "args": {"path": "ponds/south.txt"}}}
    gone = {"functionResponse": {"name": "read_file", "response": {"error": "File not found: ponds/south.txt"}}}
    history = [
        {"role": "user", "parts": [{"text": "<session_context>\nThis is the Gemini CLI. Today is Sunday."}]},
        {"role": "user", "parts": [{"text": "Count the ducks of both ponds. Never write to ponds/."}]},
        {"role": "model", "parts": [{"text": "First the folder."}, call]},
        {"role": "user", "parts": [answer]},
        {"role": "model", "parts": [missing]},
        {"role": "user", "parts": [gone]},
        {"role": "model", "parts": [{"text": "Only the northern pond has a file."}]},
    ]
    return {"history": history, "authType": "oauth-personal"}


def make(folder: Path) -> list[Path]:
    chat, sub, began = loft()
    chats, beside = folder / "qwen" / "chats", folder / "qwen" / "subagents" / SESSION
    kept = folder / "gemini-saved" / "checkpoint-ducks.json"
    meta = {"agentId": AGENT, "agentType": "explore", "description": "Find the rings", "parentSessionId": SESSION,
            "toolUseId": began}  # fmt: skip
    made = {
        chats / f"{SESSION}.jsonl": chat.text(),
        beside / f"agent-{AGENT}.jsonl": sub.text(),
        beside / f"agent-{AGENT}.meta.json": json.dumps(meta),
        kept: json.dumps(saved(), indent=2),
    }
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(made)


if __name__ == "__main__":
    for file in make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE):
        print(file)
