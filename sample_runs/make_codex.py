"""Makes the sample rollouts in `codex/` from a seed; made again, they are the same to the byte.

    python sample_runs/make_codex.py [FOLDER]

`Rollout` writes records as the agent does: items as they come, a report of tokens behind each call (each said twice),
events that say again what the items say.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
MORNING = 1_772_442_000.0
"""2 March 2026, 09:00 UTC."""
HIDDEN = 6_200
"""Tokens of the tool schemas, which no rollout holds."""
MODEL = "gpt-5.3-codex"
WINDOW = 258_400
RULES = "You are a coding agent. Work in the folder that you are given, test what you change, and say what you did."

Item = dict[str, Any]


def weigh(item: Item) -> int:
    """About what an item costs: a token for each four characters; of encrypted content none."""
    bare = {key: value for key, value in item.items() if key != "encrypted_content"}
    return len(json.dumps(bare, ensure_ascii=False)) // 4


def text(role: str, *texts: str) -> Item:
    sort = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": sort, "text": each} for each in texts]}


class Rollout:
    """One rollout in the making: its lines, and the history that the next call will see."""

    def __init__(self, seed: int, start: float, *, source: Any = "cli", parent: str | None = None, **head: Any) -> None:
        self.random = Random(seed)
        self.now = start
        self.lines: list[str] = []
        self.history: list[Item] = []
        self.total = dict.fromkeys(("input_tokens", "cached_input_tokens", "output_tokens",
                                    "reasoning_output_tokens", "total_tokens"), 0)  # fmt: skip
        self._thinking = 0
        self._calls = 0
        self.turn = ""
        self.ident = self.uuid()
        self.start = start
        meta = {"id": self.ident, "timestamp": self.stamp(), "cwd": "/home/mira/kiln", "originator": "codex_cli_rs",
                "cli_version": "0.118.0", "source": source, "model_provider": "openai",
                "base_instructions": {"text": RULES}, **head}  # fmt: skip
        if parent is not None:
            meta["forked_from_id"] = parent
        self.line("session_meta", meta)

    @property
    def name(self) -> str:
        at = datetime.fromtimestamp(self.start, UTC).strftime("%Y-%m-%dT%H-%M-%S")
        return f"rollout-{at}-{self.ident}.jsonl"

    def uuid(self) -> str:
        """A version 7 UUID of this moment."""
        bits = f"{self.random.getrandbits(80):020x}"
        clock = f"{int(self.now * 1000):012x}"
        return f"{clock[:8]}-{clock[8:]}-7{bits[:3]}-8{bits[3:6]}-{bits[6:18]}"

    def stamp(self) -> str:
        at = datetime.fromtimestamp(round(self.now, 3), UTC)
        return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def line(self, kind: str, payload: Item, *, wait: float | None = None) -> None:
        self.now += self.random.uniform(0.01, 0.2) if wait is None else wait
        record = {"timestamp": self.stamp(), "type": kind, "payload": payload}
        self.lines.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")))

    def event(self, sort: str, **more: Any) -> None:
        self.line("event_msg", {"type": sort, **more})

    def item(self, item: Item) -> None:
        self.history.append(item)
        self.line("response_item", item)

    # -- turns ----------------------------------------------------------------------------------------------------

    def begin(self, request: str, *, first: bool = False) -> None:
        """A person's message. Reasoning of the turns before is not sent again."""
        self.now += self.random.uniform(20, 90)
        self.turn = self.uuid()
        self.history = [item for item in self.history if item["type"] != "reasoning"]
        self._thinking = 0
        self.event("task_started", turn_id=self.turn, model_context_window=WINDOW)
        if first:
            self.surroundings()
        self.context()
        self.item(text("user", request))
        self.event("user_message", message=request, images=[])

    def surroundings(self) -> None:
        rules = "<permissions instructions>\nCommands run in a sandbox.\n</permissions instructions>"
        self.item(text("developer", rules))
        self.item(text("user", "<environment_context>\n  <cwd>/home/mira/kiln</cwd>\n</environment_context>"))

    def context(self) -> None:
        self.line("turn_context", {"turn_id": self.turn, "cwd": "/home/mira/kiln", "approval_policy": "never",
                                   "model": MODEL, "effort": "medium"})  # fmt: skip

    def end(self, words: str) -> None:
        self.event("task_complete", turn_id=self.turn, last_agent_message=words)

    # -- calls of the model ---------------------------------------------------------------------------------------

    def think(self, tokens: int) -> None:
        self._thinking += tokens
        sealed = "".join(self.random.choice("ABCDEFGHabcdefgh0123") for _ in range(60))
        self.item({"type": "reasoning", "summary": [], "content": None, "encrypted_content": sealed})

    def count(self, prompt: int, output: int, reasoning: int) -> None:
        last = {"input_tokens": prompt, "cached_input_tokens": prompt * 4 // 5, "output_tokens": output,
                "reasoning_output_tokens": reasoning, "total_tokens": prompt + output}  # fmt: skip
        for key, value in last.items():
            self.total[key] += value
        info = {"total_token_usage": dict(self.total), "last_token_usage": last, "model_context_window": WINDOW}
        self.event("token_count", info=info, rate_limits=None)
        self.event("token_count", info=info, rate_limits={"primary": {"used_percent": 4.0}})

    def answers(self, *items: Item, reasoning: int = 0) -> None:
        """One call of the model, with the report of its tokens."""
        thought = self._thinking
        prompt = HIDDEN + len(RULES) // 4 + thought + sum(map(weigh, self.history))
        self.now += self.random.uniform(1, 6)
        if reasoning:
            self.think(reasoning)
        for item in items:
            self.item(item)
        self.count(prompt, reasoning + sum(map(weigh, items)), reasoning)

    def says(self, words: str, reasoning: int = 0) -> None:
        self.answers(text("assistant", words), reasoning=reasoning)
        self.event("agent_message", message=words)

    def call(self, tool: str, **arguments: Any) -> Item:
        self._calls += 1
        ident = f"call_{self.random.getrandbits(64):016x}"
        return {"type": "function_call", "name": tool, "arguments": json.dumps(arguments), "call_id": ident}

    def result(self, call: Item, output: str) -> None:
        self.now += self.random.uniform(0.2, 2)
        sort = "custom_tool_call_output" if call["type"] == "custom_tool_call" else "function_call_output"
        self.item({"type": sort, "call_id": call["call_id"], "output": output})

    def runs(self, command: str, output: str, *, code: int = 0, reasoning: int = 0, words: str = "") -> None:
        call = self.call("exec_command", cmd=command)
        self.answers(*([text("assistant", words)] if words else []), call, reasoning=reasoning)
        self.result(call, f"Wall time: 0.4 seconds\nProcess exited with code {code}\nOutput:\n{output}")

    def plans(self, *steps: str, done: int = 0, reasoning: int = 0) -> None:
        plan = [
            {"step": step, "status": "completed" if n < done else "in_progress" if n == done else "pending"}
            for n, step in enumerate(steps)
        ]
        call = self.call("update_plan", plan=plan)
        self.answers(call, reasoning=reasoning)
        self.result(call, "Plan updated")

    def compacts(self, summary: str) -> None:
        """A compaction of the agent's own: user messages, what surrounds them, and a summary stay."""
        prompt = HIDDEN + self._thinking + sum(map(weigh, self.history))
        self.count(prompt + 300, 400, 0)
        message = f"Another language model started to solve this problem and produced a summary.\n{summary}"
        kept = [item for item in self.history if item.get("role") in ("user", "developer")]
        self.replaced([*kept, text("user", message)], message)

    def seals(self) -> None:
        """A compaction by the provider: what it keeps is encrypted."""
        kept = [item for item in self.history if item.get("role") in ("user", "developer")]
        sealed = "".join(self.random.choice("ABCDEFGHabcdefgh0123") for _ in range(200))
        self.replaced([*kept, {"type": "compaction", "encrypted_content": sealed}], "")

    def replaced(self, history: list[Item], message: str) -> None:
        self.history = history
        self._thinking = 0
        self.line("compacted", {"message": message, "replacement_history": history})
        self.context()
        left = {**dict.fromkeys(self.total, 0), "total_tokens": HIDDEN + sum(map(weigh, history))}
        info = {"total_token_usage": dict(self.total), "last_token_usage": left, "model_context_window": WINDOW}
        self.event("token_count", info=info, rate_limits=None)
        self.event("context_compacted")

    def write(self, folder: Path, name: str | None = None) -> Path:
        path = folder / (name or self.name)
        path.write_text("\n".join(self.lines) + "\n", encoding="utf-8")
        return path


STEPS = ("Read the firing curve from curve.toml", "Interpolate between set points", "Stop the relay above 1300 degrees")
GOAL = "Make the kiln controller follow curve.toml, and never let it heat above 1300 degrees."


def kiln(folder: Path) -> Rollout:
    """A plan dies at a compaction; a sealed one follows; a child, a rollback, a circle, a call without a result."""
    run = Rollout(7, MORNING)
    run.begin(GOAL, first=True)
    run.runs("ls", "controller.py\ncurve.toml\ntests/\n", reasoning=900)
    run.plans(*STEPS, reasoning=700)
    points = "\n".join(f"[[point]]\nminute = {n * 15}\ndegrees = {20 + n * 43}" for n in range(30))
    run.runs("cat curve.toml", points, reasoning=500)
    body = "\n".join(f"def step_{n}(state):\n    return state.heat + {n}\n" for n in range(40))
    run.runs("cat controller.py", body, words="The curve has thirty points. Now the controller.")
    spawn = run.call("spawn_agent", agent_type="explorer", message="Find every place that switches the relay.")
    run.answers(spawn)
    child = relay(folder, run)
    run.result(spawn, json.dumps({"agent_id": child.ident, "nickname": "Hypatia"}))
    run.event("collab_agent_spawn_end", call_id=spawn["call_id"], sender_thread_id=run.ident,
              new_thread_id=child.ident, new_agent_nickname="Hypatia", new_agent_role="explorer",
              prompt="Find every place that switches the relay.")  # fmt: skip
    wait = run.call("wait_agent", targets=[child.ident])
    run.answers(wait)
    run.result(wait, json.dumps({"status": {child.ident: {"completed": "relay.py:31 alone switches it."}}}))
    run.plans(*STEPS, done=1, reasoning=400)
    run.compacts("The curve is parsed by load_curve() in controller.py. The relay is switched in relay.py:31 alone.")
    run.runs("python -m pytest -q", "1 failed, 6 passed\nFAILED tests/test_curve.py::test_between", code=1)
    patch = {"type": "custom_tool_call", "name": "apply_patch", "call_id": "call_patch_1", "status": "completed",
             "input": "*** Begin Patch\n*** Update File: controller.py\n@@\n-    return a\n"
                      "+    return a + (b - a) * part\n*** End Patch"}  # fmt: skip
    run.answers(patch)
    run.result(patch, '{"output":"Success. Updated the following files:\\nM controller.py\\n",'
                      '"metadata":{"exit_code":0,"duration_seconds":0.1}}')  # fmt: skip
    run.runs("python -m pytest -q", "7 passed", code=0, reasoning=5200)
    run.says("The controller follows the curve now.", reasoning=300)
    run.end("The controller follows the curve now.")
    run.begin("Now the upper limit.")
    for _ in range(3):
        run.runs("python check_limit.py", "AssertionError: relay still on at 1310", code=1)
        run.runs("grep -n LIMIT controller.py", "12:LIMIT = 1400", code=0)
    run.says("I am going in circles; the limit is read from elsewhere.")
    run.end("I am going in circles; the limit is read from elsewhere.")
    run.begin("Paint the display green.")
    run.says("The display is green.")
    run.end("The display is green.")
    run.event("thread_rolled_back", num_turns=1)
    cut = max(n for n, item in enumerate(run.history) if item.get("role") == "user")
    run.history = run.history[:cut]
    run.begin("Look into limits.toml.")
    run.runs("cat limits.toml", "upper = 1400\n")
    run.seals()
    run.runs("sed -i s/1400/1300/ limits.toml", "")
    last = run.call("exec_command", cmd="python fire.py --dry-run")
    run.answers(last)
    run.event("turn_aborted", turn_id=run.turn, reason="interrupted")
    run.write(folder)
    return run


def relay(folder: Path, parent: Rollout) -> Rollout:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": parent.ident, "depth": 1}}}
    run = Rollout(11, parent.now, source=source, thread_source="subagent")
    run.begin("Find every place that switches the relay.", first=True)
    run.runs("rg -n 'relay' -g '*.py'", "relay.py:31:    pin.write(1)\nrelay.py:35:    pin.write(0)\n")
    run.says("relay.py:31 alone switches it.")
    run.end("relay.py:31 alone switches it.")
    run.write(folder)
    return run


def fork(folder: Path, parent: Rollout) -> None:
    """A thread forked from the first turn of the other: it begins with a copy of the parent's records."""
    run = Rollout(13, parent.now + 600, parent=parent.ident)
    end = next(n for n, line in enumerate(parent.lines) if '"type":"task_complete"' in line) + 1
    now = run.stamp()
    for line in parent.lines[:end]:
        record = json.loads(line)
        if record["type"] == "compacted":
            run.history = list(record["payload"]["replacement_history"])
        elif record["type"] == "response_item":
            run.history.append(record["payload"])
        elif record["payload"].get("type") == "token_count":
            run.total = dict(record["payload"]["info"]["total_token_usage"])
        record["timestamp"] = now
        run.lines.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")))
    run.begin("Write the README instead.")
    run.runs("cat > README.md", "")
    run.says("README.md says how to fire the kiln.")
    run.end("README.md says how to fire the kiln.")
    run.write(folder)


def drifted(folder: Path) -> None:
    """A newer writer: goal events, a script in place of calls, items told by events alone, types that nobody knows, and
    half a line at the end."""
    run = Rollout(17, MORNING + 86_400)
    run.begin("Log the firings.", first=True)
    run.event("thread_goal_updated", threadId=run.ident, goal={
        "objective": "Every firing leaves a line in firings.csv.", "status": "active", "tokensUsed": 0})  # fmt: skip
    script = ('await tools.update_plan({plan: [{step: "Write log.py", status: "completed"}, '
              '{step: "Call it from fire.py", status: "pending"}]});\n'
              'const r = await tools.exec_command({"cmd": "touch log.py"});')  # fmt: skip
    code = {"type": "custom_tool_call", "name": "exec", "call_id": "call_exec_1", "input": script}
    run.answers(code)
    run.result(code, 'Script completed\nWall time 0.2 seconds\nOutput:\n\n{}\n{"exit_code":0,"output":""}')
    run.says("log.py is there.")
    run.end("log.py is there.")
    run.event("task_started", turn_id=run.uuid(), model_context_window=WINDOW)
    for item in (
        {"type": "UserMessage", "id": "i1", "content": [{"type": "text", "text": "And the temperature?"}]},
        {"type": "CommandExecution", "id": "i2", "command": ["cat", "log.py"], "aggregated_output": "import csv\n",
         "exit_code": 0, "status": "completed"},
        {"type": "AgentMessage", "id": "i3", "content": [{"type": "Text", "text": "It is logged too."}]},
    ):  # fmt: skip
        run.event("item_completed", thread_id=run.ident, item=item)
    run.end("It is logged too.")
    run.line("glaze_report", {"colour": "celadon"})
    run.event("kiln_weather", degrees=21)
    path = run.write(folder)
    path.write_bytes(path.read_bytes() + b'{"timestamp":"2026-03-03T09:20:00.000Z","type":"response_i')


def stream(folder: Path) -> None:
    """What `codex exec --json` prints."""
    def shell(command: str, output: str = "", code: int | None = None) -> Item:
        status = "in_progress" if code is None else "failed" if code else "completed"
        return {"id": "item_1", "type": "command_execution", "command": command, "aggregated_output": output,
                "exit_code": code, "status": status}  # fmt: skip

    def todo(done: int) -> Item:
        items = [{"text": step, "completed": n < done} for n, step in enumerate(STEPS[:2])]
        return {"id": "item_2", "type": "todo_list", "items": items}

    events: list[Item] = [
        {"type": "thread.started", "thread_id": "019cad10-5e00-7000-8000-00000000c0de"},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "**Looking around**"}},
        {"type": "item.started", "item": shell("bash -lc ls")},
        {"type": "item.completed", "item": shell("bash -lc ls", "controller.py\ncurve.toml\n", 0)},
        {"type": "item.started", "item": todo(0)},
        {"type": "item.completed", "item": {"id": "item_3", "type": "file_change", "status": "completed",
                                            "changes": [{"path": "controller.py", "kind": "update"}]}},
        {"type": "item.updated", "item": todo(1)},
        {"type": "item.completed", "item": {"id": "item_4", "type": "agent_message", "text": "The curve is read."}},
        {"type": "turn.completed",
         "usage": {"input_tokens": 24_763, "cached_input_tokens": 24_448, "output_tokens": 122}},
    ]  # fmt: skip
    lines = [json.dumps(event, separators=(",", ":")) for event in events]
    (folder / "exec-stream.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def make(folder: Path) -> None:
    """All of them into `folder`/codex."""
    place = folder / "codex"
    place.mkdir(parents=True, exist_ok=True)
    fork(place, kiln(place))
    drifted(place)
    stream(place)


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
