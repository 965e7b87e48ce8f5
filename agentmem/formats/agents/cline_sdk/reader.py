"""Follows one session of Cline with its manifest, its compaction and its subagents."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import ClassVar

from agentmem.formats.agents.cline_sdk.feeder import Feeder, boundary_of, split_record
from agentmem.formats.agents.cline_sdk.prefix_hash import boundary_key, prefix_start, source_line
from agentmem.formats.loose import decode
from agentmem.formats.shared.rewriting import WHOLE, Beside, WholeReader, decoded, piece_of
from agentmem.formats.shared.times import seconds
from agentmem.formats.shared.whole import Reading
from agentmem.formats.source import NotYet, Unreadable
from agentmem.formats.usage import amount
from agentmem.formats.versions import Item
from agentmem.model import Problem
from agentmem.tape import Piece

LISTS = ("messages",)
ENDED = frozenset({"completed", "failed", "cancelled", "canceled", "stopped", "aborted", "error"})
"""Statuses of a manifest that say that the session is over."""


class ClineReader(WholeReader):
    """Follows one session."""

    NAME: ClassVar[str] = "cline-sdk"
    LISTS: ClassVar[tuple[str, ...]] = LISTS
    MEMBERS: ClassVar[tuple[str, ...]] = ("system_prompt",)

    def _ident(self) -> str:
        return stem(Path(self._path))

    def _fresh(self) -> None:
        self._sides = Beside()
        self._past = False
        self._system: object = None
        self._state: Reading | None = None
        self._manifest: Reading | None = None
        self._unread: set[str] = set()
        """Subagents whose files cannot be read as they are now: said once."""
        self._hash = sha256()
        self._key: str | None = None
        self._count_of: int | None = None
        self._short: Problem | None = None
        self.draft.agent = "cline"
        self._feeder = Feeder(self.draft.main)

    def _beside(self) -> bool:
        return self._sides.changed()

    def _stale(self) -> bool:
        return self._past

    def _before(self, reading: Reading) -> None:
        self._past = self._started and (self._sides.changed() or reading.rest.get("system_prompt") != self._system)

    def _start(self, reading: Reading) -> None:
        system = self._system = reading.rest.get("system_prompt")
        if isinstance(system, str) and system:
            self.draft.main.append(self._member(reading, "system_prompt", "system", system))
        self._state, self._manifest = self._read(".compaction.json"), self._read(".json")
        self._count_of = amount(self._state.rest.get("source_message_count")) if self._state else None
        self._hash = sha256(prefix_start(self._count_of or 0))

    def _read(self, ending: str) -> Reading | None:
        path = Path(self._path).with_name(stem(Path(self._path)) + ending)
        if str(path) == self._path:
            return None
        try:
            return self._sides.read_for(self.draft, path, LISTS)
        except NotYet as error:
            self.draft.problem(path.name, str(error).partition(": ")[2])
        except Unreadable as error:
            if path.exists():
                self.draft.problem(path.name, str(error).partition(": ")[2])
        return None

    def _feed(self, index: int, item: Item) -> None:
        value = self._object(item, index)
        if value is None:
            return
        if self._count_of == index:
            self._compact(index)
        if self._count_of is not None and index < self._count_of:
            self._hash.update(source_line(value))
            self._key = boundary_key(value)
        role = value.get("role")
        self._count(role if role in ("user", "assistant") else f"?{role}")
        self._feeder.feed(value, item)

    def _compact(self, index: int) -> None:
        """The compaction that replaces the messages so far, if it still fits them."""
        state, self._count_of = self._state, None
        if state is None:
            return
        given, key = state.rest.get("source_prefix_hash"), state.rest.get("source_last_message_key")
        fits = given == f"sha256:{self._hash.hexdigest()}" if given else bool(key) and key == self._key
        if not fits:
            self.draft.problem("compaction", "does not fit the messages that it replaces, so that it is not sent")
            return
        lane = self.draft.main
        kept = [self._again(ident) for ident in lane.tape.live[:1] if lane.tape.segment(ident).kind == "system"]
        values = [(decoded(item), item) for item in state.lists.get("messages", [])]
        for value, item in values:
            kept.extend(piece_of(item, number, part) for number, part in enumerate(split_record(value).parts))
        self._feeder.same_goal(kept)
        lane.sync(kept)
        lane.boundary = boundary_of([value for value, _ in values], f"compaction of {index} messages")

    def _again(self, ident: int) -> Piece:
        seg = self.draft.main.tape.segment(ident)
        return Piece(seg.kind, seg.head, seg.where, None, None, None, seg.tokens, None, seg.key)

    def _rest(self, reading: Reading) -> None:
        draft = self.draft
        items = self._records(reading)
        if self._short is not None:
            draft.problems.remove(self._short)
            self._short = None
        if self._count_of == len(items):
            self._compact(len(items))
        elif self._count_of is not None:
            what = f"replaces {self._count_of} messages, of which {len(items)} are here"
            self._short = Problem("compaction", what)
            draft.problems.append(self._short)
        rest = self._manifest.rest if self._manifest is not None else {}
        ident, model, status = reading.rest.get("sessionId"), rest.get("model"), rest.get("status")
        draft.id = ident if isinstance(ident, str) and ident else self._ident()
        draft.model = self._feeder.model or (model if isinstance(model, str) else None)
        draft.finished = isinstance(status, str) and status.lower() in ENDED
        draft.ended_as = str(status) if draft.finished else None
        if draft.finished and status != "completed" and draft.notice is None:
            draft.notice = f"ended: {status}"
        system = isinstance(reading.rest.get("system_prompt"), str)
        draft.unknown = ("tool schemas",) if system else ("system prompt", "tool schemas")
        draft.set_goal(self._feeder.goal, declared=False)
        draft.goal_unknown = self._feeder.orphaned and draft.goal is None
        self._subagents()

    def _subagents(self) -> None:
        """Sessions of subagents and team tasks, which stand beside the session that spawned them."""
        path = Path(self._path)
        if path.parent.name != self._ident():
            return
        for other in sorted(path.parent.glob("*.messages.json")):
            name = stem(other)
            if other == path or other.is_symlink() or name in self.draft.lanes or name in self._unread:
                continue
            try:
                reading = self._sides.read_for(self.draft, other, LISTS)
            except (NotYet, Unreadable) as error:
                self.draft.problem(other.name, str(error).partition(": ")[2])
                self._unread.add(name)
                continue
            items = reading.lists.get("messages", [])
            first = seconds(decoded(items[0]).get("ts")) if items else None
            steps = self.draft.main.steps
            spawner = [step.n for step in steps if step.at is not None and first is not None and step.at <= first]
            lane = self.draft.lane(name, "subagent", spawned_by=("main", spawner[-1] if spawner else 1))
            feeder = Feeder(lane)
            for item in items:
                feeder.feed(decoded(item), item)

    def extract(self, raw: bytes, part: int) -> str | None:
        value = decode(raw)
        if part == WHOLE:
            return value if isinstance(value, str) else None
        parts = split_record(value).parts if isinstance(value, dict) else []
        return parts[part].text if part < len(parts) else None


def stem(path: Path) -> str:
    """Name of a session by one of its files."""
    return path.name.removesuffix(".json").removesuffix(".messages").removesuffix(".compaction")
