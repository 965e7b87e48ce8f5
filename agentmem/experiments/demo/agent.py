"""The agent of the demo: an ordinary loop over the library, with a script where a model would be."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentmem.checkpoint.recorder import Recorder, record
from agentmem.experiments.demo.script import GOAL, PLAN, RULE, SYSTEM, TOOLS, Beat, story
from agentmem.ledger import Ledger
from agentmem.memory.policies import shrink
from agentmem.memory.state import State
from agentmem.model import Drop

DEMO_RUN = "fix-parser"
WINDOW = 32_000


class DemoAgent:
    """One run of it. Each `step` is one model call with the tool call that follows."""

    def __init__(self, run: Recorder) -> None:
        self._run = run
        self._state = State(GOAL, PLAN, budget_steps=60)
        self._ledger = Ledger()
        self._messages: list[dict[str, Any]] = [{"role": "user", "content": "Orders with quoted commas are cut wrong."}]
        self._notes: list[str] = []
        self._number = 0

    def step(self, beat: Beat) -> None:
        """Build the prompt, call the (scripted) model, run the tool, keep what came of it."""
        self._number += 1
        drops: list[Drop] = []
        if beat.compact:
            self._compact()
        if beat.shrink:
            self._messages, shortened = shrink(self._messages, 0)
            drops.extend(shortened)
        if beat.forget:
            drops.append(self._state.forget(beat.forget))
        if beat.lose:
            self._rebuild_without(beat.lose)
        prompt = [*self._messages, {"role": "user", "content": self._rendered()}]
        arguments = dict(beat.arguments)
        result = beat.result
        if beat.needs:
            arguments = {beat.needs: self._state.facts.get(beat.needs), **arguments}
            if arguments[beat.needs] is None:
                result = json.dumps({"error": f"missing field: {beat.needs}"})
        call = f"call_{self._number:02d}"
        self._messages.append({
            "role": "assistant", "content": beat.says,
            "tool_calls": [{"id": call, "type": "function",
                            "function": {"name": beat.tool, "arguments": json.dumps(arguments)}}],
        })  # fmt: skip
        self._messages.append({"role": "tool", "tool_call_id": call, "content": result})
        if beat.rule:
            self._messages.append({"role": "user", "content": RULE})
        self._take(beat, arguments, result)
        self._run.save(
            self._messages, state=self._state, notes="\n".join(self._notes) or None, prompt=prompt, system=SYSTEM,
            tools=TOOLS, window=WINDOW, model="scripted", drops=drops or None,
        )  # fmt: skip

    def _rendered(self) -> str:
        parts = [f"Note: {note}" for note in self._notes]
        return "\n\n".join([*parts, self._state.render()])

    def _take(self, beat: Beat, arguments: dict[str, Any], result: str) -> None:
        """The rules of the library: verified facts only, the last failure only, plan items when they are finished."""
        self._state.spend(0.004)
        failed = '"error"' in result or "FAILURES" in result
        self._ledger.record(beat.tool, arguments, result, step=self._number)
        if failed:
            last = result.rsplit("\n", 1)[-1] if "FAILURES" in result else json.loads(result)["error"]
            self._state.fail(f"{beat.tool}: {last}", self._number)
        elif beat.tool in ("pytest", "replay_order"):
            self._state.recover()
        if beat.verify:
            self._state.verify(*beat.verify, by=beat.tool, step=self._number)
        if beat.note:
            self._notes.append(beat.note)
        self._state.advance(0 if '"error"' in result else beat.advance)

    def _compact(self) -> None:
        """The window is full: a summary takes the place of all but the first message."""
        summary = (
            "Progress so far: the lexer splits quoted fields because TOKEN_RE in src/lexer.py cuts at every comma. "
            "src/parser.py is fine. One edit was tried (a token may hold quotes); test_quoted_comma still fails. "
            "The lint job 7 is done, 0 warnings. Lines of docs/grammar.md say that a quoted field may hold commas and "
            "that a quote inside is doubled. Next: make the lexer skip commas inside quotes."
        )
        self._messages = [self._messages[0], {"role": "user", "content": summary}]

    def _rebuild_without(self, name: str) -> None:
        """The bug that the demo is about: the state is rebuilt after a compaction of facts, and one is not copied."""
        data = self._state.to_dict()
        for part in ("facts", "verified"):
            held = data[part]
            assert isinstance(held, dict)
            held.pop(name)
        self._state = State.from_dict(data)


def play(
    folder: str | Path = "runs", *, speed: float = 1.0, run_id: str = DEMO_RUN, stop: threading.Event | None = None,
    beats: int | None = None, clock: Callable[[], float] = time.time,
) -> None:  # fmt: skip
    """Run the demo into `folder`, about a minute at speed 1; speed 0 does not wait at all. `stop` ends it early;
    after `beats` steps it stops too, and the run goes on for those who look. `clock` gives the times of the saves, in
    seconds since the epoch."""
    stop = stop or threading.Event()
    run = record(run_id, goal=GOAL, folder=folder, resume=False, clock=clock)
    agent = DemoAgent(run)
    for beat in story()[:beats]:
        if speed > 0 and stop.wait(beat.seconds / speed):
            return
        agent.step(beat)
    if beats is None:
        run.finish("done")
