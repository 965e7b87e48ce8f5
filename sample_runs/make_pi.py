"""Makes the sample sessions of pi in `pi/` from a seed; made again, they are the same to the byte.

    python sample_runs/make_pi.py [FOLDER]

`Session` writes entries as the agent does and keeps what its model sees, so that reported usage is true to the story.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
START = 1_774_000_000.0
"""20 March 2026, 09:46 UTC."""
HIDDEN = 2_100
"""Tokens of the system prompt and the tool schemas, which no session holds."""
MODEL = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-5"}

Entry = dict[str, Any]


def weigh(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False)) // 4


class Session:
    """One session in the making: its lines, and the entries that the next call will see."""

    def __init__(self, seed: int, start: float = START, cwd: str = "/home/mira/tides") -> None:
        self.random = Random(seed)
        self.now = start
        self.lines: list[str] = []
        self.seen: list[tuple[str, object]] = []
        self.leaf: str | None = None
        self.cached = 0
        ident = f"{self.random.getrandbits(32):08x}-6b1e-4c0a-9d52-{self.random.getrandbits(48):012x}"
        self.put({"type": "session", "version": 3, "id": ident, "timestamp": self.stamp(), "cwd": cwd})

    def stamp(self) -> str:
        self.now += self.random.randint(1, 20)
        return datetime.fromtimestamp(self.now, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def put(self, value: Entry) -> None:
        self.lines.append(json.dumps(value, ensure_ascii=False, separators=(",", ":")))

    def entry(self, sort: str, *, written: bool = True, **more: Any) -> str:
        ident = f"{self.random.getrandbits(32):08x}"
        value = {"type": sort, "id": ident, "parentId": self.leaf, "timestamp": self.stamp(), **more}
        if written:
            self.put(value)
        self.leaf = ident
        return ident

    def message(self, message: Entry, *, written: bool = True) -> str:
        ident = self.entry("message", written=written, message=message)
        self.seen.append((ident, message.get("content")))
        return ident

    def user(self, text: str) -> str:
        return self.message({"role": "user", "content": [{"type": "text", "text": text}]})

    def said(self, *blocks: Entry, stop: str = "stop", error: str | None = None) -> str:
        prompt = HIDDEN + sum(weigh(content) for _, content in self.seen)
        read = min(self.cached, prompt)
        usage = {"input": 3, "output": weigh(blocks), "cacheRead": read, "cacheWrite": prompt - read - 3}
        if error is not None:
            usage = dict.fromkeys(usage, 0)
        else:
            self.cached = prompt
        more = {"errorMessage": error} if error else {}
        cost = {"total": round(sum(usage.values()) * 3e-6, 6)}
        full = {**usage, "totalTokens": sum(usage.values()), "cost": cost}
        ident = self.entry(
            "message",
            message={"role": "assistant", "content": list(blocks), **MODEL, "usage": full, "stopReason": stop, **more},
        )
        if error is None:
            self.seen.append((ident, list(blocks)))
        return ident

    def tool(
        self, name: str, result: str, text: str = "", *, bad: bool = False, lost: bool = False, **args: Any
    ) -> None:
        """A call and its result. `lost`: the line of the result never reaches the file."""
        call = f"toolu_{self.random.getrandbits(40):010x}"
        blocks: list[Entry] = [{"type": "text", "text": text}] if text else []
        self.said(*blocks, {"type": "toolCall", "id": call, "name": name, "arguments": args}, stop="toolUse")
        content = [{"type": "text", "text": result}]
        self.message(
            {"role": "toolResult", "toolCallId": call, "toolName": name, "content": content, "isError": bad},
            written=not lost,
        )

    def compact(self, kept: str, summary: str, *, at_once: bool) -> None:
        before = HIDDEN + sum(weigh(content) for _, content in self.seen)
        ident = self.entry("compaction", summary=summary, firstKeptEntryId=kept, tokensBefore=before)
        place = next(index for index, (entry, _) in enumerate(self.seen) if entry == kept)
        self.kept = [(ident, summary), *self.seen[place:]]
        if at_once:
            self.seen = self.kept

    def resume_kept(self) -> None:
        """The next run sees the compacted prompt, and what came since."""
        known = {ident for ident, _ in self.kept}
        everything = [item for item in self.seen if item[0] not in known]
        last = everything[-1:] if everything and everything[-1][0] == self.leaf else []
        self.seen = [*self.kept, *last]


def text(words: str) -> Entry:
    return {"type": "text", "text": words}


def table(random: Random, rows: int) -> str:
    return "\n".join(f"{hour:02d}:00,{random.uniform(0.2, 5.9):.2f},{random.choice('NESW')}" for hour in range(rows))


def tides() -> str:
    """A compaction while the agent works, a branch, a call that was broken off."""
    run = Session(11)
    run.user("Read the tide tables with the new reader. Keep every public name, and never touch data/2019.csv.")
    run.tool("read", table(run.random, 60), "Let me look at the data.", path="data/2020.csv")
    run.tool("read", "def load(path): ...\ndef peaks(rows): ...", path="tides/table.py")
    run.tool("bash", "2 failed, 9 passed", "Now the tests.", command="pytest -q", bad=True)
    first_edit = run.leaf
    run.tool("edit", "Replaced text in tides/table.py.", path="tides/table.py", oldText="load", newText="load_rows")
    run.tool("bash", "11 passed", command="pytest -q")
    kept = run.user("Good. Now the harbour names, from port 8431 of the index service.")
    run.tool("bash", table(run.random, 40), "Asking the service.", command="curl -s localhost:8431/harbours")
    listing = {"type": "toolCall", "id": "toolu_last", "name": "bash", "arguments": {"command": "ls"}}
    run.said(text("It answers."), listing, stop="toolUse")
    run.compact(
        kept,
        "## Goal\nRead the tide tables with the new reader; public names stay.\n\n## Progress\n### Done\n- [x] reader"
        "\n### In Progress\n- [ ] harbour names\n\n## Key Decisions\n- **load_rows**: one function\n\n## Next Steps"
        "\n1. Write harbours.py\n\n## Critical Context\n- the service listens on 8431",
        at_once=False,
    )
    content = [text("harbours.py  tides")]
    run.message({"role": "toolResult", "toolCallId": "toolu_last", "toolName": "bash", "content": content})
    run.tool("read", "HARBOURS = {}", "Still the same run: the whole prompt is sent.", path="harbours.py")
    run.user("Where were we?")
    run.resume_kept()
    run.tool("edit", "Replaced text in harbours.py.", "The names.", path="harbours.py", oldText="{}", newText="load()")
    run.said(error="Request was aborted.", stop="aborted")
    run.entry("message", message={"role": "bashExecution", "command": "git status", "output": "clean", "exitCode": 0,
                                  "excludeFromContext": True})  # fmt: skip
    run.said(text("The harbour names are read."))
    tip = run.leaf
    run.leaf = first_edit
    run.entry("branch_summary", fromId=tip, summary="The other branch renamed load to load_rows and read the harbours.")
    run.user("Do it without renaming load.")
    run.tool("edit", "Replaced text in tides/table.py.", path="tides/table.py", oldText="csv", newText="reader")
    run.said(text("Done, load keeps its name."))
    return "\n".join(run.lines) + "\n"


def lost_line() -> str:
    """One result never reached the file; after the resume the chain ends there, and the goal is gone."""
    run = Session(12, START + 90_000)
    run.user("Rename the stations by their register. Station 77 must keep its old name.")
    for place in range(4):
        run.tool("read", table(run.random, 30), path=f"stations/{place}.csv")
    run.tool("bash", "4 files", lost=True, command="ls stations")
    run.seen, run.cached = [], 0
    run.user("Go on, please.")
    run.tool("bash", "renamed 0.csv", command="python rename.py 0")
    run.tool("bash", "renamed 77.csv", command="python rename.py 77")
    run.said(text("All stations are renamed."))
    return "\n".join(run.lines) + '\n{"type":"message","id":"0c'


def make(folder: Path) -> list[Path]:
    place = folder / "pi"
    place.mkdir(parents=True, exist_ok=True)
    made = {"2026-03-20T09-46-40-000Z_tides.jsonl": tides(), "2026-03-21T10-46-40-000Z_stations.jsonl": lost_line()}
    out = []
    for name, held in made.items():
        (place / name).write_text(held, encoding="utf-8")
        out.append(place / name)
    return out


if __name__ == "__main__":
    for file in make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE):
        print(file)
