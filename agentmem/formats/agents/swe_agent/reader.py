"""Follows one trajectory of SWE-agent, with its attempts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from agentmem.formats.agents.swe_agent.prompts import (
    ACTION,
    OBSERVATION,
    THOUGHT,
    Feeder,
    Mode,
    failed,
    message_parts,
    mode_of,
    text_of,
    thought_of,
)
from agentmem.formats.loose import decode
from agentmem.formats.shared.rewriting import WholeReader, decoded, where_of
from agentmem.formats.shared.whole import Reading, items_of, member
from agentmem.formats.versions import Item
from agentmem.pattern import pattern
from agentmem.tape import Piece

ISSUE = pattern(
    r"<pr_description>\s*(.+?)\s*</pr_description>|ISSUE:\s*\n(.+?)\s*\n\s*INSTRUCTIONS:", re.DOTALL
)
"""Where the issue stands in the first request, by the templates that come with the tool."""


class SweReader(WholeReader):
    """Follows one trajectory."""

    NAME: ClassVar[str] = "swe-agent"
    LISTS: ClassVar[tuple[str, ...]] = ("trajectory", "history", "attempts")

    def _fresh(self) -> None:
        self.draft.agent = "swe-agent"
        self._mode: Mode = "steps"
        self._problem: str | None = None
        self._feeder = Feeder(self.draft.main, self.problem_span, self._count)
        self._attempts: list[tuple[int, int]] = []
        self._past = False

    def _before(self, reading: Reading) -> None:
        replay = _object(reading.rest.get("replay_config"))
        text = _object(replay.get("problem_statement")).get("text")
        self._problem = text.strip() if isinstance(text, str) and text.strip() else None
        others = [(item.key, item.offset) for item in self._others(reading)]
        self._past = others[: len(self._attempts)] != self._attempts

    def _stale(self) -> bool:
        return self._past

    def _records(self, reading: Reading) -> list[Item]:
        trajectory, history = reading.lists.get("trajectory", []), reading.lists.get("history", [])
        if "trajectory" not in reading.lists and reading.lists.get("attempts"):
            trajectory, history = _lists_of(reading.lists["attempts"][-1])
        self._mode = mode_of(trajectory, history)
        return history if self._mode == "history" else trajectory

    def _others(self, reading: Reading) -> list[Item]:
        """Attempts beside the one in the main lane."""
        attempts = reading.lists.get("attempts", [])
        if "trajectory" not in reading.lists:
            return attempts[:-1]
        chosen = _told(reading.lists["trajectory"]) if attempts else []
        return [item for item in attempts if _told(_lists_of(item)[0]) != chosen]

    def _feed(self, index: int, item: Item) -> None:
        value = self._object(item, index)
        if value is not None:
            self._feeder.feed(value, item, self._mode)

    def _rest(self, reading: Reading) -> None:
        draft, info = self.draft, _object(reading.rest.get("info"))
        for number, item in enumerate(self._others(reading)):
            if number < len(self._attempts):
                continue
            self._attempts.append((item.key, item.offset))
            lane = draft.lane(f"attempt-{number + 1}", "branch")
            trajectory, history = _lists_of(item)
            mode, feeder = mode_of(trajectory, history), Feeder(lane, self.problem_span, self._count)
            for index, record in enumerate(history if mode == "history" else trajectory):
                value = self._object(record, index, f"attempt {number + 1}, record")
                if value is not None:
                    feeder.feed(value, record, mode)
            lane.answered = True
        draft.provenance, draft.unknown = "partial", ("tool schemas", "what a history processor cut")
        if self._mode in ("query", "messages"):
            draft.provenance = "exact" if self._mode == "query" else "reconstructed"
            if any(step.provenance == "partial" for step in draft.main.steps):
                draft.provenance = "partial"  # a run is as good as its weakest step
            draft.unknown = ("tool schemas",)
        model = _object(_object(_object(reading.rest.get("replay_config")).get("agent")).get("model")).get("name")
        draft.model = model if isinstance(model, str) else draft.model
        draft.set_goal(self._feeder.goal, declared=False)
        status = info.get("exit_status")
        self._last_result(reading, status)
        draft.finished = isinstance(status, str) and bool(status)
        draft.ended_as = str(status) if draft.finished else None
        if draft.finished and not str(status).startswith("submitted") and draft.notice is None:
            draft.notice = f"ended: {status}"

    def _last_result(self, reading: Reading, status: object) -> None:
        """The result of the last command, which stands in the trajectory but not in an old history."""
        lane, steps = self.draft.main, reading.lists.get("trajectory", [])
        if self._mode == "history" and status and lane.pending and len(steps) == len(lane.steps):
            observation = text_of(decoded(steps[-1]).get("observation"))
            if observation is not None:
                lane.answer(Piece("result", observation, where_of(steps[-1], OBSERVATION)), failed=failed(observation))

    def problem_span(self, text: str) -> tuple[int, int]:
        """Where the issue stands in the first request; the whole text where that cannot be told."""
        if self._problem is not None and self._problem in text:
            start = text.index(self._problem)
            return start, start + len(self._problem)
        found = ISSUE.search(text)
        return (0, len(text)) if found is None else found.span(1 if found.group(1) is not None else 2)

    def extract(self, raw: bytes, part: int) -> str | None:
        value = decode(raw)
        if not isinstance(value, dict):
            return None
        if "role" not in value:
            return {THOUGHT: thought_of(value), ACTION: text_of(value.get("action"))}.get(
                part, text_of(value.get("observation"))
            )
        parts = message_parts(value)
        return parts[part].text if part < len(parts) else None


def _lists_of(attempt: Item) -> tuple[list[Item], list[Item]]:
    """(trajectory, history) of one attempt."""
    found = []
    for name in ("trajectory", "history"):
        listed = member(attempt.data, attempt.offset, name)
        found.append([] if listed is None else list(items_of(*listed, attempt.source)))
    return found[0], found[1]


def _told(steps: list[Item]) -> list[tuple[object, ...]]:
    """What was done and what came of it: an attempt is written anew, with other spaces, where it is the chosen one."""
    values = map(decoded, steps)
    return [(value.get("action"), value.get("observation"), value.get("response")) for value in values]


def _object(value: object) -> Mapping[str, Any]:
    """A mapping; some versions write the configuration as JSON in a text."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = decode(value.encode("utf-8", "surrogatepass"))
        except ValueError:
            return {}
    return value if isinstance(value, Mapping) else {}
