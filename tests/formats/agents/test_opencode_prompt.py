"""opencode's prompt is brought up to date from the first message that changed: the same as made anew as a whole."""

from __future__ import annotations

import random
from typing import Any

import pytest

from agentmem.formats.agents.opencode.session import PartRow, Session
from agentmem.formats.draft import RunDraft
from agentmem.tokens import counter
from tests.formats.agents.following import picture

WHAT = ("user", "call", "call", "call", "say", "late", "fail", "prune", "compact", "gone", "undo")


class _Anew(Session):
    """Looks at the whole list each time."""

    def _fresh(self) -> list[Any]:
        return []


class _Writer:
    """Does the same to several sessions: what opencode does, in any order."""

    def __init__(self, seed: int, *sessions: Session) -> None:
        self.chance, self.sessions = random.Random(seed), sessions
        self.messages: list[tuple[str, dict[str, Any]]] = []
        self.parts: dict[str, list[dict[str, Any]]] = {}
        self.clock = 0

    def put(self, ident: str, info: dict[str, Any], *parts: dict[str, Any]) -> None:
        rows = [PartRow(part["id"], part, "s", 0, 1) for part in parts]
        for session in self.sessions:
            session.message(ident, info, rows, ident)

    def new(self, role: str, *parts: dict[str, Any], **more: Any) -> str:
        self.clock += 1
        ident = f"msg_{self.clock:04}"
        info = {"role": role, "time": {"created": self.clock}, **more}
        self.messages.append((ident, info))
        self.parts[ident] = [{"id": f"prt_{self.clock:04}_{n}", **part} for n, part in enumerate(parts)]
        self.put(ident, info, *self.parts[ident])
        return ident

    def tool(self, **more: Any) -> dict[str, Any]:
        state = {"status": "completed", "input": {"n": self.clock}, "output": f"out {self.clock}", **more}
        return {"type": "tool", "callID": f"c{self.clock}", "tool": "bash", "state": state}

    def act(self) -> None:
        what = self.chance.choice(WHAT)
        held = [(ident, info) for ident, info in self.messages if self.parts[ident]]
        if what == "user":
            self.new("user", {"type": "text", "text": f"go on {self.clock}"})
        elif what == "call":
            self.new("assistant", self.tool(), finish="tool-calls")
        elif what == "say":
            self.new("assistant", {"type": "text", "text": f"done {self.clock}"}, finish="stop")
        elif what == "fail":
            self.new("assistant", error={"name": "APIError"})
        elif what == "compact":
            marker = self.new("user", {"type": "compaction", "auto": True})
            self.new("assistant", {"type": "text", "text": f"## Goal\ng {self.clock}\n## Rest\nx"}, parentID=marker,
                     summary=True, finish="stop")  # fmt: skip
        elif what == "gone" and len(held) > 3:
            ident, _ = self.messages.pop()
            for session in self.sessions:
                session.gone([ident], [])
        elif what == "undo" and held:
            undone = self.chance.choice((None, {"messageID": self.chance.choice(held)[0]}))
            for session in self.sessions:
                session.revert(undone)
        elif held:
            self.again(what, *self.chance.choice(held))

    def again(self, what: str, ident: str, info: dict[str, Any]) -> None:
        """A part that stands is updated."""
        part = self.chance.choice(self.parts[ident])
        self.clock += 1
        if part["type"] == "tool" and what == "prune":
            part["state"] = {**part["state"], "time": {"start": 1, "end": 2, "compacted": self.clock}}
        elif part["type"] == "text":
            part["text"] += " more"
        self.put(ident, info, part)


@pytest.mark.parametrize("seed", range(15))
def test_the_prompt_from_the_first_change_on_is_the_prompt_made_anew(seed: int) -> None:
    drafts = [RunDraft("s", "opencode", "s", counter("chars4"), "chars4") for _ in range(2)]
    quick, anew = Session(drafts[0], drafts[0].main), _Anew(drafts[1], drafts[1].main)
    writer = _Writer(seed, quick, anew)
    writer.new("user", {"type": "text", "text": "the goal"})
    for _ in range(60):
        writer.act()
        if writer.chance.random() < 0.6:
            quick.settle()
            anew.settle()
            assert picture(drafts[0]) == picture(drafts[1])
    assert drafts[0].main.steps
