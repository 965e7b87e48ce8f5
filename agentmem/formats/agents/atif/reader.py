"""Follows one ATIF trajectory, its continuations and its subagents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from agentmem.formats.agents.atif.feeder import Feeder
from agentmem.formats.agents.atif.steps import increasing, parts_of
from agentmem.formats.draft import LaneDraft
from agentmem.formats.loose import decode
from agentmem.formats.messages import compact_json
from agentmem.formats.shared.rewriting import WHOLE, Beside, WholeReader, decoded, mapping
from agentmem.formats.shared.whole import Reading, items_of, member
from agentmem.formats.source import NotYet, Unreadable, read_at
from agentmem.formats.versions import Item

_RESULT_BYTES = 1024 * 1024
_MOST_FILES = 64
"""Continuations and subagents that are followed."""
_DEEPEST = 16
"""So many subagents may have been begun by one another."""


class AtifReader(WholeReader):
    """Follows one trajectory with the files that it names."""

    NAME: ClassVar[str] = "atif"
    LISTS: ClassVar[tuple[str, ...]] = ("steps", "subagent_trajectories")
    MEMBERS: ClassVar[tuple[str, ...]] = ("agent",)

    def _ident(self) -> str:
        return ident_of(Path(self._path))

    def _fresh(self) -> None:
        self._sides = Beside()
        self._embedded: list[tuple[int, int]] = []
        self._by_name: dict[str, Item] = {}
        self._owns = False
        self._agent: object = None
        self._past = False
        self._followed: set[str] = set()
        self._goes_on = False
        self._depth = 0
        """So many subagents of each other are being read."""
        self._feeder = Feeder(self.draft.main, self._steps_of, self._count)

    def _beside(self) -> bool:
        return self._sides.changed()

    def _stale(self) -> bool:
        return self._past

    def _before(self, reading: Reading) -> None:
        signature = [(item.key, item.offset) for item in reading.lists.get("subagent_trajectories", [])]
        owns = "continued_trajectory_ref" not in reading.rest and increasing(reading.lists.get("steps", []))
        known = signature[: len(self._embedded)] == self._embedded
        self._past = not known or self._sides.changed() or owns != self._owns or self._goes_on
        self._past = self._past or reading.rest.get("agent") != self._agent
        for item in reading.lists.get("subagent_trajectories", []):
            value = decoded(item)
            for name in (value.get("trajectory_id"), value.get("session_id")):
                if isinstance(name, str):
                    self._by_name[name] = item

    def _start(self, reading: Reading) -> None:
        embedded = reading.lists.get("subagent_trajectories", [])
        self._embedded = [(item.key, item.offset) for item in embedded]
        self._owns = "continued_trajectory_ref" not in reading.rest and increasing(reading.lists.get("steps", []))
        self._feeder = Feeder(self.draft.main, self._steps_of, self._count, owns=self._owns)
        self._agent = reading.rest.get("agent")
        agent = mapping(self._agent)
        self._feeder.terminus = str(agent.get("name", "")).startswith("terminus")
        tools = agent.get("tool_definitions")
        if isinstance(tools, list) and tools:
            self._feeder.prefix(self._member(reading, "agent", "tools", compact_json(tools)))

    def _records(self, reading: Reading) -> list[Item]:
        return reading.lists.get("steps", [])

    def _feed(self, index: int, item: Item) -> None:
        value = self._object(item, index)
        if value is not None:
            self._feeder.feed(value, item)

    def _rest(self, reading: Reading) -> None:
        draft, agent = self.draft, mapping(reading.rest.get("agent"))
        self._continued(reading.rest.get("continued_trajectory_ref"))
        name, model = agent.get("name"), agent.get("model_name")
        draft.agent = name if isinstance(name, str) else None
        draft.model = model if isinstance(model, str) else draft.model
        tape = draft.main.tape
        kinds = {tape.segment(ident).kind for ident in range(min(len(tape), 64))}
        absent = (("system", "system prompt"), ("tools", "tool schemas"))
        draft.unknown = tuple(words for kind, words in absent if kind not in kinds)
        draft.set_goal(self._feeder.goal, declared=False)
        self._embedded = [(item.key, item.offset) for item in reading.lists.get("subagent_trajectories", [])]
        self._by_name.clear()
        self._trial()

    def _trial(self) -> None:
        """The result of the trial, beside the agent's folder, says that the run is over."""
        path = Path(self._path)
        result_path = path.parent.parent / "result.json"
        if path.parent.name != "agent" or not self._sides.look(result_path):
            return
        try:
            result = mapping(decode(read_at(result_path, 0, _RESULT_BYTES)))
        except (Unreadable, OSError, ValueError):
            return
        if result.get("finished_at"):
            raised = mapping(result.get("exception_info")).get("exception_type")
            self.draft.finished, self.draft.ended_as = True, str(raised or "finished")
            if raised and self.draft.notice is None:
                self.draft.notice = f"ended: {raised}"

    def watched(self) -> Iterable[Path]:
        folder = Path(self._path).parent
        return (folder, folder.parent) if folder.name == "agent" else (folder,)

    # -- other files ----------------------------------------------------------------------------------------------

    def _side(self, reference: str) -> Reading | None:
        """A trajectory beside this one, by its file name; None, with a problem, where it cannot be read."""
        path = Path(self._path).parent / reference
        if Path(reference).name != reference or path.is_symlink():
            self.draft.problem(reference[:80], "leads out of the folder, not followed")
            return None
        if len(self._followed) >= _MOST_FILES:
            self.draft.problem(reference[:80], f"more than {_MOST_FILES} files, not followed")
            return None
        try:
            return self._sides.read(path, self.LISTS)
        except (NotYet, Unreadable) as error:
            self.draft.problem(reference[:80], str(error).partition(": ")[2])
            return None

    def _continued(self, reference: object) -> None:
        while isinstance(reference, str) and reference and reference not in self._followed:
            reading = self._side(reference)
            self._followed.add(reference)
            if reading is None:
                return
            self._goes_on = True
            self._feeder.carry_on(reference, reading.lists.get("steps", []))
            reference = reading.rest.get("continued_trajectory_ref")

    def _steps_of(self, lane: LaneDraft, reference: Mapping[str, Any]) -> tuple[str, list[Item]] | None:
        """The steps of a subagent, embedded or in a file beside, and its lane."""
        path = reference.get("trajectory_path")
        name = next((reference[key] for key in ("trajectory_id", "session_id") if reference.get(key)), path)
        if not isinstance(name, str):
            return None
        steps: list[Item] = []
        if name in self._by_name:
            item = self._by_name[name]
            listed = member(item.data, item.offset, "steps")
            steps = [] if listed is None else list(items_of(*listed, item.source))
        elif isinstance(path, str) and "://" not in path:
            reading = self._side(path)
            steps = [] if reading is None else reading.lists.get("steps", [])
            self._followed.add(path)
        if name not in self.draft.lanes and steps:
            if self._depth >= _DEEPEST:
                self.draft.problem(name[:80], f"a subagent below {_DEEPEST} others, not followed")
                return name, steps
            self._depth += 1
            child = self.draft.lane(name, "subagent", spawned_by=(lane.id, max(1, len(lane.steps))))
            feeder = Feeder(child, self._steps_of, self._count)
            for step in steps:
                feeder.feed(decoded(step), step)
            child.answered = True
            self._depth -= 1
        return name, steps

    def extract(self, raw: bytes, part: int) -> str | None:
        value = decode(raw)
        if part == WHOLE:
            return compact_json(mapping(value).get("tool_definitions"))
        parts = parts_of(value) if isinstance(value, dict) else []
        return parts[part].text if part < len(parts) else None


def ident_of(path: Path) -> str:
    """The trial's name in a job folder, with the file's where it is not the first; else the file's."""
    name = path.name.removesuffix(".json")
    if path.parent.name != "agent":
        return name
    trial = path.parent.parent.name
    return trial if name == "trajectory" else f"{trial}/{name}"
