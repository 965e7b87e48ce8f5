"""Makes the samples of OpenHands from a seed: a conversation folder of the SDK, and a trajectory of V0.

    python sample_runs/make_openhands.py [FOLDER]

Made again, they are the same to the byte. The writer keeps what the model sees, as the SDK folds it, so that reported
usage is true to the story.
"""

from __future__ import annotations

import json
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
START = 1_775_200_000.0
"""3 April 2026, 07:06 UTC."""
TASK = "Make the kiln stop at 1240 degrees. Never touch firmware/boot.c, and write the reason into NOTES.md."
PLAN = ("Find where the limit is read", "Change the limit", "Write NOTES.md")

Event = dict[str, Any]


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000000")


class Conversation:
    """Event files in the making, and the view that the next call will see."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now = START
        self.events: list[Event] = []
        self.view: list[tuple[str, int]] = []
        self.usages: list[Event] = []
        self.calls = 0

    def put(self, kind: str, source: str, *, seen: bool = True, **more: Any) -> str:
        self.now += self.random.randint(1, 9)
        ident = f"{self.random.getrandbits(32):08x}-0000-4000-8000-{len(self.events):012d}"
        parent = {"parent_id": self.events[-1]["id"]} if self.events else {}
        event = {"id": ident, "timestamp": stamp(self.now), "source": source, **parent, **more, "kind": kind}
        self.events.append(event)
        if seen:
            self.view.append((ident, len(json.dumps(more)) // 4))
        return ident

    def act(
        self, tool: str, thought: str, output: str, *, code: int | None = 0, kind: str = "Terminal", **args: Any
    ) -> None:
        self.calls += 1
        call, response = f"call_{self.calls}", f"resp-{self.calls:04d}"
        prompt = 300 + sum(size for _, size in self.view)
        self.usages.append({"model": "kiln-1", "prompt_tokens": prompt, "completion_tokens": 40, "cache_read_tokens": 0,
                            "cache_write_tokens": 0, "reasoning_tokens": 0, "context_window": 64_000,
                            "per_turn_token": prompt + 40, "response_id": response})  # fmt: skip
        text = [{"type": "text", "text": thought, "cache_prompt": False}]
        action = self.put(
            "ActionEvent", "agent", thought=text, thinking_blocks=[], action={**args, "kind": f"{kind}Action"},
            tool_name=tool, tool_call_id=call,
            tool_call={"id": call, "name": tool, "arguments": json.dumps(args), "origin": "completion"},
            llm_response_id=response,
        )  # fmt: skip
        metadata = (
            {} if code is None else {"exit_code": code, "metadata": {"exit_code": code, "working_dir": "/srv/kiln"}}
        )
        body = {
            "content": [{"type": "text", "text": output}],
            "is_error": False,
            **metadata,
            "kind": f"{kind}Observation",
        }
        self.put(
            "ObservationEvent", "environment", tool_name=tool, tool_call_id=call, observation=body, action_id=action
        )

    def plan(self, done: int) -> None:
        items = [
            {"title": title, "notes": "", "status": "done" if n < done else "todo"} for n, title in enumerate(PLAN)
        ]
        self.act("task_tracker", "", "Task list has been updated.", code=None, kind="TaskTracker", command="plan",
                 task_list=items)  # fmt: skip

    def condense(self, keep: int, tail: int, summary: str) -> None:
        gone = [ident for ident, _ in self.view[keep : len(self.view) - tail]]
        self.random.shuffle(gone)
        ident = self.put("Condensation", "environment", seen=False, forgotten_event_ids=gone, summary=summary,
                         summary_offset=keep, llm_response_id=f"sum-{self.calls}")  # fmt: skip
        rest = [item for item in self.view if item[0] not in gone]
        self.view = [*rest[:keep], (f"{ident}-summary", len(summary) // 4), *rest[keep:]]


def kiln() -> Conversation:
    run = Conversation(21)
    prompt = {"type": "text", "text": "You are OpenHands agent. Test what you change."}
    run.put(
        "SystemPromptEvent", "agent", system_prompt=prompt, tools=[{"title": "terminal"}, {"title": "task_tracker"}]
    )
    message = {"role": "user", "content": [{"type": "text", "text": TASK}]}
    run.put("MessageEvent", "user", llm_message=message, activated_skills=[], extended_content=[])
    run.plan(0)
    run.act("terminal", "First the limit.", "src/limit.c:14: #define LIMIT 1280", command="grep -rn LIMIT src")
    for _ in range(3):
        run.act("terminal", "", "make: *** [all] Error 1: kiln.ld not found", code=2, command="make all")
        run.act("terminal", "", "no kiln.ld here", command="ls ld")
    run.condense(2, 4, "USER_CONTEXT: stop the kiln at 1240 degrees\nCURRENT_STATE: make fails, kiln.ld is missing")
    run.act("terminal", "The linker script is elsewhere.", "build/kiln.ld", command="find . -name kiln.ld")
    run.act("terminal", "", "ok", command="sed -i s/1280/1240/ src/limit.c")
    run.plan(2)
    run.act("terminal", "", "built kiln.elf", command="make LD=build/kiln.ld all")
    run.condense(2, 2, "USER_CONTEXT: stop the kiln at 1240 degrees\nCURRENT_STATE: built with build/kiln.ld")
    run.act("finish", "", "The limit is 1240.", code=None, kind="Finish", message="The limit is 1240.")
    return run


def trajectory() -> list[Event]:
    """V0: ids that are texts, a condensation by range, a task list, a finish."""
    events: list[Event] = []

    def put(source: str, **more: Any) -> int:
        ident = len(events)
        events.append({"id": str(ident), "timestamp": stamp(START + 86_400 + ident * 7), "source": source, **more})
        return ident

    def act(action: str, content: str, **args: Any) -> None:
        number = len(events)
        call, response = f"toolu_{number:04d}", f"chatcmpl-{number:04d}"
        function = {"name": action, "arguments": json.dumps(args)}
        message = {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": call, "type": "function", "function": function}],
        }
        usage = {"prompt_tokens": 400 + number * 20, "completion_tokens": 30}
        answer = {"id": response, "model": "kiln-0", "choices": [{"message": message}], "usage": usage}
        held = {"tool_call_metadata": {"function_name": action, "tool_call_id": call, "model_response": answer}}
        cause = put("agent", action=action, args=args, **held)
        if action != "finish":
            extras = {"metadata": {"exit_code": 0 if "error" not in content else 1}}
            put("agent", observation=action, content=content, extras=extras, cause=cause, **held)

    put("agent", action="system", args={"content": "You are OpenHands.", "tools": [{"name": "run"}]})
    put("user", action="message", args={"content": "Say on the display when the kiln is warm."})
    put("environment", observation="agent_state_changed", content="", extras={"agent_state": "running"})
    tasks = [{"title": "Read display.c", "status": "todo"}, {"title": "Show WARM", "status": "todo"}]
    act("task_tracking", "Tasks updated.", command="plan", task_list=tasks)
    act("run", "void show(char *text);", command="cat display.c")
    act("run", "error: show takes one argument", command="make")
    put("agent", action="condensation", args={"forgotten_events_start_id": 3, "forgotten_events_end_id": 6,
                                              "summary": "display.c has show(text)", "summary_offset": 2})  # fmt: skip
    act("run", "ok", command="make WARM=1")
    act("finish", "", thought="The display says WARM.")
    return events


def make(folder: Path) -> list[Path]:
    place = folder / "openhands" / "4f9a1d20c3b84e5f9a6b7c8d9e0f1a2b"
    shutil.rmtree(place, ignore_errors=True)
    (place / "events").mkdir(parents=True)
    run, out = kiln(), []
    for index, event in enumerate(run.events):
        path = place / "events" / f"event-{index:05d}-{event['id']}.json"
        path.write_text(json.dumps(event), encoding="utf-8")
        out.append(path)
    total = {"model": "kiln-1", "prompt_tokens": sum(one["prompt_tokens"] for one in run.usages)}
    metrics = {"model_name": "kiln-1", "accumulated_token_usage": total, "token_usages": run.usages}
    llm = {"model": "kiln-1", "max_input_tokens": 64_000}
    state = {"id": "4f9a1d20-c3b8-4e5f-9a6b-7c8d9e0f1a2b", "agent": {"llm": llm},
             "workspace": {"working_dir": "/srv/kiln"}, "execution_status": "finished",
             "leaf_event_id": run.events[-1]["id"], "stats": {"usage_to_metrics": {"default": metrics}}}  # fmt: skip
    tasks = [{"title": title, "notes": "", "status": "done" if n < 2 else "todo"} for n, title in enumerate(PLAN)]
    lines = folder / "openhands" / "v0.json"
    for path, value in ((place / "base_state.json", state), (place / "TASKS.json", tasks), (lines, trajectory())):
        path.write_text(json.dumps(value, indent=1), encoding="utf-8")
        out.append(path)
    return out


if __name__ == "__main__":
    for file in make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE):
        print(file)
